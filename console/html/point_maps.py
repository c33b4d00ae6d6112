"""Maps of points, rendered on the server as SVG with a table: places on a grid of latitudes and longitudes, over the
outlines of a map that the team has. The product brings no coasts or borders, and asks others for none."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from console.html import ui
from server.dataclass import dataclass

WIDTH, HEIGHT = 400, 220  # units of the viewBox
MARGIN = 0.12  # on each side, as a fraction of the extent of the points
MIN_DEGREES = 4.0  # on each side of a single point
STEPS = (1, 2, 5, 10, 15, 30, 45)  # degrees from one line to the next
MAX_LINES = 7  # in one direction
MAX_NAMED = 14  # points that are labelled
NAME_HEIGHT, NAME_CHAR_WIDTH, NAME_GAP, MAX_NAME_CHARS = 13, 6, 8, 18  # units and characters of a label
RADIUS = 5  # units of the viewBox
POLE, DATE_LINE = 90.0, 180.0  # degrees
MAX_OUTLINE_CHARS = 24_000  # SVG path of an outline; a longer one is drawn in less detail
FINEST = 0.4  # units between two places of an outline
OUTSIDE = 50  # units around the map in which outlines are exact

Place = tuple[float, float]  # longitude and latitude


@dataclass(frozen=True)
class MapPoint:
    """A place. series: its number, for the colour. path: of its record, "" for none."""

    name: str
    latitude: float
    longitude: float
    series: int = 0
    path: str = ""


@dataclass(frozen=True)
class _MapDot:
    """A point as it is drawn. name_x, anchor: of its name; anchor is "" if there is no room for it."""

    point: MapPoint
    x: float
    y: float
    name_x: float
    anchor: str


@dataclass(frozen=True)
class _MapGrid:
    """An equirectangular projection: its middle, and units of the viewBox for a degree of longitude and of latitude."""

    longitude: float
    latitude: float
    across: float
    upwards: float

    def x(self, longitude: float) -> float:
        return round(WIDTH / 2 + (longitude - self.longitude) * self.across, 1)

    def y(self, latitude: float) -> float:
        return round(HEIGHT / 2 - (latitude - self.latitude) * self.upwards, 1)


def plot(
    title: str,
    points: Sequence[MapPoint],
    series: Sequence[str],
    *,
    outlines: Sequence[Sequence[Place]] = (),
    left_out: int = 0,
    remark: str = "",
) -> Markup:
    """A map of points, as large as these fit; without points, of outlines. series: the names of the sets of points.
    left_out: points that are not drawn. remark: what else the map does not show, "" for nothing."""
    grid = _grid_of(
        [(each.longitude, each.latitude) for each in points] or [each for line in outlines for each in line]
    )
    longitudes = _lines(grid.longitude, WIDTH / 2 / grid.across, DATE_LINE)
    latitudes = _lines(grid.latitude, HEIGHT / 2 / grid.upwards, POLE)
    return ui.map(
        title=title,
        dots=_dots(points, grid),
        series=series,
        across=[(grid.x(each), _degrees(each, "W", "E")) for each in longitudes],
        upwards=[(grid.y(each), _degrees(each, "S", "N")) for each in latitudes],
        outline=_outline(outlines, grid),
        width=WIDTH,
        height=HEIGHT,
        most=MAX_NAME_CHARS,
        left_out=left_out,
        remark=remark,
    )


def _grid_of(places: Sequence[Place]) -> _MapGrid:
    """The projection that shows all places as large as they fit."""
    west, east = _extent([longitude for longitude, _latitude in places], DATE_LINE)
    south, north = _extent([latitude for _longitude, latitude in places], POLE)
    latitude = (south + north) / 2
    narrowing = max(math.cos(math.radians(latitude)), 0.2)  # a degree of longitude is shorter away from the equator
    upwards = min(WIDTH / ((east - west) * narrowing), HEIGHT / (north - south))
    return _MapGrid((west + east) / 2, latitude, upwards * narrowing, upwards)


def _extent(values: Sequence[float], most: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = max((high - low) * MARGIN, MIN_DEGREES)
    return max(low - margin, -most), min(high + margin, most)


def _outline(outlines: Sequence[Sequence[Place]], grid: _MapGrid) -> str:
    """The lines that are in sight, as the data of a path."""
    lines = [[(grid.x(longitude), grid.y(latitude)) for longitude, latitude in line] for line in outlines]
    lines = [each for each in lines if _is_in_sight(each)]
    distance = FINEST
    while len(path := "".join(_simplified(each, distance) for each in lines)) > MAX_OUTLINE_CHARS:
        distance *= 2
    return path


def _is_in_sight(line: Sequence[tuple[float, float]]) -> bool:
    """Whether the box around a line touches the map."""
    across, upwards = [x for x, _y in line], [y for _x, y in line]
    return min(across) <= WIDTH and max(across) >= 0 and min(upwards) <= HEIGHT and max(upwards) >= 0


def _simplified(line: Sequence[tuple[float, float]], distance: float) -> str:
    """A line without places that are closer than a distance to the one before; "" if fewer than two are left."""
    kept: list[tuple[float, float]] = []
    for x, y in line:
        place = min(max(x, -OUTSIDE), WIDTH + OUTSIDE), min(max(y, -OUTSIDE), HEIGHT + OUTSIDE)
        if not kept or math.dist(kept[-1], place) >= distance:
            kept.append(place)
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in kept) if len(kept) > 1 else ""


def _lines(middle: float, half: float, most: float) -> list[int]:
    """The degrees of the lines that are in sight."""
    first, last = max(middle - half, -most), min(middle + half, most)
    step = next((each for each in STEPS if (last - first) / each <= MAX_LINES), STEPS[-1])
    return list(range(math.ceil(first / step) * step, math.floor(last) + 1, step))


def _degrees(value: int, below: str, above: str) -> str:
    """
    >>> _degrees(-30, "S", "N"), _degrees(0, "S", "N"), _degrees(15, "W", "E")
    ('30° S', '0°', '15° E')
    """
    return f"{abs(value)}° {below if value < 0 else above}" if value else "0°"


def _dots(points: Sequence[MapPoint], grid: _MapGrid) -> list[_MapDot]:
    """The points, with names where these cover neither each other nor a point."""
    places = [(grid.x(each.longitude), grid.y(each.latitude)) for each in points]
    names: list[tuple[float, float, float]] = []  # left end, right end and height of each name
    dots = []
    for point, (x, y) in zip(points, places, strict=True):
        width = NAME_CHAR_WIDTH * min(len(point.name), MAX_NAME_CHARS)
        sides = ((x + NAME_GAP, x + NAME_GAP + width, "start"), (x - NAME_GAP - width, x - NAME_GAP, "end"))
        anchor = ""
        for left, right, side in sides if len(points) <= MAX_NAMED else ():
            is_clear = all(
                not (left - RADIUS < other < right + RADIUS and abs(at - y) < RADIUS * 2) for other, at in places
            )
            is_free = all(right < start or left > end or abs(y - at) >= NAME_HEIGHT for start, end, at in names)
            if is_clear and is_free and left >= 0 and right <= WIDTH:
                names.append((left, right, y))
                anchor = side
                break
        dots.append(_MapDot(point, x, y, round(x + NAME_GAP * (-1 if anchor == "end" else 1), 1), anchor))
    return dots
