"""Outlines and points of maps, from files."""

import json
from typing import Any

import pytest

from console.html.point_maps import MAX_OUTLINE_CHARS, MapPoint, plot
from console.pages.workspaces import map_files
from server.errors import BadDataQuery

SQUARE = [[0, 0], [10, 0], [10, 10], [0, 0]]
POLYGON = {"type": "Polygon", "coordinates": [SQUARE]}
FEATURE = {"type": "Feature", "properties": {"name": "Here"}, "geometry": {"type": "Point", "coordinates": [7.5, 47]}}
TOPOLOGY = {
    "type": "Topology",
    "transform": {"scale": [0.5, 0.5], "translate": [-10, 0]},
    "arcs": [[[0, 0], [20, 0]], [[20, 0], [0, 20]]],
    "objects": {
        "land": {
            "type": "GeometryCollection",
            "geometries": [
                {"type": "LineString", "arcs": [0, 1]},
                {"type": "MultiPolygon", "arcs": [[[~0]]]},
                {"type": "Point", "coordinates": [20, 20], "properties": {"name": "There"}},
            ],
        }
    },
}


def as_file(value: object) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("document", "lines"),
    [
        (POLYGON, [[(0, 0), (10, 0), (10, 10), (0, 0)]]),
        ({"type": "LineString", "coordinates": SQUARE[:2]}, [[(0, 0), (10, 0)]]),
        ({"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": POLYGON}, FEATURE]}, [SQUARE]),
        (TOPOLOGY, [[(-10, 0), (0, 0), (0, 10)], [(0, 0), (-10, 0)]]),
        (
            {"type": "Polygon", "coordinates": [[[0, 0], ["a", 1], [1], [999, 0], [True, 1], [1, 1]]]},
            [[(0, 0), (1, 1)]],
        ),
        ({"type": "Polygon", "coordinates": "none"}, []),
        ({"type": "FeatureCollection", "features": [None, 7, {"type": "Feature", "geometry": None}]}, []),
        ({**TOPOLOGY, "arcs": None}, []),
        ({"type": "Topology", "objects": 3}, []),
    ],
)
def test_outlines(document: Any, lines: list[Any]) -> None:
    assert map_files.outlines(as_file(document)) == [[tuple(place) for place in line] for line in lines]


def test_points_have_the_property_that_names_them() -> None:
    assert map_files.points(as_file(FEATURE), "name", 2) == [MapPoint("Here", 47, 7.5, 2)]
    assert map_files.points(as_file(FEATURE), "title", 0) == [MapPoint("", 47, 7.5)]
    assert map_files.points(as_file(TOPOLOGY), "name", 0) == [MapPoint("There", 10, 0)]


NOT_A_MAP = {
    "empty": b"",
    "bytes": b"\xff",
    "list": b"[]",
    "svg": b"<svg/>",
    "deep": b"[" * 100_000,
    "long": b" " * (map_files.MAX_FILE_BYTES + 1),
    "transform": as_file({**TOPOLOGY, "transform": {"scale": "1"}}),
}


@pytest.mark.parametrize("content", NOT_A_MAP.values(), ids=NOT_A_MAP.keys())
def test_what_is_not_a_map_is_refused(content: bytes) -> None:
    with pytest.raises(BadDataQuery):
        map_files.outlines(content)


def test_a_detailed_outline_is_drawn_in_less_detail() -> None:
    coast = [(number / 1000 % 20, (number * 7919 % 1000) / 100) for number in range(50_000)]
    html = str(plot("Coast", [], [], outlines=[coast, [(170, 80), (171, 81)]]))
    assert 'class="outline"' in html and len(html) < MAX_OUTLINE_CHARS + 4000
