"""Forms that webhooks receive: names as sent, character sets, files, and remarks of the delivery about the rest."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.automation.webhooks import request_files
from server.automation.webhooks.request_files import KEPT_SECONDS, MAX_FILES, WEBHOOK_FILE, WebhookFile, store_files
from server.web.webhook_forms import read_form
from tests.automation.test_webhooks import Hook
from tests.automation.told import MAY_ALL
from tests.records.desk import NOW, Desk
from tests.service import Api, Server, people

FORM = "application/x-www-form-urlencoded"
LATIN = f"{FORM}; charset=ISO-8859-1"
SEEN = """
start:
  return:
    body:
      params@key: request_params
      form@key: request_form
      files@key: request_files
"""
FILING = """
start:
  repeat:
    each@key: request_files
    as: file
    do:
      outcome:
        if@bool: {{file.id}}
        then:
          record.update:
            output: done
            inputs:
              record_type: attachment
              record_id@key: file:id
              fields:
                attach@list: file_bundle:{{inputs.bundle}}
  return:
    body@key: request_files
inputs:
  text/bundle:
"""


@pytest.fixture(scope="module")
def nora(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    server = Server(tmp_path_factory.mktemp("forms") / "data", env={"HELPDESK_MAX_ATTACHMENT_BYTES": "2000"})
    client = server.set_up()
    people(client)
    yield client
    assert server.stop() == 0


@pytest.fixture(scope="module")
def seen(nora: Api) -> Hook:
    return Hook(nora, SEEN)


@pytest.mark.parametrize(("query", "kind", "body", "params", "form", "note"), [
    ("", FORM, b"Order-No=7&e%2Bmail=a", {"order_no": "7", "email": "a"}, {"Order-No": "7", "e+mail": "a"}, ""),
    ("", FORM, b"tag=a&tag=b&tag=", {"tag": ""}, {"tag": ["a", "b", ""]}, ""),
    ("A=query&b=1", FORM, b"A=form", {"a": "form", "b": "1"}, {"A": "form", "b": "1"}, ""),
    ("", FORM, b"x[y][]=1&x[y][]=2", {"x": {"y": ["1", "2"]}}, {"x[y][]": ["1", "2"]}, ""),
    ("", FORM, b"name=Gr%FC%DFe&city=Ulm", {"name": "Gr\ufffd\ufffde", "city": "Ulm"}, None, "place: name"),
    ("", LATIN, b"name=Gr%FC%DFe", {"name": "Gr\u00fc\u00dfe"}, {"name": "Gr\u00fc\u00dfe"}, ""),
    ("", f'{FORM}; charset="windows-1251"', b"n=%C4%E0", {"n": "\u0414\u0430"}, None, ""),
    ("", FORM, b"_charset_=iso-8859-1&n=%FC", {"_charset_": "iso-8859-1", "n": "\u00fc"}, None, ""),
    ("", f"{FORM}; charset=klingon", b"n=%C3%BC", {"n": "\u00fc"}, None, "unknown character set, 'klingon'"),
    ("n=%FC&m=1", "", b"", {"n": "\ufffd", "m": "1"}, None, "query string has bytes"),
    ("", FORM, b"n=%EF%BF%BD", {"n": "\ufffd"}, None, ""),
    ("", FORM, b"%FC=1&m=2", {"": "1", "m": "2"}, {"\ufffd": "1", "m": "2"}, "the form has bytes"),
    ("", FORM, b"a=1&a[b]=2", {}, {"a": "1", "a[b]": "2"}, "request_params has none of it"),
    ("", "multipart/form-data; boundary=x", b"--nothing", {}, {}, "no last boundary; it may have been cut off"),
    ("", "application/json", b"{}", {}, {}, ""),
])  # fmt: skip
def test_values_of_a_form(
    query: str, kind: str, body: bytes, params: dict[str, Any], form: dict[str, Any] | None, note: str
) -> None:
    found = read_form(query, kind, body)
    assert found.params == params and found.form == (params if form is None else form)
    assert bool(found.notes) == bool(note) and note in " ".join(found.notes)


@pytest.mark.parametrize(("head", "content", "name", "value", "note"), [
    ('name="a"\r\nContent-Type: text/plain; charset=iso-8859-1', b"\xfc", "a", "\u00fc", False),
    ('name="a"', b"\xfc", "a", "\ufffd", True),
    ('name="Stra\u00dfe"', b"x", "Stra\u00dfe", "x", False),
    ("name*=iso-8859-1''%FC", b"x", "\u00fc", "x", False),
])  # fmt: skip
def test_a_part_may_have_its_own_character_set(head: str, content: bytes, name: str, value: str, note: bool) -> None:
    body = f"--x\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + content + b"\r\n--x--\r\n"
    found = read_form("", "multipart/form-data; boundary=x", body)
    assert found.form == {name: value} and bool(found.notes) == note


def test_a_delivery_reports_unreadable_parts(nora: Api, seen: Hook) -> None:
    response = seen.call(data=b"Name=%FF&ok=1", headers={"Content-Type": FORM}).json()
    assert response["form"] == {"Name": "\ufffd", "ok": "1"} and response["files"] == []
    delivery = nora.get(f"/rest/webhooks/deliveries/{seen.deliveries()[0]['id']}.json").ok()
    assert [note.endswith("in their place: Name") for note in delivery["request"]["notes"]] == [True]


def test_files_of_a_form_are_attached_to_records(nora: Api) -> None:
    bundle = nora.create("file_bundle", name="Sent in", tag="sent-in", owner__context="app", owner_id=0).ok()["id"]
    binding = f"automation/it:\n  uri: NAME\n  inputs:\n    bundle: {bundle}"
    hook = Hook(nora, FILING, binding, MAY_ALL)
    files = [
        ("Photos[]", ("../a b.png", b"\x89PNG", "image/png")),
        ("Photos[]", ("gro\u00df.txt", b"x" * 2001, "text/plain")),
        ("other", ("run.svc", b"svc:automation_resource:x", "application/vnd.svc.uri")), ("none", ("", b"")),
    ]  # fmt: skip
    kept, large, other = hook.call(data={"text": "hi"}, files=files).json()
    assert (kept["field"], kept["name"], kept["mime_type"], kept["size"]) == ("Photos[]", "a b.png", "image/png", 4)
    assert kept["uri"] == f"svc:attachment:{kept['id']}" and kept["error"] == ""
    assert (large["id"], large["name"], large["error"]) == (
        0,
        "gro\u00df.txt",
        "a file has at most 2,000 bytes, this one 2,001",
    )
    assert other["mime_type"] == "application/octet-stream" and other["size"] == 25
    assert set(nora.found("attachment", f"on.file_bundle:(id:{bundle})")) == {kept["id"], other["id"]}
    assert nora.get(f"/rest/attachments/{kept['id']}/download.json").response.content == b"\x89PNG"


def test_inputs_of_a_binding_may_contain_the_files(nora: Api) -> None:
    script = (
        "inputs:\n  array/files:\nstart:\n  return:\n    body: {{inputs.files|map(each => each.id > 0 ? 1 : 0)|join}}"
    )
    hook = Hook(nora, script, "automation/it:\n  uri: NAME\n  inputs:\n    files@key: request_files")
    assert hook.call(files={"a": ("a.txt", b"a"), "b": ("b.txt", b"b")}).text == "11"


def test_files_that_no_script_uses_are_not_stored(nora: Api) -> None:
    hook, before = Hook(nora, "start:\n  return:\n    body: ok"), len(nora.found("attachment", "name:unread.txt"))
    assert hook.call(files={"a": ("unread.txt", b"a")}).text == "ok"
    assert len(nora.found("attachment", "name:unread.txt")) == before == 0


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


def file(name: str, content: bytes = b"x") -> WebhookFile:
    return WebhookFile("f", name, "text/plain", content)


def test_unattached_files_are_deleted_after_a_day(desk: Desk) -> None:
    loose, attached, drafted, custom = (
        each["id"] for each in store_files(desk.context(), tuple(file(f"{name}.txt") for name in "abcd"))
    )
    bundle = desk.create("file_bundle", name="B", tag="b", owner__context="app", owner_id=0)["id"]
    desk.update("attachment", attached, attach=[f"file_bundle:{bundle}"])
    people = desk.people()
    draft = desk.own("draft", type="mail.compose", worker_id=people["nora"], params={"file_ids": [drafted]})
    field = desk.create("custom_field", name="Scan", uri="scan", context="org", type="F")["id"]
    desk.create("org", name="Kite", **{f"custom_{field}": custom})
    request_files.forget_unattached(desk.service, NOW + KEPT_SECONDS - 1)
    assert desk.row("attachment", loose) is not None
    request_files.forget_unattached(desk.service, NOW + KEPT_SECONDS)
    assert desk.found("attachment", "sort:id") == [attached, drafted, custom]
    desk.store.write(lambda tx: tx.delete(desk.registry.type("draft").table, id=draft))
    request_files.forget_unattached(desk.service, NOW + 2 * KEPT_SECONDS)
    assert desk.found("attachment", "sort:id") == [attached, custom]
    assert desk.read(lambda tx: tx.find(WEBHOOK_FILE)) == []


def test_files_beyond_the_limits_are_not_stored(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = store_files(desk.context(), tuple(file("a.txt") for _ in range(MAX_FILES + 1)))
    assert [bool(each["id"]) for each in listed] == [True] * MAX_FILES + [False]
    monkeypatch.setattr(request_files, "MAX_STORED_BYTES", MAX_FILES + 2)
    one, two = store_files(desk.context(), (file("b.txt", b"xx"), file("c.txt")))
    assert one["id"] and not two["id"] and "try again later" in two["error"]
    bundle = desk.create("file_bundle", name="B", tag="b", owner__context="app", owner_id=0)["id"]
    desk.update("attachment", one["id"], attach=[f"file_bundle:{bundle}"])
    assert store_files(desk.context(), (file("c.txt"),))[0]["id"], "what hangs on something does not count"
