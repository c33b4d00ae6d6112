"""Records as a package, to be imported into another service. Ours.

What they have on them (tabs, widgets, events, fields, behaviors) goes along. Records that they name and that do not go
along become questions. Secrets, comments, links, files and custom values stay behind."""

from collections.abc import Sequence
from typing import Any

import peewee

from server.context import Context
from server.desk import references
from server.desk.data_exports import log_export
from server.desk.dictionary import Dictionaries
from server.errors import Invalid, Required, TooLarge
from server.fields import ContextName, Field, Id
from server.fields.link import APP
from server.packages.requirements import SVC_VERSION
from server.packages.substitution import escaped
from server.records.base import CORE, Record, RecordType
from server.records.shared.behavior_events import exported
from server.records.shared.custom_types import CustomType, context_of
from server.store.statements import in_list, slot
from server.store.transaction import Transaction

MAX_EXPORTED = 1000  # records of one package, with what is on them
# Types whose records mean the same elsewhere, and hold no secrets but those in LEFT_OUT.
EXPORTED = frozenset((
    "asset", "automation", "bot", "calendar", "calendar_event", "calendar_event_recurring", "custom_field",
    "custom_fieldset", "custom_record", "email_signature", "html_template", "org", "saved_search", "snippet", "task",
    "webhook_listener", "workspace_list", "workspace_page", "workspace_tab", "workspace_widget",
))  # fmt: skip
LEFT_OUT = frozenset((("snippet", "total_uses"), ("webhook_listener", "guid")))
# {type: [(type of what is on it, the column that points back)]}
ON: dict[str, tuple[tuple[str, str], ...]] = {
    "bot": (("behavior", "bot_id"),),
    "calendar": (("calendar_event", "calendar_id"), ("calendar_event_recurring", "calendar_id")),
    "custom_fieldset": (("custom_field", "custom_fieldset_id"),),
    "workspace_page": (("workspace_tab", "page_id"),),
    "workspace_tab": (("workspace_widget", "tab_id"), ("workspace_list", "tab_id")),
}
Tree = dict[str, Any]
Found = dict[tuple[str, int], Record]  # by uri and id, in the order of the package


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
    found: Found = {(each.type.uri, each.id): record for each, record in zip(listed, loaded, strict=True)}
    _add_what_is_on(shown, found)
    writing = _RecordExporter(shown, found)
    records = [writing.entry(uri, record) for (uri, _), record in found.items() if uri not in ("bot", "behavior")]
    bots = [writing.bot(record) for (uri, _), record in found.items() if uri == "bot"]
    plugins = sorted({shown.type(uri).plugin for uri, _ in found} - {CORE})
    document: Tree = {
        "package": {
            "name": name or "Exported records",
            "revision": 1,
            "requires": {"svc_version": SVC_VERSION, "plugins": plugins},
            "configure": {"prompts": writing.prompts(), "placeholders": []},
        },
        "records": records,
    }
    return document | ({"bots": bots} if bots else {})


def _add_what_is_on(shown: Dictionaries, found: Found) -> None:
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


class _RecordExporter:
    """Writes records as entries; notes which others they name."""

    def __init__(self, shown: Dictionaries, found: Found) -> None:
        self._shown = shown
        self._found = found
        self._outside: dict[str, dict[int, None]] = {}  # {uri: ids} of records that do not go along

    def entry(self, uri: str, record: Record) -> Tree:
        """An entry of the section `records`."""
        return {"uid": _uid(uri, record["id"]), "_context": uri} | self._fields(self._shown.type(uri), record)

    def bot(self, record: Record) -> Tree:
        """An entry of the section `bots`."""
        own = self._fields(self._shown.type("bot"), record)
        behaviors = [each for (uri, _), each in self._found.items() if uri == "behavior"]
        return {"uid": _uid("bot", record["id"]), "is_disabled": record["is_disabled"]} | own | {
            "owner": {"context": own.pop("owner__context", APP), "id": own.pop("owner_id", 0)},
            "params": _escaped(record["config"]),
            "behaviors": [_escaped(exported(each)) for each in behaviors if each["bot_id"] == record["id"]],
        }  # fmt: skip

    def prompts(self) -> list[Tree]:
        """A question for each record that is named and does not go along."""
        asked = []
        for uri, ids in self._outside.items():
            record_type = self._shown.type(uri)
            labels = record_type.labels(self._shown, self._shown.records(uri, ids))
            for id in ids:
                label = f"{record_type.label_names[0]}: {labels.get(id, id)}"
                params = {"context": record_type.context, "query": "", "single": True}
                asked.append({"type": "chooser", "label": label, "key": _uid(uri, id), "params": params})
        return asked

    def _fields(self, record_type: RecordType, record: Record) -> Tree:
        made: Tree = {}
        for name, field in record_type.fields.items():
            is_own = field.stored and not field.immutable and field.auto != "now" and name != "id"
            if not is_own or (record_type.uri, name) in LEFT_OUT:
                continue
            initial = record_type.record([record_type.initial[each] for each in record_type.table.names])[name]
            if record[name] != initial or field.required:
                made[name] = self._value(field, record[name], record)
        return made

    def _value(self, field: Field, value: Any, record: Record) -> Any:
        if isinstance(field, Id):
            target = field.target or record[field.target_from]
            return self._reference(target, value)
        if isinstance(field, ContextName):
            return self._context(value)
        return _escaped(value)

    def _reference(self, target: str, id: int) -> Any:
        record_type = self._shown.find_type(target)
        if not id or record_type is None:
            return id
        if (record_type.uri, id) in self._found:
            return f"{{{{{{uid.{_uid(record_type.uri, id)}}}}}}}"
        self._outside.setdefault(record_type.uri, {})[id] = None
        return f"{{{{{{{_uid(record_type.uri, id)}}}}}}}"

    def _context(self, context: str) -> str:
        """A custom type that goes along has another id there."""
        for uri, id in self._found:
            if uri == "custom_record" and context == context_of(id):
                return context.replace(str(id), f"{{{{{{uid.{_uid(uri, id)}}}}}}}")
        return context


def _uid(uri: str, id: int) -> str:
    return f"{uri}_{id}"


def _escaped(value: Any) -> Any:
    """A value whose texts are no templates of a package."""
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    if isinstance(value, dict):
        return {escaped(name): _escaped(each) for name, each in value.items()}
    return value


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
