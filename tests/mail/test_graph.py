"""Microsoft Graph without a desk: folders and their changes, sending small and large mail, and what goes wrong."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from server.errors import HelpdeskError, Invalid
from server.mail import dialogue
from server.mail.graph_client import GraphClient, GraphFailed, service_url
from server.mail.inboxes import InboxFailed, Login, LoginRefused, connect
from server.mail.inboxes.graph import GraphInbox
from server.mail.mail_bytes import OutFile, OutgoingMail, compose
from server.mail.transports import DeliveryReport, TransportFailed, graph
from server.outbound import AccountAccess, RequestLimits, Signer
from server.outbound.allowlist import allowed
from tests.desk.mailroom import mail
from tests.graph_server import NOON, SEND, USER, WRITE, GraphServer

KiB, ANN, BOB = 1024, "ann@kite.example", "bob@kite.example"
PICTURE = bytes(range(256)) * KiB  # posted as a whole
FILM = bytes(range(255, -1, -1)) * 12_900  # 3.3 MB, uploaded in two parts


@pytest.fixture
def server() -> Iterator[GraphServer]:
    with GraphServer() as started:
        yield started


def access(server: GraphServer, token: str = "") -> AccountAccess:
    def signed(token: str) -> Any:
        return lambda request: request.with_headers({"authorization": f"Bearer {token}"})

    limits = RequestLimits(30, KiB * KiB, allowed(["127.0.0.1"]))
    return AccountAccess(Signer(signed(token or server.token), lambda seconds: Signer(signed(server.token))), limits)


def inbox(server: GraphServer, folder: str = "INBOX", user: str = USER, token: str = "") -> GraphInbox:
    opened = connect(Login("graph", server.url, 0, user, folder=folder, access=access(server, token)))
    assert isinstance(opened, GraphInbox)
    return opened


def settings(server: GraphServer) -> graph.GraphSettings:
    params = {"host": server.url, "username": USER, "connected_account": "1"}
    return replace(graph.settings_from(params), access=access(server))


def written(*files: OutFile, html: str | None = None, **values: Any) -> bytes:
    return compose(
        OutgoingMail(
            **{"message_id": "one@desk.example", "date": NOON, "from_name": "Desk", "from_address": USER, "cc": (),
               "to": (("Ann", ANN),), "subject": "Pump", "text": "Here it is.", "installation": "i", "version": "1",
               "in_reply_to": "asked@kite.example", "references": ("asked@kite.example",), "html": html,
               "files": files, **values}
        )
    )  # fmt: skip


def send(server: GraphServer, raw: bytes, *recipients: str, sign: Any = lambda raw: raw) -> DeliveryReport:
    return graph.send(settings(server), USER, recipients or (ANN,), raw, sign)


# -- folders -----------------------------------------------------------------------------------------------------------


def test_changes_are_listed_from_the_oldest_page_by_page(server: GraphServer) -> None:
    server.page_mails = 2
    server.box().put(*(mail(Subject=str(number)) for number in range(5)))
    box = inbox(server)
    first = box.waiting(0, 0)
    assert [each.received_at - NOON for each in first] == [1, 2, 3, 4, 5] and box.is_complete
    server.box().put(mail(Subject="new"))
    box.remove([first[0].uid])
    again = inbox(server)
    again.position = box.following
    assert [each.received_at - NOON for each in again.waiting(0, 0)] == [6]
    assert again.gone == [first[0].uid] and not again.is_complete
    assert [each.number for each in server.box().inside("deleteditems")] == [1]


def test_a_folder_is_found_by_its_path(server: GraphServer) -> None:
    server.box().folders |= {"a": ("inbox", "Ann's orders"), "b": ("a", "2026"), "c": ("", "Other")}
    for path, folder in (("inbox/Ann's orders/2026", "b"), ("Other", "c"), ("ARCHIVE", "archive")):
        assert inbox(server, path).scope == f"F-{folder}"
    for path in ("inbox/Nothing", "Nothing", "inbox//a", "a/" * 20):
        with pytest.raises(InboxFailed, match="has no folder"):
            inbox(server, path)


def test_a_mail_is_read_up_to_a_limit(server: GraphServer) -> None:
    server.box().put(mail("x" * 100_000))
    box = inbox(server)
    [found] = box.waiting(0, 0)
    assert box.whole(found.uid, 1000) == server.box().mails[1].raw[:1000]
    assert (box.head(found.uid, 1000) or b"").endswith(b"Subject: Boat\n\n")
    assert box.whole("AAkALg-none=", 10) is None and box.listed(["AAkALg-none=", found.uid]) == [found]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda server: server.scopes.clear(), "give the app the permission Mail.ReadWrite"),
        (lambda server: server.users.clear(), f"has no mailbox {USER}"),
        (lambda server: server.box().folders.pop("inbox"), "404"),
        (lambda server: setattr(server, "busy", 9), "no further requests for 60 seconds"),
        (lambda server: server.faults.update({"": "down"}), "sent no readable response"),
    ],
    ids=["permission", "mailbox", "folder", "busy", "down"],
)
def test_a_mailbox_that_cannot_be_opened_says_why(server: GraphServer, change: Any, sentence: str) -> None:
    change(server)
    with pytest.raises(InboxFailed, match=sentence) as failed:
        inbox(server)
    assert failed.value.wait_seconds == (60 if "seconds" in sentence else 0)


def test_a_rejected_token_is_renewed_once(server: GraphServer) -> None:
    server.box().put(mail())
    box = inbox(server, token="old")
    assert len(box.waiting(0, 0)) == 1
    assert [line.rpartition(" ")[2] for line in server.asked] == ["401", "200", "200"]
    client = replace(access(server, "old"), sign=Signer(access(server, "old").sign.sign))
    with pytest.raises(LoginRefused, match="connect it again"):
        connect(Login("graph", server.url, 0, USER, access=client))


def test_links_are_followed_on_the_same_host_only(server: GraphServer) -> None:
    client = GraphClient("https://graph.example", USER, access(server), 5)
    same = "https://GRAPH.example:443/v1.0/users/x/messages/delta?$deltatoken=a%2Bb"
    assert str(client.link(same)) == same.replace("GRAPH", "graph").replace(":443", "")
    for link in (
        "https://graph.example.evil.example/v1.0/x", "https://evil.example/v1.0/x", "http://graph.example/v1.0/x",
        "https://graph.example:444/v1.0/x", "https://me@graph.example/v1.0/x", "https://graph.example/other", "/v1.0/x",
        "https://graph.example\\@evil.example/v1.0/x", "https://[/v1.0/x", f"{same}{'x' * 9000}", f"{same} x", None,
    ):  # fmt: skip
        with pytest.raises(GraphFailed, match="link to another host"):
            client.link(link)
    with pytest.raises(GraphFailed):
        client.upload_url("http://evil.example/upload")
    assert client.upload_url("https://outlook.example/up?authtoken=x").host == "outlook.example"


def test_the_host_is_reached_by_https() -> None:
    assert str(service_url("")) == "https://graph.microsoft.com/"
    assert str(service_url("graph.microsoft.us")) == "https://graph.microsoft.us/"
    for wrong in ("http://graph.microsoft.us", "graph.microsoft.us/v1.0", "ftp://graph.example", "a b"):
        with pytest.raises(Invalid) as refused:
            service_url(wrong)
        assert refused.value.details["field"] == "host"


def test_a_response_of_another_kind_is_an_error(server: GraphServer, monkeypatch: pytest.MonkeyPatch) -> None:
    box = inbox(server)
    for content in (
        b"",
        b"[]",
        b"{}",
        b'{"value": [{"id": 7}]}',
        b'{"value": [7]}',
        b'{"value": []}',
        b"[" * 9000,
        b"<",
    ):
        monkeypatch.setattr(server, "_answer", lambda *_, content=content: (200, content))
        with pytest.raises(InboxFailed, match=r"does not respond like Microsoft Graph|link to another host"):
            box.waiting(0, 0)


# -- sending -----------------------------------------------------------------------------------------------------------


def test_a_small_mail_is_sent_as_it_is(server: GraphServer) -> None:
    raw = written(cc=(("", "me@desk.example"),))
    signed: list[bytes] = []
    with dialogue.recorded() as said:
        send(
            server, raw, ANN, "me@desk.example", BOB, sign=lambda raw: signed.append(raw) or b"X-Signed: yes\r\n" + raw
        )
    [sent] = server.box().sent
    assert sent.recipients == (ANN, "me@desk.example", BOB) and signed == [raw]
    assert sent.raw == b"X-Signed: yes\r\n" + raw and BOB.encode() not in sent.raw
    assert said.lines[0] == f"> GET /v1.0/users/{USER}/messages" and said.lines[-1] == "< 202 Accepted"
    assert "token" not in "".join(said.lines)


def test_a_mail_goes_to_its_recipients_only(server: GraphServer) -> None:
    """Others in To and Cc may have it already."""
    others = ANN, "zoe@elsewhere.example"
    raw = written(to=(("Ann Ü", others[0]), ("Zoë, X", others[1])), cc=(("", BOB),))
    send(server, raw, "zoe@elsewhere.example")
    [sent] = server.box().sent
    assert sent.recipients == ("zoe@elsewhere.example",)
    assert b"Cc" not in sent.raw.partition(b"\r\n\r\n")[0] and ANN.encode() not in sent.raw


def test_files_of_a_large_mail_are_uploaded(server: GraphServer) -> None:
    files = (
        OutFile("Größe.png", "image/png", PICTURE),
        OutFile("film.mp4", "video/mp4", FILM),
        OutFile("logo.png", "image/png", b"logo", "logo@desk.example"),
    )
    send(server, written(*files, html='<p>Here <img src="cid:logo@desk.example">'), ANN, BOB)
    [sent] = server.box().sent
    assert sent.recipients == (ANN, BOB) and len(sent.raw) < 2000 and b"Bcc" not in sent.raw
    assert {each["name"]: each["content"] for each in sent.files} == {each.name: each.content for each in files}
    assert [(each["name"], each["isInline"]) for each in sent.files if each.get("contentId")] == [("logo.png", True)]
    assert sent.message_id == "<one@desk.example>"
    for line in (b"In-Reply-To: <asked@kite.example>", b"References: <asked@kite.example>", b"Here it is."):
        assert line in sent.raw


@pytest.mark.parametrize("is_large", [False, True])
def test_a_mail_is_sent_once_wherever_the_connection_is_lost(
    server: GraphServer, is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request of an attempt loses its response once, or does not arrive; the next attempt follows."""
    monkeypatch.setattr("tests.graph_server.MIN_SESSION_BYTES", 1)
    monkeypatch.setattr(graph, "MAX_POSTED_FILE_BYTES", 2000)
    monkeypatch.setattr(graph, "MAX_MIME_BYTES", 2000)
    files = (OutFile("film.mp4", "video/mp4", FILM[:3000]),) if is_large else ()
    count, whole = 5 if is_large else 2, written(*files)
    for fault in ("lost", "down"):
        for number in range(count):
            id = f"{fault}-{number}-{is_large}@desk.example"
            seen: list[str] = []

            def before(line: str, number: int = number, fault: str = fault, seen: list[str] = seen) -> None:
                seen.append(line)
                server.faults = {"": fault} if len(seen) - 1 == number else {}

            server.before = before
            raw = whole.replace(b"one@desk.example", id.encode())
            for _ in range(2):
                try:
                    send(server, raw)
                    break
                except TransportFailed as error:
                    assert not error.is_permanent and error.is_unreachable == (number == 0)
            else:
                pytest.fail("the second attempt failed")
            assert [each.message_id for each in server.box().sent].count(f"<{id}>") == 1, (fault, number, seen)
            assert not server.box().inside("drafts")


def test_an_upload_continues_where_it_broke(server: GraphServer) -> None:
    server.before = lambda line: server.faults.update(
        {"PUT": "lost" if not [each for each in server.asked if each.startswith("PUT")] else ""}
    )
    send(server, written(OutFile("film.mp4", "video/mp4", FILM)))
    assert server.box().sent[0].files[0]["content"] == FILM
    assert [line.split()[0] for line in server.asked if "/upload" in line] == ["PUT", "GET", "PUT"]


def test_refused_recipients_are_reported(server: GraphServer) -> None:
    server.unknown = {"nobody@kite.example"}
    raw = written(to=(("", ANN), ("", "nobody@kite.example")))
    report = send(server, raw, ANN, "nobody@kite.example")
    assert (
        list(report.refused) == ["nobody@kite.example"]
        and "ErrorInvalidRecipients" in report.refused["nobody@kite.example"]
    )
    assert server.box().sent[0].recipients == (ANN,)
    with pytest.raises(TransportFailed, match="is not resolved") as failed:
        send(server, written(message_id="two@desk.example"), "nobody@kite.example")
    assert failed.value.is_permanent and list(failed.value.report.refused) == ["nobody@kite.example"]


def test_a_corrected_recipient_gets_the_mail(server: GraphServer) -> None:
    """It has the Message-ID that the others got."""
    raw = written(to=(("", ANN), ("", BOB)))
    send(server, raw, ANN)
    send(server, raw, BOB)
    send(server, raw, BOB)
    assert [each.recipients for each in server.box().sent] == [(ANN,), (BOB,)]


@pytest.mark.parametrize(
    ("change", "values", "sentence", "is_permanent", "is_unreachable"),
    [
        (lambda server: server.scopes.remove(SEND), {}, "the permission Mail.Send", False, True),
        (lambda server: server.scopes.clear(), {}, "the permission Mail.ReadWrite", False, True),
        (lambda server: None, {"from_address": "ceo@desk.example"}, "give it the right Send As", True, False),
        (lambda server: setattr(server, "busy", 1), {}, "no further requests for 60 seconds", False, True),
        (lambda server: server.users.clear(), {}, "has no mailbox", False, True),
    ],
    ids=["may not send", "may not read", "other sender", "busy", "no mailbox"],
)
def test_a_mail_that_cannot_be_sent_says_why(
    server: GraphServer, change: Any, values: dict[str, Any], sentence: str, is_permanent: bool, is_unreachable: bool
) -> None:
    change(server)
    with pytest.raises(TransportFailed, match=sentence) as failed:
        send(server, written(**values))
    assert (failed.value.is_permanent, failed.value.is_unreachable) == (is_permanent, is_unreachable)
    assert failed.value.wait_seconds == (60 if "seconds" in sentence else 0)


def test_a_text_above_the_limit_is_refused(server: GraphServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "MAX_MIME_BYTES", 5000)
    with pytest.raises(TransportFailed, match="text of the email is too large") as failed:
        send(server, written(text="x" * 6000))
    assert failed.value.is_permanent


def test_what_the_service_refuses_as_too_large_is_not_repeated(
    server: GraphServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.graph_server.MAX_REQUEST_BYTES", 5000)
    with pytest.raises(TransportFailed, match="413") as failed:
        send(server, written(text="x" * 6000))
    assert failed.value.is_permanent and not failed.value.is_unreachable


def test_a_part_of_a_wrong_size_leaves_no_draft_behind(server: GraphServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "PART_BYTES", 1_000_000)
    with pytest.raises(TransportFailed, match="upload of a file failed: 400") as failed:
        send(server, written(OutFile("film.mp4", "video/mp4", FILM)))
    assert not failed.value.is_permanent and not failed.value.is_unreachable
    assert server.box().inside("drafts") == [] == server.box().sent


def test_the_mailbox_is_tried_without_sending(server: GraphServer) -> None:
    graph.probe(settings(server))
    server.scopes -= {WRITE, "Mail.Read"}
    with pytest.raises(TransportFailed, match=re.escape("Mail.ReadWrite")):
        graph.probe(settings(server))
    assert server.box().sent == []


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "username"),
        ({"username": USER}, "connected_account"),
        ({"username": USER, "connected_account": "1", "host": "http://graph.example"}, "host"),
        ({"username": USER, "connected_account": "1", "port": "1"}, "port"),
        ({"username": USER, "connected_account": "1", "timeout": "0"}, "timeout"),
    ],
)
def test_wrong_settings_name_their_field(params: dict[str, str], field: str) -> None:
    with pytest.raises(HelpdeskError) as refused:
        graph.settings_from(params)
    assert refused.value.details["field"] == field
