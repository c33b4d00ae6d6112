"""The contents of ZIP attachments, including encrypted, huge and hostile ones."""

import io
import struct
import zipfile
from datetime import UTC
from typing import Any

import pytest

from server.errors import Invalid, TooLarge
from server.queries import archives
from server.store.blobs import PIECE_BYTES
from tests.records.desk import Desk

MTIME = 1_795_200_658  # 2026-11-20 18:50:58 UTC
WHEN = (2026, 11, 20, 18, 50, 58)


def packed(*files: tuple[str, bytes], comment: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, WHEN), content)
        archive.comment = comment
    return out.getvalue()


def attached(desk: Desk, content: bytes, by: int = 0) -> int:
    return int(desk.create("attachment", by=by, name="files.zip", mime_type="application/zip", content=content)["id"])


TWO = (("a/one.txt", b"hi"), ("b/Two.csv", b"1,2,3"))


def test_every_file_is_listed_with_size_and_time(desk: Desk, ask) -> None:
    id = attached(desk, packed(*TWO))
    result = ask(f"type:attachment.manifest id:{id}")
    assert result["data"] == {
        "cursor": {"num_files": 2, "offset_start": 0, "offset_end": 1, "limit": 1000},
        "files": [
            {"name": "a/one.txt", "index": 0, "size": 2, "mtime": MTIME},
            {"name": "b/Two.csv", "index": 1, "size": 5, "mtime": MTIME},
        ],
    }
    assert result["_"] == {"type": "attachment.manifest", "format": "dictionaries"}


@pytest.mark.parametrize(
    ("more", "indexes", "cursor"),
    [
        ("filter:*.csv", [1], (1, 0, 0, 1000)),
        ("filter:*TWO*", [1], (1, 0, 0, 1000)),
        ("filter:one.txt", [], (0, 0, 0, 1000)),
        ('filter:"a/*"', [0], (1, 0, 0, 1000)),
        ("filter:.*", [], (0, 0, 0, 1000)),
        ("limit:1", [0], (2, 0, 0, 1)),
        ("limit:1 offset:1", [1], (2, 1, 1, 1)),
        ("offset:2", [], (2, 2, 2, 1000)),
    ],
)
def test_files_are_filtered_and_paged(
    desk: Desk, ask, more: str, indexes: list[int], cursor: tuple[int, int, int, int]
) -> None:
    data = ask(f"type:attachment.manifest id:{attached(desk, packed(*TWO))} {more}")["data"]
    assert [each["index"] for each in data["files"]] == indexes
    assert tuple(data["cursor"][name] for name in ("num_files", "offset_start", "offset_end", "limit")) == cursor


def test_clock_times_are_those_of_the_zone(desk: Desk, ask) -> None:
    id = attached(desk, packed(*TWO))
    files = ask(f"type:attachment.manifest id:{id} timezone:Europe/Berlin")["data"]["files"]
    assert files[0]["mtime"] == MTIME - 3600


@pytest.mark.parametrize(
    ("id", "more", "part"),
    [
        (99, "", "there is no attachment 99"),
        (0, "", "not a whole number from 1"),
        (1, "limit:1001", "not a whole number from 1 to 1000"),
        (1, "offset:-1", "not a whole number from 0"),
        (1, "", "attachment 1: it is no ZIP archive"),
    ],
)
def test_what_is_no_archive_is_an_error(desk: Desk, refuse, id: int, more: str, part: str) -> None:
    attached(desk, b"plain text")
    assert part in refuse(f"type:attachment.manifest id:{id} {more}").message


def test_only_those_who_may_download_it_may_look_into_it(desk: Desk, ids: dict[str, int], ask, refuse) -> None:
    secret = desk.create("group", name="Management", is_private=1)["id"]
    ticket = desk.create("ticket", subject="Pump", group_id=secret)["id"]
    id = attached(desk, packed(*TWO), by=ids["nora"])
    desk.update("attachment", id, attach=[f"ticket:{ticket}"])
    q = f"type:attachment.manifest id:{id}"
    assert ask(q, by=ids["nora"])["data"]["cursor"]["num_files"] == 2
    assert "or you may not read it" in refuse(q, by=ids["milo"]).message
    desk.update("ticket", ticket, group_id=ids["support"])
    assert ask(q, by=ids["milo"])["data"]["cursor"]["num_files"] == 2


def listed(content: bytes) -> list[archives.ArchiveEntry]:
    return archives.entries(len(content), lambda start, end: content[start:end], UTC)


def patched(content: bytes, name: str, value: int) -> bytes:
    """A ZIP file with a changed end record. Sizes and offsets as in section 4.3.16 of the ZIP format."""
    at = content.rindex(b"PK\x05\x06")
    changed = bytearray(content)
    struct.pack_into("<I", changed, at + {"bytes": 12, "offset": 16}[name], value)
    return bytes(changed)


def test_only_the_end_of_a_large_archive_is_read(desk: Desk, ask) -> None:
    filler = bytes(range(256)) * 4096
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("big.bin", WHEN), filler)
    content = out.getvalue()
    read: list[tuple[int, int]] = []

    def ranges(start: int, end: int) -> bytes:
        read.append((start, end))
        return content[start:end]

    assert archives.entries(len(content), ranges, UTC)[0].size == len(filler)
    assert min(start for start, _ in read) > len(content) - 70_000
    id = attached(desk, content)
    assert len(content) > 4 * PIECE_BYTES
    assert ask(f"type:attachment.manifest id:{id}")["data"]["files"][0]["size"] == len(filler)


def test_folders_encrypted_files_and_other_alphabets_are_listed() -> None:
    content = bytearray(packed(("folder/", b""), ("straße/日本.txt", b"x")))
    for mark, place in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = content.rindex(mark)
        content[at + place] |= 1  # encrypted
    assert [(each.name, each.size) for each in listed(bytes(content))] == [("folder/", 0), ("straße/日本.txt", 1)]


@pytest.mark.parametrize(
    "content",
    [
        b"#!/bin/sh\n" + packed(*TWO, comment=b"self-extracting"),
        patched(packed(*TWO), "offset", 2**31),
        packed(*TWO, comment=b"c" * 65_535),
    ],
    ids=["behind other bytes", "wrong offset", "longest comment"],
)
def test_the_directory_is_found_from_the_end(content: bytes) -> None:
    assert [each.name for each in listed(content)] == ["a/one.txt", "b/Two.csv"]


def test_the_unix_time_of_an_entry_wins_and_an_impossible_date_is_omitted() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        stamped = zipfile.ZipInfo("stamped", WHEN)
        stamped.extra = struct.pack("<HHBi", 0x5455, 5, 1, 1_700_000_000)
        archive.writestr(stamped, b"")
        archive.writestr(zipfile.ZipInfo("never", (2026, 2, 30, 0, 0, 0)), b"")
    assert [each.mtime for each in listed(out.getvalue())] == [1_700_000_000, 0]


HOSTILE: list[tuple[str, bytes, Any]] = [
    ("nothing", b"", Invalid),
    ("text", b"PK but not really", Invalid),
    ("cut off in front", packed(*TWO)[-40:], Invalid),
    ("cut off behind", packed(*TWO)[:-10], Invalid),
    ("directory beyond the file", patched(packed(*TWO), "bytes", 2**32 - 2), Invalid),
    ("directory of more than is read", patched(b"\0" * 5_000_000 + packed(*TWO), "bytes", 4_500_000), TooLarge),
    ("garbage in the directory", packed(*TWO).replace(b"PK\x01\x02", b"PK\x01\x09"), Invalid),
    ("a name that is no UTF-8", packed(("日", b"")).replace("日".encode(), b"\xff\xff\xff"), Invalid),
]


@pytest.mark.parametrize(("content", "error"), [each[1:] for each in HOSTILE], ids=[each[0] for each in HOSTILE])
def test_hostile_archives_are_refused_in_words(content: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        listed(content)
