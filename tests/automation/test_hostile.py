"""Malicious or careless automations: each is stopped with an error at its line and within its limits, or has no
harmful effect. None raises."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from server.automation import commands, engine, policy
from server.automation.automation_service import ServiceHost, perform
from server.automation.command import COMMANDS, Command, CommandCall
from server.automation.engine import RunResult
from server.automation.host import Script, StandaloneHost
from server.automation.run_log import MAX_ENTRIES, MAX_MESSAGE
from server.automation.trace import MAX_TRACED
from server.record_types.registry import load
from tests.records.desk import Desk

pytestmark = [pytest.mark.sqlite("the same with any store"), pytest.mark.exhaustive("hostile input for every command")]

ALLOW_ALL = "commands:\n  all:\n    allow: yes"
QUICK = "settings:\n  time_limit_ms: 300\n" + ALLOW_ALL
TOO_LARGE, TOO_DEEP = "values of the automation are too large", "values of the automation are nested"

# Doubles `a`: a list of two lists of two lists... Small in memory, and enormous when serialized.
NEST = (
    "  repeat/nest:\n    each@json: {{ (1..%d)|json_encode }}\n    as: i\n    do:\n      set:\n        a:\n"
    "          x@key: a\n"
)
DOUBLE = NEST + "          y@key: a\n"
NO_STATE = "its `__state` does not come from an await"


def calls(name: str, more: str = "") -> str:
    return f"start:\n  function/one:\n    uri: {name}\n    output: o\n{more}"


@dataclass(frozen=True)
class Attempt:
    """A script and its expected end. words: part of the message. line: named by the message, 0 for none. policy:
    allows everything by default; scripts that only end by time get little of it."""

    script: str
    state: str = "failure"
    words: str = ""
    line: int = 0
    policy: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)


SELF = calls("me")
AGAIN = "    on_error:\n      log: a\n"
TWICE = calls("me", f"{AGAIN}  function/two:\n    uri: me\n    output: o\n{AGAIN}")
GET = "  storage.get:\n    inputs:\n      key: a\n    output: o\n"

ATTEMPTS = {
    # -- endless
    "a function that calls itself": Attempt(SELF, words="at most 16 automations", functions={"me": SELF}),
    "two functions that call each other": Attempt(
        calls("a"), words="at most 16 automations", functions={"a": calls("b"), "b": calls("a")}
    ),
    "a function that calls itself twice, whatever happens": Attempt(TWICE, "error", functions={"me": TWICE}),
    "a loop for ever": Attempt("start:\n  while:\n    if: yes\n    do:\n      set:\n        a: 1", "error"),
    "a loop for ever that does nothing": Attempt("start:\n  while:\n    if: yes\n    do:\n      log:", "error"),
    "a loop for ever in a branch for errors": Attempt(
        "start:\n  storage.get:\n    on_error:\n      while:\n        if: yes\n        do:\n          log:", "error"
    ),
    "a loop whose body is a decision without an outcome": Attempt(
        "start:\n  while:\n    if: yes\n    do:\n      decision:\n        outcome:\n          if: 0", "error"
    ),
    "a loop inside of loops inside of loops": Attempt(
        "start:\n  repeat:\n    each@key: l\n    as: a\n    do:\n      repeat:\n        each@key: l\n        as: b\n"
        "        do:\n          repeat:\n            each@key: l\n            as: c\n            do:\n"
        "              set:\n                d: {{a}}", "error", values={"l": list(range(1000))},
    ),
    "a loop over a huge range": Attempt(
        "start:\n  repeat:\n    each@json: {{ (1..1000000000)|json_encode }}\n    as: a\n    do:\n      log: x",
        words="a list of 1,000,000,000 elements is too long", line=2,
    ),
    "a template without an end in sight": Attempt(
        "start:\n  log: a\n  set:\n    x: {% for a in l %}{% for b in l %}{% for c in l %}{{c}}{% endfor %}"
        "{% endfor %}{% endfor %}", "error", values={"l": list(range(2000))},
    ),
    # -- large
    "many parts between commas": Attempt(
        "start:\n  repeat:\n    each@csv: {{s}}\n    as: i\n    do:\n      log:", values={"s": "a," * 2_000_000},
        words="a list of 2,000,001 elements is too long", line=2,
    ),
    "many lines": Attempt(
        "start:\n  log: a\n  set:\n    a@list: {{s}}", values={"s": "a\n" * 2_000_000},
        words="a list of 2,000,001 elements is too long", line=3,
    ),
    "many values of JSON": Attempt(
        "start:\n  repeat:\n    each@json: {{s}}\n    as: i\n    do:\n      log:",
        words="a loop over 1,500,001 elements is too long", line=2, values={"s": f"[{'1,' * 1_500_000}1]"},
    ),
    "more values of JSON than a run may keep": Attempt(
        "start:\n  set:\n    a@json: {{s}}", words=TOO_LARGE, line=2, values={"s": f"[{'1,' * 1_500_000}1]"}, policy="",
    ),
    "deep JSON": Attempt(
        "start:\n  set:\n    a@json: {{s}}\n  return:\n    n@json: {{a == null}}", "return",
        values={"s": "[" * 100_000},
    ),
    "a text that doubles": Attempt(
        "start:\n  repeat:\n    each@json: {{ (1..64)|json_encode }}\n    as: i\n    do:\n      set:\n"
        "        s: {{s}}{{s}}",
        words="characters is too long", line=6, values={"s": "x"},
    ),
    "many long texts": Attempt(
        "start:\n  repeat:\n    each@json: {{ (1..1000)|json_encode }}\n    as: i\n    do:\n      var.set:\n"
        "        inputs:\n          key: k{{i}}\n          value: {{s}}{{s}}{{s}}", "failure",
        words="more memory than it may", line=6, values={"s": "x" * 1_000_000}, policy="",
    ),
    "a map that holds itself twice, again and again": Attempt("start:\n" + DOUBLE % 64, words=TOO_LARGE),
    "the same, returned": Attempt(f"start:\n{DOUBLE % 64}  return:\n    a@key: a", words=TOO_LARGE),
    "the same, to go on with later": Attempt(f"start:\n{DOUBLE % 64}  await:\n    b: 1", words=TOO_LARGE),
    "the same, in what a loop has left": Attempt(
        f"start:\n{DOUBLE % 64}  repeat/r:\n    each:\n      a@key: a\n      b@key: a\n    as: l\n    do:\n"
        "      set:\n        a: 1\n      await:\n        b: 1", words=TOO_LARGE,
    ),
    "the same, given to a command": Attempt(
        f"start:\n{DOUBLE % 64}  kata.parse:\n    inputs:\n      kata@key: a\n    output: o", words=TOO_LARGE
    ),
    "the same, given to a function": Attempt(
        f"start:\n{DOUBLE % 64}  function:\n    uri: f\n    inputs:\n      a@key: a", words=TOO_LARGE,
        functions={"f": "inputs:\n  array/a:\nstart:"},
    ),
    "the same, as JSON": Attempt(f"start:\n{DOUBLE % 64}  log: {{{{a|json_encode}}}}", "error"),
    "the same, compared": Attempt(f"start:\n{DOUBLE % 64}  log: {{{{ a.x == a.y }}}}", "error"),
    "a map in a map in a map": Attempt("start:\n" + NEST % 2000, words=TOO_DEEP),
    "that, given to a command": Attempt(
        f"start:\n{NEST % 2000}  kata.parse:\n    inputs:\n      kata@key: a\n    output: o", words=TOO_DEEP, line=9
    ),
    "a path of a thousand keys": Attempt(
        "start:\n  var.set:\n    inputs:\n      key: {{ 'a:'|repeat(1000) }}\n      value: 1", words="nested"
    ),
    "a list that grows by one, again and again": Attempt(
        "start:\n  while:\n    if: yes\n    do:\n      var.push:\n        inputs:\n          key: a\n"
        "          value: 1", "error",
    ),
    "a result of the largest texts": Attempt(
        "start:\n  set:\n    s: {{s}}{{s}}{{s}}{{s}}\n  return:\n    a@key: s\n    b@key: s\n    c@key: s\n"
        "    d@key: s\n    e@key: s", words=TOO_LARGE, values={"s": "x" * 4_000_000},
    ),
    # -- documents
    "2,000 levels": Attempt(
        "start:\n  set:\n" + "\n".join(f"{' ' * (4 + depth)}a:" for depth in range(2000)), words="at most 100 maps",
        line=101,
    ),
    "10,000 levels": Attempt("\n".join(f"{' ' * depth}a:" for depth in range(10_000)), words="at most 4,194,304"),
    "10 MiB": Attempt("start:\n" + "  # a remark\n" * 800_000, words="at most 4,194,304"),
    "many keys below a long one": Attempt(
        f"start:\n  set:\n    {'k' * 300_000}:\n" + "".join(f"      a{number}: 1\n" for number in range(1000)),
        words="too many keys stand below long ones", line=114,
    ),
    "a definition of itself": Attempt("&a:\n  b@ref: a\nstart:\n  set@ref: a", words="defined in terms of itself",
                                      line=2),
    "definitions of definitions": Attempt(
        "&d0: x\n" + "".join(
            f"&d{n}:\n" + "".join(f"  k{place}@ref: d{n - 1}\n" for place in range(10)) for n in range(1, 12)
        ) + "start:\n  set@ref: d11", words="definitions make more than 100,000 keys",
    ),
    "many uses of a large definition": Attempt(
        "&a:\n" + "".join(f"  k{number}: 1\n" for number in range(10_000)) + "start:\n  set:\n"
        + "".join(f"    u{number}@ref: a:k9999\n" for number in range(10_000)) + "  error: done", words="done",
    ),
    "commands that there are not, where nobody goes": Attempt(
        "start:\n  log: never\n  outcome:\n    if@bool: no\n    then:\n      storage.get:\n        on_error:\n"
        "          os.system: ls", words="'os.system' is not a command", line=8,
    ),
    "a text that is read as KATA, without an end": Attempt(
        "start:\n  kata.parse:\n    inputs:\n      kata@key: s\n    output: o", words="at most 100 maps",
        values={"s": "\n".join(f"{' ' * depth}a:" for depth in range(1000))},
    ),
    "a schema whose pattern has many stars": Attempt(
        "start:\n  kata.parse:\n    inputs:\n      kata: " + "a" * 5000 + ": 1\n      schema:\n"
        f"        attributePatterns:\n          p:\n            match: {'*a' * 40}b\n            attributes:\n"
        "              types:\n                any:\n    output: o", words="is not a known attribute",
    ),
    "a schema of the wrong shape": Attempt(
        "start:\n  kata.parse:\n    inputs:\n      kata: a: 1\n      schema:\n        attributes: x\n"
        "        attributePatterns:\n          p: y\n    output: o", words="'a' is not a known attribute",
    ),
    # -- unusual names and values
    "a name of many underscores": Attempt(
        "start:\n  return:\n    a: [{{" + "_a" * 60_000 + "}}]", "return", values={"_context": "x", "id": 1}
    ),
    "a path of many colons": Attempt("start:\n  return:\n    a@key: " + "a:" * 500_000, "return", values={"a": {}}),
    "a number of many digits": Attempt("start:\n  return:\n    a@int: " + "9" * 1_000_000, "return"),
    "a number beyond all": Attempt(
        "start:\n  record.get:\n    inputs:\n      record_type: task\n      record_id: 1e999\n    output: o",
        words="record_id",
    ),
    "a date of many words": Attempt("start:\n  return:\n    a@date: " + "next " * 200_000, "return"),
    "a pattern that tries everything": Attempt(
        "start:\n  return:\n    a: {{ s matches '/^(a+)+$/' }}", "return", values={"s": "a" * 100_000 + "!"}
    ),
    "loop variables with the names of others": Attempt(
        "start:\n  repeat:\n    each@csv: a,b\n    as: inputs,__state\n    do:\n      log: {{inputs}}", "exit",
        values={"inputs": {}},
    ),
    "an output in the place of the inputs": Attempt(
        "start:\n  var.set:\n    inputs:\n      key: a\n      value: 1\n    output: inputs\n  return:\n"
        "    i@key: inputs",
        "return",
    ),
    "a mock outside of a simulation": Attempt(
        "start:\n  log: a\n  simulate.success:\n    a: 1", words="belongs in on_simulate", line=3
    ),
    "a mock for the command around it": Attempt(
        "start:\n  storage.get:\n    on_error:\n      simulate.success:\n        a: 1", words="belongs in on_simulate",
        line=4,
    ),
    # -- the state of another run
    "a state that is a number": Attempt("start:\n  log: a", words=NO_STATE, values={"__state": {"frames": 5}}),
    **{
        f"a state with the frame {json.dumps(frame)}": Attempt(
            "start:\n  log: a\n  while:\n    if: yes\n    do:\n      log: b", words=words,
            values={"__state": {"frames": [frame]}},
        )
        for frame, words in (
            ("start", NO_STATE), ([], NO_STATE), (["start", 0, "plain"], NO_STATE),
            (["start", "0", "plain", None], NO_STATE), ([["start"], 0, "plain", None], NO_STATE),
            (["start", 0, "for", None], NO_STATE), (["start", 0, "plain", {}], NO_STATE),
            (["start", 0, "repeat", None], NO_STATE), (["start", 0, "repeat", {"names": 1, "left": []}], NO_STATE),
            (["start", 0, "repeat", {"names": ["a"], "left": [1]}], NO_STATE), (["start", 0, "while", ["a"]], NO_STATE),
            (["start", 0, "simulate", 7], NO_STATE), (["start", -1, "plain", None], "is not as it was"),
            (["start", 99, "plain", None], "is not as it was"),
            (["start:nowhere", 0, "plain", None], "is not as it was"),
        )
    },
    "a state that mocks a command that is not there": Attempt(
        "start:\n  simulate.success:\n    a: 1", words="belongs in on_simulate", line=2,
        values={"__state": {"frames": [["start", 0, "simulate", "start:nowhere"]]}},
    ),
    # -- policies
    "no policy": Attempt(f"start:\n{GET}", policy="", words="no rule allows it"),
    "a rule that fails": Attempt(
        f"start:\n{GET}", words="denied by its rule 'allow/a'",
        policy="commands:\n  storage.get:\n    allow/a: {{ 1/0 }}\n    allow: yes",
    ),
    "a rule against it that fails": Attempt(
        f"start:\n{GET}", words="denied by its rule 'deny'",
        policy="commands:\n  storage.get:\n    deny: {{ nosuch() }}\n    allow: yes",
    ),
    "a rule without an end": Attempt(
        f"start:\n{GET}    on_error:\n      log: a", line=2,
        words="too long", policy="commands:\n  storage.get:\n    allow: {{ (1..999999999)|length }}",
    ),
    "a policy that is none": Attempt("start:\n  log: a", policy="commands:\n  x", words="not a key with a colon"),
    "an input that is another one once it is allowed": Attempt(
        "start:\n  set:\n    k: theirs\n  storage.get:\n    inputs:\n      key: {{k}}\n    output: mine",
        policy="commands:\n  storage.get:\n    allow: {{ inputs.key == 'mine' }}", words="no rule allows it",
    ),
    "its own rules in the dictionary": Attempt(
        f"start:\n  set:\n    commands:\n      all:\n        allow: yes\n    policy: commands\n{GET}", policy="",
        words="no rule allows it",
    ),
    "pretending to simulate": Attempt(
        f"start:\n  set:\n    __simulate@bool: yes\n{GET}"
        "    on_simulate:\n      simulate.success:\n        a: 1", policy="", words="no rule allows it",
    ),
    "a function with a policy of its own, not that of its caller": Attempt(
        calls("f"), words="no rule allows it", functions={"f": f"start:\n{GET}"}
    ),
}  # fmt: skip


def run(attempt: Attempt, *, traced: int = 0) -> RunResult:
    policy = attempt.policy
    if policy is None:
        policy = QUICK if attempt.state == "error" else ALLOW_ALL
    functions = {
        name: Script(script, policy if "function" in script else "", name) for name, script in attempt.functions.items()
    }
    return engine.run(Script(attempt.script, policy), dict(attempt.values), StandaloneHost(functions), traced=traced)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_ends_as_expected(name):
    attempt = ATTEMPTS[name]
    found = run(attempt)
    assert (found.state, attempt.words in found.message) == (attempt.state, True), found.message
    if attempt.line:
        assert f"(line {attempt.line})" in found.message
    assert len(found.log) <= MAX_ENTRIES + 1 and all(len(each.message) <= MAX_MESSAGE for each in found.log)
    assert len(json.dumps([found.variables, found.returned])) < 128 * 1024 * 1024


def test_an_invalid_state_is_not_resumed():
    found = engine.run(Script("start:\n  log: a"), {"__state": "x"}, StandaloneHost())
    assert (found.state, [each.message for each in found.log]) == ("exit", ["a"])


def test_internal_names_in_the_dictionary_have_no_effect():
    script = (
        "start:\n  set:\n    __exit: return\n    __error: x\n    __return:\n      a: 1\n    __state:\n      frames: x\n"
        "    __expandable: y\n  log: still here"
    )
    found = run(Attempt(script))
    assert (found.state, found.returned, found.message, found.variables) == ("exit", None, "", {})
    assert [each.message for each in found.log] == ["still here"] and found.values["__exit"] == "exit"


def test_an_await_stores_its_own_state_and_not_that_of_the_script():
    script = "start:\n  set:\n    __state:\n      frames: x\n  await:\n    a: 1\n  log: after"
    found = run(Attempt(script))
    assert found.state == "await" and found.values["__state"] == {"frames": [["start", 2, "plain", None]]}
    again = engine.run(Script(script), json.loads(json.dumps(found.values)), StandaloneHost())
    assert (again.state, [each.message for each in again.log]) == ("exit", ["after"])


def test_a_forged_state_does_not_bypass_the_policy():
    forged = {"__state": {"frames": [["start", 1, "plain", None]]}}
    found = run(Attempt(f"start:\n  return:\n    a: 1\n{GET}", policy="", values=forged))
    assert found.state == "failure" and "no rule allows it" in found.message


def test_a_flood_of_the_log_is_cut_and_says_so():
    script = "start:\n  repeat:\n    each@json: {{ (1..5000)|json_encode }}\n    as: i\n    do:\n      log: {{s}}"
    found = run(Attempt(script, values={"s": "x" * 10_000}))
    assert len(found.log) == MAX_ENTRIES + 1 and "the rest is left out" in found.log[-1].message
    assert {len(each.message) for each in found.log[:-1]} == {MAX_MESSAGE}
    called = calls("f", "  function/b:\n    uri: f\n    output: o")
    found = run(Attempt(called, functions={"f": script.replace("{{s}}", "x")}))
    assert len(found.log) == MAX_ENTRIES + 1


def test_a_long_trace_is_cut_and_says_so():
    script = "start:\n  repeat:\n    each@json: {{ (1..15000)|json_encode }}\n    as: i\n    do:\n      log:"
    found = run(Attempt(script, policy=""), traced=MAX_TRACED)
    assert found.state == "exit" and len(found.trace) == MAX_TRACED + 1
    assert "only the first" in found.trace[-1].error and not found.trace[-2].error


def test_nothing_is_appended_to_the_last_line_of_a_cut_trace():
    failing = "    output: o\n    inputs:\n      url: http://127.0.0.1:1/\n    on_error:\n      log: {{o.error}}\n"
    script = "start:\n" + "".join(f"  http.request/{name}:\n{failing}" for name in "abc")
    found = run(Attempt(script, policy="commands:\n  http.request:\n    deny/all@bool: yes\n"), traced=2)
    assert [step.verdict for step in found.trace] == ["deny/all", "", ""] and found.state == "exit"
    assert "only the first" in found.trace[-1].error and len(found.log) == 3


def test_a_nested_run_ends_with_its_parents():
    endless = Script("start:\n  while:\n    if: yes\n    do:\n      log:", "settings:\n  time_limit_ms: 120000")
    caller = Script(calls("f", "    on_error:\n      log: {{o.error}}"), ALLOW_ALL)
    found = engine.Run(caller, {}, StandaloneHost({"f": endless}), latest=time.monotonic()).result()
    assert found.state == "error" and engine.LIMIT_REACHED in {each.message for each in found.log}


def test_a_bug_in_a_command_fails_only_the_run(monkeypatch, caplog):
    def broken(call: CommandCall) -> Any:
        raise ZeroDivisionError("secret")

    monkeypatch.setitem(COMMANDS, "broken", Command("broken", broken, (), "", governed=False))
    found = run(Attempt("start:\n  log: a\n  broken:\n    inputs:\n    on_error:\n      log: b"))
    assert found.state == "failure" and found.message.startswith("start:broken: ") and "(line 3)" in found.message
    assert "secret" not in found.message and "ZeroDivisionError" in caplog.text


def test_others_continue_while_one_is_endless():
    """The host ends the endless run, which queries it in each round."""
    begun, enough = threading.Event(), threading.Event()

    class Watched(StandaloneHost):
        def automation(self, name: str) -> Script | None:
            begun.set()
            return Script(f"start:\n  return:\n    on: {int(not enough.is_set())}")

    script = (
        "start:\n  set:\n    go:\n      on: 1\n  while:\n    if: {{go.on}}\n    do:\n      function:\n        uri: f\n"
        "        output: go\n  return:\n    over: yes"
    )
    ended: list[RunResult] = []
    endless = Script(script, "settings:\n  time_limit_ms: 120000\n" + ALLOW_ALL)
    thread = threading.Thread(target=lambda: ended.append(engine.run(endless, {}, Watched())))
    thread.start()
    assert begun.wait(60)
    for _ in range(5):
        assert engine.run(Script("start:\n  return:\n    a: 1"), {}, StandaloneHost()).returned == {"a": "1"}
    assert not ended
    enough.set()
    thread.join(60)
    assert ended[0].returned == {"over": "yes"}


# -- with a service ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    opened = Desk(tmp_path_factory.mktemp("hostile"), load())
    yield opened
    opened.close()


GIVEN = {"id": 1, "number": 1, "flag": "yes", "map": {"a": "b"}, "text or map": "a"}


def governed() -> list[str]:
    commands.load()
    return sorted(name for name, each in COMMANDS.items() if each.governed)


@pytest.mark.parametrize("name", governed())
@pytest.mark.parametrize("policy", ["", "commands:\n  set:\n    allow: yes\n  other.command:\n    allow: yes"])
def test_every_outgoing_command_is_denied_unless_a_rule_allows_it(desk, name, policy):
    command = COMMANDS[name]
    lists = ("list", "text or list")
    needed = [each for each in command.inputs if each.required]
    given = {each.name: ["a"] if each.kind in lists else GIVEN.get(each.kind, "a") for each in needed}
    node = {key: value for key, value in given.items() if key in command.own_keys}
    below = {key: value for key, value in given.items() if key not in command.own_keys}
    script = "start:\n  " + name + ":\n    output: o\n" + "".join(
        f"    {key}@key: given:{key}\n" for key in node
    ) + ("    inputs:\n" if below else "") + "".join(f"      {key}@key: given:{key}\n" for key in below)  # fmt: skip
    found = perform(desk.context(), Script(script, policy), {"given": given})
    assert found.state == "failure" and f"run {name}: no rule allows it" in found.message


def count(desk: Desk) -> tuple[int, int]:
    return len(desk.found("task", "")), len(desk.found("automation_log", ""))


def test_a_dry_run_writes_nothing_and_sends_nothing(desk):
    script = (
        "start:\n  record.create:\n    inputs:\n      record_type: task\n      fields:\n        title: T\n"
        "    output: t\n  storage.set:\n    inputs:\n      key: dry\n      value: x\n  log: {{t.title}}\n"
        "  http.request:\n    inputs:\n      url: https://shop.example/\n    output: h\n    on_error:\n"
        "      log: {{h.error}}"
    )
    before = count(desk)
    found = perform(desk.context(), Script(script, ALLOW_ALL), {}, dry=True)
    assert found.state == "exit" and count(desk) == before
    assert [each.message for each in found.log if "not run in a simulation" in each.message], found.log
    recalled = "start:\n  storage.get:\n    inputs:\n      key: dry\n      default: none\n    output: o"
    assert perform(desk.context(), Script(recalled, ALLOW_ALL), {}).variables == {"o": "none"}


def test_a_simulation_flag_set_by_a_script_has_no_effect(desk):
    script = "start:\n  set:\n    __simulate@bool: yes\n  function:\n    uri: f\n    output: o"
    desk.create("automation", name="f", extension_id="svc.trigger.automation.function", script=(
        "start:\n  storage.set:\n    inputs:\n      key: a\n      value: b\n    output: o\n    on_simulate:\n"
        "      simulate.success:\n        a: 1\n  return:\n    o@key: o"
    ))  # fmt: skip
    found = perform(desk.context(), Script(script, ALLOW_ALL), {})
    assert found.state == "failure" and "no rule allows it" in found.message


def test_an_arbitrary_record_name_loads_nothing(desk):
    script = (
        "start:\n  return:\n    a: [{{x_name}}]\n    b: [{{y_name}}]\n    c: [{{x_owner_owner_owner_email}}]\n"
        "    d@key: x_name\n    e: [{{z_name}}{{w_name}}]"
    )
    values = {"x__context": "nosuch", "x_id": 1, "y__context": "task", "y_id": "9" * 30, "z__context": "task",
              "z_id": 10**30, "w__context": ["a"], "w_id": {}}  # fmt: skip
    found = engine.run(Script(script), values, ServiceHost(desk.context()))
    assert found.returned == {"a": "[]", "b": "[]", "c": "[]", "d": None, "e": "[]"}


def test_the_log_of_a_failed_run_is_stored_and_cut(desk):
    before = count(desk)[1]
    found = perform(desk.context(), Script("start:\n  error: {{s}}", "", "fails"), {"s": "x" * 100_000})
    assert found.state == "failure" and count(desk)[1] == before + 1
    assert len(desk.row("automation_log", desk.found("automation_log", "")[-1])["message"]) <= MAX_MESSAGE


@pytest.mark.parametrize("name", sorted(commands.load()))
def test_every_command_is_charged_for_its_input_before_reading_it(monkeypatch, name):
    monkeypatch.setattr(engine, "MAX_NODES", 100)  # and ten times as many steps
    known = COMMANDS[name]
    key = "inputs@key" if known.inputs else "inputs"
    script = f"start:\n  {name}:\n    output: o\n    {key}: given\n"
    found = engine.run(Script(script, ALLOW_ALL), {"given": {"any": ["x"] * 5000}}, StandaloneHost())
    if known.inputs:
        assert found.state == "failure" and "more steps than it may" in found.message, found.message


@pytest.mark.parametrize("command", [
    "var.set:\n      inputs:\n        key: m:a\n        value: 1",
    "var.push:\n      inputs:\n        key: m\n        value: 1",
    "var.unset:\n      inputs:\n        key: m:0",
])  # fmt: skip
def test_commands_are_charged_for_copies(monkeypatch, command):
    monkeypatch.setattr(engine, "MAX_NODES", 100)
    script = f"start:\n  {command}\n"
    found = engine.run(Script(script, ALLOW_ALL), {"m": ["x"] * 5000}, StandaloneHost())
    assert found.state == "failure" and "more steps than it may" in found.message, found.message


def test_parsed_kata_is_charged_by_its_lines(monkeypatch):
    monkeypatch.setattr(engine, "MAX_NODES", 100)
    script = "start:\n  kata.parse:\n    output: o\n    inputs:\n      kata@key: text\n"
    found = engine.run(Script(script, ALLOW_ALL), {"text": "a: b\n" * 500}, StandaloneHost())
    assert found.state == "failure" and "more steps than it may" in found.message, found.message


def test_a_run_has_ten_seconds_unless_its_policy_allows_more():
    policies = ("", "settings:\n  time_limit_ms: 60000", "settings:\n  time_limit_ms: 500000")
    assert [policy.read(text).seconds for text in policies] == [10.0, 60.0, 120.0]
