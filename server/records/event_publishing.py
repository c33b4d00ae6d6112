"""Events for automations. The KATA of an automation event names the automations bound to it; this module runs none.

After a change, the event is a job, added in the transaction of the change and run at least once. Before an action,
bound automations run synchronously, on the caller's thread and outside of any transaction."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from server.context import Context
from server.jobs.job_queue import JobQueue
from server.record_types.record_type import Change, Record, RecordType, Writing
from server.records.dictionary import Dictionaries
from server.store.store_local import VersionedLocal
from server.store.tables import table_named
from server.store.transaction import Transaction

if TYPE_CHECKING:
    from server.records.writing import RecordWriter

JOB = "event"
VERSION = "automations"
CHANGED = "record.changed"
Values = dict[str, Any]


def automation_results(ctx: Context, name: str, values: Callable[[], Values]) -> Iterator[Mapping[str, Any]]:
    """Yields the return values of the automations bound to an event. values: builds their input; called only if an
    automation is bound. Raises NotOnWriter inside a write: a script would block other writes."""
    automations = ctx.service.automations
    if automations is not None and is_bound(ctx, name):
        ctx.service.store.require_off_writer()
        yield from automations.run_event(replace(ctx, depth=ctx.depth + 1), name, values())


def is_bound(ctx: Context, *names: str) -> bool:
    """Whether an automation is bound to one of these events."""
    return not ctx.service.store.read(bound).isdisjoint(names)


def is_likely_bound(ctx: Context, *names: str) -> bool:
    """Whether an automation is bound according to the cache: a hint for callers that check again inside the write."""
    cached = BOUND.newest(ctx.service.store)
    return is_bound(ctx, *names) if cached is None else not cached.isdisjoint(names)


def is_yes(value: Any) -> bool:
    """Whether a returned flag is set: false values are None, false, 0, "0" and an empty text."""
    return value not in (None, False, "", 0, "0")


BOUND: VersionedLocal[frozenset[str]] = VersionedLocal()


def bound(tx: Transaction) -> frozenset[str]:
    """The names of the events that have automations. Read on every write, therefore cached by version: that saves 6
    microseconds with a file, and with PostgreSQL a round trip of 90 during which no other process writes."""
    names: frozenset[str] | None = tx.memo.get("events bound")
    if names is None:
        names = tx.memo["events bound"] = BOUND.read(tx, VERSION, _find_bound)
    return names


def _find_bound(tx: Transaction) -> frozenset[str]:
    event: Any = table_named("automation_event")
    rows = tx.rows(lambda: event.select(event.c.name).where(event.c.automations_kata != ""))
    return frozenset(row[0] for row in rows)


def publish(writing: Writing, name: str, values: Values) -> int:
    """Adds a job that runs the automations bound to an event. Returns its id, or 0 if no automation is bound."""
    tx, ctx = writing.tx, writing.ctx
    if ctx.is_quiet or ctx.is_untold or name not in bound(tx):
        return 0
    return add_job(writing, JOB, {"event": name, "values": values})


def add_job(writing: Writing, job: str, payload: Mapping[str, Any]) -> int:
    """Adds a job that runs automations, one step further in the chain of runs. Returns its id."""
    ctx = writing.ctx
    ctx.service.wake_after(writing.tx)
    common = {"depth": ctx.depth + 1, "zone": writing.actor.timezone, "is_by_machine": ctx.is_by_machine}
    return JobQueue.add(writing.tx, job, writing.now, {**payload, **common}, is_slow=True)


def record_values(prefix: str, context: str, id: int) -> Values:
    """The values of a record under a prefix; its keys are loaded when a script reads them."""
    return {f"{prefix}__context": context, f"{prefix}_id": id}


def actor_values(writing: Writing) -> Values:
    """The values of the actor."""
    actor = writing.actor
    record_type = writing.registry.find(actor.context)
    alias = record_type.uri if record_type is not None else "app"
    return record_values("actor", actor.context, actor.id) | {"actor__type": alias}


# -- changes of records -----------------------------------------------------------------------------------------------


def before(writing: "RecordWriter", record_type: RecordType, old: Record | None) -> Values | None:
    """The state of a record before a write, for the keys `was_record_...`; None if no automation is bound."""
    ctx = writing.ctx
    if ctx.is_quiet or ctx.is_untold or record_type.is_silent or CHANGED not in bound(writing.tx):
        return None
    if old is None:
        return {}
    view = Dictionaries(writing.as_service().ctx, writing.tx)
    names = [*record_type.state, *(name for trait in record_type.traits for name in trait.state)]
    return view.show(record_type, [old], names)[0]


def changed(writing: "RecordWriter", kind: str, record_type: RecordType, id: int, was: Values | None) -> None:
    """Publishes that a record was created, updated or deleted: once per record and transaction, with the state before
    it.

    was: returned by before()."""
    if was is None:
        return
    tx, key = writing.tx, ("record changed", record_type.context, id)
    published = tx.memo.get(key)
    if published is not None:
        first, job_id, was = published
        if kind != "deleted":
            return
        JobQueue.drop(tx, job_id)
        if first == "created":
            return
    values: Values = {"change_type": kind, "is_new": kind == "created"}
    if kind == "deleted":
        values |= {f"record_{name}": value for name, value in was.items()}
    values |= record_values("record", record_type.context, id) | {"record__type": record_type.uri}
    values |= {f"was_record_{name}": value for name, value in was.items()} | actor_values(writing)
    tx.memo[key] = (kind, publish(writing, CHANGED, values), was)


def is_change(change: Change, differing: Mapping[str, Any]) -> bool:
    """Whether a write changed more than the times that every write sets."""
    if change.is_create or change.extras:
        return True
    return not differing.keys() <= {name for name, field in change.type.fields.items() if field.auto_update}
