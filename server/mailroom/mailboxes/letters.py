"""Mails that could not be taken, as administrators see them: why, what they say, taking them now, discarding them."""

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

DOING = "read mail that could not be taken"  # what administrators alone may

MAX_SHOWN_BYTES = 256 * KiB  # of a mail, on its page
TURN_SECONDS = 30  # that somebody waits while another mail is taken
_log = log.get("mailbox")


@dataclass(frozen=True, slots=True)
class OpenedLetter:
    """A mail to be read. raw: its beginning. is_whole: whether that is all."""

    letter: DeadLetter
    sender: str
    subject: str
    raw: bytes
    is_whole: bool


def list_letters(ctx: Context) -> list[DeadLetter]:
    """The newest first. Raises AdminOnly, Unavailable when their folder cannot be read."""
    ctx.require_admin(DOING)
    return dead_letters.list_dead_letters(ctx.service.settings)


def open_letter(ctx: Context, key: str) -> OpenedLetter:
    """One of them. Raises AdminOnly, NotFound, Unavailable."""
    ctx.require_admin(DOING)
    letter = dead_letters.find(ctx.service.settings, key)
    raw = _read(ctx, letter, MAX_SHOWN_BYTES)
    head = headers.split(raw, 0)
    sender, subject = (headers.header_value(head.first(name)) for name in ("from", "subject"))
    return OpenedLetter(letter, sender, subject, raw, letter.bytes <= len(raw))


def file_of(ctx: Context, key: str) -> tuple[DeadLetter, Path]:
    """One of them, and its file. Raises AdminOnly, NotFound, Unavailable."""
    ctx.require_admin(DOING)
    letter = dead_letters.find(ctx.service.settings, key)
    return letter, dead_letters.path_of(ctx.service.settings, letter)


def take(ctx: Context, key: str) -> Receipt:
    """Take it in now, as if it had just arrived; then it is kept apart no more.

    Raises AdminOnly, NotFound, Unavailable; and what the mailroom raises, which is noted with it."""
    ctx.require_admin(DOING)
    # A mail without Message-Id that two take at once would be two tickets.
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
        why = f"an error in this program ({type(error).__name__}); the log tells more"
        dead_letters.note(ctx.service.settings, letter, why)
        raise Rejected(why) from error
    _log_act(ctx, "mail.taken", letter)
    dead_letters.remove(ctx.service.settings, letter)
    return received


def discard(ctx: Context, key: str) -> str:
    """Forget it for good; answers its name. Raises AdminOnly, NotFound, Unavailable."""
    ctx.require_admin(DOING)
    letter = dead_letters.find(ctx.service.settings, key)
    _log_act(ctx, "mail.discarded", letter)
    dead_letters.remove(ctx.service.settings, letter)
    return letter.name


def _log_act(ctx: Context, point: str, letter: DeadLetter) -> None:
    """Tell of it before the file goes: what was done must not be lost by a crash in between."""
    ctx.service.store.write(lambda tx: RecordWriter(ctx, tx).log(point, APP, 0, {"file": letter.name}))


def _read(ctx: Context, letter: DeadLetter, most: int) -> bytes:
    path = dead_letters.path_of(ctx.service.settings, letter)
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise Unavailable(f"{path} cannot be read ({error.strerror}); check it") from error
