"""Compose over HTTP: forms as scripts send them, on the writer and on worker threads, and the mail that arrives."""

import json
import re
import socket
import threading
from typing import Any

import pytest

from tests.api.post import (
    SENDER,
    Form,
    Post,
    customer,
    names,
    requesters,
    text_of,
    transport,
    upload,
    without_delivery,
    written,
)
from tests.service import Api, Reply

ALL_BYTES = bytes(range(256)) * 200
# A message that is only saved is handled on the writer, everything else on worker threads.
BOTH_WAYS = pytest.mark.parametrize("saved", [[("dont_send", "1")], []], ids=["writer", "thread"])


def form(api: Api, *more: tuple[str, Any], without: str = "", **values: Any) -> Form:
    """Returns a compose form with the required fields, as pairs; later pairs override earlier ones."""
    known = {"group_id": api.ids["support"], "to": customer(), "subject": "Boat", "content": "Hello Ann"} | values
    given = {name for name, _ in more} | {without}
    return [(name, value) for name, value in known.items() if name not in given] + list(more)


def compose(api: Api, pairs: Form) -> Reply:
    return api.call("POST", "/rest/tickets/compose.json", data=pairs)


@pytest.fixture(scope="module")
def tier(office: Post) -> int:
    """The id of a custom field of tickets."""
    made = office.api.create("custom_field", context="ticket", name="Tier", type="S", uri="tier_of_compose")
    return int(made.ok()["id"])


@pytest.fixture(scope="module")
def template(office: Post) -> int:
    made = office.api.create(
        "html_template", name="Letter", owner__context="app", owner_id=0, content="<h1>Kite</h1>{{message_body}}"
    )
    return int(made.ok()["id"])


@BOTH_WAYS
def test_every_parameter_at_once(saved: Form, post: Post, tier: int, template: int) -> None:
    api, to, cc, bcc = post.api, customer(), customer(), customer()
    bucket = api.create("bucket", name="Refunds", group_id=api.ids["support"]).ok()["id"]
    org = api.create("org", name="Kite").ok()["id"]
    files = [upload(api, "a.bin", ALL_BYTES), upload(api, "b.txt", b"b", "text/plain")]
    response = compose(api, form(
        api, ("file_id[]", files[0]), ("file_id[]", files[1]), (f"custom_{tier}", "Gold"), *saved,
        to=f"Ann Kite <{to}>", cc=cc, bcc=bcc, bucket_id=bucket, content="Hello *Ann*",
        content_format="" if saved else "markdown",  # HTML is never rendered on the writer
        html_template_id=template, org_id=org, owner_id=api.ids["milo"], reopen_at="+2 days", status=1,
        expand="bucket_,custom_,requester_emails,latest_message_",
    )).ok()  # fmt: skip
    assert response["_context"] == "svc.contexts.ticket"
    assert (response["subject"], response["status"], response["org_id"]) == ("Boat", "waiting", org)
    assert (response["bucket_id"], response["bucket_name"], response["owner_id"]) == (
        bucket,
        "Refunds",
        api.ids["milo"],
    )
    assert response["custom"][str(tier)] == response[f"custom_{tier}"] == "Gold"
    assert response["reopen_date"] > response["created"] + 86400 and response["requester_emails"] == to
    assert response["latest_message_is_not_sent"] == len(saved)
    kept = api.found("attachment", f"on.message:(id:{response['latest_message_id']})")
    assert set(files) <= set(kept) and len(kept) == (2 if saved else 3)  # the HTML is stored as a file too
    if saved:
        return
    sender, recipients, mail = post.take()
    assert (sender, set(recipients)) == (SENDER, {to, cc, bcc})
    assert "<h1>Kite</h1>" in text_of(mail, "html") and "<em>Ann</em>" in text_of(mail, "html")
    assert [each.get_filename() for each in mail.iter_attachments()] == ["a.bin", "b.txt"]


@BOTH_WAYS
@pytest.mark.parametrize("blank", [None, "", "   "], ids=["absent", "blank", "spaces"])
@pytest.mark.parametrize("name", ["group_id", "to", "subject", "content"])
def test_a_missing_field_is_named_and_nothing_is_written(name: str, blank: str | None, saved: Form, post: Post) -> None:
    before = written(post.api)
    more = [] if blank is None else [(name, blank)]
    response = compose(post.api, form(post.api, *more, *saved, without=name))
    if name == "to" and saved:
        assert requesters(post.api, response.ok()["id"]) == []
        return
    names(response, name, "ERROR_PARAM_REQUIRED")
    assert written(post.api) == before


WRONG: list[tuple[str, str, str]] = [
    # sent as, value, field named in the error
    ("group_id", "999999", "group_id"),
    ("group_id", "Support", "group_id"),
    ("group_id", "-1", "group_id"),
    ("group_id", "9" * 30, "group_id"),
    ("bucket_id", "999999", "bucket_id"),
    ("bucket_id", "1.5", "bucket_id"),
    ("owner_id", "999999", "owner_id"),
    ("owner_id", "milo", "owner_id"),
    ("org_id", "999999", "org_id"),
    ("html_template_id", "999999", "html_template_id"),
    ("file_id[]", "999999", "file_id"),
    ("file_id[]", "a.txt", "file_id"),
    ("custom_999999", "x", "custom_999999"),
    ("custom_fields", "x", "custom_fields"),
    ("status", "4", "status"),
    ("status", "-1", "status"),
    ("status", "closed", "status"),
    ("reopen_at", "the day after never", "reopen_at"),
    ("send_at", "the day after never", "send_at"),
    ("content_format", "rtf", "content_format"),
    ("subject", "Boat\r\nBcc: zoe@kite.example", "subject"),
    ("subject", "x" * 256, "subject"),
    ("to", "ann@kite.example\nBcc: zoe@kite.example", "to"),
    ("cc", "a@kite.example\r\nX-Evil: 1", "cc"),
    ("to[]", "ann@kite.example\nBcc: zoe@kite.example", "to"),
    ("to[x]", "ann@kite.example", "to"),
    ("to", ", ".join(f"p{number}@kite.example" for number in range(101)), "to"),
    ("subject[]", "x", "subject"),
    ("content[a]", "x", "content"),
]


@BOTH_WAYS
@pytest.mark.parametrize(("name", "value", "field"), WRONG, ids=[f"{name}={value[:12]!r}" for name, value, _ in WRONG])
def test_wrong_values_are_named_and_nothing_is_written(
    name: str, value: str, field: str, saved: Form, post: Post
) -> None:
    before = written(post.api)
    plain = name.partition("[")[0]
    names(compose(post.api, form(post.api, (name, value), *saved, without=plain)), field)
    assert written(post.api) == before


def test_without_a_usable_recipient_nothing_is_mailed_or_written(post: Post) -> None:
    before = written(post.api)
    names(compose(post.api, form(post.api, to="Ann at Kite")), "to")
    assert written(post.api) == before


@pytest.mark.parametrize(
    ("value", "is_sent"),
    [("1", False), ("true", False), ("yes", False), ("on", False), ("0", True), ("", True), ("false", True)],
)
def test_flags_as_scripts_write_them(value: str, is_sent: bool, post: Post) -> None:
    response = compose(post.api, form(post.api, dont_send=value, expand="latest_message_")).ok()
    assert response["latest_message_is_not_sent"] == int(not is_sent)
    compose(post.api, form(post.api, subject="The next")).ok()
    assert post.mail()["Subject"] == ("Boat" if is_sent else "The next")


def test_form_multipart_and_json_have_the_same_result(post: Post) -> None:
    api = post.api
    file = upload(api, "a.txt", b"a", "text/plain")
    pairs = form(api, ("file_id[]", file), dont_send=1, status=2, to="ann@kite.example, bo@kite.example")
    values = {name.removesuffix("[]"): [value] if name.endswith("[]") else value for name, value in pairs}
    path = "/rest/tickets/compose.json"
    answers = [
        compose(api, pairs).ok(),
        api.call("POST", path, files=[(name, (None, str(value))) for name, value in pairs]).ok(),
        api.call("POST", path, json=values).ok(),
        api.call("POST", path, json=values | {"to": ["ann@kite.example", "Bo <bo@kite.example>", ""]}).ok(),
        compose(
            api,
            [*(each for each in pairs if each[0] != "to"), ("to[]", "ann@kite.example"), ("to[]", "bo@kite.example")],
        ).ok(),
        api.call("POST", path, json=values | {"dont_send": True, "content_format": "markdown"}).ok(),
    ]
    shown = [
        (each["status_id"], each["subject"], requesters(api, each["id"]), each["num_messages_out"]) for each in answers
    ]
    assert shown == [(2, "Boat", ["ann@kite.example", "bo@kite.example"], 1)] * 6
    for each in answers:
        assert file in api.found("attachment", f"on.message:(id:{each['latest_message_id']})")


@BOTH_WAYS
def test_keys_of_the_response_with_expand(saved: Form, post: Post, tier: int) -> None:
    plain = without_delivery(compose(post.api, form(post.api, *saved)).ok())
    shown = post.api.record("ticket", plain["id"]).ok().json
    assert plain == shown
    expanded = compose(post.api, form(post.api, (f"custom_{tier}", "Iron"), *saved, expand="bucket_,group_,custom_"))
    kept = post.api.record("ticket", expanded.ok()["id"], expand="bucket_,group_,custom_").ok()
    assert without_delivery(expanded) == kept.json
    assert (expanded["group_name"], expanded["bucket_name"]) == ("Support", "Inbox")
    assert "group_name" not in plain and "custom" not in plain


@BOTH_WAYS
@pytest.mark.parametrize(("number", "word"), [(0, "open"), (1, "waiting"), (2, "closed"), (3, "deleted")])
def test_every_status(number: int, word: str, saved: Form, post: Post) -> None:
    response = compose(post.api, form(post.api, *saved, status=number, reopen_at="2100-01-01")).ok()
    assert (response["status"], response["status_id"]) == (word, number)
    assert (response["reopen_date"] > 0) == (number in (1, 2))


@BOTH_WAYS
@pytest.mark.parametrize(("name", "group", "status"), [
    ("milo", "support", 200), ("olga", "support", 200), ("milo", "private", 403), ("nora", "private", 200),
    ("olga", "private", 403), ("dora", "support", 401),
])  # fmt: skip
def test_who_may_compose_where(name: str, group: str, status: int, saved: Form, post: Post) -> None:
    api = post.api
    before = written(api)
    response = compose(api.as_(name), form(api, *saved, group_id=api.ids[group]))
    assert response.status == status, response
    if status != 200:
        assert written(api) == before


@BOTH_WAYS
def test_a_bucket_of_a_private_group_grants_no_access(saved: Form, post: Post) -> None:
    api = post.api
    (bucket,) = api.found("bucket", f"group.id:{api.ids['private']}")
    before = written(api)
    response = compose(api.as_("milo"), form(api, *saved, bucket_id=bucket))
    assert (response.status, response["__error"]) == (403, "ERROR_PERMISSIONS")
    assert written(api) == before


def test_markdown_arrives_as_text_and_html(post: Post) -> None:
    compose(post.api, form(post.api, content="Hello **Ann**\r\n\r\n- one\r\n- two", content_format="markdown")).ok()
    mail = post.mail()
    assert mail.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    assert "Hello" in text_of(mail) and "<strong>Ann</strong>" in text_of(mail, "html")
    assert re.search(r"<li style=[^>]*>two</li>", text_of(mail, "html"))


def test_files_arrive_byte_for_byte(post: Post) -> None:
    api = post.api
    text = b"Zeile\r\nzwei\nDrei\r\n.\r\n\x00"
    sent = [
        ("all.bin", ALL_BYTES + b" sent"),  # known content keeps its first file name
        ("Größe – 見積.pdf", b"%PDF\r\n" + ALL_BYTES),
        ("dots.txt", text),
        ("none.txt", b""),
    ]
    files = [("file_id[]", upload(api, name, content)) for name, content in sent]
    compose(api, form(api, *files)).ok()
    mail = post.mail()
    found = [(part.get_filename(), part.get_payload(decode=True)) for part in mail.iter_attachments()]
    assert found == sent


def test_bcc_recipients_are_not_named_in_the_mail(post: Post) -> None:
    hidden = customer()
    response = compose(post.api, form(post.api, bcc=f"Zoe <{hidden}>", expand="latest_message_headers")).ok()
    _, recipients, raw = post.smtp.take()
    assert hidden in recipients and hidden.encode() not in raw and b"\nbcc:" not in raw.lower()
    message = post.api.record("message", response["latest_message_id"], expand="headers").ok()
    assert hidden in message["headers"]["bcc"]


@pytest.mark.parametrize("send_at", ["+1 hour", "2100-01-01 08:00", "4102444800"])
def test_scheduled_mail_returns_its_draft(send_at: str, post: Post) -> None:
    api = post.api
    before = written(api)
    response = compose(api, form(api, send_at=send_at, status=2)).ok()
    assert (response["_context"], response["type"]) == ("svc.contexts.mail.draft", "mail.compose")
    assert response["params"]["send_at"] > response["updated"] and response["ticket_id"] == 0
    told = {name: response["params"][name] for name in ("worker_id", "owner_id", "ticket_id", "status_id")}
    assert told == {"worker_id": api.ids["nora"], "owner_id": 0, "ticket_id": 0, "status_id": 2}
    assert written(api) == before | {"draft": before["draft"] + 1}
    api.remove("draft", response["id"]).ok()


def test_saved_mail_has_no_delivery_to_wait_for(post: Post) -> None:
    response = compose(post.api, form(post.api, send_at="+1 hour", dont_send=1)).ok()
    assert response["_context"] == "svc.contexts.ticket" and response["num_messages"] == 1


@pytest.mark.parametrize("send", [
    lambda api, pairs: compose(api, pairs),
    lambda api, pairs: api.call("POST", "/rest/tickets/compose.json", json=dict(pairs)),
    lambda api, pairs: api.call("POST", f"/rest/tickets/compose.json?{'&'.join(f'{n}={v}' for n, v in pairs)}"),
], ids=["form", "json", "query"])  # fmt: skip
def test_others_can_write_while_a_mail_server_is_slow(send: Any, post: Post) -> None:
    """Mail never leaves on the writer: the server here accepts the connection and stays silent."""
    api = post.api
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(20)
        transport(api, silent.getsockname()[1])
        answers: list[Reply] = []
        waiting = threading.Thread(target=lambda: answers.append(send(api, form(api, dont_send="0"))))
        waiting.start()
        connection, _ = silent.accept()
        try:
            other = Api(api.url, api.token)
            other.create("task", title="Meanwhile").ok()
            other.compose(**dict(form(api, dont_send=1))).ok()
            other.compose(**dict(form(api, dont_send=1, content_format="markdown"))).ok()
            assert answers == []
        finally:
            connection.close()
            waiting.join()
            transport(api, post.smtp.port)
    (ticket,) = answers
    assert ticket.ok()["_type"] == "ticket"
    assert ticket["delivery"]["state"] in ("sending", "held")  # until the service stops waiting for the outcome
    api.remove("draft", ticket["delivery"]["draft_id"])  # 404 if it was sent by the working transport


@pytest.mark.parametrize("flag", ["[1]", '{"a": 1}', '"\\ud83d"'])
def test_an_invalid_flag_is_refused(flag: str, post: Post) -> None:
    body = json.dumps(dict(form(post.api)))[:-1] + f', "dont_send": {flag}}}'
    before = written(post.api)
    headers = {"Content-Type": "application/json"}
    response = post.api.call("POST", "/rest/tickets/compose.json", data=body, headers=headers)
    assert response.status in (400, 422) and response["__error"] == "ERROR_PARAM_INVALID"
    assert written(post.api) == before
