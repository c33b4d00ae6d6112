"""Turns a waiting draft into ticket, message and mail when it is due.

Each kind of draft declares its own maker; the outbox knows none of the kinds by name."""

from collections.abc import Callable

from server.context import Context
from server.record_types.record_type import Record
from server.records.writing import RecordWriter

# Creates ticket and message from the draft with this id. Returns the id of the draft, 0 if there is no mail to send.
Save = Callable[[RecordWriter, int], int]
# Does the slow work, outside any transaction. The flag: whether the mail was checked when it was queued.
Maker = Callable[[Context, Record, bool], Save]

_MAKERS: dict[str, Maker] = {}


def makes(*kinds: str) -> Callable[[Maker], Maker]:
    """Declares the decorated function as the maker of drafts of these types."""

    def declare(maker: Maker) -> Maker:
        _MAKERS.update(dict.fromkeys(kinds, maker))
        return maker

    return declare


def prepared(by: Context, draft: Record, is_checked: bool) -> Save:
    """Returns the write that creates the records of a draft. Raises the errors of its maker, such as Invalid,
    Forbidden."""
    return _MAKERS[draft["type"]](by, draft, is_checked)
