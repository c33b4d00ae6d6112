"""Checks of scripts, policies and bindings before they are saved: accepted texts, and refused ones with their line."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.automation import checker, saving
from server.errors import AdminOnly, Invalid
from server.first_start import builtin_records
from server.record_types.registry import Registry, load
from server.record_types.shared import checks
from server.records import records
from server.records.writing import RecordWriter
from server.upkeep.checkup_automations import of_bindings
from tests.records.desk import Desk
from tests.service import Api

WEBHOOK, TIMER = "svc.trigger.webhook.respond", "svc.trigger.automation.timer"
DEEP = "\n".join(f"{' ' * depth}a{depth}:" for depth in range(2000))

SCRIPTS = {
    "only a return": "start:\n  return:",
    "no commands": "start:",
    "comments and carriage returns": "# \N{KITE}\r\nstart:\r\n  # x\r\n  return:\r\n",
    "inputs": "inputs:\n  text/a:\n    type: email\n    required@bool: yes\n    default: a@b.example\n  record/t:\n"
    "    record_type: task\n    expand: owner_\nstart:",
    "branches": "start:\n  storage.get/a:\n    inputs:\n      key: k\n    output: o\n    on_success:\n      log: a\n"
    "    on_error:\n      log: b\n    on_simulate:\n      simulate.success:\n        a: 1",
    "definitions": "&answer:\n  status_code@int: 200\nstart:\n  return@ref: answer",
    "a path on return": "start:\n  return@key: a:b",
    "templates": "start:\n  set:\n    a: {{ b|upper }} {% if c %}d{% endif %}\n  decision:\n    outcome/a:\n"
    "      if@bool: {{a == 1}}\n      then:\n        log: x",
    "loops": "start:\n  repeat:\n    each@key: l\n    as: i\n    do:\n      log: {{i}}\n  while:\n    if@bool: no\n"
    "    do:\n      log: a",
    "a function": "start:\n  function/a:\n    uri: svc:automation:b\n    inputs:\n      x: 1\n    output: o",
}

BAD_SCRIPTS = [
    ("just words", 1, "not a key with a colon"),
    ("# nothing", 1, "no `start:`"),
    ("start/x:\n  return:", 1, "'start' does not take a name"),
    ("start: text", 1, "start takes commands"),
    ("start:\nother:\n  a: 1", 2, "cannot be next to start"),
    ("stat:\n  log: x", 1, "did you mean 'start'?"),
    ("start:\n  retrun:", 2, "'retrun' is not a command; did you mean 'return'?"),
    ("start:\n  decision:\n    outcome/a:\n      then:\n        lgo: x", 5, "did you mean 'log'?"),
    ("start:\n  decision:\n    outcome/a:\n      else:\n        log: x", 4, "'else' does not belong in outcome"),
    ("start:\n  decision:\n    log: x", 3, "only outcomes"),
    ("start:\n  log.alert: x", 2, "write log.error"),
    ("start:\n  set@json: {}", 2, "cannot be used on a command"),
    ("start:\n  return:\n    x@wat: 5", 3, "'@wat' is not an annotation"),
    ("start:\n  return:\n    x@Int: 5", 3, "did you mean 'int'?"),
    ("start:\n  log: {{ a", 2, "has no end"),
    ("start:\n\n  log: {{ nosuch() }}", 3, "there is no function 'nosuch'"),
    ("start:\n  log: {{ a|uper }}", 2, "did you mean 'upper'?"),
    ("start:\n  set:\n    a@raw: {{ b|nosuch }}", 3, "there is no filter 'nosuch'"),
    ("start:\n  log@text:\n    one\n    two {{ nosuch() }}\n", 4, "there is no function"),
    ("start:\n  log: {% include 'a' %}", 2, "there is no tag 'include'"),
    ("start:\n  storage.get:\n    inputs:\n      key: k", 2, "needs an `output:`"),
    ("start:\n  storage.get:\n    output: o", 2, "needs the input 'key'"),
    ("start:\n  storage.get:\n    output: o\n    inputs:\n      key: k\n      deflaut: x", 6, "'default'?"),
    ("start:\n  storage.get:\n    output: o\n    input:\n      key: k", 4, "belong in storage.get; did you"),
    ("start:\n  repeat:\n    each@csv: a\n    do:\n      log: x", 2, "repeat needs `as:`"),
    ("start:\n  repeat:\n    each: a,b\n    as: i\n    do:\n      log: x", 3, "a text is not a list; write each@csv"),
    ("start:\n  while:\n    do:\n      log: x", 2, "while needs `if:`"),
    ("inputs:\n  txt/a:\nstart:", 2, "'txt' is not a kind of input; did you mean 'text'?"),
    ("inputs:\n  text:\nstart:", 2, "an input needs a name"),
    ("inputs:\n  text/a:\n    type: numbr\nstart:", 3, "did you mean 'number'?"),
    ("inputs:\n  text/a:\n    requierd: yes\nstart:", 3, "did you mean 'required'?"),
    ("start:\n  set:\n    a: 1\n    a@int: 2", 4, "appears here twice"),
    ("&a@ref: a\nstart:\n  return@ref: a", 1, "defined in terms of itself"),
    (DEEP, 101, "at most 100 maps"),
]

POLICIES = {
    "rules": "commands:\n  http.request:\n    allow/shop@bool: {{inputs.url starts with 'https://a/'}}\n    deny: yes\n"
    "settings:\n  time_limit_ms: 5000",
    "for all": "commands:\n  all:\n    deny: yes",
    "callers": "callers:\n  anything.here:\n    allow: yes\n    deny/x: no",
    "both kinds under one name": "commands:\n  storage.get:\n    allow/x: no\n    deny/x: yes",
    "annotated limit": "settings:\n  time_limit_ms@int: 500",
}

BAD_POLICIES = [
    ("commands: yes", 1, "must be a map"),
    ("comands:\n  all:\n    allow: yes", 1, "did you mean 'commands'?"),
    ("commands:\n  set:\n    allow: yes", 2, "needs no policy"),
    ("commands:\n  storage.gte:\n    allow: yes", 2, "did you mean 'storage.get'?"),
    ("commands:\n  storage.get: yes", 2, "takes rules below it"),
    ("commands:\n  storage.get:\n    alow: yes", 3, "a rule is `allow` or `deny`; did you mean 'allow'?"),
    ("commands:\n  storage.get:\n    allow:\n      a: b", 3, "a rule is yes, no"),
    ("commands:\n  storage.get:\n    allow/x: yes\n    allow/x: no", 4, "appears here twice"),
    ("commands:\n  storage.get:\n    allow: {{ nosuch() }}", 3, "there is no function"),
    ("callers: yes", 1, "must be a map"),
    ("callers:\n  a: yes", 2, "takes rules below it"),
    ("settings:\n  time_limit: 5", 2, "did you mean 'time_limit_ms'?"),
]

BINDINGS = {
    "entries": "automation/a:\n  uri: svc:automation:b\n  inputs:\n    x: {{y}}\n  disabled@bool: {{z == 1}}\n"
    "automation:\n  uri: b",
    "more than one switch": "automation/a:\n  uri: b\n  disabled/x: no\n  disabled/y: no\n  enabled@bool: yes",
    "nothing but remarks": "# later",
}

BAD_BINDINGS = [
    ("automation/a", 1, "not a key with a colon"),
    ("automation/a:\n  inputs:\n    x: 1", 1, "'uri' is required"),
    ("automation/a: b", 1, "must be object"),
    ("automaton/a:\n  uri: b", 1, "did you mean 'automation'?"),
    ("automation/a:\n  uri: b\n  disable@bool: no", 3, "did you mean 'disabled'?"),
    ("automation/a:\n  uri/x: b", 2, "'uri' does not take a name"),
    ("automation/a:\n  uri: b\n  inputs:\n    x: {{ nosuch() }}", 4, "there is no function"),
    ("automation/a:\n  uri@wat: b", 2, "'@wat' is not an annotation"),
    ("automation/a:\n  uri: b\nautomation/a:\n  uri: c", 3, "appears here twice"),
]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load()


@pytest.fixture
def desk(tmp_path: Path, registry: Registry) -> Iterator[Desk]:
    """A helpdesk with an empty database."""
    opened = Desk(tmp_path, registry)
    yield opened
    opened.close()


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_without_mistakes_pass(name):
    assert checker.check(SCRIPTS[name]) == []


@pytest.mark.parametrize(("script", "line", "words"), BAD_SCRIPTS)
def test_the_mistakes_of_scripts_are_found_with_their_lines(script, line, words):
    found = checker.check(script)
    assert any(each.line == line and words in each.message for each in found), found
    assert not any("(line" in each.message for each in found)


@pytest.mark.parametrize("name", POLICIES)
def test_policies_without_mistakes_pass(name):
    assert checker.check_policy(POLICIES[name]) == []


def test_callers_are_valid_and_unused_ones_cause_a_warning():
    (warned,) = checker.warn_of_policy("settings:\n  time_limit_ms: 1\n" + POLICIES["callers"])
    assert (warned.line, warned.path) == (4, "callers:anything.here") and "has no effect" in warned.message
    assert checker.warn_of_policy("callers:\n  svc.trigger.ticket.macro:\n    allow: yes") == []
    others = [text for name, text in POLICIES.items() if name != "callers"]
    assert [checker.warn_of_policy(text) for text in (*others, "", "a")] == [[]] * (len(others) + 2)


@pytest.mark.parametrize(("policy", "line", "words"), BAD_POLICIES)
def test_the_mistakes_of_policies_are_found_with_their_lines(policy, line, words):
    found = checker.check_policy(policy)
    assert any(each.line == line and words in each.message for each in found), found
    assert not any("(line" in each.message for each in found)


@pytest.mark.parametrize("text", BINDINGS.values())
def test_bindings_without_mistakes_are_saved(desk, text):
    if not desk.found("automation", "name:b"):
        desk.create("automation", name="b", extension_id=TIMER, script="start:\n  return:\n    a: 1\n")
    desk.create("automation_timer", name="T", automations_kata=text)


@pytest.mark.parametrize(("text", "line", "words"), BAD_BINDINGS)
def test_bindings_with_mistakes_are_refused(desk, text, line, words):
    with pytest.raises(Invalid) as refused:
        desk.create("automation_timer", name="T", automations_kata=text)
    assert refused.value.message.startswith(f"automations_kata: line {line}: ") and words in refused.value.message


def test_many_mistakes_are_sorted_by_line_and_limited():
    found = checker.check("start:\n" + "".join(f"  log/a{number}: {{{{ nosuch() }}}}\n" for number in range(5000)))
    assert [each.line for each in found] == list(range(2, 2 + checker.MAX_MISTAKES))
    found = checker.check_policy("commands:\n" + "".join(f"  nosuch{number}:\n" for number in range(5000)))
    assert len(found) == checker.MAX_MISTAKES


def test_an_error_lists_the_first_mistakes_and_counts_the_rest(desk):
    script = "start:\n" + "".join(f"  log/{number}: {{{{ f{number}() }}}}\n" for number in range(5))
    with pytest.raises(Invalid) as refused:
        desk.create("automation", name="a", extension_id=WEBHOOK, script=script)
    assert refused.value.message == (
        "script: line 2: there is no function 'f0'; line 3: there is no function 'f1'; line 4: there is no function "
        "'f2'; and 2 more"
    )
    assert refused.value.details == {"field": "script", "line": 2} and desk.found("automation", "") == []


EVERY_FIELD = {
    ("automation", "script"): ("start:", "start"),
    ("automation", "policy_kata"): ("commands:", "commands"),
    ("automation_event", "automations_kata"): ("automation/a:", "automation"),
    ("automation_timer", "automations_kata"): ("automation/a:", "automation"),
    ("project_board", "cards_kata"): ("automation/a:", "automation"),
    ("project_board_column", "cards_kata"): ("automation/a:", "automation"),
    ("project_board_column", "functions_kata"): ("automation/a:", "automation"),
    ("project_board_column", "toolbar_kata"): ("interaction/a:", "interaction"),
    ("resource", "automation_kata"): ("automation/a:", "automation"),
    ("toolbar", "toolbar_kata"): ("interaction/a:", "interaction"),
    ("webhook_listener", "automations_kata"): ("automation/a:", "automation"),
}


def test_every_checked_field_is_listed_here(registry):
    declared = {(each.uri, field) for each in registry for field in each.checked}
    assert declared == set(EVERY_FIELD) - {("toolbar", "toolbar_kata")}


@pytest.mark.parametrize(("uri", "field"), EVERY_FIELD)
def test_every_checked_field_refuses_a_mistake_on_create_and_on_update(desk, uri, field):
    good, bad = EVERY_FIELD[uri, field]
    builtin_records.add_missing(desk.context())
    others = {"name": "a.b", "extension_id": {"resource": "svc.resource.dataset.csv"}.get(uri, WEBHOOK)}
    fields: dict[str, object] = {name: each for name, each in others.items() if name in desk.registry.type(uri).fields}
    if uri == "project_board_column":
        fields["board_id"] = desk.create("project_board", name="Website")["id"]
    if desk.registry.type(uri).operations["create"]:
        with pytest.raises(Invalid, match=rf"^{field}: .*line 1: "):
            desk.create(uri, **fields, **{field: bad})
        id = desk.create(uri, **fields, **{field: good})["id"]
    else:
        id = desk.found(uri, "")[0]
    with pytest.raises(Invalid, match=rf"^{field}: .*line 1: "):
        desk.update(uri, id, **{field: bad})
    desk.update(uri, id, **{field: good})
    desk.update(uri, id, **{field: ""})
    assert desk.row(uri, id)[field] == ""


def test_an_upsert_is_checked_too(desk):
    with pytest.raises(Invalid, match="script: line 1"):
        fields = {"name": "a", "extension_id": WEBHOOK, "script": "start"}
        records.upsert(desk.context(), "automation", "name:a", fields)


def test_texts_saved_by_the_service_are_checked_too(desk):
    with pytest.raises(Invalid, match="script: line 1"):
        desk.own("automation", name="a", extension_id=WEBHOOK, script="start")


def test_a_mistake_saved_earlier_does_not_block_other_changes(desk):
    id = desk.own("automation", name="a", extension_id=WEBHOOK)
    table = desk.registry.type("automation").table
    desk.store.write(lambda tx: tx.update(table, id, {"script": "start"}))
    desk.update("automation", id, description="New", script="start")
    with pytest.raises(Invalid, match="script: line 2"):
        desk.update("automation", id, script="start:\n x")


def test_a_missing_permission_is_reported_first(desk):
    ids = desk.people()
    id = desk.create("automation", name="a", extension_id=WEBHOOK)["id"]
    with pytest.raises(AdminOnly):
        desk.update("automation", id, by=ids["olga"], script="start")


def test_texts_are_checked_once_and_not_on_the_writer(desk, monkeypatch):
    seen: list[threading.Thread] = []

    def check(text: str) -> checks.Mistakes:
        seen.append(threading.current_thread())
        return []

    monkeypatch.setitem(checks._CHECKS, "script", check)
    checks.mistakes.cache_clear()
    desk.create("automation", name="a", extension_id=WEBHOOK, script="start:")
    assert seen == [threading.current_thread()]
    checks.mistakes.cache_clear()


def test_a_text_without_a_checker_is_saved_unchanged(desk, monkeypatch):
    monkeypatch.setattr(checks, "_CHECKS", {})
    checks.mistakes.cache_clear()
    assert desk.create("automation", name="a", extension_id=WEBHOOK, script="start")["id"]
    monkeypatch.undo()
    saving.register()


def test_over_http_a_mistake_is_422_with_field_line_and_reason(api: Api):
    reply = api.create("automation", name="checked", extension_id=WEBHOOK, script="start:\n  log: {{ a|uper }}")
    assert reply.status == 422
    assert "script: line 2: there is no filter 'uper'; did you mean 'upper'?" in reply["message"]
    made = api.create("automation", expand="inputs", name="checked", extension_id=WEBHOOK,
                      script="&one:\n  text/a:\ninputs@ref: one\nstart:").ok()  # fmt: skip
    assert made["inputs"] == {"a": {"key": "a", "type": "text"}}
    assert api.create("webhook_listener", name="W", automations_kata="automation/a: b").status == 422
    api.remove("automation", made["id"]).ok()


def test_a_check_up_names_entries_that_never_run(desk):
    """Each finding names its holder; disabled entries and holders are left out."""
    script = "start:\n  return:\n    a: 1\n"
    ids = {
        name: desk.create("automation", name=name, extension_id=TIMER, script=script)["id"]
        for name in ("lost_one", "lost_two", "stays")
    }
    text = "automation/{0}:\n  uri: {0}\nautomation/stays:\n  uri: stays\nautomation/off:\n  uri: gone\n  disabled: yes"
    desk.create("automation_timer", name="Nightly", automations_kata=text.format("lost_one"))
    desk.create("automation_timer", name="Off", is_disabled=1, automations_kata=text.format("lost_one"))
    desk.create("automation_timer", name="Weekly", automations_kata=text.format("lost_two"))
    before = [str(each.found) for each in of_bindings(desk.service)]
    assert not any("lost" in each for each in before)
    desk.store.write(lambda tx: RecordWriter(desk.context(), tx).delete("automation", ids["lost_one"]))
    desk.update("automation", ids["lost_two"], extension_id=WEBHOOK)
    found = [str(each.found) for each in of_bindings(desk.service) if "lost" in str(each.found)]
    never = "automation_timer '{0}': automation/{1} never runs: "
    other = f"the automation 'lost_two' has the trigger {WEBHOOK}, but {TIMER} is required here"
    assert found == [
        never.format("Nightly", "lost_one") + "there is no automation 'lost_one'",
        never.format("Weekly", "lost_two") + other,
    ]
