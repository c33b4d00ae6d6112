"""Keys pressed before a list of suggestions has arrived: they wait for it, and none of them is lost."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.console.browser import intercept
from tests.service import Api
from tests.telling import telling

HOUR = 3600  # on the clock of a page


@pytest.fixture(autouse=True)
def intercepting(page: Page) -> None:
    intercept(page)


@contextmanager
def late(page: Page, path: str, keys: Callable[[], object], *pressed: str) -> Iterator[None]:
    """Types, and presses keys that are meant for the list, while the responses of a path are delayed; then they
    arrive."""
    held: list[Route] = []
    are_held = True
    page.route(path, lambda route: held.append(route) if are_held else route.continue_())
    with page.expect_request(path):
        keys()
    for each in pressed:
        page.keyboard.press(each)
    yield
    are_held = False
    for route in held:
        route.continue_()


def searching(page: Page, q: str) -> Any:
    page.goto("/search/ticket")
    field = page.get_by_role("combobox", name="Search")
    field.focus()
    page.keyboard.type(q)
    expect(page.locator("[data-query] + ul").get_by_role("option").first).to_be_visible()
    return field


FURTHER = pytest.mark.exhaustive("every key")


@pytest.mark.parametrize(
    ("q", "more", "pressed", "becomes"),
    [
        ("st", "atus", ("ArrowDown", "Enter"), "status:"),
        pytest.param("s", "tatus:op", ("Enter",), "status:open ", marks=FURTHER),  # none was selected before
        pytest.param("s", "tat", ("ArrowDown", "ArrowDown", "Tab"), "status.id:", marks=FURTHER),
        pytest.param("status:o", "p", ("Enter",), "status:open ", marks=FURTHER),  # selected before and after
    ],
)
def test_a_word_of_a_search_is_chosen_from_the_delayed_list(
    page: Page, q: str, more: str, pressed: tuple[str, ...], becomes: str
) -> None:
    field = searching(page, q)
    with late(page, "**/-/query/**", lambda: page.keyboard.type(more), *pressed):
        expect(field).to_have_value(q + more)
    expect(field).to_have_value(becomes)


@FURTHER
def test_enter_searches_when_the_delayed_list_has_nothing_more(page: Page) -> None:
    field = searching(page, "status:ope")
    with late(page, "**/-/query/**", lambda: page.keyboard.type("n"), "Enter"):
        expect(field).to_have_value("status:open")
    page.wait_for_url(re.compile("q=status%3Aopen"))


@FURTHER
def test_enter_searches_when_the_list_never_arrives(page: Page) -> None:
    field = searching(page, "status:ope")
    page.route("**/-/query/**", lambda route: route.fulfill(content_type="application/json", body="null"))
    page.keyboard.type("n")
    field.press("Enter")
    page.wait_for_url(re.compile("q=status%3Aopen"))


@pytest.mark.exhaustive("every list of suggestions")
def test_the_jump_goes_where_the_whole_name_leads(page: Page, nora: Api) -> None:
    page.goto("/account")
    page.keyboard.press("Control+k")
    expect(page.locator("#jump").get_by_role("option").first).to_be_visible()  # which leads elsewhere
    with late(page, "**/-/jump?**", lambda: page.keyboard.type("shop.echo"), "Enter"):
        expect(page).to_have_url(re.compile("/account$"))
    page.wait_for_url(f"**/automations/{nora.ids['automation']}")


@pytest.mark.exhaustive("a further list of completions")
def test_a_mention_replaces_everything_that_was_typed(page: Page, nora: Api) -> None:
    task = nora.create("task", title="mentions in a hurry").ok()["id"]
    page.goto(f"/records/task/{task}")
    text = page.locator("textarea[data-typing]").first
    text.focus()
    page.keyboard.type("@m")
    expect(page.get_by_role("option", name="@milo")).to_be_visible()
    with late(page, "**/-/mentions?**", lambda: page.keyboard.type("il"), "Enter"):
        expect(text).to_have_value("@mil")
    expect(text).to_have_value("@milo ")


@pytest.fixture
def mentioning(page: Page, nora: Api) -> Locator:
    """A text with suggestions for @m, on a page whose timers stand still."""
    task = nora.create("task", title="mentions of a fast typist").ok()["id"]
    page.clock.install(time=0)
    page.goto(f"/records/task/{task}")
    text = page.locator("textarea[data-typing]").first
    text.focus()
    page.keyboard.type("@m")
    expect(page.get_by_role("option", name="@milo")).to_be_visible()
    page.clock.pause_at(HOUR)
    return text


def test_words_typed_after_a_late_mention_follow_it(page: Page, mentioning: Locator) -> None:
    with late(page, "**/-/mentions?**", lambda: page.keyboard.type("il"), "Enter", *"can you look", "Shift+?"):
        expect(mentioning).to_have_value("@mil")
    expect(mentioning).to_have_value("@milo can you look?")


WAITS = {"wait": lambda page: page.clock.run_for(2000), "leave": lambda page: page.keyboard.press("Shift+Tab")}


@pytest.mark.parametrize("wait", telling(WAITS, ["wait"], "a further end of the wait"))
def test_no_word_is_lost_when_suggestions_never_come(
    page: Page, mentioning: Locator, wait: Callable[[Page], object]
) -> None:
    with late(page, "**/-/mentions?**", lambda: page.keyboard.type("il"), "Enter", *"Thanks"):
        wait(page)
        expect(mentioning).to_have_value("@mil\nThanks")
    expect(mentioning).to_have_value("@mil\nThanks")
