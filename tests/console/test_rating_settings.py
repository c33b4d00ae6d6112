"""The settings of ratings, and ratings on pages of tickets, lists and groups."""

import re

import pytest

from console.pages.rating_settings import NAMES
from server.record_types.shared import paths
from server.records.writing import RecordWriter
from tests.console.test_tickets import undo
from tests.console.visitor import Visitor, text_of, value
from tests.records.desk import Desk
from tests.service import Api

BASE = "/admin/ratings"
HOSTILE = "<script>alert(1)</script> so slow"


def settings(visitor: Visitor) -> tuple[str, str, str]:
    page = visitor.get(BASE).text
    [chosen] = re.findall(r'<option value="(off|groups|all)" selected', page)
    return chosen, value(page, "rating_delay_hours"), value(page, "rating_interval_days")


def test_settings_are_saved_and_undone(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    before, since = settings(signed_in), max((each["id"] for each in desk.log()), default=0)
    group = nora.ids["support"]
    form = {"ratings": "groups", "groups[]": [str(group)], "rating_delay_hours": "2", "rating_interval_days": "7"}
    assert signed_in.send(BASE, form).headers["Location"] == BASE
    assert nora.record("group", group)["rating_enabled"] == 1
    acts = " ".join(desk.acts(since))
    assert "changed the group Support" in acts and "rating_delay_hours" in acts
    undo(signed_in, BASE)
    assert settings(signed_in) == before and nora.record("group", group)["rating_enabled"] == 0
    signed_in.send(BASE, form)
    assert settings(signed_in) == ("groups", "2", "7")
    signed_in.send(BASE, dict(zip(NAMES, before, strict=True)))
    assert settings(signed_in) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"ratings": "everybody"},
        {"rating_delay_hours": "721"},
        {"rating_delay_hours": "x"},
        {"rating_interval_days": "-1"},
    ],
    ids=str,
)
def test_wrong_settings_save_nothing(signed_in: Visitor, nora: Api, wrong: dict[str, str]) -> None:
    before = settings(signed_in)
    fields = {"ratings": "all", "groups[]": [str(nora.ids["support"])], "rating_delay_hours": "2"}
    page = signed_in.send(BASE, {**fields, "rating_interval_days": "7", **wrong})
    assert page.status_code == 422 and 'role="alert"' in page.text
    assert settings(signed_in) == before and nora.record("group", nora.ids["support"])["rating_enabled"] == 0


def test_only_administrators_open_them(visitor: Visitor, signed_in: Visitor) -> None:
    before = settings(signed_in)
    visitor.sign_in("milo@desk.example")
    assert visitor.get(BASE).status_code == 403
    assert visitor.post(BASE, {"ratings": "all", "token": visitor.token}).status_code == 403
    assert settings(signed_in) == before


def test_a_rating_is_on_ticket_and_list(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    ticket = nora.create("ticket", subject="Rated boat", group_id=nora.ids["support"], status="closed").ok()
    values = {"ticket_id": ticket["id"], "score": "bad", "comment": HOSTILE, "asked_at": 5, "rated_at": 6}
    id = desk.store.write(lambda tx: RecordWriter(desk.context(), tx).create("rating", values))
    page = signed_in.get(paths.ticket(ticket["mask"]))
    assert "Rating" in text_of(page.text) and "&lt;script&gt;alert(1)" in page.text and HOSTILE not in page.text
    listed = text_of(signed_in.get("/search/ticket?columns=_label,rating&q=rating:bad").text)
    assert "Rated boat" in listed and "bad" in listed
    exported = signed_in.get("/search/ticket?columns=mask,rating&q=rating:bad&format=csv").text
    assert f"{ticket['mask']},bad" in exported
    assert HOSTILE not in signed_in.get(f"/records/rating/{id}").text
    assert "Rated boat" in text_of(signed_in.get("/search/rating").text)
    nora.remove("rating", id).ok()
    assert desk.acts()[-1] == "Nora Berg deleted the rating Bad (number {id})".replace("{id}", str(id))
