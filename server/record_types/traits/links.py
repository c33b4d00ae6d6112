"""Links between records, and watchers, which are links to workers. A link has two rows, one from each side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from server.errors import Invalid
from server.fields import Field, References
from server.record_types.parts import Change, DictionaryContext, Expand, Loader, Reading, Record, Writing
from server.record_types.shared import custom, maps
from server.record_types.shared.collections import by_context, ids_text, listed, readable_pairs
from server.record_types.shared.expand_forms import read_form
from server.record_types.shared.record_owners import WORKER
from server.record_types.shared.relation_tables import LINK
from server.record_types.traits.trait import Exported, Trait, together
from server.search.filters import DeepFilter, Filter, HasManyThrough, LinksFilter, WatchersFilter
from server.store.statements import in_list, slot
from server.store.transaction import Row, Transaction

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType
    from server.search.compile import SearchScope


UNLINKED = "unlinked"  # key in the memo of a transaction, with a new record that has no links yet


class Links(Trait):
    """Links to records of any type."""

    name = "links"
    tables = (LINK,)
    allows_links = True

    def fields(self) -> dict[str, Field]:
        return {"links": References("Records to link, as `<type>:<id>`; a leading `-` unlinks.")}

    def expands(self, record_type: "RecordType") -> list[Expand]:
        return [Expand("links", "map", "Linked records by context.", _linked(record_type), "", common=True)]

    def filters(self, record_type: "RecordType") -> list[Filter]:
        note = "Linked to a record of these types; any or none."
        return [LinksFilter("links", note, record_type.context)] if record_type.has_links_filter else []

    def filter_named(self, record_type: "RecordType", name: str, scope: "SearchScope") -> Filter | None:
        """`links.<type>` and `links.<type>.<custom field>`."""
        if not name.startswith("links.") or self.name not in record_type.filter_by_name:
            return None
        rest = name.removeprefix("links.")
        target = scope.type_spelled(rest)
        if target is None:
            return _linked_by_custom_field(record_type, name, rest, scope)
        ends = (("from_context", record_type.context), ("to_context", target.context))
        return DeepFilter(name, "", target.uri, HasManyThrough("link", "from_id", "to_id", ends)).bind(
            record_type.table
        )

    def check(self, change: Change, reading: Reading) -> None:
        for adds, context, _ in change.extras.get("links", ()):
            other = reading.registry.type(context)
            if adds and not other.has(Links):
                raise Invalid(f"links: {other.label_names[1].lower()} cannot be linked", field="links")

    def write(self, change: Change, writing: Writing) -> None:
        for adds, context, id in change.extras.get("links", ()):
            if not adds and not writing.may_read(context, id):
                continue  # treated as a missing link
            link(writing, change.type.context, change.id, context, id, adds)

    def remove(self, record_type: "RecordType", record: Record, writing: Writing) -> None:
        """Deletes the links without log entries; the deletion of the record is logged."""
        tx, context, id = writing.tx, record_type.context, record["id"]
        for _, _, other_context, other_id in tx.find(LINK, from_context=context, from_id=id):
            tx.delete(LINK, from_context=other_context, from_id=other_id, to_context=context, to_id=id)
        tx.delete(LINK, from_context=context, from_id=id)

    def export(self, tx: Transaction, record_type: "RecordType", records: list[Record]) -> Exported:
        rows = links_of(tx, record_type, records)
        return together("links", [(id, f"{context}:{other}") for id, context, other in rows])


class Watchers(Trait):
    """Workers who are notified of changes."""

    name = "watchers"

    def expands(self, record_type: "RecordType") -> list[Expand]:
        return [Expand("watchers", "records", "Watching workers.", _watching(record_type), "worker", common=True)]

    def filters(self, record_type: "RecordType") -> list[Filter]:
        note = "Who watches it: me, ids, names, any, none, or a query."
        return [WatchersFilter("watchers", note, record_type.context)]

    def listeners(self, context: str, id: int, tx: Transaction) -> list[int]:
        if (UNLINKED, context, id) in tx.memo:
            return []
        return [row[3] for row in tx.find(LINK, from_context=context, from_id=id, to_context=WORKER)]


def mark_linked(tx: Transaction, *records: tuple[str, int]) -> None:
    """Marks new records as linked, in the memo of the transaction."""
    for record in records:
        tx.memo.pop((UNLINKED, *record), None)


def link(writing: Writing, context: str, id: int, other_context: str, other_id: int, adds: bool) -> bool:
    """Adds or removes one link and logs it on both records; returns whether it changed anything.

    Linking twice and removing a missing link have no effect."""
    if not store_link(writing, context, id, other_context, other_id, adds):
        return False
    for own, own_id, other, id_of_other in (
        (context, id, other_context, other_id),
        (other_context, other_id, context, id),
    ):
        record_type = writing.registry.find(own)
        if record_type is not None:
            record_type.linked(own_id, other, id_of_other, adds, writing)
    _log(writing, context, id, other_context, other_id, adds)
    return True


def store_link(writing: Writing, context: str, id: int, other_context: str, other_id: int, adds: bool) -> bool:
    """Adds or removes the rows of a link, without log entries and hooks; returns whether it changed anything."""
    if (context, id) == (other_context, other_id):
        return False
    tx = writing.tx
    forth = {"from_context": context, "from_id": id, "to_context": other_context, "to_id": other_id}
    back = {"from_context": other_context, "from_id": other_id, "to_context": context, "to_id": id}
    if not adds:
        return bool(tx.delete(LINK, **forth) and tx.delete(LINK, **back))
    if not tx.add(LINK, forth):
        return False
    tx.add(LINK, back)
    mark_linked(tx, (context, id), (other_context, other_id))
    return True


def _log(writing: Writing, context: str, id: int, other_context: str, other_id: int, adds: bool) -> None:
    own, other = writing.registry.find(context), writing.registry.find(other_context)
    if own is None or other is None:
        return
    if context == WORKER and other.has(Watchers):  # watching is logged on the watched record
        _log(writing, other_context, other_id, context, id, adds)
    elif other_context == WORKER and own.has(Watchers):
        _log_watcher(writing, own, id, other_id, adds)
    else:
        _log_link(writing, (own, id), (other, other_id), adds)


def _log_watcher(writing: Writing, own: "RecordType", id: int, worker_id: int, adds: bool) -> None:
    writing.touch(own.context, id=id)
    variables = {"target_object": own.label_names[0].lower(), "target": writing.label(own.context, id)}
    if (writing.actor.context, writing.actor.id) == (WORKER, worker_id):
        writing.log("watcher.follow" if adds else "watcher.unfollow", own.context, id, variables)
    else:
        variables["watcher"] = writing.label(WORKER, worker_id)
        writing.log("watcher.assigned" if adds else "watcher.unassigned", own.context, id, variables)


def _log_link(writing: Writing, own: tuple["RecordType", int], other: tuple["RecordType", int], adds: bool) -> None:
    for (one, one_id), (another, another_id) in ((own, other), (other, own)):
        writing.touch(one.context, id=one_id)
        variables = {
            "target_object": one.label_names[0].lower(),
            "target": writing.label(one.context, one_id),
            "link_object": another.label_names[0].lower(),
            "link": writing.label(another.context, another_id),
        }
        point = "connection.link" if adds else "connection.unlink"
        writing.log(point, one.context, one_id, variables, about=(another.context, another_id))


def links_of(tx: Transaction, record_type: "RecordType", records: Sequence[Record]) -> list[Row]:
    """The links of records: (own id, context, id), in this order."""
    table = LINK.sql
    return tx.rows(
        lambda: (
            table.select(table.from_id, table.to_context, table.to_id)
            .where(table.from_context == slot(0), in_list(table.from_id, slot(1)))
            .order_by(table.from_id, table.to_context, table.to_id)
        ),
        (record_type.context, ids_text(records)),
    )


def _linked(record_type: "RecordType") -> Loader:
    """`links`: {context: [ids]}; with a form: [{_context, id, ...}]."""

    def load(view: DictionaryContext, records: list[Record], text: str) -> dict[int, dict[str, Any]]:
        form = read_form(text)
        rows = links_of(view.tx, record_type, records)
        pairs = readable_pairs(view, records, rows, form, form.many)
        if form.plain:
            return {own: {"links": by_context(pairs)} for own, pairs in pairs.items()}
        return {own: {"links": shown_list} for own, shown_list in listed(view, pairs, form).items()}

    return load


def _watching(record_type: "RecordType") -> Loader:
    """`watchers`: {worker id: worker}."""

    def load(view: DictionaryContext, records: list[Record], text: str) -> dict[int, dict[str, Any]]:
        ends = {"from_context": record_type.context, "to_context": WORKER}
        pairs = maps.pairs_through(view.tx, LINK, "from_id", "to_id", records, **ends)
        workers = maps.by_id(view, "worker", {worker for _, worker in pairs})
        return maps.as_map("watchers", records, pairs, workers)

    return load


def _linked_by_custom_field(record_type: "RecordType", name: str, rest: str, scope: "SearchScope") -> Filter | None:
    """The filter on records of a type that reference this one in a custom field."""
    uri, _, field_uri = rest.rpartition(".")
    target = scope.type_spelled(uri) if uri else None
    if target is None:
        return None
    for each in custom.definitions(scope.tx).fields_of(target.context):
        if each.uri == field_uri and each.points_to(record_type, scope.registry):
            way = HasManyThrough("custom_value", "number", "record_id", (("field_id", each.id),))
            return DeepFilter(name, "", target.uri, way).bind(record_type.table)
    return None
