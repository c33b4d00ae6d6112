"""The accessibility walk detects obstacles on a page."""

import pytest

from tests.console import walking
from tests.console.browser import Browser

pytestmark = pytest.mark.exhaustive("the walk is for pages by keyboard alone")

PAGE = """<!doctype html><title>Walk</title><style>
:focus-visible {{ outline: 2px solid }} .top {{ height: 20px }} {style}
</style><div class=top></div><main id=main tabindex=-1>{inside}</main><button>After</button>"""
GOOD = "<a href=#a>One</a> <input aria-label=Two> <textarea aria-label=Three></textarea>"
EDITOR = """<div data-editor><textarea id=code></textarea></div><button>Last</button><script>
code.onkeydown = event => {
  if (event.key === 'Escape') code.leaves = true;
  if (event.key === 'Tab' && !code.leaves) event.preventDefault();
};
</script>"""
KEEPING = (
    "<input id=kept><input><script>kept.onkeydown = event => event.key === 'Tab' && event.preventDefault()</script>"
)
BOX = "<div style='height: 3em; overflow: auto'><p style='height: 9em'>Long</p></div>"


@pytest.mark.parametrize(
    "inside, style, told",
    [
        (GOOD, "", ""),
        (EDITOR + GOOD, "", ""),
        (BOX + GOOD + BOX + GOOD, "", ""),
        (GOOD, "a:focus-visible { outline: none }", "<a href=\"#a\">One</a> does not show its focus"),
        (GOOD.replace("<input", "<input tabindex=1"), "", "Tab came to"),
        (GOOD, ".top { position: fixed; inset: 0; height: 100% }", "is under a bar"),
        (GOOD + "<p id=over>Over</p>", "#over { position: fixed; inset: 0 }", "is covered by <p id=\"over\">"),
        (KEEPING, "", "instead of <input>"),
    ],
)  # fmt: skip
def test_obstacles_are_reported(chromium: Browser, inside: str, style: str, told: str) -> None:
    with chromium.page("http://127.0.0.1") as page:
        page.set_content(PAGE.format(inside=inside, style=style))
        found = walking.keyboard(page)
    assert told in "\n".join(found) if told else found == []
