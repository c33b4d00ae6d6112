"""The icons of the console: one set, on a grid of 16 with strokes of 1.5, in the colour of the text beside them.

They are decorative: words say the same, or the label of the button."""

from markupsafe import Markup


def _circle(x: float, y: float, radius: float) -> str:
    half = f"a{radius:g} {radius:g} 0 1 0"
    return f"M{x - radius:g} {y:g}{half} {2 * radius:g} 0{half}-{2 * radius:g} 0"


def _box(x: float, y: float, width: float, height: float, corner: float = 1.0) -> str:
    across, down, turn = width - 2 * corner, height - 2 * corner, f"{corner:g} {corner:g} 0 0 1"
    return (
        f"M{x + corner:g} {y:g}h{across:g}a{turn} {corner:g} {corner:g}v{down:g}a{turn}-{corner:g} {corner:g}"
        f"h-{across:g}a{turn}-{corner:g}-{corner:g}v-{down:g}a{turn} {corner:g}-{corner:g}Z"
    )


PATHS = {
    "api": "M5.5 4.25 1.75 8l3.75 3.75M10.5 4.25 14.25 8l-3.75 3.75",
    "apps": "".join(_box(x, y, 4.5, 4.5) for x in (2.25, 9.25) for y in (2.25, 9.25)),
    "archive": _box(1.75, 2.5, 12.5, 3.25) + "M2.75 5.75v6.5a1 1 0 0 0 1 1h8.5a1 1 0 0 0 1-1v-6.5M6.25 8.5h3.5",
    "bell": "M4 7a4 4 0 0 1 8 0c0 3 1.25 4.25 1.25 4.25H2.75S4 10 4 7ZM6.75 13.75h2.5",
    "bolt": "M9 1.75 3.25 9.25h4L7 14.25l5.75-7.5h-4Z",
    "box": "M8 1.75 13.5 4.75v6.5L8 14.25l-5.5-3v-6.5ZM2.75 4.9 8 7.75l5.25-2.85M8 7.75v6.25",
    "building": "M3 14V2.75a1 1 0 0 1 1-1h5a1 1 0 0 1 1 1V14M10 6.25h2.25a1 1 0 0 1 1 1V14"
    "M1.75 14h12.5M5.5 4.75h2M5.5 7.5h2M5.5 10.25h2",
    "check": "M3 8.5 6.5 12 13 4.5",
    "chevron": "M6 3.75 10.25 8 6 12.25",
    "clock": _circle(8, 8, 6.25) + "M8 4.5V8l2.5 1.5",
    "clip": "M13.25 7.25 8 12.5a3.2 3.2 0 0 1-4.5-4.5l5.6-5.6a2.1 2.1 0 0 1 3 3L6.6 10.9a1 1 0 0 1-1.4-1.4l4.9-4.9",
    "close": "M4 4l8 8M12 4l-8 8",
    "fields": _box(2, 2.75, 12, 4) + _box(2, 9.25, 12, 4) + "M4.25 4.75h.01M4.25 11.25h.01",
    "group": _circle(8, 4.25, 2.25)
    + _circle(3.75, 8, 1.5)
    + _circle(12.25, 8, 1.5)
    + "M4.5 13.75c.25-2.75 1.5-4.25 3.5-4.25s3.25 1.5 3.5 4.25Z",
    "help": _circle(8, 8, 6.25)
    + "M6.25 6.25c.15-1 .85-1.6 1.8-1.6 1 0 1.7.65 1.7 1.5 0 1.35-1.75 1.4-1.75 2.85M8 11.25h.01",
    "home": "M2.25 7.25 8 2.5l5.75 4.75v5.5a1 1 0 0 1-1 1h-9.5a1 1 0 0 1-1-1ZM6.25 13.5V9.75h3.5v3.75",
    "hook": _circle(8, 4, 2)
    + _circle(4, 11.75, 2)
    + _circle(12, 11.75, 2)
    + "M7.1 5.8 4.9 9.95M8.9 5.8l2.2 4.15M6 11.75h4",
    "inbox": "M2 9.25 4 3h8l2 6.25v3a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1ZM2 9.25h3.5l1 1.75h3l1-1.75H14",
    "key": _circle(5.25, 10.75, 3) + "M7.5 8.5l6-6M11 5l2 2",
    "keyboard": _box(1.5, 3.75, 13, 8.5, 1.5) + "M4.25 6.5h.01M6.75 6.5h.01M9.25 6.5h.01M11.75 6.5h.01M5 9.5h6",
    "list": "M6 3.75h7.75M6 8h7.75M6 12.25h7.75M2.75 3.75h.01M2.75 8h.01M2.75 12.25h.01",
    "mail": _box(1.75, 3, 12.5, 10, 1.25) + "M2.25 4.25 8 8.75l5.75-4.5",
    "more": "M3.5 8h.01M8 8h.01M12.5 8h.01",
    "menu": "M2.25 4.25h11.5M2.25 8h11.5M2.25 11.75h11.5",
    "pencil": "M2.75 13.25l.75-3 7-7 2.25 2.25-7 7ZM9 4.75 11.25 7",
    "people": _circle(6, 5, 2.5)
    + "M1.5 13.5c.2-2.75 1.9-4.25 4.5-4.25s4.3 1.5 4.5 4.25"
    + "M10.5 2.75a2.4 2.4 0 0 1 0 4.5M12.25 9.75c1.35.55 2.1 1.8 2.25 3.75",
    "pulse": "M1.5 8.25H4.5L6.5 3l3 10.25 2-5h3",
    "records": "M8 2 14 5 8 8 2 5ZM2.25 8.25 8 11l5.75-2.75M2.25 11.25 8 14l5.75-2.75",
    "reply": "M6.25 3.25 2 7.5l4.25 4.25M2.25 7.5h6.5a5 5 0 0 1 5 5",
    "search": _circle(7, 7, 4.5) + "M10.4 10.4 14 14",
    "task": _box(2.25, 2.25, 11.5, 11.5, 2) + "M5 8.25 7.25 10.5 11 6",
    "ticket": "M2 5.25a1 1 0 0 1 1-1h10a1 1 0 0 1 1 1V6.5a1.5 1.5 0 0 0 0 3v1.25a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1V9.5"
    "a1.5 1.5 0 0 0 0-3ZM9.75 4.5v1.25M9.75 7.4v1.25M9.75 10.25v1.25",
    "upload": "M8 10.75v-8M4.75 5.75 8 2.5l3.25 3.25M2.5 13.5h11",
    "user": _circle(8, 5, 2.75) + "M2.5 14c.35-2.9 2.4-4.5 5.5-4.5s5.15 1.6 5.5 4.5",
}
# The mark: a message that is answered.
MARK = Markup(
    '<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/>'
    '<path d="M9 7.5h14A3.5 3.5 0 0 1 26.5 11v7a3.5 3.5 0 0 1-3.5 3.5h-6.5L11 26.25V21.5H9A3.5 3.5 0 0 1 5.5 18v-7A3.5'
    ' 3.5 0 0 1 9 7.5Z"/><path d="m11.25 14.75 3.25 3.25 6.25-6.5"/></svg>'
)


def icon(name: str) -> Markup:
    """An icon as SVG.

    >>> icon("close")
    Markup('<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M4 4l8 8M12 4l-8 8"/></svg>')
    """
    return Markup(f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="{PATHS[name]}"/></svg>')
