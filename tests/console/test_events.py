"""The page of an event: its automations, their order, and two administrators who change it at once."""

import re
from typing import Any

import pytest

from tests.console.visitor import Visitor, place, text_of
from tests.records.desk import Desk
from tests.service import Api

TRIGGER = "svc.trigger.mail.received"
NAMES = ("event.first", "event.second", "event.third")
TEXT = """# First of all
automation/first:
  uri: svc:automation:event.first

automation/second:
  uri: svc:automation:event.second
  disabled@bool: yes
# With an input
automation/third:
  uri: svc:automation:event.third
  inputs:
    level: high
"""


@pytest.fixture
def event(nora: Api) -> Any:
    """The id of an event with three automations."""
    [id] = nora.found("automation_event", "name:mail.received")
    before = nora.record("automation_event", id, expand="automations_kata")["automations_kata"]
    made = [
        nora.create("automation", name=name, extension_id=TRIGGER, script="start:\n  log: here").ok()["id"]
        for name in NAMES
    ]
    nora.update("automation_event", id, automations_kata=TEXT).ok()
    yield id
    nora.update("automation_event", id, automations_kata=before).ok()
    for each in made:
        nora.remove("automation", each).ok()


def binding(nora: Api, id: int) -> str:
    return str(nora.record("automation_event", id, expand="automations_kata")["automations_kata"])


def order(text: str) -> list[str]:
    return re.findall(r"^automation/(\w+):", text, re.MULTILINE)


def version(page: str) -> str:
    found = re.search(r'name="version" value="(\w+)"', page)
    assert found is not None
    return found[1]


def test_events_are_listed_with_their_automations(signed_in: Visitor, event: int) -> None:
    page = signed_in.get("/automations/events").text
    row = text_of(page[page.index(f"/automations/events/{event}") :].partition("</tr>")[0])
    row = row.replace(" ", "")  # names may break after a dot
    assert row.index("event.first") < row.index("event.second") < row.index("event.third")
    assert "mail.received" in row and "off" in row
    assert place(signed_in.get(f"/records/automation_event/{event}/edit")) == f"/automations/events/{event}"


def test_entries_move_with_their_comments(signed_in: Visitor, nora: Api, event: int) -> None:
    path = f"/automations/events/{event}"
    for name, to, expected in (
        ("third", "up", ["first", "third", "second"]),
        ("first", "down", ["third", "first", "second"]),
        ("third", "up", ["third", "first", "second"]),  # the first entry stays first
        ("second", "down", ["third", "first", "second"]),
    ):
        form = {"name": name, "to": to, "version": version(signed_in.get(path).text)}
        assert signed_in.send(f"{path}/move", form, path).status_code == 303
        assert order(binding(nora, event)) == expected
    text = binding(nora, event)
    assert "# With an input\nautomation/third:" in text and "# First of all\nautomation/first:" in text
    assert "level: high" in text


def test_two_simultaneous_administrators_lose_nothing(signed_in: Visitor, nora: Api, event: int) -> None:
    path = f"/automations/events/{event}"
    seen = version(signed_in.get(path).text)
    theirs = f"{TEXT}# By somebody else\n"
    nora.update("automation_event", event, automations_kata=theirs).ok()
    for act, form in (("move", {"name": "third", "to": "up"}), ("remove", {"name": "first"})):
        assert signed_in.send(f"{path}/{act}", {**form, "version": seen}, path).status_code == 303
        assert binding(nora, event) == theirs
        assert "changed what runs on this event" in text_of(signed_in.get(path).text)
    mine = TEXT.replace("level: high", "level: low")
    refused = signed_in.send(path, {"text": mine, "version": seen}, path)
    assert refused.status_code in (409, 422) and "level: low" in refused.text and "By somebody else" in refused.text
    assert binding(nora, event) == theirs
    saved = signed_in.send(path, {"text": mine, "version": version(refused.text)}, path)
    assert saved.status_code == 303 and binding(nora, event) == mine


def test_an_automation_is_added_and_removed(signed_in: Visitor, nora: Api, event: int) -> None:
    path = f"/automations/events/{event}"
    fourth = nora.create("automation", name="event.fourth", extension_id=TRIGGER, script="start:\n  log: x").ok()["id"]
    assert f'value="{fourth}"' in signed_in.get(path).text
    assert signed_in.send(f"{path}/add", {"automation": str(fourth)}, path).status_code == 303
    assert order(binding(nora, event)) == ["first", "second", "third", "event_fourth"]
    form = {"name": "first", "version": version(signed_in.get(path).text)}
    assert signed_in.send(f"{path}/remove", form, path).status_code == 303
    assert order(binding(nora, event)) == ["second", "third", "event_fourth"]
    assert "First of all" not in binding(nora, event)
    assert signed_in.send(f"{path}/add", {"automation": ""}, path).status_code == 422
    nora.remove("automation", fourth).ok()
    assert "never runs" in text_of(signed_in.get(path).text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("automation/x:\n  uri: svc:automation:event.frist\n", "event.first"),
        ("automation/x:\n  url: y\n", "uri"),
        ("automation/x\n  y", "automation"),
    ],
)
def test_a_binding_that_could_not_run_is_refused_and_stays_in_the_form(
    signed_in: Visitor, nora: Api, event: int, text: str, told: str
) -> None:
    path = f"/automations/events/{event}"
    refused = signed_in.send(path, {"text": text, "version": version(signed_in.get(path).text)}, path)
    assert refused.status_code == 422 and told in text_of(refused.text) and text.split("\n")[0] in refused.text
    assert binding(nora, event) == TEXT


def test_events_are_for_administrators(visitor: Visitor, desk: Desk, event: int) -> None:
    visitor.sign_in("milo@desk.example")
    for path in ("/automations/events", f"/automations/events/{event}"):
        assert visitor.get(path).status_code == 403
    for act in ("", "/move", "/remove", "/add"):
        assert visitor.send(f"/automations/events/{event}{act}", {"name": "first"}, "/account").status_code == 403
    visitor.send("/sign-out", page="/account")
