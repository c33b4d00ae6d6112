"""Refusals of operations are shown in the worker's language, and reported by the API in English."""

import pytest

from server import resources, translation
from server.errors import Invalid, nearest
from server.translation import N_, LazyMessage, about_field, lazy_gettext, problem_of, shown
from tests.console.visitor import Visitor, text_of
from tests.service import Api

NO_TASK = lazy_gettext("there is no {type} {id}", type="task", id=999999)
NOT_ONE = lazy_gettext(
    "'{value}' is not one of {known}{nearest}", value="opne", known="open, closed", nearest=nearest("opne", ["open"])
)
SHOWN = [
    (NO_TASK, "there is no task 999999", "es gibt nichts vom Typ task mit der Nummer 999999"),
    (about_field("id", NO_TASK), "id: there is no task 999999",
     "id: es gibt nichts vom Typ task mit der Nummer 999999"),
    (about_field("status", NOT_ONE), "status: 'opne' is not one of open, closed; did you mean 'open'?",
     "status: „opne“ ist keines von open, closed; meinten Sie „open“?"),
    (lazy_gettext("{field} is required: {what}", field="remind_at", what=N_("a date, such as tomorrow 9am")),
     "remind_at is required: a date, such as tomorrow 9am", "remind_at fehlt: ein Datum, etwa tomorrow 9am"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "english", "german"), SHOWN)
def test_a_refusal_is_english_until_it_is_shown(message: LazyMessage, english: str, german: str) -> None:
    assert Invalid(message).message == english == shown(message)
    with translation.speaking(translation.Languages((resources.path(translation.FOLDER),)).catalog_for("de")):
        assert shown(message) == german
        assert shown(problem_of(message, "status")) == german.removeprefix("status: ")
        assert Invalid(message).message == english


def test_a_form_a_page_and_the_log_speak_german(visitor: Visitor, nora: Api) -> None:
    nora.update("worker", nora.ids["milo"], language="de_DE").ok()
    try:
        assert visitor.sign_in("milo@desk.example").status_code == 303
        response = visitor.send("/records/task/new", {"title": "x" * 300, "owner": ""})
        assert response.status_code == 422 and "öchstens 255 Zeichen, dies hat 300" in text_of(response.text)
        assert "s gibt nichts vom Typ task mit der Nummer 999999" in text_of(visitor.get("/records/task/999999").text)
        task = nora.create("task", title="Flansch").ok()["id"]
        nora.update("task", task, status="completed").ok()
        assert "hat die Aufgabe Flansch erledigt" in text_of(visitor.get(f"/records/task/{task}/activity").text)
        assert "completed task Flansch" in str(nora.search("activity_log", "sort:-id", limit=5).ok().json)
    finally:
        nora.update("worker", nora.ids["milo"], language="en_US").ok()
