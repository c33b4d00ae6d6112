"""The due time of a ticket, in words and colour."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from console.html import ui
from console.http.visit import Visit
from server.translation import N_, _

SOON_SECONDS = 3600
GOALS = (
    ("response", N_("First response"), "initial_response_message_id"),
    ("resolution", N_("Resolution"), ""),
)


def due_html(visit: Visit, due_at: int) -> str:
    """Returns HTML: late, due soon, or due later; "" without a target."""
    if not due_at:
        return ""
    when, seconds_left = ui.when(visit, due_at), due_at - visit.now
    if seconds_left <= 0:
        return Markup("{} {}").format(ui.badge("err", N_("overdue")), when)
    return (
        Markup("{} {}").format(ui.badge("warn", N_("due")), when)
        if seconds_left <= SOON_SECONDS
        else Markup("{} {}").format(ui.muted(N_("due")), when)
    )


def goals(visit: Visit, keys: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns (goal, HTML of its state) for the page of a ticket; [] without targets."""
    return [
        (_(label), _state(visit, keys, name, bool(answered and keys.get(answered))))
        for name, label, answered in GOALS
        if keys[f"{name}_due_at"]
    ]


def _state(visit: Visit, keys: Mapping[str, Any], name: str, is_met: bool) -> str:
    if is_met or keys["status"] in ("closed", "deleted"):
        return ui.badge("err", N_("overdue")) if keys[f"{name}_missed"] else ui.badge("ok", N_("on time"))
    if keys["status"] == "waiting":
        return ui.muted(N_("paused while the ticket is waiting"))
    return due_html(visit, keys[f"{name}_due_at"])
