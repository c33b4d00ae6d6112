"""Export of everything to files: contents, omissions, and that an export is complete or absent."""

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server import app
from server.errors import Conflict, NotFound
from server.export import Summary, export
from server.export.secret import PLAIN_TABLES, SECRETS
from server.export.target import PART
from server.record_types.registry import load as load_types
from server.record_types.shared.relation_tables import CUSTOM_VALUE
from tests.desk.mailroom import Desk, mail, multipart
from tests.service import command

PNG = "iVBORw0KGgo="


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with mail, a file, links, custom values, and every kind of secret."""
    opened = Desk(tmp_path_factory.mktemp("desk"))
    first = opened.receive(mail("Die Pumpe tropft: „Öl“.\n", Message_Id="<1@kite.example>", Subject="Boot"))
    opened.receive(multipart(
        "Content-Type: text/plain\n\nSee the picture.\n",
        f"Content-Type: image/png\nContent-Disposition: attachment; filename=\"../a/b:ä.png\"\n"
        f"Content-Transfer-Encoding: base64\n\n{PNG}\n",
        Message_Id="<2@kite.example>", In_Reply_To="<1@kite.example>",
    ))  # fmt: skip
    org = opened.create("org", name="Kite", links=[(True, "svc.contexts.ticket", first.ticket_id)])
    level = opened.create("custom_field", name="Level", context="svc.contexts.org", type="S", uri="level")
    tags = opened.create("custom_field", name="Tags", context="svc.contexts.org", type="M", uri="tags")
    opened.write(lambda writing: writing.tx.put_many(
        CUSTOM_VALUE, ("field_id", "record_id", "place", "text"),
        [(level, org, 0, "gold"), (tags, org, 0, "a"), (tags, org, 1, "b")],
    ))  # fmt: skip
    opened.create("mailbox", name="M", host="mail.example", username="u", password="secret-mailbox")
    opened.create("mail_transport", name="T", extension_id="core.mail.transport.smtp",
                  params={"host": "mail.example", "username": "u", "password": "secret-transport"})  # fmt: skip
    service = opened.create("connected_service", name="S", extension_id="svc.service.provider.oauth2", params={
        "token_url": "https://auth.example/", "client_id": "c", "client_secret": "secret-service",
    })  # fmt: skip
    opened.create("connected_account", name="A", service_id=service, owner__context="svc.contexts.app", owner_id=0,
                  params={"access_token": "secret-account"})  # fmt: skip
    opened.create("webhook_listener", name="W", guid="secret-webhook")
    yield opened
    opened.close()


def run(desk: Desk, place: Path, **options: Any) -> Summary:
    return export(desk.ctx, place, app.all_tables(desk.service.registry), lambda done, total: None, **options)


@pytest.fixture(scope="module")
def folder(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("export") / "out"
    run(desk, place)
    return place


def lines(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()]


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_record_of_every_type_is_exported(desk: Desk, folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    counts = desk.counts()
    for record_type in desk.service.registry:
        ids = [each["id"] for each in lines(folder, f"records/{record_type.uri}")]
        assert len(ids) == counts[record_type.table.name] == manifest["records"][record_type.uri]
        assert ids == sorted(ids)
    assert manifest["records"]["message"] == 2 and manifest["has_secrets"] is False


def test_a_ticket_is_readable(desk: Desk, folder: Path) -> None:
    [ticket] = lines(folder, "records/ticket")
    assert ticket["_type"] == "ticket" and ticket["_label"] == ticket["subject"] == "Boot"
    assert ticket["created"] == "2026-11-18T11:06:40Z" and ticket["closed"] is None
    assert ticket["requesters"] == ["ann@kite.example"]
    assert ticket["links"] == [f"svc.contexts.org:{desk.one('org')['id']}"]


def test_a_message_has_its_text_its_files_and_the_original_mail(desk: Desk, folder: Path) -> None:
    first, second = lines(folder, "records/message")
    assert first["content"] == "Die Pumpe tropft: „Öl“." and "Subject: Boot" in first["headers"]
    assert "„Öl“" in (folder / "records/message.jsonl").read_text("utf-8"), "letters, not escapes"
    raw = desk.all("message")[0]["raw_blob_id"]
    assert (folder / first["mail"]).read_bytes() == desk.blob(raw)
    [file] = lines(folder, "records/attachment")
    assert second["attachment_ids"] == [file["id"]]
    assert (folder / file["file"]).read_bytes() == b"\x89PNG\r\n\x1a\n"
    assert re.fullmatch(rf"attachments/0000/{file['id']}-[^/:]*ä\.png", file["file"])


def test_custom_values_and_rosters_are_with_their_records(desk: Desk, folder: Path) -> None:
    level, tags = (each["id"] for each in lines(folder, "records/custom_field"))
    [org] = lines(folder, "records/org")
    assert org["custom"] == {f"custom_{level}": "gold", f"custom_{tags}": ["a", "b"]}


def test_the_manifest_lists_every_file(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    found = files(folder)
    for path, told in manifest["files"].items():
        content = found[path]
        assert (told["lines"], told["bytes"]) == (content.count(b"\n"), len(content))
        assert told["sha256"] == hashlib.sha256(content).hexdigest()
    contents = found.keys() - manifest["files"].keys() - {"manifest.json"}
    assert len(contents) == sum(each["files"] for each in manifest["contents"].values()) == 3


def test_no_secret_is_in_an_export(desk: Desk, folder: Path) -> None:
    kinds = ("mailbox", "transport", "service", "account", "webhook")
    whole = b"".join(files(folder).values())
    assert [kind for kind in kinds if f"secret-{kind}".encode() in whole] == []
    assert b'"host": "mail.example"' in whole
    tables_written = {path.stem for path in (folder / "tables").iterdir()}
    assert tables_written <= PLAIN_TABLES and "worker_login" not in tables_written


def test_secrets_are_exported_on_request(desk: Desk, tmp_path: Path) -> None:
    run(desk, tmp_path / "out", with_secrets=True)
    whole = b"".join(files(tmp_path / "out").values())
    for kind in ("mailbox", "transport", "service", "account", "webhook"):
        assert f"secret-{kind}".encode() in whole
    assert lines(tmp_path / "out", "tables/worker_login") == []
    assert json.loads((tmp_path / "out/manifest.json").read_text())["left_out"] == {}


def test_a_zip_file_has_the_same_content(desk: Desk, folder: Path, tmp_path: Path) -> None:
    run(desk, tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert archive.testzip() is None
        found = {name: archive.read(name) for name in archive.namelist()}
    # Each export is recorded in the activity log, which therefore has one more entry each time.
    told = {"records/activity_log.jsonl", "manifest.json"}
    assert {name: found[name] for name in found.keys() - told} == {
        name: content for name, content in files(folder).items() if name not in told
    }
    assert found.keys() == files(folder).keys()
    assert (tmp_path / "out.zip").stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.zip"]


def test_an_export_is_a_snapshot(desk: Desk, tmp_path: Path) -> None:
    """Mail that arrives during the export is not in it, not even partly."""
    before = desk.counts()
    came: list[int] = []

    def progress(done: int, total: int) -> None:
        if not came:
            came.append(desk.receive(mail(Subject="Later")).ticket_id)

    export(desk.ctx, tmp_path / "out", app.all_tables(desk.service.registry), progress)
    assert len(lines(tmp_path / "out", "records/ticket")) == before["ticket"] == desk.counts()["ticket"] - 1
    assert len(lines(tmp_path / "out", "records/message")) == before["message"]
    desk.write(lambda writing: writing.delete("ticket", came[0]))


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_an_interrupted_export_leaves_nothing(desk: Desk, tmp_path: Path, name: str) -> None:
    def progress(done: int, total: int) -> None:
        if done == total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(desk.ctx, tmp_path / name, app.all_tables(desk.service.registry), progress)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_remains_of_a_killed_export_are_no_obstacle(desk: Desk, tmp_path: Path, name: str) -> None:
    left = tmp_path / f"{name}{PART}"
    if name == "out":
        left.mkdir()
        (left / "manifest.json").write_text("half")
    else:
        left.write_text("half")
    run(desk, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_nothing_is_overwritten(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "mine.zip").write_text("mine")
    for name in ("full", "mine.zip"):
        with pytest.raises(Conflict, match="already; choose another name"):
            run(desk, tmp_path / name)
    with pytest.raises(NotFound, match="create it first"):
        run(desk, tmp_path / "nowhere" / "out")
    assert (tmp_path / "mine.zip").read_text() == "mine" and len(list(tmp_path.iterdir())) == 2
    (tmp_path / "empty").mkdir()
    run(desk, tmp_path / "empty")
    assert (tmp_path / "empty" / "manifest.json").exists()


# Columns whose names sound secret but are not.
OPEN = {
    "attachment.storage_key", "attachment.storage_sha1hash", "draft.token", "message.hash_header_message_id",
    "message.signed_key_fingerprint", "message.token", "worker.is_password_disabled", "bucket.reply_signing_key_id",
    "group.reply_signing_key_id",
}  # fmt: skip


def test_every_column_that_sounds_secret_is_left_out() -> None:
    sounds = re.compile(r"password|secret|token|hash|_key|guid|credential|private_key|code_verifier")
    secret = {f"{uri}.{path.partition('.')[0]}" for uri, paths in SECRETS.items() for path in paths}
    named = {
        f"{record_type.uri}.{name}" for record_type in load_types() for name in record_type.table.names
        if sounds.search(name)
    }  # fmt: skip
    assert named - secret - OPEN == set()


def test_the_command_exports_the_data_of_a_server(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (tmp_path / "one.eml").write_bytes(mail())
    assert command("mail", "import", str(tmp_path / "one.eml"), data=data).returncode == 0
    made = command("export", str(tmp_path / "out"), data=data)
    assert made.returncode == 0, made.stderr
    assert re.search(rb"out: \d+ records of \d+ types, 1 files", made.stdout)
    assert [each["subject"] for each in lines(tmp_path / "out", "records/ticket")] == ["Boat"]
