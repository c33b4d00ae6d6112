"""A CSV file is uploaded, mapped, checked and imported as records on pages; only by permitted workers, all of it or
nothing."""

import csv
import io
import json
import re

import pytest
import requests

from server.imports.background import MAX_AT_ONCE
from tests.api.minimal import MINIMAL
from tests.console.conftest import HOSTILE, proven
from tests.console.test_record_form import FormReader
from tests.console.visitor import Visitor, loaded, place, text_of
from tests.records.desk import Desk
from tests.service import Api
from tests.telling import telling_types

ORGS = "/records/org/import"
CHOSEN = re.compile(r'<select name="(c\d+)".*?</select>', re.DOTALL)


def uploaded(who: Visitor, content: str | bytes, path: str = ORGS, name: str = "kites.csv") -> requests.Response:
    raw = content.encode() if isinstance(content, str) else content
    return who.post(path, {"_xsrf": who.token(path)}, files={"file": (name, raw, "text/csv")})


def chosen(page: str) -> dict[str, str]:
    """Returns the selected options of the page."""
    found = {}
    for each in CHOSEN.finditer(page):
        option = re.search(r'<option value="([^"]*)" selected', each[0])
        found[each[1]] = option[1] if option else ""
    return found


def test_a_file_is_uploaded_mapped_checked_and_imported(signed_in: Visitor, nora: Api) -> None:
    assert f'href="{ORGS}"' in signed_in.get("/search/org").text
    path = place(uploaded(signed_in, "\ufeffName;Stadt;Web site\r\nKite Ltd;Zürich;https://kite.example\r\n"))
    page = signed_in.get(path).text
    assert chosen(page) == {"c0": "name", "c1": "", "c2": "website"}
    assert "1 row · separated by semicolons · UTF-8" in text_of(page) and "Zürich" in page
    form = {"c0": "name", "c1": "city", "c2": "website", "key": ""}
    checked = signed_in.send(path, {**form, "do": "try"})
    assert checked.status_code == 200 and "1 record would be created." in text_of(checked.text)
    assert chosen(checked.text)["c1"] == "city" and "Import 1 row" in text_of(checked.text)
    assert nora.found("org", 'name:"Kite Ltd"') == []
    done = signed_in.send(path, {**form, "do": "import"})
    assert place(done) == "/search/org"
    assert "1 record created." in text_of(signed_in.get("/search/org").text)
    (id,) = nora.found("org", 'name:"Kite Ltd"')
    assert nora.record("org", id)["city"] == "Zürich"
    assert signed_in.get(path).status_code == 404


@pytest.mark.parametrize("uri", telling_types(sorted(MINIMAL)))
def test_records_of_every_type_come_from_a_file(uri: str, signed_in: Visitor, nora: Api, desk: Desk) -> None:
    """A check leaves no trace; an import creates what the API would create from the same values."""
    fields = MINIMAL[uri](nora)
    table = io.StringIO()
    csv.writer(table).writerows([fields, [each if isinstance(each, str | int) else json.dumps(each)
                                          for each in fields.values()]])  # fmt: skip
    path = place(uploaded(signed_in, table.getvalue(), f"/records/{uri}/import"))
    assert list(chosen(signed_in.get(path).text).values()) == list(fields)
    form = {**{f"c{at}": name for at, name in enumerate(fields)}, "key": ""}
    before = stored(desk, uri)
    checked = signed_in.send(path, {**form, "do": "try"})
    assert checked.status_code == 200, text_of(checked.text)
    assert stored(desk, uri) == before
    assert signed_in.send(path, {**form, "do": "import"}).status_code == 303
    told = 2 if uri == "activity_log" else 0  # the entry itself, and the import of a file
    assert stored(desk, uri) == before + 1 + told
    if uri == "custom_record":  # which adds a record type
        nora.remove(uri, max(nora.found(uri, ""))).ok()


def stored(desk: Desk, uri: str) -> int:
    return desk.read(lambda tx: len(tx.find(desk.registry.type(uri).table)))


def test_an_error_in_the_seventh_row_leaves_nothing(signed_in: Visitor, nora: Api) -> None:
    rows = [f"Seven {number},https://kite.example" for number in range(6)] + ["Seven 6,nonsense"]
    path = place(uploaded(signed_in, "name,website\n" + "\n".join(rows)))
    for do, title in (("try", "Problem"), ("import", "Nothing was imported")):
        response = signed_in.send(path, {"c0": "name", "c1": "website", "key": "", "do": do})
        assert response.status_code == 422 and title in text_of(response.text)
        assert "8 website Must start with http:// or https://" in text_of(response.text)
        assert "Import 7 rows" not in text_of(response.text)
    assert nora.found("org", "name:Seven*") == []


def test_the_import_of_a_large_file_shows_its_progress(signed_in: Visitor, nora: Api) -> None:
    rows = MAX_AT_ONCE + 1
    path = place(uploaded(signed_in, "name\n" + "\n".join(f"Large {number}" for number in range(rows))))
    form = {"c0": "name", "key": ""}
    assert signed_in.send(path, {**form, "c0": "nope", "do": "try"}).status_code == 422
    assert place(signed_in.send(path, {**form, "do": "try"})) == path
    checked = loaded(signed_in, path, "Import 501 rows")
    assert "501 records would be created." in checked and nora.found("org", "name:Large*") == []
    assert place(signed_in.send(path, {**form, "do": "import"})) == path
    done = loaded(signed_in, path, "Show the list")
    assert "501 records created." in done and 'http-equiv="refresh"' not in done
    assert "Refresh" not in signed_in.get(path).headers
    assert nora.search("org", "name:Large*").ok()["total"] == rows
    token = {"_xsrf": signed_in.token(ORGS)}
    assert place(signed_in.post(path, {**token, **form, "do": "import"})) == path  # the repeated form imports nothing
    assert nora.search("org", "name:Large*").ok()["total"] == rows


def test_records_are_updated_by_a_key(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("org", name="Keyed").ok()["id"]
    path = place(uploaded(signed_in, "name\tcity\nkeyed\tChur\nKeyed too\tBern\n"))
    signed_in.send(path, {"c0": "name", "c1": "city", "key": "name", "do": "import"})
    assert "1 record created. 1 record updated." in text_of(signed_in.get("/search/org").text)
    assert nora.record("org", id)["city"] == "Chur"


def test_a_file_that_is_not_utf_8_is_reported(signed_in: Visitor) -> None:
    page = signed_in.get(place(uploaded(signed_in, "name\nZürich\n".encode("latin-1")))).text
    assert "The file is not UTF-8; it was read as Windows-1252." in text_of(page) and "Zürich" in page


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "Choose a file first"),
        (b"name\n", "no rows"),
        (b"\x00\x01", "is not CSV"),
        (b'a\n"', "Row 2 cannot be read"),
    ],
)
def test_an_unreadable_file_is_reported(content: bytes, told: str, signed_in: Visitor) -> None:
    response = uploaded(signed_in, content)
    assert response.status_code == 422 and told in text_of(response.text)


def test_a_form_without_a_file_is_reported(signed_in: Visitor) -> None:
    assert signed_in.send(ORGS, {"file": "text"}).status_code == 422


@pytest.mark.parametrize("form", [{"c0": "nope"}, {"c0": ""}, {"c0": "name", "key": "city"}, {"c0": "id"}])
def test_an_invalid_mapping_is_reported(form: dict[str, str], signed_in: Visitor) -> None:
    path = place(uploaded(signed_in, "name\nx\n"))
    for do in ("try", "import"):
        response = signed_in.send(path, {"key": "", **form, "do": do})
        assert response.status_code in (404, 422), form
    assert signed_in.get(path).status_code == 200


def test_hostile_cells_are_texts(signed_in: Visitor) -> None:
    quoted = HOSTILE.replace('"', '""')
    path = place(uploaded(signed_in, f'"{quoted}"\n"{quoted}"\n', name=f"{HOSTILE}.csv"))
    for page in (signed_in.get(path).text, signed_in.send(path, {"c0": "name", "key": "", "do": "try"}).text):
        assert HOSTILE not in page
        assert FormReader(page).fields is not None


def test_importing_requires_the_right_to_create(signed_in: Visitor, visitor: Visitor) -> None:
    visitor.sign_in("milo@desk.example")
    path = place(uploaded(signed_in, "name\nx\n"))
    token = visitor.token("/records/task/import")
    for uri in ("mail_transport", "automation"):
        assert visitor.get(f"/records/{uri}/import").status_code == 403
        assert visitor.post(f"/records/{uri}/import", {"_xsrf": token}).status_code == 403
        assert f"/records/{uri}/import" not in visitor.get(f"/search/{uri}").text
    assert visitor.get(path).status_code in (403, 404)
    assert visitor.get("/records/nope/import").status_code == 404


def test_types_that_require_the_password_require_it_for_imports(visitor: Visitor, desk: Desk, nora: Api) -> None:
    visitor.sign_in()
    token = visitor.token("/account")
    proven(desk, visitor, 0)
    for response in (visitor.get("/records/worker/import"), visitor.post("/records/worker/import", {"_xsrf": token})):
        assert place(response).startswith("/confirm?next=")
    assert visitor.get("/records/org/import").status_code == 200
