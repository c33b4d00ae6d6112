"""Mailboxes at Microsoft Graph: what is fetched, removed and retained, also after failures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.errors import HelpdeskError
from server.jobs.job_queue import JOB
from server.mailroom.mailboxes import checking, due_mailboxes
from server.mailroom.types.mailbox_parts.fetch_columns import MAILBOX_STATE, MAILBOX_TAKEN
from server.record_types.record_type import Record
from server.store import schema
from tests.desk.mailroom import NOW, Desk, mail
from tests.graph_server import NOON, USER, GraphServer


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path / "data", outbound_allow=["127.0.0.1"])
    opened.service.store.write(lambda tx: schema.add_tables(tx, [JOB]))
    yield opened
    opened.close()


@pytest.fixture
def server() -> Iterator[GraphServer]:
    with GraphServer() as started:
        yield started


def account(desk: Desk, server: GraphServer, token: str = "token-0") -> int:
    service = desk.create(
        "connected_service", name="Microsoft", extension_id="svc.service.provider.oauth2",
        params={"token_url": f"{server.url}/token", "client_id": "desk", "client_secret": "secret",
                "client_authentication": "body"},
    )  # fmt: skip
    params = {"access_token": token, "refresh_token": "again"}
    return desk.create(
        "connected_account", name="Support", service_id=service, params=params, owner__context="svc.contexts.app",
        owner_id=0,
    )  # fmt: skip


def box(desk: Desk, server: GraphServer, token: str = "token-0", **values: Any) -> int:
    known = {
        "name": "Support", "protocol": "graph", "host": server.url, "username": USER, "is_mail_kept": 0,
        "connected_account_id": account(desk, server, token),
    }  # fmt: skip
    return desk.create("mailbox", **known | values)


def check(desk: Desk, id: int) -> int:
    return checking.check(desk.service, id, desk.now)


def state(desk: Desk, id: int) -> Record:
    return desk.one("mailbox", id=id)


def subjects(desk: Desk) -> list[str]:
    return [ticket["subject"] for ticket in desk.all("ticket")]


def numbered(*numbers: int) -> list[bytes]:
    return [mail(Message_Id=f"<{number}@kite.example>", Subject=f"Mail {number}") for number in numbers]


def without_id(*numbers: int) -> list[bytes]:
    return [mail(Subject=f"Mail {number}") for number in numbers]


def inside(server: GraphServer, folder: str) -> list[int]:
    return [each.number for each in server.box().inside(folder)]


def test_mails_become_tickets_and_are_moved_to_deleted_items(desk: Desk, server: GraphServer) -> None:
    server.page_mails = 2
    server.box().put(*numbered(1, 2, 3), mail(Message_Id="<4@x>", In_Reply_To="<1@kite.example>"))
    id = box(desk, server)
    assert check(desk, id) == 4
    assert subjects(desk) == ["Mail 1", "Mail 2", "Mail 3"] and len(desk.all("message")) == 4
    assert (inside(server, "inbox"), inside(server, "deleteditems")) == ([], [1, 2, 3, 4])
    assert desk.blob(desk.all("message")[0]["raw_blob_id"]) == server.box().mails[1].raw
    assert (state(desk, id)["num_fails"], state(desk, id)["last_error"]) == (0, "")
    assert check(desk, id) == 0 and desk.service.store.read(lambda tx: tx.find(MAILBOX_TAKEN)) == []


def test_mails_that_stay_are_fetched_once_and_not_changed(desk: Desk, server: GraphServer) -> None:
    id = box(desk, server, is_mail_kept=1)
    server.box().put(*without_id(1, 2))
    assert check(desk, id) == 2
    server.box().put(*without_id(3))
    server.box().log.append(1)  # somebody reads it
    assert check(desk, id) == 1 and check(desk, id) == 0
    assert subjects(desk) == ["Mail 1", "Mail 2", "Mail 3"] and inside(server, "inbox") == [1, 2, 3]
    assert not [line for line in server.asked if not line.startswith("GET")]
    desk.update("mailbox", id, is_mail_kept=0)
    server.box().put(*without_id(4))
    assert check(desk, id) == 1 and inside(server, "inbox") == [1, 2, 3]


def test_mail_from_before_the_first_check_has_its_own_date(desk: Desk, server: GraphServer) -> None:
    old, new = (mail(Subject=word, Date="Mon, 02 Nov 2026 08:00:00 +0000") for word in ("old", "new"))
    server.box().put(old)
    id = box(desk, server, is_mail_kept=1)
    desk.now = NOON + 1000
    check(desk, id)
    server.box().add(new.replace(b"\n", b"\r\n"), received_at=desk.now + 60)
    check(desk, id)
    first, second = desk.all("message")
    assert (first["created"] < NOW, second["created"] >= NOW) == (True, True)


@pytest.mark.parametrize("is_mail_kept", [0, 1])
@pytest.mark.parametrize("fault", ["lost", "down"])
def test_a_failure_at_any_request_neither_loses_nor_doubles_mail(
    desk: Desk, server: GraphServer, fault: str, is_mail_kept: int
) -> None:
    """As after a kill, since each step is stored before the next request."""
    server.page_mails = 2
    id = box(desk, server, is_mail_kept=is_mail_kept)
    number, total = 0, 0
    while number < 40:
        server.box().put(*without_id(total, total + 1, total + 2))
        total += 3
        seen: list[str] = []

        def before(line: str, number: int = number, seen: list[str] = seen) -> None:
            seen.append(line)
            server.faults = {"": fault} if len(seen) - 1 == number else {}

        server.before = before
        check(desk, id)
        if len(seen) <= number:  # the check needs no more requests
            break
        server.before, server.faults = (lambda line: None), {}
        desk.now += 7200
        check(desk, id)
        assert sorted(subjects(desk)) == sorted(f"Mail {each}" for each in range(total)), (number, seen)
        assert len(inside(server, "inbox")) == (total if is_mail_kept else 0)
        number += 1
    assert 5 < number < 40


def test_a_stored_mail_that_somebody_moved_is_left_there(desk: Desk, server: GraphServer) -> None:
    server.box().put(*numbered(1))
    id = box(desk, server)
    server.faults = {"/move": "down"}
    assert check(desk, id) == 1 and inside(server, "inbox") == [1]
    server.faults = {}
    server.box().move(server.box().mails[1], "archive")
    assert check(desk, id) == 0 and inside(server, "archive") == [1]


def test_a_lost_position_begins_again_without_doubles(desk: Desk, server: GraphServer) -> None:
    id = box(desk, server, is_mail_kept=1)
    server.box().put(*without_id(1, 2, 3))
    assert check(desk, id) == 3
    server.expire()
    del server.box().mails[1]
    server.box().put(*without_id(4))
    assert check(desk, id) == 1, state(desk, id)["last_error"]
    assert subjects(desk) == ["Mail 1", "Mail 2", "Mail 3", "Mail 4"]
    assert len(desk.service.store.read(lambda tx: tx.find(MAILBOX_TAKEN))) == 3, "the deleted one is forgotten"
    server.box().move(server.box().mails[2], "archive")
    assert check(desk, id) == 0 and len(desk.service.store.read(lambda tx: tx.find(MAILBOX_TAKEN))) == 2


def test_a_large_folder_is_read_in_several_checks(
    desk: Desk, server: GraphServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "MAX_MAILS", 2)
    monkeypatch.setattr("server.mail.inboxes.graph.MAX_PAGES", 2)
    server.page_mails = 2
    server.box().put(*without_id(*range(7)))
    id = box(desk, server)
    has_more = lambda: desk.service.store.read(lambda tx: tx.first(MAILBOX_STATE, mailbox_id=id))  # noqa: E731
    checks = 0
    while not checks or has_more()[MAILBOX_STATE.position["has_more"]]:
        assert check(desk, id) <= 2
        checks += 1
    assert sorted(subjects(desk)) == sorted(f"Mail {number}" for number in range(7)) and checks < 8


def test_a_busy_service_is_left_alone_as_long_as_it_asks_for(desk: Desk, server: GraphServer) -> None:
    id = box(desk, server)
    server.box().put(*numbered(1, 2))
    server.wait, server.before = "900", lambda line: setattr(server, "busy", int("AAkALg-000002" in line))
    assert check(desk, id) == 1
    assert "accepts no further requests for 900 seconds" in state(desk, id)["last_error"]
    dates = desk.service.store.read(lambda tx: due_mailboxes.dates(tx, desk.now, 60))
    assert dates == [(desk.now + 900, id)]
    server.before, desk.now = (lambda line: None), desk.now + 900
    assert check(desk, id) == 1 and subjects(desk) == ["Mail 1", "Mail 2"]
    assert desk.service.store.read(lambda tx: due_mailboxes.dates(tx, desk.now, 60)) == [(desk.now + 60, id)]


def test_a_rejected_token_is_renewed(desk: Desk, server: GraphServer) -> None:
    server.box().put(*numbered(1))
    id = box(desk, server, token="expired")
    assert check(desk, id) == 1 and server.renewed == 1
    server.token, server.is_renewable = "revoked", False
    assert check(desk, id) == 0 and server.renewed == 2
    assert "connect it again" in state(desk, id)["last_error"]


def test_a_mail_above_the_limit_stays_and_is_stored_by_its_headers(desk: Desk, server: GraphServer) -> None:
    server.box().put(mail("x" * 5000, Subject="Large"), mail(Subject="Small"))
    id = box(desk, server, max_msg_size_kb=2)
    assert check(desk, id) == 2 and inside(server, "inbox") == [1]
    assert "more bytes than the limit of its mailbox" in desk.all("message")[0]["content"]
    assert check(desk, id) == 0 and check(desk, id) == 0


def test_a_mail_that_is_not_delivered_blocks_no_other(desk: Desk, server: GraphServer) -> None:
    server.box().put(*numbered(1, 2, 3))
    server.faults = {"000002=/.value": "down"}
    id = box(desk, server)
    assert check(desk, id) == 2 and "1 email could not be read" in state(desk, id)["last_error"]
    server.faults = {}
    desk.now += 7200
    assert check(desk, id) == 1 and inside(server, "inbox") == []
    assert subjects(desk) == ["Mail 1", "Mail 3", "Mail 2"]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"connected_account_id": 0}, "connected_account_id"),
        ({"host": "http://mail.example"}, "host"),
        ({"host": "graph.microsoft.us/v1.0"}, "host"),
        ({"protocol": "imap", "host": ""}, "host"),
        ({"protocol": "imap"}, "host"),
    ],
    ids=["no account", "not encrypted", "a path", "IMAP without a host", "IMAP with a URL"],
)
def test_wrong_settings_name_their_field(desk: Desk, server: GraphServer, values: dict[str, Any], field: str) -> None:
    with pytest.raises(HelpdeskError) as refused:
        box(desk, server, **values)
    assert refused.value.details["field"] == field
    assert state(desk, box(desk, server, host="", is_enabled=0, password="none"))["password"] == ""
