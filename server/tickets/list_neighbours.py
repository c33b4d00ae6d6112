"""The place of a ticket in a list of tickets, and its neighbours there."""

from server.context import Context
from server.dataclass import dataclass
from server.records import records
from server.records.records import SearchRequest
from server.tickets.masks import ticket_id

AROUND = 10  # tickets read at once to find neighbours
AHEAD = 5  # following tickets that an address contains
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

    def following(self, mask: str) -> list[str]:
        """Returns the tickets after this one."""
        return self.masks[self.masks.index(mask) + 1 :] if mask in self.masks else []

    def before(self, mask: str, without: str = "") -> str:
        """Returns the ticket before this one, "" for none."""
        rest = self.masks[: self.masks.index(mask)] if mask in self.masks else []
        return next((each for each in reversed(rest) if each != without), "")


@dataclass(frozen=True, slots=True)
class ListedTicket:
    """A ticket at a place of a list, from 1. before: the mask of the ticket before it, "" for none. after: the masks of
    the tickets that follow, at most AHEAD."""

    mask: str
    place: int
    before: str
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListPlace:
    """The place of a ticket in a list, from 1, the length of the list, and its neighbours."""

    place: int
    total: int
    before: ListedTicket | None
    after: ListedTicket | None


def find_place(ctx: Context, q: str, at: int, mask: str, before: str, after: list[str]) -> ListPlace:
    """Returns the place of a ticket in the list of a search, and its neighbours.

    The neighbours are those from when the worker saw the list: tickets may have left it or moved in it since, but the
    next one stays the same unless it was closed or assigned. at: the place at that time; before: the mask of the ticket
    before it then, "" for none; after: those of the tickets that followed. Raises BadQuery."""
    part = _part(ctx, q, at)
    ahead = _listed(ctx, q, [each for each in after[:AHEAD] if each != mask])
    if not ahead:
        unseen = part.following(mask) or part.masks[max(at - part.first, 0) :]
        ahead = [each for each in unseen if each != mask][: AHEAD + 1]
    if not _is_readable(ctx, before):
        before = part.before(mask) or part.at(at - 1)
    before_it = part.before(before, mask)
    return ListPlace(
        part.place(mask) or at,
        part.total,
        ListedTicket(before, part.place(before) or max(at - 1, 1), before_it, (mask, *ahead)[:AHEAD])
        if before not in ("", mask)
        else None,
        ListedTicket(ahead[0], part.place(ahead[0]) or at + 1, mask, tuple(ahead[1:])) if ahead else None,
    )


def in_order(masks: list[str], first: int) -> list[ListedTicket]:
    """Returns consecutive tickets of a list. first: the place of the first one.

    >>> [(each.place, each.before, each.after) for each in in_order(["A", "B", "C"], 51)], in_order([], 51)
    ([(51, '', ('B', 'C')), (52, 'A', ('C',)), (53, 'B', ())], [])
    """
    return [
        ListedTicket(mask, first + index, masks[index - 1] if index else "", tuple(masks[index + 1 :][:AHEAD]))
        for index, mask in enumerate(masks)
    ]


def _listed(ctx: Context, q: str, masks: list[str]) -> list[str]:
    """Returns those of some tickets that are still in a list, in their order. Raises BadQuery."""
    ids = [str(id) for id in (ticket_id(ctx, mask) for mask in masks) if id is not None]
    if not ids:
        return []
    narrowed = f"({q}) id:[{','.join(ids)}]" if q.strip() else f"id:[{','.join(ids)}]"
    tickets = records.search(ctx, "ticket", SearchRequest(narrowed, len(ids)))["results"]
    listed = {str(each["mask"]) for each in tickets}
    return [mask for mask in masks if mask in listed]


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
