"""Reads outlines and points of a map from files: GeoJSON (RFC 7946) and TopoJSON."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from console.html.point_maps import DATE_LINE, POLE, MapPoint, Place
from server.errors import BadDataQuery
from server.translation import _

MAX_FILE_BYTES = 4 * 1024 * 1024  # a map of the world by its states has about one MiB
MAX_DEPTH = 8  # levels of nested collections
LINES = {"LineString": 1, "MultiLineString": 2, "Polygon": 2, "MultiPolygon": 3}  # levels of lists around a place
POINTS = {"Point": 0, "MultiPoint": 1}

Geometry = Mapping[str, Any]


def outlines(content: bytes) -> list[list[Place]]:
    """Returns the lines of a map, borders and coasts, as places. Raises BadDataQuery if it is not a map."""
    found = []
    for geometry, lines in _geometries(content):
        levels = LINES.get(str(geometry.get("type")))
        if levels is not None:
            found += [each for each in lines(geometry, levels) if len(each) > 1]
    return found


def points(content: bytes, title: str, series: int) -> list[MapPoint]:
    """Returns the points of a file. title: the property with the name of a point. Raises BadDataQuery."""
    found = []
    for geometry, lines in _geometries(content):
        levels = POINTS.get(str(geometry.get("type")))
        if levels is not None:
            properties = geometry.get("properties")
            name = properties.get(title) if isinstance(properties, dict) else None
            found += [
                MapPoint(str(name or ""), latitude, longitude, series)
                for line in lines(geometry, levels)
                for longitude, latitude in line
            ]
    return found


Lines = Callable[[Geometry, int], list[list[Place]]]


def _geometries(content: bytes) -> Iterator[tuple[Geometry, Lines]]:
    """The geometries of a file with their properties, each with a function that returns its lines."""
    if len(content) > MAX_FILE_BYTES:
        raise BadDataQuery(_("the file of a map has more than {count} MiB", count=MAX_FILE_BYTES // 2**20))
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadDataQuery(_("the file of a map is neither GeoJSON nor TopoJSON")) from error
    if not isinstance(document, dict):
        raise BadDataQuery(_("the file of a map is neither GeoJSON nor TopoJSON"))
    if document.get("type") != "Topology":
        yield from ((each, _lines) for each in _parts(document, MAX_DEPTH))
        return
    arcs = _arcs(document)

    def joined(geometry: Geometry, levels: int) -> list[list[Place]]:
        if not levels or geometry.get("type") in POINTS:
            return _lines(geometry, levels, _scaled(document))
        return [_joined(arcs, each) for each in _flat(geometry.get("arcs"), levels - 1)]

    objects = document.get("objects")
    for each in objects.values() if isinstance(objects, dict) else ():
        yield from ((part, joined) for part in _parts(each, MAX_DEPTH))


def _parts(value: object, depth: int) -> Iterator[Geometry]:
    """The geometries in a geometry, a feature, or a collection, each with the properties of its feature."""
    if not isinstance(value, dict) or not depth:
        return
    inner = value.get("geometries", value.get("features"))
    if isinstance(inner, list):
        for each in inner:
            yield from _parts(each, depth - 1)
    elif value.get("type") == "Feature":
        for each in _parts(value.get("geometry"), depth - 1):
            yield {"properties": value.get("properties"), **each}
    else:
        yield value


def _lines(
    geometry: Geometry, levels: int, scale: Callable[[float, float], Place] = lambda x, y: (x, y)
) -> list[list[Place]]:
    """The lines of a geometry. levels: of lists around a place; a geometry without one is a line with one place."""
    coordinates = geometry.get("coordinates")
    lines = [[coordinates]] if not levels else _flat(coordinates, levels - 1)
    return [
        [scale(*each[:2]) for each in line if _is_place(each) and _is_on_earth(*scale(*each[:2]))]
        for line in lines
        if isinstance(line, list)
    ]


def _flat(value: object, levels: int) -> list[Any]:
    """The lists that are this many levels inside another."""
    lists = [value] if isinstance(value, list) else []
    for _level in range(levels):
        lists = [inner for each in lists for inner in each if isinstance(inner, list)]
    return lists


def _is_place(value: object) -> TypeGuard[list[float]]:
    return isinstance(value, list) and len(value) > 1 and all(type(each) in (int, float) for each in value[:2])


def _is_on_earth(longitude: float, latitude: float) -> bool:
    return abs(longitude) <= DATE_LINE and abs(latitude) <= POLE


def _scaled(topology: Mapping[str, Any]) -> Callable[[float, float], Place]:
    """Returns the transformation of a topology, from its own units to degrees."""
    transform = topology.get("transform")
    if not isinstance(transform, dict):
        return lambda x, y: (x, y)
    scale, translate = transform.get("scale"), transform.get("translate")
    if not _is_place(scale) or not _is_place(translate):
        raise BadDataQuery(_("the file of a map is neither GeoJSON nor TopoJSON"))
    return lambda x, y: (x * scale[0] + translate[0], y * scale[1] + translate[1])


def _arcs(topology: Mapping[str, Any]) -> list[list[Place]]:
    """The arcs of a topology. With a transformation, each place is stored as the difference from the one before."""
    scale = _scaled(topology)
    is_difference = isinstance(topology.get("transform"), dict)
    arcs = []
    for each in _flat(topology.get("arcs"), 1):
        x = y = 0.0
        line = []
        for place in filter(_is_place, each):
            x, y = (x + place[0], y + place[1]) if is_difference else (place[0], place[1])
            line.append(scale(x, y))
        arcs.append([place for place in line if _is_on_earth(*place)])
    return arcs


def _joined(arcs: Sequence[list[Place]], numbers: Sequence[object]) -> list[Place]:
    """The line of several arcs; a negative number names an arc that is followed backwards."""
    line: list[Place] = []
    for number in numbers:
        if type(number) is int and -len(arcs) <= number < len(arcs):
            arc = arcs[number] if number >= 0 else arcs[~number][::-1]
            line += arc[1:] if line else arc
    return line
