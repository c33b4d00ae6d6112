"""Mailboxes on other servers: fetching, removing and retaining mail, also after failures."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from server import clock
from server.errors import NotFound
from server.jobs.job_queue import JOB
from server.mail import inboxes
from server.mailroom import storing
from server.mailroom.incoming import IncomingMail
from server.mailroom.mailboxes import checking, dead_letters, due_mailboxes
from server.mailroom.mailboxes import failed_mails as kept_apart
from server.record_types.record_type import Record
from server.records.writing import RecordWriter
from server.store import schema
from tests.desk.mailroom import Desk, mail
from tests.mail_servers import LOGIN, ImapServer, MailServer, Pop3Server
from tests.smtp_server import CERTIFICATE

KINDS = {"imap": ImapServer, "pop3": Pop3Server}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path / "data")
    opened.service.store.write(lambda tx: schema.add_tables(tx, [JOB]))
    yield opened
    opened.close()


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[MailServer]:
    """A server of each kind."""
    with KINDS[request.param]() as started:
        yield started


@pytest.fixture
def imap() -> Iterator[ImapServer]:
    with ImapServer() as started:
        yield started


def numbered(number: int, **headers: str) -> bytes:
    return mail(Message_Id=f"<{number}@kite.example>", Subject=f"Mail {number}", **headers)


def without_id(number: int) -> bytes:
    return mail(Subject=f"Mail {number}")


def box(desk: Desk, server: MailServer, protocol: str = "", **values: Any) -> int:
    kind = "imap" if isinstance(server, ImapServer) else "pop3"
    known = {
        "name": "Support", "host": server.host, "port": server.port, "protocol": protocol or kind,
        "username": LOGIN[0], "password": LOGIN[1], "is_mail_kept": 0,
    }  # fmt: skip
    return desk.create("mailbox", **known | values)


def check(desk: Desk, id: int) -> int:
    return checking.check(desk.service, id, desk.now)


def state(desk: Desk, id: int) -> Record:
    return desk.one("mailbox", id=id)


def subjects(desk: Desk) -> list[str]:
    return [ticket["subject"] for ticket in desk.all("ticket")]


def letters(desk: Desk) -> dict[str, bytes]:
    folder = Path(desk.service.settings.data) / dead_letters.FOLDER
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.eml"))} if folder.exists() else {}


def test_mails_become_tickets_and_are_removed_from_the_server(desk: Desk, server: MailServer) -> None:
    server.put(numbered(1), numbered(2, In_Reply_To="<1@kite.example>"), numbered(3))
    id = box(desk, server)
    assert check(desk, id) == 3
    assert subjects(desk) == ["Mail 1", "Mail 3"] and len(desk.all("message")) == 3
    assert server.mails == {}
    assert (state(desk, id)["num_fails"], state(desk, id)["last_error"]) == (0, "")
    assert state(desk, id)["checked_at"] == desk.now


def test_a_mail_is_stored_as_it_arrived(desk: Desk, server: MailServer) -> None:
    raw = mail(b"one\n.two\n..\n.\nend " + "é".encode("latin-1") + b"\n" + b"x" * 5000 + b"\n").replace(b"\n", b"\r\n")
    server.put(raw)
    check(desk, box(desk, server))
    assert desk.blob(desk.one("message")["raw_blob_id"]) == raw


def test_mails_left_on_the_server_are_not_fetched_again(desk: Desk, server: MailServer) -> None:
    id = box(desk, server, is_mail_kept=1)
    server.put(without_id(1), without_id(2))
    assert check(desk, id) == 2
    server.put(without_id(3))
    assert check(desk, id) == 1 and check(desk, id) == 0
    assert subjects(desk) == ["Mail 1", "Mail 2", "Mail 3"] and len(server.mails) == 3


def test_nothing_is_changed_on_a_server_that_retains_its_mail(desk: Desk, imap: ImapServer) -> None:
    imap.put(numbered(1))
    check(desk, box(desk, imap, is_mail_kept=1))
    assert imap.flags == {1: set()}
    assert any("EXAMINE" in command for command in imap.asked)
    assert not any(word in command for command in imap.asked for word in ("STORE", "EXPUNGE"))


def test_retained_mails_are_not_removed_when_the_setting_changes(desk: Desk, imap: ImapServer) -> None:
    id = box(desk, imap, is_mail_kept=1)
    imap.put(without_id(1))
    check(desk, id)
    desk.update("mailbox", id, is_mail_kept=0)
    imap.put(without_id(2))
    assert check(desk, id) == 1
    assert list(imap.mails) == [1] and subjects(desk) == ["Mail 1", "Mail 2"]


def test_a_cut_connection_neither_loses_nor_duplicates_mail(desk: Desk, server: MailServer) -> None:
    server.put(*map(without_id, range(1, 8)))
    server.breaks_after = 3
    id = box(desk, server)
    assert check(desk, id) == 3
    assert state(desk, id)["num_fails"] == 1 and state(desk, id)["last_error"] != ""
    assert len(server.mails) == 7, "not removed yet"
    server.breaks_after = 0
    assert check(desk, id) == 4
    assert subjects(desk) == [f"Mail {number}" for number in range(1, 8)]
    assert server.mails == {} and state(desk, id)["num_fails"] == 0


def test_stored_mails_that_were_not_removed_are_removed_the_next_time(
    desk: Desk, server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may end between the two steps."""
    id = box(desk, server)
    server.put(without_id(1), without_id(2))
    connect = inboxes.connect

    def without_removal(login: inboxes.Login) -> inboxes.Inbox:
        opened = connect(login)

        def fail(uids: list[str]) -> None:
            raise inboxes.InboxFailed("the connection is gone")

        opened.remove = fail  # type: ignore[method-assign,assignment]
        return opened

    with monkeypatch.context() as patched:
        patched.setattr(inboxes, "connect", without_removal)
        check(desk, id)
    assert len(server.mails) == 2 and len(desk.all("ticket")) == 2
    server.put(without_id(3))
    assert check(desk, id) == 1
    assert server.mails == {} and subjects(desk) == ["Mail 1", "Mail 2", "Mail 3"]


def test_mails_with_new_uids_are_not_fetched_again(desk: Desk, imap: ImapServer) -> None:
    id = box(desk, imap, is_mail_kept=1)
    imap.put(numbered(1), without_id(2))
    check(desk, id)
    imap.number_anew()
    imap.put(without_id(3))
    check(desk, id)
    assert subjects(desk) == ["Mail 1", "Mail 2", "Mail 3"] and len(desk.all("message")) == 3


def test_a_mailbox_moved_to_another_server_is_read_from_its_beginning(desk: Desk, imap: ImapServer) -> None:
    id = box(desk, imap, is_mail_kept=1)
    imap.put(*map(without_id, range(1, 6)))
    check(desk, id)
    with ImapServer() as other:
        other.put(without_id(9))
        desk.update("mailbox", id, port=other.port, password=LOGIN[1])
        assert check(desk, id) == 1
    assert subjects(desk)[-1] == "Mail 9"


def test_a_server_that_does_not_report_its_next_uid(desk: Desk, imap: ImapServer) -> None:
    imap.has_next_cursor = False
    id = box(desk, imap, is_mail_kept=1)
    imap.put(without_id(1), without_id(2))
    assert (check(desk, id), check(desk, id)) == (2, 0)
    imap.put(without_id(3))
    assert (check(desk, id), check(desk, id)) == (1, 0)


def test_sparse_uids_are_found(desk: Desk, imap: ImapServer) -> None:
    for uid in (3, 20_000, 3_000_000, 4_294_967_290):
        imap.next_uid = uid
        imap.put(without_id(uid))
    assert check(desk, box(desk, imap)) == 4
    assert imap.mails == {}


@pytest.mark.parametrize("has_uidplus", [True, False])
def test_mails_that_others_marked_as_deleted_are_left_alone(desk: Desk, imap: ImapServer, has_uidplus: bool) -> None:
    imap.has_uidplus = has_uidplus
    id = box(desk, imap, is_mail_kept=1)
    imap.put(without_id(1))
    check(desk, id)
    imap.flags[1].add("\\Deleted")
    desk.update("mailbox", id, is_mail_kept=0)
    imap.put(without_id(2))
    check(desk, id)
    assert 1 in imap.mails
    assert 2 not in imap.mails or "\\Deleted" in imap.flags[2]
    assert check(desk, id) == 0


def test_without_uidplus_mails_are_removed_as_well(desk: Desk, imap: ImapServer) -> None:
    imap.has_uidplus = False
    imap.put(without_id(1), without_id(2))
    check(desk, box(desk, imap))
    assert imap.mails == {}


# -- mails that cannot be accepted -------------------------------------------------------------------------------------


def test_a_refused_mail_is_set_aside_and_the_others_are_fetched(desk: Desk, server: MailServer) -> None:
    refused = mail(Subject="Mail 2", From="")
    server.put(without_id(1), refused, without_id(3))
    nora = desk.worker("nora@desk.example")
    desk.update("worker", nora, is_superuser=1)
    id = box(desk, server)
    assert check(desk, id) == 3
    assert subjects(desk) == ["Mail 1", "Mail 3"] and server.mails == {}
    [(name, kept)] = letters(desk).items()
    assert kept == refused.replace(b"\n", b"\r\n") and name.startswith(f"mailbox-{id}-")
    assert state(desk, id)["num_fails"] == 0
    [entry] = desk.all("activity_log", target__context="svc.contexts.mailbox")
    assert name in str(entry["params"]) and "no sender" in str(entry["params"])
    assert [each["worker_id"] for each in desk.all("notification")] == [nora]


def test_a_mail_that_triggers_a_bug_is_set_aside(
    desk: Desk, server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = storing.message

    def fail_for_second(writing: RecordWriter, incoming: IncomingMail, *arguments: Any, **more: Any) -> int:
        if incoming.subject == "Mail 2":
            raise ZeroDivisionError
        return message(writing, incoming, *arguments, **more)

    monkeypatch.setattr(storing, "message", fail_for_second)
    server.put(*map(without_id, (1, 2, 3)))
    check(desk, box(desk, server))
    assert subjects(desk) == ["Mail 1", "Mail 3"] and server.mails == {}
    assert list(letters(desk).values()) == [without_id(2).replace(b"\n", b"\r\n")]


def test_unwanted_mail_leaves_no_trace_but_is_removed(desk: Desk, server: MailServer) -> None:
    desk.create("address", email="spam@kite.example", is_banned=1)
    server.put(mail(From="spam@kite.example"), without_id(2))
    check(desk, box(desk, server))
    assert subjects(desk) == ["Mail 2"] and server.mails == {} and letters(desk) == {}


def test_a_mail_that_cannot_be_set_aside_stays_on_the_server(desk: Desk, server: MailServer) -> None:
    (Path(desk.service.settings.data) / dead_letters.FOLDER).write_text("a file where the folder would be")
    server.put(without_id(1), mail(From=""))
    id = box(desk, server)
    assert check(desk, id) == 1
    assert "cannot be stored" in state(desk, id)["last_error"] and len(server.mails) == 2
    os.remove(Path(desk.service.settings.data) / dead_letters.FOLDER)
    assert check(desk, id) == 1
    assert len(letters(desk)) == 1 and server.mails == {} and subjects(desk) == ["Mail 1"]


@pytest.mark.parametrize("told_size", [0, 100], ids=["true size", "a size that is told too small"])
def test_only_the_headers_of_an_oversized_mail_are_fetched(desk: Desk, server: MailServer, told_size: int) -> None:
    large = mail(
        "x" * 3000 + "\n", Message_Id="<1@kite.example>", MIME_Version="1.0",
        Content_Type="multipart/mixed;\n boundary=b0", X_Last="here",
    )  # fmt: skip
    server.told_size = told_size
    server.put(large, without_id(2))
    id = box(desk, server, max_msg_size_kb=2)
    assert check(desk, id) == 2
    first = desk.all("message")[0]
    assert "more than the limit of its mailbox, 2,048" in first["content"]
    assert "X-Mailbox-Error: too large" in first["headers"] and "boundary" not in first["headers"]
    assert "X-Last: here" in first["headers"] and first["message_id"] == "<1@kite.example>"
    assert subjects(desk) == ["Boat", "Mail 2"]
    assert len(server.mails) == 1, "the large one stays"
    assert check(desk, id) == 0 and len(server.mails) == 1


def test_mails_wait_on_the_server_while_no_group_accepts_them(desk: Desk, server: MailServer) -> None:
    server.put(without_id(1))
    group = desk.one("group", is_default=1)["id"]
    desk.change("group", group, is_default=0)
    id = box(desk, server)
    assert check(desk, id) == 0
    assert "default group" in state(desk, id)["last_error"] and letters(desk) == {} and len(server.mails) == 1
    desk.change("group", group, is_default=1)
    assert check(desk, id) == 1 and server.mails == {}


# -- servers that cannot be read ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("encryption", ["starttls", "ssl"])
@pytest.mark.parametrize("kind", KINDS)
def test_encrypted_mailboxes_check_the_certificate(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, encryption: str
) -> None:
    with KINDS[kind](tls={"ssl": "tls"}.get(encryption, encryption)) as server:
        server.put(without_id(1))
        id = box(desk, server, f"{kind}-{encryption}")
        assert check(desk, id) == 0
        assert "certificate" in state(desk, id)["last_error"]
        assert not any("LOGIN" in command or "PASS" in command for command in server.asked)
        trusted = tmp_path / "trusted.pem"
        trusted.write_text(CERTIFICATE)
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        assert check(desk, id) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_password_is_sent_in_the_clear_where_starttls_is_required(desk: Desk, kind: str) -> None:
    with KINDS[kind]() as server:
        id = box(desk, server, f"{kind}-starttls")
        assert check(desk, id) == 0 and state(desk, id)["num_fails"] == 1
        assert not any("LOGIN" in command or "PASS" in command for command in server.asked)


def test_a_wrong_password_is_reported_and_not_shown(desk: Desk, server: MailServer) -> None:
    id = box(desk, server, password="wrong-one")
    assert check(desk, id) == 0
    error = state(desk, id)["last_error"]
    assert "wrong name or password" in error and "wrong-one" not in error


def test_a_token_of_a_connected_account_replaces_a_password(desk: Desk) -> None:
    service = desk.create("connected_service", name="Mail", extension_id="svc.service.provider.token.bearer", params={})
    account = desk.create(
        "connected_account", name="Mail", service_id=service, params={"token": "t0ken"},
        owner__context="svc.contexts.app", owner_id=0,
    )  # fmt: skip
    for kind, make in KINDS.items():
        with make(token="t0ken") as server:
            server.put(mail(Subject=kind))
            id = box(desk, server, password="", connected_account_id=account)
            assert check(desk, id) == 1, state(desk, id)["last_error"]
    assert subjects(desk) == list(KINDS)


def test_a_refused_token_is_not_used_again(desk: Desk) -> None:
    """A token may have no known expiry, and would count as valid forever."""
    service = desk.create(
        "connected_service", name="Mail", extension_id="svc.service.provider.oauth2",
        params={"token_url": "https://127.0.0.1:1/token", "client_id": "desk"},
    )  # fmt: skip
    for make in KINDS.values():
        params = {"access_token": "old", "refresh_token": "again"}
        account = desk.create(
            "connected_account", name="Mail", service_id=service, params=params, owner__context="svc.contexts.app",
            owner_id=0,
        )  # fmt: skip
        with make(token="new") as server:
            id = box(desk, server, password="", connected_account_id=account)
            check(desk, id)
            assert "rejected this user name and token" in state(desk, id)["last_error"]
            assert desk.one("connected_account", id=account)["params"] == params | {"expires_at": desk.now}
            check(desk, id)
            assert "rejected" not in state(desk, id)["last_error"]  # a new one was requested


def test_a_missing_folder_is_reported(desk: Desk, imap: ImapServer) -> None:
    id = box(desk, imap, folder="Orders")
    assert check(desk, id) == 0
    assert "there is no such folder" in state(desk, id)["last_error"]


def test_a_server_of_another_protocol_is_reported(desk: Desk) -> None:
    for kind, other in (("imap", Pop3Server), ("pop3", ImapServer)):
        with other() as server:
            id = box(desk, server, kind)
            assert check(desk, id) == 0 and state(desk, id)["num_fails"] == 1


def test_repeated_failures_notify_administrators_periodically(desk: Desk, server: MailServer) -> None:
    nora = desk.worker("nora@desk.example")
    desk.update("worker", nora, is_superuser=1)
    desk.worker("milo@desk.example")
    id = box(desk, server, password="wrong")
    for _ in range(6):
        check(desk, id)
    counts = [each["params"]["variables"]["count"] for each in desk.all("activity_log")
              if each["activity_point"] == "mailbox.check.error"]  # fmt: skip
    assert counts == ["2", "5"]
    assert [each["worker_id"] for each in desk.all("notification")] == [nora, nora]
    desk.update("mailbox", id, password=LOGIN[1])
    assert state(desk, id)["num_fails"] == 0, "another password is tried without a wait"


# -- schedule ----------------------------------------------------------------------------------------------------------


def jobs(desk: Desk) -> list[int]:
    rows = desk.read(lambda tx: tx.find(JOB))
    place = JOB.position["unique_key"]
    return [int(row[place].rpartition(":")[2]) for row in rows]


def test_mailboxes_are_checked_in_order_of_their_last_check(desk: Desk, imap: ImapServer) -> None:
    now = desk.now
    late, soon, off, never = (
        box(desk, imap, checked_at=now - 61), box(desk, imap, checked_at=now - 20),
        box(desk, imap, is_enabled=0), box(desk, imap),
    )  # fmt: skip
    assert due_mailboxes.find_due(desk.service, now) == now + 40
    assert jobs(desk) == [never, late]
    assert {soon, off} & set(jobs(desk)) == set()
    due_mailboxes.find_due(desk.service, now)
    assert jobs(desk) == [never, late], "never two jobs for one mailbox"


@pytest.mark.parametrize(("fails", "wait"), [(0, 60), (1, 120), (2, 240), (5, 600), (15, 1800), (1000, 1800)])
def test_the_wait_grows_with_the_failures(desk: Desk, imap: ImapServer, fails: int, wait: int) -> None:
    box(desk, imap, checked_at=desk.now, num_fails=fails)
    assert due_mailboxes.find_due(desk.service, desk.now) == desk.now + wait
    assert jobs(desk) == []


def test_a_mailbox_with_more_mails_than_one_check_fetches_is_due_at_once(
    desk: Desk, server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "MAX_MAILS", 2)
    server.put(*map(without_id, range(1, 6)))
    id = box(desk, server)
    taken = []
    while True:
        taken.append(check(desk, id))
        if due_mailboxes.find_due(desk.service, desk.now) == desk.now + 60:
            break
    assert taken == [2, 2, 1] and server.mails == {}
    assert subjects(desk) == [f"Mail {number}" for number in range(1, 6)]


def test_a_deleted_mailbox_removes_its_state(desk: Desk, server: MailServer) -> None:
    before = desk.counts()
    server.put(without_id(1))
    id = box(desk, server, is_mail_kept=1)
    check(desk, id)
    desk.write(lambda writing: writing.delete("mailbox", id))
    after = desk.counts()
    assert (after["mailbox_state"], after["mailbox_taken"]) == (before["mailbox_state"], before["mailbox_taken"])
    assert check(desk, id) == 0


def test_mails_have_their_time_of_arrival(desk: Desk, imap: ImapServer) -> None:
    imap.put(without_id(1))
    before = clock.now()
    check(desk, box(desk, imap))
    assert before <= desk.one("ticket")["created"] <= clock.now()


def test_mails_set_aside_are_listed_while_others_accept_them(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for name in ("first", "second"):
        dead_letters.keep(desk.service.settings, name, b"From: ana@kite.example\r\n\r\nHi", "a reason")
    (tmp_path / dead_letters.FOLDER / "gone.eml").symlink_to(tmp_path / "taken")  # listed, but gone when it is read
    assert sorted(each.name for each in dead_letters.list_dead_letters(desk.service.settings)) == [
        "first.eml",
        "second.eml",
    ]
    desk.close()


def test_two_simultaneous_requests_accept_a_mail_once(tmp_path: Path) -> None:
    """It has no Message-Id, by which a second copy would be recognized."""
    desk = Desk(tmp_path)
    dead_letters.keep(desk.service.settings, "first", b"From: ana@kite.example\r\nSubject: Hi\r\n\r\nHello")
    ctx = desk.ctx
    (letter,) = kept_apart.list_letters(ctx)
    meet = threading.Barrier(2)

    def take() -> bool:
        meet.wait()
        try:
            kept_apart.take(ctx, letter.key)
        except NotFound:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(each.result() for each in [pool.submit(take) for _ in range(2)]) == [False, True]
    assert len(desk.all("ticket")) == 1
    desk.close()


def test_mail_stays_on_its_server_by_default(desk: Desk, server: MailServer) -> None:
    id = box(desk, server)
    desk.update("mailbox", id, is_mail_kept=desk.service.registry.type("mailbox").initial["is_mail_kept"])
    server.put(numbered(1))
    assert check(desk, id) == 1 and check(desk, id) == 0 and len(server.mails) == 1
