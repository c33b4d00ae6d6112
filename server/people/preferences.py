"""Preferences of a worker for the console."""

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, Mistakes
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.translation import _

THEMES = ("system", "light", "dark")
DENSITIES = ("normal", "compact")

PREFERENCE = Table(
    "console_preference",
    [
        Column("worker_id", references="worker(id)"),
        Column("theme", "TEXT"),
        Column("density", "TEXT"),
        Column("has_keys", default=1),
    ],
    key=("worker_id",),
)


@dataclass(frozen=True, slots=True)
class Preferences:
    """Preferences of a worker. theme: of THEMES. density: of DENSITIES. has_keys: whether keyboard shortcuts of single
    keys are on."""

    theme: str = "system"
    density: str = "normal"
    has_keys: bool = True


def load(tx: Transaction, worker_id: int) -> Preferences:
    """Returns the preferences of a worker; the defaults without a choice."""
    row = tx.first(PREFERENCE, worker_id=worker_id)
    if row is None:
        return Preferences()
    at = PREFERENCE.position
    return Preferences(row[at["theme"]] or "system", row[at["density"]] or "normal", bool(row[at["has_keys"]]))


def put(tx: Transaction, worker_id: int, chosen: Preferences) -> None:
    """Stores the preferences of a worker."""
    tx.put(
        PREFERENCE,
        {
            "worker_id": worker_id,
            "theme": chosen.theme,
            "density": chosen.density,
            "has_keys": int(chosen.has_keys),
        },
    )


def choose(ctx: Context, chosen: Preferences) -> None:
    """Stores the preferences of the caller. Raises Invalid for an unknown theme and density."""
    mistakes = Mistakes()
    with mistakes.collect():
        if chosen.theme not in THEMES:
            raise Invalid(_("Choose one of {THEMES}.", THEMES=", ".join(THEMES)), field="theme")
    with mistakes.collect():
        if chosen.density not in DENSITIES:
            raise Invalid(_("Choose one of {DENSITIES}.", DENSITIES=", ".join(DENSITIES)), field="density")
    mistakes.require_none()
    ctx.service.store.write(lambda tx: put(tx, ctx.actor.worker_id, chosen))
