"""The rail: the worker's lists with their numbers, and the settings with everything behind them."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console.http.navigation import PLACES
from tests.console.browser import PHONE, Browser, violations
from tests.console.test_streams import stream_events
from tests.console.visitor import Visitor, text_of
from tests.service import Api


@pytest.fixture
def milo(visitor: Visitor) -> Visitor:
    assert visitor.sign_in("milo@desk.example").status_code == 303
    return visitor


def rail(page: str) -> dict[str, list[str]]:
    """Returns the names of the entries of the rail by section, in order."""
    found = page.partition('<nav class="rail"')[2].partition("</nav>")[0]
    sections: dict[str, list[str]] = {}
    heading = ""
    for title, entry in re.findall(r"<summary>(.*?)<svg|<span dir=\"auto\"[^>]*>(.*?)</span>", found, re.DOTALL):
        heading = title.strip() or heading
        if entry:
            sections.setdefault(heading, []).append(entry)
    return sections


def counts(page: str) -> dict[str, int]:
    """Returns the numbers of the rail by the name of their list."""
    return {name: int(text) for name, text in re.findall(r'data-view="([^"]+)">\s*(\d+)', page)}


def current(page: str) -> list[str]:
    """Returns the addresses of the entries of the rail that are marked as current."""
    return re.findall(r'<a href="([^"]*)" aria-current=', page.partition('<nav class="bar"')[0])


def test_the_rail_begins_with_the_lists_of_the_worker(milo: Visitor) -> None:
    sections = rail(milo.get("/account").text)
    assert sections[""] == ["New ticket", "Start"]
    assert sections["Inbox"] == [
        "My open", "My waiting", "Unassigned", "Waiting", "All open", "Drafts",
    ]  # fmt: skip
    assert "Support" in sections["Groups"] and "People" in sections["Customers"]
    assert sections["Team"][0] == "Tasks" and sections["Team"][-1] == "Settings"


def test_the_rail_of_a_lead_has_what_they_manage(signed_in: Visitor, milo: Visitor, nora: Api) -> None:
    page = signed_in.get("/admin/targets").text
    assert rail(page)["Manage"] == ["Reports", "Workers", "Snippets", "Macros", "Rules", "Service targets"]
    assert current(page) == ["/admin/targets"]
    assert current(signed_in.get("/admin/people/groups").text) == ["/settings"]
    assert "Manage" not in rail(milo.get("/account").text)
    group = nora.create("group", name="Led").ok()["id"]
    nora.update("group", group, members={"manager": str(nora.ids["milo"])}).ok()
    assert rail(milo.get("/account").text)["Manage"] == ["Reports", "Rosters", "Snippets", "Macros"]
    nora.remove("group", group).ok()


def test_the_numbers_are_those_of_the_searches(milo: Visitor, nora: Api) -> None:
    mine = nora.people["milo"]
    owners = (0, nora.ids["milo"], nora.ids["nora"])
    for status in ("open", "waiting", "closed"):
        for owner in owners:
            nora.create("ticket", subject="Counted", group_id=nora.ids["support"], status=status, owner_id=owner).ok()
    nora.create("ticket", subject="Counted in secret", group_id=nora.ids["private"]).ok()
    shown = counts(milo.get("/account").text)
    queries = {
        "mine": "status:open owner.id:me", "waiting": "status:waiting owner.id:me", "open": "status:open",
        "unassigned": "status:open owner.id:none", "all-waiting": "status:waiting",
        f"group.{nora.ids['support']}": f"status:open group.id:{nora.ids['support']}",
    }  # fmt: skip
    for name, query in queries.items():
        assert shown[name] == mine.search("ticket", query).ok()["total"] > 0, name
    asked = milo.get("/-/lists").json()
    assert {name: int(text) for name, text in asked["counts"].items()} == shown and asked["at"] > 0
    hidden = nora.search("ticket", "status:open").ok()["total"]
    assert hidden > shown["open"] and f"group.{nora.ids['private']}" not in shown


def test_the_stream_brings_the_numbers_of_each_worker(milo: Visitor, signed_in: Visitor, nora: Api) -> None:
    since = milo.get("/-/lists").json()["at"]
    hers, his = (stream_events(each, f" /-/lists?since={since}") for each in (signed_in, milo))
    fields = {"subject": "Told", "status": "open"}
    nora.create("ticket", **fields, group_id=nora.ids["private"]).ok()
    last = nora.create("ticket", **fields, group_id=nora.ids["support"], owner_id=nora.ids["milo"]).ok()
    for visitor, events in ((signed_in, hers), (milo, his)):
        asked = visitor.get("/-/lists").json()
        told = next(each["data"] for each in events if each["data"]["at"] >= asked["at"])
        assert told["counts"] == asked["counts"] and not told["is_stale"]
        events.close()
    own, seen = (each.get("/-/lists").json()["counts"] for each in (signed_in, milo))
    assert int(own["open"]) > int(seen["open"]), "one more group"
    assert int(seen["mine"]) == nora.search("ticket", f"status:open owner.id:{nora.ids['milo']}").ok()["total"]
    nora.remove("ticket", last["id"]).ok()


def test_the_stream_tells_when_a_saved_search_is_to_be_counted(milo: Visitor, nora: Api) -> None:
    fields = {"context": "ticket", "name": "Streamed", "query": "subject:streamed"}
    owner = {"owner__context": "svc.contexts.worker", "owner_id": nora.ids["milo"]}
    saved = nora.people["milo"].create("saved_search", **fields, **owner).ok()
    [since] = re.findall(r'data-at="(\d+)"', milo.get("/account").text)
    events = stream_events(milo, f" /-/lists?since={since}")
    nora.create("ticket", subject="Streamed", group_id=nora.ids["support"]).ok()
    assert next(events)["data"]["is_stale"]
    assert milo.get("/-/lists").json()["counts"][f"saved.{saved['id']}"] == "1"
    events.close()
    nora.remove("saved_search", saved["id"]).ok()


def test_a_waiting_ticket_without_owner_is_in_a_list(milo: Visitor, nora: Api) -> None:
    word = "Ownerless"
    ticket = nora.create("ticket", subject=word, group_id=nora.ids["support"], status="waiting", owner_id=0).ok()
    assert ticket["mask"] in milo.get(f"/inbox?v=all-waiting&q=subject:{word}").text
    assert ticket["mask"] not in milo.get(f"/inbox?v=waiting&q=subject:{word}").text


def test_a_saved_search_has_its_number_once_it_was_counted(milo: Visitor, nora: Api) -> None:
    nora.create("ticket", subject="Rarely seen", group_id=nora.ids["support"]).ok()
    saved = nora.people["milo"].create(
        "saved_search", context="ticket", name="Rare <b>ones", query="subject:rarely",
        owner__context="svc.contexts.worker", owner_id=nora.ids["milo"],
    ).ok()  # fmt: skip
    name = f"saved.{saved['id']}"
    first = milo.get("/account").text
    assert "Rare &lt;b&gt;ones" in rail(first)["Saved"] and name not in counts(first) and "data-stale" in first
    assert milo.get("/-/lists").json()["counts"][name] == "1"
    assert counts(milo.get("/account").text)[name] == 1
    nora.remove("saved_search", saved["id"]).ok()
    assert "Saved" not in rail(milo.get("/account").text)


def test_the_current_list_is_marked_on_its_page_and_on_its_tickets(signed_in: Visitor, nora: Api) -> None:
    nora.create("ticket", subject="Marked", group_id=nora.ids["support"], owner_id=nora.ids["nora"]).ok()
    page = signed_in.get("/inbox").text
    assert current(page) == ["/inbox?v=mine"]
    ticket = re.findall(r'href="(/tickets/[^"]+)"', page)[0].replace("&amp;", "&")
    assert current(signed_in.get(ticket).text) == ["/inbox?v=mine"]
    assert current(signed_in.get("/inbox?v=nothing").text) == ["/inbox?v=mine"]
    contact = nora.create("contact", first_name="Ana").ok()["id"]
    assert current(signed_in.get(f"/records/contact/{contact}").text) == ["/search/contact"]


def test_an_empty_list_offers_the_next_act_and_an_empty_search_a_wider_one(visitor: Visitor) -> None:
    assert visitor.sign_in("olga@desk.example").status_code == 303
    empty = visitor.get("/inbox").text.partition('class="empty"')[2]
    assert "Inbox zero: no open tickets are yours." in empty and 'href="/inbox?v=unassigned"' in empty
    nothing = visitor.get("/inbox?v=open&q=Zyzzyva+%26co").text.partition('class="empty"')[2]
    assert "Zyzzyva &amp;co" in nothing and 'href="/search/ticket?q=Zyzzyva+%26co"' in nothing
    assert "Search all tickets" not in visitor.get("/search/ticket?q=Zyzzyva").text


# -- the settings -----------------------------------------------------------------------------------------------------


def listed(page: str) -> list[str]:
    """Returns the addresses of the pages that the settings show."""
    return re.findall(r'<li data-words="[^"]*">\s*<a href="([^"]*)"', page.partition('class="settings"')[2])


def test_the_settings_list_what_a_worker_may_open(visitor: Visitor, signed_in: Visitor, nora: Api) -> None:
    everything = listed(signed_in.get("/settings").text)
    assert set(everything) == {each.path for each in PLACES if each.about and each.who != "manager"}
    for path in ("/admin/targets", "/snippets", "/search/calendar", "/search/email_signature",
                 "/search/html_template"):  # fmt: skip
        assert path in everything
    tools = [everything.index(path) for path in ("/automations", "/automations/events", "/admin/tokens")]
    assert max(everything.index(path) for path in ("/admin/tags", "/admin/targets", "/account")) < min(tools)
    assert visitor.sign_in("milo@desk.example").status_code == 303
    for path in listed(visitor.get("/settings").text):
        assert not path.startswith("/admin") and visitor.get(path.partition("#")[0]).status_code in (200, 303), path


def test_managers_find_the_rosters_of_their_groups(visitor: Visitor, nora: Api) -> None:
    group = nora.create("group", name="Managed").ok()["id"]
    nora.update("group", group, members={"manager": str(nora.ids["olga"])}).ok()
    assert visitor.sign_in("olga@desk.example").status_code == 303
    shown = listed(visitor.get("/settings").text)
    assert [each for each in shown if each.startswith("/admin")] == ["/admin/people/rosters"]
    nora.remove("group", group).ok()


@pytest.mark.parametrize(
    ("q", "path"),
    [("footer", "/search/email_signature"), ("SLA", "/admin/targets"), ("canned reply", "/snippets")],
)
def test_the_settings_are_searched_without_scripts(signed_in: Visitor, q: str, path: str) -> None:
    page = signed_in.get("/settings", params={"q": q}).text
    assert path in listed(page) and "/admin/backups" not in listed(page)


def test_pages_of_administration_lead_back_to_the_settings(signed_in: Visitor, nora: Api) -> None:
    for path in ("/admin/mail", "/admin/people/groups", "/automations/new", "/search/calendar", "/account/apps"):
        page = signed_in.get(path).text
        assert current(page) == ["/settings"], path
        assert 'class="crumb"' in page, path
    for path in ("/inbox", "/search/org", "/settings", "/", "/drafts"):
        assert 'class="crumb"' not in signed_in.get(path).text, path


def test_the_settings_are_filtered_while_typing(same_page: Page) -> None:
    same_page.goto("/settings")
    assert violations(same_page, part="main") == []
    field = same_page.get_by_role("searchbox", name="Filter settings")
    field.fill("backup")
    main = same_page.locator("main")
    expect(main.get_by_role("link", name="Backups")).to_be_visible()
    expect(main.get_by_role("link", name="Tokens")).to_be_hidden()
    expect(main.get_by_role("heading", name="Channels")).to_be_hidden()
    field.fill("nothing is called so")
    expect(main.get_by_text("No matches.")).to_be_visible()
    field.fill("")
    expect(main.get_by_role("link", name="Tokens")).to_be_visible()


# -- drafts and email that is sent later ------------------------------------------------------------------------------


def draft(nora: Api, name: str, subject: str, **fields: Any) -> int:
    """Creates a draft of a new ticket, and returns its id."""
    made = nora.people[name].create(
        "draft", type="mail.compose", name=subject, to="ana@customer.example", worker_id=nora.ids[name],
        params={"to": "ana@customer.example", "subject": subject, "content": "Hello", "group_id": nora.ids["support"]},
        **fields,
    ).ok()  # fmt: skip
    return int(made["id"])


def test_drafts_of_a_worker_are_in_one_list(milo: Visitor, nora: Api) -> None:
    before = counts(milo.get("/account").text)["drafts"]
    own, later = draft(nora, "milo", "Begun <b>"), draft(nora, "milo", "Tomorrow")
    other = draft(nora, "nora", "Of Nora")
    mine = nora.people["milo"]
    mine.update("draft", later, is_queued=1, queue_delivery_date=4_000_000_000).ok()
    page = milo.get("/drafts").text
    assert counts(page)["drafts"] == before + 2 and current(page) == ["/drafts"]
    assert "Begun &lt;b&gt;" in page and "Of Nora" not in page and f'href="/compose?draft={own}"' in page
    assert "Tomorrow" in text_of(milo.get("/drafts?q=is.queued:yes").text)
    sent = milo.send("/-/bulk", {"list": "/drafts", "do": "cancel", "ids[]": [str(later)]}, page="/drafts")
    assert sent.status_code == 303 and "Sending cancelled" in milo.get("/drafts").text
    assert "Tomorrow" not in text_of(milo.get("/drafts?q=is.queued:yes").text.partition("<tbody")[2])
    for name, id in (("milo", own), ("milo", later), ("nora", other)):
        nora.people[name].remove("draft", id).ok()
    assert counts(milo.get("/account").text)["drafts"] == before


# -- in a browser -----------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive("one page is tested in test_list_place.py")
def test_the_numbers_follow_the_acts_of_others_on_every_page(page: Page, nora: Api) -> None:
    page.goto("/account")
    number = page.locator("[data-view=unassigned]")
    before = int(number.inner_text())
    other = page.context.new_page()
    other.goto("/help")
    ticket = nora.create("ticket", subject="Counted live", group_id=nora.ids["support"], owner_id=0).ok()
    expect(number).to_have_text(str(before + 1))
    expect(other.locator("[data-view=unassigned]")).to_have_text(str(before + 1))
    nora.update("ticket", ticket["id"], status="closed").ok()
    expect(number).to_have_text(str(before))
    other.close()


@pytest.mark.exhaustive("the measures of one page")
def test_little_stands_above_the_inbox(same_page: Page, nora: Api) -> None:
    nora.create("ticket", subject="Below the head", group_id=nora.ids["support"], owner_id=0).ok()
    same_page.goto("/inbox?v=unassigned")
    expect(same_page.get_by_role("heading", level=1)).to_have_text("Unassigned")
    top = same_page.locator(".top").bounding_box()
    table = same_page.locator("table.list").bounding_box()
    assert top is not None and table is not None
    assert table["y"] - top["y"] - top["height"] <= 100
    assert same_page.get_by_role("link", name="Lists", exact=True).count() == 0
    assert violations(same_page) == []


@pytest.mark.exhaustive("the bar of a phone is tested in test_look.py")
def test_the_lists_are_at_hand_on_a_phone(chromium: Browser, nora_in_a_browser: Visitor) -> None:
    with chromium.page(nora_in_a_browser.url, PHONE, nora_in_a_browser.cookies) as phone:
        phone.goto("/inbox?v=open")
        assert violations(phone) == []
        phone.get_by_role("link", name="Lists", exact=True).click()
        assert violations(phone, part=".rail") == []
        phone.get_by_role("link", name="Unassigned").click()
        expect(phone.get_by_role("heading", level=1)).to_have_text("Unassigned")
