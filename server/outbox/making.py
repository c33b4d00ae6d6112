"""What waited as a draft becomes ticket, message and mail when it is due. How is declared where each kind of draft
lives: the outbox knows none of them by name."""

from collections.abc import Callable

from server.context import Context
from server.record_types.base import Record
from server.records.writing import RecordWriter

# Makes ticket and message of the draft with this id; answers the id of the draft, 0 when there is no mail to send.
Save = Callable[[RecordWriter, int], int]
# What is slow is done here, outside of any transaction. The flag: whether the mail was checked when it was queued.
Maker = Callable[[Context, Record, bool], Save]

_MAKERS: dict[str, Maker] = {}


def makes(*kinds: str) -> Callable[[Maker], Maker]:
    """Declare the decorated function as the maker of drafts of these types."""

    def declare(maker: Maker) -> Maker:
        _MAKERS.update(dict.fromkeys(kinds, maker))
        return maker

    return declare


def prepared(by: Context, draft: Record, is_checked: bool) -> Save:
    """The write that makes what a draft is for. Raises what its maker does, such as Invalid and Forbidden."""
    return _MAKERS[draft["type"]](by, draft, is_checked)
