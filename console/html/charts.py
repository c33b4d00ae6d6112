"""Charts of numbers, rendered on the server as SVG, each with its table. They need no scripts, and describe themselves
to screen readers."""

from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from console.html import ui
from server.dataclass import dataclass
from server.translation import N_, Words, shown

HEIGHT = 100  # height of the plot, in units of its viewBox; the browser stretches it
SLOT = 10  # width of one place on the axis, such as a day
MARKS = 4  # steps between the labels below the plot
GAP = 2  # width of the gap between places
DAY = N_("Day")


@dataclass(frozen=True)
class Series:
    """The numbers of one kind, one for each place on the axis. tone: of its colour, "" for the next one: err. paths: of
    the lists of the counted records, "" for none."""

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
) -> Markup:
    """A column chart. places: the values of the axis, such as days; marks: their short names, for labels below the
    plot. axis: the name of the axis. usual: a normal value of the first series, drawn as a line; 0 for none. file: the
    path of the numbers as a file, "" for none."""
    top = top_of(max((usual, *(value for each in series for value in each.values))))
    step = max(1, len(places) // MARKS)
    names = [each if (len(places) - 1 - at) % step == 0 else "" for at, each in enumerate(marks or places)]
    width = (SLOT - GAP) / max(len(series), 1)
    bars = [
        (each.tone or kind, place * SLOT + GAP / 2 + kind * width, width, HEIGHT * value / top)
        for kind, each in enumerate(series)
        for place, value in enumerate(each.values)
        if value
    ]
    return ui.columns(
        title=shown(title),
        axis=shown(axis),
        places=list(zip(places, names, strict=True)),
        usual=(usual, HEIGHT * (1 - usual / top)) if usual else None,
        series=series,
        bars=bars,
        top=top,
        height=HEIGHT,
        width=SLOT * len(places),
        totals=[(shown(each.label), round(sum(each.values), 4)) for each in series],
        file=file,
    )


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
