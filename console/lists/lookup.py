"""What pages with lists of records share: searching, choosing, one record."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from console.html import templates, ui
from console.html.ui import PAGE_ROWS, ChooserOptions, Option
from console.http.visit import Visit
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import Invalid, NotFound
from server.record_types.shared.paths import found_at as found_at
from server.records import records
from server.records.records import LABEL, SearchRequest
from server.translation import N_, Words, _, in_sentence

MAX_CHOICES = 500  # choices of a list
PLACE = "place"  # of tickets: their buckets, with the group
MAX_LISTED_CHOICES = 60  # choices in the page; with more, the server searches
EMPTY_PAGE: dict[str, Any] = {"results": [], "total": 0, "page": 1}

Row = TypeVar("Row")

_NUMBERED = re.compile(r"(?:^|#)([0-9]{1,18})\s*\Z")  # the id in the text of a chooser


def requested_page(visit: Visit, read: Callable[[int, int], dict[str, Any]], limit: int) -> dict[str, Any]:
    """Reads the page of results that the address requests, the last page if rows were deleted in the meantime. read:
    called with the limit and the number of the page."""
    page = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    results = read(limit, page)
    if results["total"] and not results["results"] and page > 1:
        return read(limit, -(-results["total"] // limit))
    return results


def part(visit: Visit, rows: Sequence[Row], name: str = "page") -> tuple[list[Row], int]:
    """The rows of the page that the address asks for, of a list that is small enough to be read whole, and which page
    it is, from 1; the last one for one that is too far. name: of the parameter that asks."""
    page = visit.query.integer(name, 1, 1, max(1, -(-len(rows) // PAGE_ROWS)))
    return list(rows[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]), page


def search(visit: Visit, uri: str, q: str = "", expand: str = "") -> list[dict[str, Any]]:
    """All that a search finds, at most MAX_CHOICES."""
    results: list[dict[str, Any]] = records.search(visit.ctx, uri, SearchRequest(q, MAX_CHOICES, expand=expand))[
        "results"
    ]
    return results


def choices(visit: Visit, uri: str, q: str = "") -> list[Option]:
    """Records to choose from, as id and label."""
    return options(visit, search(visit, uri, q, LABEL))


def choosable(visit: Visit, uri: str, q: str = "", chosen: str = "") -> ChooserOptions:
    """The options of ui.chooser. chosen: the submitted value: an id, or typed text; "0" means none."""
    chosen = "" if chosen == "0" else chosen
    page = records.search(visit.ctx, uri, SearchRequest(q, MAX_LISTED_CHOICES, expand=LABEL))
    choices = options(visit, page["results"])
    is_all = page["total"] <= len(choices)
    if chosen in dict(choices) and is_all:
        return ChooserOptions(uri, choices, chosen)
    # What is chosen may fit no more: it is shown anyway, or the form would choose something else by itself.
    present = options(visit, search(visit, uri, f"id:{chosen}", LABEL)) if is_whole(chosen) else []
    if is_all:
        return ChooserOptions(uri, choices + present, chosen)
    return ChooserOptions(uri, None, numbered(*present[0]) if present else chosen)


def numbered(id: str, label: str) -> str:
    """A record as an option of a chooser: `Mara Lindqvist #12`."""
    return f"{label} #{id}"


def chosen_label(found: ChooserOptions) -> str:
    """The label of the chosen record, the submitted value if there is none."""
    if found.options is not None:
        return next((text for value, text in found.options if value == found.shown), found.shown)
    return _NUMBERED.sub("", found.shown).strip() or found.shown


@dataclass(frozen=True)
class RecordChoices:
    """The records that a field accepts. options: returns the choices of a page, from the id of the present one. chosen:
    returns the id that a submitted text names. none: the label of no record, whose value is 0."""

    options: Callable[[Visit, str], ChooserOptions]
    chosen: Callable[[Visit, str], int]
    none: Words = ""


WORKERS = RecordChoices(
    lambda visit, chosen: choosable(visit, "worker", "isDisabled:no", chosen),
    lambda visit, text: chosen_id(visit, "worker", text, "value"),
    N_("Nobody"),
)


def options(visit: Visit, rows: list[dict[str, Any]]) -> list[Option]:
    """Records that a search found, as id and label; they must hold their LABEL."""
    return [(str(each["id"]), choice(visit, each)) for each in rows]


def choice(visit: Visit, record: dict[str, Any]) -> str:
    """A record as it is called where one is chosen: its label, and of a worker whether they are away."""
    return f"{record[LABEL]} ({away(visit, record)})" if record.get("is_away") else str(record[LABEL])


def away(visit: Visit, worker: Mapping[str, Any]) -> str:
    """Until when a worker is away who is."""
    until = int(worker["away_until"])
    return _("away until {time}", time=ui.moment(visit, until)) if until else _("away until further notice")


templates.GLOBALS["away"] = away


def chosen_id(visit: Visit, uri: str, text: str, field: str = "", named: Sequence[Option] | None = None) -> int:
    """The id that a chooser was sent: `Mara Lindqvist #12`, `12`, or a name that one record alone has; 0 for nothing.

    Raises Invalid for a name of none or of several. field: of the form, for the error. named: the records that the text
    may name, None for those that a search for it finds."""
    text = text.strip()
    if not text or text == "0":
        return 0
    number = _NUMBERED.search(text)
    if number:
        return int(number[1])
    if named is None:
        page = records.search_names(visit.ctx, uri, text, MAX_LISTED_CHOICES)
        named = [(str(each["id"]), str(each[LABEL])) for each in page["results"]]
    exact = [id for id, label in named if label.lower() == text.lower()]
    if len(exact) == 1:
        return int(exact[0])
    if exact:
        raise Invalid(_("several records have that name; choose from the list, or enter the ID"), field=field)
    raise Invalid(_("no record has exactly that name; choose from the list, or enter the ID"), field=field)


def record(visit: Visit, uri: str, id: int) -> dict[str, Any]:
    """The stored values of a record. Raises AdminOnly, NotFound."""
    rows = records.stored(visit.ctx, uri, [id])
    if not rows:
        name = in_sentence(visit.service.registry.type(uri).label_names[0])
        raise NotFound(_("{name} {id} no longer exists.", name=name, id=id))
    return rows[0]


def remove(visit: Visit, uri: str) -> dict[str, Any]:
    """Deletes the record in the path of a page, and returns its stored values. Raises NotFound, and the error of the
    deletion."""
    row = record(visit, uri, visit.id)
    records.delete(visit.ctx, uri, visit.id)
    return row
