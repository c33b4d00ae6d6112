"""A ticket's page as used without scripts: properties, people, merging, replies, drafts. In a browser see
test_support_day.py; for permissions, test_records.py and test_hostile_pages.py."""

import email.utils
import html
import re
from typing import Any

import pytest

from tests.console.visitor import Visitor, place, text_of
from tests.service import Api

names = pytest.mark.parametrize


@pytest.fixture
def ticket(nora: Api, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A ticket by mail, with its message as `message`. No two mails are equal."""
    head = "From: Ana Lund <ana@kite.example>\nTo: support@desk.example\nSubject: Pump\n"
    text = f"It leaks. {request.node.name}"
    made = nora.parse(f"{head}Message-ID: <{abs(hash(text))}@kite.example>\n\n{text}\n").ok()
    [message] = nora.found("message", f"ticket.id:{made['id']}")
    return {**made.json, "message": message, "page": f"/tickets/{made['mask']}"}


def stored(nora: Api, ticket: dict[str, Any]) -> dict[str, Any]:
    return nora.record("ticket", ticket["id"], "requester_emails,watchers").ok().json


def undo(visitor: Visitor, path: str) -> None:
    """Presses Undo in the message of the next page."""
    page = visitor.get(path).text
    [form] = re.findall(r'<div class="toast">.*?<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', page, re.DOTALL)
    fields = {name: html.unescape(text) for name, text in re.findall(r'name="([^"]+)" value="([^"]*)"', form[1])}
    assert visitor.post(form[0], fields).status_code == 303


@names(("name", "value", "column", "after"), [
    ("status", "closed", "status", "closed"), ("status", "waiting", "status", "waiting"),
    ("owner", "me", "owner_id", "nora"), ("owner", "Milo Test", "owner_id", "milo"),
    ("importance", "90", "importance", 90), ("subject", "The pump", "subject", "The pump"),
])  # fmt: skip
def test_a_property_is_saved_alone_and_undone(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], name: str, value: str, column: str, after: Any
) -> None:
    before = stored(nora, ticket)
    seen = {"was_status_id": "0", "was_reopen_date": "0", "was_owner_id": "0", "was_importance": "50",
            "was_subject": "Pump"}  # fmt: skip
    response = signed_in.send(f"{ticket['page']}/set", {"name": name, "value": value, **seen}, page=ticket["page"])
    assert (response.status_code, place(response)) == (303, ticket["page"]), text_of(response.text)
    expected = (1 if after == "nora" else nora.ids[after]) if after in ("nora", "milo") else after
    assert stored(nora, ticket)[column] == expected
    undo(signed_in, ticket["page"])
    assert stored(nora, ticket)[column] == before[column]


def test_the_slower_worker_sees_both_values_and_chooses(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    nora.update("ticket", ticket["id"], subject="Theirs").ok()
    form = {"name": "subject", "value": "Mine", "was_subject": "Pump"}
    response = signed_in.send(f"{ticket['page']}/set", form, page=ticket["page"])
    told = text_of(response.text)
    assert response.status_code == 409 and "Theirs" in told and "Mine" in told
    assert stored(nora, ticket)["subject"] == "Theirs", "nothing is written before somebody chose"
    fields = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', response.text))
    assert signed_in.post(f"{ticket['page']}/set", fields).status_code == 303
    assert stored(nora, ticket)["subject"] == "Mine"


@names(("fields", "told"), [
    ({"name": "nosuch", "value": "1"}, "This property does not exist"), ({"name": "status", "value": "gone"},
                                                                         "Choose open"),
    ({"name": "status", "value": "waiting", "reopen_at": "yesterday 9am"}, "has passed"),
    ({"name": "status", "value": "waiting", "reopen_at": "mon 25pm"}, "mon 25pm"),
    ({"name": "importance", "value": "900"}, "Importance"), ({"name": "owner", "value": "Nobody Known"}, "exactly"),
])  # fmt: skip
def test_an_invalid_value_is_refused_with_the_reason(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], fields: dict[str, str], told: str
) -> None:
    before = stored(nora, ticket)
    seen = {"was_status_id": "0", "was_reopen_date": "0", "was_importance": "50", "was_owner_id": "0"}
    response = signed_in.send(f"{ticket['page']}/set", {**seen, **fields}, page=ticket["page"])
    assert response.status_code in (400, 422) and told in text_of(response.text), text_of(response.text)[:400]
    assert stored(nora, ticket) == before


def test_requesters_and_watchers_are_added_and_removed(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    page = ticket["page"]
    signed_in.send(f"{page}/requester", {"email": "bo@kite.example"}, page=page)
    assert "bo@kite.example" in stored(nora, ticket)["requester_emails"]
    undo(signed_in, page)
    assert "bo@kite.example" not in stored(nora, ticket)["requester_emails"]
    signed_in.send(f"{page}/watch", {"on": "1"}, page=page)
    assert "1" in stored(nora, ticket)["watchers"] and 'name="worker" value="1"' in signed_in.get(page).text
    signed_in.send(f"{page}/watch", {"on": "0"}, page=page)
    assert not stored(nora, ticket)["watchers"]
    signed_in.send(f"{page}/watch", {"on": "1", "worker": f"Milo #{nora.ids['milo']}"}, page=page)
    assert list(stored(nora, ticket)["watchers"]) == [str(nora.ids["milo"])]
    undo(signed_in, page)
    assert not stored(nora, ticket)["watchers"]


def test_spam_and_deletion_and_back(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    page = ticket["page"]
    signed_in.send(f"{page}/spam", {"is": "1"}, page=page)
    assert (stored(nora, ticket)["status"], stored(nora, ticket)["spam_training"]) == ("deleted", "S")
    assert "This ticket is deleted" in signed_in.get(page).text
    signed_in.send(f"{page}/spam", {"is": "0"}, page=page)
    assert (stored(nora, ticket)["status"], stored(nora, ticket)["spam_training"]) == ("open", "N")


def test_a_message_is_split_off(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    nora.reply(message_id=ticket["message"], content="And this?", dont_send=1).ok()
    response = signed_in.send(f"{ticket['page']}/split", {"message": str(ticket["message"])}, page=ticket["page"])
    assert place(response) != ticket["page"] and "It leaks." in signed_in.get(place(response)).text


# -- replies ----------------------------------------------------------------------------------------------------------


def answer_to(ticket: dict[str, Any], **more: str) -> dict[str, str]:
    form = {"kind": "reply", "to": "ana@kite.example", "content": "It is on its way.", "status": "1", "do": "send"}
    return {**form, "message": str(ticket["message"]), **more}


def test_a_reply_waits_so_that_it_can_be_undone(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    page, before = ticket["page"], stored(nora, ticket)
    response = signed_in.send(f"{page}/answer", answer_to(ticket, status="2", owner="Milo Test"), page=page)
    assert response.status_code == 303, text_of(response.text)
    assert (stored(nora, ticket)["status"], stored(nora, ticket)["owner_id"]) == ("closed", nora.ids["milo"])
    [draft] = nora.search("draft", f"ticket.id:{ticket['id']} is.queued:yes").ok()["results"]
    undo(signed_in, page)
    assert nora.search("draft", f"id:{draft['id']} is.queued:no").ok()["total"] == 1
    now = stored(nora, ticket)
    assert (now["status"], now["owner_id"]) == (before["status"], before["owner_id"])
    assert "It is on its way." in signed_in.get(page).text, "the words are in the form again"


def test_an_automatic_reply_says_so(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    message = nora.found("message", f"ticket.id:{ticket['id']}")[0]
    assert "</span> automatic</span>" not in signed_in.get(ticket["page"]).text
    nora.reply(message_id=message, content="We have it.", is_autoreply=1, dont_send=1).ok()
    assert "</span> automatic</span>" in signed_in.get(ticket["page"]).text
    assert nora.search("message", f"ticket.id:{ticket['id']} isAutoreply:yes").ok()["total"] == 1


def test_scheduled_mail_is_held_back_if_the_customer_writes_first(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    page = ticket["page"]
    for until_answered, is_queued in (("1", 0), ("", 1)):
        fields = answer_to(ticket, send_at="tomorrow 9am", until_answered=until_answered)
        assert signed_in.send(f"{page}/answer", fields, page=page).status_code == 303
        draft = nora.search("draft", f"ticket.id:{ticket['id']} sort:-id").ok()["results"][0]["id"]
        nora.create("message", ticket_id=ticket["id"], sender="ana@kite.example", headers="From: ana@kite.example",
                    content="Solved!").ok()  # fmt: skip
        assert nora.search("draft", f"id:{draft} is.queued:{'yes' if is_queued else 'no'}").ok()["total"] == 1
    told = nora.search("activity_log", f"activity:ticket.message.held target.ticket:(id:{ticket['id']})").ok()
    assert told["total"] == 1


def test_several_tickets_get_a_reply_at_once_and_it_is_undone(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    other = nora.parse("From: bo@kite.example\nTo: support@desk.example\nSubject: Valve\n\nIt sticks.\n").ok()
    empty = nora.create("ticket", subject="Empty", group_id=nora.ids["support"]).ok()
    ids = [str(each["id"]) for each in (ticket, other, empty)]
    chosen = signed_in.send("/-/bulk", {"list": "/inbox", "do": "reply", "ids[]": ids}, page="/inbox")
    assert place(chosen) == f"/inbox/reply?ids={'%2C'.join(ids)}&back=%2Finbox"
    shown = text_of(signed_in.get(place(chosen)).text)
    assert "Valve" in shown and "Send 3 replies" in shown
    blank = signed_in.send("/inbox/reply", {"ids[]": ids, "content": " ", "status": "1"}, page=place(chosen))
    assert blank.status_code == 422 and "Write a reply first" in blank.text
    form = {"ids[]": ids, "content": "All **fixed**.", "status": "2"}
    assert place(signed_in.send("/inbox/reply", form, page=place(chosen))) == "/inbox"
    told = signed_in.get("/inbox").text
    assert "2 replies sent." in told and f"{empty['mask']}: there is no message to reply to" in text_of(told)
    waiting = f"ticket.id:[{','.join(ids)}] is.queued:"
    assert nora.search("draft", f"{waiting}yes").ok()["total"] == 2
    drafts = re.findall(r'name="drafts\[\]" value="(\d+)"', told)
    signed_in.send("/inbox/reply/take-back", {"drafts[]": drafts}, page="/account")
    assert nora.search("draft", f"{waiting}no").ok()["total"] == 2


def test_two_tabs_never_overwrite_each_other(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    path = f"{ticket['page']}/draft"
    token = {"_xsrf": signed_in.token(ticket["page"])}
    first = signed_in.post(path, answer_to(ticket, content="One") | token).json()
    known = {"draft": str(first["draft"]), "revision": first["revision"]}
    second = signed_in.post(path, answer_to(ticket, content="Two", **known) | token).json()
    assert second["draft"] == first["draft"] and second["revision"] != first["revision"]
    late = signed_in.post(path, answer_to(ticket, content="Three", **known) | token).json()
    assert "another tab" in late["conflict"]
    assert nora.record("draft", first["draft"], "content").ok()["content"] == "Two"
    shown = signed_in.get(ticket["page"]).text
    assert "Two" in shown and "Three" not in shown
    nora.update("ticket", ticket["id"], owner_id=nora.ids["milo"], status="closed").ok()
    assert "Two" in signed_in.get(ticket["page"]).text, "whatever becomes of the ticket"


@names(("fields", "told"), [
    ({"content": ""}, "content"), ({"to": "nobody at all"}, "to"), ({"send_at": "yesterday"}, "has passed"),
    ({"content": "x", "cc": "a@b.example\nBcc: c@d.example"}, "one line"),
])  # fmt: skip
def test_a_refused_reply_preserves_its_text(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], fields: dict[str, str], told: str
) -> None:
    form = answer_to(ticket, subject="Words of mine") | fields
    response = signed_in.send(f"{ticket['page']}/answer", form, page=ticket["page"])
    assert response.status_code == 422 and told in text_of(response.text).lower() + text_of(response.text)
    assert form["content"] in response.text
    assert stored(nora, ticket)["num_messages"] == 1


def test_a_worker_who_may_not_change_a_ticket_has_no_form(visitor: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    visitor.sign_in("olga@desk.example")
    page = visitor.get(ticket["page"])
    assert page.status_code == 200 and f'action="{ticket["page"]}/answer"' not in page.text
    token = {"_xsrf": visitor.token("/account")}
    before = stored(nora, ticket)
    for path, fields in (
        ("set", {"name": "status", "value": "closed", "was_status_id": "0", "was_reopen_date": "0"}),
        ("answer", answer_to(ticket)), ("requester", {"email": "x@y.example"}), ("spam", {"is": "1"}),
        ("split", {"message": str(ticket["message"])}), ("restore", {"status_id": "2"}), ("watch", {"on": "1"}),
    ):  # fmt: skip
        response = visitor.post(f"{ticket['page']}/{path}", fields | token)
        assert response.status_code in (403, 422), (path, response.status_code)
    assert stored(nora, ticket) == before


@names("part", ["", "/merge", "/macros", "/live", "/set", "/answer", "/draft", "/presence", "/note", "/take-back"])
def test_unreadable_tickets_do_not_exist(visitor: Visitor, nora: Api, part: str) -> None:
    hidden = nora.create("ticket", subject="Salaries", group_id=nora.ids["private"]).ok().json
    visitor.sign_in("milo@desk.example")
    path = f"/tickets/{hidden['mask']}{part}"
    is_form = part not in ("", "/merge", "/macros", "/live")
    response = visitor.post(path, {"_xsrf": visitor.token("/account")}) if is_form else visitor.get(path)
    assert response.status_code == 403 and "Salaries" not in response.text


def test_due_dates_are_shown_in_lists_and_on_the_ticket(nora: Api, signed_in: Visitor) -> None:
    made = nora.create(
        "service_target", name="Soon", response_minutes=30, resolution_minutes=600, importance_min=97
    ).ok()  # sorted before those that other tests leave
    try:
        ticket = nora.create("ticket", subject="A pump in a hurry", group="Support", importance=99).ok()
        mask = nora.record("ticket", ticket["id"]).ok()["mask"]
        page = text_of(signed_in.get(f"/tickets/{mask}").text)
        assert re.search(r"First response ▲ due in \d+ minutes Due [\w :]+: 30 minutes from ", page)
        assert re.search(r"Resolution due in \d+ hours Due [\w :]+: 10 hours from ", page)
        listed = signed_in.get("/inbox?v=open&q=hurry").text
        assert re.search(r"badge[^>]*warn[^>]*>.{0,80}?due", listed, re.DOTALL) and ">Overdue<" in listed
        assert signed_in.get("/inbox?v=late").status_code == 200
        shown = signed_in.get("/admin/targets").text
        assert "Soon" in shown and "/admin/targets/new" in shown
        nora.update("ticket", ticket["id"], status="waiting").ok()
        waiting = text_of(signed_in.get(f"/tickets/{mask}").text)
        assert "Resolution paused less than a minute of 10 hours are used." in waiting
        nora.update("ticket", ticket["id"], status="closed").ok()
        assert "on time" in signed_in.get(f"/tickets/{mask}").text
    finally:
        nora.remove("service_target", made["id"]).ok()


def test_a_ticket_is_linked_and_the_link_removed(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    task = nora.create("task", title="Order the flange of the pump").ok()["id"]
    at, page = f"/records/ticket/{ticket['id']}", ticket["page"]
    for text in (str(task), "Order the flange of the pump"):
        assert place(signed_in.send(f"{at}/link", {"to": "task", "record": text}, page=page)) == page
        assert "Order the flange of the pump" in text_of(signed_in.get(page).text)
        signed_in.send(f"{at}/unlink", {"target": f"task:{task}"}, page=page)
        assert "Order the flange of the pump" not in text_of(signed_in.get(page).text.partition('id="links"')[2])
    for wrong, told in (
        ("", "enter the name or ID of a record"), ("0", "enter the name or ID of a record"),
        ("No such task at all", "no record has exactly that name"),
        ("999999", "there is no task 999999"),
    ):  # fmt: skip
        signed_in.send(f"{at}/link", {"to": "task", "record": wrong}, page=page)
        assert told in text_of(signed_in.get(page).text), wrong
    assert signed_in.send(f"{at}/link", {"to": "nothing", "record": "1"}, page=page).status_code == 404


def test_a_ticket_reminds_of_itself(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    at, page = f"/records/ticket/{ticket['id']}", ticket["page"]
    assert place(signed_in.send(f"{at}/remind", {"remind_at": "+2 days", "name": "Call Ana"}, page=page)) == page
    [made] = nora.search("reminder", "sort:-id", expand="links", limit=1).ok()["results"]
    assert (made["worker_id"], made["name"]) == (nora.ids["nora"], "Call Ana")
    undo(signed_in, page)
    assert nora.record("reminder", made["id"]).status == 404
    signed_in.send(f"{at}/remind", {"remind_at": "blurb", "name": "Never"}, page=page)
    assert "blurb" in signed_in.get(page).text
    signed_in.send(f"{at}/remind", {"remind_at": "+3 days", "name": "Call Bo"}, page=page)
    listed = signed_in.get("/reminders").text
    assert "Call Bo" in listed and "Never" not in listed


@names(
    ("date", "shown"),
    [
        ("Mon, 1 Jan 2001 10:00:00 -05:00", "The sender's date: Mon, Jan 1, 2001, 3:00 PM UTC"),
        ("Thu, 1 Jan 2099 10:00:00 +0000", "The sender's date: Thu, Jan 1, 2099, 10:00 AM UTC"),
        ("", ""),
        ("Thu, 1 Jan 1970 00:00:00 +0000", ""),
    ],
)
def test_the_date_of_a_wrong_clock_is_shown_next_to_the_arrival(
    signed_in: Visitor, nora: Api, date: str, shown: str
) -> None:
    date = date or email.utils.formatdate()  # a correct clock
    made = nora.parse(f"From: ana@kite.example\nTo: support@desk.example\nSubject: Clock\nDate: {date}\n\nTick.\n").ok()
    page = text_of(signed_in.get(f"/tickets/{made['mask']}").text)
    assert shown in page if shown else "sender's date" not in page


def test_a_file_that_was_too_large_is_listed_in_red_without_a_link(signed_in: Visitor, nora: Api) -> None:
    boundary = "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n<img src='cid:1'>See it.\n"
    big = "--b\nContent-Type: image/png; name=plan.png\nContent-ID: <1>\n\n" + "x" * 100_001
    small = "\n--b\nContent-Type: text/csv; name=list.csv\nContent-Disposition: attachment\n\n1;2\n--b--\n"
    made = nora.parse(f"From: ana@kite.example\nTo: support@desk.example\nSubject: Big\n{boundary}{big}{small}").ok()
    page = signed_in.get(f"/tickets/{made['mask']}").text
    [said] = re.findall(r'<li class="error">(.*?)</li>', page)
    assert text_of(said) == "plan.png (97.7 KiB) was too large and was not saved" and "<a" not in said
    assert "plan.png</a>" not in page and "list.csv</a>" in page
    [message] = nora.found("message", f"ticket.id:{made['id']}")
    body = signed_in.get(f"/messages/{message}/body").text
    assert "See it." in body and "/files/" not in body
