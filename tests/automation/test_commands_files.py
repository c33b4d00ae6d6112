"""file.read and file.write: ranges, compressed files, archives, and temporary files."""

import base64
import gzip
import io
import struct
import zipfile
import zlib
from dataclasses import replace
from typing import Any

import pytest

from server.automation import engine, file_contents
from server.automation.automation_service import ServiceHost
from server.automation.commands import file_commands
from server.automation.host import Script
from server.errors import Invalid
from server.store.blobs import BLOB, PIECE_BYTES
from tests.automation.cases.case import ALLOW
from tests.automation.commanding import done, ran, refused
from tests.automation.test_commands_records import everything
from tests.records.desk import NOW, Desk

BINARY = bytes(range(256))
TEXT = "één\nzwei\ntrois\n"
LARGE = b"0123456789abcdef" * (PIECE_BYTES // 8)  # two pieces


def stored(desk: Desk, content: bytes | str, mime_type: str = "text/plain", name: str = "file") -> str:
    data = content if isinstance(content, bytes) else content.encode()
    return str(file_contents.store(desk.context(), data, mime_type, name)["uri"])


def archive(**entries: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in entries.items():
            made.writestr(name, content)
    return target.getvalue()


def data_uri(content: bytes, mime_type: str = "image/png") -> str:
    return f"data:{mime_type};base64,{base64.b64encode(content).decode()}"


# -- reading ----------------------------------------------------------------------------------------------------------


def test_every_kind_of_file_is_read(desk: Desk) -> None:
    attachment = desk.create("attachment", name="a.txt", mime_type="text/plain", content=TEXT)["id"]
    desk.create("resource", name="r.csv", extension_id="svc.resource.dataset.csv", content=TEXT)
    for uri, name in (
        (f"svc:attachment:{attachment}", "a.txt"), (f"svc:svc.contexts.attachment:{attachment}", "a.txt"),
        ("svc:resource:r.csv", "r.csv"), (stored(desk, TEXT, name="x"), "x"),
    ):  # fmt: skip
        found = done(desk, "file.read", uri=uri)
        size = len(TEXT.encode())
        assert (found["bytes"], found["uri"], found["name"], found["size"]) == (TEXT, uri, name, size)
        assert (found["offset_from"], found["offset_to"]) == (0, size)


@pytest.mark.parametrize(
    ("content", "inputs", "shown", "ends"),
    [
        (TEXT, {"length": 5}, "één", 5),
        ("aé", {"length": 2}, "a", 1),
        (TEXT, {"offset": 6, "length": 4}, "zwei", 10),
        (TEXT, {"offset": 6, "length": 9, "length_split": "\n"}, "zwei\n", 11),
        (TEXT, {"length": 9, "length_split": "#"}, "één\nzwe", 9),
        (TEXT, {"offset": 11, "length": 1000, "length_split": "r"}, "trois\n", 17),
        (TEXT, {"offset": 1000}, "", 1000),
        ("", {}, "", 0),
        (LARGE, {"offset": PIECE_BYTES - 2, "length": 4}, "ef01", PIECE_BYTES + 2),
        (BINARY, {"length": 256}, data_uri(BINARY, "text/plain"), 256),
        (BINARY, {"offset": 65, "length": 3}, "ABC", 68),
        (b"\x00", {}, data_uri(b"\x00", "text/plain"), 1),
    ],
)
def test_parts_of_files(desk: Desk, content: bytes | str, inputs: dict[str, Any], shown: str, ends: int) -> None:
    found = done(desk, "file.read", uri=stored(desk, content), **inputs)
    assert (found["bytes"], found["offset_to"]) == (shown, ends)


def test_a_large_file_is_read_to_its_end_in_ranges(desk: Desk) -> None:
    text, place, read = "é1\n" * 5000, 0, ""
    uri = stored(desk, text)
    while True:
        found = done(desk, "file.read", uri=uri, offset=place, length=4099)
        read, place = read + found["bytes"], found["offset_to"]
        if place == found["size"]:
            break
    assert read == text


@pytest.mark.parametrize("filters", ["gzip.decompress", ["gzip.decompress"], {"gzip.decompress": ""}])
def test_compressed_files_are_decompressed(desk: Desk, filters: Any) -> None:
    uri = stored(desk, gzip.compress(TEXT.encode()), "application/gzip")
    assert done(desk, "file.read", uri=uri, filters=filters)["bytes"] == TEXT
    assert done(desk, "file.read", uri=uri, filters=filters, offset=6, length=4)["bytes"] == "zwei"


def test_archives_are_opened(desk: Desk) -> None:
    uri = stored(desk, archive(**{"a/b.txt": TEXT.encode(), "c.gz": gzip.compress(b"inner")}), "application/zip")
    found = done(desk, "file.read", uri=uri, extract="a/b.txt", offset=6, length=4)
    assert (found["bytes"], found["name"], found["size"], found["offset_to"]) == ("zwei", "a/b.txt", 17, 10)
    assert done(desk, "file.read", uri=uri, extract="c.gz", filters="gzip.decompress")["bytes"] == "inner"


def locked(name: bytes, content: bytes, password: bytes) -> bytes:
    """Returns a ZIP archive of one file with the original ZIP encryption."""
    keys = [0x12345678, 0x23456789, 0x34567890]

    def turn(byte: int) -> None:
        keys[0] = TURNS[(keys[0] ^ byte) & 255] ^ (keys[0] >> 8)
        keys[1] = ((keys[1] + (keys[0] & 255)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = TURNS[(keys[2] ^ (keys[1] >> 24)) & 255] ^ (keys[2] >> 8)

    for byte in password:
        turn(byte)
    crc, hidden = zlib.crc32(content), bytearray()
    for byte in bytes(11) + bytes([crc >> 24]) + content:
        word = keys[2] | 2
        hidden.append(byte ^ ((word * (word ^ 1) >> 8) & 255))
        turn(byte)
    sizes = struct.pack("<HHHHHIIIHH", 20, 1, 0, 0, 0x21, crc, len(hidden), len(content), len(name), 0)
    entry = b"PK\3\4" + sizes + name + hidden
    listed = b"PK\1\2" + struct.pack("<H", 20) + sizes + bytes(14) + name
    return entry + listed + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(listed), len(entry), 0)


TURNS = [zlib.crc32(bytes([255 - number]), 0) ^ 0xFF000000 for number in range(256)]


def bombs() -> dict[str, bytes]:
    zeros = b"\x00" * 10_000_000
    return {"gzip": gzip.compress(zeros), "zip": archive(zeros=zeros)}


@pytest.mark.parametrize(
    ("password", "message"),
    [("key", ""), ("kay", "Bad password"), ("", "password required")],
)
def test_archives_with_a_password(desk: Desk, password: str, message: str) -> None:
    inputs = {"uri": stored(desk, locked(b"s.txt", b"secret", b"key")), "extract": "s.txt", "password": password}
    if message:
        assert message in refused(desk, "file.read", **inputs)
    else:
        assert done(desk, "file.read", **inputs)["bytes"] == "secret"


@pytest.mark.parametrize(("kind", "more"), [("gzip", {"filters": "gzip.decompress"}), ("zip", {"extract": "zeros"})])
def test_bombs_are_decompressed_only_as_far_as_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, kind: str, more: dict[str, Any]
) -> None:
    uri = stored(desk, bombs()[kind], "application/zip")
    assert done(desk, "file.read", uri=uri, length=10, **more)["offset_to"] == 10
    monkeypatch.setattr(file_commands, "MAX_UNPACKED_BYTES", 5_000_000)
    assert "at most 5,000,000 bytes are unpacked" in refused(desk, "file.read", uri=uri, offset=9_000_000, **more)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"uri": "svc:attachment:999"}, "there is no attachment '999'"),
        ({"uri": "svc:attachment:x"}, "there is no attachment 'x'"),
        ({"uri": "svc:resource:none"}, "there is no resource 'none'"),
        ({"uri": "svc:automation_resource:1"}, "there is no automation_resource '1'"),
        ({"uri": "svc:task:1"}, "is not a file"),
        ({"uri": "file:///etc/passwd"}, "is not a file"),
        ({"uri": "/etc/passwd"}, "is not a file"),
        ({"length": 0}, "is not 1 to"),
        ({"length": file_commands.MAX_READ_BYTES + 1}, "is not 1 to"),
        ({"offset": -1}, "must be an id"),
        ({"filters": "gzip.decompres"}, "did you mean 'gzip.decompress'"),
        ({"filters": "gzip.decompress"}, "cannot be unpacked"),
        ({"extract": "a.txt"}, "cannot be unpacked"),
    ],
)
def test_unreadable_files_are_reported(desk: Desk, inputs: dict[str, Any], message: str) -> None:
    assert message in refused(desk, "file.read", **{"uri": stored(desk, TEXT)} | inputs)


def test_a_file_missing_in_an_archive_is_reported(desk: Desk) -> None:
    uri = stored(desk, archive(**{"a.txt": b"x"}), "application/zip")
    assert "did you mean 'a.txt'" in refused(desk, "file.read", uri=uri, extract="a.tx")


# -- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("héllo", "héllo".encode()),
        ("data:x", b"data:x"),
        ({"text": "data:x"}, b"data:x"),
        ({"text": ""}, b""),
        ({"bytes": "plain"}, b"plain"),
        ({"bytes": data_uri(BINARY)}, BINARY),
        (b"\xff\x00".decode("utf-8", "surrogateescape"), b"\xff\x00"),
    ],
)
def test_contents_are_stored_as_bytes(desk: Desk, content: Any, expected: bytes) -> None:
    found = done(desk, "file.write", content=content)
    file = file_contents.find(desk.context(), found["uri"])
    assert file_contents.content(desk.context(), file) == expected and found["size"] == len(expected)
    assert "name" not in found and found["mime_type"] == "application/octet-stream"
    assert found["expires_at"] == NOW + 900 and found["id"] == file.id


def test_properties_of_a_file(desk: Desk) -> None:
    found = done(desk, "file.write", content="x", name="Report.CSV", mime_type="text/csv", expires="+2 hours")
    assert (found["name"], found["mime_type"], found["expires_at"]) == ("report.csv", "text/csv", NOW + 7200)
    assert done(desk, "file.write", content="x", expires="0")["expires_at"] == 0
    record = desk.record("automation_resource", found["id"])
    assert found["uri"] == f"svc:automation_resource:{record['token']}" and record["size"] == 1


def test_files_can_be_appended_to(desk: Desk) -> None:
    first = done(desk, "file.write", content="one ", name="log")
    again = done(desk, "file.write", content="two", uri=first["uri"])
    assert again == first | {"size": 7}
    assert done(desk, "file.read", uri=first["uri"])["bytes"] == "one two"


def test_archives_are_created(desk: Desk) -> None:
    entries = {"a/b.txt": {"bytes": TEXT}, "c.png": {"bytes": data_uri(BINARY)}, "d": {"uri": stored(desk, "kept")}}
    uri = done(desk, "file.write", content={"zip": {"files": entries}}, mime_type="application/zip")["uri"]
    content = file_contents.content(desk.context(), file_contents.find(desk.context(), uri))
    with zipfile.ZipFile(io.BytesIO(content)) as made:
        assert {name: made.read(name) for name in made.namelist()} == {
            "a/b.txt": TEXT.encode(), "c.png": BINARY, "d": b"kept",
        }  # fmt: skip
    assert done(desk, "file.read", uri=uri, extract="d")["bytes"] == "kept"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "needs the input 'content'"),
        ({"content": ""}, "must not be empty"),
        ({"content": {"text": "a", "bytes": "b"}}, "takes one of bytes, text, zip"),
        ({"content": {"txt": "a"}}, "takes one of bytes, text, zip"),
        ({"content": {"bytes": "data:image/png;base64,?"}}, "is not base64"),
        ({"content": {"zip": {"file": {}}}}, "zip takes `files:`"),
        ({"content": {"zip": {"files": {"a": {"bytes": "x"}}, "password": "p"}}}, "can be read but not created"),
        ({"content": {"zip": {"files": {"../a": {"bytes": "x"}}}}}, "is not a path"),
        ({"content": {"zip": {"files": {"/a": {"bytes": "x"}}}}}, "is not a path"),
        ({"content": {"zip": {"files": {"a": "x"}}}}, "takes `uri:` or `bytes:`"),
        ({"content": {"zip": {"files": {"a": {"uri": "svc:attachment:999"}}}}}, "there is no attachment"),
        ({"content": "x", "expires": "gibberish"}, "'expires'"),
        ({"content": "x", "uri": "svc:attachment:1"}, "only automation resources can"),
        ({"content": "x", "uri": "svc:automation_resource:none"}, "there is no automation_resource"),
        ({"content": "x", "uri": "svc:automation_resource:none", "name": "n"}, "leave it out"),
    ],
)
def test_impossible_writes_are_reported(desk: Desk, inputs: dict[str, Any], message: str) -> None:
    assert message in refused(desk, "file.write", **inputs)


def test_sizes_are_limited(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(desk.service, settings=desk.service.settings.replace(max_attachment_bytes=1024))
    monkeypatch.setattr(desk, "service", small)
    uri = stored(desk, "x" * 1000)
    assert "at most 1024 bytes" in refused(desk, "file.write", content="x" * 1025)
    assert "at most 1024 bytes" in refused(desk, "file.write", content="x" * 25, uri=uri)
    files_of_zip = {str(number): {"uri": uri} for number in range(2)}
    assert "more than 1,024 bytes" in refused(desk, "file.write", content={"zip": {"files": files_of_zip}})


def test_files_expire_and_their_bytes_are_deleted(desk: Desk) -> None:
    before = len(desk.read(lambda tx: tx.find(BLOB)))
    uri = done(desk, "file.write", content="for a while", expires="+1 hour")["uri"]
    later = replace(desk.context(), now=NOW + 3600)
    assert file_contents.find(replace(later, now=NOW + 3599), uri).size == 11
    host = ServiceHost(later)
    found = engine.run(
        Script("start:\n  file.read:\n    output: x\n    inputs@key: given", ALLOW), {"given": {"uri": uri}}, host
    )
    assert "there is no automation_resource" in found.message
    file_contents.forget_expired(desk.service, NOW + 3599)
    assert file_contents.find(desk.context(), uri).size == 11
    file_contents.forget_expired(desk.service, NOW + 3600)
    assert "there is no" in refused(desk, "file.read", uri=uri)
    assert len(desk.read(lambda tx: tx.find(BLOB))) <= before


def test_files_become_attachments_and_resources(desk: Desk) -> None:
    written = done(desk, "file.write", content={"bytes": data_uri(BINARY)}, mime_type="image/png")
    content = written["uri"]
    fields = {"name": "a.png", "mime_type": "application/vnd.svc.uri", "content": content}
    attachment = done(desk, "record.create", record_type="attachment", fields=fields)
    assert (attachment["mime_type"], attachment["size"]) == ("image/png", 256)
    done(desk, "record.create", record_type="resource", fields={
        "name": "a.png", "extension_id": "svc.resource.image", "content": content,
    })  # fmt: skip
    desk.delete("automation_resource", written["id"])
    for uri in (f"svc:attachment:{attachment['id']}", "svc:resource:a.png"):
        assert file_contents.content(desk.context(), file_contents.find(desk.context(), uri)) == BINARY
    assert "there is no automation resource" in refused(desk, "record.create", record_type="attachment", fields=fields)


def test_copying_an_automation_resource_requires_reading_it(desk: Desk) -> None:
    ids = desk.people()
    desk.create("role", name="All", privs_mode="all", member_query_worker="id:>0")
    fields = {"name": "a", "mime_type": "application/vnd.svc.uri", "content": stored(desk, "kept")}
    assert desk.create("attachment", by=ids["nora"], **fields)["size"] == 4
    with pytest.raises(Invalid, match="there is no automation resource"):
        desk.create("attachment", by=ids["milo"], **fields)


@pytest.mark.parametrize("more", [{}, {"uri": "kept"}])
def test_a_dry_run_stores_nothing(desk: Desk, more: dict[str, Any]) -> None:
    inputs = {"content": "dry"} | ({"uri": stored(desk, "kept")} if more else {})
    before = everything(desk)
    found = ran(desk, {"c1": ("file.write", inputs)}, dry=True)
    assert found.values["c1"]["size"] == (7 if more else 3)
    assert everything(desk) == before
