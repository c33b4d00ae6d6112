"""Boards as they are drawn: columns side by side with cards, which buttons, dragging and forms without scripts move to
another place."""

from collections.abc import Sequence

from markupsafe import Markup

from console.html.templates import fragment
from console.http.visit import Visit
from server.dataclass import dataclass


@dataclass(frozen=True)
class CardMove:
    """A button that moves a card. value: the new place, as the form sends it. label: read by screen readers. name: of
    the button that gets the focus once the card has moved."""

    value: str
    sign: str
    label: str
    name: str = ""


@dataclass(frozen=True)
class ShownCard:
    """A card. details: texts or HTML below its label. fields: of the form that moves it. ref: the
    name by which another card is placed before it, "" on a board without an order."""

    label: str
    path: str
    details: Sequence[str]
    fields: Sequence[tuple[str, str]]
    moves: Sequence[CardMove]
    ref: str = ""

    @property
    def anchor(self) -> str:
        """The id of its element, "" if it has no ref."""
        return anchor_of(self.ref) if self.ref else ""


@dataclass(frozen=True)
class ShownColumn:
    """A column. value: of the parameter that moves a card here. head, foot: HTML above and below its cards."""

    value: str
    name: str
    total: int
    cards: Sequence[ShownCard]
    foot: str = ""
    head: str = ""


def anchor_of(ref: str) -> str:
    """Returns the id of the element of a card.

    >>> anchor_of("ticket:5")
    'card-ticket-5'
    """
    return f"card-{ref.replace(':', '-')}"


def board(
    visit: Visit,
    id: str,
    label: str,
    columns: Sequence[ShownColumn],
    *,
    action: str,
    field: str,
    level: int = 4,
    drawing: str = "",
) -> Markup:
    """Renders a board. id: a prefix for ids of elements. action: the path that moves cards, "" for a reader who may not
    move them. field: the parameter with the new place. level: of the headings of columns. drawing: the path that
    returns the cards as automations draw them, "" for a board without such automations."""
    return Markup(
        fragment(
            "parts/board.html",
            visit=visit,
            id=id,
            label=label,
            columns=columns,
            action=action,
            field=field,
            level=level,
            drawing=drawing,
        )
    )
