"""Draws the icons of the installed console from console/static/icon.svg, with a Chromium: `python build/app_icons.py`.

Home screens and notifications want pictures of fixed sizes. The drawn files are part of the source, since a build needs
no browser."""

import re
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

STATIC = Path(__file__).resolve().parent.parent / "console" / "static"
SHELL = "/usr/bin/chromium-headless-shell"
# {file: (pixels, share of the picture that the sign takes, whether the ground reaches the edges)}. A maskable icon is
# cut to a circle of 80 % of its width (W3C Web App Manifest, 9.1); iOS rounds the corners itself.
ICONS = {
    "icon-180.png": (180, 1.0, True),
    "icon-192.png": (192, 1.0, False),
    "icon-512.png": (512, 1.0, False),
    "icon-maskable.png": (512, 0.85, True),
}
BADGE, BADGE_PIXELS = "icon-badge.png", 96  # Android uses only its opacity
VIEW = 32  # units of the SVG


def icon(source: str, share: float, is_whole: bool) -> str:
    """The SVG of an icon. share: the scale of the sign around the center."""
    ground, sign = re.findall(r"<rect[^>]*/>", source)[0], "".join(re.findall(r"<path[^>]*/>", source))
    if is_whole:
        ground = re.sub(r' rx="\d+"', "", ground)
    middle = VIEW / 2 * (1 - share)
    return _svg(f'{ground}<g transform="translate({middle} {middle}) scale({share})">{sign}</g>')


def badge(source: str) -> str:
    """The SVG of the badge: the bubble in white, and the mark in it cut out."""
    bubble, mark = re.findall(r"<path[^>]*/>", source)
    mark = re.sub(r'stroke="#[0-9a-f]+"', 'stroke="#000"', mark)
    return _svg(f'<mask id="m">{bubble}{mark}</mask><rect width="32" height="32" fill="#fff" mask="url(#m)"/>', 4)


def _svg(content: str, edge: int = 0) -> str:
    box = f"{edge} {edge} {VIEW - 2 * edge} {VIEW - 2 * edge}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">{content}</svg>'


def draw(page: Page, name: str, svg: str, pixels: int) -> None:
    """Writes the picture of an SVG."""
    page.set_viewport_size({"width": pixels, "height": pixels})
    page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block; width: {pixels}px }}</style>{svg}")
    page.screenshot(path=STATIC / name, omit_background=True)


def main() -> None:
    source = (STATIC / "icon.svg").read_text("utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=SHELL, args=["--no-sandbox"])
        page = browser.new_page()
        for name, (pixels, share, is_whole) in ICONS.items():
            draw(page, name, icon(source, share, is_whole), pixels)
        draw(page, BADGE, badge(source), BADGE_PIXELS)
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
