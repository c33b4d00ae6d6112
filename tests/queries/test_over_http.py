"""Data queries over HTTP, by several people."""

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from tests.service import Api

QUERY = "/rest/data/query.json"


@pytest.fixture(scope="module")
def desk_with_tickets(nora: Api) -> Api:
    """Two tickets of Support and three of a private group, all with the same word."""
    for number in range(5):
        group = nora.ids["private" if number % 2 == 0 else "support"]
        nora.create("ticket", subject=f"Dynamo {number}", group_id=group, importance=number * 10).ok()
    return nora


SUBJECT = "query:(subject:Dynamo*)"
NUMBERS = [
    (f"type:worklist.metrics values.n:(of:ticket {SUBJECT})", lambda data: data["rows"][0]["value"], 5, 2),
    (f"type:worklist.metrics values.n:(of:ticket function:sum field:importance {SUBJECT})",
     lambda data: data["rows"][0]["value"], 100, 40),
    (f"type:worklist.series series.n:(of:ticket x:created@year {SUBJECT})", lambda data: sum(data["n"]), 5, 2),
    (f"type:worklist.series format:dictionaries series.n:(of:ticket x:group {SUBJECT})", len, 2, 1),
    (f"type:worklist.xy series.n:(of:ticket x:id y:importance {SUBJECT})", lambda data: sum(data[1][1:]), 100, 40),
]  # fmt: skip


@pytest.mark.parametrize(("q", "read", "of_all", "of_milo"), NUMBERS)
def test_what_somebody_may_not_read_does_not_count(
    desk_with_tickets: Api, q: str, read: Callable[[Any], int], of_all: int, of_milo: int
) -> None:
    assert read(desk_with_tickets.get(QUERY, q=q).ok()["data"]) == of_all
    assert read(desk_with_tickets.as_("milo").get(QUERY, q=q).ok()["data"]) == of_milo


def test_a_long_query_comes_as_the_body(desk_with_tickets: Api) -> None:
    text = f"type:worklist.metrics\nformat:pie\nvalues.n:(\n  of:tickets\n  label:Dynamos\n  {SUBJECT}\n)\n"
    response = desk_with_tickets.call("POST", QUERY, data=text, headers={"Content-Type": "text/plain"}).ok()
    assert response["data"] == [["Dynamos", 5]]
    assert response["_"]["type"] == "worklist.metrics" and response["_"]["format"] == "pie"
    assert response["__status"] == "success"


@pytest.mark.parametrize(
    ("q", "at", "part"),
    [
        ("type:worklist.series series.n:(of:ticket x:creatd)", "creatd", "did you mean 'created'"),
        ("type:worklist.metrics values.n:(of:ticket function:summ field:id)", "summ", "did you mean 'sum'"),
        ("type:worklist.metrics values.n:(of:ticket) format:trees", "trees", "is not one of"),
        ("type:worklist.metrisc", "worklist", "did you mean 'worklist.metrics'"),
        ("type:gpg.keyinfo fingerprint:1", "gpg", "not available on this installation"),
        ("type:automation.invoke name:nobody", "nobody", "is not an automation"),
        ("type:attachment.manifest id:999999", "999999", "there is no attachment"),
    ],
)
def test_mistakes_are_422_with_their_place(api: Api, q: str, at: str, part: str) -> None:
    response = api.get(QUERY, q=q)
    assert response.status == 422
    assert part in response["message"] and response["position"] == q.index(at)


def test_an_uploaded_archive_is_looked_into_by_its_owner_only(api: Api) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("report.csv", "1,2,3")
    milo = api.as_("milo")
    made = milo.call(
        "POST",
        "/rest/attachments/upload.json",
        data={"file_name": "report.zip"},
        files={"content": ("report.zip", out.getvalue(), "application/zip")},
    ).ok()
    q = f"type:attachment.manifest id:{made['file_id']}"
    assert [each["name"] for each in milo.get(QUERY, q=q).ok()["data"]["files"]] == ["report.csv"]
    assert api.as_("olga").get(QUERY, q=q).status == 422


def test_lists_need_no_privileges(api: Api) -> None:
    olga = api.as_("olga")
    assert {"uri": "ticket"}.items() <= olga.get(QUERY, q="type:record.types filter:ticket").ok()["data"][0].items()
    assert "worklist.xy" in olga.get(QUERY, q="type:data.query.types").ok()["data"]
