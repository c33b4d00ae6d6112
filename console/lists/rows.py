"""Where the rows of a list come from that are no records, such as tokens and mail that has not left."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from console.html.ui import Option, Sample
from console.http.visit import Visit
from server.dataclass import dataclass
from server.digits import id_in
from server.errors import NotFound
from server.translation import Words, _

Row = Mapping[str, Any]


@dataclass(frozen=True)
class RowFilter:
    """A filter of a list. name: of its parameter. options: its values, beginning with "" for all. uri: in place of
    options, the record type of which one record is chosen."""

    name: str
    label: Words
    options: Callable[[Visit], Sequence[Option]] | None = None
    uri: str = ""


@dataclass(frozen=True)
class RowQuery:
    """A request for rows. filters: {name: value}, "" for all; of a filter with a type the id. sort: the sort
    key of a column, with "-" before it for the other direction. limit: rows of a page. page: from 1."""

    filters: Mapping[str, str]
    sort: str
    limit: int
    page: int


@dataclass(frozen=True)
class RowPage:
    """A page of rows, and how many there are on all pages. Each row has an `id`, and a `_label` to be read out."""

    rows: Sequence[Row]
    total: int


@dataclass(frozen=True)
class RowSource:
    """rows: reads a page; it asks for the rights itself, and may be asked for a page that is too far. sample: the
    request of the API that reads the same, None for none."""

    rows: Callable[[Visit, RowQuery], RowPage]
    filters: tuple[RowFilter, ...] = ()
    sample: Sample | None = None


def id_of(key: str) -> int:
    """The numeric id of a selected row. Raises NotFound if the text is not an id."""
    id = id_in(key)
    if id is None:
        raise NotFound(_("There is no such entry."))
    return id


def of_all(rows: Sequence[Row], query: RowQuery) -> RowPage:
    """The page of a list that is small enough to be read whole, sorted by the key of the query. Rows that are the
    same there stay in the order that they came in."""
    if query.sort:
        name = query.sort.removeprefix("-")
        rows = sorted(rows, key=itemgetter(name), reverse=query.sort.startswith("-"))
    first = (query.page - 1) * query.limit
    return RowPage(rows[first : first + query.limit], len(rows))
