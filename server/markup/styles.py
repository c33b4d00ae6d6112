"""Selects the harmless declarations of a `style` attribute: colours, sizes, alignment, fonts, spaces, borders.

No source text is passed on. A declaration is accepted if its whole value has the form of its property, and is written
again; so no url(), expression(), escape or comment gets through, however a browser would read it. Properties that could
place text or a link over the page around the mail are not supported (position, float, transform) or limited: nothing is
negative, no element is lower than its text, and inline elements have no padding. No property hides text (display,
visibility, opacity)."""

import re
from collections.abc import Callable, Iterator
from functools import partial

from server.late_pattern import late_pattern

MAX_STYLE_CHARACTERS = 4_000  # per attribute; the rest is dropped
MAX_PIXELS = 2_000  # largest width
MAX_SPACE_PIXELS = 200  # largest margin or padding
MAX_FONT_PIXELS = 100
MAX_BORDER_PIXELS = 20
MAX_GAP_PIXELS = 20  # largest space between letters or words
LOW_LINES, HIGH_LINES = 1.4, 3  # line heights in font sizes; some fonts do not fit into less

Check = Callable[[str], str]  # returns the value to show, "" to drop it

# Parentheses belong to the word before them.
_PIECE = late_pattern(r"[^\s()]+(?:\([^()]*\))?")
_IMPORTANT = late_pattern(r"\s*!\s*important\Z", re.IGNORECASE)
_LENGTH = late_pattern(r"(\d{1,5}(?:\.\d{1,9})?|\.\d{1,9})(px|pt|em|rem|cm|mm|in|%)|(0)")
_LINE_HEIGHT = late_pattern(r"(\d{1,4}(?:\.\d{1,9})?|\.\d{1,9})(|%|em|px|pt|rem)")
_SHARE = r"\d{1,3}(?:\.\d{1,9})?%?|\.\d{1,9}"
_COLOR = late_pattern(
    r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})|[a-z]{3,24}"
    rf"|(?:rgb|hsl)a?\( ?(?:{_SHARE})(?:(?: ?[,/] ?| )(?:{_SHARE})){{2,3}} ?\)"
)
_FONT = late_pattern(r"'[\w -]{1,60}'|[\w -]{1,60}")
# Pixels per unit; those of font units are estimates.
_PIXELS = {"px": 1.0, "pt": 4 / 3, "em": 20.0, "rem": 20.0, "cm": 37.8, "mm": 3.78, "in": 96.0}

_LINES = {"none", "solid", "dashed", "dotted", "double", "groove", "ridge", "inset", "outset"}
_FONT_SIZES = {"xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "smaller", "larger"}
_WORDS = {
    "border-collapse": {"collapse", "separate"},
    "caption-side": {"top", "bottom"},
    "direction": {"ltr", "rtl"},
    "display": {"block", "inline-block"},
    "font-style": {"normal", "italic", "oblique"},
    "font-variant": {"normal", "small-caps"},
    "font-weight": {"normal", "bold", "bolder", "lighter", *map(str, range(100, 1000, 100))},
    "list-style-type": {
        "none", "disc", "circle", "square", "decimal", "decimal-leading-zero", "lower-alpha", "upper-alpha",
        "lower-latin", "upper-latin", "lower-roman", "upper-roman", "lower-greek",
    },
    "overflow-wrap": {"normal", "break-word", "anywhere"},
    "table-layout": {"auto", "fixed"},
    "text-align": {"left", "right", "center", "justify", "start", "end"},
    "text-decoration": {"none", "underline", "overline", "line-through"},
    "text-transform": {"none", "uppercase", "lowercase", "capitalize"},
    "vertical-align": {"baseline", "top", "middle", "bottom", "text-top", "text-bottom", "sub", "super"},
    "white-space": {"normal", "nowrap", "pre", "pre-wrap", "pre-line"},
    "word-break": {"normal", "break-all", "keep-all", "break-word"},
    "word-wrap": {"normal", "break-word"},
}  # fmt: skip
_FONT_WORDS = ("font-style", "font-variant", "font-weight")
_SHORT = {"background": "background-color", "list-style": "list-style-type"}

# In other elements, text would overflow the height and cover the following content.
_WITH_HEIGHT = {"table", "thead", "tbody", "tfoot", "tr", "td", "th", "img", "hr"}
_INLINE = {
    "a", "abbr", "b", "bdi", "bdo", "big", "br", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark",
    "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
}  # fmt: skip


def harmless_style(tag: str, style: str) -> str:
    """Returns the declarations of a `style` attribute of `tag` that may be shown, "" for none. Never raises; takes
    linear time.

    >>> harmless_style("td", "COLOR: Red !important; position: fixed; width: 50%; background: url(//x.example/a)")
    'color: red; width: 50%'
    >>> harmless_style("a", "padding: 9px"), harmless_style("a", "display: inline-block; padding: 9px")
    ('', 'display: inline-block; padding: 9px')
    """
    accepted: dict[str, str] = {}
    for name, value in declarations(style):
        check = _CHECKS.get(name)
        accepted_value = check(value) if check else ""
        if accepted_value and (name != "height" or tag in _WITH_HEIGHT):
            accepted[name] = accepted_value
    if tag in _INLINE and "display" not in accepted:
        # Padding and borders of inline elements do not add to the line height: they would cover adjacent lines.
        accepted = {name: value for name, value in accepted.items() if name not in _BOXES}
    return "; ".join(f"{name}: {value}" for name, value in accepted.items())


def declarations(style: str) -> Iterator[tuple[str, str]]:
    """Yields (property, value) of each declaration, in lower case and unchecked; expands the shorthand `font`."""
    for declaration in style[:MAX_STYLE_CHARACTERS].lower().split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), _IMPORTANT.sub("", " ".join(value.split()))
        if name == "font":
            yield from _font(value.split(" "))
        else:
            yield _SHORT.get(name, name), value


def _font(pieces: list[str]) -> Iterator[tuple[str, str]]:
    """Expands a shorthand such as `italic bold 12px/1.5 Arial, sans-serif`."""
    for place, piece in enumerate(pieces):
        name = next((name for name in _FONT_WORDS if piece in _WORDS[name]), "")
        if not name:
            size, _, lines = piece.partition("/")
            yield from (("font-size", size), ("line-height", lines), ("font-family", " ".join(pieces[place + 1 :])))
            return
        yield name, piece


def _word(words: set[str], value: str) -> str:
    return value if value in words else ""


def _length(most_pixels: int, most_percent: int, words: set[str], value: str) -> str:
    """Accepts one of the words, or a length that is neither negative nor too long."""
    match = _LENGTH.fullmatch(value)
    if match is None or match[3]:
        return value if match or value in words else ""
    number, unit = float(match[1]), match[2]
    is_short = number <= most_percent if unit == "%" else number * _PIXELS[unit] <= most_pixels
    return value if is_short else ""


def _lines(value: str) -> str:
    """Returns a line height as a number. A larger font would inherit a length, and its letters would then cover the
    text above, as in low lines; both are replaced by the height that the font needs."""
    match = _LINE_HEIGHT.fullmatch(value)
    if match is None:
        return value if value == "normal" else ""
    lines = {"": 1.0, "em": 1.0, "%": 0.01}.get(match[2], 0) * float(match[1])
    return f"{lines:g}" if LOW_LINES <= lines <= HIGH_LINES else "normal"


def _fonts(value: str) -> str:
    names = value.replace('"', "'").split(",")
    return ",".join(names) if all(_FONT.fullmatch(name.strip()) for name in names) else ""


def _color(value: str) -> str:
    return value if _COLOR.fullmatch(value) else ""


def _all(most: int, checks: tuple[Check, ...], value: str) -> str:
    """Accepts up to `most` pieces that each satisfy one of the checks."""
    pieces = _PIECE.findall(value)
    values = [next(filter(None, (check(piece) for check in checks)), "") for piece in pieces]
    return " ".join(values) if 0 < len(values) <= most and all(values) and " ".join(pieces) == value else ""


_line = partial(_word, _LINES)
_thickness = partial(_length, MAX_BORDER_PIXELS, 0, {"thin", "medium", "thick"})
_space = partial(_length, MAX_SPACE_PIXELS, 50, {"auto"})
_width = partial(_length, MAX_PIXELS, 100, {"auto", "none"})
_gap = partial(_length, MAX_GAP_PIXELS, 0, {"normal"})

_SIDES = ("top", "right", "bottom", "left")
_BORDERS = ("border", *(f"border-{side}" for side in _SIDES))
_BOXES: dict[str, Check] = {
    **dict.fromkeys(("margin", "padding"), partial(_all, 4, (_space,))),
    "border-radius": partial(_all, 4, (_width,)),
    **dict.fromkeys((f"{box}-{side}" for box in ("margin", "padding") for side in _SIDES), _space),
    **dict.fromkeys(_BORDERS, partial(_all, 3, (_line, _thickness, _color))),
    **{f"{edge}-style": partial(_all, 4, (_line,)) for edge in _BORDERS},
    **{f"{edge}-width": partial(_all, 4, (_thickness,)) for edge in _BORDERS},
    **{f"{edge}-color": partial(_all, 4, (_color,)) for edge in _BORDERS},
    **dict.fromkeys(("width", "min-width", "max-width", "height", "min-height"), _width),
}
_CHECKS: dict[str, Check] = {
    **{name: partial(_word, words) for name, words in _WORDS.items()},
    **_BOXES,
    "color": _color,
    "background-color": _color,
    "border-spacing": partial(_all, 2, (_space,)),
    "font-family": _fonts,
    "font-size": partial(_length, MAX_FONT_PIXELS, 400, _FONT_SIZES),
    "letter-spacing": _gap,
    "word-spacing": _gap,
    "line-height": _lines,
    "text-indent": _space,
}
