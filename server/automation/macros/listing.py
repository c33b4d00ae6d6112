"""Lists the macros that a worker may run on a ticket: automations with the macro trigger that the worker may read and
whose policy allows the caller."""

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from server.access.rules import Rules
from server.automation import inputs, policy
from server.automation.automation_service import ServiceHost, of_record
from server.automation.host import Script
from server.automation.inputs import InputDeclaration
from server.automation.run_dictionary import Dictionary
from server.context import Context
from server.contexts import APP, GROUP, TICKET, WORKER
from server.dataclass import dataclass
from server.errors import HelpdeskError, NotFound
from server.record_types.record_type import Record
from server.record_types.shared.triggers import MACRO
from server.records import records
from server.records.event_publishing import record_values
from server.records.reading import RecordReader
from server.search.conditions import NEVER
from server.store.statements import in_list, slot
from server.store.tables import Table
from server.store.transaction import Transaction
from server.template import Budget, Surroundings

MAX_LISTED = 200  # macros read at most, by name
MAX_LABEL_CHARS = 60


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro. label: the first line of its description, else its name. more: the rest of the description. inputs: its
    declared inputs. form: as stored by forms.py, {} for one that was written as a script."""

    automation: Script
    label: str
    more: str
    inputs: tuple[InputDeclaration, ...]
    form: Mapping[str, Any]

    @property
    def id(self) -> int:
        return self.automation.id

    @property
    def name(self) -> str:
        return self.automation.name

    def is_called(self, text: str) -> bool:
        """Returns whether a text is its id, name or label, ignoring case."""
        return text.strip().lower() in (str(self.id), self.name.lower(), self.label.lower())


def usable(ctx: Context, *ticket_ids: int) -> list[Macro]:
    """Returns the macros that the worker may run on a ticket, or on each of several, by label. Raises NotFound,
    Forbidden for one of the tickets.

    A policy whose rule for the caller fails denies access."""
    records.require_thread(ctx)  # evaluates policies, which are templates
    automations = ctx.service.store.read(lambda tx: _readable(ctx, tx, ticket_ids))
    callers = [_Callers(ctx, each) for each in ticket_ids] if automations else []
    macros = [of_row(each) for each in automations if any(ask.lets(each["policy_kata"]) for ask in callers)]
    return sorted(macros, key=lambda each: (each.label.lower(), each.id))


def are_there(ctx: Context) -> bool:
    """Returns whether there is any macro."""
    table = ctx.service.registry.type("automation").table
    return ctx.service.store.read(lambda tx: tx.first(table, extension_id=MACRO)) is not None


def find(ctx: Context, ticket_id: int, text: str) -> Macro:
    """Returns the usable macro with an id or a name, or with a unique label. Raises NotFound, also for one that the
    worker may not run, and the errors of usable()."""
    matches = [each for each in usable(ctx, ticket_id) if each.is_called(text)]
    exact = [each for each in matches if text.strip().lower() in (str(each.id), each.name.lower())]
    candidates = exact or matches
    if len(candidates) != 1:
        why = "several macros have that name; send the id" if candidates else "you cannot run such a macro here"
        raise NotFound(f"macro '{text[:80]}': {why}", type="automation")
    return candidates[0]


def values_of(ctx: Context, ticket_id: int) -> dict[str, Any]:
    """Returns the initial dictionary of a macro, without its inputs."""
    return record_values("ticket", TICKET, ticket_id) | record_values("worker", WORKER, ctx.actor.worker_id)


class _Callers:
    """Evaluates policies for a worker's macros, with one budget for all of them."""

    def __init__(self, ctx: Context, ticket_id: int) -> None:
        host = ServiceHost(ctx, dry=True, is_caller=True)
        self._values = Dictionary(values_of(ctx, ticket_id), host.load)
        self._around, self._budget = Surroundings(zone=host.zone, host=host.functions()), Budget()

    def lets(self, text: str) -> bool:
        try:
            return policy.read(text).lets(MACRO, self._values, self._budget, self._around)
        except HelpdeskError:
            return False


def _readable(ctx: Context, tx: Transaction, ticket_ids: Iterable[int]) -> list[Record]:
    """Returns the macros that are available to the worker, for tickets that the worker may read."""
    for each in ticket_ids:
        RecordReader(ctx, tx).retrieve("ticket", each)
    return available(ctx, tx)


def available(ctx: Context, tx: Transaction) -> list[Record]:
    """Returns the macros of everybody, of the worker and of their groups."""
    automations = ctx.service.registry.type("automation")
    if Rules(ctx.service.registry, ctx.actor).readable(automations) is NEVER:
        return []
    groups = json.dumps(sorted(ctx.actor.member_of | ctx.actor.manages))
    values = (MACRO, "", APP, WORKER, ctx.actor.worker_id, GROUP, groups)
    table = automations.table
    rows = tx.rows(lambda: _available(table), values)
    return [automations.record(row) for row in rows]


def _available(table: Table) -> Any:
    automation: Any = table.sql
    owner, id = automation.available_context, automation.available_id
    is_shared = (owner == slot(1)) | (owner == slot(2))
    is_own = (owner == slot(3)) & (id == slot(4))
    is_of_group = (owner == slot(5)) & in_list(id, slot(6))
    return (
        automation.select(*table.all_columns)
        .where(automation.extension_id == slot(0), is_shared | is_own | is_of_group)
        .order_by(automation.name)
        .limit(MAX_LISTED)
    )


def of_row(record: Record) -> Macro:
    """Returns the macro stored in a record."""
    description = record["description"].strip()
    first, _, more = description.partition("\n")
    label = first.rstrip(" .")
    if not 0 < len(label) <= MAX_LABEL_CHARS:
        label, more = record["name"], description
    return Macro(of_record(record), label, more.strip(), _asked(record["script"]), record["form"] or {})


@functools.lru_cache(maxsize=MAX_LISTED)  # 70 microseconds for each macro on the page of a ticket
def _asked(script: str) -> tuple[InputDeclaration, ...]:
    return tuple(inputs.of_script(script))
