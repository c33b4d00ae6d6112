"""Names of ticket statuses in the console: on a ticket, in lists, on selected tickets, and their page."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from server.record_types.shared import paths
from tests.console.browser import violations
from tests.console.test_tickets import undo
from tests.console.visitor import Visitor, text_of
from tests.service import Api


@pytest.fixture
def word(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return f"s{abs(hash(request.node.name)) % 10**9}"


@pytest.fixture
def ticket(nora: Api, word: str) -> dict[str, Any]:
    """An open ticket; `page` is its path."""
    made = nora.create("ticket", subject=f"Pump {word}", group_id=nora.ids["support"]).ok().json
    return {**made, "page": paths.ticket(made["mask"])}


@pytest.fixture
def supplier(nora: Api, word: str) -> int:
    made = nora.create("ticket_status", name=f"{word} for supplier", status="waiting", color="orange").ok().json
    return int(made["id"])


def state(nora: Api, ticket: dict[str, Any]) -> tuple[str, str]:
    now = nora.record("ticket", ticket["id"]).ok().json
    return now["status"], now["status_name"]


def test_the_head_of_a_ticket_sets_a_name_and_undoes_it(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], supplier: int, word: str
) -> None:
    seen = {"name": "status", "was_status_id": "0", "was_status_name_id": "0", "was_reopen_date": "0"}
    signed_in.send(f"{ticket['page']}/set", {**seen, "value": str(supplier)}, page=ticket["page"])
    assert state(nora, ticket) == ("waiting", f"{word} for supplier")
    undo(signed_in, ticket["page"])
    assert state(nora, ticket) == ("open", "")
    nora.update("ticket", ticket["id"], status_name_id=supplier).ok()
    seen |= {"was_status_id": "1", "was_status_name_id": str(supplier)}
    signed_in.send(f"{ticket['page']}/set", {**seen, "value": "waiting", "reopen_at": "+2 days"}, page=ticket["page"])
    assert state(nora, ticket)[1], "a snooze keeps the name"
    assert f"Status: {word} for supplier" in signed_in.get(ticket["page"]).text


def test_a_name_that_somebody_else_set_meanwhile_is_shown(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], supplier: int, word: str
) -> None:
    nora.update("ticket", ticket["id"], status_name_id=supplier).ok()
    seen = {"name": "status", "was_status_id": "1", "was_status_name_id": "0", "was_reopen_date": "0"}
    response = signed_in.send(f"{ticket['page']}/set", {**seen, "value": "waiting"}, page=ticket["page"])
    assert response.status_code == 409 and f"{word} for supplier" in text_of(response.text)


def test_selected_tickets_get_a_name(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], supplier: int, word: str
) -> None:
    other = nora.create("ticket", subject=f"Hose {word}", group_id=nora.ids["support"], status="waiting").ok().json
    form = {"list": "/inbox", "do": "status", "ids[]": [ticket["id"], other["id"]], "value_status": str(supplier)}
    signed_in.send("/-/bulk", form, page="/inbox")
    assert state(nora, ticket) == state(nora, other) == ("waiting", f"{word} for supplier")
    undo(signed_in, "/inbox")
    assert [state(nora, each) for each in (ticket, other)] == [("open", ""), ("waiting", "")]


@pytest.mark.exhaustive("acts by words are tested in test_tags.py")
def test_a_name_is_found_by_its_words_on_a_ticket_and_on_selected_ones(
    page: Page, nora: Api, ticket: dict[str, Any], supplier: int, word: str
) -> None:
    page.goto(ticket["page"])
    page.get_by_label("Status: open").click()
    expect(page.get_by_role("button", name=f"{word} for supplier")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type(f"{word[:5]} for sup")
    page.get_by_role("option", name=f"{word} for supplier").first.click()
    expect(page.get_by_label(f"Status: {word} for supplier")).to_be_visible()
    nora.update("ticket", ticket["id"], status="open").ok()
    page.goto(f"/search/ticket?q={word}")
    page.get_by_role("checkbox", name=f"Pump {word}").check()
    page.keyboard.press("Control+k")
    page.keyboard.type(f"{word[:5]} for sup")
    page.get_by_role("option", name=f"Status: {word} for supplier").first.click()
    expect(page.locator("tbody")).to_contain_text(f"{word} for supplier")


def test_an_administrator_adds_orders_renames_and_deletes_statuses(signed_in: Visitor, nora: Api, word: str) -> None:
    new = "/admin/statuses/new"
    assert 'value="2" selected' in signed_in.get(f"{new}?state=2").text
    for name in (f"{word} a", f"{word} b"):
        signed_in.send(new, {"name": name, "status_id": "2", "color": "red", "group_id": ""}, page=new)
    ids = [nora.found("ticket_status", f'name:(exact:"{word} {each}")')[0] for each in "ab"]
    again = {"name": f"{word.upper()} A", "status_id": "0", "color": "red", "group_id": ""}
    wrong = signed_in.send(new, again, page=new)
    assert 'aria-invalid="true"' in wrong.text and f"here is a status {word} a already" in text_of(wrong.text)
    signed_in.send(f"/admin/statuses/{ids[1]}/move", {"to": "up"}, page="/admin/statuses")
    listed = signed_in.get("/admin/statuses").text
    assert listed.index(f"{word} b") < listed.index(f"{word} a")
    one = f"/admin/statuses/{ids[0]}"
    signed_in.send(one, {"name": f"{word} c", "color": "green", "group_id": ""}, page=one)
    assert nora.record("ticket_status", ids[0]).ok()["name"] == f"{word} c"
    signed_in.send(f"{one}/delete", {}, page=one)
    assert f"{word} c" not in text_of(signed_in.get("/admin/statuses").text).replace(f"{word} c deleted", "")


def test_a_deleted_status_is_restored_with_its_tickets_and_rules(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], supplier: int, word: str
) -> None:
    steps = [{"kind": "status", "status": str(supplier)}]
    form = {"title": word, "when": ["created"], "conditions": [f"subject:{word}"], "steps": steps}
    rule = nora.create("automation", extension_id="svc.trigger.ticket.event", form=json.dumps(form)).ok()["id"]
    nora.update("ticket", ticket["id"], status_name_id=supplier).ok()
    one = f"/admin/statuses/{supplier}"
    signed_in.send(f"{one}/delete", {}, page=one)
    assert state(nora, ticket) == ("waiting", "")
    undo(signed_in, "/admin/statuses")
    assert state(nora, ticket) == ("waiting", f"{word} for supplier")
    assert nora.found("ticket", f'status:"{word} for supplier"') == [ticket["id"]]
    assert f"Switch off {word}" in signed_in.get("/admin/rules").text
    nora.remove("automation", rule).ok()


# -- compose and reply -------------------------------------------------------------------------------------------------


def test_compose_and_reply_take_a_name(nora: Api, supplier: int, word: str) -> None:
    mail = {
        "group_id": nora.ids["support"],
        "to": "ana@kite.example",
        "subject": word,
        "content": "Hello",
        "dont_send": 1,
    }
    made = nora.compose(**mail, status_name=f"{word} for supplier").ok().json
    assert (made["status"], made["status_name"]) == ("waiting", f"{word} for supplier")
    reply = {"message_id": made["initial_message_id"], "content": "More", "dont_send": 1}
    kept = nora.reply(**reply, status=1).ok()
    assert kept["status_name"] == f"{word} for supplier"
    assert nora.reply(**reply).ok()["status_name"] == ""
    assert nora.reply(**reply, status_name=f"{word} FOR supplier").ok()["status"] == "waiting"
    wrong = nora.reply(**reply, status=2, status_name=f"{word} for supplier")
    assert wrong.status == 422 and wrong.json["errors"][0]["field"] == "status_name"
    assert nora.reply(**reply, status_name=f"{word} for suplier").status == 422
    later = nora.compose(**{**mail, "dont_send": 0}, send_at="+1 hour", status_name=f"{word} for supplier").ok()
    assert (later["params"]["status_id"], later["params"]["status_name"]) == (1, f"{word} for supplier")
    nora.remove("draft", later["id"]).ok()


def test_compose_and_reply_take_no_name_of_another_group(nora: Api, word: str) -> None:
    group = nora.create("group", name=word).ok()["id"]
    name = nora.create("ticket_status", name=f"{word} sales", status="waiting", group_id=group).ok()["name"]
    mail = {"to": "ana@kite.example", "subject": word, "content": "Hello", "dont_send": 1, "status_name": name}
    wrong = nora.compose(**mail, group_id=nora.ids["support"])
    assert wrong.status == 422 and wrong.json["errors"][0]["field"] == "status_name"
    assert f"'{name}' is a status of the group {word} alone" in wrong.json["errors"][0]["message"]
    made = nora.compose(**mail, group_id=group).ok().json
    assert (made["status"], made["status_name"]) == ("waiting", name)
    reply = {"message_id": made["initial_message_id"], "content": "More", "dont_send": 1, "status_name": name}
    assert nora.reply(**reply, group_id=nora.ids["support"]).status == 422
    moved = nora.reply(
        message_id=made["initial_message_id"], content="More", dont_send=1, status=1, group_id=nora.ids["support"]
    )
    assert (moved.ok()["status"], moved["status_name"]) == ("waiting", "")


def test_a_reply_form_sets_a_name_and_its_draft_has_it(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], supplier: int, word: str
) -> None:
    mail = {"sender": "ana@kite.example", "headers": "From: ana@kite.example\r\n", "content": "It leaks."}
    message = nora.create("message", ticket_id=ticket["id"], **mail).ok()["id"]
    choice = f"1.{word} for supplier"
    assert f'<option value="{choice}">' in signed_in.get(ticket["page"]).text
    form = {"kind": "reply", "to": "ana@kite.example", "content": "Soon.", "status": choice, "message": str(message)}
    kept = signed_in.send(f"{ticket['page']}/draft", form, page=ticket["page"])
    assert kept.status_code in (200, 303)
    assert f'<option value="{choice}" selected>' in signed_in.get(ticket["page"]).text
    [draft] = nora.found("draft", f"ticket.id:{ticket['id']}")
    assert nora.record("draft", draft).ok()["params"]["status_id"] in (1, "1")
    signed_in.send(f"{ticket['page']}/answer", {**form, "do": "wait"}, page=ticket["page"])
    assert state(nora, ticket) == ("waiting", f"{word} for supplier")


@pytest.mark.exhaustive("what selected tickets get is tested above")
def test_selected_tickets_are_offered_what_all_their_groups_use(page: Page, nora: Api, word: str) -> None:
    depot = nora.create("group", name=f"{word} depot").ok()["id"]
    nora.create("ticket_status", name=f"{word} packing", status="open", group_id=depot).ok()
    everywhere = nora.create("ticket_status", name=f"{word} anywhere", status="open").ok()["id"]
    for number, group in enumerate((nora.ids["support"], depot, depot)):
        nora.create("ticket", subject=f"Crate {word} {number}", group_id=group).ok()
    page.goto(f"/search/ticket?q={word}")
    choice, left_out = page.locator(".bulk").get_by_label("Status", exact=True), page.get_by_text("are left out")
    page.get_by_role("checkbox", name=f"Crate {word} 1").check()
    page.locator(".bulk summary").click()
    expect(left_out).to_be_hidden()
    choice.select_option(label=f"{word} packing")
    page.get_by_role("checkbox", name=f"Crate {word} 0").check()
    expect(choice).to_have_value("")
    page.locator(".bulk summary").click()  # the menu closes with a click outside
    expect(choice.get_by_role("option", name=f"{word} packing", include_hidden=True)).to_be_disabled()
    expect(left_out).to_be_visible()
    assert violations(page) == []
    choice.select_option(str(everywhere))
    page.locator(".bulk").get_by_role("button", name="Status", exact=True).click()
    expect(page.locator("tbody")).to_contain_text(f"{word} anywhere")


def test_a_deleted_group_takes_its_statuses_along(signed_in: Visitor, nora: Api, word: str) -> None:
    group = nora.create("group", name=f"{word} depot").ok()["id"]
    own = nora.create("ticket_status", name=f"{word} packing", status="waiting", group_id=group).ok()["id"]
    ticket = nora.create("ticket", subject=f"Crate {word}", group_id=group, status_name_id=own).ok().json
    sentence = f"1 ticket status that only this group uses is deleted: {word} packing. Tickets keep their state."
    path = f"/admin/people/groups/{group}/delete"
    assert sentence in text_of(signed_in.get(path).text)
    signed_in.send(path, {}, page=path)
    assert nora.record("ticket_status", own).status == 404
    assert state(nora, ticket) == ("waiting", "")
