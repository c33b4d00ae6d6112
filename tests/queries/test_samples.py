"""Data queries with sample numbers or explicit points."""

import pytest

LINES = "series.a:(label:Up y.min:10 y.max:30 trend:up) series.b:(trend:down y.min:-1 y.max:0)"


@pytest.mark.parametrize(
    ("unit", "ts", "step"),
    [
        ("days", ["2026-11-16", "2026-11-17", "2026-11-18"], ("day", "%Y-%m-%d")),
        ("weeks", ["2026-11-02", "2026-11-09", "2026-11-16"], ("week", "%Y-%m-%d")),
        ("months", ["2026-09", "2026-10", "2026-11"], ("month", "%Y-%m")),
        ("years", ["2024", "2025", "2026"], ("year", "%Y")),
    ],
)
def test_sample_timeseries_ends_now(ask, unit: str, ts: list[str], step: tuple[str, str]) -> None:
    """The current time of the desk is Wednesday 2026-11-18."""
    result = ask(f"type:sample.timeseries x.count:3 x.unit:{unit} {LINES}")
    assert result["data"] == {"ts": ts, "Up": [10, 20, 30], "b": [0, -0.5, -1]}
    assert result["_"] == {
        "type": "sample.timeseries",
        "format": "timeseries",
        "format_params": {"xaxis_key": "ts", "xaxis_step": step[0], "xaxis_format": step[1]},
    }


def test_now_is_that_of_the_zone(ask) -> None:
    """The current time of the desk is 11:06 in UTC."""
    q = "type:sample.timeseries x.count:1 series.a:(trend:up)"
    assert ask(f"{q} timezone:Pacific/Kiritimati")["data"]["ts"] == ["2026-11-19"]
    assert ask(q)["data"] == {"ts": ["2026-11-18"], "a": [0]}


def test_random_numbers_stay_within_their_bounds_and_come_again(ask) -> None:
    q = "type:sample.timeseries x.count:50 series.a:(y.min:-3 y.max:2.5) series.b:(label:B)"
    first = ask(q)["data"]
    assert len(first["ts"]) == len(first["a"]) == 50
    assert all(-3 <= number <= 2.5 for number in first["a"]) and len(set(first["a"])) > 25
    assert all(isinstance(number, int) and 0 <= number <= 100 for number in first["B"])
    assert ask(q)["data"] == first


def test_sample_xy_has_two_rows_for_each_series(ask) -> None:
    result = ask(
        "type:sample.xy series.a:(label:A samples:3 trend:up x.min:1 x.max:5 y.min:2 y.max:6) "
        "series.b:(samples:2 trend:down)"
    )
    assert result["data"] == [["A_x", 1, 3, 5], ["A", 2, 4, 6], ["b_x", 0, 100], ["b", 100, 0]]
    assert result["_"] == {"type": "sample.xy", "format": "scatterplot"}
    assert [len(row) for row in ask("type:sample.xy series.a:(trend:random)")["data"]] == [11, 11]


POINTS = """type:sample.geo.points series.shops:(
    hq:(name:"Head office" coordinates:"POINT(13.39 52.5)" floor:2)
    x:(coordinates:"-33.87, 151.21")
)"""


def test_points_of_the_query_come_as_a_map(ask) -> None:
    result = ask(POINTS)
    assert result["_"] == {"type": "sample.geo.points", "format": "topojson"}
    assert result["data"] == {
        "type": "Topology",
        "objects": {
            "shops": {
                "type": "GeometryCollection",
                "geometries": [
                    {
                        "type": "Point",
                        "coordinates": [13.39, 52.5],
                        "properties": {"name": "Head office", "floor": "2"},
                    },
                    {"type": "Point", "coordinates": [151.21, -33.87], "properties": {"name": "x"}},
                ],
            }
        },
    }


def test_points_of_the_query_come_as_features_and_rows(ask) -> None:
    features = ask(f"{POINTS} format:geojson")["data"]["features"]
    assert features[1] == {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [151.21, -33.87]},
        "properties": {"name": "x", "svc_series": "shops"},
    }
    table = ask(f"{POINTS} format:table")["data"]
    assert list(table["columns"]) == ["series", "name", "floor", "longitude", "latitude"]
    assert table["rows"] == [
        {"series": "shops", "name": "Head office", "floor": "2", "longitude": 13.39, "latitude": 52.5},
        {"series": "shops", "name": "x", "floor": None, "longitude": 151.21, "latitude": -33.87},
    ]


@pytest.mark.parametrize(
    ("q", "at", "part"),
    [
        ("type:sample.timeseries x.count:3", "sample", "needs 'series.<id>:'"),
        ("type:sample.timeseries x.count:1001 series.a:(trend:up)", "1001", "from 1 to 1000"),
        ("type:sample.timeseries x.unit:day series.a:(trend:up)", "day s", "did you mean 'days'"),
        ("type:sample.timeseries series.a:(trend:upp)", "upp", "did you mean 'up'"),
        ("type:sample.timeseries series.a:(y.min:x)", "x)", "is not a number"),
        ("type:sample.timeseries series.a:(y.max:1e16)", "1e16", "is too large"),
        ("type:sample.timeseries series.a:(y.min:5 y.max:2)", "5 y", "is above y.max"),
        ("type:sample.timeseries series.a:(label:B) series.B:(trend:up)", "(trend", "is the name of another series"),
        ("type:sample.timeseries series.ts:(trend:up)", "(trend", "is the name of another series"),
        ("type:sample.xy series.a:(sample:3)", "sample:3", "did you mean 'samples'"),
        ("type:sample.geo.points series.a:(p:(name:x))", "(name", "needs 'coordinates:'"),
        ("type:sample.geo.points series.a:(p:(coordinates:here))", "here", "is not `latitude, longitude`"),
        ('type:sample.geo.points series.a:(p:(coordinates:"POINT(13 95)"))', '"POINT', "is not on the map"),
        ('type:sample.geo.points series.a:(p:(coordinates:"nan, 1"))', '"nan', "is not on the map"),
    ],
)
def test_invalid_samples_name_the_place_of_the_error(refuse, q: str, at: str, part: str) -> None:
    error = refuse(q)
    assert part in error.message and error.details["position"] == q.index(at)
