"""Converts a cell to the value of a field: names to ids, words in any case, lists."""

import re
from collections.abc import Mapping
from typing import Any

from server.context import Context
from server.digits import is_whole
from server.errors import Invalid, nearest
from server.fields import Bit, ContextName, Id, IdList, Number, Text
from server.imports import columns
from server.imports.columns import CsvTarget
from server.record_types.record_type import RecordType
from server.record_types.shared.custom.definitions import SEVERAL
from server.records import records
from server.records.reading import RecordReader
from server.records.records import SearchRequest
from server.store.transaction import Transaction
from server.translation import lazy_gettext

MAX_LABELS = 1000  # records of a type that are read once for all rows; in a larger type each name is searched
MAX_FOUND = 20  # records that a search for one name reads
_LABEL = "_label"
_LISTED = re.compile(r"[\n;]")


class NameFinder:
    """Finds ids by the names of records that the caller may read; looks up each name once."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self._labels: dict[str, dict[str, list[int]] | None] = {}
        self._found: dict[tuple[str, str], int] = {}

    def id_of(self, record_type: RecordType, text: str) -> str:
        """The id for a cell: a number, `svc:<type>:<name>`, or the name of one record. Raises Invalid."""
        if is_whole(text) or text.startswith("svc:") or not record_type.offers("search"):
            return text
        key = record_type.uri, text.casefold()
        if key not in self._found:
            self._found[key] = self._find(record_type, text)
        return str(self._found[key])

    def _find(self, record_type: RecordType, text: str) -> int:
        addressed = self._addressed(record_type, text)
        if addressed:
            return addressed
        ids_by_name = self._known(record_type)
        matches = ids_by_name.get(text.casefold(), []) if ids_by_name is not None else self._searched(record_type, text)
        if len(matches) == 1:
            return matches[0]
        noun = record_type.uri.replace("_", " ")
        if matches:
            ids = ", ".join(map(str, matches[:5]))
            raise Invalid(f"several records are named '{text[:80]}': {ids}; write the number")
        raise Invalid(
            lazy_gettext(
                "there is no {type} '{name}'{nearest}",
                type=noun,
                name=text[:80],
                nearest=nearest(text.casefold(), ids_by_name or ()),
            )
        )

    def _addressed(self, record_type: RecordType, text: str) -> int:
        """The record with this mail address, or another text that is one record's alone; 0 for none."""
        pointing = [own for field in record_type.fields.values() if (own := columns.stands_for(record_type, field))]

        def read(tx: Transaction) -> int:
            reader = RecordReader(self.ctx, tx)
            ids = (columns.with_text(reader, record_type, own, text) for own in pointing)
            return next((id for id in ids if id and reader.may_read(record_type.uri, id)), 0)

        return records.reading(self.ctx, read) if pointing and "@" in text else 0

    def _known(self, record_type: RecordType) -> dict[str, list[int]] | None:
        """All records by lower-case name; None if there are too many."""
        uri = record_type.uri
        if uri not in self._labels:
            result = records.search(self.ctx, uri, SearchRequest("", MAX_LABELS, expand=_LABEL))
            self._labels[uri] = _by_name(record_type, result["results"]) if result["total"] <= MAX_LABELS else None
        return self._labels[uri]

    def _searched(self, record_type: RecordType, text: str) -> list[int]:
        words = " ".join(f'text:"{word}"' for word in text.replace('"', " ").split()[:6])
        if not words:
            return []
        result = records.search(self.ctx, record_type.uri, SearchRequest(words, MAX_FOUND, expand=_LABEL))
        return _by_name(record_type, result["results"]).get(text.casefold(), [])


def _by_name(record_type: RecordType, records: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Ids of records by label and by lookup key: a mail address, a name for programs."""
    names: dict[str, list[int]] = {}
    for each in records:
        for name in {str(each[_LABEL]).casefold(), str(each.get(record_type.lookup) or "").casefold()} - {""}:
            names.setdefault(name, []).append(each["id"])
    return names


def sent(target: CsvTarget, cell: str, row: Mapping[str, str], names: NameFinder) -> Any:
    """The value to store for a cell that is not blank. row: all cells of its row by target. Raises Invalid."""
    registry = names.ctx.service.registry
    field, custom = target.field, target.custom
    if custom is not None:
        pointed = registry.find(custom.target) if custom.target else None
        parts = listed(cell) if custom.kind in SEVERAL else [cell]
        values = [names.id_of(pointed, part) if pointed is not None else part for part in parts]
        return values if custom.kind in SEVERAL else values[0]
    if isinstance(field, IdList):
        own = registry.type(field.target)
        return [names.id_of(own, part) for part in listed(cell)]
    if isinstance(field, Id):
        target_uri = row.get(field.target_from, "") if field.target_from else field.target
        pointed = registry.find(target_uri.lower()) if target_uri else None
        return names.id_of(pointed, cell) if pointed is not None else cell
    if isinstance(field, Number) and cell.lower() in (words := [word.lower() for word in field.words]):
        return str(words.index(cell.lower()))
    if isinstance(field, Text):
        return next((each for each in field.allowed if each.lower() == cell.lower()), cell)
    return cell.lower() if isinstance(field, (Bit, ContextName)) else cell


def listed(cell: str) -> list[str]:
    """The values of a cell with several: one a line, else separated by semicolons, else by commas.

    >>> listed("a; b"), listed("a, b"), listed("a, b;c")
    (['a', 'b'], ['a', 'b'], ['a, b', 'c'])"""
    parts = _LISTED.split(cell) if _LISTED.search(cell) else cell.split(",")
    return [part.strip() for part in parts if part.strip()]
