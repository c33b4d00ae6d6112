"""The selected records of a list."""

from collections.abc import Sequence
from typing import Any

from console.http.visit import Visit, own_path
from console.lists import lookup
from server.digits import id_in
from server.errors import Invalid
from server.records import records
from server.records.records import SearchRequest
from server.translation import _

MAX_SELECTED = 100  # records of one action
MAX_UNDO_BYTES = 48 * 1024  # size of the fields before an action
REFUSED_NAMED = 3  # refused records that a message names with the reason
UNDO = "/-/bulk/undo"


def selected_records(visit: Visit, uri: str, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The records of these ids that the worker may read, at most MAX_SELECTED. Raises Invalid for none."""
    valid_ids = [each for each in dict.fromkeys(ids) if id_in(each)][:MAX_SELECTED]
    search = SearchRequest(f"id:[{','.join(valid_ids)}]", MAX_SELECTED, 1, lookup.LABEL)
    rows: list[dict[str, Any]] = records.search(visit.ctx, uri, search)["results"] if valid_ids else []
    if not rows:
        raise Invalid(_("Select at least one record."), field="ids")
    return rows


def back_to_list(visit: Visit, *paths: str) -> str:
    """Where the page or the form says that one came from, when that is one of these lists; else the first of them."""
    sent = visit.form if visit.request.method == "POST" else visit.query
    back = own_path(sent.text("back", ""))
    return back if back.partition("?")[0] in paths else paths[0]
