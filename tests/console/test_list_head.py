"""What stands above a list: heading, tabs, search and chips in two lines."""

import pytest
from playwright.sync_api import Page

from console.http import routes
from console.lists.worklist import DECLARED
from tests.console.browser import Browser
from tests.console.lively import Lively

pytestmark = [pytest.mark.sqlite("the same with any store"), pytest.mark.exhaustive("every list")]

MAX_ABOVE = 100  # pixels between the bar at the top and the first row
# Pages with a list that is declared elsewhere, or not at all; the others are in DECLARED.
FURTHER = (
    "/search/ticket",
    "/search/org",
    "/search/contact",
    "/search/task",
    "/admin/system/settings",
    "/admin/system/log",
    "/admin/system/checkup",
    "/admin/people/rosters",
    "/automations/events",
    "/automations/log",
)
NOT_ALONE = ("/admin/backups", "/admin/packages")  # pages whose list is one section of several
_ABOVE = """() => {
  const row = ["#list tbody tr", "#list .empty", "main tbody tr", "main .empty"]
    .map((each) => document.querySelector(each)).find(Boolean);
  return row.getBoundingClientRect().top - document.querySelector(".top").getBoundingClientRect().bottom;
}"""


def above(page: Page, path: str) -> float:
    page.goto(path)
    return float(page.evaluate(_ABOVE))


def every_list() -> list[str]:
    routes.load()
    found = [*(path for path in DECLARED if not path.startswith(NOT_ALONE)), *FURTHER]
    assert len(found) > 25
    return found


def test_at_most_100_pixels_are_above_the_first_row_of_a_list(lively: Lively, chromium: Browser) -> None:
    lively.visitor.send("/-/hint", {"hint": "list"}, page="/inbox")  # about keys, which is shown once
    with chromium.page(lively.server.url, cookies=lively.visitor.cookies) as page:
        heights = {path: above(page, path) for path in every_list()}
    assert {path: each for path, each in heights.items() if each > MAX_ABOVE} == {}
