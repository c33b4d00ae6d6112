"""The columns of a board in their order, which the board stores as ids with commas between."""

from collections.abc import Iterable
from typing import Any

from server.contexts import PROJECT_BOARD_COLUMN
from server.digits import is_whole
from server.errors import Invalid
from server.fields import Intake, Text
from server.record_types.parts import Writing
from server.record_types.shared.triggers import PREFIX
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_, about_field, lazy_gettext

BOARD, COLUMN = "project_board", "project_board_column"
MAX_COLUMNS = 30  # on a board
CONTEXT = PROJECT_BOARD_COLUMN
# The triggers of automations that draw cards, and of those that run for a card that comes to a column.
RENDER_CARD, CARD_ACTION = PREFIX + "projectBoard.renderCard", PREFIX + "projectBoard.cardAction"


class ColumnOrder(Text):
    """The ids of the columns of a board, with commas between."""

    def read(self, raw: Any, intake: Intake) -> str:
        text = super().read(raw, intake)
        ids = [each.strip() for each in text.strip().removeprefix("[").removesuffix("]").split(",") if each.strip()]
        if not all(map(is_whole, ids)):
            raise self.bad(N_("takes the ids of columns in their order, with commas between"))
        return as_order(dict.fromkeys(map(int, ids)))


def ids_in(order: str) -> list[int]:
    """Parses a stored order.

    >>> ids_in("3,1"), ids_in("")
    ([3, 1], [])
    """
    return [int(each) for each in order.split(",") if each]


def column_ids(tx: Transaction, board_id: int, order: str) -> list[int]:
    """Returns the ids of the columns of a board in this order; further ones follow in the order of their creation."""
    table: Any = table_named(COLUMN)
    rows = tx.rows(
        lambda: table.select(table.c.id).where(table.c.board_id == slot(0)).order_by(table.c.id).limit(slot(1)),
        (board_id, MAX_COLUMNS),
    )
    own = [row[0] for row in rows]
    ordered = [id for id in ids_in(order) if id in own]
    return [*ordered, *(id for id in own if id not in ordered)]


def complete_order(writing: Writing, board_id: int, order: str) -> str:
    """Returns an order with the columns that it lacks. Raises Invalid if it names a column of another board."""
    completed = column_ids(writing.tx, board_id, order) if board_id else []
    for id in ids_in(order):
        if id not in completed:
            raise Invalid(about_field("columns", lazy_gettext("the board has no column {id}", id=id)), field="columns")
    return as_order(completed)


def update_order(writing: Writing, board_id: int) -> None:
    """Stores the order of a board after a column was added or removed."""
    board = writing.record(BOARD, board_id)
    if board is None:
        return
    order = as_order(column_ids(writing.tx, board_id, board["columns"]))
    if order != board["columns"]:
        writing.set(BOARD, board_id, {"columns": order})


def as_order(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))
