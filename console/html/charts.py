"""Charts of numbers, rendered on the server as SVG, each with its table. They need no scripts, and describe themselves
to screen readers."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from console.html import ui
from server.dataclass import dataclass
from server.translation import N_, Words, _, shown

HEIGHT = 100  # height of the plot, in units of its viewBox; the browser stretches it
SLOT = 10  # width of one place on the axis, such as a day
MARKS = 4  # steps between the labels below the plot
GAP = 2  # width of the gap between places
COLUMNS, STACKED, LINES, AREA = "columns", "stacked", "lines", "area"  # how numbers over an axis are drawn
COLORS = 6  # distinct colours of series
MAX_DOTTED = 31  # places of a line that has a dot at each
MIN_LABELED = 6  # percent of a slice that has room for its name
MIN_PERCENT = 8  # percent of a slice with room for its share
PIE_WIDTH, PIE_HEIGHT, PIE_RADIUS, HOLE_RADIUS = 320, 190, 72, 40  # units of the viewBox
LABEL_GAP, LABEL_HEIGHT = 8, 14  # units between slice and name, and between names
MAX_LABEL_CHARS = 12
DAY = N_("Day")


@dataclass(frozen=True)
class Series:
    """The numbers of one kind, one for each place on the axis. tone: `ok` or `err` draws good and bad, "" takes the
    next colour. paths: addresses of the lists of the counted records, "" for none."""

    label: Words
    values: Sequence[float]
    tone: str = ""
    paths: Sequence[str] = ()


def top_of(most: float) -> int:
    """Where a scale ends that begins at 0 and has a line half way up: a round number.

    >>> [top_of(each) for each in (0, 1, 3, 7, 18, 120, 990)]
    [2, 2, 4, 8, 20, 120, 1000]
    """
    power = 1
    while True:
        for step in (2, 4, 6, 8, 10, 12, 16):
            if most <= step * power:
                return step * power
        power *= 10


def columns(
    title: Words,
    places: Sequence[str],
    series: Sequence[Series],
    axis: Words = DAY,
    *,
    marks: Sequence[str] = (),
    usual: int = 0,
    file: str = "",
    look: str = COLUMNS,
    most: int = 0,
    measure: str = "",
    format_value: Callable[[Any], str] = str,
) -> Markup:
    """A chart of numbers over an axis. places: the values of the axis, such as days; marks: their short names, for
    labels below the plot. axis: the name of the axis. usual: a normal value of the first series, drawn as a line; 0 for
    none. file: the path of the numbers as a file, "" for none. most: the number of series that are drawn; 0 for all.
    The table has all. measure: the name of the numbers. format_value: formats a number."""
    plotted = series[: most or None]
    tallest = [sum(each.values[at] for each in plotted) for at in range(len(places))] if look == STACKED else ()
    top = top_of(max((usual, *tallest, *(value for each in plotted for value in each.values))))
    step = max(1, len(places) // MARKS)
    names = [each if (len(places) - 1 - at) % step == 0 else "" for at, each in enumerate(marks or places)]
    return ui.columns(
        title=shown(title),
        axis=shown(axis),
        places=list(zip(places, names, strict=True)),
        usual=(usual, HEIGHT * (1 - usual / top)) if usual else None,
        series=series,
        plotted=len(plotted),
        bars=_bars(plotted, top, look) if look in (COLUMNS, STACKED) else (),
        lines=[_line(each, kind, top, look) for kind, each in enumerate(plotted)] if look in (LINES, AREA) else (),
        top=top,
        height=HEIGHT,
        width=SLOT * len(places),
        totals=[(shown(each.label), format_value(round(sum(each.values), 4))) for each in plotted],
        file=file,
        measure=measure,
        say=format_value,
    )


@dataclass(frozen=True)
class _ChartBar:
    """A rectangle. tone: of its colour. x: its left edge; y: its upper one."""

    tone: str | int
    x: float
    y: float
    width: float
    height: float


def _bars(series: Sequence[Series], top: int, look: str) -> list[_ChartBar]:
    """Returns the columns of each place, side by side or stacked."""
    is_stacked = look == STACKED
    width = (SLOT - GAP) / (1 if is_stacked else max(len(series), 1))
    bars, base = [], [0.0] * max((len(each.values) for each in series), default=0)
    for kind, each in enumerate(series):
        for place, value in enumerate(each.values):
            tall = HEIGHT * value / top
            x = place * SLOT + GAP / 2 + (0 if is_stacked else kind * width)
            if value:
                bars.append(_ChartBar(each.tone or kind, x, HEIGHT - tall - base[place], width, tall))
            base[place] += tall if is_stacked else 0
    return bars


@dataclass(frozen=True)
class _ChartLine:
    """A line as paths. area: below it, "" for none. dots: its places, "" for too many."""

    tone: str | int
    path: str
    area: str
    dots: str


def _line(series: Series, kind: int, top: int, look: str) -> _ChartLine:
    at = [(place * SLOT + SLOT / 2, HEIGHT * (1 - value / top)) for place, value in enumerate(series.values)]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in at) if at else ""
    area = f"{path}V{HEIGHT}H{at[0][0]:g}Z" if at and look == AREA else ""
    dots = "".join(f"M{x:g} {y:g}h0" for x, y in at) if len(at) <= MAX_DOTTED else ""
    return _ChartLine(series.tone or kind, path, area, dots)


@dataclass(frozen=True)
class _PieSlice:
    """A slice of a pie. kind: of its colour. percent: its share, as text. path: of its edge. share: where its share is
    written, None for a slice without room. label: where its name is written, and its anchor, None for the same."""

    kind: int
    name: str
    value: str
    percent: str
    href: str
    path: str
    share: tuple[float, float] | None
    label: tuple[float, float, str] | None


def pie(
    title: Words,
    parts: Sequence[tuple[str, float, str]],
    id: str,
    *,
    is_donut: bool = False,
    has_more: bool = False,
    format_value: Callable[[Any], str] = str,
) -> Markup:
    """A pie chart with a legend. parts: (name, value, path of a link or ""), the largest first. Parts beyond the
    colours become one slice, which leads to the table. id: of the table. has_more: whether parts were left out."""
    total = sum(value for _name, value, _path in parts)
    rest = parts[COLORS - 1 :] if len(parts) > COLORS else ()
    chosen = [*parts[: len(parts) - len(rest)]]
    if rest:
        name = _("Others ({count})", count=len(rest))
        chosen.append((name, sum(value for _name, value, _path in rest), f"#{id}"))
    slices, ahead, heights = [], 0.0, {"start": -1e9, "end": 1e9}
    for kind, (name, value, href) in enumerate(chosen):
        share = value / total if total else 0
        middle = ahead + share / 2
        side = "start" if middle < 0.5 else "end"
        x, y = _on_circle(middle, PIE_RADIUS + LABEL_GAP)
        y += LABEL_HEIGHT / 3
        gap = (y - heights[side]) * (1 if side == "start" else -1)  # names follow each other clockwise
        is_named = 100 * share >= MIN_LABELED and gap >= LABEL_HEIGHT
        if is_named:
            heights[side] = y
        slices.append(
            _PieSlice(
                kind,
                name,
                format_value(value),
                _percent(share),
                href,
                _sector(ahead, ahead + share, HOLE_RADIUS if is_donut else 0),
                _on_circle(middle, PIE_RADIUS * (0.78 if is_donut else 0.66)) if 100 * share >= MIN_PERCENT else None,
                (x, y, side) if is_named else None,
            )
        )
        ahead += share
    return ui.pie(
        title=shown(title),
        slices=slices,
        parts=[
            (name, format_value(value), _percent(value / total if total else 0), path) for name, value, path in parts
        ],
        id=id,
        width=PIE_WIDTH,
        height=PIE_HEIGHT,
        total=format_value(total) if is_donut else "",
        most=MAX_LABEL_CHARS,
        has_more=has_more,
    )


def _percent(share: float) -> str:
    """A share in words.

    >>> [_percent(each) for each in (0, 0.004, 0.123, 1)]
    ['0 %', '< 1 %', '12 %', '100 %']
    """
    return "< 1 %" if 0 < share < 0.01 else f"{round(100 * share)} %"


def _on_circle(turn: float, radius: float) -> tuple[float, float]:
    """A point around the middle of a pie. turn: from the top, clockwise; 1 is all around."""
    angle = 2 * math.pi * turn
    return round(PIE_WIDTH / 2 + radius * math.sin(angle), 1), round(PIE_HEIGHT / 2 - radius * math.cos(angle), 1)


def _sector(start: float, end: float, hole: float) -> str:
    """The edge of a slice between two turns, "" for an empty one. A whole circle is drawn as two halves, since an arc
    that ends where it begins is nothing."""
    if end <= start:
        return ""
    if end - start > 0.999:
        return _sector(start, start + 0.5, hole) + _sector(start + 0.5, start + 0.999, hole)
    is_large = int(end - start > 0.5)
    (x0, y0), (x1, y1) = (_on_circle(each, PIE_RADIUS) for each in (start, end))
    outer = f"M{x0:g} {y0:g}A{PIE_RADIUS} {PIE_RADIUS} 0 {is_large} 1 {x1:g} {y1:g}"
    if not hole:
        return f"{outer}L{PIE_WIDTH / 2:g} {PIE_HEIGHT / 2:g}Z"
    (x2, y2), (x3, y3) = (_on_circle(each, hole) for each in (end, start))
    return f"{outer}L{x2:g} {y2:g}A{hole} {hole} 0 {is_large} 0 {x3:g} {y3:g}Z"


def points(title: Words, series: Sequence[tuple[Words, Sequence[tuple[float, float]]]]) -> Markup:
    """A scatter chart. series: of a label and its points, each from left and from below."""
    every = [point for _, own in series for point in own]
    (left, right), (low, high) = (_ends([point[axis] for point in every]) for axis in (0, 1))
    dots = [
        (kind, HEIGHT * (x - left) / (right - left), HEIGHT * (1 - (y - low) / (high - low)))
        for kind, (_, own) in enumerate(series)
        for x, y in own
    ]
    return ui.points(
        title=shown(title),
        series=[(shown(label), own) for label, own in series],
        dots=dots,
        across=(left, right),
        upwards=(low, high),
        size=HEIGHT,
    )


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis, never the same."""
    least, most = min(values, default=0), max(values, default=0)
    return (least, most) if least < most else (least - 1, most + 1)


def rows(title: Words, bars: Sequence[tuple[Words, float, str]], format_value: Callable[[Any], str] = str) -> Markup:
    """A bar chart. bars: (name, value, path of a link or ""). format_value: formats a value."""
    most = max((value for _, value, _ in bars), default=0) or 1
    shares = [(shown(name), format_value(value), path, round(100 * value / most, 1)) for name, value, path in bars]
    return ui.rows(shown(title), shares)
