"""A language for tests in which every message is marked: ⟦New webhook⟧. Text on a page without these marks was never
offered for translation."""

import re
from html.parser import HTMLParser
from pathlib import Path

import polib

from server import resources, translation

LANGUAGE = "eo"
RIGHT_TO_LEFT = "ar"
_UNREAD = frozenset("code pre kbd samp script style textarea option".split())
_LETTERS = re.compile(r"[^\W\d_]{2}")
_SPOKEN = frozenset(("aria-label", "title", "placeholder", "alt", "data-label", "data-confirm"))
BEGIN, END = "⟦", "⟧"


def pseudo(message: str) -> str:
    """Returns the message with its marks; its placeholders and elements stay."""
    return f"{BEGIN}{message}{END}"


def write(folder: Path, language: str = LANGUAGE) -> None:
    """Installs the language in a service with this data folder."""
    file = polib.pofile(str(resources.path(translation.FOLDER, translation.TEMPLATE)))
    file.metadata["Plural-Forms"] = "nplurals=2; plural=(n != 1);"
    for each in file:
        if each.msgid_plural:
            each.msgstr_plural = {0: pseudo(each.msgid), 1: pseudo(each.msgid_plural)}
        else:
            each.msgstr = pseudo(each.msgid)
    target = folder / translation.FOLDER
    target.mkdir(exist_ok=True)
    file.save(str(target / f"{language}.po"))


class _Said(HTMLParser):
    """The texts of a page: visible text, and text for screen readers."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside: list[str] = []
        self._depth = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNREAD:
            self._inside.append(tag)
        for name, value in attrs:
            if name in _SPOKEN and value and BEGIN not in value:
                self._note(value)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        is_within = self._depth > 0 or BEGIN in data
        self._depth = max(0, self._depth + data.count(BEGIN) - data.count(END))
        if not is_within and END not in data and (not self._inside or self._inside[-1] == "option"):
            self._note(data)

    def _note(self, text: str) -> None:
        shown = " ".join(text.split())
        if _LETTERS.search(shown):
            self.found.append(shown)


def unmarked(page: str) -> list[str]:
    """Returns the texts of a page in this language that are not messages."""
    return _Said(page).found
