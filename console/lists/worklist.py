"""Lists of records: how a page declares its list, and the view of it in one request.

A page declares a Worklist; everything else comes from the registry: further columns, sort keys, the format of values.
The state of a list is in its address: `q`, `sort`, `page`, `limit`, `columns`, `by`. The same table shows rows that are
not records: see row_view.py."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any
from urllib.parse import urlencode

from console.html import ui
from console.html.confirmation import Confirmation
from console.html.rendering import render
from console.html.ui import Option, Sample
from console.http.page_response import INVALID, PageResponse
from console.http.routes import Access
from console.http.visit import Visit
from console.lists import exports, lookup, worklist_columns
from console.lists.lookup import RecordChoices
from console.lists.rows import Row, RowSource
from console.lists.selection import for_each
from console.lists.worklist_columns import ListColumn
from server import times
from server.context import Context
from server.dataclass import dataclass
from server.errors import BadQuery, HelpdeskError, Invalid, nearest
from server.people import list_columns, saved_searches
from server.people.saved_searches import SavedSearchLink
from server.record_types.record_type import RecordType
from server.records import records
from server.records.data_exports import log_export
from server.records.records import SearchRequest
from server.records.search_help.chips import Chip
from server.records.search_help.mistakes import QueryMistake
from server.records.search_help.query_help import QueryHelp
from server.search.query_texts import narrowed_query, sorted_query
from server.tickets import following
from server.translation import N_, Words, _, about_field, lazy_gettext, ngettext, shown, shown_mark

PAGE_SIZES = (25, 50, 100)
MAX_SUBTOTAL_ROWS = 12  # values of a subtotal above a list, those with most hits
MAX_EXPORTED = 10_000  # records of one file
PART = 500  # records of an export that are read at once
MAX_MATCHING = 400  # records of one action on everything that a list finds
MAX_COLUMNS = 30  # chosen for one list

# Puts fields of a record back: the caller, the type, the id, and {field: value}.
Restore = Callable[[Context, str, int, dict[str, str]], object]
Done = dict[int, dict[str, str]]  # {id: {field: former value}} of an action
Key = int | str  # the id of a record, or the key of another kind of row


@dataclass(frozen=True)
class BulkAction:
    """An action on the selected records: it sets fields, or `deletes`.

    undo: the name of the action that reverses it. confirm: the question before it. field: the field that is set to a
    value from `choices`, to one of `record_choices`, or to typed text with the placeholder `hint`; the value `me`
    stands for the worker. restores: stored fields that its undo restores for each record. key: its keyboard shortcut.
    is_time: whether the typed value is a future time in words. page: a page that asks for the rest, called with `ids`.
    run: acts on a row that is not a record, by its id. is_there: whether a visitor sees it. is_rare: whether it is in
    the menu *More*. says: the message after it, for one record and for `{count}`; `{value}` is the chosen value.
    says_none: the message if the value is blank. suggest: the path with completions of the typed value. change: acts on
    a record by its id with the value, in place of setting the field, and returns the fields that its undo restores.
    are_acts: whether each choice is found by its own words in the jump dialog. asks: returns the question before it for
    records and a value, None if there is nothing to ask. limits: {choice: the id and the label of the only value of
    `limited_by`, a key of the records, with which records may get it}; the bar offers what all selected records may
    get, and says `left_out` if that is not every choice."""

    name: str
    label: Words
    fields: Mapping[str, str] | None = None
    deletes: bool = False
    undo: str = ""
    confirm: Words = ""
    field: str = ""
    choices: Callable[[Visit], Sequence[Option]] | None = None
    record_choices: RecordChoices | None = None
    hint: Words = ""
    restores: tuple[str, ...] = ()
    key: str = ""
    is_time: bool = False
    page: str = ""
    run: Callable[[Visit, str], object] | None = None
    is_there: Callable[[Visit], bool] | None = None
    is_rare: bool = False
    says: tuple[str, str] = ("", "")
    says_none: tuple[str, str] = ("", "")
    suggest: str = ""
    change: Callable[[Visit, int, str], dict[str, str]] | None = None
    are_acts: bool = False
    asks: Callable[[Visit, Sequence[Key], str], Confirmation | None] | None = None
    limits: Callable[[Visit], Mapping[str, Option]] | None = None
    limited_by: str = ""
    left_out: Words = ""

    def choice_groups(self, visit: Visit, options: Sequence[Option]) -> list[tuple[Option, list[Option]]]:
        """The options by the value that limits them, those without a limit first: (its id and label, options)."""
        limits = self.limits(visit) if self.limits is not None else {}
        groups: dict[Option, list[Option]] = {("", ""): []}
        for each in options:
            groups.setdefault(limits.get(each[0], ("", "")), []).append(each)
        return list(groups.items())

    def sentence(self, visit: Visit, count: int, value: str) -> str:
        """The message after the action on `count` records."""
        forms = self.says_none if value == "0" and self.says_none[0] else self.says
        return ngettext(*forms, count, value=self._named(visit, value))

    def _named(self, visit: Visit, value: str) -> str:
        """The chosen value in words."""
        if not value or not self.field:
            return ""
        if self.is_time:
            return ui.soon(visit, times.ahead(value, visit.now, visit.ctx.tz))
        if self.record_choices is not None:
            return lookup.chosen_label(self.record_choices.options(visit, value))
        options = self.choices(visit) if self.choices is not None else ()
        return shown_mark(next((text for option, text in options if option == value), value))


def switching(off: tuple[str, str], on: tuple[str, str]) -> tuple[BulkAction, BulkAction]:
    """The actions that switch records off and on. off, on: the messages afterwards, as in BulkAction.says."""
    return (
        BulkAction("off", N_("Switch off"), {"is_disabled": "1"}, undo="on", says=off),
        BulkAction("on", N_("Switch on"), {"is_disabled": "0"}, undo="off", says=on),
    )


@dataclass(frozen=True)
class Worklist:
    """The declaration of a list.

    path: of the page. columns: the default columns, in order, by the names of the registry. own: columns that the
    registry does not have. row: the path of a record's page, with {id}. load: reads once per page what the own columns
    need to know of its rows. sort: as in the API. quick: searches offered as links. by: fields to count by; all fields
    of the type if empty. changes: the access that its actions need. is_followed: whether the page announces changes of
    the list. import_path: the page that imports such records, "" for none. source: of rows that are not records; `own`
    are all their columns then, and uri names exported files. heading: the heading, if it differs from the title. limit:
    the default number of rows. restore: restores fields of a record, where an update would not be enough. hides_alike:
    whether a default column is left out while all its values are the same."""

    uri: str
    path: str
    title: Words
    columns: tuple[str, ...]
    own: tuple[ListColumn, ...] = ()
    row: str = ""
    load: Callable[[Visit, list[dict[str, Any]]], Any] | None = None
    sort: str = ""
    expand: str = ""
    subtitle: Words = ""
    intro: Words = ""
    placeholder: Words = ""
    quick: tuple[Option, ...] = ()
    by: tuple[str, ...] = ()
    actions: tuple[BulkAction, ...] = ()
    changes: Access = "admin"
    empty: Words = ""
    none: Words = ""
    new: Option | None = None
    import_path: str = ""
    tabs: tuple[Option, ...] = ()
    tabs_label: Words = ""
    own_query: str = ""
    is_followed: bool = False
    source: RowSource | None = None
    heading: Words = ""
    limit: int = ui.PAGE_ROWS
    restore: Restore | None = None
    hides_alike: bool = False


DECLARED: dict[str, Worklist] = {}


def declare(worklist: Worklist) -> Worklist:
    """Registers a list by its path, so that actions and columns can be submitted to it."""
    DECLARED[worklist.path] = worklist
    return worklist


def require_columns(names: Iterable[str], available: Iterable[str]) -> None:
    """Raises Invalid for a name that is not among the available columns."""
    for name in names:
        if name not in available:
            problem = lazy_gettext(
                "there is no column '{name}'{nearest}", name=name[:60], nearest=nearest(name, available)
            )
            raise Invalid(about_field("columns", problem), field="columns")


def available(visit: Visit, worklist: Worklist) -> dict[str, ListColumn]:
    """The columns that a list may show, by key."""
    if worklist.source is not None:
        return worklist_columns.by_key(worklist.own)
    record_type = visit.service.registry.type(worklist.uri)
    return worklist_columns.available(visit.ctx, record_type, worklist.own, worklist.row)


class TableView(ABC):
    """The view of a list in one request, which templates read; its rows may be anything.

    title: the name of the list in the audit log. found: the results of the page; more: what its columns need to know of
    them. error: why nothing could be searched. q: the typed search; by: the field that rows are counted by. groupings:
    the fields that they can be counted by; shares: label, hits, and the address of the list filtered by it.
    filter_names: further parameters that filter the list; is_filtered: whether there may be more rows than are found;
    searched: the query, as an empty list quotes it; cleared: the address of the whole list; wider: that of the same
    search among all tickets, "" if it is that. sample: the API request
    that returns the list."""

    most_matching = MAX_MATCHING
    error: HelpdeskError | None = None
    q = by = wrong = wider = ""
    followed = 0
    groupings: Sequence[Option] = ()
    shares: Sequence[tuple[str, int, str]] = ()
    filter_names: Sequence[str] = ()
    is_filtered: bool
    searched: str
    cleared: str
    sample: Sample | None

    def __init__(self, visit: Visit, worklist: Worklist, title: str) -> None:
        self.visit, self.of, self.available, self.title = visit, worklist, available(visit, worklist), title
        self.limit = visit.query.integer("limit", worklist.limit, 1, PAGE_SIZES[-1])
        self.sort = visit.query.text("sort", "")
        self.columns = self._chosen()

    @abstractmethod
    def read(self, limit: int, page: int) -> dict[str, Any]:
        """Reads a page of rows: {results, total, page}."""

    def show(self, found: dict[str, Any]) -> None:
        """Sets the rows of the page."""
        self.found, self.rows = found, found["results"]
        self.more = self.loaded(self.rows)
        self.shown_columns = [each for each in self.columns if not self._is_alike(each)]

    def _is_alike(self, column: ListColumn) -> bool:
        """Whether several rows have the same value in a default column, which is neither the first nor sorted by."""
        if not (self.of.hides_alike and self._has_default_columns and len(self.rows) > 1 and column.value):
            return False
        first, *others = (column.value(row, self.more) for row in self.rows)
        is_sorted = bool(self.header(column)[1])
        return column is not self.columns[0] and not is_sorted and all(each == first for each in others)

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        """All rows, PART at a time, at most MAX_EXPORTED. Raises `error`."""
        if self.error is not None:
            raise self.error
        for number in range(1, MAX_EXPORTED // PART + 1):
            rows = self.read(PART, number)["results"]
            yield rows
            if len(rows) < PART:
                return

    def loaded(self, rows: list[dict[str, Any]]) -> Any:
        """Reads what the columns need to know of some rows."""
        return self.of.load(self.visit, rows) if self.of.load is not None and rows else None

    def _chosen(self) -> list[ListColumn]:
        """The columns in the address, else those that the worker saved, else the default ones."""
        requested = [name for name in self.visit.query.text("columns", "").split(",") if name]
        saved = list_columns.chosen_columns(self.visit.ctx, self.of.path) if not requested else []
        require_columns(requested, self.available)
        chosen = requested or [name for name in saved if name in self.available]
        self._has_default_columns = not chosen
        names = chosen or list(self.of.columns)
        return [self.available[name] for name in dict.fromkeys(names[:MAX_COLUMNS]) if name in self.available]

    def link(self, **changes: str) -> str:
        """The address of this list with other parameters; blank ones are left out, and it begins at its first page."""
        return self.visit.address(**{"page": "", **changes})

    def header(self, column: ListColumn) -> tuple[str, str]:
        """Where its header leads, "" for one that does not sort; and how it sorts now, as aria-sort says it."""
        if not column.sort:
            return "", ""
        now = (self.sort or self.of.sort).partition(",")[0]
        if now == column.sort:
            return self.link(sort=f"-{column.sort}"), "ascending"
        return self.link(sort=column.sort), "descending" if now == f"-{column.sort}" else ""

    @property
    def labels(self) -> list[str]:
        """The labels of the shown columns, in the worker's language."""
        return [shown(each.label) for each in self.shown_columns]

    def cell(self, column: ListColumn, row: Row) -> str:
        """A value as HTML."""
        return column.cell(self.visit, row, self.more)

    @property
    def orders(self) -> list[Option]:
        """The sort orders, for screens without table headers."""
        orders = [("", _("Default order"))]
        for each in self.columns:
            if each.sort:
                orders += [(each.sort, f"{shown(each.label)} ↑"), (f"-{each.sort}", f"{shown(each.label)} ↓")]
        return orders

    @property
    def actions(self) -> list[BulkAction]:
        """The actions that the worker may perform; each record is checked again when the action runs."""
        is_open = self.visit.actor.is_admin or "admin" not in self.of.changes
        actions = self.of.actions if is_open else ()
        return [each for each in actions if each.is_there is None or each.is_there(self.visit)]


class ListView(TableView):
    """A list of records. Made by page(); templates read it."""

    def __init__(self, visit: Visit, worklist: Worklist) -> None:
        self.type: RecordType = visit.service.registry.type(worklist.uri)
        super().__init__(visit, worklist, self.type.label_names[1])
        self.q = self.searched = visit.query.text("q", "")
        self.by = visit.query.text("by", "")
        self.query = sorted_query(worklist.sort, self.sort, worklist.own_query, self.q)  # also sent by the API sample
        expanded = (lookup.LABEL, worklist.expand, *(each.expand for each in self.columns))
        self.expand = ",".join(filter(None, expanded))
        self.help = QueryHelp(visit.ctx, self.type)
        self.mistake: QueryMistake | None = None
        self.cleared = self.link(q="", by="")
        self.groupings = [(name, name) for name in worklist.by or self.type.subtotals.search if "<" not in name]
        self.show(self._found())
        self.is_filtered = bool(self.q or self.wrong)
        if self.q and not self.wrong and worklist.own_query and self.type.uri == "ticket":
            self.wider = f"/search/ticket?{urlencode({'q': self.q})}"
        fields = (("expand", worklist.expand), ("subtotals[]", self.by))
        path = f"/rest/records/{self.type.uri}/search.json"
        self.sample = Sample("GET", path, [("q", self.query), *((name, text) for name, text in fields if text)])
        self.followed = following.cursor(visit.ctx) if worklist.is_followed else 0

    def read(self, limit: int, page: int, by: tuple[str, ...] = ()) -> dict[str, Any]:
        return records.search(self.visit.ctx, self.of.uri, SearchRequest(self.query, limit, page, self.expand, by))

    def _found(self) -> dict[str, Any]:
        """The results on this page. A mistake in the query is shown next to it."""
        by = (self.by,) if self.by else ()
        try:
            found = lookup.requested_page(self.visit, partial(self.read, by=by), self.limit)
        except BadQuery as error:
            # The typed query is checked alone, so that the position of the mistake counts from its beginning.
            self.mistake = self.help.mistake(self.q) if self.q else None
            self.wrong = self.mistake.message if self.mistake is not None else error.message
            self.error = BadQuery(self.wrong)
            return lookup.EMPTY_PAGE
        counted = (found.get("subtotals") or {}).get(self.by, [])[:MAX_SUBTOTAL_ROWS]
        keys = ((each, str(each.get("key", each["label"]))) for each in counted)
        self.shares = [
            (str(each["label"]), each["hits"], self.link(q=narrowed_query(self.q, self.by, key))) for each, key in keys
        ]
        return found

    # -- what templates show -----------------------------------------------------------------------------------------

    @cached_property
    def saved(self) -> list[SavedSearchLink]:
        """The searches of the type that are saved, where no list of lists shows them."""
        return saved_searches.of_type(self.visit.ctx, self.type.uri) if self.visit.path != saved_searches.INBOX else []

    @property
    def kept(self) -> str:
        """The query to save: everything that filters the list, and the order if one was chosen."""
        return sorted_query("", self.sort, self.of.own_query, self.q)

    @cached_property
    def savers(self) -> Sequence[Option]:
        """The owners that the search may be saved for; none while the search is blank or invalid."""
        return saved_searches.owners(self.visit.ctx) if self.kept and not self.wrong else ()

    @cached_property
    def chips(self) -> list[tuple[Chip, str]]:
        """The terms of the typed search, each with the address of the list without it."""
        return [(each, self.link(q=each.without)) for each in self.help.chips(self.q)] if self.q else []

    @cached_property
    def own_chips(self) -> list[tuple[Chip, str]]:
        """While somebody searches, the terms that the list itself searches for, and the list of all records without
        each."""
        own = self.of.own_query
        if not own or not self.q:
            return []
        base = f"/search/{self.type.uri}"
        return [
            (each, f"{base}?{urlencode({'q': f'{each.without} {self.q}'.strip()})}") for each in self.help.chips(own)
        ]


def page(
    visit: Visit, worklist: Worklist, template: str = "worklist.html", status: int = 200, **values: Any
) -> PageResponse:
    """The page of a list, or the file that `format` asks for. template: one that extends worklist.html."""
    view = ListView(visit, worklist)
    return page_of(visit, view, template, INVALID if view.wrong else status, **values)


def page_of(visit: Visit, view: TableView, template: str, status: int = 200, **values: Any) -> PageResponse:
    """The page of a list, or the file that `format` requests."""
    if visit.query.text("format", ""):
        return exported(visit, view)
    return render(visit, template, status, view=view, worklist=view.of, sizes=PAGE_SIZES, shown=shown, **values)


def apply(
    visit: Visit, worklist: Worklist, action: BulkAction, ids: Sequence[int], value: str = ""
) -> tuple[Done, list[str]]:
    """Performs an action on each record by itself. value: the chosen value of its field. Returns the former values of
    the fields that its undo restores, and the refusals."""
    me = str(visit.actor.worker_id)
    fields = {name: me if text == "me" else text for name, text in (action.fields or {}).items()}
    if action.field:
        fields[action.field] = str(times.ahead(value, visit.now, visit.ctx.tz)) if action.is_time else value

    def act(id: int) -> dict[str, str]:
        if action.change is not None:
            return action.change(visit, id, value)
        stored = records.retrieve(visit.ctx, worklist.uri, id) if action.restores else {}
        if action.deletes:
            records.delete(visit.ctx, worklist.uri, id)
        else:
            records.update(visit.ctx, worklist.uri, id, fields)
        return {name: str(stored.get(name) or ("" if name == "spam_training" else 0)) for name in action.restores}

    done, refused = for_each(ids, act)
    return dict(done), refused


def restore(visit: Visit, worklist: Worklist, before: Done) -> tuple[list[int], list[str]]:
    """Restores former values of fields. Returns the ids of the restored records, and the refusals."""
    update = worklist.restore or records.update
    done, refused = for_each(before, lambda id: update(visit.ctx, worklist.uri, id, before[id]))
    return [id for id, _result in done], refused


def exported(visit: Visit, view: TableView) -> PageResponse:
    """The rows that a list finds as a file, with the columns shown, at most MAX_EXPORTED. Raises NotFound, BadQuery,
    Invalid."""
    format = visit.query.text("format", "")
    if format not in exports.FORMATS:
        raise exports.no_such_format(format)
    rows: list[dict[str, Any]] = []
    for batch in view.batches():
        more = view.loaded(batch)
        rows += [_line(view, row, more) for row in batch]
    if visit.request.method != "HEAD":
        log_export(visit.ctx, f"the list of {view.title.lower()}")
    names = ["id", *(each.key for each in view.columns)]
    times_of = [each.key for each in view.columns if each.is_time]
    return exports.file(visit, format, view.of.uri, names, rows, times_of)


def _line(view: TableView, row: dict[str, Any], more: Any) -> dict[str, Any]:
    line: dict[str, Any] = {"id": row["id"]}
    for column in view.columns:
        line[column.key] = column.value(row, more) if column.value is not None else row.get(column.key, "")
    return line
