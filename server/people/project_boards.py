"""Project boards as workers use them: their columns with cards, and the moves of cards."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.context import Context
from server.contexts import TICKET
from server.dataclass import dataclass
from server.errors import Conflict, Invalid
from server.record_types.boards import board_columns, column_cards
from server.record_types.boards.board_columns import BOARD, COLUMN, CONTEXT
from server.record_types.boards.column_cards import Card
from server.record_types.project_board import VERSION
from server.record_types.record_type import Record
from server.record_types.shared.relation_tables import LINK
from server.record_types.traits.links import link, store_link
from server.records import records
from server.records.dictionary import Dictionaries
from server.records.records import LABEL
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.store_local import VersionedLocal
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import lazy_gettext

SHOWN, BASE = "/pages/boards", "/boards"  # paths of boards as they are shown, and as they are built
COLUMNS = f"{BASE}/columns"
MAX_OFFERED = 20  # in the rail
MAX_SHOWN = 100  # cards of a column
MANY = 50  # cards of a board, with which its page is rendered on a thread
# Further keys of cards, by the context of their record; all have their label and their owner.
EXPANDS = {TICKET: "requesters"}


@dataclass(frozen=True, slots=True)
class BoardLink:
    """A board."""

    id: int
    label: str

    @property
    def path(self) -> str:
        return path_of(self.id)


@dataclass(frozen=True)
class BoardColumn:
    """A column. record: as it is stored. rows: the first of its cards with the dictionaries of their records. total:
    the number of all cards whose records the worker may read."""

    id: int
    name: str
    record: Record
    rows: Sequence[tuple[Card, Mapping[str, Any]]]
    total: int


# The rail of every page lists them.
_OFFERED: VersionedLocal[list[BoardLink]] = VersionedLocal()


def path_of(id: int) -> str:
    """Returns the path of the board as it is shown."""
    return f"{SHOWN}/{id}"


def offered(ctx: Context) -> list[BoardLink]:
    """Returns the first boards by name. Every worker may read all of them."""
    return ctx.service.store.read(lambda tx: _OFFERED.read(tx, VERSION, _first)) if ctx.actor.worker_id else []


def _first(tx: Transaction) -> list[BoardLink]:
    table: Any = table_named(BOARD)
    rows = tx.rows(
        lambda: table.select(table.c.id, table.c.name).order_by(table.c.name, table.c.id).limit(slot(0)),
        (MAX_OFFERED,),
    )
    return [BoardLink(id, name) for id, name in rows]


def named(ctx: Context, text: str, limit: int) -> list[BoardLink]:
    """Returns the boards whose names have every word."""
    found = records.search_names(ctx, BOARD, text, limit)["results"]
    return [BoardLink(each["id"], str(each[LABEL])) for each in found]


def columns_of(ctx: Context, board: Mapping[str, Any]) -> list[BoardColumn]:
    """Returns the columns of a board in their order, with the cards whose records the worker may read."""

    def read(tx: Transaction) -> list[BoardColumn]:
        view = Dictionaries(ctx, tx)
        columns, cards = _columns(view, board)
        shown = [card for each in cards.values() for card in each[:MAX_SHOWN]]
        if len(shown) > MANY:
            tx.store.require_thread()  # their pages take time to render
        rows = _rows(view, shown)
        return [
            BoardColumn(
                id,
                str(column["name"]),
                column,
                [(card, rows[card]) for card in cards[id][:MAX_SHOWN] if card in rows],
                len(cards[id]),
            )
            for id, column in columns.items()
        ]

    return records.reading(ctx, read)


def shown_cards(ctx: Context, board: Mapping[str, Any]) -> list[tuple[Record, Card]]:
    """Returns the cards that the page of a board shows to the worker, each with its column, in order."""

    def read(tx: Transaction) -> list[tuple[Record, Card]]:
        columns, cards = _columns(Dictionaries(ctx, tx), board)
        return [(column, card) for id, column in columns.items() for card in cards[id][:MAX_SHOWN]]

    return records.reading(ctx, read)


def _columns(view: Dictionaries, board: Mapping[str, Any]) -> tuple[dict[int, Record], dict[int, list[Card]]]:
    """Returns the columns of a board by id, in their order, and their cards whose records the worker may read."""
    ids = board_columns.column_ids(view.tx, board["id"], str(board["columns"]))
    readable = {column["id"]: column for column in view.records(COLUMN, ids)}
    columns = {id: readable[id] for id in ids if id in readable}
    return columns, column_cards.readable_cards(view, list(columns.values()))


def _rows(view: Dictionaries, cards: Sequence[Card]) -> dict[Card, Mapping[str, Any]]:
    """Returns the dictionaries of the records of cards, in one statement for each type."""
    ids: dict[str, set[int]] = {}
    for card in cards:
        ids.setdefault(card.context, set()).add(card.id)
    rows: dict[Card, Mapping[str, Any]] = {}
    for context, own in ids.items():
        record_type = view.type(context)
        owner = "owner_" if "owner" in record_type.nested_by_prefix else ""
        expand = ",".join(filter(None, (LABEL, owner, EXPANDS.get(context, ""))))
        found = view.records(record_type.uri, own)
        for row in view.dictionaries(record_type.uri, found, expand):
            rows[Card(context, row["id"])] = row
    return rows


def move_card(ctx: Context, card: Card, source_id: int, target_id: int, before: Card | None = None) -> Card | None:
    """Moves a card to a column of the same board: before another card, or to the end. source_id 0: adds it to the
    board; target_id 0: removes it. Returns the card that followed it in its former column, as the caller saw
    it.

    Raises Conflict if the card is not where the caller saw it, NotFound, Forbidden, Invalid."""

    def write(tx: Transaction) -> Card | None:
        writing = RecordWriter(ctx, tx)
        columns = {id: _changeable(writing, id) for id in (source_id, target_id) if id}
        if len({column["board_id"] for column in columns.values()}) != 1:
            raise Invalid(lazy_gettext("the columns are on different boards"), field="to")
        board_id = next(iter(columns.values()))["board_id"]
        writing.retrieve(card.context, card.id)
        column_cards.require_card_type(writing, card.context, "card")
        held = _columns_with(writing, board_id, card)
        follower = None
        if not source_id and held:
            name = writing.label(COLUMN, held[0])
            raise Conflict(lazy_gettext("it is already on this board, in the column {name}", name=name), field="card")
        if source_id:
            if source_id not in held:
                raise Conflict(_gone(writing, columns[source_id], held), field="from")
            own = column_cards.cards_in(tx, columns[source_id])
            following = own[own.index(card) + 1 :]
            follower = next((each for each in following if writing.may_read(each.context, each.id)), None)
        _write_move(writing, card, source_id, target_id, before)
        return follower

    return ctx.service.store.write(write)


def _changeable(writing: RecordWriter, id: int) -> Record:
    """Returns a column that the caller may change. Raises NotFound, Forbidden."""
    column = writing.retrieve(COLUMN, id)
    writing.require("update", COLUMN, id)
    return column


def _columns_with(writing: RecordWriter, board_id: int, card: Card) -> list[int]:
    """Returns the ids of the columns of a board that have a card."""
    rows = writing.tx.find(LINK, from_context=card.context, from_id=card.id, to_context=CONTEXT)
    linked = {row[3] for row in rows}
    return [id for id in board_columns.column_ids(writing.tx, board_id, "") if id in linked]


def _gone(writing: RecordWriter, column: Record, held: Sequence[int]) -> Any:
    """Returns the message about a card that another worker has moved or removed."""
    if held:
        where = writing.label(COLUMN, held[0])
        return lazy_gettext(
            "somebody has moved this card from {column} to {where} in the meantime", column=column["name"], where=where
        )
    return lazy_gettext("somebody has removed this card from {column} in the meantime", column=column["name"])


def _write_move(writing: RecordWriter, card: Card, source_id: int, target_id: int, before: Card | None) -> None:
    """Stores a move. A card that is added or removed is also logged as a link on the column and the record."""
    if not target_id:
        link(writing, CONTEXT, source_id, card.context, card.id, False)
    elif not source_id:
        link(writing, CONTEXT, target_id, card.context, card.id, True)
        column_cards.place_card(writing, target_id, card, before)
    elif store_link(writing, CONTEXT, target_id, card.context, card.id, True):
        column_cards.enter_card(writing, target_id, card, before)  # also removes it from the former column
        writing.touch(card.context, id=card.id)
    else:
        column_cards.place_card(writing, target_id, card, before)


def move_column(ctx: Context, id: int, by: int) -> None:
    """Moves a column of a board to the end by some places, or to the beginning if `by` is negative. Raises NotFound,
    Forbidden."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        board_id = writing.retrieve(COLUMN, id)["board_id"]
        board = writing.retrieve(BOARD, board_id)
        ids = board_columns.column_ids(tx, board_id, board["columns"])
        place = ids.index(id)
        ids.insert(min(max(place + by, 0), len(ids) - 1), ids.pop(place))
        writing.update_sent(writing.registry.type(BOARD), board_id, {"columns": board_columns.as_order(ids)})

    ctx.service.store.write(write)
