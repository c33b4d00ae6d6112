"""Imports files of mail as tickets: `helpdesk mail import` without its command line.

Mails are prepared while the writer stores earlier ones, many in one commit, and always in order: a reply finds the mail
that it replies to. The transaction of each mail records the progress in its file, so that an interrupted import
continues exactly where it ended. A mail that cannot be stored is reported with its place and skipped."""

import hashlib
import os
import re
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from server import clock, log, mailroom
from server.access.actor import APP
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, TimedOut, Unavailable
from server.mail import mailbox_files
from server.mailroom import Receipt, mail_filter
from server.mailroom.earlier_mail import History
from server.records import event_publishing
from server.records.writing import RecordWriter
from server.settings import MiB
from server.store.faults import as_helpdesk_error
from server.store.statements import slot
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.store.writer import PendingWrite

STANDARD_INPUT, STANDARD_INPUT_NAME = "-", "standard input"
MAX_WAITING = 64  # prepared mails that may wait for the writer
MAX_WAITING_BYTES = 32 * MiB  # total bytes of these mails; a single larger mail is allowed
LOG = log.get("mail.import")
PAST = History()

IMPORTED = Table("mail_imported", [Column("source", "TEXT"), Column("mails")], key=("source",))
# What is done of the files of imports that have not ended: `mails` of each, from its beginning

Progress = Callable[[int, int], None]  # (mails done, total)
Problem = Callable[[str, str], None]  # (place of the mail, reason why it was not imported)


@dataclass
class Counts:
    """Outcomes of an import. `failed`: refused or not stored; each was reported. `earlier`: imported by an interrupted
    import of the same files."""

    tickets: int = 0
    replies: int = 0
    duplicates: int = 0
    ignored: int = 0
    failed: int = 0
    earlier: int = 0

    @property
    def done(self) -> int:
        return self.tickets + self.replies + self.duplicates + self.ignored + self.failed + self.earlier

    def __str__(self) -> str:
        """For people, in one line.

        >>> print(Counts(tickets=1, failed=2))
        1 new ticket, 0 replies, 0 duplicates, 0 ignored, 2 failed
        """
        tickets = f"{self.tickets} new ticket{'' if self.tickets == 1 else 's'}"
        replies = f"{self.replies} repl{'y' if self.replies == 1 else 'ies'}"
        duplicates = f"{self.duplicates} duplicate{'' if self.duplicates == 1 else 's'}"
        earlier = f", {self.earlier} done before" if self.earlier else ""
        return f"{tickets}, {replies}, {duplicates}, {self.ignored} ignored, {self.failed} failed{earlier}"


def run(
    ctx: Context,
    paths: Sequence[str],
    standard_input: BinaryIO,
    progress: Progress,
    problem: Problem,
    history: History = PAST,
) -> Counts:
    """Imports all mails of these files, mbox files, Maildirs and folders, in order; `-` is the standard input.

    history: how new tickets are stored. progress: called after each mail, except those of earlier runs. problem: called
    for each mail, file or folder that was not imported.

    Raises Invalid, before the import starts, for a path that does not exist; Unavailable or TimedOut if the database
    accepts no more writes: the same import continues there later."""
    with _room_for(paths, ctx.service.settings.data) as folder:
        files = [file for path in paths for file in _files(path, standard_input, Path(folder))]
        importing = _Import(ctx, progress, problem, history)
        importing.total = sum(_count(file) for _, file in files)
        try:
            sources = [source for label, file in files if (source := importing.take(label, file))]
            importing.settle()
        finally:
            importing.wait()
    ctx.service.store.write(lambda tx: _end(ctx, tx, sources, importing.counts))
    return importing.counts


def _end(ctx: Context, tx: Transaction, sources: list[str], counts: Counts) -> None:
    _forget(tx, sources)
    total = counts.tickets + counts.replies
    if total:
        RecordWriter(ctx, tx).log("mail.imported", APP, 0, {"mails": f"{total} mail{'' if total == 1 else 's'}"})


@dataclass
class _Mail:
    """One mail on its way. size: in bytes. written: its write, once that is done."""

    place: str
    size: int
    written: "SimpleQueue[PendingWrite]" = field(default_factory=SimpleQueue)


class _Import:
    """One run: the mails that wait for the writer, and the outcomes so far."""

    def __init__(self, ctx: Context, progress: Progress, problem: Problem, history: History) -> None:
        self._ctx = ctx
        self._history = history
        self._store = ctx.service.store
        self._most_bytes = ctx.service.settings.max_mail_bytes
        self._progress = progress
        self._problem = problem
        self._waiting: deque[_Mail] = deque()
        self._waiting_bytes = 0
        self._earlier: dict[str, int] = dict(self._store.read(_all_imported))
        self.total = 0
        self.counts = Counts()

    def take(self, label: str, file: Path) -> str:
        """Imports the mails of one file; returns the key of the file, "" if it cannot be read."""
        try:
            source = _source(label, file)
            is_mbox = mailbox_files.kind_of(file) == "mbox"
            done = self._earlier.get(source, 0)
            for number, raw in enumerate(mailbox_files.messages(file, self._most_bytes), start=1):
                if number <= done:
                    self._count("earlier")
                else:
                    self._submit(source, number, f"{label}, message {number}" if is_mbox else label, raw)
        except (OSError, Invalid) as error:
            self._fail(label, f"cannot be read: {getattr(error, 'strerror', None) or error}")
            return ""
        return source

    def settle(self) -> None:
        """Waits for all mails on their way. Raises Unavailable, TimedOut."""
        while self._waiting:
            self._settle_first()

    def wait(self) -> None:
        """Waits until the writer has finished pending mails, when the import ends early."""
        for mail in self._waiting:
            mail.written.get()

    def _submit(self, source: str, number: int, place: str, raw: bytes) -> None:
        if any(event_publishing.is_bound(self._ctx, name) for name in (mail_filter.FILTER, mail_filter.ROUTE)):
            self.settle()  # these automations read the ticket of a mail, which an earlier mail may be creating just now
        try:
            write = _write_of(replace(self._ctx, now=clock.now()), source, number, raw, self._history)
        except (Unavailable, TimedOut) as error:
            self.settle()
            raise _stopped(error, self.counts.done) from error
        mail = _Mail(place, len(raw))
        while self._waiting and (
            len(self._waiting) >= MAX_WAITING or self._waiting_bytes + mail.size > MAX_WAITING_BYTES
        ):
            self._settle_first()
        self._store.submit(write, mail.written.put)
        self._waiting.append(mail)
        self._waiting_bytes += mail.size

    def _settle_first(self) -> None:
        mail = self._waiting.popleft()
        self._waiting_bytes -= mail.size
        write = mail.written.get()
        if write.error is not None:
            raise _stopped(write.error, self.counts.done)
        if isinstance(write.result, Receipt):
            self._count(_outcome(write.result))
        else:
            self._fail(mail.place, write.result)

    def _count(self, outcome: str) -> None:
        setattr(self.counts, outcome, getattr(self.counts, outcome) + 1)
        if outcome != "earlier":  # skipped mails do not indicate the speed of the others
            self._progress(self.counts.done, max(self.total, self.counts.done))

    def _fail(self, place: str, reason: str) -> None:
        self._problem(place, reason)
        self._count("failed")


def _write_of(
    ctx: Context, source: str, number: int, raw: bytes, history: History
) -> Callable[[Transaction], Receipt | str]:
    """Returns the write of the mail with this number in its source. It returns the outcome, or the reason why the mail
    is not stored; either way the mail is done. Raises Unavailable if the mail before it is not."""
    take: Callable[[Transaction], Receipt] | None = None
    refused = ""
    try:
        take = mailroom.ready(ctx, raw, history=history)
    except Exception as error:
        refused = _refusal(error)

    def write(tx: Transaction) -> Receipt | str:
        row = tx.first(IMPORTED, source=source)
        if (row[1] if row else 0) != number - 1:
            raise Unavailable("the previous email was not stored")
        tx.put(IMPORTED, {"source": source, "mails": number})
        if take is None:
            return refused
        try:
            return tx.part(take)
        except Exception as error:
            return _refusal(error)

    return write


def _refusal(error: Exception) -> str:
    """The reason why a mail is not stored. Raises temporary errors that the mail did not cause."""
    fault = as_helpdesk_error(error)
    if isinstance(fault, (Unavailable, TimedOut)):
        raise fault from error
    if isinstance(fault, HelpdeskError):
        return fault.message
    # A mail that triggers a bug must not block the next ones.
    LOG.exception("mail.import.failed")
    return f"not stored because of an error in this program ({type(error).__name__}); keep the email"


def _stopped(error: BaseException, done: int) -> BaseException:
    if isinstance(error, HelpdeskError):
        return type(error)(f"{error.message}; stopped after {done} mails: run the same import again to continue")
    return error


def _outcome(received: Receipt) -> str:
    if received.outcome == "duplicate":
        return "duplicates"
    if received.outcome == "ignored":
        return "ignored"
    return "tickets" if received.is_new_ticket else "replies"


# -- progress ----------------------------------------------------------------------------------------------------------


def _source(label: str, file: Path) -> str:
    """A key of the file in its present version."""
    if label == STANDARD_INPUT_NAME:
        with file.open("rb") as content:
            return f"{label} {hashlib.file_digest(content, 'sha256').hexdigest()}"
    status = file.stat()
    return f"{file.resolve()} {status.st_size} {status.st_mtime_ns}"


def _all_imported(tx: Transaction) -> list[tuple[str, int]]:
    table: Any = IMPORTED.sql
    return tx.rows(lambda: table.select(table.source, table.mails))


def _forget(tx: Transaction, sources: Sequence[str]) -> None:
    table: Any = IMPORTED.sql
    tx.run_many(lambda: table.delete().where(table.source == slot(0)), [(each,) for each in sources])


# -- files -------------------------------------------------------------------------------------------------------------


def _room_for(paths: Sequence[str], data: Path) -> AbstractContextManager[str]:
    """A folder for a copy of the standard input, if that is read; a killed import leaves it behind."""
    if STANDARD_INPUT not in paths:
        return nullcontext("")
    return tempfile.TemporaryDirectory(prefix="import-", dir=data)


def _files(path: str, standard_input: BinaryIO, folder: Path) -> list[tuple[str, Path]]:
    """(name to show, file) of every mail file at a path."""
    if path == STANDARD_INPUT:
        copy = folder / f"standard-input-{len(os.listdir(folder))}"
        with copy.open("wb") as file:
            shutil.copyfileobj(standard_input, file)
        return [(STANDARD_INPUT_NAME, copy)]
    place = Path(path)
    kind = mailbox_files.kind_of(place)
    if kind == "maildir":
        mails = [file for part in ("cur", "new") for file in _sorted_by_number(place / part) if _is_mail(file)]
    elif kind == "folder":
        mails = [
            Path(below, name)
            for below in sorted(each for each, _, _ in os.walk(place))
            for name in sorted(os.listdir(below))
            if name.lower().endswith(mailbox_files.SUFFIXES) and Path(below, name).is_file()
        ]
    else:
        mails = [place]
    return [(str(file), file) for file in mails]


def _sorted_by_number(folder: Path) -> list[Path]:
    """Files of a Maildir: their names begin with the second of their arrival."""
    return sorted(folder.iterdir(), key=lambda file: (int(re.match(r"\d{0,15}", file.name)[0] or 0), file.name))  # type: ignore[index]


def _is_mail(file: Path) -> bool:
    return file.is_file() and not file.name.startswith(".")


def _count(file: Path) -> int:
    try:
        return mailbox_files.count(file)
    except (OSError, Invalid):
        return 0
