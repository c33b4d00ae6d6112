"""Moves of an entry in an ordered list, by its buttons or by dragging."""

from collections.abc import Callable

from console.http.visit import Visit
from server.translation import _

MOST_STEPS = 1000  # places that an entry is moved at once


def move_entry(visit: Visit, name: str, move: Callable[[int], object], most: int = MOST_STEPS) -> None:
    """Moves an entry up or down, by one place or by as many as it was dragged, with an undo. move: called with the
    number of places, negative to move up; its errors are raised."""
    one = -1 if visit.form.text("to", "") == "up" else 1
    by = visit.form.integer("by", one, -most, most)
    move(by)
    text = _("{name} moved up.", name=name) if by < 0 else _("{name} moved down.", name=name)
    visit.flash(text, visit.path, by=str(-by))
