"""New tickets from mail: the sender, the route, and the stored data."""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.context import Context
from server.errors import Rejected, Required, TooLarge
from server.mailroom import Receipt, receiving
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import status
from tests.desk.mailroom import NOW, Desk, mail, multipart

GIF = "R0lGODlhAQABAAAAACw="


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


def test_mail_of_an_unknown_sender_becomes_a_ticket_of_the_default_group(desk: Desk) -> None:
    received = desk.receive(mail(From="Ann Kite <Ann@Kite.example>"))
    ticket, message = desk.ticket(received), desk.message(received)
    group = desk.one("group", is_default=1)
    assert received.outcome == "stored" and received.is_new_ticket and received.mask == ticket["mask"]
    assert (ticket["group_id"], ticket["bucket_id"]) == (group["id"], desk.one("bucket", group_id=group["id"])["id"])
    assert (ticket["subject"], ticket["status_id"], ticket["importance"]) == ("Boat", status.OPEN, 50)
    assert (ticket["owner_id"], ticket["created"], ticket["updated"], ticket["last_opened_at"]) == (0, NOW, NOW, NOW)
    assert (ticket["num_messages"], ticket["num_messages_in"], ticket["num_messages_out"]) == (1, 1, 0)
    assert ticket["initial_message_id"] == ticket["latest_message_id"] == message["id"] == received.message_id
    assert ticket["first_wrote_address_id"] == ticket["last_wrote_address_id"] == message["sender_id"]
    assert (message["content"], message["is_outgoing"], message["is_stranger"]) == ("The pump leaks.", 0, 0)
    assert desk.requesters(ticket["id"]) == ["ann@kite.example"]


def test_a_new_sender_without_a_name_gets_an_address_in_lower_case_and_no_contact(desk: Desk) -> None:
    received = desk.receive(mail(From="Ann@Kite.example"))
    address = desk.one("address", id=desk.message(received)["sender_id"])
    assert (address["email"], address["host"], address["contact_id"]) == ("ann@kite.example", "kite.example", 0)
    assert desk.all("contact") == [] and desk.all("org") == []


def test_a_known_sender_is_found_in_any_case(desk: Desk) -> None:
    first, second = desk.receive(mail()), desk.receive(mail(From="ANN@KITE.EXAMPLE"))
    assert desk.message(first)["sender_id"] == desk.message(second)["sender_id"]


@pytest.mark.parametrize(
    ("headers", "sender"),
    [
        ({"Reply_To": "bo@kite.example"}, "bo@kite.example"),
        ({"From": "", "Return_Path": "<cy@kite.example>"}, "cy@kite.example"),
        ({"From": "dee@kite.example, ann@kite.example"}, "dee@kite.example"),
        ({"Reply_To": "no address"}, "ann@kite.example"),
    ],
    ids=["Reply-To", "Return-Path", "first of two", "unusable Reply-To"],
)
def test_the_sender_is_the_first_usable_address(desk: Desk, headers: dict[str, str], sender: str) -> None:
    assert desk.sender(desk.receive(mail(**headers))) == sender


@pytest.mark.parametrize(
    "sender",
    [
        "root@localhost",
        "jürgen@münchen.example",
        "o'hara+list=x@sub.x.example",
        f"{'a' * 64}@{'b' * 60}.{'c' * 60}.example",
    ],
)
def test_unusual_senders_are_accepted(desk: Desk, sender: str) -> None:
    assert desk.sender(desk.receive(mail(From=f"Somebody <{sender}>"))) == sender


@pytest.mark.parametrize("headers", [{"From": ""}, {"From": "nobody"}, {"From": "a@b@c"}])
def test_mail_without_a_usable_sender_is_refused_and_leaves_nothing(desk: Desk, headers: dict[str, str]) -> None:
    before = desk.counts()
    with pytest.raises(Rejected, match="no sender"):
        desk.receive(mail(**headers))
    assert desk.counts() == before


def test_mail_of_a_banned_sender_is_refused_and_leaves_nothing(desk: Desk) -> None:
    desk.create("address", email="ann@kite.example", is_banned=1)
    before = desk.counts()
    with pytest.raises(Rejected, match="banned"):
        desk.receive(mail())
    assert desk.counts() == before


@pytest.mark.parametrize("raw", [b"", b"\r\n \r\n"])
def test_an_empty_mail_is_an_error(desk: Desk, raw: bytes) -> None:
    with pytest.raises(Required):
        desk.receive(raw)


def test_mail_above_64_mib_is_refused_and_leaves_nothing(desk: Desk) -> None:
    before = desk.counts()
    with pytest.raises(TooLarge):
        desk.receive(mail(b"x" * (64 * 1024 * 1024)))
    assert desk.counts() == before


def test_without_a_default_group_a_new_ticket_is_refused_and_leaves_nothing(desk: Desk) -> None:
    known = desk.receive(mail(Message_Id="<one@kite.example>"))
    desk.change("group", desk.one("group", is_default=1)["id"], is_default=0)
    before = desk.counts()
    with pytest.raises(Rejected, match="make one group the default group"):
        desk.receive(mail(From="bo@kite.example"))
    assert desk.counts() == before
    assert desk.receive(mail(In_Reply_To="<one@kite.example>")).ticket_id == known.ticket_id


def test_a_failure_in_the_middle_leaves_nothing_behind(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **more: object) -> None:
        raise ZeroDivisionError

    before = desk.counts()
    monkeypatch.setattr("server.records.activity.log", fail)
    with pytest.raises(ZeroDivisionError):
        desk.receive(multipart("Content-Type: text/plain\n\nHi", "Content-Type: text/csv; name=a.csv\n\n1,2"))
    assert desk.counts() == before
    monkeypatch.undo()
    assert desk.receive(mail()).outcome == "stored"


@pytest.mark.parametrize(
    ("subject", "stored"),
    [
        ("", "(no subject)"),
        ("=?utf-8?q?Caf=C3=A9_?= =?utf-8?q?menu?=", "Café menu"),
        ("x" * 400, "x" * 255),
        ("a\tb\n c", "a b c"),
        ("=?utf-8?q?a=0D=0ABcc:_x=40y?=", "a Bcc: x@y"),
        ("🚲 broken", "🚲 broken"),
    ],
    ids=["empty", "encoded words", "too long", "folded", "line break in an encoded word", "emoji"],
)
def test_subjects(desk: Desk, subject: str, stored: str) -> None:
    ticket = desk.ticket(desk.receive(mail(Subject=subject)))
    assert " ".join(ticket["subject"].split()) == stored


def test_the_headers_are_stored_and_the_raw_mail_byte_for_byte(desk: Desk) -> None:
    raw = mail(Message_Id="<One@kite.example>", X_Odd="  spaced   value").replace(b"\n", b"\r\n")
    received = desk.receive(raw)
    message = desk.message(received)
    assert desk.raw(received) == raw
    assert "X-Odd: spaced   value" in message["headers"].splitlines()
    assert message["message_id"] == "<One@kite.example>"
    digest = hashlib.sha1(b"<One@kite.example>", usedforsecurity=False).hexdigest()
    assert message["hash_header_message_id"] == digest


def test_a_mail_without_message_id_gets_one_in_front_of_its_headers(desk: Desk) -> None:
    message = desk.message(desk.receive(mail()))
    assert message["headers"].startswith(f"Message-Id: {message['message_id']}\n")
    assert message["message_id"].startswith("<") and message["message_id"].endswith(">")


def test_the_words_of_a_mail_are_searchable(desk: Desk) -> None:
    received = desk.receive(mail("A quartzite countertop\n"))
    found = desk.write(lambda writing: writing.search_ids("message", "text:quartzite"))
    assert found == [received.message_id]
    assert desk.write(lambda writing: writing.search_ids("ticket", "text:quartzite")) == [received.ticket_id]


def test_a_duplicate_mask_is_drawn_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    first = desk.receive(mail())
    monkeypatch.setattr("server.mailroom.incoming._mask", lambda pattern, now: first.mask)
    second = desk.receive(mail("Another one.\n"))
    assert second.mask != first.mask and desk.ticket(second)["mask"] == second.mask


@pytest.mark.sqlite("on PostgreSQL a transaction of any other database has cached rows read again")
def test_a_plain_mail_takes_few_statements(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    take = receiving._take

    def counted(ctx: Context, tx: Transaction, *arguments: Any) -> Receipt:
        found = take(ctx, tx, *arguments)
        counts.append(tx.statements)
        return found

    monkeypatch.setattr(receiving, "_take", counted)
    desk.receive(mail(Message_Id="<one@kite.example>"))  # with a new address, its contact, and the words of both
    desk.receive(mail(Message_Id="<two@kite.example>", Subject="Other"))
    desk.receive(mail(Message_Id="<three@kite.example>", In_Reply_To="<one@kite.example>"))
    # One of them reads the service targets, which are cached after the first read.
    assert [count <= most for count, most in zip(counts, (41, 20, 20), strict=True)] == [True] * 3, counts


# -- routing -----------------------------------------------------------------------------------------------------------


def test_mail_to_the_address_of_a_bucket_goes_there(desk: Desk) -> None:
    sales = desk.own_address("sales@desk.example")
    group = desk.create("group", name="Sales", reply_address_id=desk.own_address("group@desk.example"))
    bucket = desk.create("bucket", name="Offers", group_id=group, reply_address_id=sales)
    for headers in ({"To": "Sales@desk.example"}, {"Cc": "x@y.example, sales@desk.example"},
                    {"Delivered_To": "sales@desk.example"}):  # fmt: skip
        ticket = desk.ticket(desk.receive(mail(**headers)))
        assert (ticket["group_id"], ticket["bucket_id"]) == (group, bucket)


def test_mail_to_the_address_of_a_group_goes_to_its_default_bucket(desk: Desk) -> None:
    group = desk.create("group", name="Sales", reply_address_id=desk.own_address("sales@desk.example"))
    ticket = desk.ticket(desk.receive(mail(To="sales@desk.example")))
    assert (ticket["group_id"], ticket["bucket_id"]) == (group, desk.one("bucket", group_id=group, is_default=1)["id"])


# -- requesters, organization ------------------------------------------------------------------------------------------


def test_recipients_become_requesters_only_if_the_setting_says_so(desk: Desk) -> None:
    desk.own_address("help@desk.example")
    headers = {"To": "help@desk.example, bo@kite.example", "Cc": "Cy <cy@kite.example>, no-reply@kite.example"}
    assert desk.requesters(desk.receive(mail(**headers)).ticket_id) == ["ann@kite.example"]
    desk.set(mail_add_recipients=True, mail_exclude_patterns=("no-reply@*",))
    found = desk.requesters(desk.receive(mail("Another one.\n", **headers)).ticket_id)
    assert found == ["ann@kite.example", "bo@kite.example", "cy@kite.example"]


def test_an_excluded_sender_becomes_no_requester(desk: Desk) -> None:
    desk.set(mail_exclude_patterns=("*@robots.example", "/^noreply/"))
    assert desk.requesters(desk.receive(mail(From="noreply@kite.example")).ticket_id) == []
    assert desk.requesters(desk.receive(mail(From="X@ROBOTS.example")).ticket_id) == []


def test_creating_a_ticket_writes_one_entry_with_the_sender_as_actor(desk: Desk) -> None:
    received = desk.receive(mail())
    assert desk.activity(received.ticket_id) == ["ticket.message.inbound"]
    entry = desk.one("activity_log", target_id=received.ticket_id, target__context="svc.contexts.ticket")
    assert entry["actor__context"] == "svc.contexts.address"
    assert entry["actor_id"] == desk.message(received)["sender_id"]
    assert entry["params"]["variables"]["actor"] == "Ann Kite <ann@kite.example>"


@pytest.mark.parametrize("through_contact", [False, True])
def test_the_ticket_has_the_organization_of_its_sender(desk: Desk, through_contact: bool) -> None:
    org = desk.create("org", name="Kite")
    address = desk.create("address", email="ann@kite.example")
    if through_contact:
        contact = desk.create("contact", first_name="Ann", org_id=org)
        desk.change("address", address, contact_id=contact)
    else:
        desk.change("address", address, org_id=org)
    assert desk.ticket(desk.receive(mail()))["org_id"] == org


def test_a_worker_who_writes_is_named_but_the_message_stays_incoming(desk: Desk) -> None:
    milo = desk.worker("milo@desk.example")
    desk.set(mail_authserv_ids=("mx.desk.example",))
    proof = "mx.desk.example; dmarc=pass header.from=desk.example"
    message = desk.message(desk.receive(mail(From="milo@desk.example", Authentication_Results=proof)))
    assert (message["worker_id"], message["is_outgoing"]) == (milo, 0)


def test_a_defunct_address_that_writes_can_be_written_to_again(desk: Desk) -> None:
    id = desk.create("address", email="ann@kite.example", is_defunct=1)
    desk.receive(mail())
    assert desk.one("address", id=id)["is_defunct"] == 0


# -- content -----------------------------------------------------------------------------------------------------------


def test_mail_with_only_html_gets_a_text_and_the_html_as_a_file(desk: Desk) -> None:
    html = '<p>See <a href="https://x.example/a">the page</a></p><script>alert(1)</script>'
    received = desk.receive(mail(html, Content_Type="text/html; charset=utf-8"))
    assert desk.message(received)["content"] == "See the page <https://x.example/a>"
    assert desk.html(received) == html
    assert list(desk.files(received)) == ["original_message.html"]


def test_an_inline_image_is_shown_by_the_address_of_its_file(desk: Desk) -> None:
    raw = multipart(
        "Content-Type: multipart/alternative; boundary=b1\n\n--b1\nContent-Type: text/plain\n\nHi\n--b1\n"
        'Content-Type: text/html\n\n<p>Hi <img src="cid:Dot%40kite"><img src="cid:other@kite"></p>\n--b1--',
        f"Content-Type: image/gif\nContent-Id: <dot@kite>\nContent-Transfer-Encoding: base64\n\n{GIF}",
        kind="related",
    )
    received = desk.receive(raw)
    image = desk.one("attachment", mime_type="image/gif")
    assert desk.message(received)["content"] == "Hi"
    assert sorted(desk.files(received)) == ["dot@kite.gif", "original_message.html"]
    html = desk.html(received)
    assert "cid:Dot" not in html and "cid:other@kite" in html and f"/{image['id']}" in html


def test_two_files_with_one_name_are_distinguished(desk: Desk) -> None:
    part = "Content-Type: text/csv; name=a.txt\nContent-Disposition: attachment; filename=a.txt\n\n"
    received = desk.receive(multipart("Content-Type: text/plain\n\nHi", f"{part}one", f"{part}two"))
    assert desk.files(received) == {"a.txt": b"one", "a-1.txt": b"two"}


def test_equal_bytes_are_stored_once_and_named_by_each_message(desk: Desk) -> None:
    received = [
        desk.receive(multipart(f"Content-Type: text/csv; name={name}\n\nsame bytes", Subject=name))
        for name in ("a.csv", "b.csv")
    ]
    assert [list(desk.files(each)) for each in received] == [["a.csv"], ["b.csv"]]
    first, second = desk.all("attachment")
    assert first["blob_id"] == second["blob_id"] and first["size"] == len("same bytes")


def test_a_file_above_the_limit_is_a_stub_with_a_remark(desk: Desk) -> None:
    desk.set(mail_file_bytes=2000)
    big = f"Content-Type: a/b; name=big.bin\n\n{'x' * 3000}"
    received = desk.receive(multipart("Content-Type: text/plain\n\nHi", big))
    assert desk.files(received) == {"big.bin": b""}
    [stub] = desk.all("attachment")
    assert stub["size"] == 3000 and stub["dropped"] == "it has 3000 bytes; at most 2000 are kept of a file in a mail"
    assert desk.notes(received) == [f"file big.bin was not kept: {stub['dropped']}"]


def test_an_attached_message_is_stored_as_one_file(desk: Desk) -> None:
    inner = "From: cy@kite.example\nSubject: inner\nContent-Type: text/plain; name=secret.txt\n\nhello"
    received = desk.receive(multipart("Content-Type: text/plain\n\nSee", f"Content-Type: message/rfc822\n\n{inner}"))
    [(name, content)] = desk.files(received).items()
    assert name == "inner.eml" and b"Subject: inner" in content


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("iso-8859-1", "Größe"),
        ("gb2312", "你好"),
        ("koi8-r", "Привет"),
        ("windows-1252", "“smart” – dash…"),
        ("x-no", "Größe"),
    ],
)
def test_bodies_in_other_charsets(desk: Desk, charset: str, text: str) -> None:
    encoded = text.encode("latin-1" if charset == "x-no" else charset)
    received = desk.receive(mail(encoded, Content_Type=f"text/plain; charset={charset}"))
    assert desk.message(received)["content"] == text


def test_an_empty_body_is_stored_as_an_empty_text(desk: Desk) -> None:
    assert desk.message(desk.receive(mail("")))["content"] == ""


# -- spam --------------------------------------------------------------------------------------------------------------


def test_a_ticket_has_the_score_of_its_untrained_words(desk: Desk) -> None:
    ticket = desk.ticket(desk.receive(mail("pumps leak\n", Subject="boat")))
    assert round(ticket["spam_score"], 4) == 0.2286 and ticket["spam_training"] == ""


@pytest.mark.exhaustive("the largest mail; one of 20 MiB in api/test_parser.py")
def test_by_default_no_file_is_dropped_from_the_largest_mail_of_providers(desk: Desk) -> None:
    content = bytes(range(256)) * (25 * 4096)  # 25 MiB
    received = desk.receive(
        multipart(
            "Content-Type: text/plain\n\nSee it.",
            "Content-Type: video/mp4; name=film.mp4\nContent-Transfer-Encoding: base64\n\n"
            + base64.encodebytes(content).decode(),
        )
    )
    assert desk.files(received) == {"film.mp4": content} and desk.notes(received) == []
