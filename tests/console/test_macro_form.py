"""Macros that are built by form: their steps, who may use and manage them, trials, scripts, deleted records, undo. What
macros do on tickets is tested in test_macros.py."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.test_tickets import undo
from tests.console.visitor import Visitor, place, text_of
from tests.service import Api

PAGE = "/macros"
MACRO = "svc.trigger.ticket.macro"


@pytest.fixture
def word(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return f"m{abs(hash(request.node.name)) % 10**9}"


@pytest.fixture
def ticket(nora: Api, word: str) -> dict[str, Any]:
    """An open ticket by mail."""
    text = f"From: ana@kite.example\nSubject: Pump {word}\nMessage-ID: <{word}@kite.example>\n\nIt leaks.\n"
    found = nora.parse(text).ok()
    return {"id": found["id"], "mask": found["mask"], "page": f"/tickets/{found['mask']}"}


@pytest.fixture(autouse=True)
def none_left(nora: Api) -> Iterator[None]:
    """Removes all macros, since other tests expect tickets without them."""
    yield
    for id in nora.found("automation", f"trigger:{MACRO}"):
        nora.remove("automation", id).ok()


def own(nora: Api, name: str = "nora") -> str:
    return f"svc.contexts.worker:{nora.ids[name]}"


def form_of(name: str, owner: str, *steps: dict[str, str], **more: str) -> dict[str, str]:
    fields = {"name": name, "owner": owner, "steps": str(len(steps)), "do": "save", **more}
    return fields | {f"steps-{at}-{part}": text for at, step in enumerate(steps) for part, text in step.items()}


def create(visitor: Visitor, *fields: Any, **more: str) -> Any:
    return visitor.send(f"{PAGE}/new", form_of(*fields, **more))


def made(answer: Any) -> int:
    assert answer.status_code == 303, text_of(answer.text.partition('id="summary"')[2])[:400]
    return int(place(answer).rpartition("/")[2])


def run(visitor: Visitor, ticket: dict[str, Any], macro: int) -> Any:
    return visitor.send(f"{ticket['page']}/macros", {"macro": str(macro)}, page=ticket["page"])


CLOSE = ({"kind": "take"}, {"kind": "tags", "tags": "pump, -hose"}, {"kind": "close"})


def test_a_macro_is_built_by_form_run_on_a_ticket_and_counted(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    response = {"kind": "answer", "text": "Dear {{initial_message_sender_email}}, see {{mask}}.\n\n  {{ worker_id }}"}
    note = {"kind": "note", "text": "Called {{subject}}"}
    id = made(create(signed_in, word, own(nora), response, note, *CLOSE))
    assert f">{word}</button>" in signed_in.get(ticket["page"]).text
    assert "answer=reply" in place(run(signed_in, ticket, id))
    shown = nora.record("ticket", ticket["id"], "tags").ok()
    assert (shown["status"], shown["owner_id"], shown["tags"]) == ("closed", nora.ids["nora"], ["pump"])
    [draft] = nora.search("draft", f"ticket.id:{ticket['id']}", expand="params").ok()["results"]
    assert f"see {ticket['mask']}" in draft["params"]["content"].replace("\\", "")
    assert f"Called Pump {word}" in text_of(signed_in.get(f"{ticket['page']}?answer=note").text).replace("\\", "")
    listed = text_of(signed_in.get(PAGE).text)
    assert re.search(rf"{word} Only me Form 1 ", listed) is not None, listed


def test_tags_status_and_owner_of_a_macro_are_undone(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    nora.update("ticket", ticket["id"], tags="hose", owner_id=nora.ids["milo"]).ok()
    id = made(create(signed_in, word, own(nora), {"kind": "unassign"}, *CLOSE[1:]))
    run(signed_in, ticket, id)
    shown = nora.record("ticket", ticket["id"], "tags").ok()
    assert (shown["tags"], shown["status"], shown["owner_id"]) == (["pump"], "closed", 0)
    undo(signed_in, ticket["page"])
    shown = nora.record("ticket", ticket["id"], "tags").ok()
    assert (shown["tags"], shown["status"], shown["owner_id"]) == (["hose"], "open", nora.ids["milo"])


def test_a_macro_notifies_colleagues_who_may_read_the_ticket_and_not_its_worker(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    milo, me = (str(nora.ids[name]) for name in ("milo", "nora"))
    person = {"first_name": "Out", "last_name": word, "language": "en_US", "timezone": "UTC"}
    outside = nora.create("worker", email=f"{word}@desk.example", **person).ok()["id"]
    group = nora.create("group", name=word, is_private=1, members=json.dumps({"member": [milo, me]})).ok()["id"]
    nora.update("ticket", ticket["id"], group_id=group).ok()
    step = {"kind": "notify", "text": "Look at {{subject}}", "worker_ids": f"{milo}, {me}, {outside}"}
    macro = made(create(signed_in, word, own(nora), step))
    run(signed_in, ticket, macro)
    found = nora.search("notification", "activity:custom.other", expand="message").ok()["results"]
    listed = [each["assignee_id"] for each in found if each["message"] == f"Look at Pump {word}"]
    assert listed == [nora.ids["milo"]]
    nora.remove("worker", outside).ok()
    assert "step 1 names a worker that no longer exists" in text_of(run(signed_in, ticket, macro).text)


@pytest.mark.parametrize("address", ["{page}/macros", "/inbox/macro"], ids=["one", "several"])
@pytest.mark.parametrize(
    ("steps", "question"),
    [
        (CLOSE, "Close anyway?"),
        (({"kind": "take"},), "Change the owner anyway?"),
        (({"kind": "close"}, {"kind": "status", "status": "open"}), ""),
    ],
    ids=["close", "take", "stays open"],
)
def test_a_macro_that_closes_or_assigns_asks_while_a_colleague_writes(
    signed_in: Visitor,
    visitor: Visitor,
    nora: Api,
    ticket: dict[str, Any],
    word: str,
    steps: Any,
    question: str,
    address: str,
) -> None:
    id = made(create(signed_in, word, own(nora), *steps))
    assert visitor.sign_in("milo@desk.example").status_code == 303
    sign = {"doing": "writing", "_xsrf": visitor.token(ticket["page"])}
    assert visitor.post(f"{ticket['page']}/presence", sign).status_code == 200
    fields, before = {"macro": str(id), "ids[]": str(ticket["id"])}, nora.record("ticket", ticket["id"]).ok().json
    response = signed_in.send(address.format(**ticket), fields, page=ticket["page"])
    assert response.status_code == (422 if question else 303)
    if question:
        assert f"Milo Test is writing a reply. {question}" in text_of(response.text)
        assert nora.record("ticket", ticket["id"]).ok().json == before
        [form] = re.findall(r"<form[^>]*data-asks=.*?</form>", response.text, re.DOTALL)
        sure = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))
        assert signed_in.post(address.format(**ticket), sure).status_code == 303
        assert nora.record("ticket", ticket["id"]).ok()["owner_id"] == nora.ids["nora"]


def test_a_ticket_is_assigned_by_turns(signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str) -> None:
    id = made(create(signed_in, word, own(nora), {"kind": "turn"}))
    run(signed_in, ticket, id)
    members = nora.record("group", nora.ids["support"], "members").ok()["members"]
    assert nora.record("ticket", ticket["id"]).ok()["owner_id"] in {int(id) for id in members}, members


def test_steps_are_added_moved_and_removed_without_scripts(signed_in: Visitor, nora: Api, word: str) -> None:
    form = form_of(word, own(nora), {"kind": "close"}, {"kind": "note", "text": "x"})

    def pressed(step: str, **more: str) -> list[str]:
        page = signed_in.send(f"{PAGE}/new", {**form, "step": step, **more}).text
        return re.findall(r'name="steps-\d+-kind" value="(\w+)"', page)

    assert pressed("add", added_step="wait") == ["close", "note", "wait"]
    assert pressed("down:0") == pressed("up:1") == pressed("move:1:0") == ["note", "close"]
    assert pressed("remove:0") == ["note"] and pressed("move:1:7") == ["close", "note"]
    assert word not in signed_in.get(PAGE).text


def test_mistakes_are_shown_at_their_fields(signed_in: Visitor, nora: Api, word: str) -> None:
    made(create(signed_in, word, own(nora), *CLOSE))
    again = create(signed_in, word.upper(), own(nora), {"kind": "close"})
    assert again.status_code == 422 and 'id="name-error"' in again.text
    wrong = create(signed_in, "", own(nora), {"kind": "note"}, {"kind": "importance", "importance": "101"})
    assert wrong.status_code == 422
    for name in ("name", "steps-0-text", "steps-1-importance"):
        assert f'id="{name}-error"' in wrong.text, (name, text_of(wrong.text))
    empty = create(signed_in, f"{word} e", own(nora))
    assert empty.status_code == 422 and "Add at least one step" in text_of(empty.text)


def test_a_macro_that_somebody_else_saved_meanwhile_is_replaced_only_knowingly(
    signed_in: Visitor, nora: Api, word: str
) -> None:
    id = made(create(signed_in, word, own(nora), *CLOSE))
    steps = ({"kind": "importance", "importance": "90"},)
    made(signed_in.send(f"{PAGE}/{id}", form_of(word, own(nora), *steps, version="1")))
    late = signed_in.send(f"{PAGE}/{id}", form_of(word, own(nora), {"kind": "close"}, version="1"))
    assert late.status_code == 422 and "Somebody saved this macro while you were editing." in text_of(late.text)
    assert 'name="version" value="2"' in late.text
    made(signed_in.send(f"{PAGE}/{id}", form_of(word, own(nora), {"kind": "close"}, version="2")))


def test_a_worker_manages_their_own_macros_and_a_manager_those_of_the_group(
    visitor: Visitor, signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    group = nora.create("group", name=word).ok()["id"]
    everybody = made(create(signed_in, f"{word} all", "svc.contexts.app:0", {"kind": "close"}))
    others = made(create(signed_in, f"{word} nora", own(nora), {"kind": "close"}))
    of_group = made(create(signed_in, f"{word} group", f"svc.contexts.group:{group}", {"kind": "close"}))
    visitor.sign_in("milo@desk.example")
    page = visitor.get(ticket["page"]).text
    assert f"{word} all" in page and f"{word} nora" not in page and f"{word} group" not in page
    assert f"{word} nora" not in visitor.get(PAGE).text and visitor.get(f"{PAGE}/{others}").status_code == 403
    milo = nora.people["milo"]
    assert milo.get(f"/rest/records/automation/{others}.json").status == 403
    assert milo.post(f"/rest/tickets/{ticket['id']}/macro.json", macro=str(others)).status == 404
    assert "Only those who manage it can change it" in text_of(visitor.get(f"{PAGE}/{everybody}").text)
    for form in (form_of("x", own(nora, "milo"), {"kind": "close"}), {"steps": "0", "step": "add"}):
        assert visitor.send(f"{PAGE}/{everybody}", form, page=PAGE).status_code == 403
    assert visitor.send(f"{PAGE}/{everybody}/delete", page=PAGE).status_code == 403
    for owner in ("svc.contexts.app:0", own(nora), f"svc.contexts.group:{group}"):
        refused = create(visitor, f"{word} zzz", owner, {"kind": "close"})
        assert refused.status_code in (403, 422) and not nora.found("automation", f"name:{word}_zzz"), owner
    web = create(visitor, f"{word} web", own(nora, "milo"), {"kind": "web", "url": "https://shop.example"})
    assert web.status_code == 422
    mine = made(create(visitor, word, own(nora, "milo"), {"kind": "close"}))
    run(visitor, ticket, mine)
    assert nora.record("ticket", ticket["id"]).ok()["status"] == "closed"
    log = nora.search("activity_log", f"target.automation:(id:{mine})", expand="actor_").ok()["results"]
    assert {each["actor__label"] for each in log} == {"Milo Test"}
    nora.update("group", group, members={"manager": str(nora.ids["milo"])}).ok()
    assert visitor.get(f"{PAGE}/{of_group}").text.count('name="steps-0-kind"') == 1
    nora.remove("group", group).ok()
    assert "needs attention" in text_of(signed_in.get(PAGE).text)
    assert 'id="owner-error"' in signed_in.get(f"{PAGE}/{of_group}").text


def test_a_step_whose_record_was_deleted_is_an_error_at_its_place_and_does_not_run(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    app = {"owner__context": "app", "owner_id": 0}
    snippet = nora.create("snippet", title=word, content="Hello {{mask}}", context="ticket", **app).ok()["id"]
    id = made(create(signed_in, word, own(nora), {"kind": "close"}, {"kind": "note", "snippet_id": str(snippet)}))
    private = nora.create("snippet", title=f"{word} p", content="x", owner__context="worker", owner_id=nora.ids["nora"])
    refused = create(
        signed_in, f"{word} b", "svc.contexts.app:0", {"kind": "note", "snippet_id": str(private.ok()["id"])}
    )
    assert refused.status_code == 422 and "others cannot use this snippet" in refused.text.lower()
    nora.remove("snippet", snippet).ok()
    page = signed_in.get(f"{PAGE}/{id}")
    assert page.status_code == 200 and 'id="steps-1-snippet_id-error"' in page.text
    assert "The snippet no longer exists. Choose another one." in text_of(page.text)
    response = run(signed_in, ticket, id)
    assert response.status_code == 422 and "step 2 names a snippet that no longer exists" in text_of(response.text)
    assert nora.record("ticket", ticket["id"]).ok()["status"] == "open"


def test_a_macro_is_tried_on_a_ticket_and_shown_as_a_script(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    steps = ({"kind": "answer", "text": "About {{subject}}"}, {"kind": "wait", "until": "+3 days"})
    tried = signed_in.send(f"{PAGE}/new", form_of(word, own(nora), *steps, do="try", ticket=str(ticket["id"])))
    shown = text_of(tried.text)
    assert tried.status_code == 200 and f"About Pump {word}" in shown and "waiting" in shown, shown
    assert nora.record("ticket", ticket["id"]).ok()["status"] == "open"
    script = signed_in.send(f"{PAGE}/new", form_of(word, own(nora), *steps, do="script"))
    assert "reopen_at@raw: +3 days" in script.text
    id = made(create(signed_in, word, own(nora), *steps))
    nora.update("automation", id, script="start:\n  return:\n    changes:\n      status: closed\n").ok()
    page = text_of(signed_in.get(f"{PAGE}/{id}").text)
    assert "It is no longer a form." in page and f"{word}" in text_of(signed_in.get(PAGE).text)
    run(signed_in, ticket, id)
    assert nora.record("ticket", ticket["id"]).ok()["status"] == "closed"


def test_a_deleted_macro_is_restored_with_its_steps_and_uses(
    signed_in: Visitor, visitor: Visitor, nora: Api, ticket: dict[str, Any], word: str
) -> None:
    id = made(create(signed_in, word, own(nora), {"kind": "close"}, {"kind": "importance", "importance": "90"}))
    run(signed_in, ticket, id)
    assert place(signed_in.send(f"{PAGE}/{id}/delete", page=f"{PAGE}/{id}")) == PAGE
    assert nora.record("automation", id).status == 404
    visitor.sign_in("olga@desk.example")
    assert visitor.send(f"{PAGE}/{id}/restore", page=PAGE).status_code == 404
    undo(signed_in, PAGE)
    page = signed_in.get(f"{PAGE}/{id}").text
    assert re.findall(r'name="steps-\d+-kind" value="(\w+)"', page) == ["close", "importance"]
    assert "<dd>1</dd>" in page


def test_a_macro_that_was_written_as_a_script_stays_as_it_is(signed_in: Visitor, nora: Api, word: str) -> None:
    script = "start:\n  return:\n    changes:\n      status: closed\n"
    fields = {"name": f"macro.{word}", "extension_id": MACRO, "description": word, "script": script}
    id = nora.create("automation", **fields).ok()["id"]
    assert re.search(rf"{word} Everybody Script", text_of(signed_in.get(PAGE).text)) is not None
    page = text_of(signed_in.get(f"{PAGE}/{id}").text)
    assert "This macro was written as a script." in page and nora.record("automation", id, "script")["script"] == script
    nora.remove("automation", id).ok()


def test_steps_are_dragged_and_moved_by_keys(page: Page, nora: Api, word: str) -> None:
    page.goto(f"{PAGE}/new")
    page.get_by_label("Name", exact=True).fill(word)
    kinds = page.locator("fieldset.step legend")
    expect(kinds).to_have_text(["1. Write a reply", "2. Close"])
    page.locator("fieldset.step .handle").nth(1).drag_to(page.locator("fieldset.step").first)
    expect(kinds).to_have_text(["1. Close", "2. Write a reply"])
    page.get_by_role("button", name="Move Close down").press("Enter")
    expect(kinds).to_have_text(["1. Write a reply", "2. Close"])
    expect(page.locator("#steps-1")).to_be_focused()
    expect(page.get_by_label("Name", exact=True)).to_have_value(word)
    page.get_by_label("Text", exact=True).fill("Bye")
    page.get_by_label("Name", exact=True).press("Enter")
    expect(page.locator("#toasts")).to_contain_text(f"{word} created.")
