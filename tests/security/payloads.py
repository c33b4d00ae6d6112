"""Texts that take effect if a page treats them as markup, script or style, and the detection of such a page."""

import html
import itertools
import re
from html.parser import HTMLParser

MARK = "zqx"  # part of all of them, so that a page can be shown to contain one
EVIL = "evil.example"
# Everything at once: escapes from attributes in both quotes, titles, texts, styles, scripts, comments and option lists.
ALL = (
    f"{MARK}\"'`></title></textarea></style></script></select></option><!--><script>alert(1)</script>"
    f"<svg/onload=alert(2)><img src=//{EVIL}/p onerror=alert(3)>{{{{7*7}}}}"
)
SHORT = (
    f"{MARK}<script>alert(4)</script>", f"{MARK}\"><svg/onload=alert(5)>", f"{MARK}'><img src=x onerror=alert(6)>",
    f"{MARK}</textarea><script>alert(7)</script>", f"{MARK}</title><script>alert(8)</script>",
    f"{MARK}</style><style>*{{background:url(//{EVIL})}}</style>", f"javascript:alert('{MARK}')",
    f"java\tscript:alert('{MARK}')", f"&#106;avascript&colon;alert('{MARK}')", f"{MARK}\" autofocus onfocus=\"alert(9)",
    f"{MARK}' onmouseover='alert(10)' x='", f"{MARK}<base href=//{EVIL}/>", f"{MARK}<iframe src=//{EVIL}></iframe>",
    f"{MARK}<meta http-equiv=refresh content=0;url=//{EVIL}>", f"{MARK}<form action=//{EVIL}><button>x</button>",
    f"{MARK}<link rel=stylesheet href=//{EVIL}/x.css>", f"{MARK}<!--><script>alert(11)</script>-->",
    f"{MARK}<a href=java&Tab;script:alert(12)>x</a>", f"{MARK}{{{{7*7}}}}{{% raw 1 %}}{{!7}}${{7*7}}",
    f"{MARK}\u202e\u2028</script >", f"{MARK}<object data=//{EVIL}></object>", f"<p style=x:expression({MARK})>",
)  # fmt: skip
_numbers = itertools.count(1)

FORBIDDEN = (
    "iframe", "object", "embed", "base", "frame", "applet", "style", "math", "template", "img", "video", "audio",
)  # fmt: skip
OWN_FRAMES = re.compile(
    r"(?:/messages/[0-9]+/(?:body|quotation)|/drafts/[0-9]+/preview|/-/snippets/preview(?:/[0-9]+)?"
    r"|/-/article-preview(?:/[0-9]+)?)?\Z"
)  # mail is shown in a frame
FRAME_RIGHTS = "allow-same-origin allow-popups allow-popups-to-escape-sandbox"
OWN_IMAGES = ("/avatars/", "/files/")  # which pages of records show
HANDLERS = ("style", "srcdoc")
ADDRESSES = ("href", "src", "action", "formaction", "data", "poster", "background", "srcset", "ping", "xlink:href")
_IGNORED = re.compile(r"[\x00-\x20\x7f\ufeff]")  # characters that browsers ignore in a scheme


def text(most: int = 10**9) -> str:
    """A hostile text of limited length: complete where it fits, else a script. All are different."""
    number = next(_numbers)
    return f"{ALL if most >= len(ALL) + 8 else SHORT[0]}{number}"[:most]


def varied(most: int = 10**9) -> str:
    """Like `text`, but short texts differ each time."""
    number = next(_numbers)
    return f"{ALL if most >= len(ALL) + 8 else SHORT[number % len(SHORT)]}{number}"[:most]


def _is_mail(attributes: dict[str, str]) -> bool:
    """Whether a frame shows mail from our service, in which scripts are disabled."""
    return attributes.get("sandbox") == FRAME_RIGHTS and bool(OWN_FRAMES.match(attributes.get("src", "")))


class _Reader(HTMLParser):
    """Collects active elements."""

    def __init__(self, own: str) -> None:
        super().__init__()
        self.own = own
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        shown = f"<{tag} {attributes}>"[:200]
        if tag == "iframe" and _is_mail(attributes):
            tag = "frame of ours"
        if tag == "img" and attributes.get("src", "").startswith(OWN_IMAGES):
            tag = "picture of ours"
        if tag in FORBIDDEN or (tag == "meta" and "http-equiv" in attributes):
            self.found.append(shown)
        if tag == "script" and not attributes.get("src", "").startswith("/static/"):
            self.found.append(shown)
        for name, value in attributes.items():
            is_address = name in ADDRESSES
            if name.startswith("on") or name in HANDLERS or (is_address and not self._leads(name, value)):
                self.found.append(shown)

    def _leads(self, name: str, value: str) -> bool:
        """Whether an address is a path, a fragment or on our service; links may lead to other sites by http and
        mail."""
        bare = _IGNORED.sub("", value).lower()
        if bare.startswith(("/", "#", "?", self.own)) or bare == "":
            return not bare.startswith(("//", "/\\"))
        return name == "href" and bare.startswith(("https://", "http://", "mailto:"))


def acting(page: str, own: str) -> list[str]:
    """The elements of a page that run, load or send something that is not of ours. own: the address of the service.

    >>> acting('<a href="/a">x</a><svg class=bars></svg><script src="/static/1/x.js"></script>', "http://desk")
    []
    >>> len(acting('<a href="java\\tscript:x">x</a><p onclick=x><script>x</script><img src=//x>', "http://desk"))
    5
    """
    reader = _Reader(own)
    reader.feed(page)
    reader.close()
    return reader.found


def shown(page: str) -> bool:
    """Whether a page contains one of the texts."""
    return MARK in html.unescape(page)
