"""Contents of workspaces: tabs on pages, widgets and worklists on tabs, in order."""

from collections.abc import Callable, Sequence
from typing import Any

from server.errors import Conflict
from server.record_types.parts import Change, DictionaryContext, Record, Writing
from server.record_types.shared.collections import ids_text
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

MAX_TABS = 100  # tabs of a page
MAX_ON_TAB = 200  # widgets of a tab; the same limit for worklists

Loaded = dict[int, dict[str, Any]]
Listed = dict[int, list[dict[str, Any]]]
ORDER = {"workspace_tab": ("pos",), "workspace_widget": ("zone", "pos"), "workspace_list": ("pos",)}


def tabs(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """`tabs` of pages: [tab]."""
    return {page: {"tabs": each} for page, each in _on(view, "workspace_tab", "page_id", records).items()}


def full_tabs(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """`tabs` of pages, each with its `widgets` and `worklists`."""
    pages = _on(view, "workspace_tab", "page_id", records)
    all_tabs = [tab for each in pages.values() for tab in each]
    widgets, lists = _on(view, "workspace_widget", "tab_id", all_tabs), worklists(view, all_tabs, "")
    for tab in all_tabs:
        tab |= {"widgets": widgets[tab["id"]]} | lists[tab["id"]]
    return {page: {"tabs": each} for page, each in pages.items()}


def widgets(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """`widgets` of tabs: [widget]."""
    return {tab: {"widgets": each} for tab, each in _on(view, "workspace_widget", "tab_id", records).items()}


def widgets_with_data(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """`widgets` of tabs, each with its `data`."""
    by_tab = _on(view, "workspace_widget", "tab_id", records, "data")
    return {tab: {"widgets": each} for tab, each in by_tab.items()}


def worklists(view: DictionaryContext, records: Sequence[Record], form: str) -> Loaded:
    """`worklists` of tabs: [{id, title, context}]."""
    by_tab = _on(view, "workspace_list", "tab_id", records)
    return {
        tab: {"worklists": [{"id": one["id"], "title": one["name"], "context": one["context"]} for one in each]}
        for tab, each in by_tab.items()
    }


def _on(view: DictionaryContext, uri: str, column: str, records: Sequence[Record], expand: str = "") -> Listed:
    """{id of the page or tab: dictionaries} of the contents that the caller may read, in order."""
    order = ORDER[uri]
    table: Any = table_named(uri)
    rows = view.tx.rows(
        lambda: (
            table.select(getattr(table.c, column), table.c.id)
            .where(in_list(getattr(table.c, column), slot(0)))
            .order_by(*(getattr(table.c, name) for name in order), table.c.id)
        ),
        (ids_text(records),),
    )
    contents = view.records(uri, [id for _, id in rows])
    dictionaries = view.dictionaries(uri, contents, expand)
    by_id = {record["id"]: dictionary for record, dictionary in zip(contents, dictionaries, strict=True)}
    by_place: Listed = {record["id"]: [] for record in records}
    for own, id in rows:
        if id in by_id:
            by_place[own].append(by_id[id])
    return by_place


def require_room(change: Change, writing: Writing, column: str, most: int) -> None:
    """Raises Conflict if the page or tab of a record is full. Called in `prepare`."""
    if not change.is_create and not change.changes(column):
        return
    if len(ids_on(writing.tx, change.type.uri, column, change.value(column), most)) >= most:
        name = change.type.label_names[1].lower()
        raise Conflict(f"{column}: at most {most} {name} have room there; use another one", field=column)


def ids_on(tx: Transaction, uri: str, column: str, id: int, most: int) -> list[int]:
    """The ids of the records on a page or tab."""
    table: Any = table_named(uri)
    rows = tx.rows(
        lambda: table.select(table.c.id).where(getattr(table.c, column) == slot(0)).limit(slot(1)),
        (id, most),
    )
    return [row[0] for row in rows]


def widget_data(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """`data` of widgets: false, for no data, since clients render widgets."""
    return {record["id"]: {"data": False} for record in records}


Label = Callable[[Record, DictionaryContext], str]


def kind_label(labels: dict[str, str]) -> Label:
    """The key `extension__label`: the kind of a page or tab in words."""
    return lambda record, view: labels.get(record["extension_id"], "")
