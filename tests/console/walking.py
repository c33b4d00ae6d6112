"""Walks through a page like people who use the keyboard, a phone, or other colours, and reports obstacles."""

from playwright.sync_api import Page, expect

MOST_STOPS = 30  # stops of a walk: problems of further rows of a long table occur in the first ones too
MOST_OTHERS = 20  # stops that the browser adds by itself, such as boxes that scroll

_STOPS = """() => {
  const kinds = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]';
  const stops = [...document.querySelectorAll('main :is(' + kinds + ')')]
    .filter(e => !e.disabled && e.tabIndex >= 0 && e.checkVisibility({visibilityProperty: true}))
    .filter(e => e.checked || !e.matches('.slots input'));  // Tab reaches one radio button of a group
  const tell = e => {
    const place = stops.indexOf(e);
    if (place < 0) return [e === document.body ? -2 : -1, ''];
    const slot = e.closest('.slots label'), bottom = document.querySelector('.bar')?.getBoundingClientRect();
    const low = bottom && bottom.height ? bottom.top : innerHeight;
    const top = document.querySelector('.top').getBoundingClientRect().bottom;
    const box = [...(slot ?? e).getClientRects()].find(each => each.bottom > top && each.top < low);
    if (!box) return [place, 'is under a bar'];
    const x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2;
    const hit = document.elementFromPoint(x, (Math.max(box.top, top) + Math.min(box.bottom, low)) / 2);
    if (!hit || !(e.contains(hit) || hit.contains(e))) return [place, 'is covered by ' + hit?.outerHTML.slice(0, 80)];
    const ring = getComputedStyle(e.matches('.chips > input') ? e.parentElement : slot ?? e); // a line among its chips
    if (ring.outlineStyle === 'none' || parseFloat(ring.outlineWidth) < 2) return [place, 'does not show its focus'];
    return [place, ''];
  };
  const name = e => e.outerHTML.slice(0, 120);
  window.reached = [];
  const reach = event => {
    const e = document.activeElement;
    if (event.key === 'Tab') window.reached.push([...tell(e), name(e)]);
  };
  for (const each of [window, ...[...document.querySelectorAll('iframe')].map(e => e.contentDocument)])
    each?.addEventListener('keyup', reach, true);
  document.getElementById('main').focus();
  return stops.map(e => [e.matches('[data-editor] textarea'), name(e)]);
}"""
# Focuses the first button that asks for confirmation and is enabled.
_ASKING = """() => {
  window.asking = [...document.querySelectorAll('main form[data-confirm] button, main button[data-confirm]')]
    .find(e => !e.disabled && e.checkVisibility() && e.form.checkValidity());
  window.asking?.focus();
  return Boolean(window.asking);
}"""


def keyboard(page: Page) -> list[str]:
    """Returns the obstacles for somebody who moves through the page by Tab: controls that are not reached, or not in
    the order of the page, or whose focus is invisible or hidden under a bar."""
    expect(page.locator("select[data-search-options]:not([hidden])")).to_have_count(0)  # see long_lists.js
    stops = page.evaluate(_STOPS)[:MOST_STOPS]
    wrong, expected, others = [], 0, 0
    while expected < len(stops):
        place = -1
        for place, told, name in _tabbed(page, _to_an_editor(stops[expected:])):
            if place == -1 and others < MOST_OTHERS:
                others += 1
                continue
            if place != expected:
                return [*wrong, f"Tab came to {name} instead of {stops[expected][1]}"]
            wrong += [f"{name} {told}"] if told else []
            expected += 1
        if place >= 0 and stops[place][0]:
            page.keyboard.press("Escape")  # so that Tab leaves it
    return wrong


def _to_an_editor(stops: list[tuple[bool, str]]) -> int:
    """Returns how many times Tab can be pressed: up to an editor, which accepts it as a character."""
    return next((count for count, (is_editor, _) in enumerate(stops, 1) if is_editor), len(stops))


def _tabbed(page: Page, times: int) -> list[tuple[int, str, str]]:
    """Returns what each Tab reached: index among the stops or -1, or -2 for nothing; its problem; its description."""
    for _ in range(times):
        page.keyboard.press("Tab")
    reached: list[tuple[int, str, str]] = page.evaluate("window.reached.splice(0)")
    assert len(reached) == times, "a page keeps Tab to itself"
    return reached


def question(page: Page) -> list[str]:
    """Returns the problems of the confirmation before an irreversible action, if the page has one: Enter opens it,
    Escape closes it, and the focus then returns."""
    if not page.evaluate(_ASKING):
        return []
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    if not page.evaluate("document.activeElement.closest('dialog') !== null"):
        return ["the question does not get the focus"]
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    is_back = page.evaluate("document.activeElement === window.asking")
    return [] if is_back else ["the focus is not given back after the question"]
