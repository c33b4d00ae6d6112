"""Automations of widgets: their HTML, with the rights of the reader, and without changing anything."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.automation import widget_runs
from server.automation.command import COMMANDS
from server.automation.commands import load
from server.automation.widget_runs import TRIGGER, widget_html
from server.errors import Forbidden, HelpdeskError, KataSyntax, NotFound, ScriptError
from tests.records.desk import Desk

ALL = "commands:\n  all:\n    allow: yes\n"
READING = {"data.query", "function", "record.get", "record.search", "storage.get"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def ids(desk: Desk) -> dict[str, int]:
    """nora administers; olga is in no group."""
    return desk.people()


@pytest.fixture
def automation(desk, ids):
    """Creates automations of widgets."""

    def create(name, script, policy=ALL, trigger=TRIGGER):
        return desk.create("automation", name=name, extension_id=trigger, script=script, policy_kata=policy)["id"]

    return create


@pytest.fixture
def html(desk, ids):
    """Returns what a widget with these automations shows to a reader, nora by default."""

    def shown(*names, by="nora", inputs=""):
        entries = [f"automation/{name.replace('.', '_')}:\n  uri: svc:automation:{name}\n{inputs}" for name in names]
        return widget_html(desk.context(ids[by]), {"id": 1, "params": {"automations_kata": "".join(entries)}})

    return shown


def test_the_reader_sees_what_their_own_rights_allow(desk, ids, automation, html):
    few = desk.create("group", name="Few", is_private=1)["id"]
    id = desk.create("ticket", subject="Secret offer", group_id=few)["id"]
    script = (
        "start:\n  record.search/all:\n    output: found\n    inputs:\n      record_type: ticket\n"
        f"      record_query: id:{id}\n  return:\n    html: <b>{{{{found|length}}}} of {{{{worker_first_name}}}}</b>\n"
    )
    automation("tickets.seen", script)
    assert html("tickets.seen", by="nora") == "<b>1 of Nora</b>"
    assert html("tickets.seen", by="olga") == "<b>0 of Olga</b>"


def test_inputs_are_those_of_the_widget(desk, automation, html):
    automation("greet", "inputs:\n  text/who:\nstart:\n  return:\n    html: Hello {{inputs.who}}\n")
    assert html("greet", inputs="  inputs:\n    who: {{worker_first_name}}\n") == "Hello Nora"


def test_templates_of_the_page_call_no_functions_of_the_service(desk, automation, html):
    automation("greet", "inputs:\n  text/who:\nstart:\n  return:\n    html: Hello {{inputs.who}}\n")
    with pytest.raises(HelpdeskError, match="svc_automation"):
        html("greet", inputs="  inputs:\n    who: {{svc_automation('x', {})}}\n")


def test_the_first_that_can_run_is_the_only_one(desk, automation, html):
    automation("one", "start:\n  return:\n    html: One\n")
    automation("two", "start:\n  return:\n    html: Two\n")
    automation("other", "start:\n  return:\n    html: Other\n", trigger="svc.trigger.automation.function")
    assert html("missing", "other", "two", "one") == "Two"
    automation("broken", "start:\n  error: It is broken\n")
    with pytest.raises(ScriptError, match="It is broken"):
        html("broken", "one")
    with pytest.raises(NotFound, match=r"each needs the trigger svc\.trigger\.ui\.widget"):
        html("missing", "other")
    with pytest.raises(NotFound):
        html()
    with pytest.raises(KataSyntax):
        widget_html(desk.context(), {"id": 1, "params": {"automations_kata": "automation/x: y"}})


def test_a_policy_says_who_may_see_it(desk, ids, automation, html):
    policy = ALL + f"callers:\n  {TRIGGER}:\n    allow@bool: {{{{worker_first_name == 'Nora'}}}}\n"
    automation("for.nora", "start:\n  return:\n    html: Yes\n", policy)
    assert html("for.nora") == "Yes"
    with pytest.raises(Forbidden, match="policy"):
        html("for.nora", by="olga")


CHANGING = {
    "record.create": "      record_type: task\n      fields:\n        title: Made by a page",
    "record.upsert": "      record_type: task\n      record_query: title:nothing\n      fields:\n        title: Made",
    "storage.set": "      key: page\n      value: 1",
    "queue.push": "      queue_name: page\n      messages:\n        0: x",
    "http.request": "      url: https://kite.example/",
    "file.write": "      content: x",
    "data.query": "      query: type:automation.invoke name:other",
}


@pytest.mark.parametrize("name", CHANGING)
def test_commands_that_change_something_are_refused(name, desk, automation, html):
    desk.create("queue", name="page")
    automation("other", "start:\n  return:\n    data: 1\n", trigger="svc.trigger.data.query")
    command = f"  {name}/it:\n    output: made\n    inputs:\n{CHANGING[name]}\n"
    automation("changes", f"start:\n{command}  return:\n    html: Done\n")
    before = desk.found("task", "")
    with pytest.raises(ScriptError, match="is not run here: an automation of a widget only reads"):
        html("changes")
    assert desk.found("task", "") == before


def test_a_called_automation_only_reads_as_well(desk, automation, html):
    inner = "start:\n  record.create/it:\n    output: made\n    inputs:\n" + CHANGING["record.create"] + "\n"
    automation("inner", inner, trigger="svc.trigger.automation.function")
    outer = "start:\n  function/it:\n    uri: svc:automation:inner\n    output: x\n  return:\n    html: Done\n"
    automation("outer", outer)
    with pytest.raises(ScriptError, match="only reads"):
        html("outer")


def test_only_these_commands_read():
    load()
    assert {each.name for each in COMMANDS.values() if each.reads} == READING


def test_nothing_is_logged_or_counted(desk, automation, html):
    id = automation("logs", "start:\n  log: Seen\n  return:\n    html: One\n")
    before = desk.row("automation", id), desk.found("automation_log", "")
    assert html("logs") == "One"
    assert (desk.row("automation", id), desk.found("automation_log", "")) == before


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("start:\n  return:\n    text: One\n", "returns no text as `html`"),
        ("start:\n  var.set/x:\n    inputs:\n      key: a\n      value: 1\n", "returns no text as `html`"),
    ],
)
def test_what_is_no_html_is_refused(script, message, desk, automation, html):
    automation("wrong", script)
    with pytest.raises(HelpdeskError, match=message):
        html("wrong")


def test_html_has_a_limit(desk, automation, html, monkeypatch):
    monkeypatch.setattr(widget_runs, "MAX_HTML_CHARS", 5)
    automation("long", "start:\n  return:\n    html: 123456\n")
    with pytest.raises(ScriptError, match="more than 5 characters"):
        html("long")
