"""Rewrites HTML with every element closed, nesting and attributes limited, so that the sanitizer has little work; and
makes hidden text visible.

It runs before the sanitizer only to save time: the sanitizer needs three minutes for 1 MB of `<div>`, and a thread
cannot be stopped. clean.py decides what is safe, on the result. Not a parser such as lxml or html5lib, which would
build the tree that must not be built."""

import html as entities
from collections import defaultdict
from collections.abc import Collection
from dataclasses import field

from server.dataclass import dataclass
from server.markup.html_tokens import HtmlTokenKind, tokens
from server.markup.visible import READABLE, VisibleText

MAX_DEPTH = 200  # open elements; further start tags are dropped, their text is not

VOID = frozenset({"br", "hr", "img", "wbr", "col"})
_INLINE = frozenset(
    (
        "a abbr b bdi bdo big br cite code del dfn em font i img ins kbd mark q s samp small span strike strong sub "
        "sup time tt u var wbr"
    ).split()
)
_TABLE = frozenset({"table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"})
_CELLS = ("caption", "td", "th")

# {start tag: (elements that it closes, unless one of these is open inside them)}
_CLOSES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "li": (("li",), ("ul", "ol", "table")),
    "dt": (("dt", "dd"), ("dl", "table")),
    "dd": (("dt", "dd"), ("dl", "table")),
    "td": (("td", "th", "caption"), ("table",)),
    "th": (("td", "th", "caption"), ("table",)),
    "tr": (("tr", "caption"), ("table",)),
    "thead": (("thead", "tbody", "tfoot", "caption"), ("table",)),
    "tbody": (("thead", "tbody", "tfoot", "caption"), ("table",)),
    "tfoot": (("thead", "tbody", "tfoot", "caption"), ("table",)),
    "a": (("a",), ("table",)),
}


def balanced(html: str, tags: Collection[str], attributes: Collection[str]) -> str:
    """Returns `html` with only `tags` and `attributes`, every element closed, at most MAX_DEPTH open at once, all text
    visible.

    Takes linear time; never raises. The result is not yet safe to show.

    >>> balanced("<ul><li>a<li><b>b</ul>c", {"ul", "li", "b"}, set())
    '<ul><li>a</li><li><b>b</b></li></ul>c'
    """
    page = _Balancer()
    for token in tokens(html):
        if token.kind is HtmlTokenKind.TEXT:
            page.text(entities.escape(token.value, quote=False))
        elif token.value not in tags:
            continue
        elif token.kind is HtmlTokenKind.START:
            page.start(token.value, {name: value for name, value in token.attributes.items() if name in attributes})
        else:
            page.end(token.value)
    page.close_from(0)
    return "".join(page.parts)


@dataclass
class _Balancer:
    parts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    # The positions of each name in `open`, to find the innermost one without a scan.
    places: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    visible: VisibleText = field(default_factory=VisibleText)

    def text(self, escaped: str) -> None:
        is_hidden = self.visible.is_hidden and not escaped.isspace()
        self.parts.append(f"<span {READABLE}>{escaped}</span>" if is_hidden else escaped)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._make_room_for(name)
        if name not in VOID:
            if len(self.open) >= MAX_DEPTH:
                return
            self.places[name].append(len(self.open))
            self.open.append(name)
            self.visible.enter(name, attributes)
        values = "".join(f' {key}="{entities.escape(value)}"' for key, value in attributes.items())
        self.parts.append(f"<{name}{values}>")

    def end(self, name: str) -> None:
        place = self._nearest((name,))
        if place < 0:
            return
        if name in _INLINE and not _INLINE.issuperset(set(self.open[place:]) - {"p"}):
            # It would close a block that began inside it; the end of the block closes both.
            return
        if name not in _TABLE and self._nearest(_CELLS) > place:
            return
        self.close_from(place)

    def close_from(self, place: int) -> None:
        while len(self.open) > place:
            name = self.open.pop()
            self.places[name].pop()
            self.visible.leave()
            self.parts.append(f"</{name}>")

    def _make_room_for(self, name: str) -> None:
        if name not in _INLINE and self.open and self.open[-1] == "p":
            self.close_from(len(self.open) - 1)
        closed, within = _CLOSES.get(name, ((), ()))
        place = self._nearest(closed)
        if place >= 0 and place > self._nearest(within):
            self.close_from(place)

    def _nearest(self, names: tuple[str, ...]) -> int:
        """Returns the position of the innermost open element of these names, or -1."""
        return max((self.places[name][-1] for name in names if self.places[name]), default=-1)
