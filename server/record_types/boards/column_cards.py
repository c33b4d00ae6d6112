"""The cards of a column: the records that are linked to it, in an order that the column stores. A link to a
worker is no card: the worker watches the column."""

import json
from collections.abc import Iterable, Sequence

from server.contexts import WORKER
from server.dataclass import dataclass
from server.errors import Conflict, Invalid
from server.record_types.boards.board_columns import COLUMN, CONTEXT, column_ids
from server.record_types.parts import DictionaryContext, Record, Writing
from server.record_types.shared.collections import listed, readable_pairs
from server.record_types.shared.expand_forms import CollectionForm, read_form
from server.record_types.shared.relation_tables import LINK
from server.record_types.traits.links import link, links_of, store_link
from server.store.transaction import Transaction
from server.translation import about_field, in_sentence, lazy_gettext

MAX_CARDS = 500  # in a column
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


def place_card(writing: Writing, column_id: int, card: Card, before: Card | None = None) -> None:
    """Stores the place of a card of a column: before another one, or the last. Removes it from the other columns of
    the board. Raises Conflict if the column is full."""
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
    _remove_elsewhere(writing, column, card)


def _remove_elsewhere(writing: Writing, column: Record, card: Card) -> None:
    """Removes a card from the other columns of the board."""
    rows = writing.tx.find(LINK, from_context=card.context, from_id=card.id, to_context=CONTEXT)
    others = {row[3] for row in rows} - {column["id"]}
    if not others:
        return
    for id in others & set(column_ids(writing.tx, column["board_id"], "")):
        store_link(writing, CONTEXT, id, card.context, card.id, False)
        drop_place(writing, id, card)


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
