"""The list from which a ticket was opened: the next ticket, the neighbours, the counts of the lists."""

import html
import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.console.test_ticket_trials import mailed
from tests.console.test_tickets import answer_to
from tests.console.visitor import Visitor, place
from tests.service import Api
from tests.telling import telling

names = pytest.mark.parametrize


@pytest.fixture
def five(nora: Api, request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """Five tickets that share a unique word, the oldest first."""
    word = re.sub(r"\W", "", request.node.name)
    made = [mailed(nora, f"{word} {number}") for number in range(5)]
    return [{**each, "word": word} for each in made]


def opened(visitor: Visitor, q: str, number: int) -> str:
    """Returns the path of a ticket as it is linked in a list."""
    page = visitor.get(f"/search/ticket?sort=created&q={quote(q)}").text
    rows = re.findall(r'<td class="main"[^>]*>.*?<a [^>]*href="([^"]+)"', page)
    return html.unescape(rows[number])


def beside(page: str, rel: str) -> str:
    """Returns the target of the link to the previous (prev) or next (next) ticket, "" for none."""
    links = re.findall(rf'<a href="([^"]+)"[^>]*rel="{rel}"', page)
    return html.unescape(links[0]) if links else ""


def mask(path: str) -> str:
    return path.partition("?")[0].rpartition("/")[2]


def act(visitor: Visitor, path: str, fields: dict[str, str]) -> str:
    """Sets a property on the page of a ticket; returns the path of the redirect."""
    page = path.partition("?")[0]
    text = visitor.get(path).text
    seen = dict(re.findall(r'name="(was_[^"]+)" value="([^"]*)"', text))
    response = visitor.send(f"{page}/set", {**seen, **fields, "back": path}, page=page)
    assert response.status_code == 303
    return place(response)


CLOSE = {"name": "status", "value": "closed"}
FINISHING = ("close", "wait")  # acts that the next ticket follows
ACTS = {
    "close": ("status:open", CLOSE),
    "take": ("owner.id:none", {"name": "owner", "value": "me"}),
    "wait": ("status:open", {"name": "status", "value": "waiting", "reopen_at": "+2 days"}),
    "touch": ("sort:-updated", {"name": "importance", "value": "60"}),
}


@names("kind", telling(list(ACTS), ("close",), "every act"))
def test_the_next_ticket_is_the_following_one_of_the_list(
    signed_in: Visitor, nora: Api, five: list[dict[str, Any]], kind: str
) -> None:
    q, fields = ACTS[kind]
    path = opened(signed_in, f"subject:{five[0]['word']}* {q}", 0)
    shown = [mask(path)]
    for _ in five[1:]:
        follows = act(signed_in, path, fields)
        path = follows if kind in FINISHING else beside(signed_in.get(follows).text, "next")
        shown.append(mask(path))
    assert shown == [each["mask"] for each in five], "each once, and none skipped"
    last = act(signed_in, path, fields)
    assert last.startswith("/search/ticket?") if kind in FINISHING else beside(signed_in.get(last).text, "next") == ""
    assert mask(beside(signed_in.get(path).text, "prev")) == five[3]["mask"]


def test_tickets_closed_by_a_colleague_are_skipped(signed_in: Visitor, nora: Api, five: list[dict[str, Any]]) -> None:
    path = opened(signed_in, f"subject:{five[0]['word']}* status:open", 1)
    nora.update("ticket", five[2]["id"], status="closed").ok()
    page = signed_in.get(path).text
    assert mask(beside(page, "next")) == five[3]["mask"] and "2 of 4" in page
    assert mask(beside(page, "prev")) == five[0]["mask"]
    path = act(signed_in, path, CLOSE)
    assert mask(path) == five[3]["mask"]
    assert mask(beside(signed_in.get(path).text, "prev")) == five[1]["mask"], "back to what was just done"


def test_a_ticket_that_moved_in_the_list_is_not_skipped(
    signed_in: Visitor, nora: Api, five: list[dict[str, Any]]
) -> None:
    """The default order puts a ticket first when its customer writes."""
    q = f"subject:{five[0]['word']}* status:open"
    page = signed_in.get(f"/search/ticket?q={quote(q)}").text
    path = html.unescape(re.findall(r'<td class="main"[^>]*>.*?<a [^>]*href="([^"]+)"', page)[0])
    seen = [mask(path), *re.findall(r"after=([^&]*)", path)[0].split("%2C")]
    nora.update("ticket", five[2]["id"], importance=70).ok()
    shown = [mask(path)]
    for _ in five[1:]:
        path = act(signed_in, path, CLOSE)
        shown.append(mask(path))
    assert shown == seen and sorted(shown) == sorted(each["mask"] for each in five)


FINISHED = {
    "close": ("set", CLOSE),
    "delete": ("set", {"name": "status", "value": "deleted"}),
    "snooze": ("set", {"name": "status", "value": "waiting", "reopen_at": "+2 days"}),
    "spam": ("spam", {"is": "1"}),
    "send and close": ("answer", {"do": "close"}),
    "send and wait": ("answer", {"do": "wait"}),
    "reply": ("answer", {"do": "send"}),
}


@names("kind", telling(list(FINISHED), ("close",), "every act that finishes a ticket"))
def test_after_a_ticket_is_finished_comes_what_the_worker_chose(
    visitor: Visitor, nora: Api, five: list[dict[str, Any]], kind: str
) -> None:
    visitor.sign_in("milo@desk.example")
    where, fields = FINISHED[kind]
    shown = {}
    for number, destination in enumerate(("next", "list", "stay")):
        saved = visitor.send("/account/tickets", {"destination": destination}, page="/account")
        assert saved.status_code == 303
        path = opened(visitor, f"subject:{five[0]['word']}* status:open", 0)
        page = path.partition("?")[0]
        form = answer_to(five[number], to="ann@kite.example") if where == "answer" else {}
        seen = dict(re.findall(r'name="(was_[^"]+)" value="([^"]*)"', visitor.get(page).text))
        led = place(visitor.send(f"{page}/{where}", form | seen | fields | {"back": path}, page=path))
        assert "Undo" in visitor.get(led).text
        shown[destination] = led.partition("?")[0].partition("#")[0]
        nora.update("ticket", five[number]["id"], status="closed").ok()
    assert shown == {"next": five[1]["page"], "list": "/search/ticket", "stay": five[2]["page"]}
    visitor.send("/account/tickets", {"destination": "next"}, page="/account")


def test_after_the_last_ticket_comes_the_list(signed_in: Visitor, nora: Api, five: list[dict[str, Any]]) -> None:
    path = opened(signed_in, f"subject:{five[0]['word']}* status:open", 4)
    led = act(signed_in, path, CLOSE)
    assert led.startswith("/search/ticket?")
    assert "Ticket closed. That was the last ticket of this list." in signed_in.get(led).text


@pytest.mark.exhaustive("undo is tested in test_shell.py and test_hand.py")
def test_undo_on_the_next_ticket_leads_back(page: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    q = f"subject:{five[0]['word']}* status:open"
    page.goto(f"/search/ticket?sort=created&q={quote(q)}")
    page.get_by_role("link", name=f"{five[0]['word']} 0").click()
    page.wait_for_url("**/tickets/**")
    page.keyboard.press("e")
    expect(page.locator("h1")).to_have_text(f"{five[0]['word']} 1")
    expect(page.locator("#toasts")).to_contain_text("Ticket closed.")
    page.keyboard.press("z")
    expect(page.locator("h1")).to_have_text(f"{five[0]['word']} 0")
    expect(page.locator("#ticket-head .badge").first).to_contain_text("open")
    page.keyboard.press("]")
    expect(page.locator("h1")).to_have_text(f"{five[0]['word']} 1")


def test_new_tickets_do_not_change_the_next_one(signed_in: Visitor, nora: Api, five: list[dict[str, Any]]) -> None:
    path = opened(signed_in, f"subject:{five[0]['word']}* sort:-created", 1)
    mailed(nora, f"{five[0]['word']} newer")
    expected = signed_in.get(path).text
    assert mask(beside(expected, "next")) in path and "after=" + mask(beside(expected, "next")) in path


def test_an_unreadable_ticket_has_no_neighbours(visitor: Visitor, nora: Api, five: list[dict[str, Any]]) -> None:
    hidden = mailed(nora, "Salaries", group_id=nora.ids["private"])
    assert visitor.sign_in("milo@desk.example").status_code == 303
    path = f"/tickets/{five[0]['mask']}?in=subject:nothing&at=1&before={hidden['mask']}&after={hidden['mask']}"
    assert hidden["mask"] not in visitor.get(path).text.partition('class="beside"')[2].partition("</nav>")[0]


def test_within_one_second_the_newest_comes_first(nora: Api, five: list[dict[str, Any]]) -> None:
    for each in five:
        nora.update("ticket", each["id"], created=1_700_000_000).ok()
    ids = [each["id"] for each in five]
    for sort, expected in (("-created", ids[::-1]), ("created", ids), ("created,-updated", None)):
        found = nora.found("ticket", f"subject:{five[0]['word']}* sort:{sort}")
        assert expected is None or found == expected, sort


# -- in a browser -----------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive("where a ticket opens is tested in test_thread.py")
def test_a_long_ticket_opens_at_its_newest_entry(page: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    ticket = five[0]
    for number in range(8):
        nora.create("message", ticket_id=ticket["id"], sender="ana@kite.example", headers="From: ana@kite.example",
                    content=f"Number {number}.\n" * 20).ok()  # fmt: skip
    page.goto(ticket["page"])
    newest = page.locator(".said-list > li").last
    expect(newest).to_be_in_viewport(ratio=0.3)
    page.goto(f"{ticket['page']}?answer=reply#answer")
    expect(page.locator("#content")).to_be_focused()


def test_an_action_on_a_list_updates_the_counts(page: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    page.goto("/inbox?v=unassigned")
    count = page.locator("[data-view=unassigned]")
    before = int(count.inner_text())
    page.get_by_role("row").filter(has_text=f"{five[0]['word']} 0").get_by_role("checkbox").check()
    page.get_by_role("button", name="Assign to me").click()
    expect(count).to_have_text(str(before - 1))
    nora.update("ticket", five[1]["id"], owner_id=nora.ids["milo"]).ok()  # by another worker: an event for the list
    expect(count).to_have_text(str(before - 2))


@pytest.mark.exhaustive("every end of an act")
def test_a_refused_action_preserves_the_selection(page: Page, nora: Api, five: list[dict[str, Any]]) -> None:
    page.goto("/inbox?v=unassigned")
    row = page.get_by_role("row").filter(has_text=f"{five[0]['word']} 0")
    row.get_by_role("checkbox").check()
    page.locator("#bulk [name=list]").evaluate("each => (each.value = '/search/nothing')")
    page.get_by_role("button", name="Assign to me").click()
    expect(page.locator("#toasts")).to_contain_text("nothing")
    expect(row.get_by_role("checkbox")).to_be_checked()
