"""The position of a mail in its ticket: its arrival. Only imported mail is placed at its Date."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.jobs.job_queue import JOB
from server.mailroom import mail_import
from server.mailroom.mailboxes import checking
from server.store import schema
from tests.desk.mailroom import NOW, Desk, mail
from tests.mail_servers import LOGIN, ImapServer, MailServer, Pop3Server

DAY = 86400
LAST_YEAR = "Tue, 18 Nov 2025 10:00:00 +0000"
LAST_YEAR_AT = 1_763_460_000
NEXT_YEAR = "Thu, 18 Nov 2027 10:00:00 +0000"
NEXT_YEAR_AT = 1_826_532_000


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path / "data")
    opened.service.store.write(lambda tx: schema.add_tables(tx, [JOB]))
    yield opened
    opened.close()


def times(desk: Desk, **equals: object) -> list[tuple[int, int]]:
    return [(each["created"], each["sent_at"]) for each in desk.all("message", **equals)]


@pytest.mark.parametrize(
    ("date", "sent_at"),
    [
        (LAST_YEAR, LAST_YEAR_AT),
        (NEXT_YEAR, NEXT_YEAR_AT),
        ("Thu, 01 Jan 1970 00:00:00 +0000", 0),
        ("soon", 0),
        ("", 0),
    ],
)
def test_a_mail_is_placed_at_its_arrival_and_preserves_its_date(desk: Desk, date: str, sent_at: int) -> None:
    received = desk.receive(mail(Date=date))
    assert times(desk, id=received.message_id) == [(NOW, sent_at)]
    ticket = desk.ticket(received)
    assert (ticket["created"], ticket["updated"]) == (NOW, NOW)


def test_a_wrong_clock_places_no_reply_before_its_original(desk: Desk) -> None:
    first = desk.receive(mail(Message_Id="<1@kite.example>"))
    desk.now += DAY
    desk.sent(first.ticket_id, "<2@desk.example>")
    desk.now += DAY
    desk.receive(mail(In_Reply_To="<2@desk.example>", Date=LAST_YEAR))
    assert [at for at, _ in times(desk)] == [NOW, NOW + DAY, NOW + 2 * DAY]


def test_our_own_clock_going_back_places_no_reply_before_its_original(desk: Desk) -> None:
    desk.receive(mail(Message_Id="<1@kite.example>"))
    desk.now -= 100
    desk.receive(mail(In_Reply_To="<1@kite.example>", Message_Id="<2@kite.example>"))
    assert [at for at, _ in times(desk)] == [NOW, NOW]


def run_import(desk: Desk, *raws: bytes) -> None:
    mbox = b"".join(b"From ann@kite.example Mon Jan  5 10:00:00 2026\n" + raw + b"\n" for raw in raws)
    problems: list[tuple[str, str]] = []
    mail_import.run(desk.ctx, ["-"], io.BytesIO(mbox), lambda *_: None, lambda *told: problems.append(told))
    assert problems == []


def test_an_import_uses_the_date(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_import.clock, "now", lambda: NOW)
    run_import(
        desk,
        mail(Message_Id="<1@kite.example>", Date=LAST_YEAR),
        mail(Message_Id="<2@kite.example>", Date="Tue, 18 Nov 2025 13:00:00 +02:00"),
        mail(Message_Id="<3@kite.example>", Date=NEXT_YEAR),
        mail(Message_Id="<4@kite.example>", Received="from a by b; Wed, 19 Nov 2025 10:00:00 +0000"),
    )
    assert times(desk) == [
        (LAST_YEAR_AT, LAST_YEAR_AT),
        (LAST_YEAR_AT + 3600, LAST_YEAR_AT + 3600),
        (NOW, NEXT_YEAR_AT),
        (LAST_YEAR_AT + DAY, 0),
    ]


def test_an_imported_reply_is_placed_no_earlier_than_its_original(desk: Desk) -> None:
    run_import(
        desk,
        mail(Message_Id="<1@kite.example>", Date=LAST_YEAR),
        mail(Message_Id="<2@kite.example>", In_Reply_To="<1@kite.example>", Date="Tue, 18 Nov 2025 09:00:00 +0000"),
    )
    assert times(desk) == [(LAST_YEAR_AT, LAST_YEAR_AT), (LAST_YEAR_AT, LAST_YEAR_AT - 3600)]


@pytest.fixture(params=["imap", "imap that does not say its next uid", "pop3"])
def server(request: pytest.FixtureRequest) -> Iterator[MailServer]:
    with Pop3Server() if request.param == "pop3" else ImapServer() as started:
        started.has_next_cursor = "not" not in request.param
        yield started


def mailbox(desk: Desk, server: MailServer) -> int:
    return desk.create(
        "mailbox", name="Support", host=server.host, port=server.port, is_mail_kept=1, username=LOGIN[0],
        password=LOGIN[1], protocol="imap" if isinstance(server, ImapServer) else "pop3",
    )  # fmt: skip


def test_history_of_a_mailbox_is_placed_by_date_and_new_mail_by_arrival(
    desk: Desk, server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking.clock, "now", lambda: NOW)
    monkeypatch.setattr(checking, "MAX_MAILS", 2)
    numbered = [mail(Message_Id=f"<{number}@kite.example>", Date=LAST_YEAR) for number in range(5)]
    server.put(*numbered[:3] if server.has_next_cursor else numbered[:2])
    id = mailbox(desk, server)
    checking.check(desk.service, id, NOW)
    server.put(*numbered[len(server.mails) :])
    checking.check(desk.service, id, NOW)
    checking.check(desk.service, id, NOW)
    history = 3 if server.has_next_cursor else 2
    assert [at for at, _ in times(desk)] == [LAST_YEAR_AT] * history + [NOW] * (5 - history)
    assert desk.read(lambda tx: tx.find(desk_history(desk), mailbox_id=id)) == []


def desk_history(desk: Desk) -> object:
    return next(table for table in desk.service.registry.type("mailbox").tables if table.name == "mailbox_history")


def test_an_empty_mailbox_has_no_history(desk: Desk, server: MailServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking.clock, "now", lambda: NOW)
    id = mailbox(desk, server)
    checking.check(desk.service, id, NOW)
    server.put(mail(Date=LAST_YEAR))
    checking.check(desk.service, id, NOW)
    assert times(desk) == [(NOW, LAST_YEAR_AT)]


def test_new_uids_do_not_turn_mail_into_history(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking.clock, "now", lambda: NOW)
    with ImapServer() as server:
        id = mailbox(desk, server)
        checking.check(desk.service, id, NOW)
        server.number_anew()
        server.put(mail(Date=LAST_YEAR))
        checking.check(desk.service, id, NOW)
    assert times(desk) == [(NOW, LAST_YEAR_AT)]
