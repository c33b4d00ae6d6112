"""Pictures of the console for the README. Tests take them if HELPDESK_SCREENSHOTS is set: `make screenshots`. Values
that vary, such as ports and random addresses, are replaced before."""

import os
from pathlib import Path

from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "resources" / "screenshots"
# {name of the file without .png: width and height}.
PICTURES = {
    "inbox": (1120, 760), "ticket": (1120, 860), "start": (1120, 860),
    "automation": (1120, 900), "webhook": (1120, 700), "app": (1120, 700), "mail": (1120, 700),
    "phone": (390, 780),
}  # fmt: skip
MAX_BYTES = 224 * 1024  # largest size of a file
IS_ASKED = bool(os.environ.pop("HELPDESK_SCREENSHOTS", ""))  # removed, since servers reject unknown settings
_STEADY = """() => {
  const steady = text => text.replace(/http:\\/\\/127\\.0\\.0\\.1:\\d+/g, 'https://desk.example')
    .replace(/(webhooks\\/)[a-z0-9]{4,}/g, '$17k2m').replace(/\\b[a-z0-9]{32,}\\b/g, '7k2mq04vx9c3t8bn5w1zy6rd')
    .replace(/\\/\\S*\\/lively\\d+\\/backups/g, '/srv/backups')
    .replace(/\\b\\d+ (second|minute)s? ago/g, 'just now').replace(/\\b\\d+\\.\\d+ ms\\b/g, '0.4 ms');
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) words.currentNode.data = steady(words.currentNode.data);
  document.querySelectorAll('.trace .number').forEach(each => {
    each.textContent = each.textContent.replace(/^\\d+\\.\\d+$/, '0.4');
  });
  document.querySelectorAll('.toast').forEach(each => each.remove());
  document.activeElement?.blur();
}"""


def take(page: Page, name: str, at: str = "body") -> None:
    """Writes resources/screenshots/NAME.png of the page, in the size of the picture; does nothing unless pictures
    are requested. at: selector of the element at the top of the picture."""
    width, height = PICTURES[name]
    page.set_viewport_size({"width": width, "height": height})
    if not IS_ASKED:
        return
    page.evaluate(_STEADY)
    page.locator(at).evaluate("each => each.scrollIntoView({block: 'start'})")
    FOLDER.mkdir(exist_ok=True)
    picture = page.screenshot(animations="disabled", caret="hide", scale="css")
    assert len(picture) <= MAX_BYTES, f"{name}: {len(picture)} bytes"
    (FOLDER / f"{name}.png").write_bytes(picture)
