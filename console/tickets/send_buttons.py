"""The buttons that send a reply, the one that the worker pressed last first."""

from console.html.ui import Option
from console.http.visit import Visit
from console.tickets import came_from
from server.people.preferences import SEND_BUTTONS
from server.translation import N_

LABELS = {
    "next": N_("Send and next"),
    "close": N_("Send and close"),
    "wait": N_("Send and wait"),
    "send": N_("Send"),
}


def send_buttons(visit: Visit, kind: str) -> list[Option]:
    """Returns the buttons of a form. kind: of the form. No two do the same: `next` needs a list, and where `send` opens
    the next ticket as well, it is left out."""
    is_listed = kind != "compose" and came_from.has_list(visit)
    names = {"close", "wait"}
    if is_listed:
        names.add("next")
    if not is_listed or visit.preferences.destination != "next":
        names.add("send")
    pressed = visit.form.text("do", "") if visit.is_post else ""
    first = next(
        (each for each in (pressed, visit.preferences.send_button, "send") if each in names),
        "next",
    )
    rest = [each for each in SEND_BUTTONS if each in names and each != first]
    return [(each, LABELS[each]) for each in (first, *rest)]
