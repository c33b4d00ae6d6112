"""`worklist.geo.points`: records with a geolocation as points on a map."""

import pytest

from tests.queries.depot import Depot

SHOPS = "type:worklist.geo.points series.points:(of:org label:Shops point:where fields:[floors,country]{})"
LARCH = {"name": "Larch Foods", "floors": 3, "country": "Germany"}
ACME = {"name": "Acme", "floors": None, "country": "France"}


def test_a_map_has_a_feature_for_each_record_with_a_location(depot: Depot) -> None:
    result = depot.ask(SHOPS.format(""))
    assert result["data"] == {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature", "geometry": {"type": "Point", "coordinates": [13.39, 52.5]},
                "properties": LARCH | {"svc_series": "points"},
            },
            {
                "type": "Feature", "geometry": {"type": "Point", "coordinates": [2.35, 48.85]},
                "properties": ACME | {"svc_series": "points"},
            },
        ],
    }  # fmt: skip
    series = result["_"].pop("series")
    assert result["_"] == {"type": "worklist.geo.points", "format": "geojson"}
    assert series["points"]["context"].endswith(".org") and series["points"]["label"] == "Shops"
    assert len(series["points"]["ids"]) == len(result["data"]["features"])


def test_a_topology_has_an_object_for_each_series(depot: Depot) -> None:
    q = SHOPS.format(" query:(country:Germany)") + " series.none:(of:org fields:[name,where_it_is] query:(id:99))"
    assert depot.data(f"{q} format:topojson") == {
        "type": "Topology",
        "objects": {
            "points": {
                "type": "GeometryCollection",
                "geometries": [{"type": "Point", "coordinates": [13.39, 52.5], "properties": LARCH}],
            },
            "none": {"type": "GeometryCollection", "geometries": []},
        },
    }


def test_a_table_has_a_row_for_each_point(depot: Depot) -> None:
    data = depot.data(SHOPS.format(" query:(sort:name)") + " format:table")
    assert list(data["columns"]) == ["series", "name", "floors", "country", "longitude", "latitude"]
    assert data["columns"]["latitude"] == {"label": "Latitude", "type": "number"}
    assert data["rows"] == [
        {"series": "Shops", **ACME, "longitude": 2.35, "latitude": 48.85},
        {"series": "Shops", **LARCH, "longitude": 13.39, "latitude": 52.5},
    ]


@pytest.mark.parametrize(
    ("inside", "names"),
    [
        ("of:org point:where", ["Larch Foods", "Acme"]),
        ("of:org point:where_it_is query:(limit:1)", ["Larch Foods"]),
        ("of:org fields:[floors,where] query:(sort:-name)", ["Larch Foods", "Acme"]),
        ("of:org point:where query:(country:France)", ["Acme"]),
        ("of:org point:where query:(floors:7)", []),
        ("of:ticket point:org.where query:(status:open)", ["Pump", "Motor"]),
    ],
)
def test_which_records_are_on_the_map(depot: Depot, inside: str, names: list[str]) -> None:
    data = depot.data(f"type:worklist.geo.points series.a:({inside})")
    assert [each["properties"]["name"].rpartition("] ")[2] for each in data["features"]] == names


def test_only_readable_records_are_on_the_map(depot: Depot) -> None:
    q = "type:worklist.geo.points series.a:(of:ticket point:org.where)"
    assert len(depot.data(q, "nora")["features"]) == 2
    assert len(depot.data(q, "milo")["features"]) == 1


@pytest.mark.parametrize(
    ("inside", "at", "part"),
    [
        ("of:org", "of:org", "name a geolocation field"),
        ("of:org fields:[name,floors]", "[name", "name a geolocation field"),
        ("of:org point:floors", "floors", "is not a geolocation field of org"),
        ("of:org point:were", "were", "did you mean 'where'"),
        ("of:org point:where fields:[contry]", "contry", "did you mean 'country'"),
        ("of:org point:where wher:1", "wher:1", "is not a key"),
    ],
)
def test_errors_name_their_place(depot: Depot, inside: str, at: str, part: str) -> None:
    q = f"type:worklist.geo.points series.a:({inside})"
    error = depot.refused(q)
    assert part in error.message
    expected = q.index(at) - 1 if at == "of:org" else q.index(at)
    assert error.details["position"] == expected


def test_the_number_of_statements_does_not_grow_with_the_points(depot: Depot) -> None:
    depot.ask(SHOPS.format(""))
    assert depot.statements(SHOPS.format(" query:(limit:1)")) == depot.statements(SHOPS.format(""))
