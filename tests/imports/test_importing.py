"""Rows become records: the meaning of cells, matching of existing records, all or nothing, and permissions."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.context import Context
from server.errors import Conflict, Forbidden, HelpdeskError, Invalid, NotFound, Required
from server.imports import columns, csv_rows, row_import, uploads
from server.imports.columns import CsvMapping
from server.imports.csv_rows import CsvRow
from server.imports.row_import import MAX_MISTAKES, PORTION, CsvResult
from tests.records.desk import NOW, Desk


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    opened = Desk(Path(tmp_path_factory.mktemp("imports")))
    opened.people()
    yield opened
    opened.close()


@pytest.fixture
def nora(desk: Desk) -> Context:
    return desk.context(1)


def imported(ctx: Context, uri: str, text: str, *names: str, key: str = "") -> CsvResult:
    """Imports a file whose column names match no field."""
    raw = f"{';'.join(f'h{place}' for place in range(len(names)))}\n{text}".encode()
    upload = uploads.find_upload(ctx, uri, uploads.keep(ctx, uri, "people.csv", raw))
    return row_import.run(ctx, upload, upload.table(), CsvMapping(uri, names, key))


def tried(ctx: Context, uri: str, text: str, *names: str, key: str = "") -> CsvResult:
    raw = f"{';'.join(f'h{place}' for place in range(len(names)))}\n{text}".encode()
    return row_import.attempt(ctx, csv_rows.read(raw), CsvMapping(uri, names, key))


def count(desk: Desk, uri: str) -> int:
    return len(desk.found(uri, ""))


@pytest.mark.parametrize(
    ("uri", "cells", "name", "value"),
    [
        ("task", {"title": "One", "due": "2026-12-01 12:00"}, "due", 1_796_126_400),
        ("task", {"title": "One", "owner_id": "milo"}, "owner_id", 2),
        ("task", {"title": "One", "owner_id": "MILO@desk.example"}, "owner_id", 2),
        ("task", {"title": "One", "owner_id": "2"}, "owner_id", 2),
        ("task", {"title": "One", "status": "closed"}, "status_id", 1),
        ("asset", {"name": "Mug", "owner__context": "Worker", "owner_id": "Olga"}, "owner_id", 3),
        ("address", {"email": "One@kite.example", "is_banned": "TRUE"}, "is_banned", 1),
        ("address", {"email": "two@kite.example", "is_banned": "no"}, "is_banned", 0),
        ("contact", {"first_name": "Flo", "gender": "f"}, "gender", "F"),
    ],
)
def test_cells_are_read_as_people_write_them(
    uri: str, cells: dict[str, str], name: str, value: object, desk: Desk, nora: Context
) -> None:
    result = imported(nora, uri, ";".join(cells.values()), *cells)
    assert result.mistakes == [] and result.created == 1
    assert desk.row(uri, max(desk.found(uri, "")))[name] == value


def field_of(desk: Desk, context: str, name: str, type: str) -> str:
    """The name of a new custom field as a parameter."""
    values: dict[str, Any] = {"context": context, "name": name, "type": type, "uri": name.lower().replace(" ", "_")}
    return f"custom_{desk.create('custom_field', **values)['id']}"


def test_links_take_names_numbers_and_lists(desk: Desk, nora: Context) -> None:
    org = desk.create("org", name="Larch Ltd")["id"]
    target, tags = field_of(desk, "contact", "Keeper", "W"), field_of(desk, "contact", "Tags", "M")
    text = f'Ada;larch ltd;Milo;a, b\nBo;{org};milo@desk.example;"c; d"'
    names = ("first_name", "org_id", target, tags)
    assert imported(nora, "contact", text, *names).mistakes == []
    ada, bo = sorted(desk.found("contact", "firstName:Ada OR firstName:Bo"))
    for id, listed in ((ada, "a, b"), (bo, "c, d")):
        found = desk.record("contact", id, expand="custom_")
        assert (found["org_id"], found[target], found[tags]) == (org, "2", listed)


def test_an_unknown_name_suggests_the_nearest_and_an_ambiguous_one_lists_ids(desk: Desk, nora: Context) -> None:
    desk.create("org", name="Maple")
    twins = [desk.create("org", name="Twin")["id"] for _ in range(2)]
    result = imported(nora, "contact", "A;Mapel\nB;Twin\nC;Maple", "first_name", "org_id")
    assert [(each.row, each.target) for each in result.mistakes] == [(2, "org_id"), (3, "org_id")]
    assert "did you mean 'maple'?" in result.mistakes[0].reason
    assert f"{twins[0]}, {twins[1]}; write the number" in result.mistakes[1].reason


def test_a_formula_is_a_text(desk: Desk, nora: Context) -> None:
    assert imported(nora, "org", '=HYPERLINK("x");\'=1+1', "name", "city").created == 1
    found = desk.record("org", max(desk.found("org", "")))
    assert (found["name"], found["city"]) == ('=HYPERLINK("x")', "=1+1")


def test_records_are_found_again_by_a_key_and_blank_cells_change_nothing(desk: Desk, nora: Context) -> None:
    known = desk.create("org", name="Known", city="Bern", phone="1")["id"]
    result = imported(nora, "org", "known;Basel;\nNewly;Chur;2", "name", "city", "phone", key="name")
    assert (result.created, result.updated, result.mistakes) == (1, 1, [])
    found = desk.record("org", known)
    assert (found["name"], found["city"], found["phone"]) == ("known", "Basel", "1")
    by_id = imported(nora, "org", f"{known};Thun", "id", "city", key="id")
    assert (by_id.updated, desk.record("org", known)["city"]) == (1, "Thun")


def test_contacts_are_found_by_their_mail_address(desk: Desk, nora: Context) -> None:
    first = imported(nora, "contact", "Eve;eve@kite.example", "first_name", "email", key="email")
    again = imported(nora, "contact", "Eva;EVE@kite.example", "first_name", "email", key="email")
    assert (first.created, again.created, again.updated) == (1, 0, 1)
    assert len(desk.found("contact", "firstName:Eva")) == 1 and desk.found("contact", "firstName:Eve") == []


def test_records_are_found_by_a_custom_field(desk: Desk, nora: Context) -> None:
    for kind, value in (("S", "K-1"), ("N", "17")):
        name = field_of(desk, "org", f"Number {kind}", kind)
        first = imported(nora, "org", f"Customer;{value}", "name", name, key=name)
        again = imported(nora, "org", f"Renamed {kind};{value}", "name", name, key=name)
        assert (first.created, again.updated, again.mistakes) == (1, 1, [])
        wrong = imported(nora, "org", "Customer;x y", "name", name, key=name)
        assert bool(wrong.mistakes) is (kind == "N")


@pytest.mark.parametrize(
    ("text", "names", "key", "row", "target", "told"),
    [
        ("A;1\nB;2\na;3", ("name", "city"), "name", 4, "name", "is already in row 2"),
        ("Twofold;1", ("name", "city"), "name", 2, "name", "several records have 'Twofold'"),
        ("999999;x", ("id", "name"), "id", 2, "id", "there is no org '999999'"),
        ("x;x", ("id", "name"), "id", 2, "id", "there is no org 'x'"),
        ("A;1;2", ("name", "city"), "", 2, "", "has 3 cells, but the file has 2 columns"),
        (";Bern", ("name", "city"), "", 2, "name", "is required"),
        ("A;nope", ("name", "website"), "", 2, "website", "must start with http"),
        ("A;" + "x" * 300, ("name", "city"), "", 2, "city", "at most 255 characters"),
    ],
)
def test_row_errors_name_the_column(
    text: str, names: tuple[str, ...], key: str, row: int, target: str, told: str, desk: Desk, nora: Context
) -> None:
    while len(desk.found("org", 'name:"Twofold"')) < 2:
        desk.create("org", name="Twofold")
    before = count(desk, "org")
    for work in (tried, imported):
        result = work(nora, "org", text, *names, key=key)
        assert [(each.row, each.target) for each in result.mistakes] == [(row, target)]
        assert told in result.mistakes[0].reason
    assert count(desk, "org") == before


def test_a_row_that_is_refused_leaves_nothing_and_the_file_stays(desk: Desk, nora: Context) -> None:
    lines = [f"Nought {number};n{number}@kite.example" for number in range(7)]
    raw = ("name;mail\n" + "\n".join([*lines[:6], "Nought 0;n0@kite.example"])).encode()
    before = (count(desk, "contact"), count(desk, "address"), len(desk.log()))
    code = uploads.keep(nora, "contact", "seven.csv", raw)
    upload = uploads.find_upload(nora, "contact", code)
    result = row_import.run(nora, upload, upload.table(), CsvMapping("contact", ("first_name", "email")))
    assert [(each.row, each.target) for each in result.mistakes] == [(8, "email")]
    assert "belongs to contact" in result.mistakes[0].reason
    assert (count(desk, "contact"), count(desk, "address"), len(desk.log())) == before
    assert uploads.find_upload(nora, "contact", code).name == "seven.csv"


def test_a_trial_reports_every_row_and_stores_nothing(desk: Desk, nora: Context) -> None:
    bad = {3, 7, PORTION + 5}
    text = "\n".join(
        "Tried;nope" if row in bad else f"Tried {row};https://kite.example" for row in range(2, PORTION * 2)
    )
    before = (count(desk, "org"), len(desk.log()))
    result = tried(nora, "org", text, "name", "website")
    assert {each.row for each in result.mistakes} == bad and result.created == PORTION * 2 - 2 - len(bad)
    assert [each["_label"] for each in result.shown] == ["Tried 2", "Tried 4", "Tried 5", "Tried 6", "Tried 8"]
    assert (count(desk, "org"), len(desk.log())) == before


def test_the_number_of_reported_errors_is_limited(nora: Context) -> None:
    result = tried(nora, "org", "x;nope\n" * (MAX_MISTAKES + 30), "name", "website")
    assert len(result.mistakes) == MAX_MISTAKES and result.left == 30


def test_an_import_is_logged_as_activity_and_the_file_is_deleted(desk: Desk, nora: Context) -> None:
    seen = max([each["id"] for each in desk.log()], default=0)
    code = uploads.keep(nora, "org", "kites.csv", b"name\nLogged\n")
    upload = uploads.find_upload(nora, "org", code)
    mapping = CsvMapping("org", ("name",))
    assert row_import.run(nora, upload, upload.table(), mapping).created == 1
    assert desk.acts(seen) == ["Nora Berg imported kites.csv: organizations, 1 created, 0 updated"]
    with pytest.raises(NotFound):
        row_import.run(nora, upload, upload.table(), mapping)
    with pytest.raises(NotFound):
        uploads.find_upload(nora, "org", code)


def test_rights_are_those_of_who_asks(desk: Desk) -> None:
    milo, olga = desk.context(2), desk.context(3)
    for work in (imported, tried):
        with pytest.raises(Forbidden):
            work(milo, "mail_transport", "x", "name")
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    milo = desk.context(2)
    hidden = desk.create("calendar", name="Nora's own", owner__context="worker", owner_id=1)["id"]
    result = tried(milo, "calendar", f"{hidden};Mine now", "id", "name", key="id")
    assert [each.reason for each in result.mistakes] == [f"there is no calendar '{hidden}'"]
    own = tried(milo, "calendar", "Mine;worker;milo\nNora's;worker;nora", "name", "owner__context", "owner_id")
    assert (own.created, [each.row for each in own.mistakes]) == (1, [3])
    code = uploads.keep(milo, "task", "mine.csv", b"title\nx\n")
    for who, uri in ((olga, "task"), (milo, "org")):
        with pytest.raises(NotFound):
            uploads.find_upload(who, uri, code)


@pytest.mark.parametrize(
    ("names", "key", "error"),
    [
        (("name", "name"), "", Invalid),
        (("name", "nope"), "", Invalid),
        (("", ""), "", Invalid),
        (("id", ""), "id", Invalid),
        (("id", "name"), "", Invalid),
        (("name", ""), "city", NotFound),
        (("city", ""), "name", Required),
        (("name",), "", Conflict),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(
    names: tuple[str, ...], key: str, error: type[HelpdeskError], nora: Context
) -> None:
    with pytest.raises(error):
        row_import.attempt(nora, csv_rows.read(b"a,b\n1,2\n"), CsvMapping("org", names, key))


def test_columns_are_guessed_by_names_labels_and_custom_fields(desk: Desk, nora: Context) -> None:
    field = field_of(desk, "contact", "Customer number", "S")
    found = columns.targets(nora, "contact")
    headers = (
        "First name",
        "LAST_NAME",
        "E-Mail",
        "Company",
        "customer-number",
        "Birthday",
        "first name",
        "Unheard of",
    )
    guessed = columns.guess(headers, found, {"dob": "Birthday"})
    assert guessed == ("first_name", "last_name", "email", "org", field, "dob", "", "")


@pytest.mark.parametrize(
    ("cells", "target"),
    [(("Kite",), "org"), (("Kite", "7"), "org"), (("7", "12"), "org_id"), (("", "12"), "org_id"), ((), "org")],
)
def test_cells_show_whether_a_column_has_names_or_ids(cells: tuple[str, ...], target: str, nora: Context) -> None:
    rows = [CsvRow(place, (cell,)) for place, cell in enumerate(cells, 2)]
    for header in ("Company", "Organization", "org"):
        assert columns.guess((header,), columns.targets(nora, "contact"), {}, rows) == (target,)
    assert columns.guess(("org_id",), columns.targets(nora, "contact"), {}, rows) == ("org_id",)


def test_contacts_of_companies_that_do_not_exist_are_imported_at_the_first_try(desk: Desk, nora: Context) -> None:
    table = csv_rows.read(b"First name,Company\nAda,Quill Works\nBo,Quill Works\n")
    names = columns.guess(table.names, columns.targets(nora, "contact"), {}, table.rows)
    result = row_import.attempt(nora, table, CsvMapping("contact", names))
    assert (result.created, result.mistakes) == (2, [])


def test_secrets_and_what_the_service_keeps_are_no_targets(nora: Context) -> None:
    found = columns.targets(nora, "worker")
    assert "email" in found and not {"password", "image", "custom_<id>", "custom"} & set(found)
    with pytest.raises(Invalid):
        tried(nora, "worker", "Bo;hush", "first_name", "password")


def test_files_are_kept_for_a_day_and_a_few_of_each_worker(desk: Desk, nora: Context) -> None:
    code = uploads.keep(nora, "org", "a.csv", b"name\nx\n")
    with pytest.raises(NotFound):
        uploads.find_upload(replace(nora, now=NOW + uploads.KEPT_SECONDS), "org", code)
    later = replace(nora, now=NOW + 1)
    codes = [uploads.keep(later, "org", f"{number}.csv", b"name\nx\n") for number in range(uploads.MAX_UPLOADS)]
    with pytest.raises(NotFound):
        uploads.find_upload(nora, "org", code)
    assert all(uploads.find_upload(nora, "org", each) for each in codes)
    assert uploads.forget_old(desk.service, NOW + uploads.KEPT_SECONDS) == NOW + 1 + uploads.KEPT_SECONDS
    assert uploads.forget_old(desk.service, NOW + 1 + uploads.KEPT_SECONDS) is None
