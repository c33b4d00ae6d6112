"""Every page of the route table, for everyone: by keyboard alone, without scripts, on a phone, in the dark, in
forced colours, on paper, and checked by axe. A new page is tested without further code; the parameters of its
address are in table.py."""

import re
import struct
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console import shots, table, walking
from tests.console.browser import NARROW, PHONE, Browser, axe, is_sideways, violations
from tests.console.lively import Lively
from tests.records.desk import Desk

pytestmark = [
    pytest.mark.sqlite("a desk with backups of its file"),
    pytest.mark.exhaustive("every kind of page in every form of display"),
]

MIDDLE = {"width": 1100, "height": 800}  # barely wide enough for tables
SHORT = {"width": PHONE[0], "height": 560}  # so that bars are close together
TINY = {"width": NARROW[0], "height": NARROW[1]}
# Used codes, and a page that never existed.
NOT_THERE = (
    f"/reset/{table.GONE}", f"/confirm-address/{table.GONE}", f"/setup/{table.GONE}", f"/join/{table.GONE}",
    f"/sign-in/link/{table.GONE}", "/sign-in/start/", "/sign-in/callback/", "/confirm/", "/connect/callback", "/no/",
)  # fmt: skip
FEW = (
    "/-/ui",
    "/automations",
    "/account",
    "/inbox?v=open",
    "/compose",
    "/tickets/{ticket}",
    "/",
)  # their colours are the same everywhere
# Forms that respond with a page: a result, or a secret that is shown once.
SHOWN = (
    "/forgotten", "/automations/new", "/automations/{id}", "/automations/webhooks/{id}/try", "/admin/tokens/new",
    "/admin/apps/{id}/rotate", "/admin/packages/look", "/admin/packages/import", "/admin/packages/export",
    "/admin/people/{id}/invite", "/api/{name}",
)  # fmt: skip
ANSWERS = {
    "/automations/stop": (404,),  # since no run of that page is active
    "/admin/jobs/{id}/run": (303, 404),  # the scheduler may have finished the job already
}
# Endings of forms that are sent last and in this order, because they remove what others need. The very last ends nora's
# own session, which is listed first.
LAST = ("/drop", "/discard", "/revoke", "/remove", "/disable", "/delete", "/sessions/end", "/{id}/end")
# Pages whose pictures are taken: name of the picture, address, expected text, element at the top.
PICTURED = (
    ("start", "/", "Hello, Nora Berg", "body"),
    ("mail", "/admin/mail", "Receiving", "body"),
    ("webhook", "/automations/webhooks/{webhook}", "Deliveries", "body"),
    ("app", "/admin/apps/{app}", "Allowed requests", ".field.editor"),
)
SPREAD = "UPDATE {table} SET created = created - (id * 7919 % 30) * (id * 31 % 24) * 3600"
CLOSE = "UPDATE ticket SET status_id = 2, closed = min(created + (id * 17 % 90) * 3600, updated) WHERE id % 3"
DISCUSSED = "status:open messages.count:>1"  # tickets of the demo, which covers the last year
IN_FRAMES = "Blocked script execution"  # of axe, which is added to frames, too: those of mail and texts run no scripts
MOVING = """[...document.querySelectorAll('*')].map(e => getComputedStyle(e))
    .filter(s => s.animationName !== 'none' || parseFloat(s.transitionDuration) > 0).length"""


@pytest.fixture(scope="module")
def pages(chromium: Browser, lively: Lively) -> Iterator[list[tuple[Page, str]]]:
    """Every page, each with the browser tab that opens it: nora's, or an anonymous one."""
    url = lively.visitor.url
    dark = {"color_scheme": "dark"}
    with (
        chromium.page(url, cookies=lively.visitor.cookies, refused=IN_FRAMES, is_journey=True, **dark) as mine,
        chromium.page(url, is_journey=True, **dark) as nobodys,
    ):
        for page in (mine, nobodys):
            page.add_init_script(axe())
        yield [
            (nobodys if access == "anyone" and not path.startswith(("/-/", "/oauth/")) else mine, path)
            for path, access in table.addresses(lively).items()
            if is_page(lively, path) and not path.startswith(table.FRAMES)
        ]


@pytest.fixture
def mine(pages: list[tuple[Page, str]]) -> Page:
    """A tab of nora's, in the dark."""
    return next(page for page, path in pages if path == "/account")


def is_page(lively: Lively, path: str) -> bool:
    """Returns whether it is a whole page, and not a fragment or a file."""
    response = lively.visitor.get(path)
    assert response.status_code < 500, (path, response.status_code)
    return response.headers["Content-Type"].startswith("text/html") and response.text.startswith("<!doctype html>")


def test_every_page_for_everyone(pages: list[tuple[Page, str]]) -> None:
    wrong: dict[str, list[str]] = {}
    titles: dict[str, list[str]] = {}
    for page, path in pages:
        wrong[path] = problems(page, path)
        if "?" not in path and not path.startswith(NOT_THERE) and page.url.endswith(path):
            titles.setdefault(page.title(), []).append(path)
    told = [f"{path}: {each}" for path, found in wrong.items() for each in found]
    told += [f"{paths} have the same title" for paths in titles.values() if len(paths) > 1]
    assert not told, "\n".join(told)


def problems(page: Page, path: str) -> list[str]:
    """Returns the problems of one page, for any user."""
    page.set_viewport_size(SHORT)
    response = page.goto(path)
    assert response is not None
    found = [] if response.ok or path.startswith(NOT_THERE) else [f"is {response.status}: is its address in table.py?"]
    found += violations(page, part="main")
    found += walking.keyboard(page) + walking.question(page)
    for size in (SHORT, TINY, MIDDLE):
        if size != SHORT:  # that size is set already, and a new layout takes time
            page.set_viewport_size(size)
        found += [f"scrolls sideways at {size['width']}"] if is_sideways(page) else []
    return found + ([] if page.locator("h1").count() == 1 else ["has not one heading of the first level"])


def test_the_frame_around_every_page(mine: Page) -> None:
    mine.goto("/account")
    assert violations(mine) == []
    mine.get_by_role("button", name="Keyboard shortcuts").click()
    assert violations(mine) == []
    mine.keyboard.press("Escape")
    expect(mine.get_by_role("button", name="Keyboard shortcuts")).to_be_focused()


def test_light_and_forced_colours(mine: Page, lively: Lively) -> None:
    mask = lively.nora.search("ticket", "messages.count:>0", limit=1).ok()["results"][0]["mask"]
    for path in (each.format(ticket=mask) for each in FEW):
        mine.goto(path)
        for colours in ({"color_scheme": "light"}, {"color_scheme": "dark", "forced_colors": "active"}):
            mine.emulate_media(**colours)
            assert violations(mine, ["color-contrast"]) == [], (path, colours)
        bare = mine.evaluate(
            "[...document.querySelectorAll('.badge, .card, .primary, .rail [aria-current]')]"
            ".filter(e => e.checkVisibility() && getComputedStyle(e).borderTopStyle === 'none').map(e => e.outerHTML)"
        )
        assert bare == [], path  # there only borders show what backgrounds show elsewhere
        mine.emulate_media(color_scheme="dark", forced_colors="none")


def test_pages_on_paper(mine: Page) -> None:
    mine.emulate_media(media="print")
    mine.goto("/admin/tokens")
    assert mine.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(27, 33, 41)"
    for gone in (".top", ".rail", ".bar", "main button", ".drawer"):
        expect(mine.locator(gone).first).to_be_hidden()
    expect(mine.locator("main table").first).to_be_visible()
    assert not is_sideways(mine)
    mine.emulate_media(media="screen")


def test_nothing_moves_with_reduced_motion(mine: Page) -> None:
    mine.goto("/-/ui")  # these browsers request reduced motion
    assert mine.evaluate(MOVING) == 0
    mine.emulate_media(reduced_motion="no-preference")
    assert mine.evaluate(MOVING) > 0
    mine.emulate_media(reduced_motion="reduce")


def test_pictures_for_the_readme(mine: Page, lively: Lively) -> None:
    if shots.IS_ASKED:
        _spread(lively)
        lively.visitor.send("/setup/demo", page="/setup/start")
    mine.emulate_media(color_scheme="light")
    mine.goto("/inbox")
    if shots.IS_ASKED:
        mine.locator(".rail").get_by_role("link", name="Orders").click()
    expect(mine.locator(".rail")).to_contain_text("Unassigned")
    shots.take(mine, "inbox")
    mine.goto(f"/search/ticket?q={DISCUSSED if shots.IS_ASKED else ''}")
    mine.locator("tbody a").first.click()
    expect(mine.locator("#panel")).to_contain_text("Requesters")
    shots.take(mine, "ticket")
    for name, path, words, top in PICTURED:
        mine.goto(path.format(**lively.ids))
        expect(mine.locator("main")).to_contain_text(words)
        shots.take(mine, name, top)
    mine.goto(f"/automations/webhooks/deliveries/{lively.ids['delivery']}")
    mine.get_by_role("link", name="Open in the simulator").click()
    mine.get_by_role("button", name="Simulate", exact=True).click()
    expect(mine.locator("#result")).to_contain_text("Order 4711 is noted.")
    shots.take(mine, "automation")
    mine.emulate_media(color_scheme="dark")
    mine.goto("/automations/webhooks")
    expect(mine.locator("main")).to_contain_text("Orders from the shop")
    shots.take(mine, "phone")


def _spread(lively: Lively) -> None:
    """Spreads the creation of tickets over a month, and closes most of them."""
    desk = Desk(lively.server.data)
    try:
        for table in ("ticket", "message"):
            desk.store.write(lambda tx, table=table: tx.connection.execute(SPREAD.format(table=table)))
        desk.store.write(lambda tx: tx.connection.execute(CLOSE))
    finally:
        desk.close()


def test_the_readme_shows_every_picture() -> None:
    found = {path.stem: path.read_bytes() for path in shots.FOLDER.iterdir()}
    assert found.keys() == shots.PICTURES.keys()
    for name, content in found.items():
        size = struct.unpack(">II", content[16:24])
        assert content.startswith(b"\x89PNG\r\n") and size == shots.PICTURES[name], name
        assert len(content) <= shots.MAX_BYTES, name
    shown = re.findall(r"\(resources/screenshots/([^)]*)\.png\)", (shots.ROOT / "README.md").read_text("utf-8"))
    assert sorted(shown) in ([], sorted(found))


def test_every_form_is_accepted_without_scripts(lively: Lively) -> None:
    """Last, because it changes everything: each kind of form once, with its present values."""
    visitor = lively.visitor
    kinds: dict[str, tuple[table.Form, str]] = {}
    for path in table.addresses(lively):
        response = visitor.get(path)
        if response.headers["Content-Type"].startswith("text/html"):
            for form in table.forms(response.text, path) if path != "/-/ui" else []:
                kinds.setdefault(table.kind(form), (form, path))
    assert "" not in kinds, f"{kinds['']} leads nowhere"
    del kinds["/sign-out"]  # present on every page
    wrong = []
    for kind, (form, path) in sorted(kinds.items(), key=lambda each: _turn(each[0])):
        response = visitor.post(form.action, form.fields)
        if response.status_code not in ANSWERS.get(kind, (200, 303, 422) if kind in SHOWN else (303, 422)):
            wrong.append(f"{kind}, which stands on {path}: {response.status_code}")
    assert not wrong, "\n".join(wrong)
    assert len(kinds) > 40


def _turn(kind: str) -> int:
    return next((place for place, ending in enumerate(LAST, 1) if kind.endswith(ending)), 0)
