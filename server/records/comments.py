"""Creates comments on records, with files. record_types/comment.py declares comments and their notifications."""

from collections.abc import Sequence
from typing import Any

from server.context import Context
from server.errors import Invalid, Required
from server.record_types.shared.relation_tables import ATTACHED
from server.records.dictionary import Dictionaries
from server.records.writing import RecordWriter
from server.store.transaction import Transaction


def create(ctx: Context, fields: dict[str, Any], file_ids: Sequence[int] = ()) -> int:
    """Creates a comment from submitted fields, with files attached; returns its id. Raises Required, Invalid,
    Forbidden."""

    def write(tx: Transaction) -> int:
        writing = RecordWriter(ctx, tx)
        _require_files(Dictionaries(ctx, tx), file_ids)
        comments = writing.registry.type("comment")
        id = writing.create_sent(comments, fields)
        for file_id in file_ids:
            tx.add(ATTACHED, {"attachment_id": file_id, "context": comments.context, "record_id": id})
        return id

    return ctx.service.store.write(write)


def on_record(ctx: Context, uri: str, id: int, text: str, field: str) -> int:
    """Creates a comment of the caller on a record; returns its id. field: the parameter that contains the text.

    Raises Required, and NotFound or Forbidden for the record."""
    if not text.strip():
        raise Required(f"{field} is required: the text to write", field=field)

    def write(tx: Transaction) -> int:
        writing = RecordWriter(ctx, tx)
        writing.require("read", uri, id)
        fields = {"target__context": uri, "target_id": str(id), "comment": text}
        return writing.create_sent(writing.registry.type("comment"), fields)

    return ctx.service.store.write(write)


def _require_files(view: Dictionaries, file_ids: Sequence[int]) -> None:
    readable = {each["id"] for each in view.records("attachment", file_ids)}
    for id in file_ids:
        if id not in readable:
            raise Invalid(f"file_id: there is no attachment {id} that you may read", field="file_id")
