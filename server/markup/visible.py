"""Makes text visible that mail hides by its style: tiny letters, and text in the colour of its background.

Readers of a message must see the same text as searches, automations and quotations. Only hidden text gets another
style. The sanitizer (clean.py) runs later and decides what is safe."""

from server.dataclass import dataclass
from server.late_pattern import late_pattern
from server.markup.styles import declarations

LEAST_FONT_PIXELS = 6.0
USUAL_FONT_PIXELS = 16.0
LEAST_DIFFERENCE = 25  # required in red, green or blue, out of 255
READABLE = 'style="color: #000; background-color: #fff; font-size: 13px"'
_PIXELS = {"px": 1.0, "pt": 4 / 3, "rem": USUAL_FONT_PIXELS, "cm": 37.8, "mm": 3.78, "in": 96.0}
_SIZE_WORDS = {"xx-small": 9.0, "x-small": 10.0, "small": 13.0, "medium": 16.0, "large": 18.0, "x-large": 24.0}
_STEPS = {"smaller": 0.83, "larger": 1.2}
_TAG_STEPS = {"small": 0.83, "sub": 0.83, "sup": 0.83, "big": 1.2}
_LENGTH = late_pattern(r"(\d{1,5}(?:\.\d{1,9})?|\.\d{1,9})(px|pt|em|rem|cm|mm|in|%)?")
_HEX = late_pattern(r"#?([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_FUNCTION = late_pattern(r"(rgb|hsl)a?\(([^()]{1,60})\)")
_NUMBER = late_pattern(r"(\d{1,3}(?:\.\d{1,9})?|\.\d{1,9})(%?)")
# Colours that are nearly white or black; all other names differ enough from both.
_NAMES = {
    "aliceblue": "f0f8ff",
    "azure": "f0ffff",
    "black": "000000",
    "floralwhite": "fffaf0",
    "ghostwhite": "f8f8ff",
    "honeydew": "f0fff0",
    "ivory": "fffff0",
    "lightyellow": "ffffe0",
    "mintcream": "f5fffa",
    "snow": "fffafa",
    "white": "ffffff",
    "whitesmoke": "f5f5f5",
}
Color = tuple[float, float, float]  # red, green and blue, each from 0 to 255
WHITE: Color = (255.0, 255.0, 255.0)
BLACK: Color = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Appearance:
    """The appearance of text; None for an unknown colour."""

    color: Color | None = BLACK
    background: Color | None = WHITE
    pixels: float = USUAL_FONT_PIXELS
    is_transparent: bool = False

    @property
    def hides_text(self) -> bool:
        if self.is_transparent or self.pixels < LEAST_FONT_PIXELS:
            return True
        if self.color is None or self.background is None:
            return False
        return max(abs(a - b) for a, b in zip(self.color, self.background, strict=True)) < LEAST_DIFFERENCE


class VisibleText:
    """Tracks the appearance of text: call `enter` for each start tag, `leave` for each end tag."""

    def __init__(self) -> None:
        self._open = [_Appearance()]

    @property
    def is_hidden(self) -> bool:
        """Whether text at this position would be unreadable."""
        return self._open[-1].hides_text

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        """Adds an element that opens."""
        inherited = self._open[-1]
        if attributes.keys() & {"style", "color", "bgcolor"} or tag in _TAG_STEPS:
            inherited = _appearance(tag, attributes, inherited)
        self._open.append(inherited)

    def leave(self) -> None:
        """Returns to the parent of the element."""
        self._open.pop()


def _appearance(tag: str, attributes: dict[str, str], inherited: _Appearance) -> _Appearance:
    styles = dict(declarations(attributes.get("style", "")))
    color_text = styles.get("color") or attributes.get("color", "")
    color, is_transparent = _color(color_text) if color_text else (inherited.color, inherited.is_transparent)
    background_text = styles.get("background-color") or attributes.get("bgcolor", "")
    background, is_clear = _color(background_text) if background_text else (None, True)
    pixels = _font_pixels(styles.get("font-size", ""), inherited.pixels) * _TAG_STEPS.get(tag, 1.0)
    return _Appearance(color, inherited.background if is_clear else background, pixels, is_transparent)


def _font_pixels(value: str, inherited: float) -> float:
    """Returns a font size in pixels; that of the parent for an unknown value."""
    if value in _SIZE_WORDS:
        return _SIZE_WORDS[value]
    if value in _STEPS:
        return inherited * _STEPS[value]
    match = _LENGTH.fullmatch(value)
    if match is None:
        return inherited
    number, unit = float(match[1]), match[2]
    if unit in ("em", "%"):
        return inherited * number / (100 if unit == "%" else 1)
    return number * _PIXELS.get(unit or "px", 1.0)


def _color(value: str) -> tuple[Color | None, bool]:
    """Returns the colour of a CSS or HTML value, None if unknown, and whether it is fully transparent."""
    value = value.strip().lower()
    if value == "transparent":
        return None, True
    match = _HEX.fullmatch(_NAMES.get(value, value))
    if match is not None:
        digits = match[1] if len(match[1]) > 4 else "".join(digit * 2 for digit in match[1])
        red, green, blue = (float(int(digits[place : place + 2], 16)) for place in (0, 2, 4))
        return (red, green, blue), digits[6:] == "00"
    match = _FUNCTION.fullmatch(value)
    if match is None:
        return None, False
    numbers = [(float(each[1]), each[2]) for each in _NUMBER.finditer(match[2])]
    is_clear = len(numbers) > 3 and numbers[3][0] == 0
    if len(numbers) < 3:
        return None, False
    if match[1] == "hsl":
        grey = numbers[2][0] * 2.55
        return ((grey, grey, grey) if numbers[1][0] == 0 or grey in (0.0, 255.0) else None), is_clear
    red, green, blue = (number * 2.55 if unit else number for number, unit in numbers[:3])
    return (red, green, blue), is_clear
