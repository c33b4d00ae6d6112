"""Translations: an article or category in another language, which names the original."""

from typing import Any

from server.errors import Conflict, Invalid
from server.record_types.record_type import Change, Record, Writing
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import about_field, lazy_gettext

FIELD = "translation_of_id"


def settle_translation(change: Change, writing: Writing) -> None:
    """Lets a translation of a translation name the original, and writes its language as a tag of BCP 47. Raises Invalid
    for a record that would be its own translation, and Conflict for a second translation into a language."""
    if "language" in change.new:
        change.new["language"] = change.new["language"].replace("_", "-")
    if not (change.changes(FIELD) or change.changes("language")):
        return
    uri, original = change.type.uri, change.value(FIELD)
    if original:
        record = writing.record(uri, original)
        original = (record or {}).get(FIELD) or original
        if original == change.id or (change.id and _languages(writing.tx, uri, change.id).keys() - {change.id}):
            problem = lazy_gettext("{type} {id} has translations of its own; choose another", type=uri, id=change.id)
            raise Invalid(about_field(FIELD, problem), field=FIELD)
        change.new[FIELD] = original
    if original or change.id:
        _require_other_languages(change, writing, original or change.id)


def _require_other_languages(change: Change, writing: Writing, original: int) -> None:
    language = change.value("language")
    for id, other in _languages(writing.tx, change.type.uri, original).items():
        if id != change.id and other == language:
            name = language or "the first language"
            known = {"type": change.type.uri, "id": id, "language": name}
            problem = lazy_gettext("{type} {id} has the language {language}; choose another", **known)
            raise Conflict(about_field("language", problem), field="language")


def release_translations(record: Record, writing: Writing, uri: str) -> None:
    """Makes the oldest translation of a deleted record the original of the others."""
    heirs = sorted(_languages(writing.tx, uri, record["id"]).keys() - {record["id"]})
    for id in heirs:
        writing.set(uri, id, {FIELD: 0 if id == heirs[0] else heirs[0]})


def _languages(tx: Transaction, uri: str, original: int) -> dict[int, str]:
    """Returns the languages of a record and its translations by their ids."""
    table: Any = table_named(uri)
    rows = tx.rows(
        lambda: table.select(table.c.id, table.c.language).where(
            (table.c.id == slot(0)) | (table.c.translation_of_id == slot(0))
        ),
        (original,),
    )
    return dict(rows)
