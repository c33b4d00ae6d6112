"""The columns that a worker has chosen for a list of the console."""

from collections.abc import Sequence

from server.context import Context
from server.errors import Invalid
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.translation import about_field, lazy_gettext

MAX_LIST_CHARS = 200  # characters of the path of a list
MAX_COLUMNS_CHARS = 2000  # characters of the column names, with commas
MAX_LISTS = 100  # lists of one worker whose columns are stored

LIST_COLUMNS = Table(
    "list_columns",
    [Column("worker_id", references="worker(id)"), Column("list", "TEXT"), Column("columns", "TEXT")],
    key=("worker_id", "list"),
)


def chosen_columns(ctx: Context, list_path: str) -> list[str]:
    """Returns the columns that the caller has chosen for a list, in order; [] without a choice."""
    worker_id = ctx.actor.worker_id

    def read(tx: Transaction) -> str:
        row = tx.first(LIST_COLUMNS, worker_id=worker_id, list=list_path)
        return str(row[LIST_COLUMNS.position["columns"]]) if row is not None else ""

    return [name for name in ctx.service.store.read(read).split(",") if name]


def choose(ctx: Context, list_path: str, names: Sequence[str]) -> None:
    """Stores the columns of a list; none restores the default. Raises Invalid if they are too long."""
    columns = ",".join(names)
    if len(list_path) > MAX_LIST_CHARS or len(columns) > MAX_COLUMNS_CHARS:
        problem = lazy_gettext("at most {count} characters", count=MAX_COLUMNS_CHARS)
        raise Invalid(about_field("columns", problem), field="columns")

    def write(tx: Transaction) -> None:
        if not columns:
            tx.delete(LIST_COLUMNS, worker_id=ctx.actor.worker_id, list=list_path)
        elif len(tx.some(LIST_COLUMNS, MAX_LISTS + 1, worker_id=ctx.actor.worker_id)) <= MAX_LISTS:
            tx.put(LIST_COLUMNS, {"worker_id": ctx.actor.worker_id, "list": list_path, "columns": columns})

    ctx.service.store.write(write)
