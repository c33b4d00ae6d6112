"""Files of mail into tickets: what `helpdesk mail import` does, without its command line.

A mail that cannot be stored is reported with its place and left where it is; the others are imported."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from server import clock, log
from server.context import Context
from server.desk import mailroom
from server.errors import HelpdeskError, Invalid
from server.mail import mailbox_files

STANDARD_INPUT = "-"
LOG = log.get("mail.import")

Progress = Callable[[int, int], None]  # (mails done, mails in all)
Problem = Callable[[str, str], None]  # (where the mail is, why it was not imported)


@dataclass
class Counts:
    """What became of the mails. `failed`: refused or not stored; each was reported."""

    tickets: int = 0
    replies: int = 0
    duplicates: int = 0
    ignored: int = 0
    failed: int = 0

    @property
    def done(self) -> int:
        return self.tickets + self.replies + self.duplicates + self.ignored + self.failed

    def __str__(self) -> str:
        """For people, in one line.

        >>> print(Counts(tickets=1, failed=2))
        1 new ticket, 0 replies, 0 duplicates, 0 ignored, 2 failed
        """
        tickets = f"{self.tickets} new ticket{'' if self.tickets == 1 else 's'}"
        replies = f"{self.replies} repl{'y' if self.replies == 1 else 'ies'}"
        duplicates = f"{self.duplicates} duplicate{'' if self.duplicates == 1 else 's'}"
        return f"{tickets}, {replies}, {duplicates}, {self.ignored} ignored, {self.failed} failed"


def run(
    ctx: Context, paths: Sequence[str], standard_input: BinaryIO, progress: Progress, problem: Problem
) -> Counts:
    """Import every mail of these files, mbox files, Maildirs and folders, in order; `-` is the standard input.

    progress: called after each mail. problem: called for each mail, file or folder that was not imported.
    Raises Invalid, before anything is imported, for a path where nothing is. Source: Ours."""
    with tempfile.TemporaryDirectory(prefix="import-", dir=ctx.service.settings.data) as folder:
        files = [file for path in paths for file in _files(path, standard_input, Path(folder))]
        total = sum(_count(file) for _, file in files)
        counts = Counts()
        for shown, file in files:
            for place, raw in _messages(shown, file, counts, problem):
                _import(replace(ctx, now=clock.now()), place, raw, counts, problem)
                progress(counts.done, max(total, counts.done))
    return counts


def _import(ctx: Context, place: str, raw: bytes, counts: Counts, problem: Problem) -> None:
    try:
        received = mailroom.receive(ctx, raw)
    except HelpdeskError as error:
        counts.failed += 1
        problem(place, error.message)
    except Exception as error:  # a mail that shows a bug of ours must not keep out those after it
        LOG.exception("mail.import.failed", place=place)
        counts.failed += 1
        problem(place, f"not stored because of an error in this program ({type(error).__name__}); keep the mail")
    else:
        if received.outcome == "duplicate":
            counts.duplicates += 1
        elif received.outcome == "ignored":
            counts.ignored += 1
        elif received.is_new_ticket:
            counts.tickets += 1
        else:
            counts.replies += 1


def _messages(shown: str, file: Path, counts: Counts, problem: Problem) -> Iterator[tuple[str, bytes]]:
    """(place, raw mail) of one file; several mails of one file have their number behind its name."""
    try:
        is_mbox = mailbox_files.kind_of(file) == "mbox"
        for number, raw in enumerate(mailbox_files.messages(file), start=1):
            yield (f"{shown}, message {number}" if is_mbox else shown), raw
    except (OSError, Invalid) as error:
        counts.failed += 1
        problem(shown, f"cannot be read: {getattr(error, 'strerror', None) or error}")


def _files(path: str, standard_input: BinaryIO, folder: Path) -> list[tuple[str, Path]]:
    """(name to show, file) of every file of mail at a path."""
    if path == STANDARD_INPUT:
        copy = folder / f"standard-input-{len(os.listdir(folder))}"
        with copy.open("wb") as file:
            shutil.copyfileobj(standard_input, file)
        return [("standard input", copy)]
    place = Path(path)
    kind = mailbox_files.kind_of(place)
    if kind == "maildir":
        found = [file for part in ("cur", "new") for file in _sorted_by_number(place / part) if _is_mail(file)]
    elif kind == "folder":
        found = [
            Path(below, name)
            for below in sorted(each for each, _, _ in os.walk(place))
            for name in sorted(os.listdir(below))
            if name.lower().endswith(mailbox_files.SUFFIXES) and Path(below, name).is_file()
        ]
    else:
        found = [place]
    return [(str(file), file) for file in found]


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
