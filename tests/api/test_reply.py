"""Reply over HTTP: forms as scripts send them, on the writer and on worker threads, and the mail that arrives."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.post import SENDER, Form, Post, customer, names, requesters, text_of, upload, without_delivery, written
from tests.service import Api, Reply

ALL_BYTES = bytes(range(256)) * 200
# A reply that is only saved is handled on the writer, everything else on worker threads.
BOTH_WAYS = pytest.mark.parametrize("saved", [[("dont_send", "1")], []], ids=["writer", "thread"])


@dataclass
class Boat:
    """A ticket of one customer."""

    id: int
    message_id: int
    customer: str


@pytest.fixture
def boat(post: Post) -> Boat:
    """A ticket that arrived by mail."""
    email = customer()
    made = post.api.parse(f"From: {email}\nMessage-ID: <{email}>\nSubject: Boat\n\nIt leaks.\n").ok()
    return Boat(made["id"], made["last_message_id"], email)


@pytest.fixture(scope="module")
def tier(office: Post) -> int:
    """The id of a custom field of tickets."""
    made = office.api.create("custom_field", context="ticket", name="Level", type="S", uri="level_of_reply")
    return int(made.ok()["id"])


def reply(api: Api, boat: Boat, *more: tuple[str, Any], without: str = "", **values: Any) -> Reply:
    """Replies with the required fields; `more` are further pairs of the form, such as lists."""
    known = {"message_id": boat.message_id, "content": "On its way."} | values
    given = {name for name, _ in more} | {without}
    pairs = [(name, value) for name, value in known.items() if name not in given] + list(more)
    return api.call("POST", "/rest/tickets/reply.json", data=pairs)


def state(api: Api, boat: Boat) -> tuple[dict[str, int], dict[str, Any]]:
    """Returns the data that must not change when a reply is refused."""
    return written(api), api.record("ticket", boat.id, expand="requester_emails,custom_").ok().json


@BOTH_WAYS
def test_every_parameter_at_once(saved: Form, post: Post, boat: Boat, tier: int) -> None:
    api, to, cc, bcc = post.api, customer(), customer(), customer()
    bucket = api.create("bucket", name="Refunds", group_id=api.ids["support"]).ok()["id"]
    files = [upload(api, "a.bin", ALL_BYTES), upload(api, "b.txt", b"b", "text/plain")]
    response = reply(
        api, boat, ("file_id[]", files[0]), ("file_id[]", files[1]), (f"custom_{tier}", "Gold"), *saved,
        to=f"Bo <{to}>", cc=cc, bcc=bcc, bucket_id=bucket, group_id=api.ids["private"], subject="Pump", status=2,
        owner_id=api.ids["milo"], reopen_at="+2 days", worker_id=api.ids["milo"], is_autoreply=1, is_broadcast=1,
        expand="bucket_,custom_,requester_emails,latest_message_", content_format="" if saved else "markdown",
    ).ok()  # fmt: skip
    assert (response["_context"], response["id"], response["subject"]) == ("svc.contexts.ticket", boat.id, "Pump")
    assert (response["bucket_name"], response["group_id"]) == (
        "Refunds",
        api.ids["support"],
    )  # the bucket decides the group
    assert (response["status"], response["owner_id"]) == ("closed", api.ids["milo"]) and response["reopen_date"] > 0
    assert response[f"custom_{tier}"] == "Gold"
    assert sorted(response["requester_emails"].split(", ")) == sorted([boat.customer, to])
    assert (response["num_messages"], response["num_messages_out"]) == (2, 1)
    message = {name: response[f"latest_message_{name}"] for name in ("is_broadcast", "is_not_sent", "worker_id")}
    assert message == {"is_broadcast": 1, "is_not_sent": len(saved), "worker_id": api.ids["milo"]}
    assert set(files) <= set(api.found("attachment", f"on.message:(id:{response['latest_message_id']})"))
    if saved:
        return
    sender, recipients, mail = post.take()
    assert (sender, set(recipients)) == ("", {to, cc, bcc})  # an automatic reply must not bounce into another
    from_name = f"Support <{SENDER}>"
    assert (mail["From"], mail["Subject"], mail["Auto-Submitted"]) == (from_name, "Re: Pump", "auto-replied")
    assert mail["In-Reply-To"] == f"<{boat.customer}>" and "bcc" not in {name.lower() for name in mail}
    assert [each.get_payload(decode=True) for each in mail.iter_attachments()] == [ALL_BYTES, b"b"]


@BOTH_WAYS
@pytest.mark.parametrize("blank", [None, "", "  "], ids=["absent", "blank", "spaces"])
@pytest.mark.parametrize("name", ["message_id", "content"])
def test_a_missing_field_is_named_and_nothing_is_written(
    name: str, blank: str | None, saved: Form, post: Post, boat: Boat
) -> None:
    before = state(post.api, boat)
    more = [] if blank is None else [(name, blank)]
    response = reply(post.api, boat, *more, *saved, without=name, status=2)
    names(response, name, "ERROR_PARAM_REQUIRED")
    assert state(post.api, boat) == before


WRONG: list[tuple[str, str, str]] = [
    # sent as, value, field named in the error
    ("message_id", "999999", "message_id"),
    ("message_id", "<a@kite.example>", "message_id"),
    ("message_id[]", "1", "message_id"),
    ("group_id", "999999", "group_id"),
    ("bucket_id", "999999", "bucket_id"),
    ("owner_id", "999999", "owner_id"),
    ("owner_id", "milo", "owner_id"),
    ("worker_id", "999999", "worker_id"),
    ("html_template_id", "999999", "html_template_id"),
    ("file_id[]", "999999", "file_id"),
    ("custom_999999", "x", "custom_999999"),
    ("custom_x", "x", "custom_x"),
    ("status", "4", "status"),
    ("status", "waiting", "status"),
    ("reopen_at", "the day after never", "reopen_at"),
    ("send_at", "the day after never", "send_at"),
    ("content_format", "rtf", "content_format"),
    ("subject", "Boat\r\nBcc: zoe@kite.example", "subject"),
    ("to", "a@kite.example\nBcc: zoe@kite.example", "to"),
    ("bcc", ", ".join(f"p{number}@kite.example" for number in range(101)), "bcc"),
    ("is_forward[]", "1", "is_forward"),
]


@BOTH_WAYS
@pytest.mark.parametrize(("name", "value", "field"), WRONG, ids=[f"{name}={value[:12]!r}" for name, value, _ in WRONG])
def test_wrong_values_are_named_and_nothing_is_written(
    name: str, value: str, field: str, saved: Form, post: Post, boat: Boat
) -> None:
    before = state(post.api, boat)
    names(reply(post.api, boat, (name, value), *saved, without=name.partition("[")[0]), field)
    assert state(post.api, boat) == before


@BOTH_WAYS
@pytest.mark.parametrize("name", ["content", "subject", "to"])
def test_invalid_utf_8_is_refused_and_nothing_is_written(name: str, saved: Form, post: Post, boat: Boat) -> None:
    before = state(post.api, boat)
    response = reply(post.api, boat, (name, b"caf\xe9"), *saved, without=name)
    assert (response.status, response["__error"]) == (400, "ERROR_PARAM_INVALID") and name in response["message"]
    assert state(post.api, boat) == before


@pytest.mark.parametrize(("values", "field", "code"), [
    ({"dont_send": 1, "dont_keep_copy": 1}, "dont_keep_copy", "ERROR_PARAM_INVALID"),
    ({"is_forward": 1}, "to", "ERROR_PARAM_REQUIRED"),
    ({"to": "Bo at Kite"}, "to", "ERROR_PARAM_INVALID"),
])  # fmt: skip
def test_contradictory_values_are_refused(
    values: dict[str, Any], field: str, code: str, post: Post, boat: Boat
) -> None:
    before = state(post.api, boat)
    names(reply(post.api, boat, **values), field, code)
    assert state(post.api, boat) == before


@BOTH_WAYS
@pytest.mark.parametrize(("values", "status", "reopens"), [
    ({}, "open", False),
    ({"reopen_at": "+1 day"}, "open", False),
    ({"status": 0, "reopen_at": "+1 day"}, "open", False),
    ({"status": 1}, "waiting", False),
    ({"status": 1, "reopen_at": "+1 day"}, "waiting", True),
    ({"status": "2", "reopen_at": "4102444800"}, "closed", True),
    ({"status": 3, "reopen_at": "+1 day"}, "deleted", False),
])  # fmt: skip
def test_status_and_reopening(
    values: dict[str, Any], status: str, reopens: bool, saved: Form, post: Post, boat: Boat
) -> None:
    post.api.update("ticket", boat.id, status="waiting", reopen_date="+3 days").ok()
    response = reply(post.api, boat, *saved, **values).ok()
    assert (response["status"], response["reopen_date"] > 0) == (status, reopens)


@BOTH_WAYS
def test_the_owner_stays_changes_or_is_removed(saved: Form, post: Post, boat: Boat) -> None:
    owners = [reply(post.api, boat, *saved, **values).ok()["owner_id"] for values in (
        {"owner_id": post.api.ids["milo"]}, {}, {"owner_id": ""}, {"owner_id": 0},
    )]  # fmt: skip
    assert owners == [post.api.ids["milo"]] * 3 + [0]


@BOTH_WAYS
def test_a_group_alone_moves_to_its_inbox(saved: Form, post: Post, boat: Boat) -> None:
    response = reply(post.api, boat, *saved, group_id=post.api.ids["private"], expand="bucket_,group_").ok()
    assert (response["group_name"], response["bucket_name"]) == ("Management", "Inbox")
    back = reply(post.api, boat, *saved).ok()
    assert back["group_id"] == post.api.ids["private"]  # it stays in its group


@BOTH_WAYS
def test_the_response_is_the_ticket_of_the_records_api(saved: Form, post: Post, boat: Boat, tier: int) -> None:
    api = post.api
    plain = reply(api, boat, *saved).ok()
    told = plain["delivery"]["state"]
    assert without_delivery(plain) == api.record("ticket", boat.id).ok().json and told in ("kept", "sent")
    expand = "bucket_,group_,custom_"
    expanded = reply(api, boat, (f"custom_{tier}", "Iron"), *saved, expand=expand).ok()
    assert without_delivery(expanded) == api.record("ticket", boat.id, expand=expand).ok().json
    assert expanded[f"custom_{tier}"] == "Iron" and "group_name" in expanded.json and "group_name" not in plain.json


@BOTH_WAYS
@pytest.mark.parametrize(("name", "status"), [("milo", 200), ("olga", 403), ("dora", 401), ("nora", 200)])
def test_members_and_administrators_reply(name: str, status: int, saved: Form, post: Post, boat: Boat) -> None:
    before = state(post.api, boat)
    response = reply(post.api.as_(name), boat, *saved)
    assert response.status == status, response
    if status != 200:
        assert state(post.api, boat) == before


@BOTH_WAYS
@pytest.mark.parametrize("name", ["milo", "olga"])
def test_a_ticket_of_a_private_group_is_closed_to_others(name: str, saved: Form, post: Post, boat: Boat) -> None:
    post.api.update("ticket", boat.id, group_id=post.api.ids["private"]).ok()
    before = state(post.api, boat)
    response = reply(post.api.as_(name), boat, *saved)
    assert (response.status, response["__error"]) == (403, "ERROR_PERMISSIONS")
    assert boat.customer not in response.response.text
    assert state(post.api, boat) == before


@BOTH_WAYS
def test_a_ticket_cannot_be_moved_to_where_its_mover_cannot_read_it(saved: Form, post: Post, boat: Boat) -> None:
    api = post.api
    (bucket,) = api.found("bucket", f"group.id:{api.ids['private']}")
    before = state(api, boat)
    for name, id in (("group_id", api.ids["private"]), ("bucket_id", bucket)):
        response = reply(api.as_("milo"), boat, (name, id), *saved)
        assert (response.status, response["__error"]) == (403, "ERROR_PERMISSIONS")
    assert state(api, boat) == before


@BOTH_WAYS
def test_only_administrators_send_as_others(saved: Form, post: Post, boat: Boat) -> None:
    api = post.api
    before = state(api, boat)
    refused = reply(api.as_("milo"), boat, *saved, worker_id=api.ids["nora"])
    assert refused.status == 403 and "worker_id" in refused["message"]
    assert state(api, boat) == before
    own = reply(api.as_("milo"), boat, *saved, worker_id=api.ids["milo"], expand="latest_message_").ok()
    assert own["latest_message_worker_id"] == api.ids["milo"]
    other = reply(api, boat, *saved, worker_id=api.ids["milo"], expand="latest_message_").ok()
    assert other["latest_message_worker_id"] == api.ids["milo"]
    assert reply(api, boat, *saved, expand="latest_message_").ok()["latest_message_worker_id"] == api.ids["nora"]


def test_an_unreadable_file_cannot_be_attached(post: Post, boat: Boat) -> None:
    file = upload(post.api, "secret.txt", b"secret")
    before = state(post.api, boat)
    names(reply(post.api.as_("milo"), boat, ("file_id[]", file)), "file_id")
    assert state(post.api, boat) == before


def test_without_to_it_goes_to_the_customer(post: Post, boat: Boat) -> None:
    hidden = customer()
    reply(post.api, boat, bcc=hidden, content="On its way.\r\nNora").ok()
    _, recipients, raw = post.smtp.take()
    assert recipients == (boat.customer, hidden) and hidden.encode() not in raw


def test_markdown_arrives_as_text_and_html(post: Post, boat: Boat) -> None:
    response = reply(post.api, boat, content="It is **done**\n\n#original_message", content_format="markdown").ok()
    mail = post.mail()
    assert mail.get_content_type() == "multipart/alternative"
    assert "<strong>done</strong>" in text_of(mail, "html") and "It leaks." in text_of(mail, "html")
    assert "> It leaks." in text_of(mail)
    shown = post.api.record("message", response["latest_message_id"], expand="content_html").ok()
    assert "<strong>done</strong>" in shown["content_html"]


def test_a_reply_without_a_copy_is_mailed_and_not_stored(post: Post, boat: Boat) -> None:
    response = reply(post.api, boat, dont_keep_copy=1, status=2).ok()
    assert (response["num_messages"], response["latest_message_id"]) == (1, boat.message_id)
    assert response["status"] == "closed"
    assert text_of(post.mail()).strip() == "On its way."


def test_a_forward_does_not_change_subject_and_requesters(post: Post, boat: Boat) -> None:
    to = customer()
    response = reply(post.api, boat, is_forward=1, to=to, subject="FYI: Boat").ok()
    assert (response["subject"], requesters(post.api, boat.id)) == ("Boat", [boat.customer])
    _, recipients, mail = post.take()
    assert (recipients, mail["Subject"]) == ((to,), "FYI: Boat")
    assert "Forwarded message" in text_of(mail) and "It leaks." in text_of(mail)
    reply(post.api, boat, is_forward=1, to=to, content="This alone", with_original=0).ok()
    alone = post.mail()
    assert (alone["Subject"], text_of(alone).strip()) == ("Fwd: Boat", "This alone")


@pytest.mark.parametrize("send_at", ["+1 hour", "4102444800"])
def test_a_scheduled_reply_changes_the_ticket_now(send_at: str, post: Post, boat: Boat) -> None:
    response = reply(post.api, boat, send_at=send_at, status=1, owner_id=post.api.ids["milo"]).ok()
    assert (response["_context"], response["id"], response["status"]) == ("svc.contexts.ticket", boat.id, "waiting")
    assert (response["owner_id"], response["num_messages"]) == (post.api.ids["milo"], 1)
    (draft,) = post.api.search("draft", f"ticket.id:{boat.id}").ok()["results"]
    assert (draft["type"], draft["to"]) == ("ticket.reply", boat.customer)
    told = {name: draft["params"][name] for name in ("worker_id", "owner_id", "ticket_id", "status_id")}
    milo = post.api.ids["milo"]
    assert told == {"worker_id": post.api.ids["nora"], "owner_id": milo, "ticket_id": boat.id, "status_id": 1}
    post.api.remove("draft", draft["id"]).ok()


def test_sixteen_simultaneous_replies_are_all_stored(post: Post, boat: Boat) -> None:
    def send(number: int) -> Reply:
        return reply(Api(post.api.url, post.api.token), boat, content=f"Reply {number}", dont_send=number % 2)

    with ThreadPoolExecutor(16) as pool:
        answers = [each.ok() for each in pool.map(send, range(16))]
    assert {each["id"] for each in answers} == {boat.id}
    ticket = post.api.record("ticket", boat.id).ok()
    messages = post.api.found("message", f"ticket.id:{boat.id}")
    assert (ticket["num_messages"], ticket["num_messages_in"], ticket["num_messages_out"]) == (17, 1, 16)
    assert len(messages) == 17 and ticket["latest_message_id"] == max(messages)
    sent = {text_of(post.mail()).strip() for _ in range(8)}
    assert sent == {f"Reply {number}" for number in range(0, 16, 2)}
    assert len(post.api.found("message", f"ticket.id:{boat.id} isNotSent:yes")) == 8


def test_a_ticket_id_stands_for_its_newest_message(post: Post, boat: Boat) -> None:
    made = reply(post.api, boat, without="message_id", ticket_id=boat.id, content="By the ticket.").ok()
    assert made["id"] == boat.id
    newest = post.api.record("ticket", boat.id, "latest_message_content").ok()
    assert newest["latest_message_content"].startswith("By the ticket.")
    for ticket_id, api in ((999_999, post.api), (0, post.api), ("x", post.api)):
        refused = reply(api, boat, without="message_id", ticket_id=ticket_id)
        assert refused.status == 422, refused.response.text
    hidden = post.api.create("ticket", subject="Empty", group_id=post.api.ids["private"]).ok()["id"]
    for api in (post.api, post.api.as_("milo")):
        refused = reply(api, boat, without="message_id", ticket_id=hidden)
        assert (refused.status, refused["errors"][0]["field"]) == (422, "ticket_id")
