"""The cards of a project board as automations draw them. The page of the board shows plain cards first, and fetches
these in a few requests, each with a time limit, so that no automation delays the page."""

from collections.abc import Mapping
from typing import Any

from console.html.form import sentence
from console.html.templates import fragment
from console.http.page_response import PageResponse, json_response
from console.http.routes import page
from console.http.visit import Visit
from console.pages.workspaces import record_widgets
from server.automation.card_drawing import CardPainter, CardSheet
from server.errors import HelpdeskError
from server.kata.annotations import as_bool
from server.people import project_boards
from server.people.project_boards import SHOWN
from server.record_types.boards.board_columns import BOARD
from server.records import records

DRAWING = f"{SHOWN}/{{id}}/cards"
SECONDS = 2.0  # time limit of a request
MAX_PARTS = 12  # requests of one page
MAX_FAILED = 3  # cards of a column in a request, after which its other cards stay plain


@page("GET", DRAWING)
def show_cards(visit: Visit) -> PageResponse:
    """Drawn cards from the index `from` on, as many as the time allows: {cards: [{ref, title, html}], problems:
    {column id: [message]}, next: the path of the next request, "" after the last one}. Raises NotFound, Forbidden."""
    painter = CardPainter(visit.ctx, SECONDS)
    board = records.retrieve(visit.ctx, BOARD, visit.id)
    cards = project_boards.shown_cards(visit.ctx, board)
    first, part = visit.query.integer("from", 0, 0, len(cards)), visit.query.integer("part", 1, 1, MAX_PARTS)
    drawn, problems, failed = [], dict[int, dict[str, None]](), dict[int, int]()
    place = first
    for column, card in cards[first:]:
        if place > first and painter.is_spent:
            break
        place += 1
        if failed.get(column["id"], 0) >= MAX_FAILED or not (column["cards_kata"] or board["cards_kata"]):
            continue
        try:
            sheet = painter.sheet(board, column, card)
            if sheet is not None:
                ref = f"{visit.service.registry.type(card.context).uri}:{card.id}"
                drawn.append({"ref": ref} | _parts(visit, sheet))
        except HelpdeskError as error:
            if painter.is_spent and place > first + 1:  # the request ran out of time, not the card
                place -= 1
                break
            failed[column["id"]] = failed.get(column["id"], 0) + 1
            problems.setdefault(column["id"], {})[sentence(error.message)] = None
    following = f"?from={place}&part={part + 1}" if place < len(cards) and part < MAX_PARTS else ""
    return json_response(
        {
            "cards": drawn,
            "problems": {str(id): list(messages) for id, messages in problems.items()},
            "next": following and DRAWING.replace("{id}", str(visit.id)) + following,
        }
    )


def _parts(visit: Visit, sheet: CardSheet) -> dict[str, str]:
    """The title of a card, "" for the usual one, and the HTML below it."""
    title_key = str(sheet.layout.get("title_column") or "")
    has_headings = as_bool(sheet.layout.get("headings", True))
    title, cells = "", []
    for each in record_widgets.sheet_columns(sheet.columns):
        text, path = record_widgets.sheet_cell(visit, each, sheet.row)
        if each.key == title_key:
            title = text
        elif text.strip():
            cells.append((each.label if has_headings else "", {"text": text, "path": path}))
    return {"title": title, "html": fragment("parts/board_card.html", cells=cells)}


def path_of_drawing(board: Mapping[str, Any], columns: list[project_boards.BoardColumn]) -> str:
    """The path that returns the drawn cards of a board, "" if no automation draws any."""
    draws = board["cards_kata"] or any(each.record["cards_kata"] for each in columns)
    return DRAWING.replace("{id}", str(board["id"])) if draws and any(each.rows for each in columns) else ""
