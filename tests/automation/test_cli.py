"""The offline commands: kata, script and automation run, with files and with one request per line."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.__main__ import main
from server.cli import lines, workspace
from server.errors import Damaged
from server.store.lock import FolderLock
from tests.service import ROOT

pytestmark = pytest.mark.sqlite("the same with any store")

DONE, FAILED, USAGE = 0, 1, 2
ALLOW_ALL = "commands:\n  all:\n    allow: yes"
STORE = "  storage.set:\n    inputs:\n      key: k\n      value: teal\n"
RECALL = "  storage.get:\n    inputs:\n      key: k\n      default: none\n    output: got\n"

Answer = tuple[int, str, str]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary data folders are created."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Answer]:
    """Runs a command; returns exit code, standard output and standard error."""

    def run_one(*arguments: str, stdin: str | bytes = "") -> Answer:
        raw = stdin if isinstance(stdin, bytes) else stdin.encode("utf-8", "surrogatepass")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
        mask = os.umask(0o022)
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
        os.umask(mask)
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run_one


def answers(found: Answer) -> list[Any]:
    """Returns the responses of a command with --json-lines."""
    code, out, err = found
    assert (code, err) == (DONE, "")
    return [json.loads(line) for line in out.splitlines()]


def requests(*listed: Any) -> str:
    return "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in listed)


def made_nothing(folder: Path) -> bool:
    return not list(folder.iterdir())


# -- files -------------------------------------------------------------------------------------------------------------


def test_kata_prints_the_tree(run, tmp_path) -> None:
    file = tmp_path / "a.kata"
    file.write_text("&base:\n  x@int: 1\nuse@ref: base\nkite: \N{KITE}\nempty:\n")
    code, out, err = run("kata", str(file))
    assert (code, json.loads(out), err) == (DONE, {"use": {"x@int": "1"}, "kite": "\N{KITE}", "empty": {}}, "")
    assert "\N{KITE}" in out
    assert run("kata", "-", stdin="a: 1") == (DONE, '{\n "a": "1"\n}\n', "")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a:\n  b: 1\n b/x-y: 2", 3, "the name 'x-y'"),
        ("a: 1\na: 2", 2, "appears here twice"),
        ("just words", 1, "not a key with a colon"),
        ("a:\n\tb: 1", 2, "spaces"),
        ("\n" * 2000 + "&a@ref: a\nb@ref: a", 2001, "defined in terms of itself"),
    ],
)
def test_kata_reports_file_line_and_reason(run, tmp_path, text, line, words) -> None:
    file = tmp_path / "a.kata"
    file.write_text(text)
    code, out, err = run("kata", str(file))
    assert code == FAILED and out == ""
    assert err.startswith(f"{file}:{line}: ") and words in err and "(line" not in err and err.count("\n") == 1


def test_script_prints_only_the_rendered_template(run, tmp_path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Hi {{name}}{% for i in l %} {{i}}{% endfor %}")
    assert run("script", str(file), "--vars", '{"name": "\N{KITE}", "l": [1, 2]}') == (DONE, "Hi \N{KITE} 1 2", "")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a\n{{ nosuch() }}", "-:2: there is no function 'nosuch'"),
        ("{% if 1 %}", "-:1: "),
        ("{{ 1/0 }}", "-:1: a division"),
    ],
)
def test_script_reports_line_and_reason(run, text, place) -> None:
    code, out, err = run("script", "-", stdin=text)
    assert code == FAILED and out == "" and err.startswith(place) and err.count("\n") == 1


def test_automation_run_prints_end_variables_log_and_trace(run, tmp_path) -> None:
    script, policy = tmp_path / "a.kata", tmp_path / "p.kata"
    script.write_text("start:\n  log: Hi {{who}}\n" + STORE + RECALL + "  return:\n    r@key: got\n")
    policy.write_text("commands:\n  storage.set:\n    allow/it@bool: yes\n  all:\n    allow: yes")
    code, out, err = run("automation", "run", str(script), "--policy", str(policy), "--vars", '{"who": "Ana"}')
    found = json.loads(out)
    assert (code, err, list(found)) == (DONE, "", ["state", "return", "vars", "log", "trace"])
    assert (found["state"], found["return"], found["vars"]) == ("return", {"r": "teal"}, {"who": "Ana", "got": "teal"})
    assert found["log"] == [{"level": 7, "node": "start:log", "message": "Hi Ana"}]
    assert [(step["path"], step["verdict"], step["changed"]) for step in found["trace"]] == [
        ("start:log", "", []), ("start:storage.set", "allow/it", []), ("start:storage.get", "allow", ["got"]),
        ("start:return", "", []),
    ]  # fmt: skip


def test_a_failed_automation_is_reported_with_its_message(run) -> None:
    code, out, err = run("automation", "run", "-", stdin="start:\n" + STORE)
    found = json.loads(out)
    assert code == FAILED and found["state"] == "failure" and "no rule allows it" in found["message"]
    assert err == f"-: {found['message']}\n" and found["trace"][0]["error"] == found["message"]
    code, out, err = run("automation", "run", "-", stdin="start:\n  nosuch:\n")
    assert code == FAILED and "line 2" in err and json.loads(out)["trace"] == []


def test_simulate_runs_the_simulation_branches_and_stores_nothing(run, tmp_path) -> None:
    policy = tmp_path / "p.kata"
    policy.write_text(ALLOW_ALL)
    script = "start:\n" + STORE + RECALL + "    on_simulate:\n      simulate.success:\n        a: 1\n"
    code, out, _ = run("automation", "run", "-", "--simulate", "--policy", str(policy), stdin=script)
    assert code == DONE and json.loads(out)["vars"] == {"got": {"a": "1"}}
    script = "start:\n" + STORE + RECALL
    code, out, _ = run("automation", "run", "-", "--simulate", "--policy", str(policy), stdin=script)
    assert code == DONE and json.loads(out)["vars"] == {"got": "none"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("kata",), USAGE, "required"),
        (("kata", "a", "--json-lines"), USAGE, "not allowed"),
        (("script", "--json-lines", "--vars", "{}"), USAGE, "--vars cannot be used with --json-lines"),
        (("automation", "run", "--json-lines", "--simulate"), USAGE, "--simulate cannot be used with --json-lines"),
        (("automation", "run", "--json-lines", "--policy", "p"), USAGE, "--policy cannot be used with --json-lines"),
        (("automation",), USAGE, "ACTION"),
        (("kata", "absent.kata"), FAILED, "absent.kata cannot be read"),
        (("automation", "run", "-", "--policy", "absent.kata"), FAILED, "absent.kata cannot be read"),
        (("automation", "run", "-", "--policy", "-"), FAILED, "both"),
        (("script", "-", "--vars", "[1]"), FAILED, "JSON object"),
        (("script", "-", "--vars", "{a: 1}"), FAILED, "--vars is not valid JSON"),
        (("script", "-", "--data", "absent"), FAILED, "there is no database in absent"),
    ],
)
def test_wrong_arguments_are_refused(run, temporary, arguments, code, words) -> None:
    found, out, err = run(*arguments)
    assert (found, out) == (code, "") and words in err
    assert made_nothing(temporary) and not Path("absent").exists()


def test_bytes_that_are_not_text_are_reported(run, tmp_path) -> None:
    file = tmp_path / "a.kata"
    file.write_bytes(b"a: \xff")
    for arguments in (("kata",), ("script",), ("automation", "run")):
        code, out, err = run(*arguments, str(file))
        assert (code, out) == (FAILED, "") and "is not UTF-8: byte 4" in err


# -- one request per line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ({"source": "a:\n  b@int: 5"},
         {"tree": {"a": {"b@int": "5"}}, "lines": {"a": 0, "a:b": 1}, "value": {"a": {"b": 5}}}),
        ({"source": ""}, {"tree": {}, "lines": {}, "value": {}}),
        ({"source": "v: {{w}}"}, {"tree": {"v": "{{w}}"}, "lines": {"v": 0}, "value": {"v": "{{w}}"}}),
        ({"source": "v: {{w}}", "vars": {"w": "x"}}, {"tree": {"v": "{{w}}"}, "lines": {"v": 0}, "value": {"v": "x"}}),
        ({"source": "v: {{w}}", "vars": []}, {"tree": {"v": "{{w}}"}, "lines": {"v": 0}, "value": {"v": ""}}),
        ({"source": "v@wat: 1"},
         {"tree": {"v@wat": "1"}, "lines": {"v": 0}, "error": {"code": "UNKNOWN_ANNOTATION", "path": "v"}}),
        ({"source": "v: {{", "vars": {}},
         {"tree": {"v": "{{"}, "lines": {"v": 0}, "error": {"code": "TEMPLATE_ERROR", "path": "v"}}),
        ({"source": "v"}, {"error": {"code": "BAD_LINE", "line": 1}}),
    ],
)  # fmt: skip
def test_kata_responds_to_each_request(run, request_, answer) -> None:
    assert answers(run("kata", "--json-lines", stdin=requests(request_))) == [answer]


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ({"template": "{{a}}!", "vars": {"a": "x"}}, {"out": "x!"}),
        ({"template": "{{a}}!", "vars": None}, {"out": "!"}),
        ({"template": "{{{a}}} {{b}}", "vars": {"a": 1}, "delimiters": "package"}, {"out": "1 {{b}}"}),
        ({"template": "\n{{ 1/0 }}"}, {"error": "a division by zero", "line": 2}),
        ({"template": "", "delimiters": "packag"},
         {"error": "'delimiters' is script or package; did you mean 'package'?", "line": None}),
    ],
)  # fmt: skip
def test_script_responds_to_each_request(run, request_, answer) -> None:
    assert answers(run("script", "--json-lines", stdin=requests(request_))) == [answer]


def test_automation_responds_to_each_request(run, temporary) -> None:
    function = {"script": "inputs:\n  text/n:\n    type: number\nstart:\n  return:\n    sum@int: {{inputs.n + 1}}"}
    calls = "start:\n  function:\n    uri: svc:automation:add\n    inputs:\n      n@int: 4\n    output: o\n"
    other = {"script": "start:\n  return:", "extension_id": "svc.trigger.webhook.respond"}
    found = answers(run("automation", "run", "--json-lines", stdin=requests(
        {"script": "start:\n  log: {{a}}\n  return:\n    x: 1", "vars": {"a": "b"}},
        {"script": calls, "policy": ALLOW_ALL, "functions": {"add": function}},
        {"script": calls, "policy": ALLOW_ALL, "functions": {"add": other}},
        {"script": "start:\n  await:\n    until@int: 5"},
        {"script": "start:\n  error: stop"},
    )))  # fmt: skip
    assert found[0] == {
        "state": "return", "return": {"x": "1"}, "vars": {"a": "b"}, "logs": [[7, "start:log", "b"]],
    }  # fmt: skip
    assert (found[1]["state"], found[1]["vars"], found[1]["logs"]) == ("exit", {"o": {"sum": 5}}, [])
    assert found[2]["state"] == "failure" and "is not a function" in found[2]["message"]
    assert (found[3]["state"], found[3]["return"]) == ("await", {"until": 5})
    assert (found[4]["message"], found[4]["logs"]) == ("stop", [[3, "", "stop"]])
    assert made_nothing(temporary)


MALFORMED = [
    ("{", "is not valid JSON"), ("[1]", "JSON object"), ('"a"', "JSON object"), ("{}", "is missing"),
    ('{"REQUIRED": null}', "is missing"), ('{"REQUIRED": 5}', "must be a text"),
    ('{"REQUIRED": ["a"]}', "must be a text"),
    ('{"REQUIRED": "a", "varz": {}}', "did you mean 'vars'?"), ('{"REQUIRED": "a", "vars": [1]}', "must be a map"),
    ('{"REQUIRED": "a", "vars": "b"}', "must be a map"), ('{"REQUIRED": "\\ud800"}', "surrogate"),
    ('{"REQUIRED": "a", "vars": {"a": NaN}}', "number"), (b"\xff".decode("latin-1"), "valid"),
    ('{"REQUIRED": "a", "vars": ' + '{"a": ' * 5000 + "1" + "}" * 5001, "nested deeper"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "required"), [(("kata",), "source"), (("script",), "template"), (("automation", "run"), "script")]
)
def test_an_unreadable_line_has_its_own_response_and_the_rest_continue(run, command, required) -> None:
    good = {required: "start:"}
    listed = [each for line, _ in MALFORMED for each in (line.replace("REQUIRED", required), "", good)]
    raw = requests(*listed).encode().replace("\xff".encode(), b"\xff")
    found = answers(run(*command, "--json-lines", stdin=raw.rstrip(b"\n")))
    assert len(found) == 2 * len(MALFORMED)
    for (line, words), response in zip(MALFORMED, found[::2], strict=True):
        error = response["error"]["message"] if required == "source" else response["error"]
        assert words in error, line
    assert all(response == found[1] and "error" not in response for response in found[1::2])


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ({"f": "start:"}, "map of texts"), ({"f": {"script": 5}}, "map of texts"), ({"f": {"scrip": ""}}, "'script'?"),
        ({f"f{number}": {} for number in range(101)}, "at most 100"),
    ],
)  # fmt: skip
def test_unknown_functions_are_refused(run, functions, words) -> None:
    (found,) = answers(
        run("automation", "run", "--json-lines", stdin=requests({"script": "start:", "functions": functions}))
    )
    assert words in found["error"]


def test_a_line_that_is_too_long_is_skipped(run, monkeypatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)
    found = answers(run("script", "--json-lines", stdin=requests({"template": "x" * 1000}, {"template": "ok"})))
    assert found[0]["error"].startswith("a line has at most 100 bytes") and found[1:] == [{"out": "ok"}]


def test_no_line_sees_what_another_one_stored(run, temporary) -> None:
    stores = {"script": "start:\n" + STORE + RECALL, "policy": ALLOW_ALL}
    recalls = {"script": "start:\n" + RECALL, "policy": ALLOW_ALL}
    found = answers(run("automation", "run", "--json-lines", stdin=requests(stores, recalls, stores, recalls)))
    assert [each["vars"]["got"] for each in found] == ["teal", "none"] * 2
    assert made_nothing(temporary)


def test_values_without_json_are_approximated(run) -> None:
    script = "start:\n  return:\n    a@float: 1e999\n    b@base64: /w==\n    c: \N{KITE}"
    (found,) = answers(run("automation", "run", "--json-lines", stdin=requests({"script": script})))
    assert found["return"] == {"a": None, "b": "\udcff", "c": "\N{KITE}"}


# -- the store ---------------------------------------------------------------------------------------------------------


def test_commands_that_need_no_store_create_none(run, monkeypatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("a store was opened")

    monkeypatch.setattr(workspace.app, "open_service", refuse)
    script = "start:\n  function:\n    uri: nosuch\n    output: o\n    on_error:\n      log: x"
    asked = {"script": script, "policy": ALLOW_ALL, "vars": {"r": {"id": 1}}}
    (found,) = answers(run("automation", "run", "--json-lines", stdin=requests(asked)))
    assert found["state"] == "exit" and found["logs"] == [[7, "start:function:on_error:log", "x"]]
    assert run("kata", "-", stdin="a: 1")[0] == run("script", "-", stdin="{{ 1|abs }}")[0] == DONE


def test_the_temporary_folder_is_removed_after_an_error_too(run, tmp_path, temporary, monkeypatch) -> None:
    def fail(*_: Any) -> Any:
        assert not made_nothing(temporary)
        raise Damaged("no room")

    monkeypatch.setattr(workspace.app.setup, "prepare", fail)
    policy = tmp_path / "p.kata"
    policy.write_text(ALLOW_ALL)
    code, out, _ = run("automation", "run", "-", "--policy", str(policy), stdin="start:\n" + STORE)
    assert (code, json.loads(out)["message"]) == (FAILED, "no room") and made_nothing(temporary)
    code, out, _ = run("automation", "run", "--json-lines", stdin=requests({"script": "start:\n" + STORE}))
    assert code == DONE and made_nothing(temporary)


def test_a_given_data_folder_is_used_and_retained(run, tmp_path, temporary) -> None:
    data, policy = tmp_path / "data", tmp_path / "p.kata"
    policy.write_text(ALLOW_ALL)
    assert run("worker", "create", "--email", "a@desk.example", "--first-name", "A", "--data", str(data))[0] == DONE
    arguments = ("automation", "run", "-", "--policy", str(policy), "--data", str(data))
    assert run(*arguments, stdin="start:\n" + STORE)[0] == DONE
    assert json.loads(run(*arguments, stdin="start:\n" + RECALL)[1])["vars"] == {"got": "teal"}
    held = FolderLock(data)
    held.take()
    code, out, err = run(*arguments, stdin="start:")
    held.release()
    assert (code, out) == (FAILED, "") and f"{data} is used by a running server" in err
    assert run(*arguments, stdin="start:")[0] == DONE and made_nothing(temporary)


def test_responses_are_flushed_by_line_and_an_interrupted_command_leaves_nothing(tmp_path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "server", "automation", "run", "--json-lines"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(requests({"script": "start:\n" + STORE, "policy": ALLOW_ALL}).encode())
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["state"] == "exit"
    assert len(list(tmp_path.glob("helpdesk-*"))) == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert not list(tmp_path.glob("helpdesk-*"))
    process.stdin.close()
    process.stdout.close()
