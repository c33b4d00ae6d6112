"""Workspaces: pages of tabs, tabs of widgets and worklists; dependent deletions, and the current page of a worker."""

import pytest

from server.errors import Conflict, Forbidden, HelpdeskError
from server.record_types.workspaces import contents
from server.records.usage_flush import write_notes
from tests.records.desk import NOW

PAGE = {"extension_id": "core.workspace.page.workspace", "owner__context": "app"}
DASHBOARD, WORKLISTS = "core.workspace.tab.dashboard", "core.workspace.tab.worklists"


@pytest.fixture
def made(desk, ids):
    """A page of the service with two tabs; on the first a widget and a worklist."""
    page = desk.create("workspace_page", name="Support", **PAGE)["id"]
    second = desk.create("workspace_tab", name="Lists", page_id=page, extension_id=WORKLISTS, pos=2)["id"]
    tab = desk.create("workspace_tab", name="Overview", page_id=page, extension_id=DASHBOARD, pos=1)["id"]
    widget = desk.create("workspace_widget", label="Open", tab_id=tab, extension_id="counter", zone="sidebar")["id"]
    worklist = desk.create("workspace_list", name="Mine", tab_id=tab, context="tickets")["id"]
    return {
        "workspace_page": page, "workspace_tab": tab, "workspace_widget": widget, "workspace_list": worklist,
        "second": second,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("uri", "fields", "message"),
    [
        ("workspace_page", {"name": ""}, "name"),
        ("workspace_page", {"extension_id": "blurb"}, "extension_id"),
        ("workspace_page", {"owner_id": 5}, "owner_id"),
        ("workspace_page", {"extension_params": "blurb"}, "extension_params"),
        ("workspace_tab", {"page_id": 99}, "page_id"),
        ("workspace_tab", {"extension_id": "blurb"}, "extension_id"),
        ("workspace_tab", {"name": "x" * 129}, "name"),
        ("workspace_widget", {"tab_id": 99}, "tab_id"),
        ("workspace_widget", {"pos": 256}, "pos"),
        ("workspace_widget", {"extension_id": ""}, "extension_id"),
        ("workspace_list", {"context": "blurb"}, "context"),
        ("workspace_list", {"render_limit": 251}, "render_limit"),
        ("workspace_list", {"columns": {"a": 1}}, "columns"),
        ("workspace_list", {"view": {"title": ""}}, "view: title"),
        ("workspace_list", {"view": {"model": "x"}}, "view: model"),
        ("workspace_list", {"view": {"model": {"limit": "500"}}}, "view: model: limit"),
        ("workspace_list", {"view": {"model": {"limit": "²"}}}, "view: model: limit"),  # a digit that is not a number
        ("workspace_list", {"view": {"model": {"columns": "x"}}}, "view: model: columns"),
        ("workspace_list", {"view": {"model": {"sort_by": [1]}}}, "view: model: sort_by"),
        ("workspace_list", {"view": ["x"]}, "view"),
    ],
)
def test_invalid_values_are_refused_by_name(desk, made, uri, fields, message):
    good = {
        "workspace_page": {"name": "P", **PAGE},
        "workspace_tab": {"name": "T", "page_id": made["workspace_page"], "extension_id": DASHBOARD},
        "workspace_widget": {"label": "W", "tab_id": made["workspace_tab"], "extension_id": "chart"},
        "workspace_list": {"name": "L", "tab_id": made["workspace_tab"], "context": "task"},
    }[uri]
    with pytest.raises(HelpdeskError, match=f"^{message}"):
        desk.create(uri, **good | fields)
    with pytest.raises(HelpdeskError, match=f"^{message}"):
        desk.update(uri, made[uri], **fields)


def test_a_page_shows_its_tabs_and_their_contents(desk, made):
    page = desk.record("workspace_page", made["workspace_page"], expand="tabs")
    assert [tab["name"] for tab in page["tabs"]] == ["Overview", "Lists"]
    assert page["extension__label"] == "Workspace" and "widgets" not in page["tabs"][0]
    for name in ("widgets", "worklists"):
        first, second = desk.record("workspace_page", made["workspace_page"], expand=name)["tabs"]
        assert [each["label"] for each in first["widgets"]] == ["Open"]
        assert first["worklists"] == [{"id": made["workspace_list"], "title": "Mine", "context": "svc.contexts.ticket"}]
        assert second["widgets"] == second["worklists"] == []
    tab = desk.record("workspace_tab", made["workspace_tab"], expand="widgets_data,worklists,page_")
    assert (tab["order"], tab["extension__label"], tab["page_name"]) == (1, "Dashboard", "Support")
    assert tab["widgets"][0]["data"] is False and len(tab["worklists"]) == 1


def test_a_worklist_is_accepted_in_the_form_of_packages(desk, made):
    model = {
        "options": {"color": "red"}, "columns": ["name", "due"], "params": {}, "params_required": {"a": 1},
        "params_required_query": "status:o", "limit": "25", "sort_by": ["due", "name"], "sort_asc": [True, False],
        "subtotals": "owner", "context": "task",
    }  # fmt: skip
    shown = desk.create(
        "workspace_list", tab_id=made["workspace_tab"], context="task", view={"title": "Due", "model": model}
    )
    assert (shown["name"], shown["columns"], shown["render_limit"]) == ("Due", ["name", "due"], 25)
    assert (shown["render_sort"], shown["render_subtotals"]) == ({"due": True, "name": False}, "owner")
    stored = desk.row("workspace_list", shown["id"])
    assert (stored["params_required"], stored["params_required_query"]) == ({"a": 1}, "status:o")
    assert "params_required" not in shown and "view" not in shown
    shown = desk.update("workspace_list", shown["id"], name="Mine", view={"title": "Due", "model": {"sort_by": "due"}})
    assert (shown["name"], shown["render_sort"]) == ("Mine", {"due": True})
    with pytest.raises(HelpdeskError, match=r"^name"):
        desk.create("workspace_list", tab_id=made["workspace_tab"], context="task", view={"model": {}})


def test_contents_of_a_page_are_deleted_with_it(desk, made):
    desk.delete("workspace_page", made["workspace_page"])
    for uri in ("workspace_tab", "workspace_widget", "workspace_list"):
        assert desk.found(uri, "") == []


def test_only_the_contents_of_a_tab_are_deleted_with_it(desk, made):
    desk.delete("workspace_tab", made["workspace_tab"])
    assert desk.found("workspace_tab", "") == [made["second"]]
    assert desk.found("workspace_widget", "") == desk.found("workspace_list", "") == []


def test_the_number_of_tabs_and_widgets_is_limited(desk, made, monkeypatch):
    monkeypatch.setattr(contents, "MAX_TABS", 2)
    monkeypatch.setattr(contents, "MAX_ON_TAB", 1)
    with pytest.raises(Conflict, match=r"^page_id: at most 2"):
        desk.create("workspace_tab", name="T", page_id=made["workspace_page"], extension_id=DASHBOARD)
    other = desk.create("workspace_widget", label="W", tab_id=made["second"], extension_id="chart")["id"]
    with pytest.raises(Conflict, match=r"^tab_id: at most 1"):
        desk.update("workspace_widget", other, tab_id=made["workspace_tab"])
    desk.update("workspace_widget", other, label="W2")


def test_contents_of_a_page_follow_its_owner(desk, ids, made):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    milo, olga = ids["milo"], ids["olga"]
    own = PAGE | {"owner__context": "worker", "owner_id": milo}
    page = desk.create("workspace_page", by=milo, name="Milo's", **own)["id"]
    tab = desk.create("workspace_tab", by=milo, name="T", page_id=page, extension_id=DASHBOARD)["id"]
    widget = desk.create("workspace_widget", by=milo, label="W", tab_id=tab, extension_id="chart")["id"]
    for uri, id in (("workspace_page", page), ("workspace_tab", tab), ("workspace_widget", widget)):
        assert id in desk.found(uri, "", by=milo) and id not in desk.found(uri, "", by=olga)
        with pytest.raises(Forbidden):
            desk.record(uri, id, by=olga)
        with pytest.raises(Forbidden):
            desk.delete(uri, id, by=olga)
    desk.record("workspace_tab", made["workspace_tab"], by=olga)
    with pytest.raises(Forbidden, match="its workspace tab"):
        desk.create("workspace_widget", by=olga, label="W", tab_id=made["workspace_tab"], extension_id="chart")
    with pytest.raises(Forbidden, match="its workspace page"):
        desk.update("workspace_tab", made["workspace_tab"], by=olga, name="Mine")
    desk.delete("workspace_tab", tab, by=milo)
    assert widget not in desk.found("workspace_widget", "")


def test_workers_are_on_the_page_that_they_opened_last(desk, ids, made):
    other = desk.create("workspace_page", name="Sales", **PAGE)["id"]
    desk.record("workspace_page", other, by=ids["milo"])
    desk.record("workspace_tab", made["workspace_tab"], by=ids["milo"])
    desk.record("workspace_page", other, by=ids["olga"])
    desk.record("workspace_page", other)
    write_notes(desk.service, NOW)
    assert desk.found("worker", "using.workspace:(name:Support)") == [ids["milo"]]
    assert desk.found("worker", "using.workspace:Sales") == [ids["olga"]]
    assert desk.found("worker", "using.workspace:(name:blurb)") == []
    write_notes(desk.service, NOW + 600)
    assert desk.found("worker", "using.workspace:Sales") == [ids["olga"]]
    write_notes(desk.service, NOW + 601)
    assert desk.found("worker", "using.workspace:Sales") == []


def test_a_deleted_page_has_no_workers(desk, ids, made):
    desk.record("workspace_page", made["workspace_page"], by=ids["milo"])
    write_notes(desk.service, NOW)
    desk.delete("workspace_page", made["workspace_page"])
    assert desk.found("worker", "using.workspace:!(id:>0)") == [ids["nora"], ids["milo"], ids["olga"]]
