"""Files over HTTP: uploaded in every form, served whole and in ranges, safely, and only to people who may read them."""

import base64
from typing import Any
from urllib.parse import quote

import pytest

from server.web.downloads import disposition
from tests.api.minimal import made, number
from tests.service import Api, Reply

PATH = "/rest/attachments/upload.json"
BYTES = bytes(range(256)) * 3


def upload(api: Api, name: str = "a.bin", content: Any = b"abc", **form: Any) -> Reply:
    return api.call("POST", PATH, data={"file_name": name, "content": content, **form})


def download(api: Api, id: int, method: str = "GET", **headers: str) -> Reply:
    return api.call(method, f"/rest/attachments/{id}/download.json", headers=headers)


def test_bytes_arrive_as_they_are_sent_in_every_form(api: Api) -> None:
    sent = [
        upload(api, content=BYTES),
        upload(api, content=BYTES, encoding="text"),
        upload(api, content=base64.b64encode(BYTES), encoding="base64"),
        api.call("POST", PATH, files={"content": ("a.bin", BYTES, "application/x-kite")}),
        api.call("POST", PATH, data={"file_name": "a.bin"}, files={"content": ("b.bin", BYTES)}),
        api.call("POST", PATH, files={"file_name": (None, "a.bin"), "content": (None, BYTES)}),
        api.create("attachment", name="a.bin", content="data:x/y;base64," + base64.b64encode(BYTES).decode()),
        api.call(
            "POST", PATH, json={"file_name": "a.bin", "encoding": "base64", "content": base64.b64encode(BYTES).decode()}
        ),
    ]
    for response in sent:
        assert (response.ok()["name"], response["size"]) == ("a.bin", len(BYTES)), response
        assert download(api, response["id"]).content == BYTES
    assert sent[0]["file_id"] == sent[0]["id"]
    assert len({response["storage_sha1hash"] for response in sent}) == 1


def test_the_same_bytes_are_stored_once(api: Api) -> None:
    content = f"stored once {number()}".encode()
    first, second = upload(api, "one.txt", content).ok(), upload(api.as_("milo"), "two.txt", content).ok()
    assert first["storage_key"] == second["storage_key"] and first["id"] != second["id"]
    assert upload(api, "three.txt", content + b"!").ok()["storage_key"] != first["storage_key"]
    api.remove("attachment", first["id"]).ok()
    assert download(api, second["id"]).content == content


def test_uploading_the_same_file_again_returns_the_existing_one(api: Api) -> None:
    content, milo = f"again {number()}".encode(), api.as_("milo")
    first = upload(milo, "one.txt", content, mime_type="text/plain").ok()
    again = upload(milo, "two.txt", content, mime_type="text/plain").ok()
    assert (again["id"], again["file_id"], again["name"]) == (first["id"], first["id"], "one.txt")
    assert upload(milo, "two.txt", content, mime_type="text/csv").ok()["id"] != first["id"]
    assert upload(api, "two.txt", content, mime_type="text/plain").ok()["id"] != first["id"]


def test_a_file_that_its_sender_can_no_longer_read_is_not_found_again(api: Api) -> None:
    content, milo = f"moved {number()}".encode(), api.as_("milo")
    first = upload(milo, "one.txt", content).ok()["id"]
    hidden = made(api, "ticket", group_id=api.ids["private"])
    api.update("attachment", first, attach=[f"ticket:{hidden}"]).ok()
    second = upload(milo, "two.txt", content).ok()
    assert (second["id"] != first, second["name"]) == (True, "two.txt")


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"file_name": "a"}, "content"),
        ({"content": "a"}, "file_name"),
        ({"file_name": "", "content": "a"}, "file_name"),
        ({"file_name": "a", "content": "!!", "encoding": "base64"}, "content"),
        ({"file_name": "a", "content": "a", "encoding": "rot13"}, "encoding"),
        ({"file_name": "x" * 256, "content": "a"}, "name"),
        ({"file_name": "a", "content": "a", "mime_type": "x" * 256}, "mime_type"),
        ({"file_name": "a\x00b", "content": "a"}, "name"),
    ],
)
def test_uploads_that_are_refused(form: dict[str, str], field: str, api: Api) -> None:
    response = api.call("POST", PATH, data=form)
    assert (response.status, response["errors"][0]["field"]) == (422, field), response


def test_an_empty_file_is_accepted(api: Api) -> None:
    id = upload(api, "empty", b"").ok()["id"]
    response = download(api, id)
    assert (response.status, response.content, response.headers["Content-Length"]) == (200, b"", "0")
    assert download(api, id, Range="bytes=0-").status in (200, 416)


RANGES = [
    ("bytes=0-9", 206, (0, 10)), ("bytes=10-", 206, (10, 768)), ("bytes=-5", 206, (763, 768)),
    ("bytes=0-", 206, (0, 768)), ("bytes=0-767", 206, (0, 768)), ("bytes=700-9999", 206, (700, 768)),
    ("bytes=-9999", 206, (0, 768)), ("bytes=767-767", 206, (767, 768)), ("bytes=768-", 416, None),
    ("bytes=9999-10000", 416, None), ("bytes=-0", 416, None), ("bytes=5-2", 200, None), ("bytes=0-1,4-5", 200, None),
    ("items=0-1", 200, None), ("bytes=a-b", 200, None), ("bytes=-", 200, None), ("bytes=", 200, None),
    ("bytes=0-999999999999999999999", 200, None), ("\u0661", 200, None),
]  # fmt: skip


@pytest.mark.parametrize(("header", "status", "span"), RANGES)
def test_ranges(header: str, status: int, span: tuple[int, int] | None, api: Api) -> None:
    id = upload(api, content=BYTES).ok()["id"]
    response = download(api, id, Range=header.encode("utf-8"))  # type: ignore[arg-type]
    assert response.status == status
    if status == 416:
        assert response.headers["Content-Range"] == "bytes */768"
        return
    start, end = span or (0, 768)
    assert response.content == BYTES[start:end]
    assert response.headers.get("Content-Range") == (f"bytes {start}-{end - 1}/768" if status == 206 else None)


def test_head_returns_the_size_without_a_body(api: Api) -> None:
    id = upload(api, content=BYTES).ok()["id"]
    whole, part = download(api, id, "HEAD"), download(api, id, "HEAD", Range="bytes=0-9")
    assert (whole.status, whole.content, whole.headers["Content-Length"]) == (200, b"", "768")
    assert (part.status, part.content, part.headers["Content-Length"]) == (206, b"", "10")


def test_a_large_file_is_served_in_pieces_and_whole(api: Api) -> None:
    content = BYTES * 4000
    id = upload(api, "large.bin", content).ok()["id"]
    assert download(api, id).content == content
    assert download(api, id, Range="bytes=1000000-2000000").content == content[1_000_000:2_000_001]


TYPES = [
    ("image/png", "image/png"), ("IMAGE/PNG; x=y", "image/png"), ("text/plain", "text/plain"),
    ("application/pdf", "application/pdf"), ("text/html", "application/octet-stream"),
    ("Text/HTML; charset=utf-8", "application/octet-stream"), ("image/svg+xml", "application/octet-stream"),
    ("text/xml", "application/octet-stream"), ("application/xml", "application/octet-stream"),
    ("application/xhtml+xml", "application/octet-stream"), ("application/javascript", "application/octet-stream"),
    ("text/css", "application/octet-stream"), ("", "application/octet-stream"),
    ("nonsense", "application/octet-stream"),
    ("text/html\r\nX: y", "application/octet-stream"), ("multipart/x-mixed-replace", "application/octet-stream"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "sent"), TYPES)
def test_files_that_a_browser_would_run_are_served_as_downloads(kind: str, sent: str, api: Api) -> None:
    id = upload(api, "page.html", b"<script>alert(1)</script>", mime_type=kind).ok()["id"]
    headers = download(api, id).headers
    assert headers["Content-Type"].partition(";")[0] == sent
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert headers["Content-Disposition"].startswith("attachment; ")
    assert "X" not in headers


NAMES = [
    ("plain.txt", 'attachment; filename="plain.txt"'),
    ("two words.txt", 'attachment; filename="two words.txt"'),
    ('quote".txt', "attachment; filename=\"quote_.txt\"; filename*=UTF-8''quote%22.txt"),
    ("semi;colon\\%41.txt", "attachment; filename=\"semi_colon__41.txt\"; filename*=UTF-8''semi%3Bcolon%5C%2541.txt"),
    ("\u00e4\U0001fa81.txt", "attachment; filename=\"__.txt\"; filename*=UTF-8''%C3%A4%F0%9F%AA%81.txt"),
    ("line\r\nSet-Cookie: a=b", ("attachment; filename=\"line__Set-Cookie: a=b\"; "
                                 "filename*=UTF-8''line%0D%0ASet-Cookie%3A%20a%3Db")),
    ("../../etc/passwd", 'attachment; filename="../../etc/passwd"'),
    ("a\u202egnp.exe", "attachment; filename=\"a_gnp.exe\"; filename*=UTF-8''a%E2%80%AEgnp.exe"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "written"), NAMES)
def test_odd_names_of_older_files_are_encoded_safely(name: str, written: str) -> None:
    assert disposition(name) == written


@pytest.mark.parametrize(("name", "kept"), [
    ("plain.txt", "plain.txt"), ('quote".txt', "quote.txt"), ("semi;colon\\%41.txt", "%41.txt"),
    ("\u00e4\U0001fa81.txt", "\u00e4\U0001fa81.txt"), ("line\r\nSet-Cookie: a=b", "line Set-Cookie a=b"),
    ("../../etc/passwd", "passwd"), ("a\u202egnp.exe", "agnp.exe"), ("aux.txt", "_aux.txt"),
])  # fmt: skip
def test_a_name_is_stored_without_path_and_deceptive_characters(name: str, kept: str, api: Api) -> None:
    made = upload(api, name, f"x {number()}".encode()).ok()
    assert made["name"] == kept and made["url_download"].endswith(f"/files/{made['id']}/{quote(kept, safe='')}")
    assert download(api, made["id"]).headers["Content-Disposition"] == disposition(kept)


def test_a_name_that_is_only_a_path_is_refused(api: Api) -> None:
    assert upload(api, "../..", b"x").status == 422


def test_unknown_files_are_404(api: Api) -> None:
    for id in ("999999", "0", "x", "-1", "1%2e"):
        response = api.get(f"/rest/attachments/{id}/download.json")
        assert (response.status, response["__error"]) == (404, "ERROR_NOT_FOUND")


def test_a_file_is_readable_through_its_records(api: Api) -> None:
    milo, olga = api.as_("milo"), api.as_("olga")
    own = upload(milo, content=b"mine").ok()["id"]
    assert (download(milo, own).status, download(olga, own).status, download(api, own).status) == (200, 403, 200)
    hidden = made(api, "ticket", group_id=api.ids["private"])
    public = made(api, "ticket")
    file = made(api, "attachment", content="secret", attach=[f"ticket:{hidden}"])
    assert (download(milo, file).status, download(olga, file).status, download(api, file).status) == (403, 403, 200)
    assert milo.create("attachment", name="x", attach=[f"ticket:{hidden}"]).status in (403, 422)
    assert milo.update("attachment", file, attach=[f"ticket:{public}"]).status == 403
    api.update("attachment", file, attach=[f"ticket:{public}"]).ok()
    assert (download(milo, file).content, download(olga, file).content) == (b"secret", b"secret")
    assert [each["id"] for each in olga.record("attachment", file, "on").ok()["on"]] == [public]
    api.update("attachment", file, attach=[f"-ticket:{public}"]).ok()
    assert download(olga, file).status == 403
    assert olga.found("attachment", f"id:{file}") == [] and api.found("attachment", f"id:{file}") == [file]


def test_a_file_of_a_note_on_a_hidden_ticket_is_hidden(api: Api) -> None:
    hidden = made(api, "ticket", group_id=api.ids["private"])
    note = api.create("comment", comment="Note", target__context="ticket", target_id=hidden).ok()["id"]
    file = made(api, "attachment", attach=[f"comment:{note}"])
    assert download(api.as_("milo"), file).status == 403
    public = made(api, "message")
    note = api.create("comment", comment="Note", target__context="message", target_id=public).ok()["id"]
    file = made(api, "attachment", content="x", attach=[f"comment:{note}"])
    assert download(api.as_("olga"), file).content == b"x"


def test_a_file_is_deleted_with_its_last_record(api: Api) -> None:
    first, second = made(api, "asset"), made(api, "asset")
    file = made(api, "attachment", attach=[f"asset:{first}", f"asset:{second}"])
    api.remove("asset", first).ok()
    api.record("attachment", file).ok()
    api.remove("asset", second).ok()
    assert api.record("attachment", file).status == 404


def test_a_file_of_exactly_the_limit_is_accepted_and_one_byte_more_is_413(api: Api) -> None:
    limit = 25 * 1024 * 1024
    files = {"content": ("largest.bin", b"\0" * limit, "application/x-kite")}
    assert api.call("POST", PATH, files=files).ok()["size"] == limit
    files = {"content": ("largest.bin", b"\0" * (limit + 1), "application/x-kite")}
    response = api.call("POST", PATH, files=files)
    assert (response.status, response["__error"]) == (413, "ERROR_TOO_LARGE")
    assert str(limit) in response["message"]
    assert len(api.found("attachment", "name:largest.bin")) == 1
