"""A whole record as its readers see it: its label, its keys with the labels of the records they refer to, its
files, comments and links, within the rights of the caller."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.digits import is_whole
from server.record_types import describe
from server.record_types.field_labels import field_label
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry
from server.record_types.shared import custom, paths
from server.record_types.shared.custom import FieldDefinition
from server.record_types.shared.expand_forms import MOST
from server.record_types.traits import Avatars
from server.records import records
from server.records.dictionary import Dictionaries
from server.records.records import SearchRequest
from server.records.stored_files import preview_of
from server.translation import shown

LABEL, FIELDSET = "_label", "custom_fieldset"
BLOCK_CHARS = 160  # a text of more stands below its name
# Keys whose values are elsewhere in the sheet.
_SAID = frozenset((LABEL, "_context", "_type", "_image_url", "id", "record_url", "event_json", "message_html"))
_BLANK: tuple[Any, ...] = ("", None, [], {})
KINDS = {"timestamp": "time", "bit": "flag", "boolean": "flag", "url": "url", "object": "json"}
CUSTOM_KINDS = {"E": "time", "C": "flag", "U": "url"}


@dataclass(frozen=True, slots=True)
class Link:
    """A link to another record. path: of its page. ref: `<type>:<id>`, as in the API."""

    label: str
    type_label: str
    path: str
    ref: str = dataclasses.field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Fact:
    """A value with its label.

    key: its key, or the prefix of `_id` for a record. kind: `text`, `block` for a long one, `time` in Unix seconds,
    `flag`, `url`, `links`. fieldset: the name of its fieldset, "" for none."""

    key: str
    name: str
    kind: str
    value: Any
    fieldset: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A file. size: in bytes. path: of its content. is_image: whether browsers display it inline. is_dropped: whether
    its content was not stored, so that the path leads nowhere. preview: `image`, `pdf` or `text` for one that pages can
    show, else ""."""

    id: int
    name: str
    size: int
    path: str
    is_image: bool
    is_dropped: bool = False
    preview: str = ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A record in full. keys: the record as the API returns it, expanded. picture: the path
    of its picture, "" for none."""

    type: RecordType
    id: int
    label: str
    keys: dict[str, Any]
    facts: tuple[Fact, ...]
    links: tuple[Link, ...]
    files: tuple[File, ...]
    comments: tuple[dict[str, Any], ...]
    picture: str


def sheet(ctx: Context, uri: str, id: int, *more: str) -> Sheet:
    """The sheet of a record. more: further paths to expand. Raises NotFound, Forbidden, NotOffered, as the API does."""
    registry = ctx.service.registry
    record_type = registry.type(uri)
    fields = records.reading(ctx, lambda tx: custom.definitions(tx).fields_of(record_type.context))
    record = records.retrieve(ctx, uri, id, ",".join((*_opened(record_type), *more)))
    return Sheet(
        type=record_type,
        id=id,
        label=str(record[LABEL]),
        keys=record,
        facts=(
            *_pointers(registry, record_type, record),
            *_values(record_type, record),
            *custom_facts(ctx, fields, record),
        ),
        links=tuple(_links(registry, record)),
        files=tuple(files(record)),
        comments=tuple((record.get("comments") or {}).values()),
        picture=f"/avatars/{record_type.uri}/{id}" if record_type.has(Avatars) else "",
    )


def files(record: Mapping[str, Any]) -> Iterator[File]:
    """The files in the expanded `attachments` of a record, in either form."""
    attachments = record.get("attachments") or []
    if isinstance(attachments, list):
        yield from map(file, attachments)
    else:
        for each in attachments.values():
            yield _file(each["id"], each["file_name"], each["file_size"], each["file_type"], each["dropped"])


def files_by_id(ctx: Context, ids: Iterable[object]) -> tuple[File, ...]:
    """The files with these ids, in their order, as far as the caller may read them."""
    file_ids = [int(text) for text in map(str, ids) if is_whole(text)]
    if not file_ids:
        return ()
    request = SearchRequest(f"id:[{','.join(map(str, file_ids))}]", len(file_ids))
    by_id = {each["id"]: file(each) for each in records.search(ctx, "attachment", request)["results"]}
    return tuple(by_id[id] for id in file_ids if id in by_id)


def file(attachment: Mapping[str, Any]) -> File:
    """An attachment by its dictionary."""
    return _file(
        attachment["id"], attachment["name"], attachment["size"], attachment["mime_type"], attachment["dropped"]
    )


def _file(id: int, name: str, size: int, mime_type: str, dropped: str) -> File:
    preview = "" if dropped else preview_of(mime_type)
    return File(id, name, size, paths.file(id, name), preview == "image", bool(dropped), preview)


def _opened(record_type: RecordType) -> Iterator[str]:
    yield LABEL
    yield from (f"{nested.prefix}_" for nested in record_type.nested if nested.stub)
    forms = {
        "custom_": "custom_",
        "links": f"links~{MOST}:{LABEL}",
        "comments": f"comments~{MOST}:author_",
        "attachments": f"attachments~{MOST}",
    }
    yield from (form for name, form in forms.items() if name in record_type.expand_by_name)


def _pointers(registry: Registry, record_type: RecordType, record: dict[str, Any]) -> Iterator[Fact]:
    """The records that it belongs to, and the people who work on it."""
    for nested in record_type.nested:
        id = record.get(f"{nested.prefix}_id")
        if nested.stub and id:
            target = link(registry, record[f"{nested.prefix}__context"], id, record.get(f"{nested.prefix}__label"))
            is_type = nested.prefix == nested.target
            yield Fact(nested.prefix, target.type_label if is_type else field_label(nested.prefix), "links", [target])


def _values(record_type: RecordType, record: dict[str, Any]) -> Iterator[Fact]:
    behind = {name for each in record_type.nested for name in (f"{each.prefix}_id", f"{each.prefix}__context")}
    for key in describe.keys(record_type):
        name = key["key"]
        if key["returned"] == "default" and name not in _SAID | behind and not _is_own_page(name, record):
            is_nobody = name.endswith("_id") and not record.get(name)
            yield from (
                () if is_nobody else _fact(name, field_label(name), KINDS.get(key["type"], "text"), record.get(name))
            )


def _is_own_page(name: str, record: dict[str, Any]) -> bool:
    return name == "url" and record[name] == record.get("record_url")


def custom_facts(ctx: Context, fields: tuple[FieldDefinition, ...], record: dict[str, Any]) -> Iterator[Fact]:
    """Custom fields with values. fields: of the type. record: its keys, with `custom_`."""
    sets = _fieldsets(ctx, fields)
    for field in fields:
        name, fieldset = f"custom_{field.id}", sets.get(field.fieldset_id, "")
        value = record.get(f"{name}_label") if field.kind == "Y" else record.get(name)
        kind = CUSTOM_KINDS.get(field.kind, "text")
        if field.target:
            links = _targets(ctx, field.target, record["custom"][str(field.id)])
            yield from [Fact(name, field.name, "links", links, fieldset)] if links else []
        else:
            value = int(value) if value and kind in ("time", "flag") else value
            yield from (replace(fact, fieldset=fieldset) for fact in _fact(name, field.name, kind, value))


def _fieldsets(ctx: Context, fields: tuple[FieldDefinition, ...]) -> dict[int, str]:
    """The names of the fieldsets that fields belong to, by their ids."""
    ids = sorted({field.fieldset_id for field in fields if field.fieldset_id})
    return records.reading(ctx, lambda tx: _labels(Dictionaries(ctx, tx), FIELDSET, ids)) if ids else {}


def _targets(ctx: Context, type: str, value: Any) -> list[Link]:
    """The records that a custom field points to."""
    registry = ctx.service.registry
    ids = [int(each) for each in (value if isinstance(value, list) else [value]) if each]
    record_type = registry.find(type)
    if record_type is None or not ids:
        return []
    uri = record_type.uri
    labels = records.reading(ctx, lambda tx: _labels(Dictionaries(ctx, tx), uri, ids))
    return [link(registry, uri, id, labels.get(id)) for id in ids]


def _labels(dictionaries: Dictionaries, uri: str, ids: list[int]) -> dict[int, str]:
    return dictionaries.type(uri).labels(dictionaries, dictionaries.records(uri, ids))


def _fact(key: str, name: str, kind: str, value: Any) -> Iterator[Fact]:
    """A fact; none for a blank value."""
    if value in _BLANK or (kind in ("time", "flag") and not value):
        return
    if kind == "json" or isinstance(value, (list, dict)):
        yield Fact(key, name, "block", json.dumps(value, ensure_ascii=False, indent=1))
    elif kind == "text" and isinstance(value, str) and ("\n" in value.strip() or len(value) > BLOCK_CHARS):
        yield Fact(key, name, "block", value)
    else:
        yield Fact(key, name, kind, value)


def _links(registry: Registry, record: dict[str, Any]) -> Iterator[Link]:
    for each in record.get("links") or []:
        yield link(registry, each["_context"], each["id"], each.get(LABEL))


def link(registry: Registry, type: str, id: int, label: object) -> Link:
    """A link to another record. Without a path, and without a label, if the caller may not read it."""
    record_type = registry.find(type)
    type_label = shown(record_type.label_names[0]) if record_type else type
    if record_type is None or label is None or not record_type.operations["retrieve"]:
        return Link(f"{type_label} {id}", type_label, "", f"{record_type.uri if record_type else type}:{id}")
    return Link(
        str(label) or f"{type_label} {id}", type_label, paths.record(record_type.uri, id), f"{record_type.uri}:{id}"
    )
