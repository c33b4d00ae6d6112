"""Project boards: their list, the page of a board with its columns and cards, and the form that builds one."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from console.forms.controls import Control, editor_of
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html import card_boards, ui
from console.html.card_boards import CardMove, ShownCard, ShownColumn, anchor_of
from console.html.form import Form
from console.html.rendering import render
from console.html.samples import Sample
from console.html.templates import fragment
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, worklist
from console.lists.link_types import linkable
from console.lists.list_moves import move_entry
from console.lists.worklist import Worklist, declare
from console.pages import board_cards
from console.pages.workspaces.interaction_pages import offers_html
from console.tickets import inbox
from server.automation.interactions import interaction_offers
from server.automation.interactions.interaction_offers import BOARD_SECONDS, BOARD_STEPS
from server.digits import id_in
from server.errors import HelpdeskError, Invalid, Required
from server.people import project_boards
from server.people.project_boards import BASE, COLUMNS, SHOWN, BoardColumn, path_of
from server.record_types.boards.board_columns import BOARD, CARD_ACTION, COLUMN, RENDER_CARD
from server.record_types.boards.column_cards import Card
from server.record_types.shared import paths
from server.records import records
from server.template import Budget
from server.tickets import masks
from server.translation import N_, _, shown

EDIT, EDIT_COLUMN = f"{BASE}/{{id}}/edit", f"{COLUMNS}/{{id}}/edit"
LIST = declare(
    Worklist(
        BOARD,
        BASE,
        N_("Boards"),
        ("_label", "updated_at"),
        sort="name",
        changes="worker",
        none=N_("No board matches."),
        empty=N_("No boards yet. A board has columns side by side, with tickets, tasks and other records as cards."),
        new=(f"{BASE}/new", N_("New board")),
        row=f"{SHOWN}/{{id}}",
    )
)
FORM_BYTES = 512 * 1024  # bytes of a form with texts in KATA
CARDS = Control(
    "cards_kata",
    N_("Automations that draw cards"),
    N_(
        "In KATA: entries such as automation/name:, with uri, inputs and disabled@bool below. The first automation "
        "that returns a sheet draws the card."
    ),
    "editor",
    attributes=editor_of("binding", RENDER_CARD),
)
FORM = RecordForm(BOARD, (Control("name", N_("Name"), ""), CARDS))
COLUMN_FORM = RecordForm(
    COLUMN,
    (
        Control("name", N_("Name"), ""),
        Control(
            "toolbar_kata",
            N_("Buttons above the cards"),
            N_(
                "In KATA: entries such as interaction/name:, with label, uri and inputs below, for automations that "
                "workers start."
            ),
            "editor",
            attributes=editor_of("toolbar", interaction_offers.TRIGGER),
        ),
        replace(CARDS, hint=N_("In KATA. They come before those of the board.")),
        Control(
            "functions_kata",
            N_("Automations that run when a card comes here"),
            N_("In KATA. They run one after the other, with the rights of whoever adds or moves the card."),
            "editor",
            attributes=editor_of("binding", CARD_ACTION),
        ),
    ),
)


@page("GET", BASE)
def show_list(visit: Visit) -> PageResponse:
    """The boards."""
    return worklist.page(visit, LIST)


@page("GET", f"{SHOWN}/{{id}}")
def show(visit: Visit) -> PageResponse:
    """A board. Raises NotFound, Forbidden."""
    return _page(visit, visit.id)


def _page(visit: Visit, id: int) -> PageResponse:
    board = records.retrieve(visit.ctx, BOARD, id)
    columns = project_boards.columns_of(visit.ctx, board)
    may_move = records.may(visit.ctx, COLUMN, "update", columns[0].id) if columns else False
    return render(
        visit,
        "board.html",
        board=board,
        columns=columns,
        drawn=card_boards.board(
            visit,
            "column",
            str(board["name"]),
            _drawn(visit, columns, id, may_move),
            action=f"{SHOWN}/{id}/move" if may_move else "",
            field="to",
            level=2,
            drawing=board_cards.path_of_drawing(board, columns),
        ),
        may_edit=records.may(visit.ctx, BOARD, "update", id),
        sample=Sample("GET", f"/rest/records/{COLUMN}/search.json", [("q", f"board.id:{id}"), ("expand", "cards")]),
    )


def _drawn(visit: Visit, columns: Sequence[BoardColumn], board_id: int, may_move: bool) -> list[ShownColumn]:
    colors = inbox.named_status_colors(visit) if columns else {}
    types = linkable(visit) if may_move else []
    drawn = []
    budget = Budget(BOARD_STEPS, ends_at=time.monotonic() + BOARD_SECONDS)
    for place, column in enumerate(columns):
        beside = (columns[place - 1] if place else None, columns[place + 1] if place + 1 < len(columns) else None)
        references = [_reference(visit, card) for card, _row in column.rows]
        cards = [
            _card(visit, row, references, number, column, beside, colors)
            for number, (_own, row) in enumerate(column.rows)
        ]
        foot = fragment("parts/board_add.html", visit=visit, column=column, board_id=board_id, types=types, form=Form())
        head = _toolbar(visit, column, budget)
        drawn.append(ShownColumn(str(column.id), column.name, column.total, cards, foot if may_move else "", head))
    return drawn


def _toolbar(visit: Visit, column: BoardColumn, budget: Budget) -> Markup:
    """The interactions of a column that the worker can start, or why they cannot be shown."""
    place = interaction_offers.column_place(column.record)
    if not place.text.strip():
        return Markup()
    records.require_thread(visit.ctx)  # its templates may take a while
    try:
        return offers_html(visit, place, "parts/board_toolbar.html", budget)
    except HelpdeskError as error:
        return Markup('<p class="wrong" dir="auto">{}</p>').format(ui.sentence(error.message))


def _card(
    visit: Visit,
    row: Mapping[str, Any],
    references: Sequence[str],
    place: int,
    column: BoardColumn,
    beside: tuple[BoardColumn | None, BoardColumn | None],
    colors: Mapping[int, str],
) -> ShownCard:
    """Returns a card with its buttons. references: those of all cards in its column. place: its index among them.
    beside: the columns before and after."""
    ref = references[place]
    uri = ref.partition(":")[0]
    is_ticket = uri == inbox.URI
    name = str(row["subject"] if is_ticket else row[lookup.LABEL])
    moves = [
        CardMove(str(each.id), sign, _("Move {name} to {column}", name=name, column=each.name), side)
        for each, sign, side in zip(beside, "←→", ("before", "after"), strict=True)
        if each is not None
    ]
    if place:
        above = f"{column.id},{references[place - 1]}"
        moves.append(CardMove(above, "↑", _("Move {name} up", name=name), "up"))
    if place + 1 < len(references):
        follower = references[place + 2 : place + 3]
        below = ",".join([str(column.id), *follower])
        moves.append(CardMove(below, "↓", _("Move {name} down", name=name), "down"))
    moves.append(CardMove("0", "×", _("Remove {name} from the board", name=name), "remove"))
    path = paths.ticket(row["mask"]) if is_ticket else paths.record(uri, row["id"])
    fields = [("card", ref), ("from", str(column.id))]
    return ShownCard(name, path, _details(visit, uri, row, colors), fields, moves, ref)


def _details(visit: Visit, uri: str, row: Mapping[str, Any], colors: Mapping[int, str]) -> list[str]:
    """The customer, the status and the owner of a record, as far as it has them; its type unless it is a ticket."""
    details: list[str] = []
    if uri == inbox.URI:
        requesters = list((row.get("requesters") or {}).values())
        details += [str(each.get("name") or each["email"]) for each in requesters[:1]]
        details.append(inbox.status_badge(row, colors))
    else:
        details.append(shown(visit.service.registry.type(uri).label_names[0]))
        if isinstance(row.get("status"), str) and row["status"]:
            details.append(_(row["status"]))
    if row.get("owner_id") and row.get("owner__label"):
        details.append(str(row["owner__label"]))
    return details


def _reference(visit: Visit, card: Card) -> str:
    """A card as its form names it: the name of its type and its id."""
    return f"{visit.service.registry.type(card.context).uri}:{card.id}"


# -- cards -----------------------------------------------------------------------------------------------------------


@page("POST", f"{SHOWN}/{{id}}/move")
def move(visit: Visit) -> PageResponse:
    """Moves a card to the place `to`: a column, or a column and the card that follows, with a comma between; 0 removes
    it. `from` is its column, 0 for a new card. Raises NotFound, Invalid."""
    form = visit.form
    card, source_id = _sent_card(visit, form.text("card", "")), form.integer("from", 0, 0, 2**62)
    to, _comma, following = form.text("to", "").partition(",")
    target_id = id_in(to) or 0
    if to != "0" and not target_id:
        raise Invalid(_("to: the ID of a column is missing"), field="to")
    before = _sent_card(visit, following) if following else None
    try:
        follower = project_boards.move_card(visit.ctx, card, source_id, target_id, before)
    except HelpdeskError as error:
        visit.flash(ui.sentence(error.message))
        return see(path_of(visit.id))
    back = f"{source_id},{_reference(visit, follower)}" if follower is not None else str(source_id)
    _flash_moved(visit, visit.id, card, source_id=source_id, target_id=target_id, back=back)
    return see(_path_of_card(visit, visit.id, card))


@page("POST", f"{SHOWN}/{{id}}/add")
def add(visit: Visit) -> PageResponse:
    """Adds a record to a column as a card: by its type and its name or ID; a ticket also by its mask."""
    form = visit.form
    column_id = form.integer("column", 0, 0, 2**62)
    try:
        card = _chosen_card(visit)
        project_boards.move_card(visit.ctx, card, 0, column_id)
    except HelpdeskError as error:
        visit.flash(ui.sentence(error.message))
        return see(path_of(visit.id))
    _flash_moved(visit, visit.id, card, source_id=0, target_id=column_id, back="0")
    return see(_path_of_card(visit, visit.id, card))


def _chosen_card(visit: Visit) -> Card:
    """The record that the form names. Raises Required, Invalid, NotFound."""
    record_type = visit.service.registry.type(visit.form.text("type", ""))
    text = visit.form.text("record", "").strip()
    id = masks.ticket_id(visit.ctx, text.strip("#[] ")) if record_type.uri == inbox.URI else None
    id = id or lookup.chosen_id(visit, record_type.uri, text.strip("#[]"), "record")
    if not id:
        raise Required(_("record: enter the name or ID of a record"), field="record")
    return Card(record_type.context, id)


def _sent_card(visit: Visit, text: str) -> Card:
    """Parses a card of a form. Raises Invalid, NotFound."""
    name, _colon, number = text.partition(":")
    id = id_in(number)
    if id is None:
        raise Invalid(_("card: write <type>:<id>"), field="card")
    return Card(visit.service.registry.type(name).context, id)


def _flash_moved(visit: Visit, board_id: int, card: Card, *, source_id: int, target_id: int, back: str) -> None:
    """Shows what was done to a card, with an undo. back: its former place, as the form sends it."""
    uri = visit.service.registry.type(card.context).uri
    name = records.retrieve(visit.ctx, uri, card.id, lookup.LABEL)[lookup.LABEL]
    column = records.retrieve(visit.ctx, COLUMN, target_id)["name"] if target_id else ""
    if not target_id:
        text = _("{name} removed from the board.", name=name)
    elif not source_id:
        text = _("{name} added to {column}.", name=name, column=column)
    else:
        text = _("{name} moved to {column}.", name=name, column=column)
    undo = {"card": _reference(visit, card), "from": str(target_id), "to": back}
    visit.flash(text, f"{SHOWN}/{board_id}/move", **undo)


def _path_of_card(visit: Visit, board_id: int, card: Card) -> str:
    return f"{path_of(board_id)}#{anchor_of(_reference(visit, card))}"


# -- building --------------------------------------------------------------------------------------------------------


def _instead(visit: Visit) -> PageResponse | None:
    """The board, for workers who may not change it."""
    if not visit.record_id or visit.is_post or records.may(visit.ctx, BOARD, "update", visit.record_id):
        return None
    records.retrieve(visit.ctx, BOARD, visit.record_id)
    return see(path_of(visit.record_id))


def _fill(visit: Visit, fields: OpenForm) -> OpenForm:
    if not fields.id:
        records.require(visit.ctx, BOARD, "create")
    return fields


def _form(visit: Visit, fields: OpenForm, column: Form | None = None) -> PageResponse:
    """The form of a board. column: the submitted form of a new column."""
    board = records.retrieve(visit.ctx, BOARD, fields.id) if fields.id else None
    return fields.render(
        "board_form.html",
        422 if column is not None else 200,
        columns=project_boards.columns_of(visit.ctx, board) if board is not None else [],
        new_column=column or Form(),
        may_delete=bool(fields.id) and records.may(visit.ctx, BOARD, "delete", fields.id),
        may_create=records.may(visit.ctx, COLUMN, "create"),
        may_delete_columns=records.may(visit.ctx, COLUMN, "delete"),
    )


def _after_create(visit: Visit, fields: OpenForm, board: dict[str, Any]) -> PageResponse:
    visit.flash(_("{name} created. Add its columns.", name=board[lookup.LABEL]))
    return see(f"{BASE}/{board['id']}/edit")


def _leave(visit: Visit, board: dict[str, Any]) -> str:
    return BASE if visit.path.endswith("/delete") else path_of(board["id"])


PAGES = declare_pages(
    RecordPages(
        BASE,
        FORM,
        _form,
        access="worker",
        form_bytes=FORM_BYTES,
        one=EDIT,
        instead=_instead,
        fill=_fill,
        after_create=_after_create,
        leave=_leave,
        deleted=N_("{name} deleted. The records of its cards stay."),
    )
)


def _column_instead(visit: Visit) -> PageResponse | None:
    """The board, for workers who may not change its columns."""
    if visit.is_post or records.may(visit.ctx, COLUMN, "update", visit.id):
        return None
    return see(path_of(records.retrieve(visit.ctx, COLUMN, visit.id)["board_id"]))


def _column_form(visit: Visit, fields: OpenForm) -> PageResponse:
    return fields.render("board_column_form.html", board=records.retrieve(visit.ctx, BOARD, fields.stored["board_id"]))


declare_pages(
    RecordPages(
        COLUMNS,
        COLUMN_FORM,
        _column_form,
        access="worker",
        form_bytes=FORM_BYTES,
        one=EDIT_COLUMN,
        instead=_column_instead,
        leave=lambda visit, column: path_of(column["board_id"]),
        deleted="",
        has_new=False,
    )
)


@page("POST", f"{BASE}/{{id}}/columns", creates=True)
def create_column(visit: Visit) -> PageResponse:
    """Adds a column at the end of a board. Raises NotFound, Forbidden."""
    form = Form.sent(visit.form, ("name",))
    try:
        column = records.create(visit.ctx, COLUMN, {"name": form.text("name"), "board_id": str(visit.id)})
    except Invalid as error:
        return _form(visit, PAGES.open(visit, visit.id), form.refuse(error))
    visit.flash(_("{name} added.", name=column["name"]))
    return see(f"{BASE}/{visit.id}/edit#new-column")


@page("POST", f"{COLUMNS}/{{id}}/rename")
def rename_column(visit: Visit) -> PageResponse:
    """Renames a column, with an undo. Raises NotFound, Forbidden."""
    column = records.retrieve(visit.ctx, COLUMN, visit.id)
    try:
        now = records.update(visit.ctx, COLUMN, visit.id, {"name": visit.form.text("name", "")})
    except Invalid as error:
        visit.flash(ui.sentence(error.message))
    else:
        visit.flash(_("Renamed to {name}.", name=now["name"]), visit.path, name=str(column["name"]))
    return see(f"{BASE}/{column['board_id']}/edit")


@page("POST", f"{COLUMNS}/{{id}}/move")
def move_column(visit: Visit) -> PageResponse:
    """Moves a column by one place, or by as many as it was dragged. Raises NotFound, Forbidden."""
    column = records.retrieve(visit.ctx, COLUMN, visit.id)
    move_entry(visit, str(column["name"]), lambda by: project_boards.move_column(visit.ctx, visit.id, by))
    return see(f"{BASE}/{column['board_id']}/edit")


@page("POST", f"{COLUMNS}/{{id}}/delete")
def delete_column(visit: Visit) -> PageResponse:
    """Deletes a column; the records of its cards stay. Raises NotFound, Forbidden."""
    column = records.retrieve(visit.ctx, COLUMN, visit.id)
    records.delete(visit.ctx, COLUMN, visit.id)
    visit.flash(_("{name} deleted.", name=column["name"]))
    return see(f"{BASE}/{column['board_id']}/edit")
