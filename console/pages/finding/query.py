"""Requests that scripts send while somebody types into the search of a list."""

from dataclasses import asdict

from console.http.page_response import PageResponse, json_response
from console.http.routes import page
from console.http.visit import Visit
from server.errors import NotOffered
from server.records.search_help.chips import Chip
from server.records.search_help.mistakes import QueryMistake
from server.records.search_help.options import QueryOption
from server.records.search_help.query_help import QueryHelp
from server.search.query_parser import MAX_QUERY_CHARS
from server.translation import _

BASE = "/-/query"


@page("GET", f"{BASE}/{{type}}")
def help_while_typing(visit: Visit) -> PageResponse:
    """For the text `q` with the caret behind `at` characters: {options: [{label, note, insert, start, end}],
    takes_first, mistake: {message, start, end, instead} or null, chips: [{text, words, start, end, without}]}.

    Positions count characters of `q` from 0. Of a text that is too long nothing is told but that. Raises NotFound,
    NotOffered."""
    record_type = visit.service.registry.type(visit.arguments["type"])
    if not record_type.operations["search"]:
        raise NotOffered(_("{type} cannot be searched.", type=record_type.label_names[1]))
    q = visit.query.text("q", "")
    at = visit.query.integer("at", min(len(q), MAX_QUERY_CHARS), 0, MAX_QUERY_CHARS)
    helping = QueryHelp(visit.ctx, record_type)
    if len(q) > MAX_QUERY_CHARS:
        return _answer([], False, helping.mistake(q), [])
    typed = helping.typed(q, at)
    offer = helping.offer(typed)
    mistake = helping.mistake_while_typing(q, at, typed, offer.options)
    return _answer(offer.options, offer.takes_first and bool(typed.text), mistake, helping.chips(q))


def _answer(
    options: list[QueryOption], takes_first: bool, mistake: QueryMistake | None, chips: list[Chip]
) -> PageResponse:
    return json_response(
        {
            "options": [asdict(each) for each in options],
            "takes_first": takes_first,
            "mistake": asdict(mistake) if mistake is not None else None,
            "chips": [asdict(each) for each in chips],
        }
    )
