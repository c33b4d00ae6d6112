"""Moves the rules of style sheets into `style` attributes, which the sanitizer and mail programs preserve.

The css-inline library matches selectors. It reads the limited tree of balance.py, since it recurses into deep HTML and
would crash the process; and only as many rules as can be compared with the elements in a moment."""

import re
from collections.abc import Iterator
from html import escape

from server.late_pattern import late_pattern
from server.markup.html_tokens import start_tag

MAX_CSS_CHARACTERS = 256 * 1024  # per document; above it all rules are ignored
MAX_COMPARISONS = 2_000_000  # selectors x elements: 0.3 s
MAX_DRESSED_CHARACTERS = 4 * 1024 * 1024  # largest result: style attributes may multiply a short text
_MEDIA = frozenset(("", "all", "screen"))

_NEXT = late_pattern(r"<!--|<(?:style|body)(?=[\s/>])", re.IGNORECASE)
_STYLE_END = late_pattern(r"</style(?=[\s/>])", re.IGNORECASE)
_CSS_COMMENT = late_pattern(r"/\*(?:[^*]|\*(?!/))*+(?:\*/)?|<!--|-->")
_BODY = late_pattern(r"""<body((?:\s[^\s="<>/]+="[^"]*")*)>""")


def css_of(html: str) -> str:
    """Returns the rules of the `style` elements of a document that apply to screens."""
    return "\n".join(text for kind, text in _parts(html) if kind == "style")


def body_attributes(html: str) -> dict[str, str]:
    """Returns the attributes of the `body` element, {} for a fragment."""
    for kind, text in _parts(html):
        if kind == "body":
            return start_tag(text, 0)[1]
    return {}


def dressed(fragment: str, body: dict[str, str], *sheets: str) -> str:
    """Returns `fragment` with the rules of the sheets in `style` attributes; a surrounding `div` gets those of `body`.

    An earlier sheet takes precedence over a later one, and an attribute over both. `fragment`: balanced HTML. Sheets
    that would take too long are ignored. The result is not yet safe to show."""
    for css in sheets:
        if not fits(fragment, css):
            continue
        page = _inlined(f"<html><body{_attributes(body)}>{fragment}</body></html>", css)
        if page is not None:
            body, fragment = page
    attributes = {name: value for name, value in body.items() if name in ("style", "dir", "lang", "bgcolor") and value}
    if background := attributes.pop("bgcolor", ""):
        attributes["style"] = f"background-color: {background}; {attributes.get('style', '')}"
    return f"<div{_attributes(attributes)}>{fragment}</div>" if attributes else fragment


def fits(fragment: str, css: str) -> bool:
    """Returns whether a sheet is short enough for the number of elements."""
    if not css.strip() or len(css) > MAX_CSS_CHARACTERS:
        return False
    selectors = css.count("{") + css.count(",") + css.count(":not(") * 4
    return selectors * (fragment.count("<") // 2 + 1) <= MAX_COMPARISONS


def _inlined(page: str, css: str) -> tuple[dict[str, str], str] | None:
    """Returns the attributes and the content of the body, None if the rules cannot be applied."""
    import css_inline  # 40 ms, and most mail has no style sheet

    inliner = css_inline.CSSInliner(
        inline_style_tags=False, load_remote_stylesheets=False, resolve_css_variables=True, extra_css=css
    )
    try:
        result = inliner.inline(page)
    except ValueError:  # the base class of the library's error
        return None
    start = _BODY.search(result)
    if start is None or len(result) > MAX_DRESSED_CHARACTERS:
        return None
    attributes = start_tag(result, start.start())[1]
    return attributes, result[start.end() : result.rfind("</body>")]


def _parts(html: str) -> Iterator[tuple[str, str]]:
    """Yields ("style", rules) and ("body", start tag) in order; ignores comments."""
    position = 0
    while (match := _NEXT.search(html, position)) is not None:
        start = match.start()
        name, attributes, end = start_tag(html, start)
        if match[0] == "<!--":
            end = html.find("-->", start + 4)
            position = end + 3 if end >= 0 else len(html)
        elif not name:
            return
        elif name == "body":
            yield "body", html[start:end]
            position = end
        else:
            close = _STYLE_END.search(html, end)
            position = close.start() if close else len(html)
            if attributes.get("media", "").strip().lower() in _MEDIA:
                yield "style", _CSS_COMMENT.sub(" ", html[end:position])


def _attributes(values: dict[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in values.items())
