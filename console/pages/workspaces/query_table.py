"""The result of a data query as a table, whatever its format: charts, numbers and tables are drawn from it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from console.http.visit import Visit
from console.lists import lookup, worklist_columns
from console.lists.lookup import LABEL
from server.dataclass import dataclass
from server.errors import BadDataQuery
from server.record_types.record_type import RecordType
from server.record_types.shared import paths
from server.translation import _

MAX_ROWS = 100
MAX_COLUMNS = 12
LARGEST = 1e15  # number that is drawn
_AXIS = "ts"  # the key of the axis in a time series
_SECONDS = "number_seconds"  # the type of columns that hold a duration


@dataclass(frozen=True)
class TableCell:
    """A value. number: None for a text. path: the list of the counted records, "" for none."""

    text: str
    number: float | None = None
    path: str = ""


@dataclass(frozen=True)
class TableColumn:
    """A column. is_number: whether it holds numbers. is_time: whether these are seconds."""

    label: str
    is_number: bool = False
    is_time: bool = False


@dataclass(frozen=True)
class QueryTable:
    """A table whose first column names its rows. has_more: whether rows were left out."""

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[TableCell]]
    has_more: bool = False

    @property
    def numbers(self) -> list[int]:
        """The places of the columns with numbers."""
        return [place for place, each in enumerate(self.columns) if each.is_number]

    @property
    def is_negative(self) -> bool:
        """Whether a number is below 0, which columns and bars cannot show."""
        return any(cell.number is not None and cell.number < 0 for row in self.rows for cell in row)


def table_of(visit: Visit, result: Mapping[str, Any]) -> QueryTable:
    """The result of `query_run.evaluate` as a table. Raises BadDataQuery for a result without rows, such as a map."""
    extra = result["_"]
    read = _READERS.get(extra["format"])
    if read is None:
        raise BadDataQuery(_("results in the format {format} are not drawn; choose another", format=extra["format"]))
    return read(_Result(visit, result["data"], extra))


def drawable(value: float) -> float:
    """A number that can be drawn. Raises BadDataQuery for a larger one, as formulas of `metric:` can compute."""
    if abs(value) > LARGEST:
        raise BadDataQuery(_("the query has numbers that are too large to be drawn"))
    return value


def points_of(result: Mapping[str, Any]) -> list[tuple[str, list[tuple[float, float]]]]:
    """The series of a scatter chart, each with its points. Raises BadDataQuery for another format."""
    if result["_"]["format"] != "scatterplot":
        raise BadDataQuery(_("a scatter chart needs format:scatterplot"))
    rows = result["data"]
    return [
        (
            str(upwards[0]),
            [(drawable(float(x)), drawable(float(y))) for x, y in zip(across[1:], upwards[1:], strict=True)][:MAX_ROWS],
        )
        for across, upwards in zip(rows[::2], rows[1::2], strict=True)
    ]


@dataclass(frozen=True)
class _Result:
    """The result of a data query. data: by its format. extra: the value of its key `_`."""

    visit: Visit
    data: Any
    extra: Mapping[str, Any]

    def path(self, context: object, query: object) -> str:
        """The list of the records that a query finds, "" for none."""
        record_type = self.type(context)
        if record_type is None or not record_type.offers("search") or not isinstance(query, str) or not query:
            return ""
        return lookup.found_at(record_type.uri, query)

    def type(self, context: object) -> RecordType | None:
        return self.visit.service.registry.find(str(context or ""))

    def cell(self, value: object, path: str = "") -> TableCell:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return TableCell("", drawable(value), path)
        return TableCell("" if value is None else str(value)[: worklist_columns.MAX_CELL_CHARS], None, path)


def _made(columns: Sequence[TableColumn], rows: Sequence[Sequence[TableCell]]) -> QueryTable:
    kept = [row[:MAX_COLUMNS] for row in rows[:MAX_ROWS]]
    return QueryTable(columns[:MAX_COLUMNS], kept, len(kept) < len(rows))


def _pie(result: _Result) -> QueryTable:
    series = result.extra.get("series") or {}
    rows = []
    for name, value in result.data:
        found = series.get(name) or {}
        path = result.path(found.get("context") or result.extra.get("context"), found.get("query"))
        rows.append([result.cell(name), result.cell(value, path)])
    return _made([TableColumn(_("Name")), TableColumn(_("Count"), is_number=True)], rows)


def _categories(result: _Result) -> QueryTable:
    names, *series = result.data
    links = result.extra.get("series") or {}
    context, is_stacked = result.extra.get("context"), result.extra.get("stacked")
    rows = []
    filled = min((len(each) for each in series), default=1)  # a total of no records has a name, and no number
    for place, name in enumerate(names[1:filled], 1):
        row = [result.cell(name)]
        for one in series:
            group, inner = (name, one[0]) if is_stacked else (one[0], name)
            found = (links.get(group) or {}).get(inner) or {}
            row.append(result.cell(one[place], result.path(context, found.get("query"))))
        rows.append(row)
    labels = [_("Count") if not is_stacked and one[0] == "hits" else str(one[0]) for one in series]
    return _made([TableColumn(_("Name")), *(TableColumn(each, is_number=True) for each in labels)], rows)


def _timeseries(result: _Result) -> QueryTable:
    """The newest rows."""
    axis: list[Any] = result.data.get(_AXIS, [])
    names = [each for each in result.data if each != _AXIS]
    links = result.extra.get("series") or {}
    rows = []
    for place, at in enumerate(axis):
        row = [result.cell(str(at))]
        for name in names:
            found = (links.get(name) or {}).get(at) or {}
            query = found.get("query") if isinstance(found, Mapping) else ""
            row.append(result.cell(result.data[name][place], result.path(result.extra.get("context"), query)))
        rows.append(row)
    columns = [TableColumn(_("Time")), *(TableColumn(each, is_number=True) for each in names)]
    return QueryTable(columns[:MAX_COLUMNS], [row[:MAX_COLUMNS] for row in rows[-MAX_ROWS:]], len(rows) > MAX_ROWS)


def _table(result: _Result) -> QueryTable:
    if isinstance(result.data, list):
        return _dictionaries(result)
    keys: dict[str, Mapping[str, Any]] = result.data["columns"]
    found = result.data["rows"]
    rows = []
    for row in found:
        kinds = row.get("_types") or {}
        cells = []
        for key in keys:
            options = (kinds.get(key) or {}).get("options") or {}
            is_linked = isinstance(options, Mapping)
            path = result.path(options.get("context"), options.get("query")) if is_linked else ""
            cells.append(result.cell(row.get(key), path))
        rows.append(cells)
    columns = [
        TableColumn(
            str(column.get("label") or key),
            is_number=any(row[place].number is not None for row in rows),
            is_time=column.get("type") == _SECONDS
            or any((row.get("_types") or {}).get(key, {}).get("type") == _SECONDS for row in found),
        )
        for place, (key, column) in enumerate(keys.items())
    ]
    return _made(columns, rows)


def _dictionaries(result: _Result) -> QueryTable:
    """Records with their labels, or the cells of subtotals."""
    found = list(result.data.values()) if isinstance(result.data, dict) else list(result.data)
    if found and LABEL in found[0]:
        return _records(result, found)
    keys = [key for key in found[0] if _is_shown(key, found[0])] if found else []

    def cell(row: Mapping[str, Any], key: str) -> TableCell:
        return result.cell(row.get(key), result.path(row.get(f"{key}_query_context"), row.get(f"{key}_query")))

    rows = [[cell(row, key) for key in keys] for row in found]
    columns = [
        TableColumn(key.replace("__label", "").replace("_label", ""), any(row[at].number is not None for row in rows))
        for at, key in enumerate(keys)
    ]
    return _made(columns, rows)


def _is_shown(key: str, row: Mapping[str, Any]) -> bool:
    """Whether a key of a dictionary is for people: not an id or a value with a label beside it, or a query."""
    if key.startswith("_") or key.endswith(("__context", "_query", "_query_context", "_func")):
        return False
    return f"{key}_label" not in row and f"{key.removesuffix('_id')}__label" not in row


def _records(result: _Result, found: Sequence[Mapping[str, Any]]) -> QueryTable:
    record_type = result.type(found[0].get("_context"))
    rows = []
    for row in found:
        path = paths.record(record_type.uri, row["id"]) if record_type is not None else ""
        rows.append([result.cell(str(row[LABEL]), path)])
    return _made([TableColumn(_("Name"))], rows)


def _tree(result: _Result) -> QueryTable:
    def leaves(nodes: Sequence[Mapping[str, Any]], before: tuple[str, ...]) -> Iterator[list[TableCell]]:
        for node in nodes:
            names = (*before, str(node["name"]))
            if node.get("children"):
                yield from leaves(node["children"], names)
            else:
                path = result.path(result.extra.get("context"), node.get("query"))
                yield [TableCell(" · ".join(names)), result.cell(node["hits"], path)]

    return _made(
        [TableColumn(_("Name")), TableColumn(_("Count"), is_number=True)], list(leaves(result.data["children"], ()))
    )


_READERS: dict[str, Callable[[_Result], QueryTable]] = {
    "pie": _pie,
    "categories": _categories,
    "timeseries": _timeseries,
    "table": _table,
    "dictionaries": _dictionaries,
    "tree": _tree,
}
