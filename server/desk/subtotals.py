"""How the records of a search spread over the values of a filter: label, hits and key of each. Source: Records, Search.

Counts cover all matches, not one page; where the type keeps a summary that holds the columns, they are read from it."""

import json
from typing import TYPE_CHECKING, Any

import peewee

from server.errors import BadQuery, nearest
from server.records.shared import custom
from server.search.conditions import ALWAYS, NEVER, Condition, slots_from
from server.search.filters.base import Filter
from server.search.filters.by_id import ByIdFilter
from server.search.filters.choice import ChoiceFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.links import LinksFilter, TypeFilter, linked_to
from server.search.filters.number import ChooserFilter
from server.search.filters.ways import Through
from server.search.filters.worker import WatchersFilter, WorkerFilter
from server.search.select import Search, stand_in
from server.store.statements import in_list, slot

if TYPE_CHECKING:
    from server.records.base import RecordType

MAX_VALUES = 250  # distinct values of one subtotal, those with most hits
NONE = "(none)"
Counted = list[tuple[Any, int]]


def subtotals(search: Search, name: str) -> list[dict[str, Any]]:
    """[{label, hits, key}] of one name, most hits first. Raises BadQuery for a name that cannot be counted."""
    record_type = search.record_type
    found = record_type.filter_named(name, search.scope)
    if found is None:
        known = [*record_type.subtotals.search]
        raise BadQuery(f"'{name[:80]}' is not a filter of {record_type.uri}{nearest(name, known)}", field=name)
    if not _countable(record_type, name, found):
        raise BadQuery(
            f"{record_type.uri} cannot be counted by '{name[:80]}'; it can by "
            f"{', '.join(record_type.subtotals.search)}",
            field=name,
        )
    if search.condition is NEVER:
        return []
    if isinstance(found, custom.CustomFilter):
        return _custom(search, found)
    if isinstance(found, LinksFilter):
        via = peewee.Table("link", alias="counted")
        readable = linked_to(via, None, search.scope)
        counted = _through(search, via, "from_id", "to_context", "from_context", readable=readable)
        return _labelled(_types(search, counted))
    if isinstance(found, TypeFilter):
        counted = _by_column(search, f"{found.prefix}__context")
        return _labelled(_types(search, counted))
    if isinstance(found, WatchersFilter):
        via = peewee.Table("link", alias="counted")
        counted = _through(search, via, "from_id", "to_id", "from_context", ("to_context", "svc.contexts.worker"))
        return _labelled(_names(search, "worker", counted))
    if isinstance(found, ByIdFilter) and isinstance(found.way, Through):
        via = peewee.Table(found.way.between, alias="counted")
        counted = _through(search, via, found.way.own, found.way.other, "", *found.way.only)
        return _labelled(_names(search, found.target, counted))
    if name == "fieldset":
        counted = _through(search, peewee.Table("fieldset_use", alias="counted"), "record_id", "fieldset_id", "context")
        return _labelled(_names(search, "custom_fieldset", counted))
    if name == "group" and record_type.uri == "worker":
        counted = _through(search, peewee.Table("group_member", alias="counted"), "worker_id", "group_id", "")
        return _labelled(_names(search, "group", counted))
    if name.startswith("ticket.") and record_type.uri == "message":
        return _by_ticket(search, name)
    return _plain(search, found)


def _countable(record_type: "RecordType", name: str, found: Filter) -> bool:
    if isinstance(found, custom.CustomFilter):
        return custom.countable(found.field)
    return name in record_type.subtotals.search or found.name in record_type.subtotals.search


def _plain(search: Search, found: Filter) -> list[dict[str, Any]]:
    column = found.column_name
    if isinstance(found, ChoiceFilter):
        words: dict[Any, str] = {}
        for word, value in found.choices.items():
            words.setdefault(value, word)
        counted = _by_column(search, column)
        return _ordered([
            {"label": words.get(value, str(value)).capitalize(), "hits": hits, "key": value} for value, hits in counted
        ])
    if isinstance(found, FlagFilter):
        return _ordered([
            {"label": "Yes" if value else "No", "hits": hits, "key": value}
            for value, hits in _by_column(search, column)
        ])
    if search.record_type.uri == "ticket" and column == "group_id":
        return _groups_and_buckets(search)
    if isinstance(found, (ChooserFilter, WorkerFilter)) and found.target:
        return _labelled(_names(search, found.target, _by_column(search, column)))
    return _labelled([(value, str(value) if value != "" else NONE, hits) for value, hits in _by_column(search, column)])


def _by_column(search: Search, column: str) -> Counted:
    """[(value, hits)] of a column of the type."""
    table, condition = search.record_type.table, search.condition
    known = condition.columns
    by_summary = bool(table.summary) and known is not None and (known | {column}) <= set(table.summary)
    if by_summary:
        counts = stand_in(table, table.summary_table)
        hits: Any = peewee.fn.SUM(counts.n)
        source: Any = counts
    else:
        hits, source = peewee.fn.COUNT(table.sql.id), table.sql

    def build() -> Any:
        expression = peewee.Column(table.sql, column)
        query = source.select(expression, hits)
        if condition is not ALWAYS:
            query = query.where(condition.build(slots_from(0)))
        return query.group_by(expression).order_by(hits.desc()).limit(MAX_VALUES)

    key = ("subtotal", table.name, column, by_summary, condition.key)
    return search.scope.tx.rows(key, build, condition.values)


def _groups_and_buckets(search: Search) -> list[dict[str, Any]]:
    """Groups by name, each with its buckets."""
    table, condition = search.record_type.table, search.condition
    known = condition.columns
    by_summary = known is not None and (known | {"group_id", "bucket_id"}) <= set(table.summary)
    source: Any = stand_in(table, table.summary_table) if by_summary else table.sql
    hits: Any = peewee.fn.SUM(source.n) if by_summary else peewee.fn.COUNT(table.sql.id)

    def build() -> Any:
        group, bucket = peewee.Column(table.sql, "group_id"), peewee.Column(table.sql, "bucket_id")
        query = source.select(group, bucket, hits)
        if condition is not ALWAYS:
            query = query.where(condition.build(slots_from(0)))
        return query.group_by(group, bucket).order_by(hits.desc())

    rows = search.scope.tx.rows(("groups", table.name, by_summary, condition.key), build, condition.values)
    groups = _labels(search, "group", {group for group, _, _ in rows})
    buckets = _labels(search, "bucket", {bucket for _, bucket, _ in rows})
    found: dict[int, dict[str, Any]] = {}
    for group, bucket, count in rows:
        entry = found.setdefault(group, {"label": groups.get(group, NONE), "hits": 0, "key": group, "distribution": []})
        entry["hits"] += count
        entry["distribution"].append({"label": buckets.get(bucket, NONE), "hits": count, "key": bucket})
    return sorted(found.values(), key=lambda each: str(each["label"]).casefold())


def _through(
    search: Search,
    via: Any,
    own: str,
    value: str,
    context_column: str,
    *also: tuple[str, Any],
    readable: Condition = ALWAYS,
) -> Counted:
    """[(value, hits)] of a table between, a peewee one, among the records of the search. readable: on its rows."""
    table, condition = search.record_type.table, search.condition

    def build() -> Any:
        ids = table.sql.select(table.sql.id)
        if condition is not ALWAYS:
            ids = ids.where(condition.build(slots_from(0)))
        column = getattr(via.c, value)
        hits = peewee.fn.COUNT(getattr(via.c, own).distinct())
        query = via.select(column, hits).where(getattr(via.c, own).in_(ids))
        if context_column:
            query = query.where(getattr(via.c, context_column) == search.record_type.context)
        for name, equal in also:
            query = query.where(getattr(via.c, name) == equal)
        if readable is not ALWAYS:
            query = query.where(readable.build(slots_from(len(condition.values))))
        return query.group_by(column).order_by(hits.desc()).limit(MAX_VALUES)

    key = ("subtotal through", table.name, via._path, value, also, condition.key, readable.key)
    return search.scope.tx.rows(key, build, (*condition.values, *readable.values))


def _custom(search: Search, found: custom.CustomFilter) -> list[dict[str, Any]]:
    field, table, condition = found.field, search.record_type.table, search.condition
    via = peewee.Table("custom_value", alias="counted")

    def build() -> Any:
        own = peewee.Column(table.sql, found.own)
        ids = table.sql.select(own)
        if condition is not ALWAYS:
            ids = ids.where(condition.build(slots_from(0)))
        hits = peewee.fn.COUNT(via.c.record_id.distinct())
        return (
            via.select(via.c.value, hits)
            .where(via.c.field_id == slot(len(condition.values)), via.c.record_id.in_(ids))
            .group_by(via.c.value)
            .order_by(hits.desc())
            .limit(MAX_VALUES)
        )

    key = ("custom subtotal", table.name, found.own, condition.key)
    counted = search.scope.tx.rows(key, build, (*condition.values, field.id))
    if field.target:
        target = search.scope.record_type(field.target)
        return _labelled(_names(search, target.uri, counted)) if target else []
    if field.kind == "C":
        return _ordered([{"label": "Yes" if value else "No", "hits": hits, "key": value} for value, hits in counted])
    return _labelled([(value, str(value), hits) for value, hits in counted])


def _by_ticket(search: Search, name: str) -> list[dict[str, Any]]:
    """Messages by what their ticket has: ticket.id, ticket.group.id, ticket.bucket.name and so on."""
    if name == "ticket.id":
        return _labelled(_names(search, "ticket", _by_column(search, "ticket_id")))
    part = "group" if ".group." in name else "bucket"
    table, condition = search.record_type.table, search.condition
    ticket = peewee.Table("ticket", alias="its_ticket")
    column = getattr(ticket.c, f"{part}_id")

    def build() -> Any:
        hits = peewee.fn.COUNT(table.sql.id)
        query = table.sql.select(column, hits).join(ticket, on=(ticket.c.id == table.sql.ticket_id))
        if condition is not ALWAYS:
            query = query.where(condition.build(slots_from(0)))
        return query.group_by(column).order_by(hits.desc()).limit(MAX_VALUES)

    counted = search.scope.tx.rows(("subtotal by ticket", part, condition.key), build, condition.values)
    named = _names(search, part, counted)
    if name.endswith(".name"):
        named = [(label, label, hits) for _, label, hits in named]
    return _labelled(named)


def _names(search: Search, uri: str, counted: Counted) -> list[tuple[Any, str, int]]:
    """Ids with the labels of their records, without those that the caller may not read."""
    labels = _labels(search, uri, {id for id, _ in counted})
    record_type = search.scope.record_type(uri)
    sees_all = record_type is None or search.scope.readable(record_type) is ALWAYS
    return [
        (id, labels.get(id, NONE if not id else str(id)), hits)
        for id, hits in counted
        if sees_all or not id or id in labels
    ]


def _labels(search: Search, uri: str, ids: set[Any]) -> dict[int, str]:
    record_type = search.scope.record_type(uri)
    if record_type is None:
        return {}
    condition = search.scope.readable(record_type)
    if condition is NEVER:
        return {}
    table, place = record_type.table, len(condition.values)

    def build() -> Any:
        query = table.sql.select(*table.all_columns).where(in_list(table.sql.id, slots_from(place)(0)))
        return query if condition is ALWAYS else query.where(condition.build(slots_from(0)))

    rows = search.scope.tx.rows(
        ("labels", table.name, condition.key), build, (*condition.values, json.dumps([id for id in ids if id]))
    )
    return {row[0]: record_type.label(record_type.record(row)) for row in rows}


def _types(search: Search, counted: Counted) -> list[tuple[Any, str, int]]:
    found = []
    for context, hits in counted:
        record_type = search.scope.record_type(context)
        label = record_type.label_names[0] if record_type else NONE if not context else "App"
        found.append((context, label, hits))
    return found


def _labelled(counted: list[tuple[Any, str, int]]) -> list[dict[str, Any]]:
    """Entries with a key where it differs from the label."""
    entries = []
    for key, label, hits in counted:
        entry: dict[str, Any] = {"label": label, "hits": hits}
        if str(key).casefold() != label.casefold():
            entry["key"] = key
        entries.append(entry)
    return _ordered(entries)


def _ordered(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(entries, key=lambda each: (-each["hits"], str(each["label"]).casefold()))
