"""The acts of the writing assistant as a worker uses them: what each sends, what comes back, where it goes."""

import html
import re
from typing import Any

import pytest

from server import clock
from server.tickets.reopening import purge_deleted
from server.writing_assistant import model_calls
from server.writing_assistant.writing_acts import ActInput
from tests.console.visitor import place, text_of
from tests.model_server import MODEL, completion
from tests.writing_assistant.conftest import Office


@pytest.fixture
def ticket(office: Office) -> dict[str, Any]:
    return office.ticket()


def published(office: Office, title: str, content: str, **fields: Any) -> int:
    fields = {"status": "published", "format": "text", **fields}
    return int(office.nora.create("kb_article", title=title, content=content, **fields).ok()["id"])


def test_a_summary_is_in_the_language_of_the_worker_and_stored_as_no_message(
    office: Office, ticket: dict[str, Any]
) -> None:
    office.model.reply = "She wants a new hose."
    before = office.nora.found("message", f"ticket.id:{ticket['id']}")
    call = office.run(ticket, "summarize")
    assert (call["state"], call["into"], call["text"]) == ("done", "box", "She wants a new hose.")
    assert "Summary by the writing assistant" in call["html"] and MODEL in call["html"]
    [body] = office.model.completions
    assert body["model"] == MODEL and body["stream"] is False and body["max_tokens"] == 2048
    assert "The hose of the pump leaks." in office.model.sent and "tag en" in office.model.sent
    assert office.nora.found("message", f"ticket.id:{ticket['id']}") == before


def test_a_draft_names_the_articles_and_earlier_replies_that_the_model_used(office: Office) -> None:
    article = published(office, "Replace a gasket", "Close the valve, then press the gasket into its groove.")
    other = published(office, "Gasket sizes", "A gasket of the valve has 40 mm.")
    earlier = office.ticket("Gasket of the valve", "My gasket of the valve is torn.")
    form = {
        "kind": "reply",
        "message": str(earlier["message"]),
        "to": "ana@kite.example",
        "do": "save",
        "content": "Take gasket 40-B. Call +49 30 1234567 or mail ida@larch.example.",
    }
    answer = f"{earlier['page']}/answer"
    assert office.visitor.send(answer, form, page=earlier["page"]).status_code == 303
    ticket = office.ticket("Valve drips", "The gasket of the valve is gone, which gasket do I need?")
    office.model.reply = "Take the one of 40 mm.\n\nSources: 1, 3"
    call = office.run(ticket, "draft", typed="\n\n#signature")
    assert call["text"] == "Take the one of 40 mm.\n\n#signature" and call["into"] == "form"
    sent = office.model.sent
    titles = re.findall(r"SOURCE \d, [A-Z ]+\n(.*)\n", sent)
    assert sorted(titles[:2]) == ["Gasket sizes", "Replace a gasket"] and titles[2] == "Gasket of the valve"
    assert "Take gasket 40-B. Call [number] or mail [address]." in sent
    links = re.findall(r'<a href="([^"]+)"', call["html"])
    assert links == [f"/articles/{article if titles[0] == 'Replace a gasket' else other}", earlier["page"]]
    assert "The gasket of the valve is gone" in sent and "Ana Lund" in sent


def test_what_the_worker_typed_guides_the_draft(office: Office, ticket: dict[str, Any]) -> None:
    office.run(ticket, "draft", typed="no refund, but a new hose\n\n#signature\n\n#original_message")
    assert "WHAT THE WORKER WANTS TO SAY\nno refund, but a new hose\n" in office.model.sent
    assert "#original_message" not in office.model.sent


@pytest.mark.parametrize(
    ("act", "words"),
    [("shorter", "shorter"), ("friendlier", "friendlier"), ("spelling", "Correct spelling")],
)
def test_a_rewrite_sends_the_text_alone_and_keeps_what_follows_it(
    office: Office, ticket: dict[str, Any], act: str, words: str
) -> None:
    office.model.reply = "We send a hose."
    call = office.run(ticket, act, typed="We sent you an hose.\n\n#signature")
    assert call["text"] == "We send a hose.\n\n#signature"
    assert words in office.model.sent and "The hose of the pump leaks" not in office.model.sent


def test_a_selection_is_replaced_as_it_is(office: Office, ticket: dict[str, Any]) -> None:
    office.model.reply = "hose"
    assert office.run(ticket, "spelling", typed="hoose", selection="1")["text"] == "hose"


def test_a_message_is_translated_for_the_worker(office: Office, ticket: dict[str, Any]) -> None:
    office.model.reply = "Der Schlauch leckt."
    call = office.run(ticket, "translate_message", message=str(ticket["message"]))
    assert call["into"] == "box" and "Der Schlauch leckt." in call["html"]
    assert "Pump leaks" not in office.model.sent, "the subject is not part of the message"


def test_a_draft_is_translated_into_the_language_of_the_contact_or_of_the_messages(office: Office) -> None:
    ticket = office.ticket("Language", "Die Pumpe leckt seit Montag.")
    office.run(ticket, "translate", typed="We send a hose.")
    assert "SAMPLE OF THE CUSTOMER'S LANGUAGE\nDie Pumpe leckt" in office.model.sent
    requesters = office.nora.record("ticket", ticket["id"], "requesters").ok()["requesters"]
    [contact] = [each["contact_id"] for each in requesters.values()]
    office.nora.update("contact", contact, language="de_AT").ok()
    office.model.requests.clear()
    office.run(ticket, "translate", typed="We send a hose.")
    assert "with the tag de-AT" in office.model.sent and "Pumpe" not in office.model.sent
    office.nora.update("contact", contact, language="").ok()


def test_only_existing_tags_are_suggested_and_one_click_adds_one(office: Office, ticket: dict[str, Any]) -> None:
    for name in ("hoses", "warranty claim"):
        office.nora.create("tag", name=name).ok()
    office.model.reply = "- Warranty Claim\n- made up\n2. hoses\n"
    call = office.run(ticket, "tags")
    assert call["text"].split("\n") == ["warranty claim", "hoses"] and call["into"] == "tags"
    assert "made up" not in call["html"] and "hoses" in office.model.sent
    form = {"tags": "hoses", "record": str(ticket["id"]), "back": ticket["page"]}
    assert office.visitor.send(f"{ticket['page']}/tags", form, page=ticket["page"]).status_code == 303
    assert office.nora.found("ticket", f"id:{ticket['id']} tag:hoses") == [ticket["id"]]


def test_without_scripts_a_draft_is_a_form_a_page_and_an_undo(office: Office, ticket: dict[str, Any]) -> None:
    """The typed reply is stored before anything is sent, and comes back."""
    office.model.reply = "We send a hose."
    typed = {"kind": "reply", "message": str(ticket["message"]), "to": "ana@kite.example", "content": "we sent hose"}
    response = office.visitor.send(ticket["path"], {"act": "spelling", **typed}, page=ticket["page"])
    assert response.status_code == 303
    path = place(response)
    office.result(ticket, int(path.rpartition("/")[2]))
    assert "we sent hose" in office.visitor.get(ticket["page"]).text
    page = office.visitor.get(path).text
    assert "We send a hose." in page and f'action="{path}/use"' in page
    response = office.visitor.send(f"{path}/use", page=path)
    assert response.status_code == 303 and place(response).endswith("#answer")
    shown = office.visitor.get(ticket["page"]).text
    assert "We send a hose.</textarea>" in shown and f'action="{path}/undo"' in shown
    assert office.visitor.send(f"{path}/undo", page=ticket["page"]).status_code == 303
    assert "we sent hose</textarea>" in office.visitor.get(ticket["page"]).text
    assert office.nora.search("draft", f"ticket.id:{ticket['id']} is.queued:yes").ok()["total"] == 0


def test_without_scripts_a_running_call_reloads_and_is_cancelled(office: Office, ticket: dict[str, Any]) -> None:
    with office.model.held():
        response = office.visitor.send(ticket["path"], {"act": "summarize"}, page=ticket["page"])
        page = office.visitor.get(place(response))
        assert page.headers["Refresh"] == "2" and "is writing" in page.text
        assert office.model.arrived.wait(30)
        assert office.visitor.send(f"{place(response)}/cancel", page=place(response)).status_code == 303
        assert office.model.left.wait(30), "the connection to the provider ends"
    page = office.visitor.get(place(response))
    assert "Cancelled." in page.text and "Refresh" not in page.headers


def test_the_page_of_acts_sends_nothing_by_itself(office: Office, ticket: dict[str, Any]) -> None:
    """A link of a stranger can open it."""
    page = office.visitor.get(f"{ticket['path']}?act=draft")
    assert page.status_code == 200 and "Draft a reply" in page.text
    assert office.model.requests == []


def test_a_ticket_without_words_of_its_own_says_so(office: Office) -> None:
    ticket = office.ticket("Empty", "> only a quotation")
    for act, words in (
        ("summarize", "no message whose text may leave"),
        ("shorter", "Write a text in the reply first"),
    ):
        response = office.start(ticket, act)
        assert response.status_code == 422 and words in response.json()["error"]
    assert office.model.requests == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"act": "send"}, "use one of"),
        ({"act": "translate_message"}, "choose the message"),
        ({"act": "shorter", "typed": "x" * 20_001}, "more than 20"),
    ],
)
def test_a_wrong_act_is_refused(office: Office, ticket: dict[str, Any], fields: dict[str, str], words: str) -> None:
    response = office.start(ticket, **fields)
    assert response.status_code == 422 and words in response.json()["error"]


def test_long_conversations_are_cut_to_the_newest_messages(office: Office) -> None:
    office.change(writing_assistant_chars="2000")
    ticket = office.ticket("Long", "old " * 450)
    office.nora.create(
        "message",
        ticket_id=ticket["id"],
        content="the newest words",
        headers="From: ana@kite.example",
        sender="ana@kite.example",
        created=str(4_000_000_000),
    ).ok()
    office.nora.create(
        "message",
        ticket_id=ticket["id"],
        content="not too long " * 30,
        headers="From: ana@kite.example",
        sender="ana@kite.example",
        created=str(3_999_999_999),
    ).ok()
    office.run(ticket, "summarize")
    office.change(writing_assistant_chars="24000")
    sent = office.model.sent
    assert "the newest words" in sent and "not too long" in sent and "old old" not in sent


def test_two_texts_at_once_are_enough_for_a_worker(office: Office, ticket: dict[str, Any]) -> None:
    with office.model.held():
        ids = [office.start(ticket, "summarize").json()["id"] for _ in range(2)]
        refused = office.start(ticket, "summarize")
        assert refused.status_code == 429 and refused.headers["Retry-After"]
        assert "already working on 2 texts of yours" in refused.json()["error"]
    assert [office.result(ticket, id)["state"] for id in ids] == ["done", "done"]
    assert office.run(ticket, "summarize")["state"] == "done"


def test_the_installation_and_each_minute_have_limits(office: Office, ticket: dict[str, Any]) -> None:
    office.change(writing_assistant_parallel="1")
    milo = office.signed_in("milo")
    with office.model.held():
        id = office.start(ticket, "summarize").json()["id"]
        refused = office.start(ticket, "summarize", milo)
        assert refused.status_code == 429 and "as many as it may at once" in refused.json()["error"]
    office.result(ticket, id)
    office.change(writing_assistant_parallel="8", writing_assistant_per_minute="1")
    office.run(ticket, "summarize", milo)
    refused = office.start(ticket, "summarize", milo)
    assert refused.status_code == 429 and "within a minute" in refused.json()["error"]
    office.change(writing_assistant_per_minute="0")


def test_results_are_deleted_with_their_ticket_and_after_their_days(office: Office, ticket: dict[str, Any]) -> None:
    office.run(ticket, "summarize")
    rows = office.desk.store.read(lambda tx: tx.find(model_calls.MODEL_CALL, ticket_id=ticket["id"]))
    assert len(rows) == 1
    office.nora.remove("ticket", ticket["id"]).ok()
    assert len(office.desk.store.read(lambda tx: tx.find(model_calls.MODEL_CALL, ticket_id=ticket["id"]))) == 1
    purge_deleted(office.desk.service, clock.now() + 400 * 86400)
    assert office.desk.store.read(lambda tx: tx.find(model_calls.MODEL_CALL, ticket_id=ticket["id"])) == []
    other = office.ticket("Kept for days")
    office.run(other, "summarize")
    [row] = office.desk.store.read(lambda tx: tx.find(model_calls.MODEL_CALL, ticket_id=other["id"]))
    made = row[model_calls.MODEL_CALL.position["created_at"]]
    model_calls.forget_old(office.desk.service, made + 30 * 86400)
    assert office.desk.store.read(lambda tx: tx.find(model_calls.MODEL_CALL, ticket_id=other["id"])) != []
    model_calls.forget_old(office.desk.service, made + 30 * 86400 + 1)
    assert office.desk.store.read(lambda tx: tx.find(model_calls.MODEL_CALL, ticket_id=other["id"])) == []


def test_another_process_cancels_by_an_announcement(office: Office, ticket: dict[str, Any]) -> None:
    """The process that runs the call hears of it, and hangs up."""
    service, nora = office.desk.service, office.desk.context(office.nora.ids["nora"])
    with office.model.held():
        id = model_calls.start(nora, ticket["id"], ActInput("summarize"))
        assert office.model.arrived.wait(30)
        model_calls.hear(service, "x")
        model_calls.hear(service, str(id))
        assert office.model.left.wait(30)
    ending = {"state": "failed"}
    office.desk.store.write(lambda tx: tx.update(model_calls.MODEL_CALL, id, ending))


def test_a_stopping_service_hangs_up(office: Office, ticket: dict[str, Any]) -> None:
    service, nora = office.desk.service, office.desk.context(office.nora.ids["nora"])
    with office.model.held():
        id = model_calls.start(nora, ticket["id"], ActInput("summarize"))
        assert office.model.arrived.wait(30)
        model_calls.stop(service)
        assert office.model.left.wait(30)
    ending = {"state": "failed"}
    office.desk.store.write(lambda tx: tx.update(model_calls.MODEL_CALL, id, ending))


def test_a_call_whose_process_ended_has_failed(office: Office, ticket: dict[str, Any]) -> None:
    id = office.start(ticket, "summarize").json()["id"]
    office.result(ticket, id)
    values = {"state": "running", "deadline_at": 1, "result": ""}
    office.desk.store.write(lambda tx: tx.update(model_calls.MODEL_CALL, id, values))
    call = office.result(ticket, id)
    assert call["state"] == "failed" and "restarted" in call["error"]


def test_a_cut_reply_in_parts_is_read(office: Office, ticket: dict[str, Any]) -> None:
    office.model.answer = 200, completion([{"type": "text", "text": "One "}, {"type": "text", "text": "two"}])
    call = office.run(ticket, "summarize")
    assert call["text"] == "One two" and "One two" in html.unescape(text_of(call["html"]))
