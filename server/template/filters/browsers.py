"""Reads browser and platform from a User-Agent header. The first matching row counts."""

from typing import Any

from server.late_pattern import late_pattern
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.text_values import read_text

MAX_AGENT_CHARS = 2000  # characters of the header that are read

PLATFORMS = (
    ("Windows Phone", "Windows Phone"),
    ("Windows", "Windows NT|Win64|Windows"),
    ("iPad", "iPad"),
    ("iPhone", "iPhone|iPod"),
    ("Android", "Android"),
    ("Chrome OS", "CrOS"),
    ("Macintosh", "Macintosh|Mac OS X"),
    ("FreeBSD", "FreeBSD"),
    ("Linux", "Linux|X11"),
)
# Other browsers include the names Chrome and Safari in their headers, so these two come last.
BROWSERS = (
    ("Edge", "Edge|EdgA|EdgiOS|Edg"), ("Opera", "OPR|Opera Mini|Opera"), ("Samsung Browser", "SamsungBrowser"),
    ("Vivaldi", "Vivaldi"), ("Yandex", "YaBrowser"), ("Firefox", "Firefox|FxiOS"), ("Thunderbird", "Thunderbird"),
    ("MSIE", "MSIE|Trident/.*rv"), ("Googlebot", "Googlebot"), ("bingbot", "bingbot"),
    ("Chrome", "HeadlessChrome|Chromium|Chrome|CriOS"), ("Safari", "Version(?=.*Safari)|Safari"),
    ("curl", "curl"), ("Wget", "Wget"),
)  # fmt: skip
_PLATFORMS = tuple((name, late_pattern(rf"\b(?:{words})\b")) for name, words in PLATFORMS)
_BROWSERS = tuple((name, late_pattern(rf"\b(?:{words})[/ :]v?([0-9][0-9A-Za-z.]*)")) for name, words in BROWSERS)
_FIRST = late_pattern(r"([A-Za-z][\w .-]{0,60}?)/v?([0-9][0-9A-Za-z.]*)")


@filter("parse_user_agent")
def parse_user_agent(run: Rendering, value: Any) -> dict[str, Any]:
    """The {platform, browser, version} of a User-Agent header; null for unknown parts."""
    return browser_of(read_text(run, value) or "")


def browser_of(agent: str) -> dict[str, str | None]:
    """Returns {platform, browser, version} of a User-Agent header; None for unknown parts."""
    agent = agent[:MAX_AGENT_CHARS]
    platform = next((name for name, pattern in _PLATFORMS if pattern.search(agent)), None)
    for name, pattern in _BROWSERS:
        match = pattern.search(agent)
        if match is not None:
            return {"platform": platform, "browser": name, "version": match[1]}
    own = _FIRST.match(agent)
    if own is None or own[1] == "Mozilla":
        return {"platform": platform, "browser": None, "version": None}
    return {"platform": platform, "browser": own[1], "version": own[2]}
