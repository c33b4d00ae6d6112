"""Attachments: deduplicated bytes, possible owners, and permissions."""

import base64
import hashlib

import pytest

from server.errors import AdminOnly, Forbidden, Invalid, TooLarge
from server.store import blobs


def content(desk, id):
    blob_id = desk.row("attachment", id)["blob_id"]
    return desk.read(lambda tx: blobs.read(tx, blob_id))


def blob_count(desk):
    return len(desk.read(lambda tx: tx.find(blobs.BLOB)))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("Grüße", "Grüße".encode()),
        ("", b""),
        ("data:image/png;base64," + base64.b64encode(bytes(range(256))).decode(), bytes(range(256))),
        ("data:text/plain,a%20b%00", b"a b\x00"),
        ("DATA:;base64,YQ==", b"a"),
        ("x" * 600_000, b"x" * 600_000),
    ],
)
def test_content_is_stored_byte_for_byte(desk, sent, kept):
    shown = desk.create("attachment", name="a.bin", content=sent)
    assert content(desk, shown["id"]) == kept
    assert shown["size"] == len(kept)
    assert shown["storage_sha1hash"] == hashlib.sha1(kept).hexdigest()
    assert shown["mime_type"] == "application/octet-stream"
    assert "content" not in shown


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "data:image/png;base64,***"},
        {"content": "data:image/png"},
        {"mime_type": "application/vnd.svc.uri", "content": "svc:automation_resource:x"},
        {"size": 5},
        {"storage_key": "x"},
        {"attach": ["message:99"]},
    ],
)
def test_invalid_files_are_refused(desk, fields):
    with pytest.raises(Invalid):
        desk.create("attachment", **{"name": "a.txt"} | fields)


def test_a_file_above_the_limit_is_refused(desk):
    object.__setattr__(desk.service, "settings", desk.service.settings.replace(max_attachment_bytes=1024))
    assert desk.create("attachment", name="a.txt", content="x" * 1024)["size"] == 1024
    with pytest.raises(TooLarge, match="1024"):
        desk.create("attachment", name="a.txt", content="x" * 1025)


def test_equal_bytes_are_stored_once_and_deleted_with_their_last_file(desk):
    first, second = (desk.create("attachment", name=name, content="same")["id"] for name in ("a.txt", "b.txt"))
    assert blob_count(desk) == 1
    desk.delete("attachment", first)
    assert content(desk, second) == b"same"
    desk.update("attachment", second, content="other")
    assert content(desk, second) == b"other" and blob_count(desk) == 1
    desk.delete("attachment", second)
    assert blob_count(desk) == 0


def test_files_are_attached_to_records_and_detached(desk, ids):
    ticket = desk.create("ticket", subject="Pump", group_id=ids["support"])["id"]
    made = desk.create("attachment", name="a b.txt", content="a", attach=[f"ticket:{ticket}"])
    assert made["url_download"] == f"https://desk.example/files/{made['id']}/a%20b.txt"
    shown = desk.record("ticket", ticket, expand="attachments")
    assert [each["id"] for each in shown["attachments"]] == [made["id"]]
    desk.update("attachment", made["id"], attach=[f"-ticket:{ticket}"])
    assert desk.found("attachment", "on:none") == [made["id"]]


def test_an_unattached_file_is_visible_to_its_uploader_only(desk, ids):
    desk.create("role", name="Everyone", privs_mode="all", member_query_worker="isDisabled:no")
    made = desk.create("attachment", by=ids["milo"], name="a.txt", content="a")["id"]
    assert desk.found("attachment", "", by=ids["milo"]) == [made]
    assert desk.found("attachment", "", by=ids["olga"]) == []
    assert desk.found("attachment", "", by=ids["nora"]) == [made]


def test_an_attached_file_is_visible_to_readers_of_its_record(desk, ids):
    desk.update("group", ids["support"], is_private=1)
    ticket = desk.create("ticket", subject="Pump", group_id=ids["support"])["id"]
    made = desk.create("attachment", name="a.txt", content="a", attach=[f"ticket:{ticket}"])["id"]
    assert desk.found("attachment", "", by=ids["milo"]) == [made]
    assert desk.found("attachment", "", by=ids["olga"]) == []
    assert desk.record("attachment", made, by=ids["milo"], expand="on")["on"] == [
        {"_context": "svc.contexts.ticket", "id": ticket}
    ]


def test_attaching_requires_the_right_to_change_the_record(desk, ids):
    ticket = desk.create("ticket", subject="Pump", group_id=ids["support"])["id"]
    desk.create("role", name="Everyone", privs_mode="all", member_query_worker="isDisabled:no")
    assert desk.create("attachment", by=ids["milo"], name="a.txt", content="a", attach=[f"ticket:{ticket}"])["id"]
    with pytest.raises(Forbidden):
        desk.create("attachment", by=ids["olga"], name="a.txt", content="a", attach=[f"ticket:{ticket}"])
    with pytest.raises(AdminOnly):
        desk.update("attachment", 1, by=ids["milo"], name="b.txt")
