"""Records with a unique name: saved searches, file bundles, queues, resources."""

import base64

import pytest

from server.errors import Conflict, Forbidden, Invalid, Required, TooLarge
from server.store import blobs
from tests.records.desk import Desk

APP = {"owner__context": "app", "owner_id": 0}
CSV = "svc.resource.dataset.csv"
MINIMAL = {
    "saved_search": {"name": "Mine", "context": "ticket", "query": "status:open"} | APP,
    "file_bundle": {"name": "Papers"} | APP,
    "queue": {"name": "jobs"},
    "resource": {"name": "stock.csv", "extension_id": CSV},
}


def made(desk: Desk, uri: str, **fields) -> int:
    return int(desk.create(uri, **MINIMAL[uri] | fields)["id"])


@pytest.mark.parametrize(
    ("uri", "fields", "error", "field"),
    [
        ("saved_search", {"query": ""}, Required, "query"),
        ("saved_search", {"query": "(status:open"}, Invalid, "query"),
        ("saved_search", {"query": "x" * 65536}, Invalid, "query"),
        ("saved_search", {"context": "parcel"}, Invalid, "context"),
        ("saved_search", {"tag": "a.b"}, Invalid, "tag"),
        ("saved_search", {"tag": "x" * 65}, Invalid, "tag"),
        ("saved_search", {"owner__context": "worker", "owner_id": 99}, Invalid, "owner_id"),
        ("saved_search", {"owner__context": "org"}, Invalid, "owner__context"),
        ("file_bundle", {"tag": ""}, Required, "tag"),
        ("file_bundle", {"name": ""}, Required, "name"),
        ("file_bundle", {"tag": "x" * 129}, Invalid, "tag"),
        ("queue", {"name": ""}, Required, "name"),
        ("queue", {"name": "a-b"}, Invalid, "name"),
        ("queue", {"name": "x" * 256}, Invalid, "name"),
        ("resource", {"name": ""}, Required, "name"),
        ("resource", {"name": "a b"}, Invalid, "name"),
        ("resource", {"extension_id": "svc.resource.film"}, Invalid, "extension_id"),
        ("resource", {"extension_id": ""}, Required, "extension_id"),
        ("resource", {"content": "data:text/plain;base64,!"}, Invalid, "content"),
        ("resource", {"content": "svc:automation_resource:abc"}, Invalid, "content"),
        ("resource", {"description": "x" * 256}, Invalid, "description"),
    ],
)
def test_invalid_values_are_refused_by_name(desk, uri, fields, error, field):
    with pytest.raises(error, match=field):
        made(desk, uri, **fields)


@pytest.mark.parametrize(
    ("uri", "field", "name"),
    [("saved_search", "tag", "mine"), ("file_bundle", "tag", "papers"), ("queue", "name", "a.b"),
     ("resource", "name", "a.b-c")],
)  # fmt: skip
def test_a_name_is_unique(desk, uri, field, name):
    first = made(desk, uri, **{field: name})
    with pytest.raises(Conflict, match=f"{field}.*{first}"):
        made(desk, uri, **{field: name.upper()})
    other = made(desk, uri, **{field: f"{name}2"})
    with pytest.raises(Conflict, match=field):
        desk.update(uri, other, **{field: name})
    desk.update(uri, first, **{field: name})
    assert desk.registry.type(uri).lookup == field


def test_several_may_omit_their_tag(desk):
    for uri in ("saved_search", "file_bundle"):
        assert made(desk, uri) != made(desk, uri)
    id = made(desk, "saved_search", tag="mine")
    assert desk.update("saved_search", id, tag="")["tag"] == ""


def test_a_saved_search_of_the_app_needs_no_owner_id(desk, ids):
    shown = desk.create("saved_search", name="All", context="task", query="due:today", owner__context="app")
    assert (shown["context"], shown["owner_id"]) == ("svc.contexts.task", 0)
    assert desk.record("saved_search", shown["id"])["query"] == "due:today"


@pytest.mark.parametrize("uri", ["saved_search", "file_bundle"])
def test_records_of_a_worker_belong_to_the_worker(desk, ids, uri):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    milo, olga = ids["milo"], ids["olga"]
    own = made(desk, uri, by=milo, owner__context="worker", owner_id=milo)
    with pytest.raises(Forbidden):
        made(desk, uri, by=milo, owner__context="worker", owner_id=olga)
    with pytest.raises(Forbidden):
        desk.record(uri, own, by=olga)
    with pytest.raises(Forbidden):
        desk.update(uri, own, by=olga, name="Mine")
    everybodys = made(desk, uri)
    with pytest.raises(Forbidden):
        desk.update(uri, everybodys, by=milo, name="Mine")
    assert desk.found(uri, "", by=olga) == [everybodys]
    desk.delete("worker", milo)
    assert desk.row(uri, own)["owner_id"] == 0
    assert desk.found(uri, "", by=olga) == [everybodys]


# -- files ------------------------------------------------------------------------------------------------------------


def test_the_files_of_a_bundle_are_attached_to_it(desk, ids):
    bundle, other = made(desk, "file_bundle", tag="papers"), made(desk, "file_bundle", tag="other", name="Others")
    file = desk.create("attachment", name="a.pdf", content="pdf", attach=[f"file_bundle:{bundle}"])["id"]
    desk.create("attachment", name="b.pdf", content="pdf", attach=[f"bundles:{other}"])
    assert desk.found("attachment", "bundle:(tag:papers)") == [file]
    assert desk.found("attachment", "on:file_bundle bundle:papers") == [file]
    (shown,) = desk.record("file_bundle", bundle, expand="attachments")["attachments"]
    assert (shown["id"], shown["name"]) == (file, "a.pdf")


def test_files_are_readable_with_their_bundle_and_deleted_with_it(desk, ids):
    bundle = made(desk, "file_bundle", owner__context="worker", owner_id=ids["milo"])
    file = desk.create("attachment", name="a.pdf", content="pdf", attach=[f"file_bundle:{bundle}"])["id"]
    assert desk.found("attachment", "", by=ids["milo"]) == [file]
    assert desk.found("attachment", "", by=ids["olga"]) == []
    desk.delete("file_bundle", bundle)
    assert desk.found("attachment", "") == []


def content(desk: Desk, id: int) -> bytes:
    blob = desk.row("resource", id)["blob_id"]
    return desk.read(lambda tx: blobs.read(tx, blob))


def test_the_content_of_a_resource_is_stored_and_not_shown(desk):
    id = made(desk, "resource", content="a,b\n")
    assert content(desk, id) == b"a,b\n"
    shown = desk.record("resource", id)
    assert "content" not in shown and "blob_id" not in shown
    desk.update("resource", id, content="data:image/png;base64," + base64.b64encode(b"\x89PNG\x00").decode())
    assert (content(desk, id), desk.row("resource", id)["size"]) == (b"\x89PNG\x00", 5)
    desk.update("resource", id, description="Stock")
    assert content(desk, id) == b"\x89PNG\x00"
    desk.update("resource", id, content="")
    assert (content(desk, id), desk.row("resource", id)["size"]) == (b"", 0)


def test_bytes_are_deleted_with_their_last_use(desk):
    count = lambda tx: len(tx.find(blobs.BLOB))  # noqa: E731
    first, second = made(desk, "resource", content="same"), made(desk, "resource", name="b", content="same")
    assert desk.read(count) == 1
    desk.update("resource", first, content="other")
    desk.delete("resource", second)
    assert desk.read(count) == 1
    desk.delete("resource", first)
    assert desk.read(count) == 0


def test_the_size_of_a_resource_is_limited_like_a_file(desk):
    most = desk.service.settings.max_attachment_bytes
    with pytest.raises(TooLarge, match="content"):
        made(desk, "resource", content=b"x" * (most + 1))
