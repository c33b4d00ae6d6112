"""The command line: help for new users, results on standard output, everything else on standard error, exit codes."""

import argparse
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from server import passwords
from server.__main__ import main
from server.access.logins import WORKER_LOGIN
from server.cli.commands import ABOUT, parser
from server.settings import SETTINGS
from tests.console.visitor import Visitor, place
from tests.service import PASSWORD, Api, Server, command

DONE, FAILED, USAGE = 0, 1, 2
PARTS = set("aliases context operations fields keys expand filters sort subtotals events".split())


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands run in this process; restores the settings that they change."""
    for name in [name for name in os.environ if name.startswith("HELPDESK_")]:
        monkeypatch.delenv(name)
    handlers, level, mask = logging.getLogger().handlers[:], logging.getLogger().level, os.umask(0o022)
    yield
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)
    os.umask(mask)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with ana, an administrator; ben; and dora, who is disabled."""
    data = tmp_path_factory.mktemp("commands") / "data"
    server = Server(data)
    nora = server.set_up()
    for name in ("ana", "ben", "dora"):
        made = nora.create("worker", first_name=name, email=f"{name}@desk.example", language="en_US", timezone="UTC")
        nora.ids[name] = made.ok()["id"]
    nora.update("worker", nora.ids["ana"], is_superuser=1).ok()
    nora.update("worker", nora.ids["dora"], is_disabled=1).ok()
    server.stop()
    return data


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command on the folder; returns exit code, standard output, standard error."""

    def run_one(*arguments: str, data: Path = folder) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = main([*arguments, "--data", str(data)])
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_one


def _commands(found: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from _commands(inner, (*words, name))


def _parser_of(words: tuple[str, ...]) -> argparse.ArgumentParser:
    found = parser()
    for word in words:
        (choices,) = [each.choices for each in found._actions if isinstance(each, argparse._SubParsersAction)]
        found = choices[word]
    return found


COMMANDS = list(_commands(parser()))


def test_all_commands_are_there() -> None:
    expected = [
        ("serve",), ("worker", "create"), ("token", "create"), ("mail", "import"), ("describe",), ("check",),
    ]  # fmt: skip
    assert set(expected) <= set(COMMANDS)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_and_option_has_help(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    shown = capsys.readouterr()
    assert ended.value.code == DONE and shown.err == ""
    assert shown.out.startswith(" ".join(["usage: helpdesk", *words]))
    found = _parser_of(words)
    assert found.description
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            assert all(each.help for each in action._choices_actions)
        else:
            assert action.help, action.dest


@pytest.mark.parametrize("flag", "--host --port --data --base-url --no-open".split())
def test_serve_has_the_flags_that_are_promised(flag: str) -> None:
    assert flag in _parser_of(("serve",)).format_help()


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], ["no-such-command"]])
def test_what_needs_no_service_is_answered_before_one_is_imported(arguments: list[str]) -> None:
    told = (
        "import atexit, sys; from server.__main__ import main; "
        "atexit.register(lambda: print(*(each for each in sys.modules if each.startswith(('server.', 'console'))))); "
        "sys.exit(main(sys.argv[1:]))"
    )
    ended = subprocess.run([sys.executable, "-c", told, *arguments], capture_output=True, text=True, timeout=60)
    modules = {each.removeprefix("server.") for each in ended.stdout.splitlines()[-1].split()}
    assert modules == {"__main__", "cli", "cli.commands", "dataclass", "errors", "late_files", "settings"}


@pytest.mark.parametrize("name", sorted(ABOUT))
def test_a_command_is_the_same_alone_as_among_all(name: str) -> None:
    (alone,), (among_all,) = (
        [each.choices[name] for each in made._actions if isinstance(each, argparse._SubParsersAction)]
        for made in (parser(name), parser())
    )
    assert alone.format_help() == among_all.format_help() and alone.get_default("run") == among_all.get_default("run")
    assert parser(name).format_help() == parser().format_help()


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == DONE and capsys.readouterr().out.startswith("helpdesk ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("srve",), "there is no command 'srve'; did you mean 'serve'?"),
        (("worker", "creat"), "there is no command 'creat'; did you mean 'create'?"),
        (("wrker", "create"), "there is no command 'wrker'; did you mean 'worker'?"),
        (("zzz",), "there is no command 'zzz'; choose from serve, worker,"),
        (("serve", "--prot", "8200"), "unrecognized arguments: --prot 8200; did you mean '--port'?"),
        (("--bse-url=http://x.example",), "did you mean '--base-url'?"),
        (("check", "now"), "unrecognized arguments: now"),
    ],
)
def test_a_slip_in_the_command_line_is_told_with_what_was_meant(arguments: tuple[str, ...], words: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == USAGE and words in capsys.readouterr().err


def test_the_only_administrator_gets_in_again(run, data: Path) -> None:
    """The administrator is disabled, locked out, and without phone and password, while the server runs."""
    server = Server(data)
    nora = server.set_up()
    visitor = Visitor(server.url)
    for number in range(11):
        assert visitor.sign_in(password=f"wrong {number}").status_code in (401, 422, 429)
    assert visitor.sign_in().status_code == 429
    code, out, err = run("worker", "recover", "--email", "nora@desk.example", data=data)
    assert (code, err) == (DONE, "") and out.startswith(f"{server.url}/reset/")
    new = "a new password for nora"
    link = out.strip().removeprefix(server.url)
    assert place(visitor.send(link, {"password": new, "password_again": new})) == "/login?new=1"
    assert Visitor(server.url).sign_in(password=new).status_code == 303
    milo = nora.create("worker", first_name="milo", email="milo@desk.example", language="en_US", timezone="UTC")
    nora.update("worker", milo["id"], is_disabled=1, is_password_disabled=1).ok()
    code, out, _ = run("worker", "recover", "--email", "milo@desk.example", "--admin", data=data)
    assert code == DONE and "/reset/" in out
    assert milo["id"] in nora.found("worker", "isDisabled:no isPasswordDisabled:no isAdmin:yes")
    assert nora.search("activity_log", "activity:worker.password.link").ok()["total"] == 2
    code, out, err = run("worker", "recover", "--email", "nobody@desk.example", data=data)
    assert (code, out) == (FAILED, "") and "there is no worker with the email address" in err
    assert server.stop() == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("bogus",),
        ("worker",),
        ("worker", "delete"),
        ("worker", "create"),
        ("worker", "create", "--email", "a@b.example"),
        ("token", "create"),
        ("token", "create", "--worker"),
        ("mail", "import"),
        ("serve", "--prot", "8200"),
        ("check", "now"),
    ],
    ids=" ".join,
)
def test_an_invalid_command_line_is_reported_on_standard_error(arguments: tuple[str, ...], run) -> None:
    code, out, err = run(*arguments)
    assert code == USAGE and out == "" and "usage: helpdesk" in err and "error:" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("token", "create", "--worker", "ana@desk.exampel"), "did you mean 'ana@desk.example'?"),
        (("token", "create", "--worker", "nobody"), "there is no worker"),
        (("token", "create", "--worker", "dora@desk.example"), "disabled"),
        (("token", "create", "--worker", "ana@desk.example", "--app", "Token generatro"), "mean 'Token generator'?"),
        (("token", "create", "--worker", "ana@desk.example", "--scope", "apo"), "did you mean 'api'?"),
        (("token", "create", "--worker", "ana@desk.example", "--scope", ""), "send at least one"),
        (("token", "create", "--worker", "ana@desk.example", "--expires", "soonish"), "'soonish' is not a time"),
        (("token", "create", "--worker", "ana@desk.example", "--expires", "yesterday"), "not later than now"),
        (("token", "create", "--worker", "ana@desk.example", "--expires", "2001-02-03"), "not later than now"),
        (("token", "create", "--worker", "ana@desk.example", "--expires", "never"), "not later than now"),
        (("token", "create", "--worker", "ana@desk.example", "--expires", ""), "not later than now"),
        (("worker", "create", "--email", "nonsense", "--first-name", "N"), "'nonsense' is not an email address"),
        (
            ("worker", "create", "--email", "ana@desk.example", "--first-name", "N"),
            "'ana@desk.example' already belongs to worker 2",
        ),
        (("describe", "tickte"), "ticket"),
        (("worker", "create", "--email", "x@desk.example", "--first-name", "N", "--password-file", "absent"), "absent"),
        (("mail", "import", "absent.mbox"), "absent.mbox"),
        (("serve", "--config", "absent.toml"), "absent.toml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_refusals_are_reported_in_one_line_on_standard_error(arguments: tuple[str, ...], words: str, run) -> None:
    code, out, err = run(*arguments)
    assert code == FAILED and out == ""
    assert err.startswith("helpdesk: ") and words in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("serve", "--port", "abc"), "--port is 'abc'"),
        (("serve", "--port", "70000"), "65535"),
        (("serve", "--base-url", "desk"), "--base-url is 'desk'"),
    ],
)
def test_a_wrong_value_of_a_flag_is_a_wrong_command_line(arguments: tuple[str, ...], words: str, run) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (USAGE, "") and err.startswith("usage: helpdesk serve") and words in err


@pytest.mark.parametrize(
    "arguments", [("describe", "ticket"), ("licenses",), ("completion", "bash"), ("check",), ("settings",), ("doctor",)]
)
def test_every_command_reports_unknown_variables(
    arguments: tuple[str, ...], run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HELPDESK_PROT", "8300")
    monkeypatch.setenv("HELPDESK_URL", "http://127.0.0.1:8200")  # the addresses of clients
    if arguments[0] == "completion":
        code, err = main(arguments), capsys.readouterr().err
    else:
        code, _, err = run(*arguments)
    told = "helpdesk: there is no setting 'HELPDESK_PROT'; did you mean 'port'?"
    assert err.splitlines().count(told) == 1 and "HELPDESK_URL" not in err
    assert code in ((FAILED,) if arguments[0] in ("check", "doctor") else (DONE,))


@pytest.mark.parametrize(
    "expires",
    [
        "1 hour", "30 days", "2 weeks", "+2 months", "tomorrow", "tomorrow 8am", "2099-01-31", "2099-01-31 10:30",
        "4102444800",
    ],
)  # fmt: skip
def test_token_create_prints_the_token_and_nothing_else(expires: str, run) -> None:
    code, out, err = run("token", "create", "--worker", "ana@desk.example", "--expires", expires)
    assert (code, err) == (DONE, "")
    assert out.endswith("\n") and out.count("\n") == 1
    assert len(out.strip()) >= 43 and out.strip().isascii() and " " not in out.strip()


def test_every_token_is_another_one_and_an_app_can_be_named(run) -> None:
    arguments = ("token", "create", "--worker", "Ana@Desk.Example", "--app", "Token generator", "--scope", "api")
    assert len({run(*arguments)[1] for _ in range(3)}) == 3


def test_a_token_works_for_as_long_as_it_was_made_for(folder: Path, run) -> None:
    _, token, _ = run("token", "create", "--worker", "ben@desk.example", "--expires", "1 hour")
    server = Server(folder)
    assert Api(server.url, token.strip()).get("/rest/workers/me.json").ok()["first_name"] == "ben"
    assert server.stop() == 0


def test_no_token_is_kept_in_the_data_folder_as_it_is(folder: Path, run) -> None:
    _, token, _ = run("token", "create", "--worker", "ben@desk.example")
    for file in folder.iterdir():
        assert token.strip().encode() not in file.read_bytes(), file.name


def _password_hash(folder: Path, id: int) -> str:
    connection = apsw.Connection(str(folder / "helpdesk.db"))
    (row,) = connection.execute(f"SELECT password_hash FROM {WORKER_LOGIN.name} WHERE worker_id = ?", (id,)).fetchall()
    connection.close()
    return str(row[0])


@pytest.mark.parametrize(
    ("email", "content"),
    [
        ("p1@desk.example", PASSWORD),
        ("p2@desk.example", f"{PASSWORD}\n"),
        ("p3@desk.example", f"{PASSWORD}\r\nnotes\n"),
    ],
)
def test_the_first_line_of_the_password_file_is_the_password(
    email: str, content: str, tmp_path: Path, folder: Path, run
) -> None:
    file = tmp_path / "password"
    file.write_text(content, newline="")
    code, out, err = run(
        "worker", "create", "--email", email, "--first-name", "Pia", "--last-name", "Lund", "--admin",
        "--password-file", str(file),
    )  # fmt: skip
    assert (code, err) == (DONE, "") and int(out) > 0
    kept = _password_hash(folder, int(out))
    assert PASSWORD not in kept and passwords.verify(kept, PASSWORD)


def test_a_password_can_come_from_standard_input(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))
    code, out, err = run(
        "worker", "create", "--email", "p4@desk.example", "--first-name", "Per", "--password-file", "-"
    )
    assert (code, err) == (DONE, "")
    assert passwords.verify(_password_hash(folder, int(out)), PASSWORD)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "first line"),
        (b"\nsecond line\n", "first line"),
        (b"short\n", "8 characters"),
        (b"\xff\xfe\n", "cannot be read"),
    ],
)
def test_a_bad_password_file_makes_no_worker(content: bytes, words: str, tmp_path: Path, run) -> None:
    file = tmp_path / "password"
    file.write_bytes(content)
    arguments = ("worker", "create", "--email", "q@desk.example", "--first-name", "Q")
    code, out, err = run(*arguments, "--password-file", str(file))
    assert code == FAILED and out == "" and words in err
    code, _, err = run("token", "create", "--worker", "q@desk.example")
    assert code == FAILED and "there is no worker" in err


def test_describe_prints_the_registry_as_json(run) -> None:
    code, out, err = run("describe", "--json")
    found = json.loads(out)
    assert (code, err) == (DONE, "") and list(found)[:3] == ["record_types", "field_kinds", "endpoints"]
    assert {"ticket", "message", "address", "task", "worker"} <= set(found["record_types"])
    for uri, each in found["record_types"].items():
        assert set(each) >= PARTS, uri
        assert each["context"].startswith("svc.contexts.") or uri == "automation_log", uri  # no field refers to it
        assert all(field["note"] for field in each["fields"]), uri
    assert found["field_kinds"] and len(found["field_kinds"]) == len({str(kind) for kind in found["field_kinds"]})
    for each in found["endpoints"]:
        assert {"method", "path", "note", "parameters"} <= set(each)
        assert each["note"] and each["path"].endswith(".json") is each["path"].startswith(("/rest/", "/openapi"))
        assert all(parameter["note"] for parameter in each["parameters"])


def test_describe_without_json_is_for_people(run) -> None:
    code, out, _ = run("describe")
    assert code == DONE and "/rest/records/{uri}/{id}.json" in out and not out.startswith("{")


def test_describe_tells_the_fields_and_filters_of_a_type(run) -> None:
    code, out, _ = run("describe", "company")
    fields, _, filters = out.partition("filters:")
    assert code == DONE and out.startswith("org: Organizations\n")
    assert "  name                         text, required" in fields and "  city " in filters
    code, out, _ = run("describe", "org", "--json")
    assert code == DONE and json.loads(out)["uri"] == "org"


@pytest.mark.parametrize("arguments", [("token", "create", "--worker", "ana@desk.example"), ("export", "out")])
def test_a_slip_in_the_data_folder_makes_no_other_one(arguments: tuple[str, ...], tmp_path: Path, run) -> None:
    code, _, err = run(*arguments, data=tmp_path / "absent")
    assert code == FAILED and "there is no database in" in err and not (tmp_path / "absent").exists()


def test_an_unknown_argument_shows_the_usage_of_its_command(run) -> None:
    code, _, err = run("serve", "--prot", "8300")
    assert code == USAGE and "usage: helpdesk serve" in err and "--prot 8300" in err


def test_describe_needs_no_data_folder(run, tmp_path: Path) -> None:
    assert run("describe", "--json", data=tmp_path / "absent")[0] == DONE
    assert not (tmp_path / "absent").exists()


def test_every_setting_is_listed_with_its_default_and_meaning(run) -> None:
    code, out, _ = run("settings")
    assert code == DONE
    for setting in SETTINGS:
        assert f"{setting.name} = " in out and setting.help in out


def changed_copy(folder: Path, data: Path, sql: str) -> Path:
    """A data folder with the same database after a statement that was run by hand."""
    data.mkdir()
    (data / "helpdesk.db").write_bytes((folder / "helpdesk.db").read_bytes())
    connection = apsw.Connection(str(data / "helpdesk.db"))
    connection.execute(sql)
    connection.close()
    return data


def test_check_reports_damage(folder: Path, tmp_path: Path, run) -> None:
    assert run("check") == (DONE, "the database is intact\n", "")
    broken = changed_copy(folder, tmp_path / "broken", "DROP TABLE task")
    code, out, _ = run("check", data=broken)
    assert code == FAILED and "table task is missing" in out


def test_check_counts_wrong_counts_again(folder: Path, tmp_path: Path, run) -> None:
    wrong = "INSERT INTO ticket_days (created, status_id, group_id, n) VALUES (86400, 1, 1, 7)"
    data = changed_copy(folder, tmp_path / "counted", wrong)
    told = "ticket_days did not match the rows of ticket; counted again\n"
    assert run("check", data=data) == (FAILED, told, "")
    assert run("check", data=data) == (DONE, "the database is intact\n", "")


def test_check_makes_no_database(tmp_path: Path, run) -> None:
    code, out, err = run("check", data=tmp_path / "absent")
    assert code == FAILED and out == "" and "there is no database" in err
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 8300", "did you mean 'port'?"),
        ("worker_treads = 3", "did you mean 'worker_threads'?"),
        ("zzzz = 3", "helpdesk.toml: there is no setting 'zzzz'"),
        ("port = 'x'", "it must be a whole number"),
        ("port = 99999", "65535"),
        ("port = ", "is not TOML"),
        ("log_level = 'inof'", "did you mean 'info'?"),
        ("data = 'elsewhere'", "cannot be set in helpdesk.toml"),
    ],
)
def test_a_wrong_settings_file_stops_the_start(text: str, words: str, tmp_path: Path, run) -> None:
    (tmp_path / "helpdesk.toml").write_text(text)
    code, out, err = run("serve", "--port", "0", data=tmp_path)
    assert code == FAILED and out == "" and words in err and err.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["helpdesk.toml"]  # no database was created


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("HELPDESK_PROT", "8300", "did you mean 'port'?"),
        ("HELPDESK_BASE_ULR", "http://x.example", "did you mean 'base_url'?"),
        ("HELPDESK_PORT", "x", "HELPDESK_PORT is 'x'"),
        ("HELPDESK_REQUEST_LOG", "perhaps", "yes or no"),
        ("HELPDESK_CONFIG", "absent.toml", "absent.toml"),
    ],
)
def test_a_wrong_variable_stops_the_start(
    variable: str, value: str, words: str, tmp_path: Path, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    code, out, err = run("serve", data=tmp_path / "data")
    assert code == FAILED and out == "" and words in err and err.count("\n") == 1
    assert not (tmp_path / "data").exists()


def test_a_whole_mailbox_is_imported_once_with_a_closing_count(tmp_path: Path) -> None:
    data, box = tmp_path / "data", tmp_path / "box"
    box.mkdir()
    for number in range(3):
        (box / f"{number}.eml").write_text(
            f"From: ana@larch.example\nSubject: s{number}\nMessage-ID: <{number}@larch.example>\n\nx"
        )
    first = command("mail", "import", str(box), data=data)
    assert first.returncode == DONE and b"3" in first.stdout and first.stderr == b""
    second = command("mail", "import", str(box), data=data)
    assert second.returncode == DONE and first.stdout != second.stdout
    piped = command("mail", "import", "-", data=data, stdin=b"From: zoe@larch.example\nSubject: piped\n\nx")
    assert piped.returncode == DONE and b"1" in piped.stdout


def test_an_answer_nobody_reads_is_no_traceback(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "server", "describe", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=Path(__file__).resolve().parent.parent,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.wait(60)
