"""Mails that could not be stored, for administrators: list, read, import, discard."""

from pathlib import Path

from server import log, mailroom
from server.access.actor import APP
from server.access.service_actor import own_context
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError, Rejected, Unavailable
from server.jobs import turns
from server.mail import headers
from server.mailroom import Receipt
from server.mailroom.mailboxes import dead_letters
from server.mailroom.mailboxes.dead_letters import DeadLetter
from server.records.writing import RecordWriter
from server.settings import KiB

DOING = "read email that could not be processed"  # allowed to administrators only

MAX_SHOWN_BYTES = 256 * KiB  # shown of a mail on its page
TURN_SECONDS = 30  # longest wait while another mail is imported
_log = log.get("mailbox")


@dataclass(frozen=True, slots=True)
class OpenedLetter:
    """A mail to display. raw: its beginning. is_whole: whether that is the whole mail."""

    letter: DeadLetter
    sender: str
    subject: str
    raw: bytes
    is_whole: bool


def list_letters(ctx: Context) -> list[DeadLetter]:
    """The mails, the newest first. Raises AdminOnly, Unavailable if their folder cannot be read."""
    ctx.require_admin(DOING)
    return dead_letters.list_dead_letters(ctx.service.settings)


def open_letter(ctx: Context, key: str) -> OpenedLetter:
    """Returns the beginning of a mail. Raises AdminOnly, NotFound, Unavailable."""
    ctx.require_admin(DOING)
    letter = dead_letters.find(ctx.service.settings, key)
    raw = _read(ctx, letter, MAX_SHOWN_BYTES)
    head = headers.split(raw, 0)
    sender, subject = (headers.header_value(head.first(name)) for name in ("from", "subject"))
    return OpenedLetter(letter, sender, subject, raw, letter.bytes <= len(raw))


def file_of(ctx: Context, key: str) -> tuple[DeadLetter, Path]:
    """Returns a mail and its file. Raises AdminOnly, NotFound, Unavailable."""
    ctx.require_admin(DOING)
    letter = dead_letters.find(ctx.service.settings, key)
    return letter, dead_letters.path_of(ctx.service.settings, letter)


def take(ctx: Context, key: str) -> Receipt:
    """Imports a mail as if it had just arrived, and removes its file.

    Raises AdminOnly, NotFound, Unavailable; and the errors of the mailroom, which are recorded with the mail."""
    ctx.require_admin(DOING)
    # Two simultaneous imports of a mail without Message-Id would create two tickets.
    with turns.exclusive(ctx.service, "taking mail that was kept apart", TURN_SECONDS):
        return _take(ctx, dead_letters.find(ctx.service.settings, key))


def _take(ctx: Context, letter: DeadLetter) -> Receipt:
    raw = _read(ctx, letter, letter.bytes)
    try:
        received = mailroom.receive(own_context(ctx.service), raw)
    except HelpdeskError as error:
        dead_letters.note(ctx.service.settings, letter, error.message)
        raise
    except Exception as error:
        _log.exception("letter.failed", name=letter.name)
        why = f"an error in this program ({type(error).__name__}); see the log"
        dead_letters.note(ctx.service.settings, letter, why)
        raise Rejected(why) from error
    _log_act(ctx, "mail.taken", letter)
    dead_letters.remove(ctx.service.settings, letter)
    return received


def discard(ctx: Context, key: str) -> str:
    """Deletes a mail; returns its name. Raises AdminOnly, NotFound, Unavailable."""
    ctx.require_admin(DOING)
    letter = dead_letters.find(ctx.service.settings, key)
    _log_act(ctx, "mail.discarded", letter)
    dead_letters.remove(ctx.service.settings, letter)
    return letter.name


def _log_act(ctx: Context, point: str, letter: DeadLetter) -> None:
    """Logs the act before the file is removed, so that a crash in between does not lose it."""
    ctx.service.store.write(lambda tx: RecordWriter(ctx, tx).log(point, APP, 0, {"file": letter.name}))


def _read(ctx: Context, letter: DeadLetter, most: int) -> bytes:
    path = dead_letters.path_of(ctx.service.settings, letter)
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise Unavailable(f"{path} cannot be read ({error.strerror}); check it") from error
