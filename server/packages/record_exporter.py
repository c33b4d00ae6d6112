"""Exports records as entries of a package: references become uids; references to other records and secrets become
prompts."""

import re
from collections.abc import Iterable
from typing import Any

from server.digits import is_whole
from server.fields import ContextName, Field, Id, Structure, Url
from server.fields.link import APP
from server.packages import grants, secret_texts, text_references
from server.packages.exported_types import LEFT_OUT, PARAM_TARGETS, RENEWED
from server.packages.substitution import Expression, escaped, spliced
from server.record_types.boards.board_columns import BOARD, COLUMN, ids_in
from server.record_types.record_type import Record, RecordType
from server.record_types.shared.behavior_events import exported
from server.records.dictionary import Dictionaries

Tree = dict[str, Any]
Exported = dict[tuple[str, int], Record]  # {(uri, id): record}, in the order of the package
Cards = dict[int, list[tuple[str, int]]]  # {id of a column: (uri, id) of each of its cards, in order}
SCRIPTS = frozenset(("script", "policy_kata", "callback_url", "url"))  # besides fields whose name ends in _kata
_NO_KEY = re.compile(r"[^A-Za-z0-9]+")


class RecordExporter:
    """Exports the records of one package, and collects prompts for their references and secrets."""

    def __init__(self, dictionaries: Dictionaries, records: Exported) -> None:
        self._shown = dictionaries
        self._records = records
        self._outside: dict[str, dict[int, None]] = {}  # {uri: ids} of referenced records that are not exported
        self._secrets: dict[str, Tree] = {}  # {secret: its prompt}
        self._stems: dict[str, int] = {}  # {stem of keys of prompts: number of uses}
        self._named = text_references.targets(dictionaries.registry)
        self._exists: dict[tuple[str, int], bool] = {}

    def entry(self, uri: str, record: Record) -> Tree:
        """Returns an entry of the section `records`."""
        return {"uid": _uid(uri, record["id"]), "_context": uri} | self._fields(self._shown.type(uri), record)

    def bot(self, record: Record) -> Tree:
        """Returns an entry of the section `bots`."""
        own = self._fields(self._shown.type("bot"), record)
        behaviors = [each for (uri, _), each in self._records.items() if uri == "behavior"]
        return (
            {"uid": _uid("bot", record["id"]), "is_disabled": record["is_disabled"]}
            | own
            | {
                "owner": {"context": own.pop("owner__context", APP), "id": own.pop("owner_id", 0)},
                "params": self._structure(self._shown.type("bot"), record, record["config"]),
                "behaviors": [
                    self._structure(self._shown.type("behavior"), each, exported(each))
                    for each in behaviors
                    if each["bot_id"] == record["id"]
                ],
            }
        )

    def board(self, record: Record, cards: Cards) -> Tree:
        """Returns an entry of the section `project_boards`. cards: of the columns of all exported boards."""
        own = self._fields(self._shown.type(BOARD), record)
        owner = {"context": own.pop("owner__context", APP), "id": own.pop("owner_id", 0)}
        order = {id: place for place, id in enumerate(ids_in(record["columns"]))}
        columns = [
            each for (uri, id), each in self._records.items() if uri == COLUMN and each["board_id"] == record["id"]
        ]
        columns.sort(key=lambda each: order.get(each["id"], len(order)))
        return (
            {"uid": _uid(BOARD, record["id"]), "owner": owner}
            | own
            | {"columns": [self._column(each, cards) for each in columns]}
        )

    def _column(self, record: Record, cards: Cards) -> Tree:
        """Returns a column of a board. A card that several boards have is an entry of the first of them, with links to
        the columns of the others."""
        own = self._fields(self._shown.type(COLUMN), record)
        del own["board_id"]
        entries = []
        for card in cards.get(record["id"], ()):
            first, *others = [id for id, each in cards.items() if card in each]
            if first == record["id"]:
                links = [spliced([f"{COLUMN}:", self._reference_to(COLUMN, id)]) for id in others]
                entries.append(self.entry(card[0], self._records[card]) | ({"links": links} if links else {}))
        return {"uid": _uid(COLUMN, record["id"])} | own | {"cards": entries}

    def addition(self, uri: str, key: str, record: Record) -> Tree:
        """Returns an entry of the sections `events` and `toolbars`: the text of a record that every service has."""
        column = "automations_kata" if uri == "automation_event" else "toolbar_kata"
        record_type = self._shown.type(uri)
        return {key: record["name"], "kata": self._script(record_type, record, column, record[column])}

    def prompts(self) -> list[Tree]:
        """Returns the prompts for references to records that are not exported, and for secrets."""
        prompts = []
        for uri, ids in self._outside.items():
            record_type = self._shown.type(uri)
            labels = record_type.labels(self._shown, self._shown.records(uri, ids))
            for id in ids:
                label = f"{record_type.label_names[0]}: {labels.get(id, id)}"
                params = {"context": record_type.context, "query": "", "single": True}
                prompts.append({"type": "chooser", "label": label, "key": _uid(uri, id), "params": params})
        return [*prompts, *self._secrets.values()]

    # -- fields -----------------------------------------------------------------------------------------------------

    def _fields(self, record_type: RecordType, record: Record) -> Tree:
        fields: Tree = {}
        initial = record_type.record([record_type.initial[each] for each in record_type.table.names])
        for name, field in record_type.fields.items():
            is_own = field.stored and not field.immutable and field.auto != "now" and name != "id"
            if not is_own or (record_type.uri, name) in LEFT_OUT or _is_computed(record_type, name, record):
                continue
            if record[name] != initial[name] or field.required:
                fields[name] = self._value(record_type, field, record)
        return fields

    def _value(self, record_type: RecordType, field: Field, record: Record) -> Any:
        value = record[field.name]
        if isinstance(field, Id):
            return self._reference(field.target or record[field.target_from], value)
        if isinstance(field, ContextName):
            return self._spliced(value, (), text_references.custom_types_in(value), record_type, record)
        if isinstance(field, Structure):
            return self._structure(record_type, record, value)
        if not isinstance(value, str):
            return value
        if field.name.endswith("_kata") or field.name in SCRIPTS or isinstance(field, Url):
            return self._script(record_type, record, field.name, value)
        if secret_texts.is_secret_name(field.name) or field.name in grants.SECRETS.get(record_type.uri, ()):
            return self._spliced(value, [(0, len(value), field.name)], (), record_type, record) if value else value
        places = text_references.references_in(value, self._named) if "query" in field.name else ()
        return self._spliced(value, secret_texts.secrets_in_prose(value), places, record_type, record)

    def _reference(self, target: str, id: int) -> Any:
        record_type = self._shown.find_type(target)
        if not id or record_type is None:
            return id
        return spliced([self._reference_to(record_type.uri, id)])

    def _structure(
        self, record_type: RecordType, record: Record, value: Any, name: str = "", hidden: bool = False
    ) -> Any:
        """Exports a map, a list or a value in one. hidden: whether it is below a secret name."""
        if isinstance(value, dict):
            renewed = RENEWED.get(record_type.uri, ())
            return {
                escaped(key): self._structure(record_type, record, each, key, hidden or self._hides(record_type, key))
                for key, each in value.items()
                if key not in renewed
            }
        if isinstance(value, list):
            items = [each for each in value if not self._names_missing(record_type, each)]
            return [self._structure(record_type, record, each, name, hidden) for each in items]
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or value == "":
            return value
        text = str(value)
        target = PARAM_TARGETS.get((record_type.uri, name)) or self._named.get(name)
        if target and is_whole(text) and self._is_there(target, int(text)):
            return spliced([self._reference_to(self._shown.type(target).uri, int(text))])
        if hidden:
            return self._spliced(text, [(0, len(text), name)], (), record_type, record)
        return self._script(record_type, record, name, value) if isinstance(value, str) else value

    def _names_missing(self, record_type: RecordType, item: Any) -> bool:
        """Whether an item of a list names a deleted record, as a contact form may: another service would take
        its number for one of its own records."""
        if not isinstance(item, dict):
            return False
        ids = {
            key: int(id) for key, id in item.items() if (record_type.uri, key) in PARAM_TARGETS and is_whole(str(id))
        }
        return any(id and not self._is_there(PARAM_TARGETS[record_type.uri, key], id) for key, id in ids.items())

    def _hides(self, record_type: RecordType, key: str) -> bool:
        return record_type.uri in RENEWED or secret_texts.is_secret_name(key)

    def _script(self, record_type: RecordType, record: Record, name: str, text: str) -> str:
        places = text_references.references_in(text, self._named)
        return self._spliced(text, secret_texts.secrets_in_value(name, text), places, record_type, record)

    # -- texts ------------------------------------------------------------------------------------------------------

    def _spliced(
        self,
        text: str,
        secrets: Iterable[secret_texts.Span],
        places: Iterable[text_references.Place],
        record_type: RecordType,
        record: Record,
    ) -> str:
        """Returns a text as a template with expressions in place of its secrets and references."""
        spans: list[tuple[int, int, Expression]] = []
        for start, end, name in secrets:
            spans.append((start, end, self._secret(text, start, end, name, record_type, record)))
        for start, end, uri, id in places:
            is_hidden = any(begin < end and start < stop for begin, stop, _ in spans)
            if not is_hidden and self._is_there(uri, id):
                spans.append((start, end, self._reference_to(self._shown.type(uri).uri, id)))
        pieces: list[str | Expression] = []
        place = 0
        for start, end, expression in sorted(spans, key=lambda span: span[0]):
            pieces += [text[place:start], expression]
            place = end
        return spliced([*pieces, text[place:]])

    def _is_there(self, uri: str, id: int) -> bool:
        record_type = self._shown.find_type(uri)
        if record_type is None:
            return False
        key = (record_type.uri, id)
        if key not in self._exists:
            self._exists[key] = key in self._records or bool(self._shown.records(record_type.uri, [id]))
        return self._exists[key]

    def _reference_to(self, uri: str, id: int) -> Expression:
        if (uri, id) in self._records:
            return Expression(f"uid.{_uid(uri, id)}")
        self._outside.setdefault(uri, {})[id] = None
        return Expression(_uid(uri, id))

    def _secret(
        self, text: str, start: int, end: int, name: str, record_type: RecordType, record: Record
    ) -> Expression:
        """Returns the prompt for a secret; equal secrets share one. Lines of a block keep their indent."""
        lines = [line.strip() for line in text[start:end].splitlines()]
        secret = "\n".join(lines)
        if secret not in self._secrets:
            stem = _NO_KEY.sub("_", f"secret_{_uid(record_type.uri, record['id'])}_{name}").strip("_").lower()[:100]
            self._stems[stem] = number = self._stems.get(stem, 0) + 1
            key = stem if number == 1 else f"{stem}__{number}"
            label = record_type.labels(self._shown, [record]).get(record["id"], record["id"])
            label = f"Secret: {name} of {record_type.label_names[0].lower()} {label}"
            self._secrets[secret] = {"type": "text", "label": label, "key": key, "params": {"secret": True}}
        key = self._secrets[secret]["key"]
        line = text[text.rfind("\n", 0, start) + 1 : start]
        indent = len(line) - len(line.lstrip(" "))
        if len(lines) > 1 and indent:
            return Expression(f"{key}|replace({{'\\n': '\\n{' ' * indent}'}})")
        return Expression(key)


def _is_computed(record_type: RecordType, name: str, record: Record) -> bool:
    """Whether the service computes the value from others."""
    return (record_type.uri, name) == ("automation_timer", "next_run_at") and bool(record["is_recurring"])


def _uid(uri: str, id: int) -> str:
    return f"{uri}_{id}"
