"""The place of a ticket in a list of tickets, and its neighbours there."""

from server.context import Context
from server.dataclass import dataclass
from server.records import records
from server.records.records import SearchRequest
from server.tickets.masks import ticket_id

AROUND = 10  # tickets read at once to find neighbours
REACH = 3  # places of the list that are read on either side of a ticket


@dataclass(frozen=True, slots=True)
class ListPart:
    """Part of a list in its current state: masks, the first of which is at the place `first`."""

    masks: list[str]
    first: int
    total: int

    def at(self, place: int) -> str:
        """Returns the mask at a place of the list, "" for none."""
        index = place - self.first
        return self.masks[index] if 0 <= index < len(self.masks) else ""

    def place(self, mask: str) -> int:
        """Returns the place of a ticket, 0 if it is not in this part."""
        return self.first + self.masks.index(mask) if mask in self.masks else 0

    def after(self, mask: str, without: str = "") -> str:
        """Returns the ticket after this one, "" for none."""
        rest = self.masks[self.masks.index(mask) + 1 :] if mask in self.masks else []
        return next((each for each in rest if each != without), "")

    def before(self, mask: str, without: str = "") -> str:
        """Returns the ticket before this one, "" for none."""
        rest = self.masks[: self.masks.index(mask)] if mask in self.masks else []
        return next((each for each in reversed(rest) if each != without), "")


@dataclass(frozen=True, slots=True)
class ListedTicket:
    """A ticket at a place of a list, from 1. before, after: the masks of its neighbours, "" for none."""

    mask: str
    place: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ListPlace:
    """The place of a ticket in a list, from 1, the length of the list, and its neighbours."""

    place: int
    total: int
    before: ListedTicket | None
    after: ListedTicket | None


def find_place(ctx: Context, q: str, at: int, mask: str, seen: tuple[str, str]) -> ListPlace:
    """Returns the place of a ticket in the list of a search, and its neighbours.

    The neighbours are those from when the worker saw the list: a ticket that was closed or assigned since may have left
    the list or moved in it, but the next one stays the same. at: the place at that time; seen: the masks before and
    after it, "" for none. Raises BadQuery."""
    part = _part(ctx, q, at)
    seen_before, seen_after = (each if _is_readable(ctx, each) else "" for each in seen)
    after = seen_after if seen_after in part.masks else part.after(mask) or part.at(at)
    before = seen_before or part.before(mask) or part.at(at - 1)
    return ListPlace(
        part.place(mask) or at,
        part.total,
        ListedTicket(before, part.place(before) or max(at - 1, 1), part.before(before, mask), mask)
        if before not in ("", mask)
        else None,
        ListedTicket(after, part.place(after) or at + 1, mask, part.after(after, mask))
        if after not in ("", mask)
        else None,
    )


def in_order(masks: list[str], first: int) -> list[ListedTicket]:
    """Returns consecutive tickets of a list. first: the place of the first one.

    >>> [(each.place, each.before, each.after) for each in in_order(["A", "B"], 51)], in_order([], 51)
    ([(51, '', 'B'), (52, 'A', '')], [])
    """
    ends = zip(masks, ["", *masks], [*masks[1:], ""], strict=False)  # as many as masks
    return [ListedTicket(mask, place, before, after) for place, (mask, before, after) in enumerate(ends, first)]


def _part(ctx: Context, q: str, at: int) -> ListPart:
    """Returns the list around a place. Raises BadQuery."""
    pages = range((max(at - REACH, 1) - 1) // AROUND, (at + REACH - 1) // AROUND + 1)
    masks: list[str] = []
    total = 0
    for number in pages:
        result = records.search(ctx, "ticket", SearchRequest(q, AROUND, number + 1))
        masks += [str(each["mask"]) for each in result["results"]]
        total = result["total"]
    return ListPart(masks, pages[0] * AROUND + 1, total)


def _is_readable(ctx: Context, mask: str) -> bool:
    id = ticket_id(ctx, mask) if mask else None
    return id is not None and records.may_read(ctx, "ticket", id)
