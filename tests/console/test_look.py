"""The frame around every page: the rail, the bar of a phone, icons, charts, and the weight of a page."""

import gzip
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import requests
from markupsafe import escape
from playwright.sync_api import Page, expect

import console
from console.html import charts, icons, ui
from console.html.charts import Series
from console.http import static_files
from tests.console.browser import PHONE, Browser, violations
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, text_of
from tests.records.desk import Desk
from tests.service import Api, Server
from tests.telling import WITH_AND_WITHOUT_SCRIPTS

pytestmark = pytest.mark.sqlite("the same with any store")

STATIC = Path(console.__file__).parent / "static"
MAX_SCRIPT, MAX_STYLE = 48 * 1024, 33 * 1024  # bytes per page, before compression
MAX_TICKET_SCRIPT = 60 * 1024  # a ticket has the editor of a reply
# Charts; the conversation and the panel of a ticket; charts, boards, maps and calendars.
MAX_MORE_STYLE = {"/": 4096, "/tickets/": 14 * 1024, "/pages/": 6 * 1024}
PAGES = (
    "/inbox",
    "/compose",
    "/",
    "/tickets/{ticket}?in=status:open&at=1",
    "/automations/{automation}",
    "/automations/new",
    "/automations/webhooks/{webhook}",
    "/records/worker/1",
    "/search/ticket",
    "/admin/people",
    "/automations/log",
    "/admin/system/settings",
    "/help/search",
    "/account",
    "/pages/{page}",
)


def _imported(name: str, seen: set[str]) -> set[str]:
    """Returns a script and all scripts that it imports."""
    if name not in seen:
        seen.add(name)
        for other in re.findall(r'from "\./([a-z]+\.js)"|import "\./([a-z]+\.js)"', (STATIC / name).read_text("utf-8")):
            _imported(other[0] or other[1], seen)
    return seen


def _weight(page: str) -> tuple[int, int]:
    """Returns the bytes of scripts and of styles that a page loads."""
    scripts: set[str] = set()
    for name in re.findall(r'<script[^>]*src="/static/[^/]*/([^"]*)"', page):
        _imported(name, scripts)
    styles = re.findall(r'<link rel="stylesheet" href="/static/[^/]*/([^"]*)"', page)
    return sum(map(_sent, scripts)), sum(map(_sent, styles))


def _sent(name: str) -> int:
    """Returns the bytes of a file as served, before compression."""
    found = static_files.respond(f"{static_files.PREFIX}{name}")
    assert found is not None
    return len(found.body)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_weighs_little(signed_in: Visitor, nora: Api, path: str) -> None:
    if "{ticket}" in path:
        path = path.replace(
            "{ticket}", nora.create("ticket", subject="Weighed", group_id=nora.ids["support"]).ok()["mask"]
        )
    if "{page}" in path:
        owner = {"owner__context": "app", "owner_id": 0}
        kind = "core.workspace.page.workspace"
        found = nora.create("workspace_page", name="Weighed", extension_id=kind, **owner).ok()["id"]
        path = path.replace("{page}", str(found))
    response = signed_in.get(path.format(**nora.ids))
    scripts, styles = _weight(response.text)
    most = MAX_TICKET_SCRIPT if path.startswith("/tickets/") else MAX_SCRIPT
    folder = next((each for each in ("/tickets/", "/pages/") if path.startswith(each)), path)
    most_style = MAX_STYLE + MAX_MORE_STYLE.get(folder, 0)
    assert response.status_code == 200 and 0 < scripts <= most and 0 < styles <= most_style


def test_the_editor_is_loaded_only_by_pages_that_have_one(signed_in: Visitor, nora: Api) -> None:
    for path in ("/automations/new", f"/automations/{nora.ids['automation']}", "/admin/apps/new"):
        page = signed_in.get(path).text
        assert ("/editor.js" in page and "/editor.css" in page) is ("data-editor" in page), path
    assert "/editor.js" not in signed_in.get("/admin/people").text


@pytest.mark.parametrize(
    ("name", "mark", "pages"),
    [
        ("uploading", 'type="file"', ("/admin/packages", "/records/org/import", "/admin/people")),
        ("checking", "data-checks", ("/admin/apps/new", "/admin/people")),
    ],
)
def test_form_scripts_are_loaded_only_by_pages_that_need_them(
    signed_in: Visitor, name: str, mark: str, pages: tuple[str, ...]
) -> None:
    for path in pages:
        page = signed_in.get(path).text
        assert (f"/{name}.js" in page) is (mark in page) is (path != "/admin/people"), path


def test_files_are_compressed_for_clients_that_accept_it(server: Server, signed_in: Visitor) -> None:
    address = re.findall(r'href="(/static/[^"]*console\.css)"', signed_in.get("/").text)[0]
    plain = requests.get(server.url + address, headers={"Accept-Encoding": "identity"}, timeout=30)
    packed = requests.get(server.url + address, headers={"Accept-Encoding": "br, gzip"}, timeout=30, stream=True)
    content = packed.raw.read(decode_content=False)
    assert packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(content) == plain.content
    assert len(content) < len(plain.content) / 3 and "Content-Encoding" not in plain.headers
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"


def test_icons_are_of_one_set_and_each_is_used(signed_in: Visitor) -> None:
    used = set(re.findall(r'ui\.icon\("([a-z]+)"\)', "".join(path.read_text("utf-8") for path in _templates())))
    named = set(re.findall(r'icon="([a-z]+)"', (STATIC.parent / "http" / "navigation.py").read_text("utf-8")))
    start = set(re.findall(r'"\)?, "([a-z]+)"', (STATIC.parent / "pages" / "start_figures.py").read_text("utf-8")))
    assert used | named <= icons.PATHS.keys() and icons.PATHS.keys() - used - named <= start
    for path in icons.PATHS.values():
        numbers = [float(each) for each in re.findall(r"(?<=[MH])-?\d*\.?\d+", path)]
        assert all(0 <= each <= 16 for each in numbers), path
    page = signed_in.get("/").text
    assert page.count('class="icon"') == page.count('viewBox="0 0 16 16" aria-hidden="true"')


def _templates() -> Iterator[Path]:
    return (STATIC.parent / "templates").rglob("*.html")


def test_templates_use_only_existing_components() -> None:
    """No type checker reads templates."""
    named = {name for path in _templates() for name in re.findall(r"\bui\.([A-Za-z_]+)", path.read_text("utf-8"))}
    assert len(named) > 30 and {name for name in named if not hasattr(ui, name)} == set()


# -- the rail ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide(chromium: Browser, server: Server, nora_in_a_browser: Visitor) -> Iterator[Page]:
    with chromium.page(server.url, cookies=nora_in_a_browser.cookies) as opened:
        yield opened


def test_a_closed_group_stays_closed_except_for_the_current_page(wide: Page) -> None:
    wide.goto("/help")
    rail = wide.locator(".rail")
    section, organizations = rail.locator('[data-group="customers"]'), rail.get_by_role("link", name="Organizations")
    section.locator("summary").click()
    expect(organizations).to_be_hidden()
    wide.goto("/")
    expect(organizations).to_be_hidden()
    expect(rail.get_by_role("link", name="Tasks")).to_be_visible()
    wide.goto("/search/org")
    expect(organizations).to_have_attribute("aria-current", "page")
    wide.goto("/")
    section.locator("summary").press("Enter")
    expect(organizations).to_be_visible()


@pytest.mark.parametrize("javascript", WITH_AND_WITHOUT_SCRIPTS)
def test_the_bar_of_a_phone_leads_to_everything(
    chromium: Browser, server: Server, nora_in_a_browser: Visitor, javascript: bool
) -> None:
    with chromium.page(server.url, PHONE, nora_in_a_browser.cookies, java_script_enabled=javascript) as phone:
        phone.goto("/inbox")
        bar, settings = phone.get_by_role("navigation", name="Most used"), phone.get_by_role("link", name="Settings")
        names = [each.split()[0] for each in bar.get_by_role("listitem").all_inner_texts()]
        assert names == ["Inbox", "Search", "New", "Notifications", "More"]
        expect(bar.get_by_role("link", name="Inbox")).to_have_attribute("aria-current", "page")
        expect(settings).to_be_hidden()
        phone.get_by_role("link", name="Lists").click()
        expect(phone.get_by_role("link", name="Unassigned")).to_be_visible()
        bar.get_by_role("link", name="Close").click()
        bar.get_by_role("link", name="More").click()
        expect(settings).to_be_visible()
        if javascript:
            assert violations(phone, part=".bar") == []
        bar.get_by_role("link", name="Close").click()
        expect(settings).to_be_hidden()
        bar.get_by_role("link", name="More").click()
        settings.click()
        expect(phone.get_by_role("heading", level=1)).to_have_text("Settings")


# -- charts -----------------------------------------------------------------------------------------------------------


class _Table(HTMLParser):
    """The cells of the table behind a chart, and the chart's text for screen readers."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.label = ""
        self._is_cell = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_cell = tag in ("td", "th")
        if tag == "svg":
            self.label = dict(attrs)["aria-label"] or ""

    def handle_data(self, data: str) -> None:
        if self._is_cell:
            self.cells.append(data)
            self._is_cell = False


def test_a_chart_shows_the_values_of_its_table() -> None:
    shown = charts.columns("Odd <days>", ["a", "b", "c"], [Series("Up", [1, 0, 7]), Series("Down & out", [0, 2, 8])])
    table = _Table(shown)
    assert table.cells == ["Day", "Up", "Down & out", "a", "1", "0", "b", "0", "2", "c", "7", "8"]
    assert table.label == "Odd <days>. Up: 8. Down & out: 10. "
    tall = [float(each) for each in re.findall(r'<rect[^>]*height="([^"]*)"', shown)]
    assert tall == [100 * value / 8 for value in (1, 7, 2, 8)]  # nothing is drawn for 0, and 8 is the top


def test_a_chart_without_data_is_empty() -> None:
    assert "<rect" not in charts.columns("None", ["a"], [Series("Up", [0])])
    assert 'width="0"' in charts.rows("None", [("Old", 0, "/")])


@pytest.mark.parametrize("javascript", WITH_AND_WITHOUT_SCRIPTS)
def test_a_chart_says_its_values_by_pointer_and_by_keys(
    chromium: Browser, server: Server, nora: Api, nora_in_a_browser: Visitor, javascript: bool
) -> None:
    nora.create("ticket", subject="In a chart", group_id=nora.ids["support"]).ok()
    with chromium.page(server.url, (1280, 900), nora_in_a_browser.cookies, java_script_enabled=javascript) as page:
        page.goto("/")
        chart = page.get_by_role("radiogroup", name="Tickets per day")
        days, tips = chart.get_by_role("radio"), chart.locator(".tip")
        expect(days.last).to_be_checked()
        assert re.fullmatch(r"\w+ \w+ \d+: Created [1-9]\d*, Closed \d+", tips.last.inner_text())
        expect(tips.last).to_have_css("opacity", "1")
        days.last.press("ArrowLeft")
        expect(days.nth(-2)).to_be_checked()
        expect(tips.nth(-2)).to_have_css("opacity", "1")
        expect(tips.last).to_have_css("opacity", "0")
        chart.locator("label").first.hover()
        expect(tips.first).to_have_css("opacity", "1")


def test_workers_see_their_day_and_leads_also_that_of_the_team(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    assert visitor.sign_in("milo@desk.example").status_code == 303
    mine, private = f"Mine {HOSTILE}", nora.ids["private"]
    for id in nora.found("ticket", f"status:open owner.id:{nora.ids['milo']}"):  # of other tests
        nora.update("ticket", id, owner_id=0).ok()
    nora.create("ticket", subject=mine, group_id=nora.ids["support"], owner_id=nora.ids["milo"]).ok()
    page = visitor.get("/").text
    assert "Your oldest open tickets" in page and escape(mine) in page and HOSTILE not in page
    for lead in ("The team's day", "Tickets per day", "Open tickets by owner", "Needs attention", "Get started"):
        assert escape(lead) not in page, lead
    assert escape("The team's day") in signed_in.get("/").text and mine not in signed_in.get("/").text
    nora.create("ticket", subject="Hidden", group_id=private).ok()
    group = nora.create("group", name="Led").ok()["id"]
    nora.update("group", group, members={"manager": str(nora.ids["milo"])}).ok()
    team = text_of(visitor.get("/").text).partition("The team's day")[2]
    everything = text_of(signed_in.get("/").text)
    own, all_of_them = (int(re.findall(r"Open tickets by age Today (\d+)", each)[0]) for each in (team, everything))
    assert 0 < own < all_of_them  # without those of a group that milo may not read
    nora.remove("group", group).ok()


def test_the_start_page_draws_the_existing_data(signed_in: Visitor, nora: Api) -> None:
    before = _totals(signed_in)
    nora.parse(b"From: ana@customer.example\nTo: support@desk.example\nSubject: Drawn\n\nOne more.\n").ok()
    after = _totals(signed_in)
    assert after["Created"] == before["Created"] + 1 and after["Received"] == before["Received"] + 1
    assert after["Today"] == before["Today"] + 1 and after["Older"] == before["Older"]


def _totals(visitor: Visitor) -> dict[str, int]:
    page = visitor.get("/").text
    labels = " ".join(re.findall(r'role="img" aria-label="([^"]*)"', page))
    found = dict(re.findall(r"([A-Z][a-z]+): (\d+)\.", labels))
    found |= re.findall(r'<span>([^<]*)</span><span class="track".*?<span class="number">(\d+)</span>', page)
    return {name: int(number) for name, number in found.items()}


def test_response_times_are_given_as_median_and_90th_percentile(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    ids = [
        nora.create("ticket", subject=f"Answered {number}", group_id=nora.ids["support"]).ok()["id"]
        for number in range(10)
    ]
    tickets = desk.registry.type("ticket").table
    desk.store.write(lambda tx: [  # tickets of other tests have replies too
        tx.update(tickets, each[tickets.names.index("id")], {"elapsed_response_first": 0}) for each in tx.find(tickets)
    ])  # fmt: skip
    for number, id in enumerate(ids, 1):
        desk.store.write(
            lambda tx, id=id, number=number: tx.update(tickets, id, {"elapsed_response_first": number * 3600})
        )
    shown = text_of(signed_in.get("/").text).partition("Response times")[2]
    assert shown.strip().startswith("First response, median 5 hours First response, 90 % 9 hours")


# -- one scale --------------------------------------------------------------------------------------------------------

_SPACING = re.compile(r"(?<![\w-])(?:padding|margin|gap|inset|top|bottom|column-gap|row-gap)[a-z-]*: ([^;}]*)")
HALF_STEP = 0.125  # rem: what centers small texts, such as those of badges


def _styles() -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in STATIC.glob("*.css")}


def test_texts_have_sizes_of_one_scale_and_two_weights() -> None:
    for name, style in _styles().items():
        sizes = set(re.findall(r"font(?:-size)?: ([^;}/]*)", style)) - {"inherit"}
        assert {each for each in sizes if not each.startswith("var(--")} == set(), name
        assert set(re.findall(r"font-weight: ([^;}]*)", style)) <= {"400", "600"}, name


def test_space_is_on_a_grid_of_4_pixels() -> None:
    """The quiet rows of the panel move by the border of their controls."""
    for name, style in _styles().items():
        values = [value for value in _SPACING.findall(style) if "calc" not in value and name != "panel.css"]
        lengths = {float(each) for value in values for each in re.findall(r"(\d*\.?\d+)rem", value)}
        assert {each for each in lengths if (each * 16) % 4 and each != HALF_STEP} == set(), name
