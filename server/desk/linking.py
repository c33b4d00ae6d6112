"""Links between records, and watchers, which are links to workers. A link stands in the table once from each side."""

from typing import TYPE_CHECKING

from server.access.actor import WORKER
from server.records.shared.tables import LINK

if TYPE_CHECKING:
    from server.desk.writing import RecordWriter


def change(writing: "RecordWriter", context: str, id: int, other_context: str, other_id: int, adds: bool) -> bool:
    """Add or remove one link and log it on both records; tells whether anything changed.

    Linking twice and removing what is not there are silent. Source: Records, Links."""
    if (context, id) == (other_context, other_id):
        return False
    tx = writing.tx
    forth = {"from_context": context, "from_id": id, "to_context": other_context, "to_id": other_id}
    back = {"from_context": other_context, "from_id": other_id, "to_context": context, "to_id": id}
    if adds:
        if not tx.add(LINK, forth):
            return False
        tx.add(LINK, back)
    else:
        if not tx.delete(LINK, **forth):
            return False
        tx.delete(LINK, **back)
    _log(writing, context, id, other_context, other_id, adds)
    return True


def forget(writing: "RecordWriter", context: str, id: int) -> None:
    """Remove every link of a record that goes; nothing is logged, its deletion is."""
    tx = writing.tx
    for _, _, other_context, other_id in tx.find(LINK, from_context=context, from_id=id):
        tx.delete(LINK, from_context=other_context, from_id=other_id, to_context=context, to_id=id)
    tx.delete(LINK, from_context=context, from_id=id)


def watcher_ids(writing: "RecordWriter", context: str, id: int) -> list[int]:
    """The workers who watch a record."""
    rows = writing.tx.find(LINK, from_context=context, from_id=id, to_context=WORKER)
    return [row[3] for row in rows]


def _log(writing: "RecordWriter", context: str, id: int, other_context: str, other_id: int, adds: bool) -> None:
    registry = writing.registry
    own, other = registry.find(context), registry.find(other_context)
    if own is None or other is None:
        return
    if context == WORKER and "watchers" in other.features:  # watching is told from the watched record's side
        _log(writing, other_context, other_id, context, id, adds)
        return
    if other_context == WORKER and "watchers" in own.features:
        own_name = own.label_names[0].lower()
        variables = {"target_object": own_name, "target": writing.label(context, id)}
        if writing.actor.worker_id == other_id:
            writing.log("watcher.follow" if adds else "watcher.unfollow", context, id, variables)
        else:
            variables["watcher"] = writing.label(WORKER, other_id)
            writing.log("watcher.assigned" if adds else "watcher.unassigned", context, id, variables)
        return
    point = "connection.link" if adds else "connection.unlink"
    sides = ((own, id, other, other_id), (other, other_id, own, id))
    for one, one_id, another, another_id in sides:
        variables = {
            "target_object": one.label_names[0].lower(),
            "target": writing.label(one.context, one_id),
            "link_object": another.label_names[0].lower(),
            "link": writing.label(another.context, another_id),
        }
        writing.log(point, one.context, one_id, variables, about=(another.context, another_id))
