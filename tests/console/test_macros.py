"""Macros as used without scripts: the menu of a ticket, inputs, drafts, undo, several tickets, the jump. The
permissions of a macro are tested in tests/api/test_macros.py."""

import html
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from server.automation import macros
from server.automation.macros import bulk_runs
from server.tickets import reply_drafts
from tests.console.browser import Browser
from tests.console.visitor import Visitor, place, text_of
from tests.records.desk import Desk
from tests.service import Api

MACRO = "svc.trigger.ticket.macro"
CLOSE = "changes:\n  status: closed\n  importance@int: 80"
_numbers = itertools.count(1)


@pytest.fixture
def ticket(nora: Api) -> dict[str, Any]:
    """A ticket by mail, open and unassigned."""
    return arrived(nora)


@pytest.fixture(autouse=True)
def none_left(nora: Api) -> Iterator[None]:
    """Removes all macros, since other tests expect tickets without them."""
    yield
    for id in nora.found("automation", f"trigger:{MACRO}"):
        nora.remove("automation", id).ok()


def arrived(nora: Api) -> dict[str, Any]:
    id = f"<macro{next(_numbers)}@kite.example>"
    found = nora.parse(f"From: ana@kite.example\nSubject: Pump\nMessage-ID: {id}\n\nIt leaks {id}.\n").ok()
    return {"id": found["id"], "mask": found["mask"], "page": f"/tickets/{found['mask']}"}


def made(nora: Api, returned: str, label: str, before: str = "") -> int:
    """Creates a macro and returns its id."""
    script = f"{before}start:\n  return:\n" + "".join(f"    {line}\n" for line in returned.splitlines())
    name = f"macro.m{next(_numbers)}"
    fields = {"name": name, "extension_id": MACRO, "description": label, "script": script}
    return int(nora.create("automation", **fields).ok()["id"])


def run(visitor: Visitor, ticket: dict[str, Any], macro: int | str, **form: str) -> Any:
    return visitor.send(f"{ticket['page']}/macros", {"macro": str(macro), **form}, page=ticket["page"])


def state(nora: Api, ticket: dict[str, Any]) -> tuple[str, int]:
    found = nora.record("ticket", ticket["id"]).ok()
    return found["status"], found["importance"]


def undo(visitor: Visitor, path: str) -> None:
    """Presses Undo in the message of the next page."""
    [form] = re.findall(
        r'<div class="toast">.*?<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', visitor.get(path).text, re.DOTALL
    )
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form[1].replace("&#34;", '"')))
    kept = re.findall(r'name="before" value="(.*?)">', form[1])
    assert (
        visitor.post(form[0], fields | ({"before": kept[0].replace("&#34;", '"')} if kept else {})).status_code == 303
    )


def test_a_macro_of_the_menu_changes_the_ticket_and_is_undone(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    assert ">Macros…</a>" not in signed_in.get(ticket["page"]).text
    before = state(nora, ticket)
    id = made(nora, CLOSE, "Close as done")
    menu = signed_in.get(ticket["page"]).text
    assert f'name="macro" value="{id}"' in menu and ">Close as done</button>" in menu and 'data-hotkey="R"' in menu
    response = run(signed_in, ticket, id)
    assert (response.status_code, place(response), state(nora, ticket)) == (303, ticket["page"], ("closed", 80))
    assert "ran the macro Close as done" in text_of(signed_in.get(f"{ticket['page']}?answer=note").text)
    run(signed_in, ticket, id)  # changes nothing more, so there is nothing to undo
    nora.update("ticket", ticket["id"], status="open", importance=before[1]).ok()
    signed_in.get(ticket["page"])
    run(signed_in, ticket, "close AS done")
    undo(signed_in, ticket["page"])
    assert state(nora, ticket) == before


def test_a_macro_that_finishes_a_ticket_goes_on_as_the_worker_prefers(signed_in: Visitor, nora: Api) -> None:
    first, second = arrived(nora), arrived(nora)
    listed = f"in=id%3A%5B{first['id']}%2C{second['id']}%5D+sort%3Aid&at=1&from=%2Finbox&after={second['mask']}"
    macros = {
        "closes": f"{CLOSE}",
        "waits": "changes:\n  status: waiting",
        "mails": "reply: It is done.\nsend@bool: yes",
        "stays": "changes:\n  importance: 70",
    }
    pages = {}
    for name, returned in macros.items():
        nora.update("ticket", first["id"], status="open").ok()
        response = run(signed_in, first, made(nora, returned, name), back=f"{first['page']}?{listed}")
        pages[name] = place(response).partition("?")[0]
        signed_in.get(second["page"])
    assert pages == dict.fromkeys(("closes", "waits", "mails"), second["page"]) | {"stays": first["page"]}
    macro = made(nora, f"in@text: {{}}\n{CLOSE}", "asks", before="inputs:\n  text/in:\n")
    menu = signed_in.get(f"{first['page']}?{listed}").text
    assert re.search(rf'/macros\?macro={macro}&amp;back=[^"]*at%3D1', menu) is not None


def test_texts_are_placed_in_the_reply_for_review(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    id = made(nora, f"reply: Dear <Ana> {{{{ticket_mask}}}}\nnote: Called\n{CLOSE}", "Answer")
    response = run(signed_in, ticket, id, back=f"{ticket['page']}?in=status%3Aopen&at=1")
    address = f"{ticket['page']}/answer?in=status%3Aopen&at=1&answer=reply"
    assert place(response) == address
    page = f"{ticket['page']}?in=status%3Aopen&at=1&answer=reply#answer"
    assert place(signed_in.get(address)) == page
    shown = signed_in.get(page.partition("#")[0]).text
    assert f"Dear &lt;Ana&gt; {ticket['mask']}</textarea>" in shown and 'value="ana@kite.example"' in shown
    assert re.search(r'<option value="2" selected>', shown) is not None  # closed, as the macro says
    assert "Review the reply, then send it. Review the note, then add it." in text_of(shown)
    run(signed_in, ticket, id)
    [draft] = nora.search("draft", f"ticket.id:{ticket['id']}", expand="params").ok()["results"]
    assert draft["params"]["content"] == "\n\n".join([f"Dear <Ana> {ticket['mask']}"] * 2)
    noted = signed_in.get(f"{ticket['page']}?answer=note").text
    assert "Called\n\nCalled</textarea>" in noted
    signed_in.send(f"{ticket['page']}/note", {"note": "Called"}, page=ticket["page"])
    assert "Called</textarea>" not in signed_in.get(f"{ticket['page']}?answer=note").text


def test_a_reply_next_to_another_draft_becomes_a_separate_draft(
    nora: Api, desk: Desk, ticket: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made(nora, "reply: Theirs", "Answer")
    ctx = desk.context(nora.ids["nora"])
    draft = reply_drafts.save(ctx, "reply", ticket["id"], {"content": "Mine"})
    monkeypatch.setattr(reply_drafts, "newest_own", lambda *_: replace(draft, revision="older"))
    outcome = macros.run(ctx, ticket["id"], "Answer", {})
    assert macros.store_texts(ctx, ticket["id"], outcome) == ["reply"]
    drafts = nora.search("draft", f"ticket.id:{ticket['id']} sort:id", expand="params").ok()["results"]
    assert [each["params"]["content"] for each in drafts] == ["Mine", "Theirs"]


def test_mail_sent_by_a_macro_can_be_undone(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    run(signed_in, ticket, made(nora, "reply: It is done.\nsend@bool: yes\nchanges:\n  status: closed", "Done"))
    queued = f"ticket.id:{ticket['id']} is.queued:yes"
    assert len(nora.found("draft", queued)) == 1 and state(nora, ticket)[0] == "closed"
    undo(signed_in, ticket["page"])
    assert not nora.found("draft", queued) and state(nora, ticket)[0] == "open"


def test_inputs_are_requested_and_mistakes_are_reported(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    asked = "inputs:\n  text/days:\n    type: number\n    required@bool: yes\n    description: How many\n"
    id = made(nora, "reply: In {{inputs.days}} days", "Promise", before=asked)
    form = f"{ticket['page']}/macros?macro={id}"
    assert f'href="{form}&amp;back=' in signed_in.get(ticket["page"]).text
    assert place(run(signed_in, ticket, "Promise")) == form
    assert 'name="input:days"' in signed_in.get(form).text and "How many" in signed_in.get(form).text
    blank = run(signed_in, ticket, id, asked="1")
    assert blank.status_code == 422 and 'id="input:days-error"' in blank.text
    wrong = run(signed_in, ticket, id, asked="1", **{"input:days": "<b>soon"})
    assert wrong.status_code == 422 and 'value="&lt;b&gt;soon"' in wrong.text and "takes a number" in wrong.text
    assert "answer=reply" in place(run(signed_in, ticket, id, asked="1", **{"input:days": "3"}))
    for name in ("", "Nothing like it", "999999"):
        assert run(signed_in, ticket, name).status_code == 422
    failed = run(signed_in, ticket, made(nora, "colour: red", "Broken"))
    assert failed.status_code == 422 and "is not a known key" in text_of(failed.text)


def test_many_macros_are_searched_by_name(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    for number in range(8):
        made(nora, CLOSE, f"Step {number}")
    page = signed_in.get(ticket["page"]).text
    assert f'href="{ticket["page"]}/macros?back=' in page and "Step 1" not in page
    listed = signed_in.get(f"{ticket['page']}/macros").text
    assert listed.count("<option") == 8 and 'list="macro-names"' in listed


def test_the_jump_finds_macros_of_the_open_ticket(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    id = made(nora, CLOSE, "Close as done", before="inputs:\n  text/why:\n    description: What was done\n")

    def hits(q: str, **headers: str) -> list[tuple[str, str]]:
        found = signed_in.get("/-/jump", params={"q": q}, headers=headers).json()["hits"]
        return [(each["label"], each["path"]) for each in found if each["kind"] == "Macro"]

    expected = [("Close as done", f"{ticket['page']}/macros?macro={id}")]
    there = {"Referer": f"{signed_in.url}{ticket['page']}?answer=note"}
    assert hits("close don", **there) == hits("macro", **there) == expected
    assert hits("close don") == hits("close", Referer=f"https://elsewhere.example{ticket['page']}") == []
    assert signed_in.get(expected[0][1]).status_code == 200 and state(nora, ticket)[0] == "open"
    assert "Automations" in str(signed_in.get("/-/jump", params={"q": "macro"}).json())


@pytest.mark.exhaustive("in a browser as well")
def test_in_a_browser_changes_come_in_place_and_texts_with_the_page(
    chromium: Browser, nora_in_a_browser: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    made(nora, CLOSE, "Close as done")
    made(nora, "reply: Which number has it?\nchanges:\n  status: waiting", "Ask for the number")
    with chromium.page(nora_in_a_browser.url, cookies=nora_in_a_browser.cookies) as page:
        page.goto(ticket["page"])
        page.evaluate("window.stays = true")
        page.get_by_label("More actions").click()
        page.get_by_role("button", name="Close as done").click()
        expect(page.locator("#ticket-head .badge")).to_contain_text("closed")
        assert page.evaluate("window.stays")
        page.keyboard.press("R")
        expect(page.get_by_label("Macro", exact=True)).to_be_focused()
        page.keyboard.type("Ask for the number")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_label("Message", exact=True)).to_have_value("Which number has it?")
        expect(page.locator("#ticket-head .badge")).to_contain_text("waiting")


def test_a_macro_is_run_on_several_tickets_and_undone(signed_in: Visitor, nora: Api) -> None:
    tickets = [arrived(nora) for _ in range(3)]
    assert 'value="macro"' not in signed_in.get("/inbox?v=open").text
    id = made(nora, f"{CLOSE}\nreply: Bye\nsend@bool: yes", "Close as done")
    made(nora, CLOSE, "Asks", before="inputs:\n  text/x:\n    required@bool: yes\n")
    assert 'value="macro"' in signed_in.get("/inbox?v=open").text
    ids = [str(each["id"]) for each in tickets]
    chosen = signed_in.send("/-/bulk", {"list": "/inbox", "do": "macro", "ids[]": ids}, page="/inbox?v=open")
    assert place(chosen) == f"/inbox/macro?ids={'%2C'.join(ids)}&back=%2Finbox"
    form = signed_in.get(place(chosen)).text
    assert "Run on 3 tickets" in form and "Close as done" in form and "Asks" not in form
    assert signed_in.send("/inbox/macro", {"ids[]": ids, "macro": ""}, page=place(chosen)).status_code == 422
    assert place(signed_in.send("/inbox/macro", {"ids[]": ids, "macro": str(id)}, page=place(chosen))) == "/inbox"
    assert [state(nora, each) for each in tickets] == [("closed", 80)] * 3
    assert not any(nora.found("draft", f"ticket.id:{each}") for each in ids)
    undo(signed_in, "/inbox")
    assert [state(nora, each) for each in tickets] == [("open", 50)] * 3
    signed_in.send("/inbox/macro", {"ids[]": ids, "macro": str(id)}, page=place(chosen))
    told = text_of(signed_in.get("/inbox").text)
    assert "Macro run on 3 tickets. The texts for 3 tickets were left out" in told


def test_a_script_asks_while_a_colleague_writes_since_nobody_knows_what_it_does(
    signed_in: Visitor, visitor: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    id = made(nora, CLOSE, "Close as done")
    assert visitor.sign_in("milo@desk.example").status_code == 303
    sign = {"doing": "noting", "_xsrf": visitor.token(ticket["page"])}
    assert visitor.post(f"{ticket['page']}/presence", sign).status_code == 200
    asked = run(signed_in, ticket, id)
    assert asked.status_code == 422 and "Milo Test is writing a note. Run the macro anyway?" in text_of(asked.text)
    assert state(nora, ticket) == ("open", 50)
    assert run(signed_in, ticket, id, _sure="1").status_code == 303 and state(nora, ticket) == ("closed", 80)


def test_the_editor_tries_a_macro_on_the_newest_ticket(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    id = made(nora, f"note: '{{{{worker_first_name}}}} on {{{{ticket_mask}}}}'\n{CLOSE}", "Close as done")
    page = f"/automations/{id}"
    record = nora.record("automation", id, "script").ok()
    values = html.unescape(re.findall(r'name="values"[^>]*>(.*?)</textarea>', signed_in.get(page).text, re.DOTALL)[0])
    assert json.loads(values)["ticket_id"] == ticket["id"]
    form = {"do": "simulate", "values": values, **{each: record[each] for each in ("name", "extension_id", "script")}}
    assert f"Nora on {ticket['mask']}" in text_of(signed_in.send(page, form).text)
    assert state(nora, ticket)[0] == "open"


def test_a_first_macro_begins_with_an_example(signed_in: Visitor, ticket: dict[str, Any]) -> None:
    assert 'href="/macros/new"' in signed_in.get(f"{ticket['page']}/macros").text
    new = f"/automations/new?trigger={MACRO}"
    page = signed_in.get(new).text
    script = html.unescape(re.findall(r'name="script"[^>]*>(.*?)</textarea>', page, re.DOTALL)[0]).lstrip("\n")
    values = json.dumps({"ticket__context": "svc.contexts.ticket", "ticket_id": ticket["id"]})
    form = {"do": "simulate", "name": "", "extension_id": MACRO, "script": script, "values": values}
    assert "We look into Pump and write again" in text_of(signed_in.send("/automations/new", form, page=new).text)


def test_several_tickets_stop_when_the_time_is_over(nora: Api, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ids, ctx = [arrived(nora)["id"] for _ in range(2)], desk.context(nora.ids["nora"])
    made(nora, CLOSE, "Close as done")
    found = bulk_runs.run_each(ctx, ids, "nothing")
    assert list(found.refused) == ids and not found.done and not found.left
    monkeypatch.setattr(bulk_runs, "MAX_ALL_SECONDS", 0)
    assert bulk_runs.run_each(ctx, ids, "Close as done").left == ids
    assert {nora.record("ticket", id).ok()["status"] for id in ids} == {"open"}
