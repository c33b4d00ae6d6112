"""One field set on several records, with the caller's rights, and undone to the previous value of each record."""

import html
import re
from collections.abc import Iterator

import pytest

from tests.console.visitor import Visitor, place, text_of
from tests.service import Api

PATH = "/records/ticket/set"
LIST = "/search/ticket"


@pytest.fixture(scope="module")
def fields(nora: Api) -> Iterator[dict[str, str]]:
    """{key: custom field} of tickets: a pick list and a multiple choice."""
    made = {
        name: nora.create(
            "custom_field",
            name=name.title(),
            uri=f"set_{name}",
            type=kind,
            context="ticket",
            params={"options": ["red", "blue"]},
        ).ok()["id"]
        for name, kind in (("colour", "D"), ("labels", "X"))
    }
    yield {name: f"custom_{id}" for name, id in made.items()}
    for id in made.values():
        nora.remove("custom_field", id).ok()


def tickets(nora: Api, *subjects: str, **more: object) -> list[int]:
    return [nora.create("ticket", subject=each, group_id=nora.ids["support"], **more).ok()["id"] for each in subjects]


def sent(visitor: Visitor, ids: list[int], field: str, value: dict[str, object], back: str = LIST) -> str:
    """Returns the next page, which reports the result."""
    form = {"ids[]": [str(id) for id in ids], "field": field, "back": back, **value}
    response = visitor.send(PATH, form, page=f"{PATH}?ids={ids[0]}&field={field}")
    assert response.status_code == 303, text_of(response.text)
    return visitor.get(place(response)).text


def undo(visitor: Visitor, page: str) -> None:
    toast = re.findall(r'<div class="toast">.*?</form>', page, re.DOTALL)[0]
    found = {name: html.unescape(value) for name, value in re.findall(r'name="([^"]+)" value="([^"]*)"', toast)}
    assert visitor.post(f"{PATH}/undo", found).status_code == 303


def test_the_bar_offers_the_fields_of_the_selection(signed_in: Visitor, nora: Api, fields: dict[str, str]) -> None:
    ids = tickets(nora, "Led one", "Led two")
    form = {"list": LIST, "do": "set", "back": f"{LIST}?q=led", "ids[]": [str(id) for id in ids]}
    asked = signed_in.send("/-/bulk", form, page=LIST)
    assert asked.status_code == 303
    page = signed_in.get(asked.headers["Location"]).text
    assert "Led one" in page and 'value="importance"' in page and f'value="{fields["colour"]}"' in page
    assert "Set on" not in page and "/search/ticket?q=led" in page
    chosen = signed_in.get(asked.headers["Location"] + f"&field={fields['colour']}").text
    assert "Set on 2 records" in text_of(chosen) and ">blue</option>" in chosen


VALUES = [("importance", "importance", {"importance": "90"}, 90, 20),
          ("colour", "", {"": "blue"}, "blue", "red"),
          ("labels", "", {"[]": ["red", "blue"]}, "red, blue", "red")]  # fmt: skip


@pytest.mark.parametrize(("what", "name", "value", "after", "before"), VALUES, ids=[each[0] for each in VALUES])
def test_each_record_is_set_and_restored_to_its_old_value(
    what: str, name: str, value: dict[str, object], after: object, before: object, signed_in: Visitor, nora: Api,
    fields: dict[str, str],
) -> None:  # fmt: skip
    field = name or fields[what]
    ids = [*tickets(nora, f"Set {what}", **{field: before}), *tickets(nora, f"Set {what} anew")]
    first = [nora.record("ticket", id, expand="custom_").ok().json.get(field) for id in ids]
    page = sent(signed_in, ids, field, value if name else {f"{field}{end}": text for end, text in value.items()})
    assert "Field set on 2 records." in text_of(page)
    assert [nora.record("ticket", id, expand="custom_").ok().json.get(field) for id in ids] == [after, after]
    undo(signed_in, page)
    assert [nora.record("ticket", id, expand="custom_").ok().json.get(field) for id in ids] == first and first[
        0
    ] == before


def test_refused_records_are_reported_and_the_others_done(visitor: Visitor, nora: Api) -> None:
    hidden = nora.create("group", name="Vault", is_private=1).ok()["id"]
    [own] = tickets(nora, "Open to all")
    other = nora.create("ticket", subject="Locked away", group_id=hidden).ok()["id"]
    assert visitor.sign_in("milo@desk.example").status_code == 303
    page = sent(visitor, [own, other], "importance", {"importance": "77"})
    assert "Locked away" not in page and nora.record("ticket", other).ok()["importance"] != 77
    assert nora.record("ticket", own).ok()["importance"] == 77
    forged = {"field": "importance", "before": f'{{"{other}": "5"}}', "_xsrf": visitor.token(LIST)}
    assert visitor.post(f"{PATH}/undo", forged).status_code == 303
    assert "Refused" in visitor.get(LIST).text and nora.record("ticket", other).ok()["importance"] != 5


WRONG = [
    ("importance", {"importance": "many"}, 422, "importance"),
    ("nonsense", {}, 422, "cannot be set on several records"),
    ("importanc", {}, 422, "importance"),
    ("", {}, 422, "cannot be set"),
]


@pytest.mark.parametrize(("field", "value", "status", "told"), WRONG)
def test_mistakes_are_shown_at_their_field(
    field: str, value: dict[str, str], status: int, told: str, signed_in: Visitor, nora: Api
) -> None:
    [id] = tickets(nora, "Wrong")
    response = signed_in.send(PATH, {"ids[]": str(id), "field": field, **value}, page=f"{PATH}?ids={id}")
    assert response.status_code == status and told in text_of(response.text)


@pytest.mark.parametrize(
    ("path", "status"),
    [("/records/nope/set?ids=1", 404), ("/records/ticket/set", 422), ("/records/ticket/set?ids=x", 422),
     ("/records/worker/set?ids=1", 303), ("/records/automation_log/set?ids=1", 405)],
)  # fmt: skip
def test_fields_that_cannot_be_set_have_no_page(path: str, status: int, signed_in: Visitor) -> None:
    assert signed_in.get(path).status_code == status
