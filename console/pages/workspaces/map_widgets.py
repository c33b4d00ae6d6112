"""Draws maps: points of a data query, points that a map in KATA names, and files of outlines and points."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from console.html import point_maps
from console.html.point_maps import DATE_LINE, POLE, MapPoint
from console.http.visit import Visit
from console.pages.workspaces import map_files
from console.pages.workspaces.chart_widgets import table_html
from console.pages.workspaces.drawing import Drawing, muted, params_of, query_result
from console.pages.workspaces.query_table import table_of
from console.pages.workspaces.widget_kinds import WidgetKind
from server.automation import file_contents
from server.errors import BadDataQuery, Forbidden, Invalid, NotFound
from server.kata.kata_parser import parse, plain
from server.record_types.shared import paths
from server.records import records
from server.translation import _

MAX_POINTS = 300  # on one map
MAX_SERIES = 6  # sets of points, each with its colour
TITLE = "name"  # the property with the name of a point, unless a map in KATA names another

Widget = Mapping[str, Any]


def points_on_map(visit: Visit, kind: WidgetKind, widget: Widget, drawing: Drawing) -> tuple[Markup, bool]:
    """The points of a widget on a grid. Raises BadDataQuery, BadQuery, KataSyntax, TimedOut."""
    settings = _map_in(_plain(parse(str(params_of(widget).get("map_kata") or "")).tree), "map")
    own = _map_in(settings, "points")
    title = str(_map_in(own, "label").get("title") or TITLE)
    series: list[str] = []
    points: list[MapPoint] = []
    if str(params_of(widget).get("data_query") or "").strip():
        result = query_result(visit, widget, drawing)
        if result["_"]["format"] == "table":
            return table_html(visit, widget, table_of(visit, result)), False
        series, points = _queried(visit, result, title)
    own_points = list(_named(own.get("data"), title, len(series)))
    if own_points:
        series, points = [*series, str(widget["label"])], [*points, *own_points]
    files = MapFiles(visit)
    outlines = map_files.outlines(content) if (content := files.content(settings, "svc.resource.map")) else []
    if content := files.content(own, "svc.resource.map.points"):
        series, points = [*series, files.name], [*points, *map_files.points(content, title, _place(len(series)))]
    remark = " ".join(files.problems)
    if not points and not outlines:
        if not params_of(widget).get("data_query") and not remark:
            raise BadDataQuery(_("the widget has no data query"))
        return Markup("\n").join([muted(_("No points were found.")), *([muted(remark)] if remark else [])]), False
    left_out = max(len(points) - MAX_POINTS, 0)
    html = point_maps.plot(
        str(widget["label"]), points[:MAX_POINTS], series, outlines=outlines, left_out=left_out, remark=remark
    )
    return html, True


def _place(number: int) -> int:
    """The number of a colour."""
    return min(number, MAX_SERIES - 1)


class MapFiles:
    """The files that a map in KATA names. name: of the last one. problems: why others are not drawn, in sentences."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self.name = ""
        self.problems: list[str] = []

    def content(self, part: Mapping[str, Any], extension_id: str) -> bytes:
        """Returns the bytes of the file of a part; b"" without one, or if it cannot be read or is of another kind. The
        content of a dynamic resource stays as it was created last: pages run no automations."""
        uri = str(_map_in(part, "resource").get("uri") or "").strip()
        if not uri:
            return b""
        self.name = uri.rpartition(":")[2][:80]
        ctx = self._visit.ctx
        try:
            file = file_contents.find(ctx, f"svc:resource:{self.name}", refreshes=False)
            kind = records.retrieve(ctx, "resource", file.id)["extension_id"]
            if kind == extension_id and file.size <= map_files.MAX_FILE_BYTES:
                return file_contents.content(ctx, file)
        except (NotFound, Forbidden, Invalid):
            pass
        self.problems.append(
            _(
                "{name} is not drawn: no resource of the type {type} and of at most {count} MiB has this name.",
                name=self.name,
                type=extension_id,
                count=map_files.MAX_FILE_BYTES // 2**20,
            )
        )
        return b""


def _plain(tree: Mapping[str, Any]) -> dict[str, Any]:
    """A tree of KATA without annotations."""
    return {plain(key): _plain(each) if isinstance(each, dict) else each for key, each in tree.items()}


def _map_in(tree: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = tree.get(key)
    return value if isinstance(value, dict) else {}


def _queried(visit: Visit, result: Mapping[str, Any], title: str) -> tuple[list[str], list[MapPoint]]:
    """The labels of the sets of points of a data query, and the points. Raises BadDataQuery for a result without
    points."""
    format, data, found = result["_"]["format"], result["data"], result["_"].get("series") or {}
    sets: dict[str, list[Mapping[str, Any]]] = {}
    if format == "geojson":
        for each in data["features"]:
            sets.setdefault(str(each["properties"].get("svc_series", "")), []).append(each)
    elif format == "topojson":
        for name, each in data["objects"].items():
            sets[name] = [{"geometry": one, "properties": one["properties"]} for one in each["geometries"]]
    else:
        raise BadDataQuery(_("a map needs points, as of type:worklist.geo.points"))
    points = []
    for number, (name, features) in enumerate(sets.items()):
        behind = found.get(name) or {}
        record_type = visit.service.registry.find(str(behind.get("context") or ""))
        ids = behind.get("ids") or [0] * len(features)
        for feature, id in zip(features, ids, strict=True):
            longitude, latitude = feature["geometry"]["coordinates"]
            path = paths.record(record_type.uri, id) if record_type is not None and id else ""
            properties = feature["properties"]
            label = str(properties.get(title) or properties.get(TITLE) or "")
            points.append(MapPoint(label, latitude, longitude, _place(number), path))
    return [str((found.get(name) or {}).get("label") or name) for name in sets], points


def _named(data: object, title: str, number: int) -> Iterator[MapPoint]:
    """The points that a map in KATA names: `point/<name>` with latitude, longitude and properties."""
    for key, each in data.items() if isinstance(data, dict) else ():
        if not isinstance(each, dict):
            continue
        label = _map_in(each, "properties").get(title)
        with contextlib.suppress(ValueError):  # not a number
            latitude, longitude = float(str(each.get("latitude", ""))), float(str(each.get("longitude", "")))
            if abs(latitude) <= POLE and abs(longitude) <= DATE_LINE:
                name = str(label or key.partition("/")[2])
                yield MapPoint(name, latitude, longitude, _place(number))
