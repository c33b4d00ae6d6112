"""A form that creates something is carried out once, however often and by whatever path it arrives."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import Page, expect

from server.people import accepted_forms
from tests.console.browser import Browser
from tests.console.test_tickets import answer_to, ticket, undo
from tests.console.visitor import Visitor, place, text_of
from tests.records.desk import NOW, Desk
from tests.service import Api, Server, people
from tests.telling import WITH_AND_WITHOUT_SCRIPTS, telling

__all__ = ["ticket"]
names = pytest.mark.parametrize


def count(nora: Api, uri: str, q: str) -> int:
    return int(nora.search(uri, q).ok()["total"])


def replies(nora: Api, ticket: dict[str, Any]) -> int:
    """Returns the number of replies that were sent or wait to be sent."""
    waiting = count(nora, "draft", f"ticket.id:{ticket['id']} is.queued:yes")
    return waiting + count(nora, "message", f"ticket.id:{ticket['id']} isOutgoing:yes")


def sent_twice(visitor: Visitor, path: str, form: dict[str, Any], page: str) -> list[requests.Response]:
    """Returns the responses to the same form, sent twice."""
    same = {**form, "_xsrf": visitor.token(page)}
    return [visitor.post(path, same) for _ in range(2)]


CREATED: dict[str, tuple[str, str, dict[str, str], str, str]] = {
    "a note": ("{page}/note", "{page}?answer=note", {"note": "Ask {word}"}, "comment", "{word}"),
    "a ticket": (
        "/compose", "/compose",
        {"to": "ana@kite.example", "subject": "{word}", "content": "Hello", "bucket": "{bucket}", "status": "1",
         "do": "save"},
        "ticket", "subject:{word}",
    ),
    "notes on several": ("/inbox/note", "/inbox", {"ids[]": "{id}", "note": "All {word}"}, "comment", "{word}"),
    "a comment": ("/records/task/{task}/comment", "/records/task/{task}", {"comment": "{word}"}, "comment", "{word}"),
    "a record": ("/records/task/new", "/records/task/new", {"title": "{word}"}, "task", "title:{word}"),
    "a group": ("/admin/people/groups/new", "/admin/people/groups/new", {"name": "{word}"}, "group", "name:{word}"),
    "a token": (
        "/admin/tokens/new", "/admin/tokens/new",
        {"worker_id": "#1", "app_id": "#{app}", "scopes[]": "api", "expires": "1 hour", "label": "{word}"}, "", "",
    ),
}  # fmt: skip


@names("kind", list(CREATED))
def test_a_form_sent_twice_creates_one(signed_in: Visitor, nora: Api, ticket: dict[str, Any], kind: str) -> None:
    word = kind.replace(" ", "")
    bucket = nora.search("bucket", "").ok()["results"][0]["id"]
    known = {**ticket, "word": word, "bucket": bucket, "app": nora.ids["app"]}
    known["task"] = nora.create("task", title="Order a flange").ok()["id"]
    path, page, form, uri, q = CREATED[kind]
    filled = {name: value.format(**known) for name, value in form.items()}
    answers = sent_twice(signed_in, path.format(**known), filled, page.format(**known))
    assert answers[0].status_code in (200, 303), text_of(answers[0].text)
    assert answers[1].status_code == answers[0].status_code, text_of(answers[1].text)
    assert answers[1].headers.get("Location") == answers[0].headers.get("Location")
    if uri:
        assert count(nora, uri, q.format(**known)) == 1
    else:
        assert answers[0].text == answers[1].text, "the page that is shown once is shown for the same form"
        assert signed_in.get(f"/admin/tokens?q={word}").text.count(f">{word}<") == 2, "one pair"


@names("form", [{}, {"do": "save"}], ids=["sent", "only saved"])
def test_a_reply_submitted_twice_is_sent_once(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], form: dict[str, str]
) -> None:
    page = ticket["page"]
    first, second = sent_twice(signed_in, f"{page}/answer", answer_to(ticket, **form), page)
    assert (first.status_code, second.status_code) == (303, 303), text_of(second.text)
    assert place(first) == place(second) and replies(nora, ticket) == 1


def test_two_simultaneous_submissions_are_sent_once(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    page = ticket["page"]
    form = answer_to(ticket) | {"_xsrf": signed_in.token(page)}
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: signed_in.post(f"{page}/answer", form), range(6)))
    assert {(each.status_code, place(each)) for each in answers} == {(303, place(answers[0]))}
    assert replies(nora, ticket) == 1


def test_the_second_submission_can_undo_like_the_first(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    page = ticket["page"]
    sent_twice(signed_in, f"{page}/answer", answer_to(ticket), page)
    undo(signed_in, page)
    assert replies(nora, ticket) == 0
    again = signed_in.send(f"{page}/answer", answer_to(ticket), page=page)
    assert again.status_code == 303 and replies(nora, ticket) == 1, "what was taken back may be sent again as it is"


def test_a_revision_of_a_draft_is_sent_once(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    """Two tabs show the same draft."""
    page = ticket["page"]
    kept = signed_in.post(f"{page}/draft", answer_to(ticket) | {"_xsrf": signed_in.token(page)}).json()
    known = {"draft": str(kept["draft"]), "revision": kept["revision"]}
    tabs = [answer_to(ticket, **known) | {"_xsrf": signed_in.token(page)} for _ in range(2)]
    first, second = (signed_in.post(f"{page}/answer", form) for form in tabs)
    assert place(first) == place(second) and replies(nora, ticket) == 1
    changed = signed_in.post(f"{page}/answer", tabs[1] | {"content": "It is on its way. Really."})
    assert changed.status_code == 409 and "You already sent this draft" in changed.text
    assert "It is on its way. Really." in changed.text and replies(nora, ticket) == 1


def test_the_same_text_in_another_form_is_confirmed(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    """Going back without scripts: the page is a new one, and the browser restores the text."""
    page = ticket["page"]
    assert signed_in.send(f"{page}/answer", answer_to(ticket), page=page).status_code == 303
    asked = signed_in.send(f"{page}/answer", answer_to(ticket), page=page)
    assert asked.status_code == 409 and "a moment ago" in asked.text and replies(nora, ticket) == 1
    fields = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', asked.text))
    assert signed_in.post(f"{page}/answer", fields).status_code == 303
    assert replies(nora, ticket) == 2, "somebody wanted it twice"


def test_a_refused_form_may_be_sent_again(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    page = ticket["page"]
    form = answer_to(ticket, to="nobody at all") | {"_xsrf": signed_in.token(page)}
    assert [signed_in.post(f"{page}/answer", form).status_code for _ in range(2)] == [422, 422]
    assert signed_in.post(f"{page}/answer", form | {"to": "ana@kite.example"}).status_code == 303
    assert replies(nora, ticket) == 1


def test_a_form_is_recognized_after_a_restart(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    client = server.set_up()
    people(client)
    visitor = Visitor(server.url)
    visitor.sign_in()
    form = {"title": "Order a flange", "_xsrf": visitor.token("/records/task/new")}
    first = visitor.post("/records/task/new", form)
    server.kill()
    server = Server(tmp_path / "data")
    visitor.url = client.url = server.url
    try:
        second = visitor.post("/records/task/new", form)
        assert (second.status_code, place(second)) == (303, place(first))
        assert count(client, "task", "") == 1
    finally:
        assert server.stop() == 0


def test_an_interrupted_form_asks_for_confirmation(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    ines = desk.context(desk.worker("ines"))

    def claim(digest: str = "d", after: int = 0, names: tuple[str, ...] = ("f",)) -> str:
        ctx = replace(ines, now=NOW + after)
        return accepted_forms.claim(ctx, "/compose", names, digest, finds_twins=False, repeats=False).state

    try:
        states = [claim(), claim(), claim(after=accepted_forms.RUNNING_SECONDS), claim("other")]
        assert states == ["claimed", "running", "interrupted", "changed"]
        accepted_forms.release(ines, "/compose", ("f",))
        assert claim() == "claimed"
        accepted_forms.finish(ines, "/compose", ("f",), "d", {"location": "/"})
        assert (claim(), claim(names=("g", "f"))) == ("accepted", "accepted")
        due = NOW + accepted_forms.RETAINED_SECONDS
        assert accepted_forms.forget_old(desk.service, due - 1) == due
        assert accepted_forms.forget_old(desk.service, due) is None and claim() == "claimed"
    finally:
        desk.close()


# -- in a browser -----------------------------------------------------------------------------------------------------


def click_twice(page: Page) -> None:
    page.get_by_role("button", name="Send", exact=True).dblclick()


def press_twice(page: Page) -> None:
    page.locator("#content").focus()
    page.keyboard.down("Control")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.up("Control")


@names("do", [click_twice, pytest.param(press_twice, marks=pytest.mark.exhaustive("by keys as well"))])
@names("is_kept", telling({"stored": True, "at once": False}, ("stored",), "before the draft is stored as well"))
def test_two_clicks_send_one_reply(
    page: Page, nora: Api, ticket: dict[str, Any], do: Callable[[Page], None], is_kept: bool
) -> None:
    page.goto(f"{ticket['page']}?answer=reply")
    page.locator("#content").fill("It is on its way.")
    if is_kept:
        expect(page.locator("[data-kept]")).to_have_text("Draft stored.")
    do(page)
    expect(page).to_have_url(re.compile("#draft"))
    expect(page.locator("#toasts")).to_contain_text("Sending in")
    assert replies(nora, ticket) == 1
    assert count(nora, "draft", f"ticket.id:{ticket['id']} is.queued:no") == 0


@pytest.mark.exhaustive("the repeated form is tested without a browser")
@names("scripts", WITH_AND_WITHOUT_SCRIPTS)
def test_going_back_and_sending_again(
    chromium: Browser, nora_in_a_browser: Visitor, nora: Api, ticket: dict[str, Any], scripts: bool
) -> None:
    cookies = nora_in_a_browser.cookies
    with chromium.page(nora_in_a_browser.url, cookies=cookies, java_script_enabled=scripts) as page:
        page.goto(f"{ticket['page']}?answer=reply")
        page.locator("#content").fill("It is on its way.")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator(".said-list")).to_contain_text("It is on its way.")
        page.go_back()
        expect(page.locator("#content")).to_have_value("It is on its way.")
        page.get_by_role("button", name="Send", exact=True).click()
        if scripts:
            expect(page.locator(".said-list")).to_contain_text("It is on its way.")
        else:
            expect(page.get_by_role("alert")).to_contain_text("You sent the same form a moment ago.")
        assert replies(nora, ticket) == 1
