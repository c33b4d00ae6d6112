"""Files attached to a record. A file can be attached to several; it is deleted with the last one."""

from typing import TYPE_CHECKING, Any

from server.record_types.parts import DictionaryContext, Expand, Loader, Record, Writing
from server.record_types.shared import maps
from server.record_types.shared.expand_forms import read_form
from server.record_types.shared.relation_tables import ATTACHED
from server.record_types.traits.trait import Exported, Trait, together
from server.store.transaction import Transaction

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType

FILE = "attachment"


class Attachments(Trait):
    """Attached files."""

    name = "attachments"
    tables = (ATTACHED,)

    def expands(self, record_type: "RecordType") -> list[Expand]:
        return [Expand("attachments", "records", "Attached files.", _files(record_type), FILE, common=True)]

    def clear(self, context: str, id: int, room: int, writing: Writing) -> int:
        tx = writing.tx
        rows = tx.some(ATTACHED, room, context=context, record_id=id)
        for file_id, _, _ in rows:
            tx.delete(ATTACHED, attachment_id=file_id, context=context, record_id=id)
            if not tx.first(ATTACHED, attachment_id=file_id) and writing.record(FILE, file_id):
                writing.delete(FILE, file_id)
        return len(rows)

    def export(self, tx: Transaction, record_type: "RecordType", records: list[Record]) -> Exported:
        return together("attachment_ids", _attached(tx, record_type, records))


def _attached(tx: Transaction, record_type: "RecordType", records: list[Record]) -> maps.Pairs:
    """(record id, file id), in this order."""
    return maps.pairs_through(tx, ATTACHED, "record_id", "attachment_id", records, context=record_type.context)


def _files(record_type: "RecordType") -> Loader:
    """`attachments`: a list of files; on comments and messages {id: {id, file_name, file_size, file_type, dropped}}."""
    as_map = record_type.uri in ("comment", "message")

    def load(view: DictionaryContext, records: list[Record], text: str) -> dict[int, dict[str, Any]]:
        form = read_form(text)
        rows = _attached(view.tx, record_type, records)
        files = view.records(FILE, {file for _, file in rows})
        by_id = {
            each["id"]: (each, dictionary)
            for each, dictionary in zip(files, view.dictionaries(FILE, files, form.key), strict=True)
        }
        file_ids: dict[int, list[int]] = {record["id"]: [] for record in records}
        for own, file in rows:
            if file in by_id and (as_map or len(file_ids[own]) < form.many):
                file_ids[own].append(file)
        if as_map:
            return {
                own: {"attachments": {str(id): _brief(by_id[id][0]) for id in ids}} for own, ids in file_ids.items()
            }
        return {own: {"attachments": [by_id[id][1] for id in ids]} for own, ids in file_ids.items()}

    return load


def _brief(file: Record) -> dict[str, Any]:
    return {
        "id": file["id"],
        "file_name": file["name"],
        "file_size": file["size"],
        "file_type": file["mime_type"],
        "dropped": file["dropped"],
    }
