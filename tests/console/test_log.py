"""The page of the automation log: filters, levels, runs, files, and live updates."""

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import peewee
import pytest
from playwright.sync_api import expect

from server import clock
from server.automation import log_search
from server.store.statements import slot
from server.store.transaction import Transaction
from tests.console.browser import Browser, is_sideways
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor
from tests.records.desk import NOW, Desk
from tests.service import Api, Server

PATH = "/automations/log"
NAME = "log.test"
SCRIPT = "start:\n  log: first {{inputs.n}}\n  log.warn: =cmd()\n  log.error: the last, late one\n  return:\n    a: 1\n"
MANY = 10_000
ENTRY: Any = peewee.Table("automation_log", ("id", "automation_name", "created_at", "level", "message"))


@pytest.fixture(scope="module")
def hook(nora: Api) -> str:
    """The token of a webhook whose calls write three entries each; it was called twice."""
    nora.create(
        "automation", name=NAME, extension_id="svc.trigger.webhook.respond", script="inputs:\n  text/n:\n" + SCRIPT
    ).ok()
    kata = f"automation/x:\n  uri: svc:automation:{NAME}\n  inputs:\n    n: {{{{request_body}}}}\n"
    made = nora.create("webhook_listener", name="For the log", automations_kata=kata).ok()
    for number in (1, 2):
        call(nora, made["guid"], str(number))
    return str(made["guid"])


@pytest.fixture(scope="module")
def many(desk: Desk) -> Iterator[None]:
    """Inserts the number of old entries that the log page must cope with."""

    def write(tx: Transaction) -> None:
        names = ("automation_name", "created_at", "level", "message")
        tx.run_many(
            lambda: ENTRY.insert({getattr(ENTRY, each): slot(place) for place, each in enumerate(names)}),
            [("many", now - 86400 + number, 4 if number % 4 else 3, f"entry {number}") for number in range(MANY)],
        )

    now = clock.now()
    desk.store.write(write)
    yield
    desk.store.write(lambda tx: tx.run(
        lambda: ENTRY.delete().where(ENTRY.automation_name == slot(0)), ("many",)
    ))  # fmt: skip


def call(nora: Api, token: str, body: str) -> None:
    response = nora.session.post(f"{nora.url}/webhooks/{token}", data=body, timeout=60)
    assert response.status_code == 200


def exported(visitor: Visitor, q: str, **more: str) -> list[dict[str, Any]]:
    """Returns the rows of the exported file of JSON lines."""
    response = visitor.get(f"{PATH}/export", params={"q": q, "format": "jsonl", **more})
    assert response.status_code == 200 and "automation-log.jsonl" in response.headers["Content-Disposition"]
    return [json.loads(line) for line in response.text.splitlines()]


@pytest.mark.parametrize(
    "q",
    [
        "", f"automation:(name:{NAME})", f'automation:(name:{NAME} node:"start:log.*")', "level:[warning,error]",
        "level:!debug", "message:*late*", 'created:"-1 hour to now"', "id:>2", f"automation:{NAME} message:*first*",
    ],
)  # fmt: skip
def test_filters_match_those_of_the_api(signed_in: Visitor, nora: Api, hook: str, q: str) -> None:
    told = nora.get("/rest/automations/logs/search.json", q=q, limit=100).ok()["results"]
    assert [each["id"] for each in exported(signed_in, q)][:100] == [each["id"] for each in told] != []
    page = html.unescape(signed_in.get(PATH, params={"q": q}).text)
    assert all(each["message"] in page for each in told[:25])


def test_a_level_is_added_to_the_search(signed_in: Visitor, nora: Api, hook: str) -> None:
    found = exported(signed_in, f"automation:{NAME}", level="warning,error")
    assert {each["level"] for each in found} == {"warning", "error"} and len(found) >= 4
    page = signed_in.get(PATH, params={"q": f"automation:{NAME}", "level": "error"}).text
    assert "the last, late one" in page and "=cmd()" not in page and 'value="error" selected' in page


def test_an_invalid_search_is_reported_and_stays(signed_in: Visitor) -> None:
    response = signed_in.get(PATH, params={"q": "levle:error"})
    assert response.status_code == 422 and 'value="levle:error"' in response.text and "did you mean" in response.text
    assert signed_in.get(f"{PATH}/export?q=levle:error").status_code == 422
    assert signed_in.get(f"{PATH}/export?format=xls").status_code == 404
    nothing = signed_in.get(PATH, params={"q": "message:nowhere"}).text
    assert "No entry matches." in nothing and "message:nowhere" in nothing and "Clear the filter" in nothing


def test_entries_are_grouped_by_run_and_link_to_their_script_line(signed_in: Visitor, nora: Api, hook: str) -> None:
    runs = signed_in.get(PATH, params={"q": f"automation:{NAME}", "group": "run"}).text
    rows = re.findall(rf"<tr>(?:(?!</tr>).)*{NAME.replace('.', '.<wbr>')}.*?</tr>", runs, re.DOTALL)
    assert len(rows) >= 2 and all('data-label="Entries">3<' in row and "error" in row for row in rows)
    number = re.findall(r"log\?run=(\d+)", rows[0])[0]
    run = signed_in.get(f"{PATH}?run={number}").text
    assert [text in run for text in ("first 1", "first 2")].count(True) == 1 and run.count('data-label="Level"') == 3
    assert [each["run_id"] for each in exported(signed_in, "", run=number)] == [int(number)] * 3
    link = html.unescape(re.findall(r'href="([^"]+/history\?[^"]+)"', run)[0])
    assert "node=start%3Alog.error" in link and link.endswith("#here")
    id = nora.found("automation", f"name:{NAME}")[0]
    nora.update("automation", id, script="inputs:\n  text/n:\n\n" + SCRIPT).ok()
    marked = re.findall(r'<tr class="here".*?</tr>', signed_in.get(link).text, re.DOTALL)
    assert len(marked) == 1 and "> 6<" in marked[0] and "log.error: the last, late one" in html.unescape(marked[0])


def test_files_contain_no_formulas_and_pages_no_foreign_markup(signed_in: Visitor, nora: Api, hook: str) -> None:
    response = signed_in.get(f"{PATH}/export", params={"q": f"automation:{NAME}"})
    assert response.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert {row["message"] for row in rows} >= {"'=cmd()", "the last, late one"} and rows[0]["level"] == "error"
    page = signed_in.get(PATH, params={"q": "automation:shop.echo"}).text
    assert HOSTILE not in page and html.escape(HOSTILE, quote=False)[:20] in page


def test_ten_thousand_entries_are_one_small_page(signed_in: Visitor, many: None) -> None:
    page = signed_in.get(PATH, params={"q": "automation:many"}).text
    assert len(page) < 100_000 and "7,500" in page and "2,500" in page and "of 10,000" in page
    assert "7500 entries of the level warning" in page and "entries are kept for 14 days" in page.lower()
    last = signed_in.get(PATH, params={"q": "automation:many", "page": "400"}).text
    assert "entry 24<" in last and "entry 25<" not in last
    assert len(exported(signed_in, "automation:many")) == MANY


def test_the_retention_of_entries_is_a_setting(signed_in: Visitor, nora: Api) -> None:
    (path,) = re.findall(r'href="([^"]+)" aria-label="Change how long', signed_in.get(PATH).text)
    assert signed_in.send(path, {"automation_log_days": "0"}).status_code == 422
    assert signed_in.send(path, {"automation_log_days": "1"}).status_code == 303
    assert "Entries are kept for 1 day, up to 500,000 entries" in signed_in.get(PATH).text
    signed_in.send(path, {"automation_log_days": "14"})
    assert "Entries are kept for 14 days" in signed_in.get(PATH).text


def test_expired_entries_are_deleted(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for age in (3, 2, 1):
        desk.own("automation_log", created_at=NOW - age * 86400, level=3, message=str(age))
    settings = desk.service.settings.replace(automation_log_days=2)
    log_search.forget_old(replace(desk.service, settings=settings), NOW + 1)
    entries, _ = log_search.entries(desk.context(), "", 9, 0)
    desk.close()
    assert [each["message"] for each in entries] == ["1"]


def test_runs_are_searched_among_the_newest_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path)
    for run_id in (1, 1, 2, 3):
        desk.own("automation_log", created_at=NOW, level=3, message="x", run_id=run_id)
    monkeypatch.setattr(log_search, "MAX_COUNTED", 3)
    found, total = log_search.runs(desk.context(), "", 9, 0)
    desk.close()
    assert [(each.id, each.count) for each in found] == [(3, 1), (2, 1), (1, 1)] and total == 3


@pytest.mark.exhaustive("live parts of pages are tested in test_live.py")
def test_the_list_is_live_and_pauses_while_it_is_read(
    chromium: Browser, server: Server, signed_in: Visitor, nora: Api, hook: str, many: None
) -> None:
    with chromium.page(server.url, (390, 844), signed_in.cookies) as page:
        page.goto(f"{PATH}?q=automation:(name:{NAME})")
        assert not is_sideways(page)
        told = page.locator("[data-live-told]")
        page.get_by_label("Live").check()
        expect(told).to_have_text("Live.")
        assert "live=1" in page.url
        call(nora, hook, "seen at once")
        expect(page.locator("#log")).to_contain_text("first seen at once")
        page.locator("#log a").first.focus()
        call(nora, hook, "not yet")
        expect(told).to_have_text("Paused while you read.")
        expect(page.locator("#log")).not_to_contain_text("first not yet")
        page.evaluate("scrollTo(0, 0)")
        page.locator("#q").focus()
        expect(page.locator("#log")).to_contain_text("first not yet")
        expect(told).to_have_text("Live.")
        page.evaluate("getSelection().selectAllChildren(document.querySelector('#log tbody td'))")
        call(nora, hook, "while chosen")
        expect(told).to_have_text("Paused while you read.")
        expect(page.locator("#log")).not_to_contain_text("first while chosen")
        page.evaluate("getSelection().removeAllRanges()")
        expect(page.locator("#log")).to_contain_text("first while chosen")
        page.get_by_label("Live").uncheck()
        assert "live" not in page.url
        expect(page.get_by_role("link", name="Reload")).to_be_visible()
