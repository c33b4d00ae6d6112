"""Tickets that programs create on behalf of an outsider, such as the sender of a contact form."""

import threading
import uuid
from typing import Any

import pytest

from tests.api.minimal import made
from tests.service import Api, Reply

FORM = {"from": "ann@form.example", "subject": "Pump", "content": "It leaks."}


def create(api: Api, **more: Any) -> Reply:
    return api.post("/rest/tickets/create.json", **(FORM | {name.rstrip("_"): value for name, value in more.items()}))


def message(api: Api, ticket: Reply) -> dict[str, Any]:
    return api.record("message", ticket["latest_message_id"], "headers,content,sender_,attachments").ok().json


def test_a_ticket_looks_as_if_its_sender_had_written(api: Api) -> None:
    file = api.call(
        "POST", "/rest/attachments/upload.json", data={"file_name": "pump.txt", "content": "drip drip"}
    ).ok()["id"]
    made = create(api, from_="Ann Form <ann@form.example>", **{"file_id[]": file}).ok()
    assert made["is_new_ticket"] and made["subject"] == "Pump" and made["status"] == "open"
    shown = message(api, made)
    assert shown["content"].strip() == "It leaks." and shown["sender_email"] == "ann@form.example"
    assert not shown["is_outgoing"] and shown["from_name"] == "Ann Form"
    [attached] = api.found("attachment", f"on.message:(id:{shown['id']})")
    assert api.record("attachment", attached).ok()["name"] == "pump.txt"


def test_the_given_name_is_used(api: Api) -> None:
    assert message(api, create(api, name="Ann Öberg", from_="X <ann.o@form.example>").ok())["from_name"] == "Ann Öberg"


@pytest.mark.parametrize(
    ("format", "content", "text", "html"),
    [
        ("markdown", "It **leaks**.", "It **leaks**.", "<strong>leaks</strong>"),
        ("html", "<p>It <b>leaks</b><script>alert(1)</script></p>", "It leaks", "<b>leaks</b>"),
    ],
)
def test_the_text_may_be_formatted(api: Api, format: str, content: str, text: str, html: str) -> None:
    shown = message(api, create(api, content=content, content_format=format).ok())
    assert text in shown["content"] and "alert" not in shown["content"]
    [file] = api.found("attachment", f"on.message:(id:{shown['id']})")
    body = api.call("GET", f"/rest/attachments/{file}/download.json").content.decode()
    assert html in body and "<script" not in body


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("from", "", "from is required"),
        ("from", "ann", "from: 'ann'"),
        ("from", "ann@form.example, bea@form.example", "not one email address"),
        ("from", "ann@form.example\nBcc: all@form.example", "must be one line"),
        ("from", "ann@form.example\r\n\r\nHello", "must be one line"),
        ("name", "Ann\r\nBcc: all@form.example", "must be one line"),
        ("name", "x" * 256, "at most 255"),
        ("subject", "", "subject is required"),
        ("subject", "Pump\nBcc: all@form.example", "must be one line"),
        ("content", "", "content is required"),
        ("content_format", "bbcode", "is not a known format"),
        ("external_id", "x" * 256, "at most 255"),
        ("group_id", "999999", "there is no group"),
        ("bucket_id", "999999", "there is no bucket"),
        ("file_id[]", "999999", "there is no attachment"),
        ("custom_999999", "1", "is not a custom field of ticket"),
    ],
)
def test_an_invalid_form_creates_nothing(api: Api, field: str, value: str, told: str) -> None:
    subject = f"Wrong {uuid.uuid4()}"
    refused = api.post("/rest/tickets/create.json", **(FORM | {"subject": subject} | {field: value}))
    assert refused.status == 422 and told in refused["message"], refused.json
    assert not api.found("ticket", f'subject:"{subject}"')


@pytest.mark.parametrize(
    ("path", "fields"), [("create", ["from", "subject", "content"]), ("compose", ["subject", "content", "group_id"])]
)
def test_all_missing_fields_are_named_at_once(api: Api, path: str, fields: list[str]) -> None:
    refused = api.post(f"/rest/tickets/{path}.json")
    assert refused.status == 422 and [each["field"] for each in refused["errors"]] == fields


def test_the_text_adds_no_header_and_joins_no_ticket(api: Api) -> None:
    first = create(api).ok()
    content = "Bcc: all@form.example\nIn-Reply-To: <x@y>\n\nHello\n--boundary\n"
    second = create(api, subject=f"Re: [#{first['mask']}] Pump", content=content).ok()
    assert second["id"] != first["id"] and second["is_new_ticket"]
    shown = message(api, second)
    assert "Bcc" not in shown["headers"] and "In-Reply-To" not in shown["headers"]
    assert shown["content"].split() == content.split()


ENCODED = "=?utf-8?q?Pump=0D=0ABcc:_all=40form.example=0D=0AIn-Reply-To:_=3Cx=40y=3E?="


@pytest.mark.parametrize("name", ["subject", "name", "content", "from"])
def test_encoded_words_are_stored_literally(api: Api, name: str) -> None:
    """Mail libraries decode such words, including line breaks in them, which would add headers."""
    value = f'"{ENCODED}" <ann@form.example>' if name == "from" else ENCODED
    made = create(api, **{name if name != "from" else "from_": value}).ok()
    shown = message(api, made)
    headers = {each.lower() for each in shown["headers"]}
    assert not headers & {"bcc", "in-reply-to", "cc"}, shown["headers"]
    told = {"subject": made["subject"], "content": shown["content"].strip()}.get(name, shown["from_name"])
    assert "\n" not in told and (name == "from" or "=?utf-8?q?Pump" in told)


@pytest.mark.parametrize("char", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\x00", "\x7f"])
def test_no_character_ends_a_header(api: Api, char: str) -> None:
    for name in ("subject", "name"):
        reply = create(api, **{name: f"Pump{char}Bcc: all@form.example"})
        if reply.status == 200:
            shown = message(api, reply)
            assert "bcc" not in {each.lower() for each in shown["headers"]}, shown["headers"]


def test_custom_values_and_a_group_are_set_on_the_ticket(api: Api) -> None:
    field = made(api, "custom_field", context="ticket", type="S")
    group = made(api, "group", name=f"Forms {uuid.uuid4().hex[:8]}")
    ticket = create(api, group_id=group, **{f"custom_{field}": "A-17"}).ok()
    shown = api.record("ticket", ticket["id"], "custom_").ok()
    assert shown["group_id"] == group and shown[f"custom_{field}"] == "A-17"
    subject = f"Wrong {uuid.uuid4()}"
    number = made(api, "custom_field", context="ticket", type="N")
    assert create(api, subject=subject, **{f"custom_{number}": "many"}).status == 422
    assert not api.found("ticket", f'subject:"{subject}"')
    for each in (field, number):  # other tests expect tickets without custom fields
        api.remove("custom_field", each).ok()


def test_the_same_external_id_finds_the_existing_ticket(api: Api) -> None:
    id = str(uuid.uuid4())
    first = create(api, external_id=id).ok()
    again = create(api, external_id=id, content="Something else", from_="bea@form.example").ok()
    assert again["id"] == first["id"] and not again["is_new_ticket"] and again["num_messages"] == 1
    target = create(api).ok()["id"]
    kept = api.post("/rest/tickets/merge.json", **{"ticket_ids[]": [first["id"], target]}).ok()["id"]
    assert create(api, external_id=id).ok()["id"] == kept


def test_twelve_simultaneous_requests_create_one_ticket(api: Api) -> None:
    id, made = str(uuid.uuid4()), []
    threads = [threading.Thread(target=lambda: made.append(create(api, external_id=id))) for _ in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(made) == 12 and len({each.ok()["id"] for each in made}) == 1


def test_callers_who_may_not_read_a_ticket_learn_nothing_about_it(api: Api) -> None:
    group = made(api, "group", name=f"Private {uuid.uuid4().hex[:8]}", is_private=1)
    id = str(uuid.uuid4())
    ticket = create(api, external_id=id, group_id=group).ok()
    olga = api.as_("olga")
    assert create(olga, group_id=group).status == 403
    again = create(olga, external_id=id).ok()
    assert ticket["mask"] not in str(again.json) and "id" not in again.json and again["notes"]
