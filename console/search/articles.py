"""The help pages that come with the program: their order, their parts as HTML, and what a search finds in them.

Pages are Markdown below resources/help/. Those of a folder belong to the page of the folder's name; all but recipes are
made from the code."""

import posixpath
import re
from functools import cache, cached_property
from html import unescape

from markupsafe import Markup

from server import resources
from server.dataclass import dataclass
from server.markup import markdown_to_html, text_of_html

# Every page, in the order in which somebody new reads them. Pages of a folder follow the page of its name.
CONTENTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Begin", ("start", "tour", "overview")),
    ("Work", ("desk", "search", "mail", "imports", "packages", "data-queries")),
    ("Programs", ("api", "clients", "outgoing-webhooks", "oauth", "types")),
    ("Scripts", ("automations", "kata", "templates", "cookbook", "behaviors")),
    ("Run it", ("operating", "growing", "settings", "commands", "security", "limits")),
)
BASE = "/help"
MAX_FOUND = 40  # places that a search shows
MAX_WORDS = 10  # of a search; further ones are not looked for
SHORT_WORD = 2  # characters
ASKING = frozenset("how what why where when which who can could should does did the and for with are was".split())
AROUND = 90  # characters of text on each side of a word that was found
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(((?:\.\./)?[a-z0-9_/-]+)\.md(#[\w-]+)?\)")
_HEADING = re.compile(r"^(#{1,2}) (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SHOWS = re.compile(r"^```\w+ (?:shows|ends|value)\n.*?^```$", re.MULTILINE | re.DOTALL)  # what comes of a block
_LABEL = re.compile(r"\[([^\]\n]*)\]\([^)\s]*\)")
_MARKS = re.compile(r"^[|:\s-]+$|^#+ |^```.*$|[|`]|\*\*|\\(?=[<|])", re.MULTILINE)


@dataclass(frozen=True)
class ArticleSection:
    """What stands below one heading. id: of its place on the page, "" for what comes first. text: its Markdown."""

    id: str
    title: str
    text: str

    @cached_property
    def html(self) -> Markup:
        """What a browser is shown; each piece is made by markup, and never changed afterwards. What a command prints
        stands in a frame of its own, so that nobody types it."""
        made, place = [], 0
        for match in _SHOWS.finditer(self.text):
            made += [_html(self.text[place : match.start()]), f'<div class="shows">{_html(match[0])}</div>']
            place = match.end()
        return Markup("".join((*made, _html(self.text[place:]))))


@dataclass(frozen=True)
class Article:
    """One page. name: its path below /help. about: its first sentence, as text."""

    name: str
    title: str
    about: str
    parts: tuple[ArticleSection, ...]

    @property
    def folder(self) -> str:
        """The name of the page that it belongs to, "" for a page of its own."""
        return posixpath.dirname(self.name)


@dataclass(frozen=True)
class ArticleHit:
    """A place that a search found. before, word, after: the text there, with what was looked for in its middle.
    missing: words of the search that are not there."""

    article: Article
    part: ArticleSection
    before: str
    word: str
    after: str
    missing: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"{BASE}/{self.article.name}{f'#{self.part.id}' if self.part.id else ''}"


@cache
def articles(base_url: str) -> tuple[Article, ...]:
    """Every page, in the order of CONTENTS. base_url: where links between them lead."""
    folder = resources.path("help")
    found = []
    for _, names in CONTENTS:
        for name in names:
            below = sorted(each.relative_to(folder) for each in (folder / name).glob("*.md"))
            for path in (f"{name}.md", *(each.as_posix() for each in below)):
                text = resources.path("help", path).read_text("utf-8")
                found.append(read(path.removesuffix(".md"), text, base_url))
    return tuple(found)


def read(name: str, text: str, base_url: str = "") -> Article:
    """A page from its Markdown: cut at its headings of the second level, since what markup makes is never changed.

    >>> article = read("x", "# Mail\\n\\nHow it **comes**. More.\\n\\n## In and out\\n\\nText.\\n")
    >>> article.title, article.about, [(part.id, part.title) for part in article.parts]
    ('Mail', 'How it comes.', [('', ''), ('in-and-out', 'In and out')])
    """
    plain = _LINK.sub(lambda match: f"]({base_url}{linked(name, match[1])}{match[2] or ''})", _COMMENT.sub("", text))
    fences = [match.span() for match in _FENCE.finditer(plain)]  # a line of a script may begin with #, too
    headings = [
        match for match in _HEADING.finditer(plain) if not any(start <= match.start() < end for start, end in fences)
    ]
    title, parts, place, id, heading = name, [], 0, "", ""
    for match in headings:
        if match[1] == "#":
            title, place = _as_text(match[2]), match.end()
            continue
        parts.append(ArticleSection(id, heading, plain[place : match.start()]))
        heading = _as_text(match[2])
        id, place = slug(heading), match.end()
    parts.append(ArticleSection(id, heading, plain[place:]))
    paragraph = _as_text(parts[0].text.strip().partition("\n\n")[0])
    first = re.split(r"(?<=\.)\s", paragraph, maxsplit=1)[0]
    return Article(name, title, " ".join(first.split()).rstrip(".:") + ".", tuple(parts))


def linked(name: str, target: str) -> str:
    """The address of a page that another one links to, both without `.md`.

    >>> linked("api", "types/ticket"), linked("types/ticket", "worker"), linked("types/ticket", "../search")
    ('/help/types/ticket', '/help/types/worker', '/help/search')
    """
    return posixpath.join(BASE, posixpath.normpath(posixpath.join(posixpath.dirname(name), target)))


def slug(heading: str) -> str:
    """A heading as the end of an address, as other readers of Markdown have it.

    >>> slug("Words of the flow"), slug("`while`, and more")
    ('words-of-the-flow', 'while-and-more')
    """
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def found(pages: tuple[Article, ...], query: str) -> list[ArticleHit]:
    """Where the words of a query stand below one heading: headings that have them first, then the most hits. Where no
    place has all of them, those that have the most, at least half.

    At most MAX_FOUND places. Letters are small or capital, and words may be parts of longer ones; words of one or two
    letters and those of a question do not count beside others."""
    words = _words(query)
    ranked: list[tuple[tuple[int, int, bool, int], ArticleHit]] = []
    for article in pages:
        for part, text, small in _texts(article):
            heading = f"{article.title} {part.title}".lower()
            missing = tuple(word for word in words if word not in small and word not in heading)
            if not words or 2 * len(missing) > len(words):
                continue
            in_heading = sum(word in (part.title or article.title).lower() for word in words)
            rank = (len(missing), -in_heading, bool(article.folder), -sum(map(small.count, words)))
            ranked.append((rank, _hit(article, part, text, words, missing)))
    ranked.sort(key=lambda each: each[0])
    return [hit for rank, hit in ranked if rank[0] == ranked[0][0][0]][:MAX_FOUND]


def _words(query: str) -> list[str]:
    words = list(dict.fromkeys(query.lower().rstrip("?").split()))[:MAX_WORDS]
    return [word for word in words if len(word) > SHORT_WORD and word not in ASKING] or words


@cache
def _texts(article: Article) -> list[tuple[ArticleSection, str, str]]:
    """Each part with its text without marks, as it is and in small letters."""
    plain = [(part, " ".join(_MARKS.sub(" ", _LABEL.sub(r"\1", part.text)).split())) for part in article.parts]
    return [(part, text, text.lower()) for part, text in plain]


def _hit(article: Article, part: ArticleSection, text: str, words: list[str], missing: tuple[str, ...]) -> ArticleHit:
    small = text.lower()
    places = [(small.index(word), len(word)) for word in words if word in small]
    start, length = min(places, default=(0, 0))
    begin, end = max(0, start - AROUND), start + length + AROUND
    before = ("… " if begin else "") + text[begin:start].partition(" " if begin else "\0")[2 if begin else 0]
    after = text[start + length : end].rpartition(" ")[0] + " …" if end < len(text) else text[start + length :]
    return ArticleHit(article, part, before, text[start : start + length], after, missing)


def _html(markdown: str) -> str:
    return markdown_to_html(markdown, new_tab=False, single_breaks=False)


def _as_text(markdown: str) -> str:
    return unescape(text_of_html(markdown_to_html(markdown, single_breaks=False)).strip())
