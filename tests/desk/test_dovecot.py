"""A mailbox on an IMAP server of others, Dovecot, that signs in with the token of a connected account (XOAUTH2)."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.jobs.job_queue import JOB
from server.mail import dialogue
from server.mailroom.mailboxes import checking
from server.records.reading import RecordReader
from server.store import schema
from tests import dovecot
from tests.desk.mailroom import Desk, mail
from tests.dovecot import USER, Dovecot

pytestmark = pytest.mark.skipif(dovecot.PROGRAM is None, reason="needs dovecot")


@pytest.fixture(scope="module")
def imap() -> Iterator[Dovecot]:
    # Its processes run as another user, who has no access to the folders of the tests.
    with tempfile.TemporaryDirectory(prefix="dovecot-") as folder:
        Path(folder).chmod(0o755)
        with Dovecot(Path(folder)) as started:
            yield started


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path / "data", outbound_allow=["127.0.0.1"])
    opened.service.store.write(lambda tx: schema.add_tables(tx, [JOB]))
    yield opened
    opened.close()


def box(desk: Desk, imap: Dovecot, token: str) -> int:
    service = desk.create(
        "connected_service", name="Provider", extension_id="svc.service.provider.oauth2",
        params={"token_url": f"{imap.provider.url}/token", "client_id": "desk"},
    )  # fmt: skip
    account = desk.create(
        "connected_account", name="Support", service_id=service, owner__context="svc.contexts.app", owner_id=0,
        params={"access_token": token, "refresh_token": "again"},
    )  # fmt: skip
    return desk.create(
        "mailbox", name="Support", protocol="imap", host=imap.host, port=imap.port, username=USER,
        connected_account_id=account, is_mail_kept=0,
    )  # fmt: skip


def test_mail_is_fetched_and_removed_with_a_token(desk: Desk, imap: Dovecot) -> None:
    [token] = imap.provider.valid
    id = box(desk, imap, token)
    for number in range(3):
        imap.put(mail(Subject=f"Mail {number}", Message_Id=f"<{number}@kite.example>"))
    assert checking.check(desk.service, id, desk.now) == 3, desk.one("mailbox", id=id)["last_error"]
    assert [ticket["subject"] for ticket in desk.all("ticket")] == ["Mail 0", "Mail 1", "Mail 2"]
    assert imap.mails == 0 and "/token" not in imap.provider.asked
    imap.put(mail(Subject="Mail 3"))
    assert checking.check(desk.service, id, desk.now) == 1 and imap.mails == 0


def test_a_token_that_the_server_rejects_is_renewed(desk: Desk, imap: Dovecot) -> None:
    id = box(desk, imap, "expired")
    imap.put(mail(Subject="After a renewal"))
    renewed = imap.provider.renewed
    assert checking.check(desk.service, id, desk.now) == 1, desk.one("mailbox", id=id)["last_error"]
    assert imap.provider.renewed == renewed + 1


def test_a_renewed_token_that_is_rejected_too_leads_to_a_sentence(desk: Desk, imap: Dovecot) -> None:
    id = box(desk, imap, "expired")
    imap.provider.is_renewable = False
    try:
        with dialogue.recorded() as said:
            assert checking.check(desk.service, id, desk.now) == 0
    finally:
        imap.provider.is_renewable = True
    error = desk.one("mailbox", id=id)["last_error"]
    assert error.startswith(f"{imap.host} rejected this user name and token") and "AUTHENTICATIONFAILED" in error
    lines = "\n".join(said.lines)
    assert "AUTHENTICATE XOAUTH2 (left out)" in lines and "expired" not in lines and "Bearer" not in lines
    stored = desk.service.store.read(lambda tx: RecordReader(desk.ctx, tx).find("connected_account"))
    assert stored is not None and stored["params"]["expires_at"] == desk.now
