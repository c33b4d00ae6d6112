"""Records as the flat dictionaries of responses, with the linked records named in `expand`.

Each level of nesting costs one statement per type, independent of the number of records."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from server import contexts
from server.access.rules import Rules
from server.context import Context
from server.errors import nearest
from server.record_types.record_type import Expand, NestedRecord, Record, RecordType
from server.record_types.registry import Registry
from server.search.conditions import ALWAYS, NEVER, Condition, slots_from
from server.store.statements import in_list, slot
from server.store.transaction import Transaction

MAX_PATHS, MAX_PATH_CHARS, MAX_DEPTH = 100, 255, 8
_CUSTOM_LINK = re.compile(r"custom_([0-9]+)_(.*)\Z")


class Dictionaries:
    """Implements record_types.parts.DictionaryContext: renders the records of one snapshot for one caller."""

    def __init__(self, ctx: Context, tx: Transaction) -> None:
        self.ctx = ctx
        self.tx = tx
        self.now = ctx.now
        self.actor = ctx.actor
        self.registry = ctx.service.registry
        self.rules = Rules(self.registry, ctx.actor)
        self._base = ctx.service.base_url

    def url(self, type: RecordType, record: Record) -> str:
        return self._base + type.url_path(record)

    def address(self, path: str) -> str:
        return self._base + path

    def webhook_url(self, token: str) -> str:
        return self.ctx.service.webhook_url(token)

    def type(self, name: str) -> RecordType:
        return self.registry.type(name)

    def find_type(self, name: str) -> RecordType | None:
        return self.registry.find(name)

    def readable(self, uri: str) -> Condition:
        return self.rules.readable(self.registry.type(uri))

    def readable_ids(self, uri: str, ids: Iterable[int]) -> set[int]:
        id_set, condition = set(ids), self.readable(uri)
        if not id_set or condition is ALWAYS:
            return id_set
        if condition is NEVER:
            return set()
        table = self.registry.type(uri).table
        rows = self.tx.rows(
            lambda: table.sql.select(table.sql.id).where(
                condition.build(slots_from(0)), in_list(table.sql.id, slot(len(condition.values)))
            ),
            (*condition.values, json.dumps(sorted(id_set))),
        )
        return {row[0] for row in rows}

    def records(self, uri: str, ids: Iterable[int]) -> list[Record]:
        sorted_ids = sorted({id for id in ids if id})
        record_type = self.registry.type(uri)
        condition = self.rules.readable(record_type)
        if not sorted_ids or condition is NEVER:
            return []
        if condition is ALWAYS:
            rows = self.tx.get_many(record_type.table, sorted_ids)
        else:
            table = record_type.table
            rows = self.tx.rows(
                lambda: (
                    table.sql.select(*table.all_columns)
                    .where(condition.build(slots_from(0)), in_list(table.sql.id, slot(len(condition.values))))
                    .order_by(table.sql.id)
                ),
                (*condition.values, "[" + ",".join(map(str, sorted_ids)) + "]"),
            )
        return [record_type.record(row) for row in rows]

    def dictionaries(self, uri: str, records: Sequence[Record], expand: str = "") -> list[dict[str, Any]]:
        return self.show(self.registry.type(uri), records, paths(expand))

    def show(
        self, record_type: RecordType, records: Sequence[Record], expand_paths: Sequence[str] = (), depth: int = 0
    ) -> list[dict[str, Any]]:
        """Returns the dictionaries of records of one type, in the given order."""
        shape = _shape(record_type, self.registry)
        dictionaries = [shape.base(record, self) for record in records]
        if not records:
            return dictionaries
        wants_label = not record_type.label_on_expand or "_label" in expand_paths
        if wants_label:
            labels = record_type.labels(self, records)
            for record, dictionary in zip(records, dictionaries, strict=True):
                dictionary["_label"] = labels[record["id"]]
                if record_type.label_key:
                    dictionary[record_type.label_key] = labels[record["id"]]
        if expand_paths and depth < MAX_DEPTH:
            self._open(record_type, records, dictionaries, expand_paths, depth)
        if record_type.for_admins and not self.actor.is_admin:
            for dictionary in dictionaries:
                for key in record_type.for_admins:
                    dictionary.pop(key, None)
        return dictionaries

    def _open(
        self,
        record_type: RecordType,
        records: Sequence[Record],
        dictionaries: list[dict[str, Any]],
        expand_paths: Sequence[str],
        depth: int,
    ) -> None:
        below: dict[str, list[str]] = {}
        links: dict[int, list[str]] = {}
        loads: dict[str, tuple[Expand, str]] = {}
        on_expand = {key.name: key for key in record_type.keys if key.on_expand and key.value is not None}
        for path in expand_paths:
            prefix = _longest_prefix(record_type, path)
            match = _CUSTOM_LINK.match(path)
            if prefix is not None:
                below.setdefault(prefix, []).append(path[len(prefix) + 1 :])
            elif match and "custom_" in record_type.expand_by_name:
                links.setdefault(int(match[1]), []).append(match[2])
            elif path in on_expand:
                key = on_expand[path]
                for record, dictionary in zip(records, dictionaries, strict=True):
                    value = key.value(record, self) if key.value else None
                    if value is not None:
                        dictionary[path] = value
            else:
                named = _expand_named(record_type, path)
                if named is not None:
                    loads[named[0].name + named[1]] = named
                else:
                    brought = (trait.expand_named(record_type, path, self.tx) for trait in record_type.traits)
                    for name in filter(None, brought):
                        loads[name] = (record_type.expand_by_name[name], "")
        if links and "custom_" not in loads:
            loads["custom_"] = (record_type.expand_by_name["custom_"], "")
        for each, form in loads.values():
            if not self.covers(each.reads or each.target):
                continue
            loaded = each.load(self, list(records), form)
            for record, dictionary in zip(records, dictionaries, strict=True):
                dictionary.update(loaded.get(record["id"], {}))
        for prefix, rest in below.items():
            self._open_nested(record_type.nested_by_prefix[prefix], records, dictionaries, rest, depth)
        for number, rest in links.items():
            self._open_custom(f"custom_{number}", dictionaries, rest, depth)

    def covers(self, uri: str) -> bool:
        """Whether the scopes of the caller's token cover a type; true for "", which reads no other record."""
        return not uri or self.ctx.limit is None or self.ctx.limit.covers(uri)

    def _open_nested(
        self,
        nested: NestedRecord,
        records: Sequence[Record],
        dictionaries: list[dict[str, Any]],
        rest: list[str],
        depth: int,
    ) -> None:
        """Adds the keys of the records behind one prefix, of any type."""
        column = nested.id_column
        if nested.target == "*":
            context_of = itemgetter(f"{nested.prefix}__context")
            targets = [(str(context_of(record)), int(record[column])) for record in records]
        else:
            targets = [(nested.target, int(record[column])) for record in records]
        self.open_under(nested.prefix, targets, dictionaries, rest, depth)

    def _open_custom(self, prefix: str, dictionaries: list[dict[str, Any]], rest: list[str], depth: int) -> None:
        targets = [
            (str(each.get(f"{prefix}__context", "")), int(each.get(f"{prefix}_id", 0) or 0)) for each in dictionaries
        ]
        self.open_under(prefix, targets, dictionaries, rest, depth)

    def open_under(
        self,
        prefix: str,
        targets: list[tuple[str, int]],
        dictionaries: list[dict[str, Any]],
        rest: list[str],
        depth: int = 0,
    ) -> None:
        """Adds the keys of other records to dictionaries, prefixed with `<prefix>_`. targets: (type name, id), one for
        each dictionary. rest: paths to expand in those records."""
        nested_keys: dict[tuple[str, int], dict[str, Any]] = {}
        expand_paths = sorted({path for path in rest if path} | {"_label"})
        for name in {name for name, _ in targets}:
            target = self.registry.find(name)
            if target is None or not self.covers(target.uri):
                continue
            records = self.records(target.uri, {id for each, id in targets if each == name})
            for record, dictionary in zip(records, self.show(target, records, expand_paths, depth + 1), strict=True):
                nested_keys[name, record["id"]] = {f"{prefix}_{key}": value for key, value in dictionary.items()}
        for pair, dictionary in zip(targets, dictionaries, strict=True):
            for key, value in nested_keys.get(pair, {}).items():
                dictionary.setdefault(key, value)  # own keys win: a message has its own ticket_url


def paths(expand: str) -> list[str]:
    """The paths of an `expand` parameter: separated by commas, without blank ones, at most MAX_PATHS of MAX_PATH_CHARS
    characters."""
    if not expand:
        return []
    parts = [part.strip() for part in expand.split(",")]
    return [path for path in dict.fromkeys(parts) if path and len(path) <= MAX_PATH_CHARS][:MAX_PATHS]


def is_key(registry: Registry, record_type: RecordType, path: str, tx: Transaction, depth: int = 0) -> bool:
    """Whether dictionaries of this type can have the key `path` when expanded along it. Keys of links to any type, and
    of records behind custom fields, are assumed to exist."""
    if len(path) > MAX_PATH_CHARS or depth > MAX_DEPTH:
        return False
    prefix = _longest_prefix(record_type, path)
    if prefix is not None:
        target = record_type.nested_by_prefix[prefix].target
        below = registry.find(target)
        rest = path[len(prefix) + 1 :]
        if target == "*" or (below is not None and is_key(registry, below, rest, tx, depth + 1)):
            return True
    is_own = path in _shape(record_type, registry).all_keys or any(key.name == path for key in record_type.keys)
    return (
        is_own
        or bool(_CUSTOM_LINK.match(path) and "custom_" in record_type.expand_by_name)
        or _expand_named(record_type, path) is not None
        or any(trait.expand_named(record_type, path, tx) for trait in record_type.traits)
    )


def opens_nothing(registry: Registry, record_type: RecordType, expand: str, tx: Transaction) -> list[str]:
    """Returns an error for each path of an `expand` parameter that matches no key of this type."""
    unknown = [
        path
        for path in paths(expand)
        if not is_key(registry, record_type, path, tx)
        and not (path.endswith("_") and is_key(registry, record_type, f"{path}id", tx))
        and not any(path.startswith(f"{name}_") for name in record_type.expand_by_name)  # these add more keys
    ]
    if not unknown:
        return []
    names = [*record_type.expand_by_name, *(f"{prefix}_" for prefix in record_type.nested_by_prefix)]
    return [f"'{path[:80]}' is not a key of {record_type.uri}{nearest(path, names)}" for path in unknown]


def _longest_prefix(record_type: RecordType, path: str) -> str | None:
    if path in record_type.expand_by_name:
        return None
    fits = [prefix for prefix in record_type.nested_by_prefix if path.startswith(f"{prefix}_")]
    return max(fits, key=len) if fits else None


def _expand_named(record_type: RecordType, path: str) -> tuple[Expand, str] | None:
    """Returns the expand of a path and its form: `comments~5` is `comments` with `~5`."""
    plain = record_type.expand_by_name.get(path)
    if plain is not None:
        return plain, ""
    for place, char in enumerate(path):
        if char in ".~:":
            expand = record_type.expand_by_name.get(path[:place])
            return (expand, path[place:]) if expand else None
    return None


class _Shape:
    """The default keys of a type's dictionaries; computed once per type."""

    def __init__(self, record_type: RecordType, registry: Registry) -> None:
        self.record_type = record_type
        self.constants: dict[str, Any] = {"_context": record_type.context, "_type": record_type.uri}
        self.plain: list[tuple[str, str]] = [("id", "id")]
        self.computed: list[tuple[str, Any]] = []
        self.again: list[tuple[str, str]] = []
        for field in record_type.fields.values():
            if field.shown:
                self.plain.append((field.key, field.name))
        for nested in record_type.nested:
            if not nested.stub:
                continue
            if nested.is_nullable:
                self.computed.append((f"{nested.prefix}_id", _or_null(nested.id_column)))
            else:
                self.plain.append((f"{nested.prefix}_id", nested.id_column))
            if nested.target == "*":
                self.plain.append((f"{nested.prefix}__context", f"{nested.prefix}__context"))
            else:
                target = registry.find(nested.target)
                absent = _ABSENT.get(nested.target, contexts.context_of(nested.target))
                self.constants[f"{nested.prefix}__context"] = target.context if target else absent
        for key in record_type.keys:
            if key.column and not key.on_expand:
                self.plain.append((key.name, key.column))
            elif key.again:
                self.again.append((key.name, key.again))
            elif key.value is not None and not key.on_expand:
                self.computed.append((key.name, key.value))
        self.keys = [key for key, _ in self.plain]
        others = {key for key, _ in [*self.computed, *self.again]}
        self.all_keys = {*self.constants, *self.keys, *others, "_label", "record_url"}
        self.all_keys |= {record_type.label_key} if record_type.label_key else set()
        columns = [column for _, column in self.plain]
        self.values = itemgetter(*columns) if len(columns) > 1 else lambda record: (record["id"],)

    def base(self, record: Record, view: Dictionaries) -> dict[str, Any]:
        dictionary = dict(self.constants)
        dictionary.update(zip(self.keys, self.values(record), strict=True))
        if self.record_type.has_url:
            dictionary["record_url"] = view.url(self.record_type, record)
        for key, value in self.computed:
            dictionary[key] = value(record, view)
        for key, shown_as in self.again:
            dictionary[key] = dictionary[shown_as]
        return dictionary


def _or_null(column: str) -> Callable[[Record, Dictionaries], Any]:
    return lambda record, view: record[column] or None


# Contexts of types that are referenced but not declared yet.
_ABSENT = {"gpg_private_key": contexts.GPG_PRIVATE_KEY}


def _shape(record_type: RecordType, registry: Registry) -> _Shape:
    shape: _Shape | None = registry.cache.get(record_type)
    if shape is None:
        shape = registry.cache[record_type] = _Shape(record_type, registry)
    return shape
