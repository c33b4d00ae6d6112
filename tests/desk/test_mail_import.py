"""Files of mail into tickets, as `helpdesk mail import` does it."""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.desk import mail_import
from server.desk.mail_import import Counts
from server.desk.mailroom import storing
from server.desk.mailroom.incoming import Incoming
from server.desk.writing import RecordWriter
from server.errors import Invalid
from tests.desk.mailroom import Desk, mail


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path / "data")
    yield opened
    opened.close()


class Import:
    """One run, with what it reported."""

    def __init__(self, desk: Desk, *paths: Path | str, stdin: bytes = b"") -> None:
        self.progress: list[tuple[int, int]] = []
        self.problems: list[tuple[str, str]] = []
        self.counts = mail_import.run(
            desk.ctx, [str(path) for path in paths], io.BytesIO(stdin),
            lambda done, total: self.progress.append((done, total)),
            lambda where, reason: self.problems.append((where, reason)),
        )  # fmt: skip


def numbered(number: int, **headers: str) -> bytes:
    return mail(Message_Id=f"<{number}@kite.example>", Subject=f"Mail {number}", **headers)


def mbox(*mails: bytes) -> bytes:
    return b"".join(b"From ann@kite.example Mon Jan  5 10:00:00 2026\n" + raw + b"\n" for raw in mails)


def test_one_file_is_one_ticket(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "one.eml"
    file.write_bytes(numbered(1))
    run = Import(desk, file)
    assert run.counts == Counts(tickets=1) and run.progress == [(1, 1)] and run.problems == []
    assert desk.one("ticket")["subject"] == "Mail 1"
    assert desk.blob(desk.one("message")["raw_blob_id"]) == numbered(1)


def test_all_mails_of_an_mbox_file_are_imported_in_order(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "box"
    reply = numbered(3, In_Reply_To="<1@kite.example>")
    file.write_bytes(mbox(numbered(1), numbered(2), reply, numbered(1)))
    run = Import(desk, file)
    assert run.counts == Counts(tickets=2, replies=1, duplicates=1)
    assert run.progress == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_second_import_stores_nothing_new(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "box"
    file.write_bytes(mbox(numbered(1), numbered(2)))
    Import(desk, file)
    before = desk.counts()
    assert Import(desk, file).counts == Counts(duplicates=2)
    assert desk.counts() == before


def test_the_files_of_folders_and_maildirs_are_imported(desk: Desk, tmp_path: Path) -> None:
    for name, raw in {"f/b.eml": 1, "f/a/x.EML": 2, "m/cur/10.x": 3, "m/new/9.x": 4, "m/new/.hidden": 5}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(numbered(raw))
    (tmp_path / "f" / "notes.txt").write_text("no mail")
    run = Import(desk, tmp_path / "f", tmp_path / "m")
    assert run.counts == Counts(tickets=4) and run.problems == []
    assert [each["subject"] for each in desk.all("ticket")] == ["Mail 1", "Mail 2", "Mail 3", "Mail 4"]


def test_the_standard_input_is_imported_and_no_copy_of_it_is_left(desk: Desk, tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path / "data"))
    assert Import(desk, "-", stdin=mbox(numbered(1), numbered(2))).counts == Counts(tickets=2)
    assert sorted(os.listdir(tmp_path / "data")) == before


def test_a_mail_that_is_refused_is_named_and_the_others_are_imported(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "box"
    file.write_bytes(mbox(numbered(1), numbered(2, From=""), numbered(3)))
    run = Import(desk, file)
    assert run.counts == Counts(tickets=2, failed=1)
    [(where, reason)] = run.problems
    assert where == f"{file}, message 2" and "no sender" in reason
    assert run.progress[-1] == (3, 3)


def test_a_mail_that_shows_an_error_of_ours_is_named_and_the_others_are_imported(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = storing.message

    def fail_for_second(writing: RecordWriter, incoming: Incoming, *arguments: Any, **more: Any) -> int:
        if incoming.subject == "Mail 2":
            raise ZeroDivisionError
        return message(writing, incoming, *arguments, **more)

    monkeypatch.setattr(storing, "message", fail_for_second)
    for number in (1, 2, 3):
        (tmp_path / f"{number}.eml").write_bytes(numbered(number))
    run = Import(desk, *(tmp_path / f"{number}.eml" for number in (1, 2, 3)))
    assert run.counts == Counts(tickets=2, failed=1)
    assert [where for where, _ in run.problems] == [str(tmp_path / "2.eml")]
    assert "ZeroDivisionError" in run.problems[0][1]
    assert (tmp_path / "2.eml").read_bytes() == numbered(2)


def test_a_path_where_nothing_is_stops_before_anything_is_imported(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "one.eml").write_bytes(numbered(1))
    with pytest.raises(Invalid, match="nowhere"):
        Import(desk, tmp_path / "one.eml", tmp_path / "nowhere")
    assert desk.all("ticket") == []


def test_an_empty_file_is_no_mail(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "empty.eml").write_bytes(b"")
    assert Import(desk, tmp_path / "empty.eml").counts == Counts()


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (Counts(), "0 new tickets, 0 replies, 0 duplicates, 0 ignored, 0 failed"),
        (Counts(1, 1, 1, 2, 3), "1 new ticket, 1 reply, 1 duplicate, 2 ignored, 3 failed"),
    ],
)
def test_counts_as_a_line(counts: Counts, text: str) -> None:
    assert str(counts) == text
