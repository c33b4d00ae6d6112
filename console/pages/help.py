"""The help pages that come with the program, as pages with a list of their parts. Source: ours."""

import re
from dataclasses import dataclass
from functools import cache
from html import unescape

from console.rendering import render
from console.routes import page
from console.shown import Shown
from console.visit import Visit
from server import resources
from server.errors import NotFound, nearest
from server.markup import markdown_to_html, text_of_html

BASE = "/help"
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([a-z0-9-]+)\.md(#[a-z0-9-]+)?\)")
_HEADING = re.compile(r"^(#{1,2}) (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Part:
    """What stands below one heading. id: of its place on the page, "" for what comes first. html: made by markup."""

    id: str
    title: str
    html: str


@dataclass(frozen=True)
class Article:
    """One page. about: its first sentence, as text."""

    name: str
    title: str
    about: str
    parts: tuple[Part, ...]


@page("GET", BASE)
def show_contents(visit: Visit) -> Shown:
    """All pages."""
    return render(visit, "help.html", articles=articles(visit.service.base_url))


@page("GET", f"{BASE}/{{name}}")
def show(visit: Visit) -> Shown:
    """One page. Raises NotFound."""
    found = articles(visit.service.base_url)
    name = visit.arguments["name"]
    article = next((each for each in found if each.name == name), None)
    if article is None:
        raise NotFound(f"There is no help page '{name}'{nearest(name, [each.name for each in found])}.")
    return render(visit, "help_page.html", article=article, articles=found)


@cache
def articles(base_url: str) -> tuple[Article, ...]:
    """Every page, by title. base_url: where links between them lead."""
    files = sorted(resources.path("help").glob("*.md"))
    found = [read(file.stem, file.read_text("utf-8"), base_url) for file in files]
    return tuple(sorted(found, key=lambda each: each.title.lower()))


def read(name: str, text: str, base_url: str = "") -> Article:
    """A page from its Markdown: cut at its headings of the second level, since what markup makes is never changed.

    >>> article = read("x", "# Mail\\n\\nHow it **comes**. More.\\n\\n## In and out\\n\\nText.\\n")
    >>> article.title, article.about, [(part.id, part.title) for part in article.parts]
    ('Mail', 'How it comes.', [('', ''), ('in-and-out', 'In and out')])
    """
    plain = _LINK.sub(lambda match: f"]({base_url}{BASE}/{match[1]}{match[2] or ''})", _COMMENT.sub("", text))
    fences = [match.span() for match in _FENCE.finditer(plain)]  # a line of a script may begin with #, too
    headings = [
        match for match in _HEADING.finditer(plain)
        if not any(start <= match.start() < end for start, end in fences)
    ]  # fmt: skip
    title, parts, place, id, heading = name, [], 0, "", ""
    for match in headings:
        if match[1] == "#":
            title, place = _as_text(match[2]), match.end()
            continue
        parts.append(Part(id, heading, _html(plain[place : match.start()])))
        heading = _as_text(match[2])
        id, place = slug(heading), match.end()
    parts.append(Part(id, heading, _html(plain[place:])))
    first = re.split(r"(?<=[.:])\s", text_of_html(parts[0].html).strip(), maxsplit=1)[0]
    return Article(name, title, " ".join(first.split()).rstrip(".:") + ".", tuple(parts))


def slug(heading: str) -> str:
    """A heading as the end of an address, as other readers of Markdown have it.

    >>> slug("Words of the flow"), slug("`while`, and more")
    ('words-of-the-flow', 'while-and-more')
    """
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def _html(markdown: str) -> str:
    return markdown_to_html(markdown, new_tab=False)


def _as_text(markdown: str) -> str:
    return unescape(text_of_html(markdown_to_html(markdown)).strip())
