"""Activity entries: what happened to which record and who did it, and the notifications that follow."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from server.access import actor as actors
from server.access.actor import WORKER
from server.access.rules import Rules
from server.record_types.notification import CHANNEL
from server.record_types.record_type import RecordType
from server.record_types.shared.absence import stand_in
from server.record_types.shared.points import NAMED, POINTS
from server.records import notification_mail, notification_push
from server.records.reading import RecordReader
from server.store.statements import slot
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.records.writing import RecordWriter

_text_of = json.JSONEncoder(ensure_ascii=False).encode
NOTHING = ("", 0)  # context and id where there is no record
URGENT = frozenset(("ticket.message.inbound",))  # also notified: the stand-in of an absent owner
MENTIONING = "comment.create"  # also notifies the workers mentioned in the text
_COLUMNS = (
    "about__context",
    "about_id",
    "activity_point",
    "actor__context",
    "actor_id",
    "created",
    "is_administrative",
    "params",
    "target__context",
    "target_id",
)


def log(
    writing: "RecordWriter",
    point: str,
    context: str,
    id: int,
    variables: dict[str, str],
    urls: dict[str, str] | None = None,
    also_notify: tuple[int, ...] = (),
    about: tuple[str, int] = NOTHING,
) -> None:
    """Writes an entry on a record and notifies its owner, its watchers and the workers in its custom fields that ask
    for notifications, except the actor.

    variables: text by placeholder; `actor` is added. urls: address by placeholder. about: context and id of a second
    record whose label is among the variables; only workers who may read both records see the entry and are notified.
    Entries of administrative acts notify no workers."""
    entry_params = _write(writing, point, context, id, variables, urls, about)
    if POINTS[point].is_administrative or point in writing.silent:
        return
    for worker_id in _listeners(writing, context, id, also_notify, about, stands_in=point in URGENT):
        is_mention = point == MENTIONING and worker_id in also_notify
        notify(writing, worker_id, point, context, id, entry_params, notification_mail.MENTIONED if is_mention else "")


def newest_id(writing: "RecordWriter") -> int:
    """The id of the last entry written."""
    return writing.tx.next_ids(_type(writing, "activity_log").table, 1).start - 1


def log_several(writing: "RecordWriter", context: str, id: int, entries: Sequence[tuple[str, dict[str, str]]]) -> None:
    """Writes several entries on one record, as `log` does, and determines the workers to notify once. entries: activity
    point and variables."""
    written = [(point, _write(writing, point, context, id, variables)) for point, variables in entries]
    listeners = _listeners(writing, context, id, (), NOTHING)
    for point, entry_params in written:
        for worker_id in listeners:
            notify(writing, worker_id, point, context, id, entry_params)


def _write(
    writing: "RecordWriter",
    point: str,
    context: str,
    id: int,
    variables: dict[str, str],
    urls: dict[str, str] | None = None,
    about: tuple[str, int] = NOTHING,
) -> dict[str, object]:
    """Writes an entry; returns its params: {message, variables, urls}."""
    actor, entry_params = (
        writing.actor.author,
        params(writing, _pattern(point, variables), context, id, variables, urls),
    )
    writing.tx.append(
        _entry,
        (
            *about,
            point,
            actor.context,
            actor.id,
            writing.now,
            int(POINTS[point].is_administrative),
            _text_of(entry_params),
            context,
            id,
        ),
    )
    return entry_params


def _pattern(point: str, variables: dict[str, str]) -> str:
    """Returns the sentence of an entry; of a change of status that sets a name, the one with the name."""
    return POINTS[NAMED if "status_name" in variables else point].pattern


def _entry() -> Any:
    entries = table_named("activity_log")
    return entries.insert({getattr(entries.c, name): slot(place) for place, name in enumerate(_COLUMNS)})


def actor_name(params: Any) -> str:
    """Returns the name of the actor in the params of an entry, even one who is gone; "" for none."""
    variables = params.get("variables") if isinstance(params, dict) else None
    return str(variables.get("actor") or "") if isinstance(variables, dict) else ""


def params(
    writing: "RecordWriter",
    message: str,
    context: str,
    id: int,
    variables: dict[str, str],
    urls: dict[str, str] | None = None,
) -> dict[str, object]:
    """Returns the params of an entry or a notification about a record: {message, variables, urls}, with the actor."""
    actor = writing.actor.author
    values = {"actor": actor.name or writing.label(actor.context, actor.id) or "Helpdesk", **variables}
    links = dict(urls or {})
    if actor.id:
        links.setdefault("actor", f"ctx://{actor.context}:{actor.id}")
    if id and "target" in values:
        links.setdefault("target", f"ctx://{context}:{id}")
    return {"message": message, "variables": values, "urls": links}


def notify(
    writing: "RecordWriter",
    worker_id: int,
    point: str,
    context: str,
    id: int,
    params: dict[str, object],
    kind: str = "",
) -> None:
    """Notifies one worker, also by mail and on devices if the worker chose that. kind: one of notification_mail.KINDS;
    "" for the kind of the activity point."""
    notifications = _type(writing, "notification")
    notification_id = writing.tx.insert(
        notifications.table,
        notifications.row_values(
            {
                "worker_id": worker_id,
                "activity_point": point,
                "target__context": context,
                "target_id": id,
                "created": writing.now,
                "params": params,
            }
        ),
    )
    kind = kind or notification_mail.kind_of(point)
    notification_mail.hold(writing, notification_id, worker_id, kind)
    notification_push.hold(writing, notification_id, worker_id, kind)
    writing.ctx.service.notify_after(writing.tx, CHANNEL)


def notify_reader(
    writing: "RecordWriter", worker_id: int, point: str, message: str, context: str, id: int, variables: dict[str, str]
) -> None:
    """Notifies one worker, unless the worker is the actor or may not read the record."""
    is_own = (writing.actor.context, writing.actor.id) == (WORKER, worker_id)
    if not is_own and may_read_all(writing, worker_id, (context, id)):
        notify(writing, worker_id, point, context, id, params(writing, message, context, id, variables))


def log_deleted(writing: "RecordWriter", record_type: RecordType, id: int, label: str) -> None:
    """Logs the deletion of a record. The entry has no target; it holds the label of the record."""
    log(
        writing,
        "record.deleted",
        "",
        0,
        {
            "record_type": record_type.label_names[0].lower(),
            "record_label": label,
            "record_id": str(id),
        },
    )


def _listeners(
    writing: "RecordWriter",
    context: str,
    id: int,
    also: tuple[int, ...],
    about: tuple[str, int],
    *,
    stands_in: bool = False,
) -> list[int]:
    """The workers to notify about a record who may read it, without the actor; none in a quiet operation. stands_in:
    also the stand-in of an absent owner."""
    if not id or writing.ctx.is_quiet:
        return []
    record_type = writing.registry.find(context)
    worker_ids = set(also)
    for trait in record_type.notifying_traits if record_type is not None else ():
        worker_ids.update(trait.listeners(context, id, writing.tx))
    if record_type is not None and "owner_id" in record_type.initial and "owner__context" not in record_type.initial:
        record = writing.record(context, id)
        if record is not None and record["owner_id"]:
            worker_ids.add(record["owner_id"])
            if stands_in and (
                other := stand_in(lambda each: writing.record("worker", each), record["owner_id"], writing.now)
            ):
                worker_ids.add(other)
    author = writing.actor.author
    if author.context == WORKER:
        worker_ids.discard(author.id)
    return [worker_id for worker_id in sorted(worker_ids) if may_read_all(writing, worker_id, (context, id), about)]


def may_read_all(writing: RecordReader, worker_id: int, *pairs: tuple[str, int]) -> bool:
    """Whether a worker may read all these records: context and id of each. A disabled worker may not read any."""
    listener = actors.worker(writing.tx, worker_id)
    if listener is None:
        return False
    rules = Rules(writing.registry, listener)
    for context, id in pairs:
        record_type = writing.registry.find(context)
        if record_type is not None and not rules.may_read(writing.tx, record_type, id):
            return False
    return True


def _type(writing: "RecordWriter", uri: str) -> RecordType:
    return writing.registry.type(uri)
