"""Points on a map, and their formats for maps and tables: GeoJSON, TopoJSON, rows.

Coordinates are longitude, latitude. Follows RFC 7946 for GeoJSON."""

import re
from collections.abc import Iterable
from typing import Any

from server.dataclass import dataclass
from server.errors import Invalid

FORMATS = ("geojson", "table", "topojson")
_POINT = re.compile(r"\s*POINT\s*\(\s*(\S{1,30})\s+(\S{1,30}?)\s*\)\s*\Z", re.IGNORECASE)
_PAIR = re.compile(r"\s*([^\s,]{1,30})\s*,\s*([^\s,]{1,30})\s*\Z")


@dataclass(frozen=True)
class GeoPoint:
    """One point with its properties."""

    longitude: float
    latitude: float
    properties: dict[str, Any]

    @property
    def geometry(self) -> dict[str, Any]:
        return {"type": "Point", "coordinates": [self.longitude, self.latitude]}


def coordinates(text: str) -> tuple[float, float]:
    """Parses `latitude, longitude` or `POINT(longitude latitude)` into longitude and latitude. Raises Invalid.

    >>> coordinates("52.5, 13.39"), coordinates("POINT(13.39 52.5)")
    ((13.39, 52.5), (13.39, 52.5))
    """
    point, pair = _POINT.match(text), _PAIR.match(text)
    try:
        if point:
            longitude, latitude = float(point[1]), float(point[2])
        elif pair:
            latitude, longitude = float(pair[1]), float(pair[2])
        else:
            raise ValueError(text)
    except ValueError:
        raise Invalid(f"'{text[:80]}' is not `latitude, longitude` or `POINT(longitude latitude)`") from None
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise Invalid(f"'{text[:80]}' is not on the map")
    return longitude, latitude


def geojson(series: dict[str, list[GeoPoint]]) -> dict[str, Any]:
    """Returns one collection of features; `svc_series` is the series of each."""
    features = [
        {"type": "Feature", "geometry": each.geometry, "properties": each.properties | {"svc_series": name}}
        for name, places in series.items()
        for each in places
    ]
    return {"type": "FeatureCollection", "features": features}


def topojson(series: dict[str, list[GeoPoint]]) -> dict[str, Any]:
    """Returns one object per series."""
    return {
        "type": "Topology",
        "objects": {
            name: {
                "type": "GeometryCollection",
                "geometries": [each.geometry | {"properties": each.properties} for each in places],
            }
            for name, places in series.items()
        },
    }


def table(series: dict[str, list[GeoPoint]]) -> dict[str, Any]:
    """Returns rows with series, longitude and latitude, and a column per property."""
    names = _names(each for places in series.values() for each in places)
    columns = {"series": "Series", **{name: name.replace("_", " ").capitalize() for name in names}}
    columns |= {"longitude": "Longitude", "latitude": "Latitude"}
    rows = [
        {"series": name, **dict.fromkeys(names), **each.properties}
        | {"longitude": each.longitude, "latitude": each.latitude}
        for name, places in series.items()
        for each in places
    ]
    numbers = ("longitude", "latitude")
    return {
        "columns": {
            key: {"label": label, "type": "number" if key in numbers else "text"} for key, label in columns.items()
        },
        "rows": rows,
    }


def render_points(series: dict[str, list[GeoPoint]], format: str) -> dict[str, Any]:
    """Renders series in one of FORMATS."""
    return {"geojson": geojson, "table": table, "topojson": topojson}[format](series)


def _names(places: Iterable[GeoPoint]) -> list[str]:
    return list(dict.fromkeys(name for each in places for name in each.properties))
