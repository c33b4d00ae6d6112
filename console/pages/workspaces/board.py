"""Boards: the records of a search as cards in columns, one for each value of a field. Moving a card sets the field, as
the page that sets a field of several records does: with the rights of the worker, an entry in the log, and an undo."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from console.html import card_boards, ui
from console.html.card_boards import CardMove, ShownCard, ShownColumn
from console.html.templates import fragment
from console.http.visit import Visit
from console.lists.lookup import LABEL, found_at
from console.pages.record.set_field import PATH, settable_fields
from console.tickets import inbox
from server.dataclass import dataclass
from server.errors import Invalid, nearest
from server.record_types.record_type import RecordType
from server.record_types.shared import paths
from server.records import records
from server.records.records import SearchRequest
from server.search.query_texts import sorted_query
from server.translation import _, shown

MAX_CARDS = 100
MAX_COLUMNS = 12
STATUS, STATUS_FIELDS = "status_id", ("status", "status_id")
_ORDER = ("open", "waiting", "closed")  # order of the columns; tasks and tickets number statuses differently


@dataclass(frozen=True)
class BoardField:
    """The field of a board. name: as it is set. options: the values with their labels."""

    name: str
    options: Sequence[tuple[str, str]]


def field_named(visit: Visit, record_type: RecordType, name: str) -> BoardField:
    """The field with this name or label. Raises Invalid for one that has no list of values."""
    words = getattr(record_type.fields.get(STATUS), "words", ())
    if name in STATUS_FIELDS and words:
        numbers = {word: number for number, word in enumerate(words)}
        return BoardField(STATUS, [(str(numbers[word]), ui.capital(word)) for word in _ORDER if word in numbers])
    fields = [each for each in settable_fields(visit, record_type).values() if each.kind == "choice"]
    for each in fields:
        if name.casefold() in (each.name, *each.also, shown(each.label).casefold()):
            first = [("", shown(each.none or "") or _("None"))]
            options = [(value, shown(label)) for value, label in each.options if value]
            return BoardField(each.name, [*first, *options][:MAX_COLUMNS])
    known = [*(["status"] if words else []), *(shown(each.label) for each in fields)]
    text = _("{name} has no list of values{nearest}", name=f"'{name[:60]}'", nearest=nearest(name, known))
    raise Invalid(text, field="field")


def field_options(visit: Visit, record_type: RecordType) -> list[str]:
    """The names of the fields that a board of these records can have."""
    fields = [shown(each.label) for each in settable_fields(visit, record_type).values() if each.kind == "choice"]
    return [*(["status"] if getattr(record_type.fields.get(STATUS), "words", ()) else []), *fields]


def board(
    visit: Visit, widget: Mapping[str, Any], record_type: RecordType, query: str, name: str, seconds: float | None
) -> Markup:
    """The board of the first records that a search finds. seconds: its time limit. Raises Invalid, BadQuery,
    TimedOut."""
    field = field_named(visit, record_type, name)
    is_tickets = record_type.uri == inbox.URI
    query = sorted_query(inbox.SORT if is_tickets else "", "", query)
    owners = "owner_" if any(each.prefix == "owner" for each in record_type.nested) else ""
    expand = ",".join(filter(None, (LABEL, owners, "custom_" if field.name.startswith("custom_") else "")))
    found = records.search(visit.ctx, record_type.uri, SearchRequest(query, MAX_CARDS, 1, expand, seconds=seconds))
    columns: dict[str, list[ShownCard]] = {value: [] for value, _label in field.options}
    values = list(field.options)
    for row in found["results"][:MAX_CARDS]:
        value = str(row.get(field.name) if row.get(field.name) is not None else "")
        if value not in columns:
            continue
        place = next(number for number, each in enumerate(values) if each[0] == value)
        beside = [*(("←", *each) for each in values[:place][-1:]), *(("→", *each) for each in values[place + 1 :][:1])]
        label = str(row["subject"] if is_tickets else row[LABEL])
        owner = str(row.get("owner__label") or "") if row.get("owner_id") else ""
        columns[value].append(
            ShownCard(
                label,
                paths.ticket(row["mask"]) if is_tickets else paths.record(record_type.uri, row["id"]),
                [owner] if owner else [],
                [("ids[]", str(row["id"])), ("field", field.name), ("back", visit.shown_path)],
                [
                    CardMove(to, sign, _("Move {name} to {column}", name=label, column=column))
                    for sign, to, column in beside
                ],
            )
        )
    drawn = card_boards.board(
        visit,
        f"board{widget['id']}",
        str(widget["label"]),
        [ShownColumn(value, label, len(columns[value]), columns[value]) for value, label in field.options],
        action=PATH.format(type=record_type.uri) if records.may(visit.ctx, record_type.uri, "update") else "",
        field=field.name,
    )
    return Markup(
        fragment(
            "parts/board_widget.html",
            drawn=drawn,
            most=MAX_CARDS,
            total=found["total"],
            path=found_at(record_type.uri, query),
        )
    )
