"""Preferences of a worker for the console."""

from dataclasses import replace

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, Mistakes
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.translation import _

THEMES = ("system", "light", "dark")
DENSITIES = ("normal", "compact")
DESTINATIONS = ("next", "list", "stay")
WRITINGS = ("markdown", "rich")
SEND_BUTTONS = ("next", "close", "wait", "send")
HINTS = ("list", "ticket", "undo")  # hints about keys

PREFERENCE = Table(
    "console_preference",
    [
        Column("worker_id", references="worker(id)"),
        Column("theme", "TEXT"),
        Column("density", "TEXT"),
        Column("has_keys", default=1),
        Column("destination", "TEXT"),
        Column("send_button", "TEXT"),
        Column("hints", "TEXT"),
        Column("writing", "TEXT"),
    ],
    key=("worker_id",),
)


@dataclass(frozen=True, slots=True)
class Preferences:
    """Preferences of a worker. theme: of THEMES. density: of DENSITIES. has_keys: whether keyboard shortcuts of single
    keys are on. destination: of DESTINATIONS, the page after a ticket was closed or a reply was sent. send_button: of
    SEND_BUTTONS, the one that was pressed last; "" for none. hints: those of HINTS that the worker has seen. writing:
    of WRITINGS, how messages to customers are written."""

    theme: str = "system"
    density: str = "normal"
    has_keys: bool = True
    destination: str = "next"
    send_button: str = ""
    hints: tuple[str, ...] = ()
    writing: str = "markdown"


def load(tx: Transaction, worker_id: int) -> Preferences:
    """Returns the preferences of a worker; the defaults without a choice."""
    row = tx.first(PREFERENCE, worker_id=worker_id)
    if row is None:
        return Preferences()
    at = PREFERENCE.position
    return Preferences(
        row[at["theme"]] or "system",
        row[at["density"]] or "normal",
        bool(row[at["has_keys"]]),
        row[at["destination"]] or "next",
        row[at["send_button"]] or "",
        tuple((row[at["hints"]] or "").split()),
        row[at["writing"]] or "markdown",
    )


def put(tx: Transaction, worker_id: int, chosen: Preferences) -> None:
    """Stores the preferences of a worker."""
    tx.put(
        PREFERENCE,
        {
            "worker_id": worker_id,
            "theme": chosen.theme,
            "density": chosen.density,
            "has_keys": int(chosen.has_keys),
            "destination": chosen.destination,
            "send_button": chosen.send_button,
            "hints": " ".join(chosen.hints),
            "writing": chosen.writing,
        },
    )


def choose(ctx: Context, chosen: Preferences) -> None:
    """Stores the preferences of the caller. Raises Invalid for unknown values."""
    mistakes = Mistakes()
    with mistakes.collect():
        if chosen.theme not in THEMES:
            raise Invalid(_("Choose one of {THEMES}.", THEMES=", ".join(THEMES)), field="theme")
    with mistakes.collect():
        if chosen.density not in DENSITIES:
            raise Invalid(_("Choose one of {DENSITIES}.", DENSITIES=", ".join(DENSITIES)), field="density")
    with mistakes.collect():
        if chosen.destination not in DESTINATIONS:
            raise Invalid(_("Choose the next ticket, the list, or to stay."), field="destination")
    with mistakes.collect():
        if chosen.writing not in WRITINGS:
            raise Invalid(_("Choose Markdown or rich text."), field="writing")
    mistakes.require_none()
    ctx.service.store.write(lambda tx: put(tx, ctx.actor.worker_id, chosen))


def remember_button(ctx: Context, preferences: Preferences, button: str) -> None:
    """Stores the button that the caller sent a reply with. preferences: those of the caller."""
    if button in SEND_BUTTONS and button != preferences.send_button:
        chosen = replace(preferences, send_button=button)
        ctx.service.store.write(lambda tx: put(tx, ctx.actor.worker_id, chosen))


def see_hint(ctx: Context, hint: str) -> None:
    """Stores that the caller has seen a hint. Raises Invalid for an unknown one."""
    if hint not in HINTS:
        raise Invalid(_("there is no hint '{name}'", name=hint[:40]), field="hint")

    def write(tx: Transaction) -> None:
        before = load(tx, ctx.actor.worker_id)
        put(tx, ctx.actor.worker_id, replace(before, hints=tuple(dict.fromkeys((*before.hints, hint)))))

    ctx.service.store.write(write)
