"""Custom fields of every kind on every type that supports them: stored, shown, found, sorted, counted, and deleted
with their record. The accepted values of each kind are in tests/api/custom_kinds.py."""

from collections.abc import Iterator
from typing import Any

import pytest

from server.counting.subtotals import subtotals
from server.errors import BadQuery, Invalid
from server.first_start.builtin_records import add_missing
from server.record_types.registry import load
from server.record_types.shared.custom.definitions import COUNTABLE
from server.record_types.shared.relation_tables import CUSTOM_VALUE
from server.records import deleted_fields, records
from tests.api.custom_kinds import GEO, KINDS, LINKS, SLIDER, Kind, filled, numbered, uri_of
from tests.api.direct import direct
from tests.api.minimal import MINIMAL, made
from tests.records.desk import NOW, Desk
from tests.service import Api
from tests.telling import telling

MADE_BY_PEOPLE = "parcel"  # a type created as data
TYPES = [*(each.uri for each in load() if "custom_fields" in each.features), MADE_BY_PEOPLE]
POINTS = {"F", "I", "L", "W", LINKS}  # kinds whose values are ids
# A query that matches the first value of a kind and not the second; {} is the name of the filter.
FINDS = {
    "C": "{}:yes", "D": "{}:Gold", "E": "{}:>2020-01-01", "F": "{}.id:{file}", "I": "{}.id:{file2}",
    "L": "{}:(name:Larch*)", "M": "{}:b", "N": "{}:>0", "O": "{}:>12", "S": "{}:kite", "T": "{}:lines",
    "U": "{}:kite.example", "W": "{}:milo", "X": "{}:blue", "Y": "{}:12.34", GEO: "{}:59.9", LINKS: "{}.id:{org2}",
    SLIDER: "{}:<0",
}  # fmt: skip
SECOND: dict[str, Any] = {
    "C": "no", "D": "Iron", "E": "2019-05-15", "F": "{file2}", "I": "{file}", "L": "{org2}", "M": ["c"], "N": "-7",
    "O": "5", "S": "Boat", "T": "one", "U": "http://boat.example/", "W": "{nora}", "X": ["red"], "Y": "1",
    GEO: "-1,1", LINKS: ["{org}"], SLIDER: "5",
}  # fmt: skip


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A helpdesk with people and the built-in records."""
    opened = Desk(tmp_path_factory.mktemp("kinds"), load())
    add_missing(opened.context())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def ids(desk: Desk) -> dict[str, int]:
    """Records that values refer to."""
    found = desk.people()
    for name, label in (("org", "Larch"), ("org2", "Ash")):
        found[name] = desk.create("org", name=label)["id"]
    for name in ("file", "file2"):
        found[name] = desk.create("attachment", by=found["nora"], name=f"{name}.txt")["id"]
    desk.create("custom_record", name="Parcel", name_plural="Parcels", uri=MADE_BY_PEOPLE)
    return found


class Case:
    """A type with a field of each kind, and records: `first` and `second` with values, `blank` without."""

    def __init__(self, desk: Desk, ids: dict[str, int], uri: str) -> None:
        self.desk, self.ids, self.uri = desk, ids, uri
        self.api: Api = direct(desk, ids)
        self.type = desk.registry.type(uri)
        self.fields: dict[str, int] = {}
        desk.store.write(lambda tx: self._make())  # one transaction: each record in its own would wait for the disk

    def _make(self) -> None:
        for kind in KINDS:
            self.fields[kind.letter] = self.desk.create(
                "custom_field", context=self.uri, name=f"Kind {kind.letter[-4:]}", type=kind.letter, uri=uri_of(kind),
                params=kind.params,
            )["id"]  # fmt: skip
        self.first, self.second, self.blank = self._records()
        self.listed = [self.first, self.second, self.blank]

    def _records(self) -> list[int]:
        """Creates the first record with its values, by id, and changes the second by uri. Some types only support
        changes."""
        firsts = {self.name(kind): filled(kind.fits[0][0], self.ids) for kind in KINDS}
        seconds = {uri_of(kind): self.second_of(kind) for kind in KINDS}
        if self.type.operations["create"]:
            found = [self.make(**firsts), self.make(), self.make()]
        else:
            found = self.desk.found(self.uri, "")[:3]
            self.desk.update(self.uri, found[0], by=self.ids["nora"], **firsts)
        self.desk.update(self.uri, found[1], by=self.ids["nora"], **seconds)
        return found

    def make(self, **fields: Any) -> int:
        if self.uri in MINIMAL:
            return made(self.api, self.uri, **fields)
        return int(self.desk.create(self.uri, name="Parcel 7", **fields)["id"])

    def name(self, kind: Kind) -> str:
        return f"custom_{self.fields[kind.letter]}"

    def second_of(self, kind: Kind) -> Any:
        value = filled(SECOND[kind.letter], self.ids)
        return value.replace("{nora}", str(self.ids["nora"])) if isinstance(value, str) else value

    def found(self, q: str) -> list[int]:
        """Returns the ids of this case that a search finds, in order."""
        found = self.desk.read(lambda tx: self.desk.search(tx, self.uri, q).ids(500))
        return [id for id in found if id in self.listed]

    def shown(self, id: int, expand: str = "custom_,customfields") -> dict[str, Any]:
        return self.desk.record(self.uri, id, by=self.ids["nora"], expand=expand)


@pytest.fixture(params=telling(TYPES, ("ticket", "org", MADE_BY_PEOPLE), "every record type"))
def case(request: pytest.FixtureRequest, desk: Desk, ids: dict[str, int]) -> Iterator[Case]:
    """Afterwards its fields are deleted, and their values after a week."""
    opened = Case(desk, ids, request.param)
    yield opened
    desk.store.write(lambda tx: [desk.delete("custom_field", id) for id in opened.fields.values()])
    deleted_fields.forget_old(desk.service, NOW + deleted_fields.KEPT_SECONDS)
    left = desk.read(lambda tx: [tx.find(CUSTOM_VALUE, field_id=id) for id in opened.fields.values()])
    assert not any(left)


def test_every_kind_on_every_type(case: Case) -> None:
    is_shown(case)
    is_refused(case)
    if case.type.operations["search"]:
        is_found(case)
        is_sorted(case)
        is_counted(case)
    if case.type.operations["search"] and case.type.operations["create"]:
        is_upserted(case)
    if case.type.operations["delete"]:
        goes_along(case)


def is_shown(case: Case) -> None:
    first, blank = case.shown(case.first), case.shown(case.blank)
    for kind in KINDS:
        value = filled(kind.fits[0][1], case.ids)
        value = numbered(value) if kind.letter in POINTS else value
        id, name, uri = str(case.fields[kind.letter]), case.name(kind), uri_of(kind)
        assert (first["custom"][id], first[uri]) == (value, value), kind
        assert first[name] == (value if kind.letter == LINKS else filled(kind.fits[0][2], case.ids)), kind
        assert (blank["custom"][id], blank[uri]) == (None, None), kind
        assert blank[name] == ([] if kind.letter == LINKS else ""), kind
    link, worker = (f"custom_{case.fields[letter]}" for letter in ("L", "W"))
    opened = case.shown(case.first, f"{link}_name,{worker}_address_email")
    assert (opened[f"{link}_name"], opened[f"{worker}_address_email"]) == ("Larch", "milo@desk.example")


def is_refused(case: Case) -> None:
    for kind in KINDS:
        with pytest.raises(Invalid, match=case.name(kind)):
            case.desk.update(case.uri, case.first, by=case.ids["nora"], **{case.name(kind): kind.refused[0]})


def is_found(case: Case) -> None:
    for kind in KINDS:
        finds = FINDS[kind.letter]
        for name in (case.name(kind), uri_of(kind)):
            asked = filled(finds.replace("{}", name), case.ids)
            assert case.found(asked) == [case.first], (kind, asked)
        assert case.found(f"{case.name(kind)}:null") == [case.blank], kind
        assert case.found(f"{case.name(kind)}:!null") == sorted([case.first, case.second]), kind


def is_sorted(case: Case) -> None:
    for kind in KINDS:
        up = case.found(f"sort:{case.name(kind)}")
        assert up[0] == case.blank and sorted(up) == sorted(case.listed), kind
        down = case.found(f"sort:-{uri_of(kind)}")
        if kind.letter in ("N", "O", "S", "D", "C", "E", "Y", "U", SLIDER):
            assert down == up[::-1], kind


def is_counted(case: Case) -> None:
    desk = case.desk

    def hits(name: str) -> int:
        return desk.read(lambda tx: sum(
            each["hits"] for each in subtotals(desk.search(tx, case.uri, ""), name, desk.shown(tx, case.ids["nora"]))
        ))  # fmt: skip

    unset = desk.read(lambda tx: desk.search(tx, case.uri, "").total()) - 2
    for kind in KINDS:
        if kind.letter in COUNTABLE:
            values = sum(len(value) if isinstance(value, list) else 1
                         for value in (kind.fits[0][0], case.second_of(kind)))  # fmt: skip
            assert hits(case.name(kind)) == values + unset, kind
        else:
            with pytest.raises(BadQuery, match="cannot be counted"):
                hits(case.name(kind))


def is_upserted(case: Case) -> None:
    """Asserts that an upsert by a custom value changes a record, or creates one without a match."""
    desk, nora = case.desk, case.ids["nora"]
    number, text = f"custom_{case.fields['N']}", f"custom_{case.fields['S']}"
    records.upsert(desk.context(nora), case.uri, f"{number}:-7", {text: "Upserted"})
    assert case.shown(case.second)[text] == "Upserted"
    if case.uri in MINIMAL:
        fields = MINIMAL[case.uri](case.api) | {number: "77"}
        made = records.upsert(desk.context(nora), case.uri, f"{number}:77", fields)
        assert desk.found(case.uri, f"{number}:77", by=nora) == [made["id"]]


def goes_along(case: Case) -> None:
    desk = case.desk
    desk.delete(case.uri, case.first, by=case.ids["nora"])
    if case.type.operations["delete"] != "soft":
        fields = case.fields.values()
        left = desk.read(lambda tx: [tx.find(CUSTOM_VALUE, field_id=id, record_id=case.first) for id in fields])
        assert not any(left)
