"""The help pages of the program: their order, their sections as HTML, and a full-text search over them.

Pages are Markdown files in resources/help/. The pages of a folder are subpages of the page with the folder's name;
except for the recipes they are generated from the code."""

import posixpath
import re
from functools import cache, cached_property
from html import unescape

from markupsafe import Markup

from server import resources
from server.dataclass import dataclass
from server.errors import NotFound, nearest
from server.markup import markdown_to_html, text_of_html
from server.translation import _

# All pages, in reading order for a newcomer. Subpages follow their page.
CONTENTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Begin", ("start", "tour", "overview")),
    (
        "Work",
        (
            "desk",
            "rules",
            "search",
            "mail",
            "articles",
            "help-center",
            "contact-form",
            "your-requests",
            "ratings",
            "writing-assistant",
            "imports",
            "packages",
            "data-queries",
        ),
    ),
    ("Programs", ("api", "clients", "outgoing-webhooks", "chat", "oauth", "assistants", "types")),
    ("Scripts", ("automations", "kata", "templates", "cookbook", "behaviors")),
    (
        "Run it",
        ("operating", "provisioning", "sign-in", "growing", "metrics", "settings", "commands", "security", "limits"),
    ),
)
BASE = "/help"
MAX_FOUND = 40  # hits that a search shows
MAX_WORDS = 10  # words of a search; further words are ignored
SHORT_WORD = 2  # characters
ASKING = frozenset("how what why where when which who can could should does did the and for with are was".split())
AROUND = 90  # characters of context on each side of a hit
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(((?:\.\./)?[a-z0-9_/-]+)\.md(#[\w-]+)?\)")
_HEADING = re.compile(r"^(#{1,2}) (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SHOWS = re.compile(r"^```\w+ (?:shows|ends|value)\n.*?^```$", re.MULTILINE | re.DOTALL)  # the output of a code block
_LABEL = re.compile(r"\[([^\]\n]*)\]\([^)\s]*\)")
_MARKS = re.compile(r"^[|:\s-]+$|^#+ |^```.*$|[|`]|\*\*|\\(?=[<|])", re.MULTILINE)


@dataclass(frozen=True)
class ArticleSection:
    """A section of a page. id: its anchor, "" for the introduction. text: Markdown."""

    id: str
    title: str
    text: str

    @cached_property
    def html(self) -> Markup:
        """The section as HTML. Each piece is rendered by itself and never edited afterwards. Output of a command gets a
        separate frame, so that readers do not type it."""
        made, place = [], 0
        for match in _SHOWS.finditer(self.text):
            made += [_html(self.text[place : match.start()]), f'<div class="shows">{_html(match[0])}</div>']
            place = match.end()
        return Markup("".join((*made, _html(self.text[place:]))))


@dataclass(frozen=True)
class Article:
    """A help page. name: its path below /help. about: its first sentence as plain text."""

    name: str
    title: str
    about: str
    parts: tuple[ArticleSection, ...]

    @property
    def folder(self) -> str:
        """The name of the parent page, "" for a top-level page."""
        return posixpath.dirname(self.name)


@dataclass(frozen=True)
class ArticleHit:
    """A hit of a search. before, word, after: the excerpt around the first matching word. missing: words of the search
    that the section does not contain."""

    article: Article
    part: ArticleSection
    before: str
    word: str
    after: str
    missing: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"{BASE}/{self.article.name}{f'#{self.part.id}' if self.part.id else ''}"


@dataclass(frozen=True)
class ArticlePlace:
    """A page among the others. parent: None for a top-level page. siblings: the pages of its folder, or of its group.
    previous, next: in reading order, None at the ends."""

    article: Article
    parent: Article | None
    siblings: list[Article]
    previous: Article | None
    next: Article | None


@cache
def articles(base_url: str) -> tuple[Article, ...]:
    """All pages, in the order of CONTENTS. base_url: prefix of the links between them."""
    folder = resources.path("help")
    found = []
    for _title, names in CONTENTS:
        for name in names:
            below = sorted(each.relative_to(folder) for each in (folder / name).glob("*.md"))
            for path in (f"{name}.md", *(each.as_posix() for each in below)):
                text = resources.path("help", path).read_text("utf-8")
                found.append(read(path.removesuffix(".md"), text, base_url))
    return tuple(found)


def groups(pages: tuple[Article, ...]) -> list[tuple[str, list[Article]]]:
    """The top-level pages, by the titles of CONTENTS."""
    by_name = {each.name: each for each in pages}
    return [(title, [by_name[name] for name in names]) for title, names in CONTENTS]


def subpages(pages: tuple[Article, ...]) -> dict[str, list[Article]]:
    """{name of a page: the pages of its folder}, without pages that have no folder."""
    by_folder: dict[str, list[Article]] = {}
    for each in pages:
        if each.folder:
            by_folder.setdefault(each.folder, []).append(each)
    return by_folder


def place_of(pages: tuple[Article, ...], name: str) -> ArticlePlace:
    """A page and those around it. Raises NotFound."""
    names = [each.name for each in pages]
    if name not in names:
        raise NotFound(_("There is no help page '{name}'{pages}.", name=name, pages=nearest(name, names)))
    place = names.index(name)
    article = pages[place]
    return ArticlePlace(
        article,
        next((each for each in pages if each.name == article.folder), None),
        subpages(pages).get(article.folder) or next(group for _title, group in groups(pages) if article in group),
        pages[place - 1] if place else None,
        pages[place + 1] if place + 1 < len(pages) else None,
    )


def read(name: str, text: str, base_url: str = "") -> Article:
    """Parses a page, and splits it at headings of the second level: rendered HTML is never split.

    >>> article = read("x", "# Mail\\n\\nHow it **comes**. More.\\n\\n## In and out\\n\\nText.\\n")
    >>> article.title, article.about, [(part.id, part.title) for part in article.parts]
    ('Mail', 'How it comes.', [('', ''), ('in-and-out', 'In and out')])
    """
    plain = _LINK.sub(lambda match: f"]({base_url}{linked(name, match[1])}{match[2] or ''})", _COMMENT.sub("", text))
    fences = [match.span() for match in _FENCE.finditer(plain)]  # a line of a script may begin with # as well
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
    """The address of the page that a link in another page points to, both without `.md`.

    >>> linked("api", "types/ticket"), linked("types/ticket", "worker"), linked("types/ticket", "../search")
    ('/help/types/ticket', '/help/types/worker', '/help/search')
    """
    return posixpath.join(BASE, posixpath.normpath(posixpath.join(posixpath.dirname(name), target)))


def slug(heading: str) -> str:
    """The anchor of a heading, as other Markdown renderers form it.

    >>> slug("Words of the flow"), slug("`while`, and more")
    ('words-of-the-flow', 'while-and-more')
    """
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def found(pages: tuple[Article, ...], query: str) -> list[ArticleHit]:
    """Sections with the words of a query, at most MAX_FOUND: matching headings first, then by number of hits. If no
    section has all words, those with the most words, at least half.

    Case is ignored, and a word may be part of a longer one. Words of one or two letters and question words count only
    when there are no others."""
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
    """Pairs each section with its plain text, as written and in lower case."""
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
