"""Records failures of a mailbox: on its record, in its activity, and as notifications to administrators."""

from collections.abc import Sequence
from typing import Any

from server.context import Context
from server.contexts import MAILBOX
from server.mailroom.mailboxes.fetch_state import MissedMail
from server.mailroom.types.mailbox_parts.fetch_columns import MAILBOX_LOOK, MAILBOX_STATE
from server.people.administrators import administrators
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.transaction import Transaction

TOLD_AT = (2, 5, 10, 20)  # failures in a row: a single one usually resolves itself
MISSED_TOLD_AT = 3  # tries of one mail
MAX_ERROR_CHARACTERS = 500


def record_success(ctx: Context, id: int, has_more: bool, mails: int = 0, missed: Sequence[MissedMail] = ()) -> None:
    """Records a successful check; has_more: not to its end. mails: number of mails. missed: mails that the server does
    not deliver."""

    def write(tx: Transaction) -> None:
        _note(RecordWriter(ctx, tx), id, {"num_fails": 0, "last_error": _missed_text(missed)}, has_more)
        _record_look(tx, id, failing_since=0, retry_at=0, **({"arrived_at": ctx.now} if mails else {}))

    ctx.service.store.write(write)


def record_failure(ctx: Context, id: int, error: str, wait_seconds: int = 0) -> None:
    """Records that the mailbox could not be read, or not to its end. wait_seconds: how long its server asks to wait."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        box = writing.record("mailbox", id)
        if box is None:
            return
        fails, text = box["num_fails"] + 1, error[:MAX_ERROR_CHARACTERS]
        _note(writing, id, {"num_fails": fails, "last_error": text}, has_more=False)
        retry_at = ctx.now + wait_seconds if wait_seconds else 0
        _record_look(tx, id, retry_at=retry_at, **({"failing_since": ctx.now} if fails == 1 else {}))
        if fails in TOLD_AT:
            texts = {"target": box["name"], "count": str(fails), "error": text}
            writing.log("mailbox.check.error", MAILBOX, id, texts, also_notify=administrators(tx))

    ctx.service.store.write(write)


def record_missed(ctx: Context, id: int, missed: MissedMail) -> None:
    """Notifies administrators of a mail that the server lists but repeatedly does not deliver."""
    text = (
        f"An email could not be read, {missed.tries} times. It stays on its server and is retried as long as it is "
        f"there. Read it there, and move or delete it. {missed.error}"
    )[:MAX_ERROR_CHARACTERS]

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        writing.log("custom.other", MAILBOX, id, {"message": text}, also_notify=administrators(tx))

    ctx.service.store.write(write)


def _missed_text(missed: Sequence[MissedMail]) -> str:
    """The text about missed mails on the record of a mailbox, "" for none."""
    if not missed:
        return ""
    count = f"{len(missed)} emails" if len(missed) > 1 else "1 email"
    return f"{count} could not be read, and will be tried again: {missed[0].error}"[:MAX_ERROR_CHARACTERS]


def kept_apart(ctx: Context, id: int, letters: list[tuple[str, str]]) -> None:
    """Logs mails that could not be stored, (path, reason) of each, as one entry."""
    if not letters:
        return
    path, why = letters[0]
    more = f", and {len(letters) - 1} more beside it" if len(letters) > 1 else ""
    text = f"An email could not be processed and is stored as {path}{more}: {why}"[:MAX_ERROR_CHARACTERS]

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        writing.log("custom.other", MAILBOX, id, {"message": text}, also_notify=administrators(tx))

    ctx.service.store.write(write)


def _note(writing: RecordWriter, id: int, values: dict[str, Any], has_more: bool) -> None:
    writing.set("mailbox", id, values | {"checked_at": writing.now})
    table: Any = MAILBOX_STATE.sql
    writing.tx.run(
        lambda: table.update({table.has_more: slot(0)}).where(table.mailbox_id == slot(1)),
        (int(has_more), id),
    )


def _record_look(tx: Transaction, id: int, **changes: int) -> None:
    row = tx.first(MAILBOX_LOOK, mailbox_id=id)
    names = MAILBOX_LOOK.names
    state = dict(zip(names, row, strict=True)) if row else dict.fromkeys(names, 0) | {"mailbox_id": id}
    if state != state | changes:
        tx.put(MAILBOX_LOOK, state | changes)
