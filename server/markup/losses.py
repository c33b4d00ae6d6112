"""Lists what the sanitizer removes from a mail template, so that its author can change it."""

import re

from server.late_pattern import late_pattern
from server.markup.clean import ATTRIBUTES, TAGS
from server.markup.html_tokens import HtmlTokenKind, tokens
from server.markup.styles import harmless_style
from server.markup.stylesheets import css_of, fits

MAX_LOSSES = 40  # entries of a list
MAX_SHOWN = 80  # characters of an entry
MAX_SOURCE = 256 * 1024  # characters; the rest is not read

# Elements without visible content, and attributes without visible effect.
_AROUND = frozenset(("html", "head", "body", "title", "meta", "style"))
_SILENT = late_pattern(r"(?:class|id|style|name|role|target|rel|alt|xmlns(?::\w+)?|(?:aria|data)-[\w-]+|http-equiv)\Z")
_CONDITION = late_pattern(r"<!--\[if [^\]<>]{1,60}\]>")
_AT_RULE = late_pattern(r"@[\w-]+[^{};]*+")
_STATE = late_pattern(r"::?(?:hover|focus|active|visited|before|after|first-line|first-letter)\b", re.IGNORECASE)


def losses(html: str) -> list[str]:
    """Returns the elements, attributes, rules and declarations of HTML that are removed from mail, as they are written.

    >>> losses('<style>.a { float: left } @media print { p { color: red } }</style><form><p onclick="x()" class="a">')
    ['@media print', 'float: left', '<form>', 'onclick on <p>']
    """
    source = html[:MAX_SOURCE]
    css = css_of(source)
    lost = dict.fromkeys(_lost_rules(css, source))
    lost |= dict.fromkeys(condition[0] for condition in _CONDITION.finditer(source))
    for token in tokens(source):
        if token.kind is not HtmlTokenKind.START or token.value in _AROUND:
            continue
        if token.value not in TAGS:
            lost[f"<{token.value}>"] = None
            continue
        lost |= dict.fromkeys(_lost_declarations(token.attributes.get("style", "")))
        allowed = ATTRIBUTES["*"] | ATTRIBUTES.get(token.value, set())
        for name in token.attributes:
            if name not in allowed and not _SILENT.match(name):
                lost[f"{name} on <{token.value}>"] = None
    return [each[:MAX_SHOWN] for each in list(lost)[:MAX_LOSSES]]


def _lost_rules(css: str, html: str) -> list[str]:
    if css.strip() and not fits(html, css):
        return ["<style>"]
    lost = [" ".join(rule[0].split()) for rule in _AT_RULE.finditer(css)]
    for rule in _without_at_rules(css).split("}"):
        selector, _, declarations = rule.rpartition("{")
        if _STATE.search(selector):
            lost.append(" ".join(selector.split()))
        else:
            lost += _lost_declarations(declarations if selector else "")
    return lost


def _without_at_rules(css: str) -> str:
    """Returns the rules outside of `@media` and the like, which are listed as a whole."""
    pieces: list[str] = []
    position = 0
    while (rule := _AT_RULE.search(css, position)) is not None:
        pieces.append(css[position : rule.start()])
        position = _end_of_block(css, rule.end())
    return "".join(pieces) + css[position:]


def _end_of_block(css: str, position: int) -> int:
    if css[position : position + 1] != "{":
        return position + 1
    depth = 0
    for place in range(position, len(css)):
        depth += (css[place] == "{") - (css[place] == "}")
        if depth == 0:
            return place + 1
    return len(css)


def _lost_declarations(style: str) -> list[str]:
    written = [" ".join(each.split()) for each in style.split(";") if ":" in each]
    return [each for each in written if not each.startswith("--") and not harmless_style("table", each)]
