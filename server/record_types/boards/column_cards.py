"""The cards of a column: the records that are linked to it, in an order that the column stores. A link to a
worker is no card: the worker watches the column."""

import json
from collections.abc import Iterable, Sequence

from server.contexts import PROJECT_BOARD, WORKER
from server.dataclass import dataclass
from server.errors import Conflict, Invalid
from server.record_types.boards.board_columns import BOARD, COLUMN, CONTEXT, column_ids
from server.record_types.parts import DictionaryContext, Record, Writing
from server.record_types.shared.collections import listed, readable_pairs
from server.record_types.shared.expand_forms import CollectionForm, read_form
from server.record_types.shared.relation_tables import LINK
from server.record_types.traits.links import link, links_of, store_link
from server.store.transaction import Transaction
from server.translation import about_field, in_sentence, lazy_gettext

MAX_CARDS = 500  # in a column
ADDED, MOVED, REMOVED = "project_board.card.added", "project_board.card.moved", "project_board.card.removed"
FUNCTIONS_JOB = "board.functions"  # runs the functions of a column; see automation/card_functions.py
ORDER = "card_order"  # the column of the table with the order, as JSON


@dataclass(frozen=True, slots=True)
class Card:
    """A card: the context and id of its record."""

    context: str
    id: int

    @property
    def reference(self) -> str:
        return f"{self.context}:{self.id}"


def cards_in(tx: Transaction, column: Record) -> list[Card]:
    """Returns the cards of a column in their order, regardless of access; those without a place come last."""
    rows = tx.find(LINK, from_context=CONTEXT, from_id=column["id"])
    return in_order(column, [Card(context, id) for _, _, context, id in rows if context != WORKER])


def in_order(column: Record, cards: Iterable[Card]) -> list[Card]:
    """Sorts the cards of a column."""
    place = {reference: number for number, reference in enumerate(json.loads(column[ORDER]))}
    return sorted(cards, key=lambda card: (place.get(card.reference, len(place)), card.context, card.id))


def readable_cards(view: DictionaryContext, columns: Sequence[Record]) -> dict[int, list[Card]]:
    """Returns {column id: its cards} of the records that the caller may read, in order."""
    form = CollectionForm("", MAX_CARDS, "", True)
    pairs = _readable(view, list(columns), form)
    return {id: [Card(*pair) for pair in each] for id, each in pairs.items()}


def load_cards(view: DictionaryContext, records: list[Record], text: str) -> dict[int, dict[str, object]]:
    """`cards` of columns: [{_context, id}] in order; with a form as for links."""
    form = read_form(text)
    most = MAX_CARDS if form.plain else form.many
    pairs = _readable(view, records, CollectionForm(form.type, most, form.key, form.plain))
    return {id: {"cards": each} for id, each in listed(view, pairs, form).items()}


def _readable(view: DictionaryContext, columns: list[Record], form: CollectionForm) -> dict[int, list[tuple[str, int]]]:
    rows = [row for row in links_of(view.tx, view.type(COLUMN), columns) if row[1] != WORKER]
    ordered = []
    for column in columns:
        own = in_order(column, [Card(context, id) for owner, context, id in rows if owner == column["id"]])
        ordered += [(column["id"], card.context, card.id) for card in own]
    return readable_pairs(view, columns, ordered, form, form.many)


def require_card_type(writing: Writing, context: str, field: str) -> None:
    """Raises Invalid for records that cannot be cards: workers, and those that cannot be linked."""
    record_type = writing.registry.type(context)
    if context == WORKER or not record_type.can_be_linked:
        names = in_sentence(record_type.label_names[1])
        raise Invalid(about_field(field, lazy_gettext("{records} cannot be cards", records=names)), field=field)


def write_cards(writing: Writing, column_id: int, references: Sequence[tuple[bool, str, int]]) -> None:
    """Adds cards at the end, in this order, and removes others: [(whether to add, context, id)]. A card that the column
    has already moves to the end. Records that the caller may not read are not removed."""
    for adds, context, id in references:
        require_card_type(writing, context, "cards")
        if not adds and not writing.may_read(context, id):
            continue
        if not link(writing, CONTEXT, column_id, context, id, adds) and adds:
            place_card(writing, column_id, Card(context, id))


def enter_card(writing: Writing, column_id: int, card: Card, before: Card | None = None) -> None:
    """Places a card that a column has just been given, logs on the board that it was added or moved, and runs the
    functions of the column. Raises Conflict if the column is full."""
    former_ids = place_card(writing, column_id, card, before)
    column = writing.record(COLUMN, column_id)
    assert column is not None
    if former_ids:
        names = {"before": writing.label(COLUMN, former_ids[0]), "column": writing.label(COLUMN, column_id)}
        _log(writing, MOVED, column, card, names)
    else:
        _log(writing, ADDED, column, card, {"column": writing.label(COLUMN, column_id)})
    if column["functions_kata"]:
        values = {"column_id": column_id, "card_context": card.context, "card_id": card.id}
        writing.run_automations(FUNCTIONS_JOB, values)


def leave_column(writing: Writing, column_id: int, card: Card) -> None:
    """Removes a card that a column has just lost from its order, and logs it on the board."""
    drop_place(writing, column_id, card)
    column = writing.record(COLUMN, column_id)
    if column is not None:
        _log(writing, REMOVED, column, card, {"column": writing.label(COLUMN, column_id)})


def _log(writing: Writing, point: str, column: Record, card: Card, names: dict[str, str]) -> None:
    variables = {"target": writing.label(BOARD, column["board_id"]), "card": writing.label(card.context, card.id)}
    about = (card.context, card.id)
    writing.log(point, PROJECT_BOARD, column["board_id"], variables | names, about=about)


def place_card(writing: Writing, column_id: int, card: Card, before: Card | None = None) -> list[int]:
    """Stores the place of a card of a column: before another one, or the last. Removes it from the other columns of
    the board, and returns the ids of these. Raises Conflict if the column is full."""
    column = writing.record(COLUMN, column_id)
    assert column is not None
    order = _without(json.loads(column[ORDER]), card)
    if len(order) >= MAX_CARDS or before is not None:  # it may name records that were deleted, or lack new ones
        order = _without([each.reference for each in cards_in(writing.tx, column)], card)
    if len(order) >= MAX_CARDS:
        problem = lazy_gettext("the column {name} is full: it has {count} cards", name=column["name"], count=MAX_CARDS)
        raise Conflict(problem, field="cards")
    is_there = before is not None and before.reference in order
    order.insert(order.index(before.reference) if before is not None and is_there else len(order), card.reference)
    _store_order(writing, column_id, order)
    return _remove_elsewhere(writing, column, card)


def _remove_elsewhere(writing: Writing, column: Record, card: Card) -> list[int]:
    """Removes a card from the other columns of the board; returns the ids of these."""
    rows = writing.tx.find(LINK, from_context=card.context, from_id=card.id, to_context=CONTEXT)
    others = {row[3] for row in rows} - {column["id"]}
    if not others:
        return []
    former_ids = sorted(others & set(column_ids(writing.tx, column["board_id"], "")))
    for id in former_ids:
        store_link(writing, CONTEXT, id, card.context, card.id, False)
        drop_place(writing, id, card)
    return former_ids


def drop_place(writing: Writing, column_id: int, card: Card) -> None:
    """Removes a card from the order of a column that has lost it."""
    column = writing.record(COLUMN, column_id)
    if column is not None:
        _store_order(writing, column_id, _without(json.loads(column[ORDER]), card))


def _without(order: list[str], card: Card) -> list[str]:
    return [each for each in order if each != card.reference]


def _store_order(writing: Writing, column_id: int, order: list[str]) -> None:
    writing.set(COLUMN, column_id, {ORDER: json.dumps(order)})


def require_few(writing: Writing, column_ids: Sequence[int], most: int) -> None:
    """Raises Conflict if columns that are about to be deleted have more cards together, since deleting them would
    block other writes."""
    count = sum(len(writing.tx.find(LINK, from_context=CONTEXT, from_id=id)) for id in column_ids)
    if count > most:
        raise Conflict(lazy_gettext("more than {count} cards are on this board; delete its columns first", count=most))
