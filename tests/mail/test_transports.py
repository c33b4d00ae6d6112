"""Transports against a real server: delivered mail, refusals, and whether a retry makes sense."""

import base64
import socket
from dataclasses import replace
from email import message_from_bytes
from email.policy import default

import pytest

from server.errors import Invalid, Required
from server.mail import dialogue
from server.mail.mail_bytes import compose
from server.mail.transports import TRANSPORTS, DeliveryReport, TransportFailed, null, smtp, transport
from server.mail.transports.smtp import Encryption, SmtpSettings, settings_from
from tests.mail.test_compose import PLAIN
from tests.smtp_server import CERTIFICATE, SmtpServer

# The server's warning about logins without TLS, which these tests use on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH")

RAW = b"Subject: Boat\r\nTo: ann@kite.example\r\n\r\nHello\r\n.\r\n..two\r\n"
SENDER = "help@desk.example"


def settings(server, **changes):
    return replace(SmtpSettings(server.host, server.port, timeout_seconds=10), **changes)


def send(server, *recipients, raw=RAW, **changes):
    return smtp.send(settings(server, **changes), SENDER, recipients or ("ann@kite.example",), raw)


@pytest.fixture(scope="module")
def running():
    with SmtpServer() as server:
        yield server


@pytest.fixture
def server(running):
    """One server for all tests without special needs; at the start of each test it accepts everything."""
    running.refused.clear()
    running.sender_answer = running.data_answer = ""
    return running


def test_mail_arrives_byte_for_byte(server):
    assert send(server, "ann@kite.example", "bob@kite.example").refused == {}
    assert server.take() == (SENDER, ("ann@kite.example", "bob@kite.example"), RAW)
    assert [option.upper() for option in server.options[-1]] == [f"SIZE={len(RAW)}"]


def test_the_envelope_sender_may_be_empty(server):
    smtp.send(settings(server), "", ["ann@kite.example"], RAW)
    assert server.take().sender == ""


def test_a_refused_recipient_does_not_stop_the_others(server):
    server.refused["bob@kite.example"] = "550 5.1.1 No such user"
    delivery = send(server, "ann@kite.example", "bob@kite.example")
    assert delivery.refused == {"bob@kite.example": "550 5.1.1 No such user"}
    assert server.take().recipients == ("ann@kite.example",)


@pytest.mark.parametrize(
    ("refused", "sender_answer", "data_answer", "is_permanent", "words"),
    [
        ({"ann@kite.example": "550 5.1.1 No such user"}, "", "", True, "550 5.1.1 No such user"),
        ({"ann@kite.example": "452 4.2.2 Mailbox full"}, "", "", False, "452 4.2.2 Mailbox full"),
        ({}, "553 5.1.8 Not yours", "", True, "refused the sender: 553 5.1.8 Not yours"),
        ({}, "451 4.3.0 Later", "", False, "451 4.3.0 Later"),
        ({}, "", "554 5.7.1 Spam", True, "refused the email: 554 5.7.1 Spam"),
        ({}, "", "421 4.3.2 Going down", False, "421 4.3.2 Going down"),
    ],
)
def test_answers_from_500_are_permanent(server, refused, sender_answer, data_answer, is_permanent, words):
    before = len(server.messages)
    server.refused.update(refused)
    server.sender_answer, server.data_answer = sender_answer, data_answer
    with pytest.raises(TransportFailed) as failed:
        send(server)
    assert failed.value.is_permanent is is_permanent
    assert words in failed.value.message
    assert len(server.messages) == before


def test_temporary_and_permanent_refusals_are_distinguished(server):
    server.refused.update({"bob@kite.example": "451 4.7.1 Greylisted", "carl@kite.example": "550 5.1.1 No such user"})
    report = send(server, "ann@kite.example", "bob@kite.example", "carl@kite.example")
    assert report.deferred == {"bob@kite.example": "451 4.7.1 Greylisted"}
    assert report.refused == {"carl@kite.example": "550 5.1.1 No such user"}
    assert server.take().recipients == ("ann@kite.example",)


MANY = [f"a{n}@{host}.example" for host in ("kite", "oak") for n in range(4)]


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({"most_recipients": 3}, [3, 3, 2]),  # reported in response to RCPT
        ({"limits": "RCPTMAX=3 MAILMAX=100", "most_recipients": 3}, [3, 3, 2]),
        ({"limits": "RCPTDOMAINMAX=1"}, [4, 4]),
        ({"limits": "RCPTMAX=nonsense MAILMAX"}, [8]),
        ({}, [8]),
    ],
)
def test_a_mail_goes_to_as_many_recipients_at_once_as_the_server_takes(options, sizes):
    with SmtpServer(**options) as server:
        assert send(server, *MANY) == DeliveryReport()
        assert [len(recipients) for _, recipients, _ in server.messages] == sizes
        assert sorted(each for _, recipients, _ in server.messages for each in recipients) == sorted(MANY)


def test_a_mail_above_the_size_that_the_server_takes_is_refused_in_words():
    with SmtpServer(most_bytes=1000) as server, pytest.raises(TransportFailed) as failed:
        send(server, raw=RAW + b"x" * 1000)
    assert failed.value.is_permanent
    assert "the mail server accepts at most 1,000; send fewer or smaller files" in failed.value.message


@pytest.mark.parametrize(("second", "is_permanent"), [("550 No", True), ("451 Later", False)])
def test_all_refused_is_permanent_only_when_each_one_is(server, second, is_permanent):
    server.refused.update({"ann@kite.example": "550 No", "bob@kite.example": second})
    with pytest.raises(TransportFailed) as failed:
        send(server, "ann@kite.example", "bob@kite.example")
    assert failed.value.is_permanent is is_permanent
    report = failed.value.report
    assert {**report.refused, **report.deferred} == {"ann@kite.example": "550 No", "bob@kite.example": second}
    assert set(report.deferred) == (set() if is_permanent else {"bob@kite.example"})


def test_no_server_is_temporary():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(TransportFailed) as failed:
            smtp.send(SmtpSettings("127.0.0.1", unused.getsockname()[1]), SENDER, ["ann@kite.example"], RAW)
    assert failed.value.is_unreachable and not failed.value.is_permanent
    assert "127.0.0.1" in failed.value.message


def test_a_server_that_says_nothing_is_left_in_time():
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TransportFailed) as failed:
        quick = SmtpSettings("127.0.0.1", silent.getsockname()[1], timeout_seconds=1)
        smtp.send(quick, SENDER, ["ann@kite.example"], RAW)
    assert not failed.value.is_permanent
    assert "no response in time" in failed.value.message


def test_a_login_is_made_where_there_is_a_user_name():
    with SmtpServer(login=("ida", "s3cret")) as server:
        send(server, username="ida", password="s3cret")
        assert server.take().sender == SENDER


@pytest.mark.parametrize("account", [("ida", "wrong-s3cret"), ("nobody", "s3cret")])
def test_a_wrong_login_is_no_fault_of_the_mail_and_its_error_holds_no_password(account):
    with SmtpServer(login=("ida", "s3cret")) as server, pytest.raises(TransportFailed) as failed:
        send(server, username=account[0], password=account[1])
    assert failed.value.is_unreachable and not failed.value.is_permanent
    assert "user name and password" in failed.value.message
    assert "s3cret" not in failed.value.message + repr(failed.value.details)


def test_a_token_takes_the_place_of_a_password():
    with SmtpServer(token="t0ken") as server:
        with dialogue.recorded() as said:
            send(server, username="ida", account="7", token="t0ken")
        assert server.take().sender == SENDER
    proof = base64.b64encode(b"user=ida\1auth=Bearer t0ken\1\1").decode()
    assert proof not in "".join(said.lines) and "AUTH" in "".join(said.lines)


def test_a_wrong_token_is_not_shown_and_the_next_may_be_better():
    with SmtpServer(token="t0ken") as server, pytest.raises(TransportFailed) as failed:
        send(server, username="ida", account="7", token="old-t0ken")
    assert not failed.value.is_permanent
    assert "rejected the token: 535" in failed.value.message and "t0ken" not in failed.value.message[40:]


def test_missing_login_is_the_servers_refusal():
    with SmtpServer(login=("ida", "s3cret")) as server, pytest.raises(TransportFailed) as failed:
        send(server)
    assert failed.value.is_unreachable and not failed.value.is_permanent
    assert "530" in failed.value.message


def test_settings_do_not_show_the_password():
    assert "s3cret" not in repr(SmtpSettings("mail.example", 25, username="ida", password="s3cret"))


@pytest.mark.parametrize("encryption", [Encryption.STARTTLS, Encryption.TLS])
def test_encrypted_delivery_checks_the_certificate(encryption, tmp_path, monkeypatch):
    with SmtpServer(tls=encryption.value) as server:
        with pytest.raises(TransportFailed) as failed:
            send(server, encryption=encryption)
        assert not failed.value.is_permanent
        assert "certificate" in failed.value.message
        send(server, encryption=encryption, verify=False)
        server.take()
        trusted = tmp_path / "trusted.pem"
        trusted.write_text(CERTIFICATE)
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        send(server, encryption=encryption)
        server.take()


def test_nothing_is_sent_in_the_clear_when_starttls_is_not_offered(server):
    before = len(server.messages)
    with pytest.raises(TransportFailed) as failed:
        send(server, encryption=Encryption.STARTTLS)
    assert "STARTTLS" in failed.value.message
    assert len(server.messages) == before


def test_smtputf8_is_requested_only_where_necessary(server):
    send(server, "jörg@münchen.example")
    assert server.take().recipients == ("jörg@xn--mnchen-3ya.example",)
    assert "SMTPUTF8" in server.options[-1]
    send(server, "ann@münchen.example")
    assert server.take().recipients == ("ann@xn--mnchen-3ya.example",)
    assert "SMTPUTF8" not in server.options[-1]
    send(server, raw="Subject: Böat\r\n\r\nHi\r\n".encode())
    server.take()
    assert "SMTPUTF8" in server.options[-1]


def test_a_server_without_smtputf8_cannot_reach_such_a_mailbox():
    with SmtpServer(takes_utf8=False) as server:
        with pytest.raises(TransportFailed) as failed:
            send(server, "jörg@kite.example")
        assert failed.value.is_permanent
        send(server, "ann@münchen.example")
        assert server.take().recipients == ("ann@xn--mnchen-3ya.example",)


def test_such_a_mailbox_does_not_hold_back_the_others():
    raw = compose(replace(
        PLAIN, to=(("Jörg, Dr", "jörg@kite.example"), ("Björn", "bo@kite.example")),
        cc=(("", "änn@kite.example"), ("", "ann@kite.example")),
    ))  # fmt: skip
    with SmtpServer(takes_utf8=False) as server:
        refused = send(server, "jörg@kite.example", "bo@kite.example", "änn@kite.example", raw=raw).refused
        _, recipients, taken = server.take()
    why = f"553 5.6.7 the mail server {smtp.NO_UTF8}"
    assert refused == {"jörg@kite.example": why, "änn@kite.example": why}
    assert recipients == ("bo@kite.example",) and taken.isascii()
    read = message_from_bytes(taken, policy=default)
    (bjorn,), (ann,) = read["To"].addresses, read["Cc"].addresses
    assert (bjorn.display_name, bjorn.addr_spec, ann.addr_spec) == ("Björn", "bo@kite.example", "ann@kite.example")
    assert "jörg@kite.example" in [group.display_name for group in read["To"].groups]
    assert taken.partition(b"\r\n\r\n")[2] == raw.partition(b"\r\n\r\n")[2]


def test_a_refusal_names_the_address_as_it_was_given(server):
    server.refused["ann@xn--mnchen-3ya.example"] = "550 No"
    assert send(server, "ann@münchen.example", "bob@kite.example").refused == {"ann@münchen.example": "550 No"}
    server.take()


@pytest.mark.parametrize("address", ["a@b\r\nRCPT TO:<x@y>", "a@b\n", "a@b\0", "a b@c", "<a@b>", "a@b> SIZE=1"])
def test_line_breaks_never_reach_the_server(server, address):
    with pytest.raises(Invalid):
        send(server, address)
    with pytest.raises(Invalid):
        smtp.send(settings(server), address, ["ann@kite.example"], RAW)


def test_a_mail_needs_a_recipient(server):
    with pytest.raises(Required):
        smtp.send(settings(server), SENDER, [], RAW)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"host": "mail.example"}, SmtpSettings("mail.example", 25)),
        ({"host": " mail.example ", "encryption": "TLS"}, SmtpSettings("mail.example", 465, Encryption.TLS)),
        ({"host": "mail.example", "encryption": "starttls"}, SmtpSettings("mail.example", 587, Encryption.STARTTLS)),
        ({"host": "::1", "port": "2525", "timeout": "5"}, SmtpSettings("::1", 2525, timeout_seconds=5)),
        ({"host": "m", "port": 26, "timeout": "", "verify": "0"}, SmtpSettings("m", 26, verify=False)),
        (
            {"host": "m", "username": "ida", "password": " s3cret ", "verify": True},
            SmtpSettings("m", 25, username="ida", password=" s3cret "),
        ),
        ({"host": "m", "username": "ida", "connected_account": 7}, SmtpSettings("m", 25, username="ida", account="7")),
        ({"host": "m", "connected_account": "0"}, SmtpSettings("m", 25)),
    ],
)
def test_settings_are_read_with_defaults(params, expected):
    assert settings_from(params) == expected


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "host"),
        ({"host": ""}, "host"),
        ({"host": "mail example"}, "host"),
        ({"host": "mail.example\r\nX"}, "host"),
        ({"host": ["m"]}, "host"),
        ({"host": "m", "port": 0}, "port"),
        ({"host": "m", "port": 65536}, "port"),
        ({"host": "m", "port": "2x"}, "port"),
        ({"host": "m", "port": True}, "port"),
        ({"host": "m", "port": "٢٥"}, "port"),
        ({"host": "m", "encryption": "ssl3"}, "encryption"),
        ({"host": "m", "timeout": 0}, "timeout"),
        ({"host": "m", "timeout": 301}, "timeout"),
        ({"host": "m", "verify": "perhaps"}, "verify"),
        ({"host": "m", "password": "x"}, "username"),
        ({"host": "m", "username": "ida", "password": "p\0x"}, "password"),
        ({"host": "m", "username": "i\nda"}, "username"),
        ({"host": "m", "hots": "n"}, "hots"),
        ({"host": "m", "connected_account": "7"}, "username"),
        ({"host": "m", "connected_account": ["7"], "username": "ida"}, "connected_account"),
        ({"host": "m", "connected_account": "7", "username": "ida", "password": "pä"}, "password"),
    ],
)
def test_wrong_settings_name_their_key_and_not_the_password(params, field):
    with pytest.raises(Invalid) as failed:
        settings_from(params)
    assert failed.value.details["field"] == field
    assert "pä" not in failed.value.message


def test_transports_are_found_by_their_extension_id():
    assert transport("core.mail.transport.smtp") is smtp
    assert transport("core.mail.transport.null") is null
    assert all(transport(extension_id) for extension_id in TRANSPORTS)
    with pytest.raises(Invalid) as failed:
        transport("core.mail.transport.smpt")
    assert "did you mean 'core.mail.transport.smtp'" in failed.value.message


def test_null_takes_everything_and_delivers_nothing():
    assert null.send(null.settings_from({"host": ["x"]}), SENDER, ["ann@kite.example"], RAW).refused == {}
