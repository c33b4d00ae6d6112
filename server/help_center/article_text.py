"""Prepares the text of an article for visitors: sections get addresses, and nothing is loaded from other servers.

The input is HTML that server/markup/ has cleaned and serialized: attributes are quoted and `<` in texts is escaped, so
regular expressions find every tag. Only ids are added, and addresses of files replaced by public ones."""

import re
from collections.abc import Callable
from html import escape, unescape

from server.dataclass import dataclass
from server.markup.slugs import make_slug
from server.record_types.shared import paths

_ATTRIBUTES = r'((?:\s[a-z-]+="[^"]*")*)'
_HEADING = re.compile(rf"<h([1-6]){_ATTRIBUTES}>(.*?)</h\1>", re.DOTALL)
_IMAGE = re.compile(rf"<img{_ATTRIBUTES}\s*/?>")
_LINK = re.compile(rf"<a{_ATTRIBUTES}>")
_ATTRIBUTE = re.compile(r'\s([a-z-]+)="([^"]*)"')
_TAG = re.compile(r"<[^>]*>")
_ORIGIN = re.compile(r"https?://[^/?#]*(?=/files/)")  # perhaps a former address of the console
_FILE = re.compile(r"/files/([0-9]{1,19})(?:/[^/?#]*)?")
SHOWN_IN_TAB = ("target", "rel")
PREFIX = "s-"  # so that no heading gets the id of another element of the page

FileAddress = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of an article. level: 2 to 6. id: its anchor."""

    level: int
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class ArticleText:
    """The HTML of an article with its sections. files: ids of the files that it shows or links to."""

    html: str
    sections: tuple[Section, ...]
    files: frozenset[int]


def arrange(html: str, console: str, own_address: str, file_address: FileAddress) -> ArticleText:
    """Adds ids to the headings of an article, below one of level 1, and gives its files their public addresses.

    console: the address of the console, at which workers see the files. own_address: of the help center, whose links
    open in the same tab. file_address: returns the public address of a file of the article, "" for other files."""
    sections: list[Section] = []
    files: set[int] = set()
    down = 1 if "<h1" in html else 0
    ids: set[str] = set()

    def heading(match: re.Match[str]) -> str:
        level = min(max(int(match[1]) + down, 2), 6)
        title = " ".join(unescape(_TAG.sub("", match[3])).split())
        id = _free_id(make_slug(title) or "section", ids)
        if title:
            sections.append(Section(level, id, title))
        return f'<h{level} id="{escape(id)}"{match[2]}>{match[3]}</h{level}>'

    def public(address: str) -> str:
        match = _FILE.fullmatch(address.removeprefix(console))
        target = file_address(int(match[1])) if match else ""
        if match and target:
            files.add(int(match[1]))
        return target

    def image(match: re.Match[str]) -> str:
        values = dict(_ATTRIBUTE.findall(match[1]))
        source = unescape(values.get("src", ""))
        target = escape(source if source.startswith("data:image/") else public(_ORIGIN.sub("", source)))
        if not target:  # a picture of another server, which would learn who reads this
            return values.get("alt", "")
        others = {name: value for name, value in values.items() if name not in ("src", "alt")}
        return _tag("img", {"src": target, "alt": values.get("alt", ""), **others, "loading": "lazy"})

    def link(match: re.Match[str]) -> str:
        values = dict(_ATTRIBUTE.findall(match[1]))
        target = unescape(values.get("href", ""))
        file = public(target)
        if file:
            return _tag("a", {"href": escape(file), "download": ""})
        if target == own_address or target.startswith(f"{own_address}/"):
            return _tag("a", {name: value for name, value in values.items() if name not in SHOWN_IN_TAB})
        return match[0]

    html = html.replace("<table", '<table tabindex="0"')  # a wide one scrolls, also by keyboard
    html = _LINK.sub(link, _IMAGE.sub(image, _HEADING.sub(heading, html)))
    return ArticleText(html, tuple(sections), frozenset(files))


def _free_id(words: str, ids: set[str]) -> str:
    id, number = f"{PREFIX}{words}", 1
    while id in ids:
        number += 1
        id = f"{PREFIX}{words}-{number}"
    ids.add(id)
    return id


def _tag(name: str, attributes: dict[str, str]) -> str:
    """Builds a tag. attributes: escaped values."""
    written = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{written}>"


def file_path(article_id: int, file_id: int, name: str) -> str:
    """The path of a file of an article, below the address of the help center.

    >>> file_path(3, 7, "a b.png")
    '/files/3/7/a%20b.png'
    """
    return paths.file(file_id, name).replace("/files/", f"/files/{article_id}/", 1)
