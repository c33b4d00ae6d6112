"""The selected records of a list."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from console.http.visit import Visit, own_path
from console.lists import lookup
from server.digits import id_in
from server.errors import HelpdeskError, Invalid
from server.records import records
from server.records.records import SearchRequest
from server.translation import _, shown

MAX_SELECTED = 100  # records of one action
MAX_UNDO_BYTES = 48 * 1024  # size of the fields before an action
REFUSED_NAMED = 3  # refused records that a message names with the reason
UNDO = "/-/bulk/undo"

Item = TypeVar("Item")
Result = TypeVar("Result")


def selected_records(visit: Visit, uri: str) -> list[dict[str, Any]]:
    """The records of the submitted form, or else of the address, that the worker may read, at most MAX_SELECTED. Raises
    Invalid for none."""
    ids = visit.form.text_list("ids") if visit.is_post else visit.query.text("ids", "").split(",")
    valid_ids = [each for each in dict.fromkeys(ids) if id_in(each)][:MAX_SELECTED]
    search = SearchRequest(f"id:[{','.join(valid_ids)}]", MAX_SELECTED, 1, lookup.LABEL)
    rows: list[dict[str, Any]] = records.search(visit.ctx, uri, search)["results"] if valid_ids else []
    if not rows:
        raise Invalid(_("Select at least one record."), field="ids")
    return rows


def for_each(
    items: Iterable[Item], act: Callable[[Item], Result], name: Callable[[Item], object] = str
) -> tuple[list[tuple[Item, Result]], list[str]]:
    """Acts on each item by itself. Returns the items that allowed it with their results, and for the others `name:
    reason`."""
    done: list[tuple[Item, Result]] = []
    refused: list[str] = []
    for each in items:
        try:
            done.append((each, act(each)))
        except HelpdeskError as error:
            refused.append(f"{name(each)}: {shown(error.message)}")
    return done, refused


def refusals(reasons: Sequence[str]) -> list[str]:
    """The sentence about items that refused an action, if any did."""
    return [_("Refused: {reasons}", reasons="; ".join(reasons[:REFUSED_NAMED]))] if reasons else []


def flash_undoable(
    visit: Visit, sentences: Iterable[str], undo: str, before: Mapping[int, Any], **fields: str | list[str]
) -> None:
    """Flashes what was done, with an undo that restores the former values of each record, unless they are too large.
    undo, fields: as for Visit.flash."""
    text, values = " ".join(sentences), json.dumps(before)
    if before and len(values) <= MAX_UNDO_BYTES:
        visit.flash(text, undo, before=values, **fields)
    else:
        visit.flash(text)


def former_values(visit: Visit, most: int = MAX_SELECTED) -> dict[int, Any]:
    """The former values of records by id, as an undo sends them. Raises Invalid."""
    before = visit.form.json("before", {}, most=MAX_UNDO_BYTES)
    pairs = before.items() if isinstance(before, dict) else ()
    return dict([(int(id), values) for id, values in pairs if id_in(str(id))][:most])


def back_to_list(visit: Visit, *paths: str) -> str:
    """Where the page or the form says that one came from, when that is one of these lists; else the first of them."""
    back = own_path((visit.form if visit.is_post else visit.query).text("back", ""))
    return back if back.partition("?")[0] in paths else paths[0]
