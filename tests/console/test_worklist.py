"""Lists: columns, sorting, counting, selection, files of the results; with the caller's rights."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from console.lists.lookup import MAX_LISTED_CHOICES
from console.pages.worklists import MAX_SELECTED
from tests.console.browser import Browser
from tests.console.visitor import Visitor, place, text_of
from tests.service import Api, Server

HEADERS = re.compile(r"<th scope=\"col\"[^>]*>(.*?)</th>", re.DOTALL)
TASKS = "/search/task"
TIMERS = "/admin/jobs/timers"


def headers(page: str) -> list[str]:
    return [text_of(each).strip(" ↑↓") for each in HEADERS.findall(page)]


def tasks(nora: Api, *titles: str) -> list[int]:
    return [nora.create("task", title=title).ok()["id"] for title in titles]


def test_columns_sort_and_page_are_in_the_address(signed_in: Visitor, nora: Api) -> None:
    tasks(nora, *(f"listed {letter}" for letter in "bac"))
    page = signed_in.get(
        TASKS, params={"q": "title:listed*", "columns": "_label,updated,status", "sort": "-title"}
    ).text
    assert headers(page) == ["Task", "Updated", "Status"]
    assert re.findall(r">(listed .)</a>", page) == ["listed c", "listed b", "listed a"]
    assert 'aria-sort="descending"' in page and "sort=title" in page
    ascending = signed_in.get(TASKS, params={"q": "title:listed*", "sort": "title"}).text
    assert re.findall(r">(listed .)</a>", ascending) == ["listed a", "listed b", "listed c"]


@pytest.mark.parametrize(
    ("query", "status", "told"),
    [
        ("columns=nope", 422, "there is no column 'nope'"),
        ("sort=nope", 422, "cannot be sorted by 'nope'"),
        ("by=nope", 422, "'nope' is not a filter of task"),
        ("q=nope:1", 422, "nope"),
        ("q=(", 422, "The search was not run."),
        ("limit=1000000", 200, "listed"),
        ("format=exe", 404, "use csv, raw or jsonl"),
        ("q=nope:1&format=csv", 422, "nope"),
        ("page=999999", 200, "listed"),
    ],
)
def test_invalid_parameters_are_reported(query: str, status: int, told: str, signed_in: Visitor, nora: Api) -> None:
    tasks(nora, "listed once more")
    response = signed_in.get(f"{TASKS}?{query}")
    assert response.status_code == status and told in text_of(response.text)


def test_types_that_cannot_be_searched_have_no_list(signed_in: Visitor) -> None:
    assert signed_in.get("/search/nope").status_code == 404
    assert signed_in.get("/search/comment").status_code in (200, 501, 405, 404)


def test_creating_is_offered_only_to_permitted_workers(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    visitor.sign_in("milo@desk.example")
    for who, may in ((signed_in, {"task", "mail_transport"}), (visitor, {"task"})):
        for uri in ("task", "mail_transport", "automation_event"):
            assert (f'href="/records/{uri}/new"' in who.get(f"/search/{uri}").text) is (uri in may), uri


def test_chosen_columns_are_stored_for_a_worker_until_they_reset_them(signed_in: Visitor, nora: Api) -> None:
    tasks(nora, "kept columns")
    usual = headers(signed_in.get(TASKS).text)
    form = {"list": TASKS, "back": f"{TASKS}?q=x", "columns[]": ["_label", "created"]}
    assert place(signed_in.send("/-/columns", form, page=TASKS)) == f"{TASKS}?q=x"
    assert headers(signed_in.get(TASKS).text) == ["Task", "Created"] != usual
    assert signed_in.send("/-/columns", {**form, "columns[]": ["nope"]}, page=TASKS).status_code == 422
    assert signed_in.send("/-/columns", {**form, "list": "/nope"}, page=TASKS).status_code == 404
    assert place(signed_in.send("/-/columns", {**form, "back": "//evil.example"}, page=TASKS)) == TASKS
    signed_in.send("/-/columns", {**form, "usual": "1"}, page=TASKS)
    assert headers(signed_in.get(TASKS).text) == usual


def test_a_count_narrows_the_list_on_click(signed_in: Visitor, nora: Api) -> None:
    first, *_ = tasks(nora, "counted one", "counted two")
    nora.update("task", first, status="closed").ok()
    page = signed_in.get(TASKS, params={"q": "title:counted*", "by": "status"}).text
    counted = re.findall(r'<li><a href="([^"]*)">(\w+) <span class="number">(\d+)</span>', page)
    assert {label: hits for _, label, hits in counted} == {"Open": "1", "Closed": "1"}
    narrowed = signed_in.get(next(path for path, label, _ in counted if label == "Closed").replace("&amp;", "&")).text
    assert re.findall(r">(counted \w+)</a>", narrowed) == ["counted one"]


def test_results_are_exported_with_the_callers_rights(signed_in: Visitor, nora: Api) -> None:
    tasks(nora, "=HYPERLINK(1)", "filed plain")
    asked = {"q": "sort:id", "columns": "_label,status", "format": "csv"}
    response = signed_in.get(TASKS, params=asked)
    rows = list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))
    assert response.headers["Content-Disposition"] == 'attachment; filename="task.csv"'
    assert [*rows[0]] == ["id", "_label", "status"] and "'=HYPERLINK(1)" in {each["_label"] for each in rows}
    lines = signed_in.get(TASKS, params=asked | {"format": "jsonl"}).text.splitlines()
    assert len(lines) == len(rows) and json.loads(lines[-1])["_label"] == "filed plain"


@pytest.mark.parametrize(
    ("language", "timezone", "separator", "due"),
    [("en_US", "UTC", ",", "2031-03-04 09:30:00"), ("de_DE", "Europe/Berlin", ";", "2031-03-04 10:30:00"),
     ("de_CH", "Asia/Tokyo", ",", "2031-03-04 18:30:00")],
)  # fmt: skip
def test_a_file_for_spreadsheets_has_a_byte_order_mark_and_readable_times(
    signed_in: Visitor, nora: Api, language: str, timezone: str, separator: str, due: str
) -> None:
    at = 1930383000
    task = nora.create("task", title="Müller", due=str(at)).ok()["id"]
    nora.update("worker", nora.ids["nora"], language=language, timezone=timezone).ok()
    asked = {"q": f"id:{task}", "columns": "_label,due"}
    try:
        page = signed_in.get(TASKS, params=asked).text
        assert "format=csv" in page and "format=raw" in page and "format=jsonl" in page
        file = signed_in.get(TASKS, params={**asked, "format": "csv"}).content
        raw = signed_in.get(TASKS, params={**asked, "format": "raw"})
    finally:
        nora.update("worker", nora.ids["nora"], language="en_US", timezone="UTC").ok()
    assert file.startswith(b"\xef\xbb\xbf")
    lines = file.decode("utf-8-sig").splitlines()
    assert lines == [separator.join(("id", "_label", "due")), separator.join((str(task), "Müller", due))]
    assert raw.content.decode("utf-8").splitlines() == ["id,_label,due", f"{task},Müller,{at}"]
    assert raw.headers["Content-Disposition"] == 'attachment; filename="task.raw.csv"'


def test_selected_records_are_deleted_after_confirmation(signed_in: Visitor, nora: Api) -> None:
    ids = tasks(nora, "selected one", "selected two", "selected three")
    form = {"list": TASKS, "do": "delete", "back": TASKS, "ids[]": [str(id) for id in (*ids[:2], 999_999)]}
    asked = signed_in.send("/-/bulk", form, page=TASKS)
    assert asked.status_code == 422 and "3 records are selected." in text_of(asked.text)
    assert nora.record("task", ids[0]).status == 200
    assert place(signed_in.send("/-/bulk", {**form, "_sure": "1"}, page=TASKS)) == TASKS
    told = text_of(signed_in.get(TASKS).text)
    assert "2 records deleted. Refused: 999999: there is no task 999999" in told
    assert [nora.record("task", id).status for id in ids] == [404, 404, 200]


def test_selected_records_are_switched_and_restored(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("automation_timer", name="Bulk", next_run_at=4_000_000_000).ok()["id"]
    form = {"list": TIMERS, "do": "off", "back": TIMERS, "ids[]": [str(id)]}
    assert place(signed_in.send("/-/bulk", form, page=TIMERS)) == TIMERS
    assert nora.record("automation_timer", id).ok()["is_disabled"] == 1
    page = signed_in.get(TIMERS).text
    undo = re.findall(r'<div class="toast">.*?</form>', page, re.DOTALL)[0]
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'name="([^"]+)" value="([^"]*)"', undo):
        fields.setdefault(name, []).append(value)
    assert signed_in.post("/-/bulk", fields).status_code == 303
    assert nora.record("automation_timer", id).ok()["is_disabled"] == 0
    nora.remove("automation_timer", id).ok()


@pytest.mark.parametrize(
    ("form", "status", "told"),
    [
        ({"do": "delete"}, 422, "Select at least one record."),
        ({"do": "fly", "ids[]": ["1"]}, 422, "Choose what to do"),
        ({"do": "delete", "ids[]": ["x"]}, 422, "ids"),
        ({"do": "delete", "ids[]": [str(each) for each in range(1, MAX_SELECTED + 2)]}, 422, "Select at most 100"),
        ({"do": "delete", "ids[]": ["1"], "list": "/nope"}, 404, "no such list"),
    ],
)
def test_invalid_selections_are_reported(form: dict[str, object], status: int, told: str, signed_in: Visitor) -> None:
    response = signed_in.send("/-/bulk", {"list": TASKS, "back": TASKS, **form}, page=TASKS)
    assert response.status_code == status and told in text_of(response.text)


def test_rights_are_checked_for_each_record(visitor: Visitor, signed_in: Visitor, nora: Api) -> None:
    [id] = tasks(nora, "for others")
    assert visitor.sign_in("milo@desk.example").status_code == 303
    timers = {"list": TIMERS, "do": "off", "ids[]": ["1"], "_xsrf": visitor.token(TASKS)}
    assert visitor.post("/-/bulk", timers).status_code == 403
    form = {"list": TASKS, "do": "delete", "_sure": "1", "ids[]": [str(id)]}
    before = nora.as_("milo").remove("task", id).status
    response = visitor.send("/-/bulk", form, page=TASKS)
    assert response.status_code == 303 and (before == 200 or "Refused" in visitor.get(TASKS).text)


def test_rows_are_selected_by_keys_and_ranges(page: Page, nora: Api) -> None:
    tasks(nora, *(f"ranged {number}" for number in range(5)))
    page.goto(f"{TASKS}?q=title:ranged*&sort=title")
    boxes = page.get_by_role("checkbox", name=re.compile("^Select ranged"))
    boxes.nth(0).click()
    boxes.nth(3).click(modifiers=["Shift"])
    expect(page.locator(".bulk")).to_contain_text("4 / 5")
    for _ in range(5):
        page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator(".bulk")).to_contain_text("5 / 5")
    page.locator("[data-all]").click()
    expect(page.locator(".bulk")).to_be_hidden()


@pytest.mark.exhaustive("a desk with hundreds of groups")
def test_many_buckets_and_workers_are_found_by_the_server(chromium: Browser, tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    nora = server.set_up()
    for number in range(MAX_LISTED_CHOICES):
        nora.create("group", name=f"Branch {number:02}").ok()
        nora.create(
            "worker",
            first_name="Ida",
            last_name=f"Branch {number:02}",
            email=f"ida{number}@desk.example",
            language="en_US",
            timezone="UTC",
        ).ok()
    support = nora.search("group", "default:yes").ok()["results"][0]["id"]
    ids = [nora.create("ticket", subject=f"Sent on {n}", group_id=support).ok()["id"] for n in range(2)]
    visitor = Visitor(nora.url)
    visitor.sign_in()
    assert "Branch 07" not in visitor.get("/search/ticket").text.partition("<main")[2]
    with chromium.page(nora.url, cookies=visitor.cookies) as page:
        page.goto("/search/ticket?q=subject:Sent*")
        page.keyboard.press("j")
        page.keyboard.press("x")
        page.keyboard.press("Shift+J")
        page.keyboard.press("m")
        line = page.get_by_role("combobox", name="Move")
        expect(line).to_be_focused()
        page.keyboard.type("branch 07")
        expect(page.locator(".pick .options li")).to_have_text(re.compile("Branch 07 / "))
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        expect(page.locator(".toasts")).to_contain_text("2 tickets moved to Branch 07 / ")
        page.keyboard.press("Control+k")
        page.keyboard.type("assign branch 03")
        page.locator("#jump").get_by_text("Assign: Ida Branch 03").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
    group = nora.search("group", 'name:"Branch 07"').ok()["results"][0]["id"]
    assert [nora.record("ticket", id)["group_id"] for id in ids] == [group, group]
    for typed, words in (("Branch 09 / Inbox", "Moved to Branch 09 / "), ("Branch", "No record has exactly that name")):
        form = {
            "list": "/search/ticket",
            "back": "/search/ticket",
            "do": "move",
            "value_move": typed,
            "ids[]": [str(ids[0])],
        }
        sent = visitor.send("/-/bulk", form, page="/search/ticket")
        assert words in text_of(sent.text if sent.status_code == 422 else visitor.get("/search/ticket").text)
