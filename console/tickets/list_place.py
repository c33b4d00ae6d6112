"""The place of a ticket in the list that it was opened from."""

from urllib.parse import urlencode

from server.dataclass import dataclass
from server.record_types.shared import paths


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


def beside(masks: list[str]) -> list[tuple[str, str]]:
    """Returns the masks before and after each of some tickets of a list; "" at the ends."""
    return list(zip(["", *masks[:-1]], [*masks[1:], ""], strict=True))


def path(mask: str, q: str, place: int, come_from: str, before: str, after: str) -> str:
    """Returns the path of a ticket in a list. q: the search of the list. come_from: its path."""
    params = {"in": q, "at": place, "from": come_from, "before": before, "after": after}
    return f"{paths.ticket(mask)}?{urlencode({name: value for name, value in params.items() if value or name == 'in'})}"
