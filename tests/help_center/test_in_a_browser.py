"""The help center in a browser: on a phone, in the dark, by keyboard, with and without scripts."""

from collections.abc import Iterator

import pytest

from tests.console.browser import PHONE, WIDE, is_sideways, violations
from tests.service import Server, people
from tests.telling import telling

TEXT = """# Before you begin

Close the *valve*.

## Tools

| Tool | Size |
|---|---|
| Wrench | 13 mm |

```
open valve --slowly --and-then-wait-until-the-pressure-is-below-two-bar --before-you-open-the-other-one
```

## Steps

1. Turn.
2. Wait.
"""


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a help center below /help-center."""
    server = Server(tmp_path_factory.mktemp("trial") / "data")
    api = server.set_up()
    people(api)
    links = "Imprint https://kite.example/imprint\nMail mailto:help@kite.example"
    api.create("brand", name="Kite Pumps", languages="en, de", accent="#ffcc00", footer_links=links, is_public=1).ok()
    category = api.create("kb_category", name="Pumps", description="Everything that moves water.").ok()["id"]
    published = {"status": "published", "format": "markdown", "content": TEXT, "categories": str(category)}
    first = api.create("kb_article", title="Starting a pump", summary="In three steps.", **published).ok()["id"]
    api.create("kb_article", title="Repairing a pump", **published).ok()
    api.create("kb_article", title="Pumpe starten", language="de", translation_of_id=first, **published).ok()
    yield f"{server.url}/help-center"
    assert server.stop() == 0


PATHS = (
    "/",
    "/c/1-pumps",
    "/a/1-starting-a-pump",
    "/a/1-starting-a-pump?helpful=no",
    "/search?q=pump",
    "/search?q=none",
    "/nothing",
    "/de/a/3-pumpe-starten",
)


@pytest.mark.parametrize("size", telling({"phone": PHONE, "desk": WIDE}, ("phone",), "every size"))
@pytest.mark.parametrize("scheme", telling(("light", "dark"), ("dark",), "every theme"))
@pytest.mark.exhaustive("accessibility of every page")
def test_axe_finds_nothing_and_nothing_is_wider_than_the_page(chromium, trial, size, scheme):
    with chromium.page(trial, size, color_scheme=scheme, refused="404") as page:
        for path in PATHS:
            page.goto(trial + path)
            assert violations(page) == [], path
            assert not is_sideways(page), path


def test_a_visitor_searches_by_keyboard_and_votes(chromium, trial):
    with chromium.page(trial, is_journey=True) as page:
        page.goto(f"{trial}/")
        page.get_by_role("combobox").press_sequentially("star")
        option = page.get_by_role("option", name="Starting a pump")
        option.wait_for()
        page.keyboard.press("ArrowDown")
        assert option.get_attribute("aria-selected") == "true"
        page.keyboard.press("Enter")
        page.wait_for_url("**/a/1-starting-a-pump")
        page.get_by_role("link", name="Steps").press("Enter")
        assert page.url.endswith("#s-steps")
        page.get_by_role("button", name="No").press("Enter")
        page.get_by_label("What was missing?").fill("A picture")
        page.get_by_role("button", name="Send comment").press("Enter")
        page.get_by_role("heading", name="Thank you for your comment.").wait_for()
        assert page.context.cookies() == []


@pytest.mark.exhaustive("without scripts; test_pages.py runs none either")
def test_without_scripts_the_same_works(chromium, trial):
    with chromium.page(trial, PHONE, java_script_enabled=False) as page:
        page.goto(f"{trial}/")
        page.get_by_label("Search the help center").fill("repair")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Repairing a pump").click()
        page.get_by_role("button", name="Yes").click()
        page.get_by_label("What did you like?").wait_for()
