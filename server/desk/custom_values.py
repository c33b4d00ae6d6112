"""Custom values of a record written, and the workers told who were chosen by them. What values are is in
records/shared/custom/; who hears of a record later on, in activity.py."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from server.access.actor import WORKER
from server.desk import activity
from server.records.base import RecordType
from server.records.shared import custom

if TYPE_CHECKING:
    from server.desk.writing import RecordWriter

POINT = "custom.other"  # no point of its own: a changed field makes no entry, it only tells one worker
CHOSEN = "{{actor}} chose {{worker}} as {{field}} of {{target}}"


def write(
    writing: "RecordWriter", record_type: RecordType, id: int,
    customs: Iterable[tuple[custom.CustomField, custom.Coerced]],
) -> None:  # fmt: skip
    """Keep checked values of a record that is there. Source: Record addressing, Custom field; telling is ours."""
    for field, coerced in customs:
        before = custom.values_of(writing.tx, [field] if field.tells_worker else [], [{"id": id}])[id]
        custom.write(writing, record_type, id, field, coerced)
        if field.tells_worker:
            for worker_id in set(coerced.values) - set(before.get(field.id, ())):
                _tell(writing, record_type, id, field, worker_id)


def _tell(writing: "RecordWriter", record_type: RecordType, id: int, field: custom.CustomField, worker_id: int) -> None:
    """Nobody is told of what they did themselves, nor of what they may not read."""
    context = record_type.context
    is_own = writing.actor.context == WORKER and writing.actor.id == worker_id
    if is_own or not activity.may_read_all(writing, worker_id, (context, id)):
        return
    worker, target = writing.label("worker", worker_id), writing.label(context, id)
    params = activity.params(writing, CHOSEN, context, id, {"worker": worker, "field": field.name, "target": target})
    activity.notify(writing, worker_id, POINT, context, id, params)
