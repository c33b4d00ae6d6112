"""Records the initial dictionary of the last run of each automation, so that authors can try a change with it.

It is held in memory first, which costs a run almost nothing, and stored later. Runs of webhooks are skipped: their
requests are stored as deliveries, with secrets hidden."""

import json
import threading
from collections.abc import Mapping
from typing import Any

from server.automation.run_dictionary import plain
from server.context import Context, Service
from server.dataclass import dataclass
from server.jobs.scheduler import periodic
from server.record_types.shared.triggers import WEBHOOK
from server.store.statements import in_list, slot
from server.store.store_local import StoreLocal
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction
from server.translation import N_

MAX_CHARS = 64 * 1024  # length of the values of a run; longer ones are discarded

LAST_VALUES = Table(
    "automation_last_values",
    [Column("automation_id", references="automation(id)"), Column("at"), Column("given", "TEXT")],
    key=("automation_id",),
)  # given: the dictionary as JSON


@dataclass(frozen=True, slots=True)
class RunValues:
    """The initial values of a run. at: when, in Unix seconds."""

    at: int
    values: Mapping[str, Any]


class _Noted:
    """Values that are not stored yet: {id of an automation: values of its last run}."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runs: dict[int, RunValues] = {}


NOTED: StoreLocal[_Noted] = StoreLocal()


def note(service: Service, automation_id: int, trigger: str, values: Mapping[str, Any], now: int) -> None:
    """Records the initial values of a run in memory."""
    if trigger != WEBHOOK:
        NOTED.made(service.store, _Noted).runs[automation_id] = RunValues(now, values)


def last(ctx: Context, automation_id: int) -> RunValues | None:
    """Returns the initial values of the last run of an automation; None if it has not run or they were too long.

    Raises AdminOnly."""
    ctx.require_admin("see what automations ran with")
    recorded = NOTED.made(ctx.service.store, _Noted).runs.get(automation_id)
    text = _json(recorded.values) if recorded is not None else ""
    if recorded is not None and text:
        return RunValues(recorded.at, json.loads(text))
    row = ctx.service.store.read(lambda tx: tx.first(LAST_VALUES, automation_id=automation_id))
    return RunValues(row[1], json.loads(row[2])) if row is not None else None


@periodic(
    N_("values of last runs"),
    N_("Stores the input of the last run of each automation, so that you can try a change with it."),
    everywhere=True,
)
def store_noted(service: Service, now: int) -> None:
    """Stores the values recorded since the last call."""
    recorded = NOTED.made(service.store, _Noted)
    with recorded.lock:
        runs, recorded.runs = recorded.runs, {}
    rows = [(id, each.at, _json(each.values)) for id, each in runs.items()]
    rows = [each for each in rows if each[2]]
    if rows:
        service.store.write(lambda tx: _store(tx, rows))


def _store(tx: Transaction, rows: list[tuple[int, int, str]]) -> None:
    automation: Any = table_named("automation")
    ids = json.dumps([each[0] for each in rows])
    present = {
        row[0]
        for row in tx.rows(lambda: automation.select(automation.c.id).where(in_list(automation.c.id, slot(0))), (ids,))
    }
    tx.put_many(LAST_VALUES, LAST_VALUES.names, [each for each in rows if each[0] in present])


def _json(values: Mapping[str, Any]) -> str:
    """Returns values as JSON, "" if they are too long."""
    text = json.dumps(plain(dict(values)), ensure_ascii=False, default=str)
    return text if len(text) <= MAX_CHARS else ""
