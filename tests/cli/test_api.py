"""`helpdesk api`: the requests that it sends, its output, and the exit code.

Runs against the server of the tests, and against a peer for responses that our server never gives."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.__main__ import main
from server.cli.api import ApiArgument
from server.errors import HelpdeskError
from tests.outbound.peer import Peer, answer, redirect
from tests.service import Api, Server

DONE, FAILED, USAGE, REDIRECT, REFUSED, BROKEN = 0, 1, 2, 3, 4, 5
MAIL = b"From: ana@example.com\nSubject: Gr\xfc\xdfe\nMessage-ID: <piped@example.com>\n\nHello.\n"
Run = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def run(api: Api, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs the command as nora against the server; returns exit code, standard output and standard error."""
    monkeypatch.setenv("HELPDESK_URL", api.url)
    monkeypatch.setenv("HELPDESK_TOKEN", api.token)

    def run_one(*arguments: str) -> tuple[int, bytes, str]:
        capfdbinary.readouterr()
        try:
            code = main(["api", *arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capfdbinary.readouterr()
        return code, captured.out, captured.err.decode()

    return run_one


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch, run: Run) -> Iterator[Peer]:
    """A server whose responses the test sets."""
    with Peer() as found:
        monkeypatch.setenv("HELPDESK_URL", found.url(""))
        yield found


def done(found: tuple[int, bytes, str]) -> dict[str, object]:
    """Returns the JSON of a request that must succeed."""
    code, out, err = found
    assert (code, err) == (DONE, ""), (out, err)
    decoded = json.loads(out)
    assert isinstance(decoded, dict)
    return decoded


@pytest.mark.parametrize(
    ("parameter", "pairs"),
    [
        (ApiArgument("q", "", "status:open a=b"), [("q", "status:open a=b")]),
        (ApiArgument("f", ":", '"text"'), [("f", "text")]),
        (ApiArgument("f", ":", "1.50"), [("f", "1.5")]),
        (ApiArgument("f", ":", "true"), [("f", "1")]),
        (ApiArgument("f", ":", "false"), [("f", "0")]),
        (ApiArgument("f", ":", "null"), [("f", "")]),
        (ApiArgument("f", ":", "[]"), [("f", "")]),
        (ApiArgument("f", ":", '{"a": {}}'), [("f[a]", "")]),
        (ApiArgument("f[a]", ":", '["x", "y"]'), [("f[a][]", "x"), ("f[a][]", "y")]),
        (ApiArgument("f", ":", '{"a": {"b": ["Grüße"]}}'), [("f[a][b][]", "Grüße")]),
        (ApiArgument("f", ":", '[{"a": 1}, {"a": 2, "b": 3}]'), [("f[0][a]", "1"), ("f[1][a]", "2"), ("f[1][b]", "3")]),
    ],
    ids=[
        "text",
        "JSON text",
        "decimal",
        "true",
        "false",
        "null",
        "empty list",
        "empty map in a map",
        "list of texts",
        "list in nested maps",
        "list of maps",
    ],
)
def test_a_parameter_becomes_fields_of_a_form(parameter: ApiArgument, pairs: list[tuple[str, str]]) -> None:
    assert parameter.pairs() == pairs


@pytest.mark.parametrize("text", ["{", "NaN", "[" * 20 + "]" * 20, ""])
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(HelpdeskError):
        ApiArgument("fields", ":", text).pairs()


def test_a_record_is_created_changed_and_deleted(run: Run) -> None:
    made = done(run("POST", "records/org/create.json", "fields[name]=Acme = Söhne", "expand=custom_"))
    path = f"records/org/{made['id']}.json"
    assert made["name"] == "Acme = Söhne"
    changed = done(run("put", path, 'fields:={"website": "https://acme.example", "country": null}'))
    assert changed["website"] == "https://acme.example"
    linked = done(run("PATCH", "records/org/upsert.json", "query=name:Acme*", "fields[city]=Bremen"))
    assert (linked["id"], linked["city"]) == (made["id"], "Bremen")
    found = done(run("GET", "records/org/search.json", f"q=id:{made['id']}", 'subtotals:=["country"]'))
    assert found["total"] == 1 and "subtotals" in found
    done(run("DELETE", path))
    code, out, err = run("GET", f"/rest/{path}")
    assert code == REFUSED and json.loads(out)["__status"] == "error"
    assert err.startswith("helpdesk: the server responded with 404")


def test_the_bytes_of_a_file_are_sent_and_returned_unchanged(run: Run, tmp_path: Path) -> None:
    content = bytes(range(256)) * 300
    file = tmp_path / "all bytes"
    file.write_bytes(content)
    kept = done(run("POST", "attachments/upload.json", "file_name=all.bin", f"content@={file}"))
    assert run("GET", f"attachments/{kept['id']}/download.json") == (DONE, content, "")


def test_mail_is_read_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MAIL)))
    ticket = done(run("POST", "parser/parse.json", "message@=-"))
    assert ticket["mask"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("GET",), "required"),
        (("FETCH", "workers/me.json"), "invalid choice"),
        (("GET", "http://elsewhere.example/x"), "HELPDESK_URL sets the server"),
        (("GET", "//elsewhere.example/x"), "HELPDESK_URL sets the server"),
        (("GET", "workers/me.json?expand=x"), "NAME=VALUE"),
        (("GET", "workers/me.json", "expand"), "not 'expand'"),
        (("GET", "workers/me.json", "=x"), "not '=x'"),
    ],
    ids=[
        "no path",
        "unknown method",
        "another site",
        "another site without a scheme",
        "query in the path",
        "parameter without a value",
        "parameter without a name",
    ],
)
def test_a_wrong_command_line_is_reported(run: Run, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (USAGE, b"") and words in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("GET", "workers/me.json", "fields:={"), "not valid JSON"),
        (("GET", "workers/me.json", "message@=not/there.eml"), "cannot be read"),
        (("--url", "localhost:8200", "GET", "workers/me.json"), "like https://desk.example"),
        (("--url", "http://127.0.0.1:1", "GET", "workers/me.json"), "Connection refused"),
    ],
    ids=["broken JSON", "missing file", "address without a scheme", "nobody listens"],
)
def test_unsendable_input_is_reported(run: Run, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (FAILED, b"") and words in err


@pytest.mark.parametrize("token", ["", "wrong"])
def test_without_a_valid_token_it_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("HELPDESK_TOKEN", token)
    code, out, err = run("GET", "workers/me.json")
    assert code == REFUSED and json.loads(out)["__status"] == "error" and "401" in err and "token create" in err


def test_a_malformed_token_is_not_sent(run: Run, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELPDESK_TOKEN", "two words")
    code, _, err = run("GET", "workers/me.json")
    assert code == FAILED and "HELPDESK_TOKEN" in err and "two words" not in err and peer.asked == []


@pytest.mark.parametrize(
    ("answered", "code", "out"),
    [
        (answer('{"b": "ü"}', content_type="application/json"), DONE, '{\n  "b": "ü"\n}\n'.encode()),
        (answer("[1]", content_type="application/json; charset=utf-8"), DONE, b"[\n  1\n]\n"),
        (answer("plain\n\xff", content_type="text/plain"), DONE, "plain\n\xff".encode()),
        (answer(status=204), DONE, b""),
        (answer("gone", 404, content_type="text/plain"), REFUSED, b"gone"),
        (answer('{"__status": "error"}', content_type="application/json"), REFUSED, b'{\n  "__status": "error"\n}\n'),
        (answer("", 503), BROKEN, b""),
        (redirect("http://127.0.0.1:1/elsewhere"), REDIRECT, b""),
        (answer("{", content_type="application/json"), FAILED, b""),
        (b"", FAILED, b""),
    ],
    ids="json list text nothing 404 error-as-200 503 redirect broken-json hung-up".split(),
)
def test_the_response_is_printed_and_sets_the_exit_code(run: Run, peer: Peer, answered: bytes, code: int, out: bytes):
    peer.answers["/rest/x.json"] = answered
    found = run("GET", "x.json")
    assert found[:2] == (code, out) and (found[2] == "") is (code == DONE)


def test_a_password_file_does_not_replace_the_token(
    run: Run, peer: Peer, api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "netrc"
    file.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(file))
    run("GET", "x.json")
    assert peer.take().header("Authorization") == f"Bearer {api.token}"


def test_parameters_go_into_the_query_or_the_body(run: Run, peer: Peer) -> None:
    for method in ("GET", "DELETE"):
        run(method, "x.json", "a[b]=ü&", "c=1", "c=2")
        asked = peer.take()
        assert (asked.target, asked.body) == ("/rest/x.json?a%5Bb%5D=%C3%BC%26&c=1&c=2", b"")
    for method in ("POST", "PUT", "PATCH"):
        run(method, "/x.json", "a[b]=ü&", "c=1", "c=2")
        asked = peer.take()
        assert (asked.method, asked.target, asked.body) == (method, "/x.json", b"a%5Bb%5D=%C3%BC%26&c=1&c=2")


def test_the_address_is_read_from_the_data_folder_without_a_variable(
    run: Run, api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HELPDESK_URL")
    (tmp_path / "helpdesk.toml").write_text(f'base_url = "{api.url}"\n')
    assert done(run("--data", str(tmp_path), "GET", "workers/me.json"))["first_name"] == "Nora"


def test_the_server_on_the_data_folder_is_called_wherever_it_listens(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HELPDESK_URL")
    assert done(run("--data", str(server.data), "GET", "workers/me.json"))["first_name"] == "Nora"
