"""Reports in the console: pages, files, rights, and the request of the API that returns the same."""

import csv
import io
import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page

from server import clock
from server.records.writing import RecordWriter
from tests.console.visitor import Visitor
from tests.records.desk import Desk
from tests.service import Api

REPORTS = ("", "/groups", "/workers", "/tags", "/customers", "/hours", "/ratings", "/targets")
_FILLS = """() => [...document.querySelectorAll(".legend .swatch")].map(
  (each) => [each.parentElement.innerText.trim(), getComputedStyle(each).backgroundColor])"""


@pytest.mark.parametrize("report", REPORTS)
def test_each_report_is_shown_with_and_without_records(signed_in: Visitor, nora: Api, report: str) -> None:
    nora.create("ticket", subject="Reported", group_id=nora.ids["support"]).ok()
    page = signed_in.get(f"/reports{report}")
    assert page.status_code == 200 and "Traceback" not in page.text
    empty = signed_in.get(f"/reports{report}?q=subject:nothing-has-this")
    assert empty.status_code == 200 and "nothing-has-this" in empty.text


def test_the_number_of_a_tile_leads_to_as_many_tickets(signed_in: Visitor, nora: Api) -> None:
    for number in range(3):
        nora.create("ticket", subject=f"Counted tile {number}", group_id=nora.ids["support"]).ok()
    page = signed_in.get('/reports?q=subject:"Counted tile*"').text
    tile = re.search(
        r'<a href="(/search/ticket[^"]*)">\s*<span class="label">.*?Created</span><span\s+class="count">3<', page
    )
    assert tile is not None
    query = parse_qs(urlsplit(unescape(tile[1])).query)["q"][0]
    assert nora.search("ticket", query).ok().json["total"] == 3


def test_a_cell_of_the_week_has_a_shade_and_says_its_hour(signed_in: Visitor, nora: Api) -> None:
    nora.create("ticket", subject="Busy hour", group_id=nora.ids["support"]).ok()
    page = signed_in.get('/reports/hours?q=subject:"Busy hour"').text
    cells = re.findall(
        r'<td class="h(\d)">(?:<a href="[^"]*"><span class="unseen">(\w+day, \d\d:00): </span>)?(\d+)', page
    )
    busy = [each for each in cells if each[1]]
    assert len(cells) == 7 * 24 and all(shade == "0" for shade, name, _ in cells if not name)
    assert [(shade, count) for shade, _, count in busy] == [("5", "1")]


def test_a_table_is_a_file_with_the_figures_of_the_api(signed_in: Visitor, nora: Api) -> None:
    nora.create("ticket", subject="Filed figure", group_id=nora.ids["support"]).ok()
    response = signed_in.get('/reports/groups?q=subject:"Filed figure"&format=csv&table=groups')
    assert "attachment" in response.headers["Content-Disposition"]
    [row] = csv.DictReader(io.StringIO(response.content.decode("utf-8-sig")))
    assert (row["label"], row["created"], row["created_before"]) == ("Support", "1", "0")
    report = nora.get("/rest/reports/groups.json", q='subject:"Filed figure"').ok().json
    figure = report["tables"]["groups"]["rows"][0]["figures"]["created"]
    assert (figure["value"], figure["before"], figure["of"]) == (1, 0, "ticket")
    assert nora.search("ticket", figure["query"]).ok().json["total"] == 1
    assert signed_in.get("/reports/groups?format=csv&table=nothing").status_code == 404
    assert signed_in.get("/reports/groups?format=xml&table=groups").status_code == 404


def test_what_is_wrong_is_said_at_its_field(signed_in: Visitor) -> None:
    for query, id in (
        ("q=nothing:here", "q-error"),
        ("range=custom&from=2026-03-02&to=2026-03-01", "to-error"),
        ("range=custom&from=never&to=2026-03-01", "from-error"),
        ("timezone=Nowhere", "timezone-error"),
        ("range=sometimes", "range-error"),
    ):
        page = signed_in.get(f"/reports?{query}")
        assert page.status_code == 422 and f'id="{id}"' in page.text, query


def test_a_custom_range_begins_with_the_last_days(signed_in: Visitor) -> None:
    page = signed_in.get("/reports?range=custom&from=&to=")
    assert page.status_code == 200 and re.search(r'name="from"[^>]* value="\d{4}-\d\d-\d\d"', page.text)


def test_only_those_who_lead_see_reports(nora: Api) -> None:
    visitor = Visitor(nora.url)
    visitor.sign_in("milo@desk.example")
    assert 'href="/reports"' not in visitor.get("/").text
    assert visitor.get("/reports").status_code == 403
    assert nora.people["milo"].get("/rest/reports/overview.json").status == 403


def test_a_report_is_subscribed_to_and_ended(signed_in: Visitor) -> None:
    page = "/reports/hours"
    assert '<option value="0" selected>' in signed_in.get(page).text
    signed_in.send(f"{page}/email", {"weekday": "1"}, page=page)
    chosen = signed_in.get(page).text
    assert "You get this report each Monday." in chosen and '<option value="1" selected>' in chosen
    signed_in.send(f"{page}/email", {"weekday": "0"}, page=page)
    assert "You no longer get this report by email." in signed_in.get(page).text
    assert signed_in.send("/reports/nothing/email", {"weekday": "1"}, page=page).status_code == 422


@pytest.mark.exhaustive("the tabs of every report")
def test_all_reports_are_in_view_from_1280_pixels(page: Page) -> None:
    for report in REPORTS:
        page.goto(f"/reports{report}")
        tabs = page.locator("nav.reports")
        assert tabs.evaluate("each => each.scrollWidth <= each.clientWidth"), report
        box = tabs.bounding_box()
        assert box is not None and box["height"] < 50, report  # one line


def test_bad_ratings_are_red_and_only_outlined(page: Page, nora: Api, desk: Desk) -> None:
    ticket = nora.create("ticket", subject="Rated in a chart", group_id=nora.ids["support"]).ok()["id"]
    values = {"ticket_id": ticket, "score": "bad", "rated_at": clock.now(), "asked_at": clock.now()}
    desk.store.write(lambda tx: RecordWriter(desk.context(), tx).create("rating", values))
    page.goto('/reports/ratings?q=subject:"Rated in a chart"')
    [good, bad] = page.evaluate(_FILLS)
    assert (good[0], bad[0]) == ("Good", "Bad") and good[1] != bad[1]
    bar = page.locator(".plot rect.kerr").first
    assert bar.evaluate("each => getComputedStyle(each).stroke") not in ("none", "")
    assert page.locator(".plot rect.kok").count() == 0  # nobody is happy
    page.emulate_media(forced_colors="active")
    assert bar.evaluate("each => getComputedStyle(each).fill !== getComputedStyle(each).stroke")
