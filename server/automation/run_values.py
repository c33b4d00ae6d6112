"""The dictionaries that the last runs of automations began with, so that authors can try a change with them.

They are noted in memory, which costs a run next to nothing, and stored some time later. Runs of webhooks are left out:
their requests are stored as deliveries, with secrets hidden."""

import json
import threading
from collections.abc import Mapping
from typing import Any

from server.automation.dictionary import plain
from server.context import Context, Service
from server.dataclass import dataclass
from server.jobs.scheduler import periodic
from server.record_types.shared.triggers import WEBHOOK
from server.store.statements import in_list, slot
from server.store.store_local import StoreLocal
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction

MAX_CHARS = 64 * 1024  # of the values of a run; longer ones are not stored

LAST_VALUES = Table(
    "automation_last_values",
    [Column("automation_id", references="automation(id)"), Column("at"), Column("given", "TEXT")],
    key=("automation_id",),
)  # given: the dictionary as JSON


@dataclass(frozen=True, slots=True)
class RunValues:
    """What a run began with. at: when, in Unix seconds."""

    at: int
    values: Mapping[str, Any]


class _Noted:
    """Values that are not stored yet, {id of an automation: those of its last run}."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runs: dict[int, RunValues] = {}


NOTED: StoreLocal[_Noted] = StoreLocal()


def note(service: Service, automation_id: int, trigger: str, values: Mapping[str, Any], now: int) -> None:
    """Note what a run began with."""
    if trigger != WEBHOOK:
        NOTED.made(service.store, _Noted).runs[automation_id] = RunValues(now, values)


def last(ctx: Context, automation_id: int) -> RunValues | None:
    """What the last run of an automation began with; None if it has not run or the values were too long. Raises
    AdminOnly."""
    ctx.require_admin("see what automations ran with")
    noted = NOTED.made(ctx.service.store, _Noted).runs.get(automation_id)
    text = _json(noted.values) if noted is not None else ""
    if noted is not None and text:
        return RunValues(noted.at, json.loads(text))
    row = ctx.service.store.read(lambda tx: tx.first(LAST_VALUES, automation_id=automation_id))
    return RunValues(row[1], json.loads(row[2])) if row is not None else None


@periodic("values of last runs", everywhere=True)
def store_noted(service: Service, now: int) -> None:
    """Store the values that were noted since the last time."""
    noted = NOTED.made(service.store, _Noted)
    with noted.lock:
        runs, noted.runs = noted.runs, {}
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
    """Values as JSON, "" for ones that are too long."""
    text = json.dumps(plain(dict(values)), ensure_ascii=False, default=str)
    return text if len(text) <= MAX_CHARS else ""
