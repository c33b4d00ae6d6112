"""What operations refuse is told in the worker's language where the console knows the sentence."""

import re

import pytest

from server import refusals, resources, translation
from tests.console.visitor import Visitor, text_of
from tests.service import Api

TOLD = [
    ("there is no task 999999", "es gibt nichts vom Typ task mit der Nummer 999999"),
    ("email_id: 'v@x.example' belongs to worker 13 already", "email_id: „v@x.example“ gehört schon zum Mitarbeiter 13"),
    ("status: 'opne' is not one of open, closed; did you mean 'open'?",
     "status: „opne“ ist keines von open, closed; meinten Sie „open“?"),
    ("at most 255 characters, this has 300", "höchstens 255 Zeichen, dies hat 300"),
    ("nobody ever said this: 12", "nobody ever said this: 12"),
    ("Ticket: 5 of 6", "Ticket: 5 of 6"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "german"), TOLD)
def test_a_refusal_is_found_again_in_another_language(message: str, german: str) -> None:
    assert refusals.translated(message) == message
    with translation.speaking(translation.Languages((resources.path(translation.FOLDER),)).of("de")):
        assert refusals.translated(message) == german


def test_a_message_finds_itself_and_no_other() -> None:
    for each in map(str, refusals.KNOWN):
        text = re.sub(r"\{(\w+)\}", "7", each)
        first = next(message for message in map(str, refusals.KNOWN) if refusals._pattern(message).fullmatch(text))
        assert refusals._pattern(first).fullmatch(text), each


def test_a_form_a_page_and_the_log_speak_german(visitor: Visitor, nora: Api) -> None:
    nora.update("worker", nora.ids["milo"], language="de_DE").ok()
    try:
        assert visitor.sign_in("milo@desk.example").status_code == 303
        answer = visitor.send("/records/task/new", {"title": "x" * 300, "owner": ""})
        assert answer.status_code == 422 and "öchstens 255 Zeichen, dies hat 300" in text_of(answer.text)
        assert "s gibt nichts vom Typ task mit der Nummer 999999" in text_of(visitor.get("/records/task/999999").text)
        task = nora.create("task", title="Flansch").ok()["id"]
        nora.update("task", task, status="completed").ok()
        assert "hat die Aufgabe Flansch erledigt" in text_of(visitor.get(f"/records/task/{task}/activity").text)
        assert "completed task Flansch" in str(nora.search("activity_log", "sort:-id", limit=5).ok().json)
    finally:
        nora.update("worker", nora.ids["milo"], language="en_US").ok()
