"""Mails that a server lists but does not deliver: the others are fetched, and none is lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.jobs.job_queue import JOB
from server.mailroom.mailboxes import checking
from server.mailroom.mailboxes.problems import MISSED_TOLD_AT
from server.outbox.holds import TRANSPORT_HOLD
from server.store import schema
from server.upkeep import checkup_mail
from tests.desk.mailroom import NOW, Desk, mail
from tests.mail_servers import LOGIN, ImapServer, MailServer, Pop3Server

HOUR = 3600
SILENT = ["nil", "empty", "no literal", "no response", "no"]
CUT = ["cut", "bye"]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path / "data")
    opened.service.store.write(lambda tx: schema.add_tables(tx, [JOB, TRANSPORT_HOLD]))
    yield opened
    opened.close()


@pytest.fixture
def imap() -> Iterator[ImapServer]:
    with ImapServer() as started:
        yield started


@pytest.fixture
def pop3() -> Iterator[Pop3Server]:
    with Pop3Server() as started:
        yield started


def mailbox(desk: Desk, server: MailServer, **values: Any) -> int:
    known = {"name": "Support", "host": server.host, "port": server.port, "username": LOGIN[0], "password": LOGIN[1],
             "protocol": "imap" if isinstance(server, ImapServer) else "pop3", "is_mail_kept": 1}  # fmt: skip
    return desk.create("mailbox", **known | values)


def put(server: MailServer, *numbers: int) -> None:
    server.put(*(mail(f"Mail {number} says something.\n", Subject=f"Mail {number}") for number in numbers))


def check(desk: Desk, id: int) -> str:
    """Checks the mailbox an hour later; returns the state of its record."""
    desk.now += HOUR
    checking.check(desk.service, id, desk.now)
    return str(desk.one("mailbox", id=id)["last_error"])


def subjects(desk: Desk) -> list[str]:
    return [ticket["subject"] for ticket in desk.all("ticket")]


@pytest.mark.parametrize("is_kept", [0, 1])
@pytest.mark.parametrize(
    ("kind", "mood"), [*((ImapServer, mood) for mood in SILENT), (Pop3Server, "no"), (Pop3Server, "empty")]
)
def test_the_others_are_fetched_and_the_missed_mail_once_it_is_delivered(
    desk: Desk, kind: type[MailServer], mood: str, is_kept: int
) -> None:
    with kind() as server:
        put(server, 1, 2, 3)
        server.moods = {2: mood}
        id = mailbox(desk, server, is_mail_kept=is_kept)
        assert "1 email could not be read" in check(desk, id)
        assert subjects(desk) == ["Mail 1", "Mail 3"] and desk.one("mailbox")["num_fails"] == 0
        put(server, 4)
        assert "1 email could not be read" in check(desk, id)
        assert 2 in server.mails and subjects(desk) == ["Mail 1", "Mail 3", "Mail 4"]
        server.moods = {}
        assert check(desk, id) == ""
        assert check(desk, id) == ""
        assert subjects(desk) == ["Mail 1", "Mail 3", "Mail 4", "Mail 2"]
        assert len(server.mails) == 4 * is_kept


@pytest.mark.parametrize("kind", [ImapServer, Pop3Server])
@pytest.mark.parametrize("mood", CUT)
def test_a_mail_that_always_breaks_the_connection_is_read_last(desk: Desk, kind: type[MailServer], mood: str) -> None:
    with kind() as server:
        server.moods = {2: "cut" if kind is Pop3Server else mood}
        put(server, 1, 2, 3)
        id = mailbox(desk, server)
        states = [check(desk, id) for _ in range(4)]
        assert "connection was lost" in states[0] and subjects(desk) == ["Mail 1", "Mail 3"]
        assert "1 email could not be read" in states[-1] and desk.one("mailbox")["num_fails"] == 0
        server.moods = {}
        assert check(desk, id) == "" and subjects(desk) == ["Mail 1", "Mail 3", "Mail 2"]


def test_a_connection_that_was_cut_once_does_not_change_the_order(desk: Desk, imap: ImapServer) -> None:
    put(imap, 1, 2, 3)
    imap.moods = {2: "cut"}
    id = mailbox(desk, imap)
    check(desk, id)
    imap.moods = {}
    assert check(desk, id) == "" and subjects(desk) == ["Mail 1", "Mail 2", "Mail 3"]


def test_a_deleted_mail_is_forgotten(desk: Desk, imap: ImapServer) -> None:
    put(imap, 1, 2, 3)
    imap.moods = {2: "no response"}
    id = mailbox(desk, imap)
    check(desk, id)
    imap.remove([2])
    assert check(desk, id) == "" and subjects(desk) == ["Mail 1", "Mail 3"]


@pytest.mark.parametrize("mood", ["no size", "hidden", "chatty"])
def test_no_mail_is_lost_if_its_size_is_unknown(desk: Desk, imap: ImapServer, mood: str) -> None:
    put(imap, 1, 2, 3)
    imap.moods = {2: mood}
    assert check(desk, mailbox(desk, imap)) == "" and subjects(desk) == ["Mail 1", "Mail 2", "Mail 3"]


def test_administrators_are_notified_once_after_some_tries(desk: Desk, imap: ImapServer) -> None:
    nora = desk.worker("nora@desk.example")
    desk.update("worker", nora, is_superuser=1)
    put(imap, 1, 2)
    imap.moods = {2: "nil"}
    id = mailbox(desk, imap)
    counts = []
    for _ in range(MISSED_TOLD_AT + 2):
        check(desk, id)
        counts.append(len(desk.all("notification")))
    assert counts == [0] * (MISSED_TOLD_AT - 1) + [1] * 3
    [entry] = desk.all("activity_log", target__context="svc.contexts.mailbox")
    assert "does not deliver it" in str(entry["params"])


def test_the_check_up_reports_it(desk: Desk, imap: ImapServer) -> None:
    put(imap, 1, 2)
    imap.moods = {2: "nil"}
    check(desk, mailbox(desk, imap))
    findings = [str(each.found) for each in checkup_mail.of_mail(desk.service, desk.now) if each.state == "warning"]
    assert any("1 email could not be read" in text for text in findings)


def test_a_repeatedly_missed_mail_is_tried_less_often(desk: Desk, imap: ImapServer) -> None:
    put(imap, 1)
    imap.moods = {1: "nil"}
    id = mailbox(desk, imap)
    tries = []
    for minute in range(10):
        checking.check(desk.service, id, NOW + 60 * minute)
        tries.append(sum("BODY" in each for each in imap.asked))
    assert tries == [1, 2, 2, 3, 3, 3, 3, 4, 4, 4]


def test_a_server_that_delivers_nothing_is_at_fault_itself(desk: Desk, imap: ImapServer) -> None:
    put(imap, *range(20))
    imap.moods = dict.fromkeys(imap.mails, "no")
    id = mailbox(desk, imap)
    assert "damaged mail" in check(desk, id) and desk.one("mailbox")["num_fails"] == 1
    assert sum("BODY" in each for each in imap.asked) == checking.MAX_IN_A_ROW
    imap.moods = {}
    check(desk, id)
    assert sorted(subjects(desk)) == sorted(f"Mail {number}" for number in range(20))


def test_only_the_headers_of_a_large_mail_are_fetched_without_top(desk: Desk, pop3: Pop3Server) -> None:
    pop3.put(mail(".line\n" * 1000, Subject="Large"))
    put(pop3, 2)
    pop3.without = {"top"}
    assert check(desk, mailbox(desk, pop3, max_msg_size_kb=2)) == ""
    assert subjects(desk) == ["Large", "Mail 2"]
    assert "more than the limit of its mailbox, 2,048" in desk.all("message")[0]["content"]


def test_a_large_mail_without_readable_headers_does_not_block_others(desk: Desk, pop3: Pop3Server) -> None:
    pop3.put(mail("line\n" * 1000, Subject="Large"))
    put(pop3, 2)
    pop3.without, pop3.moods = {"top"}, {1: "no"}
    assert "message is locked" in check(desk, mailbox(desk, pop3, max_msg_size_kb=2))
    assert subjects(desk) == ["Mail 2"]
