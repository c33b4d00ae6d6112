"""Signed mail: keys created, published, used and replaced; the sent bytes are the signed ones; permissions."""

import base64
import json
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import dkim as judge
import pytest

from server import app
from server.errors import AdminOnly, Conflict, Invalid, NotFound, Unavailable
from server.export.exporting import export
from server.mail import dkim_signing
from server.mailroom import dkim, mail_dns
from server.mailroom.dkim import DkimKey
from server.outbox.signing import DKIM_KEY
from server.records import records
from tests.desk.conftest import NOW, Post
from tests.outbound.test_dns import NameServer, answering, record
from tests.smtp_server import SmtpServer

TXT = 16
PRIVATE = "PRIVATE KEY"


class Names:
    """A name server of the tests, and its entries for signing keys: {name: text}."""

    def __init__(self, server: NameServer) -> None:
        self.entries: dict[str, str] = {}
        self.server = server
        self.servers = [server.address]
        server.answer = self._answer

    def _answer(self, question: bytes) -> bytes:
        found = [text for name, text in self.entries.items() if _labels(name) in question]
        return answering(*[record(TXT, _strings(text)) for text in found])(question)

    def publish(self, key: DkimKey) -> None:
        self.entries[key.name] = key.entry

    def txt(self, name: bytes, **_: Any) -> bytes:
        """Looks up a key as the verifier of signatures does."""
        return self.entries[name.decode().rstrip(".")].encode()


def _labels(name: str) -> bytes:
    return b"".join(bytes([len(each)]) + each.encode() for each in name.split("."))


def _strings(text: str) -> bytes:
    """Encodes a text as a TXT entry does: in strings of at most 255 bytes."""
    pieces = [text[start : start + 255].encode() for start in range(0, len(text), 255)]
    return b"".join(bytes([len(each)]) + each for each in pieces)


@pytest.fixture
def names() -> Iterator[Names]:
    opened = NameServer()
    yield Names(opened)
    opened.close()


@pytest.fixture
def signing(desk: Post, names: Names) -> DkimKey:
    """A key in use for the domain of the default sender."""
    return in_use(desk, names)


def domain(desk: Post) -> str:
    return str(desk.one("address", id=desk.sender)["email"]).rpartition("@")[2]


@pytest.fixture(autouse=True)
def known_domain(desk: Post) -> None:
    """Gives the default sender an address of a domain that others could know."""
    desk.update("address", desk.sender, email="support@desk.example")


def in_use(desk: Post, names: Names) -> DkimKey:
    ctx = desk.context(desk.nora)
    key = dkim.make(ctx, domain(desk))
    names.publish(key)
    return dkim.use(ctx, key.id, names.servers)


def is_good(names: Names, raw: bytes) -> bool:
    return bool(judge.verify(raw, dnsfunc=names.txt))


def acts(desk: Post) -> list[str]:
    return [each["activity_point"] for each in desk.all("activity_log") if each["activity_point"].startswith("dkim.")]


# -- sent mail ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [
    {"content": "Hello Ann"},
    {"content": "Grüße\n\n* eins\n* zwei", "subject": "Ümlaute 日本", "format": "markdown"},
    {"content": ".\n..\n.a line with a dot\n", "to": "Zoë Ångström <zoe@kite.example>"},
    {"content": "x" * 3000, "cc": "ben@kite.example"},
    {"content": "Trailing spaces  \n\n\n\n"},
], ids=["plain", "not ASCII", "lines that begin with a dot", "a long line", "trailing spaces"])  # fmt: skip
def test_mail_arrives_with_a_valid_signature_of_its_domain(
    desk: Post, smtp: SmtpServer, names: Names, signing: DkimKey, sent: dict[str, str]
) -> None:
    desk.compose(**sent)
    raw = smtp.take()[2]
    head = message_from_bytes(raw, policy=default)["DKIM-Signature"].replace(" ", "")
    assert f"d={signing.domain};" in head and f"s={signing.selector};" in head and "a=rsa-sha256" in head
    assert is_good(names, raw)
    assert not is_good(names, raw.replace(b"Subject: ", b"Subject: Re: ")), "a signature that covers no subject"
    assert not is_good(names, raw + b"More\r\n") and not is_good(names, raw.replace(b"From: ", b"From: x"))


def test_files_and_all_recipients_preserve_the_signature(
    desk: Post, smtp: SmtpServer, names: Names, signing: DkimKey
) -> None:
    content = base64.b64encode(bytes(range(256)) * 400).decode()
    file = records.create(desk.context(desk.nora), "attachment", {"name": "plan.bin", "content": content})["id"]
    desk.compose(file_ids=str(file), to="ann@kite.example, ben@kite.example")
    assert is_good(names, smtp.take()[2])


def test_mail_rewritten_for_a_server_without_smtputf8_is_signed_afterwards(
    desk: Post, names: Names, signing: DkimKey
) -> None:
    with SmtpServer(takes_utf8=False) as smtp:
        desk.smtp(smtp.host, smtp.port)
        desk.compose(to="ann@kïte.example", subject="Bööt")
        raw = smtp.take()[2]
    assert raw.partition(b"\r\n\r\n")[0].isascii() and is_good(names, raw)


def test_a_domain_without_a_key_in_use_is_not_signed(desk: Post, smtp: SmtpServer, names: Names) -> None:
    key = dkim.make(desk.context(desk.nora), domain(desk))
    desk.compose()
    assert b"DKIM-Signature" not in smtp.take()[2] and not key.is_used


def test_a_key_signs_for_subdomains(desk: Post, smtp: SmtpServer, names: Names, signing: DkimKey) -> None:
    desk.update("address", desk.sender, email="support@shop.desk.example")
    desk.compose()
    assert is_good(names, smtp.take()[2])
    desk.update("address", desk.sender, email="support@otherdesk.example")
    desk.compose()
    assert b"DKIM-Signature" not in smtp.take()[2]


def test_a_key_that_cannot_sign_loses_no_mail_and_is_reported(
    desk: Post, smtp: SmtpServer, signing: DkimKey, caplog: pytest.LogCaptureFixture
) -> None:
    desk.write(lambda writing: writing.tx.update(DKIM_KEY, signing.id, {"private_key": "no key"}))
    desk.compose()
    assert b"DKIM-Signature" not in smtp.take()[2]
    assert "mail.unsigned" in caplog.text and "no key" not in caplog.text


def test_the_writer_signs_nothing(
    desk: Post, smtp: SmtpServer, signing: DkimKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = dkim_signing.signed

    def watched(*given: Any) -> bytes:
        desk.service.store.require_off_writer()
        return signed(*given)

    monkeypatch.setattr(dkim_signing, "signed", watched)
    desk.compose()
    assert b"DKIM-Signature" in smtp.take()[2]


# -- keys --------------------------------------------------------------------------------------------------------------


def test_a_key_is_used_only_once_dns_shows_it(desk: Post, names: Names) -> None:
    ctx = desk.context(desk.nora)
    key, other = dkim.make(ctx, domain(desk)), dkim.make(ctx, domain(desk))
    for shown in ({}, {key.name: other.entry}, {key.name: "v=DKIM1; k=rsa; p="}, {other.name: key.entry}):
        names.entries = shown
        with pytest.raises(Conflict, match=f"DNS does not have this key at {key.name}"):
            dkim.use(ctx, key.id, names.servers)
    with pytest.raises(Unavailable, match="no name server responds"):
        dkim.use(ctx, key.id, [("127.0.0.1", 9)])
    assert not any(each.is_used for each in dkim.list_keys(ctx))
    names.entries = {key.name: key.entry.replace("; ", ";").replace("p=", " p = ")}
    assert dkim.use(ctx, key.id, names.servers).is_used
    assert acts(desk) == ["dkim.key.created", "dkim.key.created", "dkim.key.used"]


def test_a_key_is_replaced_without_unverifiable_mail(
    desk: Post, smtp: SmtpServer, names: Names, signing: DkimKey
) -> None:
    ctx = desk.context(desk.nora)
    desk.compose()
    before = smtp.take()[2]
    new = dkim.make(ctx, signing.domain)
    assert new.selector != signing.selector and new.public_key != signing.public_key
    desk.compose()
    assert f"s={signing.selector};".encode() in smtp.take()[2].replace(b" ", b"")
    names.publish(new)
    dkim.use(ctx, new.id, names.servers)
    assert [each.is_used for each in dkim.list_keys(ctx)] == [True, False]
    desk.compose()
    after = smtp.take()[2]
    assert f"s={new.selector};".encode() in after.replace(b" ", b"")
    assert is_good(names, before) and is_good(names, after)
    with pytest.raises(Conflict, match="mail is signed with this key"):
        dkim.delete(ctx, new.id)
    dkim.delete(ctx, signing.id)
    dkim.stop(ctx, new.id)
    dkim.stop(ctx, new.id)  # nothing to do, and nothing to log
    desk.compose()
    assert b"DKIM-Signature" not in smtp.take()[2]
    assert acts(desk)[2:] == ["dkim.key.created", "dkim.key.used", "dkim.key.deleted", "dkim.key.stopped"]
    with pytest.raises(NotFound, match="signing key"):
        dkim.use(ctx, signing.id)


def test_selectors_are_unique_and_limited_in_number(desk: Post) -> None:
    ctx = desk.context(desk.nora)
    first = dkim.make(ctx, domain(desk))
    second = dkim.make(ctx, domain(desk).upper())
    dkim.delete(ctx, second.id)
    desk.now += 60
    third = dkim.make(desk.context(desk.nora), domain(desk))
    assert [first.selector, second.selector, third.selector] == [f"desk{NOW + later}" for later in (0, 1, 60)]
    row = {"domain": domain(desk), "private_key": "", "public_key": "", "created_at": 1, "is_used": 0}
    for place in range(dkim.MAX_KEYS - 2):
        desk.write(lambda writing, place=place: writing.tx.insert(DKIM_KEY, {**row, "selector": f"x{place}"}))
    with pytest.raises(Conflict, match="delete those that are no longer used"):
        dkim.make(ctx, domain(desk))


@pytest.mark.parametrize("name", ["kite.example", "example", "", "desk.example.", "x" * 300, "desk.example\r\nX: y"])
def test_only_domains_of_senders_have_keys(desk: Post, name: str) -> None:
    with pytest.raises(Invalid, match="no email is sent from this domain"):
        dkim.make(desk.context(desk.nora), name)
    assert acts(desk) == []


def test_only_administrators_manage_keys(desk: Post, signing: DkimKey) -> None:
    ctx = desk.context(desk.milo)
    for doing in (
        lambda: dkim.list_keys(ctx), lambda: dkim.one(ctx, signing.id), lambda: dkim.make(ctx, "desk.example"),
        lambda: dkim.use(ctx, signing.id), lambda: dkim.stop(ctx, signing.id), lambda: dkim.delete(ctx, signing.id),
        lambda: dkim.sender_domains(ctx),
    ):  # fmt: skip
        with pytest.raises(AdminOnly):
            doing()
    assert dkim.one(desk.context(desk.nora), signing.id).is_used


def test_dns_of_the_senders_shows_whether_signatures_are_verifiable(desk: Post, names: Names) -> None:
    ctx = desk.context(desk.nora)

    def hint() -> mail_dns.Hint:
        [found] = [each for each in mail_dns.of_senders(ctx, names.servers) if each.kind == mail_dns.DKIM]
        return found

    assert hint().is_choice and "create a key under Signing" in hint().advice
    key = in_use(desk, names)
    assert (hint().found, hint().advice) == (key.name, "")
    names.entries = {}
    assert not hint().is_choice and "DNS does not have that key" in hint().advice


def test_dns_shows_the_key_of_the_parent_domain_that_signs(desk: Post, names: Names, signing: DkimKey) -> None:
    desk.update("address", desk.sender, email="support@shop.desk.example")
    hints = mail_dns.of_senders(desk.context(desk.nora), names.servers)
    [found] = [(each.domain, each.found, each.advice) for each in hints if each.kind == mail_dns.DKIM]
    assert found == ("shop.desk.example", signing.name, "")


def test_a_key_deleted_during_a_dns_query_replaces_none(
    desk: Post, names: Names, signing: DkimKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx, is_published = desk.context(desk.nora), dkim.is_published
    new = dkim.make(ctx, signing.domain)
    names.publish(new)

    def meanwhile(*given: Any) -> bool:
        dkim.delete(ctx, new.id)
        return is_published(*given)

    monkeypatch.setattr(dkim, "is_published", meanwhile)
    with pytest.raises(NotFound, match="signing key"):
        dkim.use(ctx, new.id, names.servers)
    assert [(each.id, each.is_used) for each in dkim.list_keys(ctx)] == [(signing.id, True)]
    assert acts(desk)[-1] == "dkim.key.deleted"


# -- secrets -----------------------------------------------------------------------------------------------------------


def test_the_private_key_is_only_in_exports_with_secrets(desk: Post, signing: DkimKey, tmp_path: Path) -> None:
    tables = app.all_tables(desk.service.registry)
    for with_secrets in (False, True):
        place = tmp_path / f"{with_secrets}.zip"
        export(desk.context(), place, tables, lambda *_: None, with_secrets=with_secrets)
        with zipfile.ZipFile(place) as opened:
            text = "".join(opened.read(name).decode("utf-8", "replace") for name in opened.namelist())
        assert (PRIVATE in text) is with_secrets
    assert PRIVATE not in repr(dkim.list_keys(desk.context(desk.nora)))
    assert PRIVATE not in json.dumps([dict(each) for each in desk.all("activity_log")], default=str)


# -- header fields of groups -------------------------------------------------------------------------------------------

ONE_CLICK = "List-Unsubscribe: <https://desk.example/leave>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click"


def test_reply_to_and_list_headers_of_a_group_are_signed(
    desk: Post, smtp: SmtpServer, names: Names, signing: DkimKey
) -> None:
    fields = {"reply_to": "Answers@Kite.example", "list_headers": f"list-id: <pumps.desk.example>\n{ONE_CLICK}"}
    records.update(desk.context(desk.nora), "group", desk.support, fields)
    ticket = desk.compose()[1]
    raw = smtp.take()[2]
    mail = message_from_bytes(raw, policy=default)
    assert (mail["Reply-To"], mail["List-Id"]) == ("answers@kite.example", "<pumps.desk.example>")
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click" and "<support@desk.example>" in mail["From"]
    assert is_good(names, raw)
    for part in (b"https://desk.example/leave", b"answers@kite.example", b"<pumps.", b"=One-Click"):
        assert not is_good(names, raw.replace(part, part.replace(b"e", b"i").replace(b"s", b"z"))), part
    kept = desk.message(ticket)["headers"]
    assert "Reply-To: answers@kite.example\n" in kept and "List-Id: <pumps.desk.example>\n" in kept


def test_mail_of_groups_without_them_has_neither(desk: Post, smtp: SmtpServer) -> None:
    desk.compose()
    head = smtp.take()[2].partition(b"\r\n\r\n")[0]
    assert b"Reply-To" not in head and b"List-" not in head


@pytest.mark.parametrize(("name", "sent", "reason"), [
    ("reply_to", "nobody", "reply_to: 'nobody' is not an email address"),
    ("reply_to", "a@b.example, c@d.example", "reply_to: "),
    ("reply_to", "a@b.example\r\nBcc: c@d.example", "reply_to: must be one line"),
    ("list_headers", "Bcc: c@d.example", "list_headers: 'Bcc' must be one of"),
    ("list_headers", "x" * 2001, "list_headers: at most 2000 characters"),
], ids=["no address", "two addresses", "address with a second header", "forbidden header", "too long"])  # fmt: skip
def test_values_that_would_break_the_mail_are_refused(desk: Post, name: str, sent: str, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        records.update(desk.context(desk.nora), "group", desk.support, {name: sent})
    assert reason in refused.value.message and desk.one("group", id=desk.support)[name] == ""
