"""Exports records as a package, for import into another service.

Their parts (tabs, widgets, events, fields, behaviors) are included, and so are the cards of boards. References to other
records become prompts, and so do secrets. Comments, links, files and custom values are left out."""

from collections.abc import Sequence
from typing import Any

import peewee

from server.context import Context
from server.errors import Invalid, Required, TooLarge
from server.packages.exported_types import EXPORTED, ON
from server.packages.record_exporter import Cards, Exported, RecordExporter
from server.packages.requirements import SVC_VERSION
from server.record_types.boards import column_cards
from server.record_types.boards.board_columns import BOARD, COLUMN
from server.record_types.record_type import CORE, RecordType
from server.record_types.registry import Registry
from server.record_types.shared.custom_types import CustomType
from server.records import references
from server.records.data_exports import log_export
from server.records.dictionary import Dictionaries
from server.store.statements import in_list, slot
from server.store.transaction import Transaction

MAX_EXPORTED = 1000  # in one package, including parts
# {section: (type whose text it extends, the key that names the record in an entry)}
ADDITIONS = {"events": ("automation_event", "event"), "toolbars": ("toolbar", "toolbar")}
SECTIONED = ("bot", "behavior", "automation_event", "toolbar", BOARD)  # types with a section other than `records`
Tree = dict[str, Any]


def export_package(ctx: Context, texts: Sequence[str], name: str = "") -> Tree:
    """Returns the package document of these records, each given as `<type>:<id>`.

    Raises AdminOnly, Required without records, Invalid for missing records and types that are not exported,
    TooLarge."""
    ctx.require_admin("export packages")
    if not texts:
        raise Required("records is required: send records[]=<type>:<id>", field="records")
    _require_few(len(texts))
    registry = ctx.service.registry
    refs = [references.read(registry, text, "records") for text in texts]
    for each in refs:
        if not _is_exported(each.type):
            names = each.type.label_names[1].lower()
            raise Invalid(f"records: {names} cannot be exported; known: {', '.join(sorted(EXPORTED))}", field="records")
    document = ctx.service.store.read(lambda tx: _document(Dictionaries(ctx, tx), refs, name))
    log_export(ctx, f"a package of {len(refs)} record{'' if len(refs) == 1 else 's'} and what is on them")
    return document


def _document(dictionaries: Dictionaries, refs: list[references.Reference], name: str) -> Tree:
    loaded = references.load(dictionaries, refs, "records")
    exported: Exported = {(each.type.uri, each.id): record for each, record in zip(refs, loaded, strict=True)}
    _add_parts(dictionaries, exported)
    cards = _add_cards(dictionaries, exported)
    exporter = RecordExporter(dictionaries, exported)
    boards = [exporter.board(record, cards) for (uri, _), record in exported.items() if uri == BOARD]
    on_boards = {(COLUMN, column) for column in cards} | {card for each in cards.values() for card in each}
    records = [
        exporter.entry(uri, record)
        for (uri, id), record in exported.items()
        if uri not in SECTIONED and (uri, id) not in on_boards
    ]
    bots = [exporter.bot(record) for (uri, _), record in exported.items() if uri == "bot"]
    additions = {
        section: [exporter.addition(uri, key, record) for (each, _), record in exported.items() if each == uri]
        for section, (uri, key) in ADDITIONS.items()
    }
    plugins = sorted({dictionaries.type(uri).plugin for uri, _ in exported} - {CORE})
    document: Tree = {
        "package": {
            "name": name or "Exported records",
            "revision": 1,
            "requires": {"svc_version": SVC_VERSION, "plugins": plugins},
            "configure": {"prompts": exporter.prompts(), "placeholders": []},
        },
        "records": records,
    }
    sections = {"bots": bots, "project_boards": boards} | additions
    return document | {name: entries for name, entries in sections.items() if entries}


def _add_parts(dictionaries: Dictionaries, exported: Exported) -> None:
    """Adds the parts of records level by level, with one statement per type of part."""
    level = list(exported)
    while level:
        _require_few(len(exported))
        below: list[tuple[str, int]] = []
        for owner in dict.fromkeys(uri for uri, _ in level):
            ids = [id for uri, id in level if uri == owner]
            for uri, column in ON.get(owner, ()):
                record_type = dictionaries.type(uri)
                for row in _rows_on(dictionaries.tx, record_type, column, ids):
                    record = record_type.record(row)
                    if (uri, record["id"]) not in exported:
                        exported[uri, record["id"]] = record
                        below.append((uri, record["id"]))
        level = below


def _add_cards(dictionaries: Dictionaries, exported: Exported) -> Cards:
    """Adds the cards of boards, with their parts. Returns the exported cards of each column of a board, by its id."""
    boards = {id for uri, id in exported if uri == BOARD}
    columns = [record for (uri, _), record in exported.items() if uri == COLUMN and record["board_id"] in boards]
    cards: Cards = {}
    for column in columns:
        cards[column["id"]] = own = []
        for card in column_cards.cards_in(dictionaries.tx, column):
            record_type = dictionaries.find_type(card.context)
            if record_type is None or record_type.uri in (*SECTIONED, COLUMN) or not _is_exported(record_type):
                continue
            if (record_type.uri, card.id) not in exported:
                [exported[record_type.uri, card.id]] = dictionaries.records(card.context, [card.id])
            own.append((record_type.uri, card.id))
    _add_parts(dictionaries, exported)
    return cards


def _is_exported(record_type: RecordType) -> bool:
    return record_type.uri in EXPORTED or isinstance(record_type, CustomType)


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


def types(registry: Registry) -> list[RecordType]:
    """Returns the record types that can be exported."""
    return [each for each in registry if _is_exported(each)]


def chosen(ctx: Context, texts: list[str]) -> list[tuple[str, str, str]]:
    """Returns (reference, label, name of the type) of records to export. Raises AdminOnly, Invalid for missing
    records."""
    ctx.require_admin("export packages")
    return ctx.service.store.read(lambda tx: _labelled(ctx, tx, texts))


def _labelled(ctx: Context, tx: Transaction, texts: list[str]) -> list[tuple[str, str, str]]:
    """Returns (reference, label, name of the type) of records. Raises Invalid for missing ones."""
    dictionaries = Dictionaries(ctx, tx)
    refs = [references.read(dictionaries.registry, text, "records") for text in texts]
    loaded = references.load(dictionaries, refs, "records")
    by_type: dict[str, list[Any]] = {}
    for each, record in zip(refs, loaded, strict=True):
        by_type.setdefault(each.type.uri, []).append(record)
    labels = {uri: dictionaries.type(uri).labels(dictionaries, same_type) for uri, same_type in by_type.items()}
    return [(f"{each.type.uri}:{each.id}", labels[each.type.uri][each.id], each.type.label_names[0]) for each in refs]
