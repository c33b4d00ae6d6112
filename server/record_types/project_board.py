"""Project boards: columns side by side with records as cards. boards/ has the order of columns, and cards."""

from server import contexts
from server.fields import Name, Structure, Text, UpdatedAt
from server.record_types.boards import board_columns, column_cards
from server.record_types.boards.board_columns import COLUMN, RENDER_CARD, ColumnOrder
from server.record_types.record_type import Access, Change, Event, Record, RecordType, Subtotals, Writing
from server.record_types.shared import record_owners
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers

VERSION = "project_boards"  # the version of the boards; see Transaction.version
MAX_CARDS_GONE = 2000  # cards that are removed with a board; more would block the writer too long
PLUGIN = "svc.project_boards"


class ProjectBoard(RecordType):
    """A board whose columns have records as cards, such as tickets and tasks. Its columns are deleted with it, the
    records of its cards are not."""

    uri, context = "project_board", contexts.PROJECT_BOARD
    plugin = PLUGIN
    aliases = ("board", "boards", "project board", "project boards")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("privilege",))
    fields = {
        "cards_kata": Text(
            "Automations that draw its cards, as KATA: a binding of the trigger projectBoard.renderCard. The first one "
            "that returns a `sheet` draws the card, after those of the column.",
            65535,
            form="kata",
            filter=None,
        ),
        "columns": ColumnOrder(
            "Ids of its columns in their order, with commas between. May be sent to reorder them; those that it does "
            "not name follow.",
            1000,
            filter=None,
        ),
        "name": Name(),
        "owner__context": record_owners.context_field(
            "Record type of the owner: app, bot, group, role or worker. An owner has no further rights.",
            required=False,
        ),
        "owner_id": record_owners.id_field(required=False, filter=None, shown=False),
        "params": Structure("Settings for other programs. Never returned.", shown=False),
        "updated_at": UpdatedAt(),
    }
    checked = {"cards_kata": "event"}
    bound = {"cards_kata": RENDER_CARD}
    bumps = {VERSION: ("name",)}
    subtotals = Subtotals(search=("fieldset", "links", "watchers"))
    events = (
        Event(column_cards.ADDED, "a card was added to a column"),
        Event(column_cards.MOVED, "a card was moved to another column"),
        Event(column_cards.REMOVED, "a card was removed"),
    )

    def prepare(self, change: Change, writing: Writing) -> None:
        record_owners.check(change, writing)
        if "columns" in change.new:
            change.new["columns"] = board_columns.complete_order(writing, change.id, change.new["columns"])

    def check_delete(self, record: Record, writing: Writing) -> None:
        column_cards.require_few(writing, board_columns.column_ids(writing.tx, record["id"], ""), MAX_CARDS_GONE)

    def after_delete(self, record: Record, writing: Writing) -> None:
        for id in board_columns.column_ids(writing.tx, record["id"], ""):
            writing.delete(COLUMN, id)
