"""Import of mail files into tickets, as `helpdesk mail import` does it."""

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.__main__ import main
from server.errors import Full, Invalid
from server.mailroom import mail_import, storing
from server.mailroom.earlier_mail import History
from server.mailroom.incoming import IncomingMail
from server.mailroom.mail_import import Counts
from server.records.writing import RecordWriter
from server.tickets.types.ticket_parts.status import CLOSED
from tests import databases
from tests.desk.mailroom import Desk, mail
from tests.service import ROOT, hears_ctrl_c, surroundings


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path / "data")
    yield opened
    opened.close()


class Import:
    """A run with its report."""

    def __init__(self, desk: Desk, *paths: Path | str, stdin: bytes = b"", history: History = mail_import.PAST) -> None:
        self.progress: list[tuple[int, int]] = []
        self.problems: list[tuple[str, str]] = []
        self.counts = mail_import.run(
            desk.ctx, [str(path) for path in paths], io.BytesIO(stdin),
            lambda done, total: self.progress.append((done, total)),
            lambda where, reason: self.problems.append((where, reason)), history,
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


def test_the_standard_input_is_imported_and_leaves_no_copy(desk: Desk, tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path / "data"))
    assert Import(desk, "-", stdin=mbox(numbered(1), numbered(2))).counts == Counts(tickets=2)
    assert sorted(os.listdir(tmp_path / "data")) == before


def test_a_refused_mail_is_named_and_the_others_are_imported(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "box"
    file.write_bytes(mbox(numbered(1), numbered(2, From=""), numbered(3)))
    run = Import(desk, file)
    assert run.counts == Counts(tickets=2, failed=1)
    [(where, reason)] = run.problems
    assert where == f"{file}, message 2" and "no sender" in reason
    assert run.progress[-1] == (3, 3)


def test_a_mail_that_triggers_a_bug_is_named_and_the_others_are_imported(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = storing.message

    def fail_for_second(writing: RecordWriter, incoming: IncomingMail, *arguments: Any, **more: Any) -> int:
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


def test_a_missing_path_stops_before_anything_is_imported(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "one.eml").write_bytes(numbered(1))
    with pytest.raises(Invalid, match="nowhere"):
        Import(desk, tmp_path / "one.eml", tmp_path / "nowhere")
    assert desk.all("ticket") == []


def test_an_empty_file_is_not_a_mail(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "empty.eml").write_bytes(b"")
    assert Import(desk, tmp_path / "empty.eml").counts == Counts()


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (Counts(), "0 new tickets, 0 replies, 0 duplicates, 0 ignored, 0 failed"),
        (Counts(1, 1, 1, 2, 3), "1 new ticket, 1 reply, 1 duplicate, 2 ignored, 3 failed"),
    ],
    ids=["none", "some"],
)
def test_counts_as_a_line(counts: Counts, text: str) -> None:
    assert str(counts) == text


def without_ids(count: int) -> list[bytes]:
    """Returns mails without ids, by which a second copy would be recognized: only their position distinguishes them."""
    return [mail(Subject=f"Mail {number}") for number in range(1, count + 1)]


KILLED = """
import io, os, signal, sys
from pathlib import Path
from server.mailroom import mail_import
from tests import databases
from tests.desk.mailroom import Desk

databases.take_over()

def progress(done, total):
    if done == 70:
        os.kill(os.getpid(), signal.SIGKILL)

mail_import.run(Desk(Path(sys.argv[1])).ctx, [sys.argv[2]], io.BytesIO(), progress, print)
"""


def test_a_killed_import_resumes_where_it_ended(tmp_path: Path) -> None:
    file = tmp_path / "box"
    file.write_bytes(mbox(*without_ids(200)))
    Desk(tmp_path / "data").close()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "data", file], cwd=ROOT, timeout=60,
        env={**os.environ, **databases.handed_on()},
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL
    desk = Desk(tmp_path / "data")
    stored = len(desk.all("ticket"))
    assert 70 <= stored < 200
    run = Import(desk, file)
    assert run.counts == Counts(tickets=200 - stored, earlier=stored)
    assert run.progress[0] == (stored + 1, 200) and run.progress[-1] == (200, 200)
    assert [ticket["subject"] for ticket in desk.all("ticket")] == [f"Mail {number}" for number in range(1, 201)]
    assert desk.read(lambda tx: tx.find(mail_import.IMPORTED)) == []
    desk.close()


INTERRUPTED = """
import os, signal, sys
from server.__main__ import main
from server.mailroom import mail_import
run = mail_import.run

def interrupted(ctx, paths, standard_input, progress, problem, history):
    def report(done, total):
        progress(done, total)
        if done == 70:
            os.kill(os.getpid(), signal.SIGINT)
    return run(ctx, paths, standard_input, report, problem, history)

mail_import.run = interrupted
sys.exit(main(["mail", "import", sys.argv[2], "--data", sys.argv[1]]))
"""


@pytest.mark.exhaustive("every way to end an import")
def test_an_import_interrupted_by_ctrl_c_resumes_where_it_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, data = tmp_path / "box", tmp_path / "data"
    file.write_bytes(mbox(*without_ids(200)))
    stopped = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, data, file], cwd=ROOT, timeout=60, capture_output=True, text=True,
        preexec_fn=hears_ctrl_c, env=surroundings(data),
    )  # fmt: skip
    assert stopped.returncode == 130 and "Traceback" not in stopped.stderr and stopped.stdout == "", stopped
    assert main(["mail", "import", str(file), "--data", str(data)]) == 0
    told = re.match(
        r"(\d+) new tickets, 0 replies, 0 duplicates, 0 ignored, 0 failed, (\d+) done before$", capsys.readouterr().out
    )
    assert told is not None and int(told[2]) >= 70 and int(told[1]) + int(told[2]) == 200
    assert subjects(data) == [f"Mail {number}" for number in range(1, 201)]


def subjects(data: Path) -> list[str]:
    """Returns the subjects of all tickets, in order."""
    with databases.opened(data) as connection:
        return [row[0] for row in connection.execute("SELECT subject FROM ticket ORDER BY id")]


def test_the_number_of_queued_mails_is_bounded(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of an import: the queued mails and the current one."""
    monkeypatch.setattr(mail_import, "MAX_WAITING", 8)
    monkeypatch.setattr(mail_import, "MAX_WAITING_BYTES", 20_000)
    running: list[mail_import._Import] = []
    seen: list[tuple[int, int]] = []
    submit = desk.service.store.submit

    def counted(*arguments: Any) -> None:
        submit(*arguments)
        (found,) = running
        seen.append((len(found._waiting), found._waiting_bytes))

    made = mail_import._Import
    monkeypatch.setattr(mail_import, "_Import", lambda *given: running.append(made(*given)) or running[0])
    monkeypatch.setattr(desk.service.store, "submit", counted)
    file = tmp_path / "box"
    file.write_bytes(mbox(*(mail(Subject=f"Mail {n}", body="x\n" * (n % 20 + 1) * 200) for n in range(60))))
    assert Import(desk, file).counts == Counts(tickets=60)
    assert len(seen) == 60 and max(count for count, _ in seen) == 7 and max(size for _, size in seen) <= 20_000
    assert running[0]._waiting_bytes == 0


def test_refused_mails_are_not_retried_when_an_import_resumes(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "box"
    file.write_bytes(mbox(numbered(1, From=""), numbered(2), numbered(3)))

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    problems: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        mail_import.run(desk.ctx, [str(file)], io.BytesIO(), interrupt, lambda where, reason: problems.append(where))
    run = Import(desk, file)
    assert problems == [f"{file}, message 1"] and run.problems == []
    assert run.counts == Counts(earlier=3)


@pytest.mark.sqlite("no room for the file")
def test_a_full_database_stops_the_import_and_skips_nothing(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "box"
    large = mail(Subject="Mail 20", body="x" * 400_000 + "\n")
    mails = without_ids(40)
    file.write_bytes(mbox(*mails[:19], large, *mails[20:]))
    pages = desk.read(lambda tx: tx.connection.pragma("page_count"))
    limit_pages(desk, pages + 100)
    with pytest.raises(Full, match=r"stopped after \d+ mails: run the same import again to continue"):
        Import(desk, file)
    assert 0 < len(desk.all("ticket")) < 20
    limit_pages(desk, 2**30)
    run = Import(desk, file)
    assert run.counts.done == 40 and run.counts.earlier > 0
    assert [ticket["subject"] for ticket in desk.all("ticket")] == [f"Mail {number}" for number in range(1, 41)]


def limit_pages(desk: Desk, pages: int) -> None:
    desk.service.store.write(lambda tx: tx.connection.pragma("max_page_count", pages))


def test_an_import_from_standard_input_resumes_with_the_same_input(desk: Desk) -> None:
    content = mbox(*without_ids(5))

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mail_import.run(desk.ctx, ["-"], io.BytesIO(content), stop, lambda where, reason: None)
    stored = len(desk.all("ticket"))
    assert Import(desk, "-", stdin=content).counts == Counts(tickets=5 - stored, earlier=stored)
    assert len(desk.all("ticket")) == 5


def test_a_file_that_grew_is_read_from_its_beginning(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "box"
    file.write_bytes(mbox(numbered(1), numbered(2)))

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mail_import.run(desk.ctx, [str(file)], io.BytesIO(), interrupt, lambda where, reason: None)
    file.write_bytes(mbox(numbered(9), numbered(1), numbered(2)))
    assert Import(desk, file).counts == Counts(tickets=1, duplicates=2)


def test_every_reply_finds_the_immediately_preceding_mail(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "box"
    chain = [numbered(number, In_Reply_To=f"<{number - 1}@kite.example>") for number in range(1, 151)]
    file.write_bytes(mbox(*chain))
    assert Import(desk, file).counts == Counts(tickets=1, replies=149)
    assert desk.one("ticket")["num_messages"] == 150


# -- times, status and group of history --------------------------------------------------------------------------------

FIRST, SECOND, THIRD = (
    "Mon, 05 Jan 2015 10:00:00 +0000",
    "Tue, 06 Jan 2015 10:00:00 +0000",
    "Sun, 04 Jan 2015 10:00:00 +0000",
)
AT = 1_420_452_000  # time of the first mail


def conversation() -> bytes:
    """Returns a mail, a reply, and a reply whose Date is before both."""
    return mbox(
        numbered(1, Date=FIRST),
        numbered(2, Date=SECOND, In_Reply_To="<1@kite.example>"),
        numbered(3, Date=THIRD, In_Reply_To="<1@kite.example>"),
    )


def test_history_has_its_original_times(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "box").write_bytes(conversation())
    assert Import(desk, tmp_path / "box").counts == Counts(tickets=1, replies=2)
    ticket = desk.one("ticket")
    assert (ticket["created"], ticket["updated"], ticket["status_id"]) == (AT, AT + 86400, 0)
    assert [each["created"] for each in desk.all("message")] == [AT, AT + 86400, AT]
    entries = [each for each in desk.all("activity_log") if each["activity_point"] == "ticket.message.inbound"]
    assert [each["created"] for each in entries] == [AT, AT + 86400, AT - 86400]


def test_history_can_be_closed_and_assigned_to_a_group(desk: Desk, tmp_path: Path) -> None:
    group = desk.create("group", name="Archive")
    (tmp_path / "box").write_bytes(conversation())
    Import(desk, tmp_path / "box", history=History(CLOSED, group))
    ticket = desk.one("ticket")
    assert (ticket["group_id"], ticket["status_id"], ticket["closed"]) == (group, CLOSED, AT + 86400)
    assert (ticket["created"], ticket["updated"]) == (AT, AT + 86400)


@pytest.mark.sqlite("a command in the process of the test uses the file of its folder")
def test_the_command_accepts_status_and_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "box").write_bytes(conversation())
    arguments = ["mail", "import", str(tmp_path / "box"), "--data", str(tmp_path / "data")]
    assert main([*arguments, "--group", "Suport"]) == 1
    assert "there is no group 'Suport'; did you mean 'Support'?" in capsys.readouterr().err
    for group in ("support", "1"):
        assert main([*arguments, "--status", "closed", "--group", group]) == 0
    assert "1 new ticket, 2 replies" in capsys.readouterr().out
    assert main(["export", str(tmp_path / "out"), "--data", str(tmp_path / "data")]) == 0
    exported = (tmp_path / "out" / "records" / "ticket.jsonl").read_text()
    assert '"closed": "2015-01-06T10:00:00Z"' in exported


def test_a_historical_reply_does_not_reopen_a_ticket(desk: Desk, tmp_path: Path) -> None:
    desk.receive(numbered(1))
    ticket = desk.one("ticket")
    desk.update("ticket", ticket["id"], status_id=2)
    before = desk.one("ticket")
    (tmp_path / "box").write_bytes(mbox(numbered(2, Date=SECOND, In_Reply_To="<1@kite.example>")))
    Import(desk, tmp_path / "box")
    after = desk.one("ticket")
    assert (after["status_id"], after["updated"], after["num_messages"]) == (2, before["updated"], 2)


def test_no_service_target_applies_to_a_historical_ticket(desk: Desk, tmp_path: Path) -> None:
    desk.create("service_target", name="Fast", response_minutes=60, resolution_minutes=600)
    (tmp_path / "box").write_bytes(mbox(numbered(1, Date=FIRST)))
    Import(desk, tmp_path / "box")
    ticket = desk.one("ticket")
    assert (ticket["response_due_at"], ticket["resolution_due_at"], ticket["tell_at"]) == (0, 0, 0)
