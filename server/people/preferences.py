"""How a worker wants the console to look and to be used."""

from server.context import Context
from server.dataclass import dataclass
from server.store.tables import Column, Table
from server.store.transaction import Transaction

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
    """theme: of THEMES. density: of DENSITIES. has_keys: whether single keys do something."""

    theme: str = "system"
    density: str = "normal"
    has_keys: bool = True


def of(tx: Transaction, worker_id: int) -> Preferences:
    """Those of a worker; the usual ones until they choose."""
    row = tx.first(PREFERENCE, worker_id=worker_id)
    if row is None:
        return Preferences()
    at = PREFERENCE.position
    return Preferences(row[at["theme"]] or "system", row[at["density"]] or "normal", bool(row[at["has_keys"]]))


def put(tx: Transaction, worker_id: int, chosen: Preferences) -> None:
    """Keep what a worker chose."""
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
    """Keep what the worker who acts chose."""
    ctx.service.store.write(lambda tx: put(tx, ctx.actor.worker_id, chosen))
