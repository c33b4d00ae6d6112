"""Raw mail over HTTP: every byte is stored however it is sent; refusals, replies, and many mails at once."""

import base64
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from server.settings import BY_NAME
from tests import databases
from tests.api.post import FILE_BYTES, Post, customer, names, written
from tests.service import Api, Reply

PATH = "/rest/parser/parse.json"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
HIGH = bytes(range(0x80, 0x100))
ALL_BYTES = bytes(range(0x100))
MAX_MAIL_BYTES = int(str(BY_NAME["max_mail_bytes"].default))
MiB = 1024 * 1024
AT_ONCE = 16


def mail(body: bytes = b"It leaks.\n", **headers: str) -> bytes:
    """Returns a mail of a new customer; `_` in header names stands for `-`, "" leaves a header out."""
    named = {"From": customer(), "To": "support@localhost", "Subject": "Boat"} | headers
    head = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in named.items() if value)
    return head.encode() + b"\n" + body


def stored(post: Post, message_id: int) -> bytes:
    """Returns the stored mail, read from the database since no endpoint returns it."""
    with databases.opened(post.server.data) as connection:
        rows = connection.execute(
            f"SELECT bytes FROM blob_piece WHERE blob_id = (SELECT raw_blob_id FROM message WHERE id = {message_id}) "
            "ORDER BY piece"
        )
        return b"".join(bytes(row[0]) for row in rows)


def percent(raw: bytes) -> bytes:
    return b"".join(b"%%%02X" % byte for byte in raw)


def half_escaped(raw: bytes) -> bytes:
    """Escapes only the bytes that a form requires."""
    return b"".join(b"%%%02X" % byte if byte in b"%&+=;\r\n " else bytes((byte,)) for byte in raw)


def as_file(api: Api, raw: bytes, name: str = "mail.eml") -> Reply:
    return api.call("POST", PATH, files={"message": (name, raw, "message/rfc822")})


WAYS: list[tuple[str, Callable[[Api, bytes], Reply]]] = [
    ("urlencoded by a client", lambda api, raw: api.parse(raw)),
    ("all escaped", lambda api, raw: api.call("POST", PATH, data=b"message=" + percent(raw), headers=FORM)),
    ("little escaped", lambda api, raw: api.call("POST", PATH, data=b"message=" + half_escaped(raw), headers=FORM)),
    ("multipart field", lambda api, raw: api.call("POST", PATH, files={"message": (None, raw)})),
    ("multipart file", as_file),
]


@pytest.mark.parametrize("send", [way for _, way in WAYS], ids=[name for name, _ in WAYS])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("body", [HIGH, ALL_BYTES, HIGH * 400], ids=["high", "all", "large"])
def test_every_byte_is_stored(body: bytes, ends: bytes, send: Callable[[Api, bytes], Reply], post: Post) -> None:
    raw = mail(b"").replace(b"\n", ends) + body + ends
    made = send(post.api, raw).ok()
    assert set(made.json) == {"__build", "__status", "__version", "id", "mask", "last_message_id"}
    assert stored(post, made["last_message_id"]) == raw


def test_text_of_a_json_body_is_stored_as_utf_8(post: Post) -> None:
    text = mail(b"").decode() + "".join(map(chr, range(0x20, 0x180))) + " – 見積 🙂\n"
    made = post.api.call("POST", PATH, json={"message": text}).ok()
    assert stored(post, made["last_message_id"]) == text.encode()
    message = post.api.record("message", made["last_message_id"], expand="content").ok()
    assert "見積 🙂" in message["content"]


@pytest.mark.parametrize("charset", ["iso-8859-1", "windows-1252", "koi8-r", "utf-8"])
def test_text_in_a_charset_is_decoded_and_its_bytes_are_stored(charset: str, post: Post) -> None:
    text = "Привет" if charset == "koi8-r" else "Schöne Grüße"
    raw = mail(text.encode(charset), MIME_Version="1.0", Content_Type=f"text/plain; charset={charset}",
               Content_Transfer_Encoding="8bit")  # fmt: skip
    made = post.api.parse(raw).ok()
    message = post.api.record("message", made["last_message_id"], expand="content").ok()
    assert message["content"].strip() == text and stored(post, made["last_message_id"]) == raw


REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("nothing", {"data": {}}, 422, "ERROR_PARAM_REQUIRED"),
    ("blank", {"data": {"message": ""}}, 422, "ERROR_PARAM_REQUIRED"),
    ("an empty file", {"files": {"message": ("a.eml", b"", "message/rfc822")}}, 422, "ERROR_PARAM_REQUIRED"),
    ("spaces", {"data": {"message": " \r\n \t\n"}}, 422, "ERROR_PARAM_REQUIRED"),
    ("null", {"json": {"message": None}}, 422, "ERROR_PARAM_REQUIRED"),
    ("a list", {"json": {"message": ["From: a@kite.example"]}}, 422, "ERROR_PARAM_INVALID"),
    ("a map", {"data": {"message[a]": "From: a@kite.example"}}, 422, "ERROR_PARAM_INVALID"),
    ("no sender", {"data": {"message": "Subject: Boat\n\nIt leaks.\n"}}, 422, "ERROR_REJECTED"),
    ("no usable sender", {"data": {"message": "From: Ann\n\nIt leaks.\n"}}, 422, "ERROR_REJECTED"),
    ("no headers", {"data": {"message": "\n\nIt leaks.\n"}}, 422, "ERROR_REJECTED"),
]


@pytest.mark.parametrize(("options", "status", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_invalid_mail_is_refused_and_leaves_nothing(
    options: dict[str, Any], status: int, code: str, post: Post
) -> None:
    before = written(post.api)
    response = post.api.call("POST", PATH, **options)
    assert (response.status, response["__error"]) == (status, code), response
    assert [each["field"] for each in response["errors"]] == ["message"]
    assert written(post.api) == before


def test_mail_of_a_banned_sender_is_refused_and_leaves_nothing(post: Post) -> None:
    email = customer()
    post.api.create("address", email=email, is_banned=1).ok()
    before = written(post.api)
    response = post.api.parse(mail(From=email.upper()))
    assert (response.status, response["__error"]) == (422, "ERROR_REJECTED")
    assert written(post.api) == before


def test_workers_without_groups_may_submit_mail_and_disabled_ones_may_not(post: Post) -> None:
    assert post.api.as_("olga").parse(mail()).status == 200
    assert post.api.as_("dora").parse(mail()).status == 401


@pytest.mark.exhaustive("the largest email")
def test_a_mail_of_20_mib_with_files(post: Post) -> None:
    chance = random.Random(20)
    files = [chance.randbytes(15 * MiB // 2) for _ in range(2)]
    parts = b"".join(
        b"--b0\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename=%d.bin\n"
        b"Content-Transfer-Encoding: base64\n\n%s" % (number, base64.encodebytes(content))
        for number, content in enumerate(files)
    )
    body = b"--b0\nContent-Type: text/plain\n\nSee the files.\n" + parts + b"--b0--\n"
    raw = mail(body, MIME_Version="1.0", Content_Type="multipart/mixed; boundary=b0")
    assert len(raw) > 20 * MiB
    made = as_file(post.api, raw).ok()
    kept = post.api.search("attachment", f"on.message:(id:{made['last_message_id']})").ok()["results"]
    found = {each["name"]: post.api.get(f"/rest/attachments/{each['id']}/download.json").content for each in kept}
    assert found == {"0.bin": files[0], "1.bin": files[1]}
    assert stored(post, made["last_message_id"]) == raw


def test_a_mail_above_the_limit_is_too_large_and_leaves_nothing(post: Post) -> None:
    before = written(post.api)
    head = mail(b"", From="zoe@kite.example")
    response = as_file(post.api, head + b"x" * (MAX_MAIL_BYTES - len(head) + 1))
    assert (response.status, response["__error"]) == (413, "ERROR_TOO_LARGE")
    assert written(post.api) == before


# -- replies -----------------------------------------------------------------------------------------------------------


def answering(made: Reply, own_id: str, how: str) -> dict[str, str]:
    """Returns the headers of a mail that replies to another."""
    return {
        "in-reply-to": {"In_Reply_To": f"<{own_id}>"},
        "references": {"References": f"<other@kite.example> <{own_id}>"},
        "mask": {"Subject": f"Re: [Desk #{made['mask'].lower()}] Boat"},
        "id wins over mask": {"In_Reply_To": f"<{own_id}>", "Subject": "[#AAA-11111-111] Boat"},
    }[how]


@pytest.mark.parametrize("status", [1, 2, 3])
@pytest.mark.parametrize("how", ["in-reply-to", "references", "mask", "id wins over mask"])
def test_a_reply_finds_its_ticket_and_opens_it(how: str, status: int, post: Post) -> None:
    api, email = post.api, customer()
    own_id = f"m.{email}"
    made = api.parse(mail(From=email, Message_ID=f"<{own_id}>")).ok()
    api.update("ticket", made["id"], status_id=status, reopen_date=4102444800).ok()
    response = api.parse(mail(b"And again.\n", From=email, **answering(made, own_id, how))).ok()
    assert (response["id"], response["mask"]) == (made["id"], made["mask"])
    assert response["last_message_id"] > made["last_message_id"]
    ticket = api.record("ticket", made["id"]).ok()
    assert (ticket["status"], ticket["reopen_date"], ticket["num_messages"]) == ("open", 0, 2)
    assert ticket["latest_message_id"] == response["last_message_id"]


def test_the_same_mail_again_returns_the_same_ids(post: Post) -> None:
    raw = mail(Message_ID=f"<twice.{customer()}>")
    first = post.api.parse(raw).ok().json
    before = written(post.api)
    for _, send in WAYS:
        assert send(post.api, raw).ok().json == first
    assert written(post.api) == before


# -- many at once ------------------------------------------------------------------------------------------------------


def at_once(api: Api, mails: list[bytes]) -> list[Reply]:
    """Sends each mail from a separate client."""
    clients = [Api(api.url, api.token) for _ in mails]
    with ThreadPoolExecutor(len(mails)) as pool:
        return list(pool.map(lambda pair: pair[0].parse(pair[1]), zip(clients, mails, strict=True)))


def test_sixteen_simultaneous_copies_of_a_mail_create_one_ticket(post: Post) -> None:
    for size in (10, 40_000):  # handled on the writer, and on worker threads
        raw = mail(b"x" * size, Message_ID=f"<once.{customer()}>")
        before = written(post.api)
        answers = [each.ok().json for each in at_once(post.api, [raw] * AT_ONCE)]
        assert answers == [answers[0]] * AT_ONCE
        after = written(post.api)
        assert (after["ticket"], after["message"]) == (before["ticket"] + 1, before["message"] + 1)
        assert after["address"] == before["address"] + 1


def test_sixteen_simultaneous_replies_to_one_ticket_are_all_stored(post: Post) -> None:
    api, email = post.api, customer()
    made = api.parse(mail(From=email, Message_ID=f"<first.{email}>")).ok()
    mails = [
        mail(f"Answer {number}\n".encode() + b"x" * (30_000 * (number % 2)), From=email,
             In_Reply_To=f"<first.{email}>", Message_ID=f"<{number}.{email}>")
        for number in range(AT_ONCE)
    ]  # fmt: skip
    answers = [each.ok() for each in at_once(api, mails)]
    assert {each["id"] for each in answers} == {made["id"]}
    ids = {each["last_message_id"] for each in answers}
    assert len(ids) == AT_ONCE
    messages = api.found("message", f"ticket.id:{made['id']}")
    assert set(messages) == ids | {made["last_message_id"]}
    ticket = api.record("ticket", made["id"], expand="latest_message_").ok()
    assert (ticket["num_messages"], ticket["num_messages_in"]) == (AT_ONCE + 1, AT_ONCE + 1)
    assert ticket["latest_message_id"] == max(ids)
    for each, raw in zip(answers, mails, strict=True):
        assert stored(post, each["last_message_id"]) == raw


def test_simultaneous_mails_of_a_new_customer_create_one_address(post: Post) -> None:
    email = customer()
    mails = [mail(From=email, Message_ID=f"<n{number}.{email}>") for number in range(AT_ONCE)]
    answers = [each.ok() for each in at_once(post.api, mails)]
    assert len({each["id"] for each in answers}) == len({each["mask"] for each in answers}) == AT_ONCE
    assert len(post.api.found("address", f"email:{email}")) == 1


def test_mail_is_read_from_a_file_of_any_name(post: Post, tmp_path: Path) -> None:
    """The file name is the client's choice and has no meaning."""
    for name in ("../../etc/passwd", "mail", "größe.eml"):
        as_file(post.api, mail(), name).ok()


def test_a_message_in_the_query_is_accepted_and_the_body_takes_precedence(post: Post) -> None:
    raw = mail().decode()
    made = post.api.call("POST", PATH, params={"message": raw}).ok()
    assert stored(post, made["last_message_id"]) == raw.encode()
    names(post.api.call("POST", PATH, params={"message": raw}, data={"message": ""}), "message", "ERROR_PARAM_REQUIRED")


def test_remarks_about_a_mail_are_shown_and_searchable(post: Post) -> None:
    sender, limit = customer(), FILE_BYTES
    big = b"--b\r\nContent-Type: application/pdf; name=big.pdf\r\n\r\n" + b"x" * (limit + 1) + b"\r\n--b--\r\n"
    head = {"From": sender, "Date": "Fri, 31 Dec 2999 10:00:00 +0000", "Content_Type": "multipart/mixed; boundary=b"}
    ticket = post.api.parse(mail(big, **head)).ok()
    plain = post.api.parse(mail(From=sender)).ok()
    (row,) = post.api.search("message", f"ticket.id:{ticket['id']}").ok()["results"]
    date, file = row["notes"]
    assert "31 Dec 2999" in date and "is in the future" in date
    assert file == f"file big.pdf was not kept: it has {limit + 1} bytes; at most {limit} are kept of a file in a mail"
    (other,) = post.api.search("message", f"ticket.id:{plain['id']}").ok()["results"]
    assert (other["notes"], other["is_stranger"]) == ([], 0)
    for query, found in [
        ("mailNotes:any", [row]), ("mailNotes:none", [other]), ("mailNotes:null", [other]),
        ("mailNotes:!none", [row]),
        ('mailNotes:"*big.pdf was*"', [row]), ("mailNotes:future", [row]), ("mailNotes:banana", []),
    ]:  # fmt: skip
        rows = post.api.search("message", f"ticket.id:[{ticket['id']},{plain['id']}] {query}").ok()["results"]
        assert [each["id"] for each in rows] == [each["id"] for each in found], query


def test_a_file_that_was_not_stored_is_listed_with_its_size_and_the_reason(post: Post) -> None:
    limit = FILE_BYTES
    body = b"--b\r\nContent-Type: application/pdf; name=big.pdf\r\n\r\n" + b"x" * (limit + 1) + b"\r\n--b--\r\n"
    ticket = post.api.parse(mail(body, Content_Type="multipart/mixed; boundary=b")).ok()
    (message,) = post.api.search("message", f"ticket.id:{ticket['id']}", expand="attachments").ok()["results"]
    (file,) = post.api.search("attachment", f"on.message:(ticket.id:{ticket['id']})").ok()["results"]
    assert (file["name"], file["mime_type"], file["size"]) == ("big.pdf", "application/pdf", limit + 1)
    assert file["dropped"] == f"it has {limit + 1} bytes; at most {limit} are kept of a file in a mail"
    gone = post.api.get(f"/rest/attachments/{file['id']}/download.json")
    assert gone.status == 404 and file["dropped"] in gone["message"]
    again = post.api.compose(
        group_id=1, to=customer(), subject="x", content="y", dont_send=1, **{"file_id[]": file["id"]}
    )
    assert again.status == 422 and file["dropped"] in again["message"]
    assert [each["id"] for each in message["attachments"].values()] == [file["id"]]


def test_a_message_of_a_stranger_is_marked(post: Post) -> None:
    ticket = post.api.parse(mail(Message_Id="<known@kite.example>")).ok()
    response = post.api.parse(mail(From=customer(), In_Reply_To="<known@kite.example>")).ok()
    assert response["id"] == ticket["id"]
    rows = post.api.search("message", f"ticket.id:{ticket['id']} isStranger:yes").ok()["results"]
    assert [(row["id"], row["is_stranger"]) for row in rows] == [(response["last_message_id"], 1)]
    found = post.api.search("message", f"ticket.id:{ticket['id']}", subtotals="isStranger").ok()
    assert {each["label"]: each["hits"] for each in found["subtotals"]["isStranger"]} == {"Yes": 1, "No": 1}
