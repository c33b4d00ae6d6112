"""Two workers on one ticket: a reply stops once if its author has not seen a new message."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.test_once import replies
from tests.console.test_ticket_trials import mailed
from tests.console.test_tickets import answer_to, ticket
from tests.console.visitor import Visitor, text_of
from tests.service import Api, Server

__all__ = ["ticket"]
names = pytest.mark.parametrize
CLOSING = ("closed", "waiting")
STOPPED = "Not sent yet: somebody wrote on this ticket while you were writing."


@pytest.fixture
def milo(visitor: Visitor) -> Visitor:
    assert visitor.sign_in("milo@desk.example").status_code == 303
    return visitor


def opened(visitor: Visitor, ticket: dict[str, Any]) -> dict[str, str]:
    """Returns the reply form as the page shows it now, filled in."""
    [form] = re.findall(r"<form[^>]*data-writing=.*?</form>", visitor.get(ticket["page"]).text, re.DOTALL)
    hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))
    return {**hidden, **answer_to(ticket, content="It is on its way.")}


def a_message(nora: Api, milo: Visitor, ticket: dict[str, Any]) -> str:
    head = f"From: ana@kite.example\nTo: support@desk.example\nSubject: Re: [#{ticket['mask']}] Pump\n"
    nora.parse(f"{head}\nIt stopped by itself.\n").ok()
    return "It stopped by itself."


def a_waiting_reply(nora: Api, milo: Visitor, ticket: dict[str, Any]) -> str:
    form = answer_to(ticket, content="A flange is missing.")
    assert milo.send(f"{ticket['page']}/answer", form, page=ticket["page"]).status_code == 303
    return "A flange is missing."


def a_reply(nora: Api, milo: Visitor, ticket: dict[str, Any]) -> str:
    form = answer_to(ticket, content="We have written by hand.", do="save")
    assert milo.send(f"{ticket['page']}/answer", form, page=ticket["page"]).status_code == 303
    return "We have written by hand."


def a_note(nora: Api, milo: Visitor, ticket: dict[str, Any]) -> str:
    form = {"note": "I phoned her."}
    assert milo.send(f"{ticket['page']}/note", form, page=f"{ticket['page']}?answer=note").status_code == 303
    return "I phoned her."


@names("write", [a_message, a_waiting_reply, a_reply, a_note])
def test_a_reply_stops_once_for_an_unseen_message(
    signed_in: Visitor, nora: Api, milo: Visitor, ticket: dict[str, Any], write: Any
) -> None:
    form = opened(signed_in, ticket)
    words = write(nora, milo, ticket)
    before = replies(nora, ticket)
    stopped = signed_in.post(f"{ticket['page']}/answer", form)
    [notice] = re.findall(r'<div class="note warn unseen-entries".*?</div>', stopped.text, re.DOTALL)
    assert stopped.status_code == 409 and STOPPED in text_of(notice) and words in text_of(notice)
    assert form["content"] in stopped.text and "Send anyway" in stopped.text and replies(nora, ticket) == before
    [again] = re.findall(r"<form[^>]*data-writing=.*?</form>", stopped.text, re.DOTALL)
    fields = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', again))
    assert signed_in.post(f"{ticket['page']}/answer", form | fields).status_code == 303
    assert replies(nora, ticket) == before + 1


def test_messages_of_another_ticket_count_as_unseen(signed_in: Visitor, nora: Api) -> None:
    """They are older than the page."""
    older, newer = (mailed(nora, f"Smell of {name}") for name in ("glue", "gas"))
    form = opened(signed_in, older)
    nora.post("/rest/tickets/merge.json", **{"ticket_ids[]": [older["id"], newer["id"]]}).ok()
    assert signed_in.post(f"{older['page']}/answer", form).status_code == 409


@names("fields", [{"do": "draft"}, {"kind": "forward", "to": "bo@else.example"}, {"seen": "1.2"}, {"seen": ""}])
def test_other_forms_do_not_stop(
    signed_in: Visitor, nora: Api, milo: Visitor, ticket: dict[str, Any], fields: dict[str, str]
) -> None:
    form = opened(signed_in, ticket) | fields
    a_note(nora, milo, ticket)
    assert signed_in.post(f"{ticket['page']}/answer", form).status_code == 303


def test_a_refused_form_does_not_count_as_seen(
    signed_in: Visitor, nora: Api, milo: Visitor, ticket: dict[str, Any]
) -> None:
    form = opened(signed_in, ticket)
    a_note(nora, milo, ticket)
    refused = signed_in.post(f"{ticket['page']}/answer", form | {"to": "nobody at all"})
    assert refused.status_code == 422 and f'name="seen" value="{form["seen"]}"' in refused.text
    assert signed_in.post(f"{ticket['page']}/answer", form).status_code == 409


def test_ones_own_messages_stop_nothing(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    form = opened(signed_in, ticket)
    page = f"{ticket['page']}?answer=note"
    assert signed_in.send(f"{ticket['page']}/note", {"note": "I phoned her."}, page=page).status_code == 303
    assert signed_in.post(f"{ticket['page']}/answer", form).status_code == 303


# -- in a browser -----------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive("the same question without a browser above")
def test_before_a_reply_the_colleagues_reply_is_shown(
    page: Page, server: Server, nora: Api, milo: Visitor, ticket: dict[str, Any]
) -> None:
    for number in range(6):  # taller than the window
        nora.create("comment", target__context="ticket", target_id=ticket["id"], comment=f"{number}\n" * 30).ok()
    page.goto(f"{ticket['page']}?answer=reply")
    page.locator("#content").fill("It is on its way.")
    words = a_waiting_reply(nora, milo, ticket)
    page.get_by_role("button", name="Send", exact=True).click()
    notice = page.locator("#unseen")
    expect(notice).to_contain_text(words)
    expect(notice).to_be_focused()
    expect(page.locator("#content")).to_have_value("It is on its way.")
    page.get_by_role("button", name="Send anyway").click()
    expect(page.locator("#toasts")).to_contain_text("Sending in")
    assert replies(nora, ticket) == 2


def test_a_message_that_arrived_counts_as_seen_once_it_was_in_view(
    page: Page, nora: Api, milo: Visitor, ticket: dict[str, Any]
) -> None:
    page.goto(f"{ticket['page']}?answer=reply")
    page.locator("#content").fill("It is on its way.")
    seen = page.locator("form[data-writing] [name=seen]")
    before = seen.input_value()
    words = a_message(nora, milo, ticket)
    expect(page.locator(".said-list")).to_contain_text(words)
    page.locator(".said-list > li").last.scroll_into_view_if_needed()
    expect(seen).not_to_have_value(before)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Sending in")


@pytest.mark.exhaustive("every way to a ticket")
def test_after_back_a_reply_knows_what_its_page_shows(
    page: Page, nora: Api, milo: Visitor, ticket: dict[str, Any]
) -> None:
    seen = page.locator("form[data-writing] [name=seen]")
    page.goto(f"{ticket['page']}?answer=reply")
    before = seen.input_value()
    a_message(nora, milo, ticket)
    page.locator(".said-list > li").nth(1).scroll_into_view_if_needed()
    expect(seen).not_to_have_value(before)
    page.goto("/compose")
    a_reply(nora, milo, ticket)
    page.go_back()
    expect(page.locator(".said-list")).to_contain_text("We have written by hand.")
    expect(seen).to_have_value(str(page.locator("#ticket").get_attribute("data-seen")))
    assert seen.input_value().startswith("3.")


def test_the_other_writer_is_shown_as_long_as_they_write(
    page: Page, nora: Api, milo: Visitor, ticket: dict[str, Any]
) -> None:
    there = page.locator("[data-present]")
    sign = {"doing": "writing", "_xsrf": milo.token(ticket["page"])}
    assert milo.post(f"{ticket['page']}/presence", sign).status_code == 200
    page.goto(ticket["page"])
    expect(there).to_have_text("Milo Test is writing a reply")
    there.evaluate("each => { each.isTheSame = true }")
    nora.update("ticket", ticket["id"], subject="Pump, leaking").ok()
    expect(page.locator("h1")).to_have_text("Pump, leaking")  # the head of the page was replaced
    assert there.evaluate("each => each.isTheSame")  # so that a screen reader continues with the same element
    expect(there).to_have_text("Milo Test is writing a reply")
    milo.post(f"{ticket['page']}/presence", sign | {"doing": "viewing"})
    expect(there).to_have_text("Milo Test is viewing")


@pytest.mark.exhaustive("every kind of text that somebody writes")
def test_who_has_written_a_note_does_not_write_any_more(page: Page, milo: Visitor, ticket: dict[str, Any]) -> None:
    def doing() -> list[str]:
        return [each["doing"] for each in milo.get(f"{ticket['page']}/live").json()["people"]]

    page.goto(f"{ticket['page']}?answer=note")
    with page.expect_response(lambda response: "doing=noting" in (response.request.post_data or "")):
        page.locator("#note").fill("I phoned her.")
    assert doing() == ["noting"]
    with page.expect_response(lambda response: "doing=viewing" in (response.request.post_data or "")):
        page.locator("#note").press("Control+Enter")
    expect(page.locator("#thread")).to_contain_text("I phoned her.")
    assert doing() == ["viewing"]


def test_the_owner_changes_only_on_purpose_while_a_colleague_writes(
    signed_in: Visitor, nora: Api, milo: Visitor, ticket: dict[str, Any]
) -> None:
    page = ticket["page"]
    sign = {"doing": "noting", "_xsrf": milo.token(page)}
    assert milo.post(f"{page}/presence", sign).status_code == 200
    take = {"name": "owner", "value": "me", "was_owner_id": "0", "back": page}
    question = signed_in.send(f"{page}/set", take, page=page)
    assert question.status_code == 422
    assert "Milo Test is writing a note. Change the owner anyway?" in text_of(question.text)
    assert nora.record("ticket", ticket["id"])["owner_id"] == 0
    give = take | {"value": str(nora.ids["milo"])}
    assert signed_in.send(f"{page}/set", give, page=page).status_code == 303, "he is the one who writes"
    taken = take | {"was_owner_id": str(nora.ids["milo"]), "_sure": "1"}
    assert signed_in.send(f"{page}/set", taken, page=page).status_code == 303
    assert nora.found("ticket", f"id:{ticket['id']} owner.id:me") == [ticket["id"]]


@names(("path", "fields", "question"), [
    ("set", {"name": "status", "value": "closed"}, "Milo Test is writing a reply. Close anyway?"),
    ("set", {"name": "status", "value": "deleted"}, "Milo Test is writing a reply. Delete anyway?"),
    ("spam", {"is": "1"}, "Milo Test is writing a reply. Mark as spam and delete anyway?"),
], ids=["close", "delete", "spam"])  # fmt: skip
def test_a_ticket_ends_only_on_purpose_while_a_colleague_writes(
    signed_in: Visitor,
    nora: Api,
    milo: Visitor,
    ticket: dict[str, Any],
    path: str,
    fields: dict[str, str],
    question: str,
) -> None:
    page = ticket["page"]
    was = {"was_status_id": "0", "was_status_name_id": "0", "was_reopen_date": "0"}
    sign = {"doing": "writing", "_xsrf": milo.token(page)}
    assert milo.post(f"{page}/presence", sign).status_code == 200
    asked = signed_in.send(f"{page}/{path}", fields | was, page=page)
    assert asked.status_code == 422 and question in text_of(asked.text)
    assert nora.record("ticket", ticket["id"])["status"] == "open"
    [form] = re.findall(r"<form[^>]*data-asks=.*?</form>", asked.text, re.DOTALL)
    again = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))
    assert signed_in.post(f"{page}/{path}", again).status_code == 303
    assert nora.record("ticket", ticket["id"])["status"] == fields.get("value", "deleted")
    assert "/restore" in signed_in.get(page).text  # the undo


@names("doing", ["writing", "noting"])
def test_a_reply_that_closes_asks_once_while_a_colleague_writes(
    signed_in: Visitor, nora: Api, milo: Visitor, ticket: dict[str, Any], doing: str
) -> None:
    page = ticket["page"]
    form = opened(signed_in, ticket) | {"do": "close"}
    sign = {"doing": doing, "_xsrf": milo.token(page)}
    assert milo.post(f"{page}/presence", sign).status_code == 200
    asked = signed_in.send(f"{page}/answer", form, page=page)
    word = {"writing": "reply", "noting": "note"}[doing]
    assert asked.status_code == 409 and f"Milo Test is writing a {word}. Send and close anyway?" in text_of(asked.text)
    assert "It is on its way." in asked.text and "Send anyway" in asked.text
    assert replies(nora, ticket) == 0 and nora.record("ticket", ticket["id"])["status"] == "open"
    assert signed_in.send(f"{page}/answer", form | {"_sure": "1"}, page=page).status_code == 303
    assert replies(nora, ticket) == 1


@names("button", ["send", "wait", "save"])
def test_a_reply_that_leaves_the_ticket_open_asks_nothing(
    signed_in: Visitor, nora: Api, milo: Visitor, ticket: dict[str, Any], button: str
) -> None:
    page = ticket["page"]
    form = opened(signed_in, ticket) | {"do": button, "status": "2" if button == "save" else "0"}
    assert milo.post(f"{page}/presence", {"doing": "writing", "_xsrf": milo.token(page)}).status_code == 200
    assert signed_in.send(f"{page}/answer", form, page=page).status_code == 303


def test_a_named_status_that_closes_asks_too(
    signed_in: Visitor, nora: Api, milo: Visitor, ticket: dict[str, Any]
) -> None:
    page, name = ticket["page"], {"name": "status"}
    ids = {state: nora.create("ticket_status", name=f"By {state}", status=state).ok()["id"] for state in CLOSING}
    sign = {"doing": "noting", "_xsrf": milo.token(page)}
    assert milo.post(f"{page}/presence", sign).status_code == 200
    was = {"was_status_id": "0", "was_status_name_id": "0", "was_reopen_date": "0"}
    asked = signed_in.send(f"{page}/set", name | was | {"value": str(ids["closed"])}, page=page)
    assert asked.status_code == 422 and "Milo Test is writing a note. Close anyway?" in text_of(asked.text)
    bulk = {"list": "/inbox", "do": "status", "value_status": str(ids["closed"]), "ids[]": str(ticket["id"])}
    asked = signed_in.send("/-/bulk", bulk, page="/inbox?v=open")
    assert asked.status_code == 422 and "Milo Test is writing a note. Close anyway?" in text_of(asked.text)
    assert f'name="value_status" value="{ids["closed"]}"' in asked.text
    assert signed_in.send(f"{page}/set", name | was | {"value": str(ids["waiting"])}, page=page).status_code == 303


def test_a_question_names_no_ticket_that_the_worker_may_not_read(
    signed_in: Visitor, visitor: Visitor, nora: Api, milo: Visitor, ticket: dict[str, Any]
) -> None:
    """Ids in a form are no way to learn who writes on a hidden ticket."""
    hidden = mailed(nora, "Quince-hidden")
    sign = {"doing": "writing", "_xsrf": signed_in.token(hidden["page"])}
    assert signed_in.post(f"{hidden['page']}/presence", sign).status_code == 200
    nora.update("ticket", hidden["id"], group_id=nora.ids["private"]).ok()
    bulk = {"list": "/inbox", "do": "close", "ids[]": [str(hidden["id"]), str(ticket["id"])]}
    done = milo.send("/-/bulk", bulk, page="/inbox?v=open")
    assert done.status_code == 303 and "Quince" not in done.text
    assert nora.record("ticket", hidden["id"])["status"] == "open"


def test_who_writes_themselves_is_not_asked(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    page = ticket["page"]
    sign = {"doing": "writing", "_xsrf": signed_in.token(page)}
    assert signed_in.post(f"{page}/presence", sign).status_code == 200
    bulk = {"list": "/inbox", "do": "close", "ids[]": str(ticket["id"])}
    assert signed_in.send("/-/bulk", bulk, page="/inbox?v=open").status_code == 303
    assert nora.record("ticket", ticket["id"])["status"] == "closed"
