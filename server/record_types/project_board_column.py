"""Columns of project boards, each with its cards."""

from server import contexts
from server.fields import Id, Name, References, Structure, Text, UpdatedAt
from server.record_types.boards import board_columns, column_cards
from server.record_types.boards.board_columns import CARD_ACTION, MAX_COLUMNS, RENDER_CARD
from server.record_types.boards.column_cards import MAX_CARDS, ORDER, Card
from server.record_types.project_board import PLUGIN
from server.record_types.record_type import Access, Change, Expand, Record, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.record_types.workspaces import contents
from server.store.tables import Column, Index


class ProjectBoardColumn(RecordType):
    """A column of a board. Its cards are the records that are linked to it, except workers; a record has one card on a
    board."""

    uri, context = "project_board_column", contexts.PROJECT_BOARD_COLUMN
    plugin = PLUGIN
    aliases = ("project board column", "project board columns", "board column", "board columns")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("privilege",))
    fields = {
        "board_id": Id(
            f"Board it is on, with at most {MAX_COLUMNS} columns.",
            "project_board",
            required=True,
            filter_note="On a board by id.",
            deep="On a matching board.",
            nested_note="Board it is on.",
        ),
        "cards": References(
            f"Records to add as cards, as `<type>:<id>`, after those that it has, at most {MAX_CARDS}. A card that it "
            "has moves to the end, one of another column of the board moves here; a leading `-` removes a card."
        ),
        "cards_kata": Text(
            "Automations that draw its cards, as KATA: a binding of the trigger projectBoard.renderCard. The first one "
            "that returns a `sheet` draws the card; those of the board follow.",
            65535,
            form="kata",
            filter=None,
        ),
        "functions_kata": Text(
            "Automations that run when a card is added to it or moved to it, as KATA: a binding of the trigger "
            "projectBoard.cardAction. They have the rights of whoever did that.",
            65535,
            form="kata",
            filter=None,
        ),
        "name": Name(),
        "params": Structure("Settings for other programs. Never returned.", shown=False),
        "toolbar_kata": Text(
            "Buttons above its cards, as KATA: interactions that workers start, and menus of these.",
            65535,
            form="kata",
            filter=None,
        ),
        "updated_at": UpdatedAt(),
    }
    checked = {"cards_kata": "event", "functions_kata": "event", "toolbar_kata": "toolbar"}
    bound = {"cards_kata": RENDER_CARD, "functions_kata": CARD_ACTION}
    columns = (Column(ORDER, "TEXT", "[]"),)
    indexes = (Index(("board_id",), "the columns of a board"),)
    expands = (
        Expand(
            "cards",
            "array",
            "Its cards in order, of records that the caller may read: {_context, id}.",
            column_cards.load_cards,
        ),
    )
    subtotals = Subtotals(search=("board.id", "fieldset", "links", "watchers"), aliases={"board": "board.id"})

    def prepare(self, change: Change, writing: Writing) -> None:
        contents.require_room(change, writing, "board_id", MAX_COLUMNS)

    def after_write(self, change: Change, writing: Writing) -> None:
        if change.is_create or change.changes("board_id"):
            board_columns.update_order(writing, change.value("board_id"))
            if not change.is_create:
                board_columns.update_order(writing, change.was("board_id"))
        column_cards.write_cards(writing, change.id, change.extras.get("cards", ()))

    def linked(self, id: int, context: str, other_id: int, adds: bool, writing: Writing) -> None:
        """Places a new card last. Whoever links a record adds a card, and so must be able to change the
        column."""
        if context == contexts.WORKER:
            return
        writing.require("update", self.uri, id)
        if adds:
            column_cards.enter_card(writing, id, Card(context, other_id))
        else:
            column_cards.leave_column(writing, id, Card(context, other_id))

    def after_delete(self, record: Record, writing: Writing) -> None:
        board_columns.update_order(writing, record["board_id"])
