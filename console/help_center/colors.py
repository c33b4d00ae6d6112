"""Adjusts the color of a brand to light and dark pages, with the contrast that text needs (WCAG 2.2, 1.4.3)."""

LEAST_CONTRAST = 4.6  # a little more than 4.5, for rounding
LIGHT, DARK = "#ffffff", "#14181d"  # backgrounds of help_center.css
TINTED_LIGHT, TINTED_DARK = "#f4f6f8", "#1c222a"
DEFAULT = "#0b5f8a"
STEPS = 50


def accent_css(color: str) -> str:
    """Returns the style sheet of a brand. Text on the color is white or black, whichever has more contrast.

    >>> accent_css("#ffee00").splitlines()[0]
    ':root{--accent-light:#756d00;--on-accent-light:#ffffff;--accent-dark:#ffee00;--on-accent-dark:#000000}'
    """
    color = (color or DEFAULT).lower()
    light = _toward("#000000", color, (LIGHT, TINTED_LIGHT))
    dark = _toward("#ffffff", color, (DARK, TINTED_DARK))
    return (
        f":root{{--accent-light:{light};--on-accent-light:{_on(light)};"
        f"--accent-dark:{dark};--on-accent-dark:{_on(dark)}}}\n"
    )


def contrast(one: str, other: str) -> float:
    """The contrast of two colors, from 1 to 21.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    low, high = sorted((_luminance(one), _luminance(other)))
    return round((high + 0.05) / (low + 0.05), 2)


def _toward(end: str, color: str, grounds: tuple[str, ...]) -> str:
    """The color, mixed with black or white until it can be read on these backgrounds."""
    for step in range(STEPS + 1):
        mixed = _mixed(color, end, step / STEPS)
        if min(contrast(mixed, ground) for ground in grounds) >= LEAST_CONTRAST:
            return mixed
    return end


def _on(color: str) -> str:
    return max(("#ffffff", "#000000"), key=lambda each: contrast(each, color))


def _channels(color: str) -> list[int]:
    return [int(color[place : place + 2], 16) for place in (1, 3, 5)]


def _mixed(color: str, end: str, share: float) -> str:
    mixed = (
        round(one * (1 - share) + other * share) for one, other in zip(_channels(color), _channels(end), strict=True)
    )
    return "#" + "".join(f"{each:02x}" for each in mixed)


def _luminance(color: str) -> float:
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4
        for each in (channel / 255 for channel in _channels(color))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
