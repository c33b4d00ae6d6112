"""Searches saved from a list, for oneself and for others; and the way to the records of every type."""

import html
import re

import pytest
from playwright.sync_api import Page, expect

from console.pages.record.types import TYPES
from server.record_types import registry
from tests.console.browser import violations
from tests.console.visitor import Visitor, place
from tests.service import Api

names = pytest.mark.parametrize
SAVE = "/-/saved-searches"


@pytest.fixture
def milo(visitor: Visitor) -> Visitor:
    assert visitor.sign_in("milo@desk.example").status_code == 303
    return visitor


def saved(nora: Api, name: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = nora.search("saved_search", f'name:"{name}"', expand="query").ok()["results"]
    return found


@pytest.mark.exhaustive("saved searches of any list are tested below")
def test_a_search_is_saved_in_the_inbox_shown_and_undone(page: Page, nora: Api) -> None:
    page.goto("/inbox?v=open&q=subject%3Apump&sort=created")
    page.get_by_text("View", exact=True).press("Enter")
    page.get_by_label("Save search as").fill("Pumps that wait")
    assert violations(page, part="main") == []
    page.get_by_role("button", name="Save search").press("Enter")
    page.wait_for_url("**v=saved.*")
    here = page.get_by_role("navigation", name="Main").get_by_role("link", name="Pumps that wait")
    expect(here).to_have_attribute("aria-current", "page")
    expect(here.locator(".number")).to_have_text(re.compile(r"\d"))
    [made] = saved(nora, "Pumps that wait")
    assert made["query"] == "status:open subject:pump sort:created"
    assert (made["owner__context"], made["owner_id"]) == ("svc.contexts.worker", nora.ids["nora"])
    page.keyboard.press("z")
    page.wait_for_url("**v=open*")
    assert saved(nora, "Pumps that wait") == []


def test_a_list_of_any_type_shows_its_saved_searches(signed_in: Visitor, milo: Visitor, nora: Api) -> None:
    """Saved for everyone by administrators, and by others for themselves."""
    tasks = "/search/task?q=title%3Aoverdue*"
    form = {"list": "/search/task", "name": "Overdue ones", "query": "title:overdue*", "owner": "svc.contexts.app:0"}
    assert place(signed_in.send(SAVE, form, page=tasks)) == "/search/task?q=title%3Aoverdue%2A"
    shown = milo.get("/search/task").text
    assert ">Overdue ones</a>" in re.sub(r"<svg.*?</svg>", "", shown)
    assert "Overdue ones" not in milo.get("/search/org").text
    assert "Overdue ones" in str(milo.get("/-/jump", params={"q": "overdue"}).json())
    assert 'name="owner"' not in milo.get(tasks).text, "who manages nothing saves for themselves"
    milo.send(SAVE, {"list": "/search/task", "name": "Of Milo", "query": "owner.id:me"}, page=tasks)
    assert "Of Milo" in milo.get("/search/task").text and "Of Milo" not in signed_in.get("/search/task").text


@names(
    ("fields", "told"),
    [
        ({"query": "title:(("}, "Search not saved"),
        ({"name": " "}, "Search not saved"),
        ({"owner": "svc.contexts.app:0"}, "Search not saved"),
        ({"owner": "nothing"}, "Search not saved"),
        ({"owner": "svc.contexts.worker:1"}, "Search not saved"),
    ],
)
def test_refused_searches_are_reported_above_the_list(
    milo: Visitor, nora: Api, fields: dict[str, str], told: str
) -> None:
    form = {"list": "/search/task", "name": "Refused", "query": "title:pump", "owner": "", **fields}
    response = milo.send(SAVE, form, page="/search/task?q=title%3Apump")
    assert place(response) == "/search/task" and told in milo.get("/search/task").text
    assert saved(nora, "Refused") == []


@names("path", [SAVE, f"{SAVE}/forget"])
@names("listed", ["//evil.example/search/task", "https://evil.example", "/search/nothing", ""])
def test_an_unknown_list_is_not_found(milo: Visitor, path: str, listed: str) -> None:
    response = milo.send(path, {"list": listed, "name": "x", "query": "x", "id": "1", "back": listed}, page="/inbox")
    assert response.status_code == 404


def test_a_search_of_another_worker_cannot_be_deleted(milo: Visitor, nora: Api) -> None:
    id = nora.create(
        "saved_search",
        context="ticket",
        name="Of Nora",
        query="status:open",
        owner__context="worker",
        owner_id=nora.ids["nora"],
    ).ok()["id"]
    response = milo.send(f"{SAVE}/forget", {"list": "/inbox", "id": str(id)}, page="/inbox")
    assert response.status_code in (403, 404) and saved(nora, "Of Nora")


def test_sorting_in_a_search_applies_until_a_header_is_clicked(signed_in: Visitor, nora: Api) -> None:
    for letter in "bac":
        nora.create("task", title=f"ordered {letter}").ok()

    def shown(**more: str) -> list[str]:
        page = signed_in.get("/search/task", params={"q": "title:ordered* sort:title", **more}).text
        return re.findall(r">ordered (.)</a>", page)

    assert (shown(), shown(sort="-title")) == (["a", "b", "c"], ["c", "b", "a"])


def test_custom_record_types_appear_by_themselves(signed_in: Visitor, milo: Visitor, nora: Api) -> None:
    made = nora.create("custom_record", name="Machine", name_plural="Machines <b>", uri="machine").ok()["id"]
    try:
        for visitor in (signed_in, milo):
            page = visitor.get("/records").text
            assert '<span dir="auto">Machines &lt;b&gt;</span>' in page, "on the page of all types"
            assert page.partition("<main")[0].count('href="/search/machine"') == 1, "and in the rail"
        id = nora.create("machine", name="Lathe").ok()["id"]
        assert "Lathe" in signed_in.get("/search/machine").text
        assert signed_in.get(f"/records/machine/{id}").status_code == 200
        assert signed_in.get("/records/machine/new").status_code == 200
        nora.remove("machine", id).ok()
    finally:
        nora.remove("custom_record", made).ok()
    assert 'href="/search/machine"' not in signed_in.get("/records").text


@pytest.mark.exhaustive("every list")
def test_all_types_with_a_list_are_linked(signed_in: Visitor) -> None:
    page = signed_in.get("/records").text.partition("<main")[2]
    paths = re.findall(r'href="(/search/[a-z_]+)"', page)
    assert len(paths) > 40 and len(set(paths)) == len(paths)
    for path in paths:
        assert signed_in.get(path).status_code == 200, path
    assert 'href="/records/task/new" aria-label="New task"' in page


def test_every_record_type_has_a_description() -> None:
    described = {uri for types in TYPES.values() for uri in types}
    assert {each.uri for each in registry.load() if each.offers("search")} - described == set()


def test_record_types_are_grouped_with_a_description_and_filtered(signed_in: Visitor) -> None:
    page = signed_in.get("/records").text.partition("<main")[2].partition("</main>")[0]
    groups = re.findall(r"<h2 id=\"[^\"]*\">([^<]*)</h2>", page)
    assert [html.unescape(each) for each in groups] == [
        "Team",
        "Channels",
        "Productivity",
        "Customers' data",
        "Developers",
        "System",
    ]
    described = re.findall(r'<li data-words="[^"]*">.*?<p class="muted">[^<]+</p>', page, re.DOTALL)
    assert len(described) == len(re.findall(r'href="/search/[a-z_]+"', page))
    filtered = signed_in.get("/records", params={"q": "canned reply"}).text.partition("<main")[2]
    visible = re.findall(r'<li data-words="[^"]*">\s*<a href="([^"]*)"', filtered)
    assert visible == ["/search/snippet"]
