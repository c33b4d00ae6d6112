"""Records as a package, to be imported into another service. Ours.

What they have on them (tabs, widgets, events, fields, behaviors) goes along. Records that they name and that do not go
along become prompts, and so do secrets. Comments, links, files and custom values stay behind."""

from collections.abc import Sequence
from typing import Any

import peewee

from server.context import Context
from server.errors import Invalid, Required, TooLarge
from server.packages.exported_types import EXPORTED, ON
from server.packages.record_exporter import Exported, RecordExporter
from server.packages.requirements import SVC_VERSION
from server.record_types.base import CORE, RecordType
from server.record_types.shared.custom_types import CustomType
from server.records import references
from server.records.data_exports import log_export
from server.records.dictionary import Dictionaries
from server.store.statements import in_list, slot
from server.store.transaction import Transaction

MAX_EXPORTED = 1000  # records of one package, with what is on them
# {section: type whose text it adds to, and the key of its entries that names the record}
ADDITIONS = {"events": ("automation_event", "event"), "toolbars": ("toolbar", "toolbar")}
SECTIONED = ("bot", "behavior", "automation_event", "toolbar")  # types with a section other than `records`
Tree = dict[str, Any]


def export_package(ctx: Context, texts: Sequence[str], name: str = "") -> Tree:
    """The package document of these records, each `<type>:<id>`.

    Raises AdminOnly, Required for none, Invalid for what is not there or of a type that is not exported, TooLarge."""
    ctx.require_admin("export packages")
    if not texts:
        raise Required("records is required: send records[]=<type>:<id>", field="records")
    _require_few(len(texts))
    registry = ctx.service.registry
    listed = [references.read(registry, text, "records") for text in texts]
    for each in listed:
        if each.type.uri not in EXPORTED and not isinstance(each.type, CustomType):
            names = each.type.label_names[1].lower()
            raise Invalid(f"records: {names} cannot be exported; known: {', '.join(sorted(EXPORTED))}", field="records")
    made = ctx.service.store.read(lambda tx: _document(Dictionaries(ctx, tx), listed, name))
    log_export(ctx, f"a package of {len(listed)} record{'' if len(listed) == 1 else 's'} and what is on them")
    return made


def _document(shown: Dictionaries, listed: list[references.Reference], name: str) -> Tree:
    loaded = references.load(shown, listed, "records")
    found: Exported = {(each.type.uri, each.id): record for each, record in zip(listed, loaded, strict=True)}
    _add_what_is_on(shown, found)
    exporter = RecordExporter(shown, found)
    records = [exporter.entry(uri, record) for (uri, _), record in found.items() if uri not in SECTIONED]
    bots = [exporter.bot(record) for (uri, _), record in found.items() if uri == "bot"]
    additions = {
        section: [exporter.addition(uri, key, record) for (each, _), record in found.items() if each == uri]
        for section, (uri, key) in ADDITIONS.items()
    }
    plugins = sorted({shown.type(uri).plugin for uri, _ in found} - {CORE})
    document: Tree = {
        "package": {
            "name": name or "Exported records",
            "revision": 1,
            "requires": {"svc_version": SVC_VERSION, "plugins": plugins},
            "configure": {"prompts": exporter.prompts(), "placeholders": []},
        },
        "records": records,
    }
    return document | ({"bots": bots} if bots else {}) | {name: listed for name, listed in additions.items() if listed}


def _add_what_is_on(shown: Dictionaries, found: Exported) -> None:
    """Level by level, one statement for each type on another."""
    level = list(found)
    while level:
        _require_few(len(found))
        below: list[tuple[str, int]] = []
        for owner in dict.fromkeys(uri for uri, _ in level):
            ids = [id for uri, id in level if uri == owner]
            for uri, column in ON.get(owner, ()):
                record_type = shown.type(uri)
                for row in _rows_on(shown.tx, record_type, column, ids):
                    record = record_type.record(row)
                    if (uri, record["id"]) not in found:
                        found[uri, record["id"]] = record
                        below.append((uri, record["id"]))
        level = below


def _rows_on(tx: Transaction, record_type: RecordType, column: str, ids: list[int]) -> list[tuple[Any, ...]]:
    table = record_type.table
    return tx.rows(
        lambda: (
            table.sql.select(*table.all_columns)
            .where(in_list(peewee.Column(table.sql, column), slot(0)))
            .order_by(table.sql.id)
            .limit(MAX_EXPORTED + 1)
        ),
        ("[" + ",".join(map(str, ids)) + "]",),
    )


def _require_few(number: int) -> None:
    if number > MAX_EXPORTED:
        raise TooLarge(f"at most {MAX_EXPORTED} records fit into one package; export fewer", limit=MAX_EXPORTED)


def chosen(ctx: Context, texts: list[str]) -> list[tuple[str, str, str]]:
    """(reference, label, name of the type) of records to export. Raises AdminOnly, Invalid for what is not there."""
    ctx.require_admin("export packages")
    return ctx.service.store.read(lambda tx: _labelled(ctx, tx, texts))


def _labelled(ctx: Context, tx: Transaction, texts: list[str]) -> list[tuple[str, str, str]]:
    """(reference, label, type) of chosen records. Raises Invalid for what is not there."""
    shown = Dictionaries(ctx, tx)
    listed = [references.read(shown.registry, text, "records") for text in texts]
    loaded = references.load(shown, listed, "records")
    by_type: dict[str, list[Any]] = {}
    for each, record in zip(listed, loaded, strict=True):
        by_type.setdefault(each.type.uri, []).append(record)
    labels = {uri: shown.type(uri).labels(shown, found) for uri, found in by_type.items()}
    return [(f"{each.type.uri}:{each.id}", labels[each.type.uri][each.id], each.type.label_names[0]) for each in listed]
