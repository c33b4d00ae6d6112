"""Messages of webhooks to chat programs, as a receiver gets them: events, hostile texts, addresses and responses."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server.contexts import TICKET
from server.errors import Invalid
from server.outbound.allowlist import allowed
from server.outbound.urls import parsed
from server.outgoing import chat_events, chat_notice, chat_programs, chat_text, deliveries, retry_schedule
from server.outgoing import courier as couriers
from server.outgoing.chat_notice import ChatNotice
from server.outgoing.chat_programs import PROGRAMS
from server.outgoing.chat_text import BREAK
from server.records.writing import RecordWriter
from tests.outbound.peer import Answer, Asked, Peer, answer
from tests.outgoing.courier_rounds import Post
from tests.records.desk import NOW

TOKEN = "abcdefghijklmnopqrstuvwxyz"
PATHS = {
    "slack": "/services/T1/B1/abc",
    "teams": "/workflows/abc/triggers/manual/paths/invoke?api-version=1&sig=xyz",
    "discord": f"/api/webhooks/123456789012345678/{TOKEN}",
    "mattermost": f"/hooks/{TOKEN}",
    "rocketchat": f"/hooks/{TOKEN}/{TOKEN}",
    "matrix": "/_matrix/client/v3/rooms/!abc:kite.example/send/m.room.message",
    "ntfy": "/topic_of_kite",
}
BEARER = "Authorization: Bearer tk_1"
EVERY_EVENT = ", ".join(chat_events.EVENTS)
HOSTILE = "@channel <!channel> <@U1> *b* _i_ `c` [x](https://evil.example) <b>www.evil.example</b> | # \u202e:tada: ~x~"


class Responses(dict[str, Answer]):
    """Responses by path; the path of a room stands for all of its transactions."""

    def get(self, path: str, default: Any = None) -> Any:
        return super().get(PATHS["matrix"] if path.startswith(f"{PATHS['matrix']}/") else path, default)


class ChatPost(Post):
    """A desk with people, and webhooks to chat programs at the receiver."""

    def __init__(self, folder: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, peer, monkeypatch)
        peer.answers = Responses()
        self.people = self.desk.people()
        self.address = int(self.desk.create("address", email="ann@kite.example")["id"])

    def chat(self, program: str, events: str = EVERY_EVENT, **fields: Any) -> int:
        path = PATHS[program]
        if PROGRAMS[program].token:
            fields = {"headers": BEARER} | fields
        self.peer.answers |= {"/": answer(), path.partition("?")[0]: answer()}
        made = self.desk.create(
            "outgoing_webhook", name=program, program=program, url=self.peer.url(path), events=events, **fields
        )
        self.courier._is_known = False
        self.run_rounds(1)
        return int(made["id"])

    def answer_with(self, program: str, response: Answer) -> None:
        path = PATHS[program].partition("?")[0]
        self.peer.answers["/" if program == "ntfy" else path] = response

    def ticket(self, subject: str = "Pump leaks", name: str = "Ann Lee", text: str = "It drips.", **fields: Any) -> int:
        """A ticket with its first message, as email brings it."""
        values = {"subject": subject, "group_id": self.people["support"]} | fields
        id = int(self.desk.create("ticket", **values)["id"])
        first = self.message(id, name, text)
        self.set_stored("ticket", id, initial_message_id=first)
        return id

    def message(self, ticket_id: int, name: str = "Ann Lee", text: str = "And now?", **fields: Any) -> int:
        values = {"ticket_id": ticket_id, "sender_id": self.address, "from_name": name, "content": text}
        return self.desk.own("message", **values, created=self.now, **fields)

    def set_stored(self, uri: str, id: int, **values: Any) -> None:
        self.desk.store.write(lambda tx: RecordWriter(self.desk.context(), tx).set(uri, id, values))

    def log(self, point: str, ticket_id: int, **variables: str) -> None:
        """Writes an entry of the activity log on a ticket."""
        self.desk.store.write(
            lambda tx: RecordWriter(self.desk.context(), tx).log(point, TICKET, ticket_id, {"target": "x", **variables})
        )


@pytest.fixture
def chats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatPost]:
    with Peer() as peer:
        opened = ChatPost(tmp_path, peer, monkeypatch)
        yield opened
        opened.desk.close()


def content(asked: Asked) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(asked.body)
    return value


def headlines(asked: list[Asked]) -> list[str]:
    """The first words of messages to ntfy."""
    return [content(each)["title"] for each in asked]


def test_each_program_gets_a_message_of_its_form(chats: ChatPost) -> None:
    for program in PROGRAMS:
        chats.chat(program, "ticket.created", has_text=1)
    id = chats.ticket()
    ticket = chats.desk.record("ticket", id)
    title, link = f"{ticket['mask']} Pump leaks", ticket["record_url"]
    by_target = {each.target.rpartition("/helpdesk-")[0] or each.target: each for each in chats.run_rounds(3)}
    sent = {program: by_target["/" if program == "ntfy" else path] for program, path in PATHS.items()}
    slack = content(sent["slack"])
    section, quotation = slack["blocks"][0]["elements"]
    assert slack["text"] == f"New ticket from Ann Lee: {title}" and not slack["unfurl_links"]
    assert {"type": "link", "url": link, "text": title} in section["elements"]
    assert quotation["elements"] == [{"type": "text", "text": "It drips."}]
    [card] = content(sent["teams"])["attachments"]
    texts = [run["text"] for block in card["content"]["body"] for run in block["inlines"]]
    assert card["content"]["version"] == "1.4" and card["content"]["actions"][0]["url"] == link
    assert texts == ["New ticket from Ann Lee", title, "Group: Support", "It drips."]
    discord = content(sent["discord"])
    assert discord["allowed_mentions"] == {"parse": []} and discord["content"] == "**New ticket from Ann Lee**"
    assert discord["embeds"][0]["url"] == link and discord["embeds"][0]["description"].endswith("\n> It drips\\.")
    assert f"]({link})" in content(sent["mattermost"])["text"]
    [attachment] = content(sent["rocketchat"])["attachments"]
    assert (attachment["title"], attachment["title_link"]) == (title, link)
    matrix = content(sent["matrix"])
    assert sent["matrix"].method == "PUT" and sent["matrix"].header("authorization") == "Bearer tk_1"
    assert matrix["m.mentions"] == {} and f'<a href="{link}">{title}</a>' in matrix["formatted_body"]
    published = content(sent["ntfy"])
    assert published["topic"] == "topic_of_kite" and published["click"] == link and title in published["message"]
    assert all(each.header("webhook-signature") is None for each in sent.values())


def test_the_events_in_words(chats: ChatPost) -> None:
    chats.chat("ntfy")
    milo = chats.people["milo"]
    id = chats.ticket()
    chats.message(id)
    chats.message(id, is_outgoing=1, worker_id=milo)
    chats.desk.update("ticket", id, owner_id=milo, by=chats.people["nora"])
    chats.desk.update("ticket", id, status="closed", by=milo)
    sent = headlines(chats.run_rounds(12))
    assert sorted(sent) == sorted(["New ticket from Ann Lee", "Ann Lee wrote", "Assigned to Milo", "Closed by Milo"])
    assert "Assigned to: Milo" in content(chats.peer.asked[-1])["message"]


def test_service_targets(chats: ChatPost) -> None:
    chats.chat("ntfy", "ticket.due, ticket.late")
    id = chats.ticket()
    chats.log("ticket.target.due", id, goal="first response", minutes="20")
    chats.log("ticket.target.missed", id, goal="first response")
    due, late = chats.run_rounds(6)
    assert headlines([due, late]) == ["Due in 20 minutes: first response", "Overdue: first response"]
    assert content(late)["priority"] == 4 and "priority" not in content(due)


def test_bad_ratings(chats: ChatPost) -> None:
    chats.chat("ntfy", "ticket.rated_bad", has_text=1)
    for score, comment in (("good", "Thank you"), ("bad", "Too slow")):
        id = chats.ticket()
        chats.desk.own("rating", ticket_id=id, score=score, comment=comment, asked_at=NOW, rated_at=NOW)
        chats.log("ticket.rated", id)
    [sent] = chats.run_rounds(6)
    assert headlines([sent])[0].endswith(" was not satisfied") and "Too slow" in content(sent)["message"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"query": "subject:Pump"}, ["Pump"]),
        ({"query": "group.id:999999"}, []),
        ({"events": "ticket.assigned"}, []),
        ({"is_disabled": 1}, []),
    ],
)
def test_a_webhook_gets_what_it_chose(chats: ChatPost, fields: dict[str, Any], expected: list[str]) -> None:
    chats.chat("ntfy", **{"events": "ticket.created"} | fields)
    chats.ticket("Pump")
    chats.ticket("Hose")
    messages = [content(each)["message"] for each in chats.run_rounds(8)]
    assert len(messages) == len(expected) and all(word in text for word, text in zip(expected, messages, strict=True))


def test_assignments_to_one_worker(chats: ChatPost) -> None:
    chats.chat("ntfy", "ticket.assigned", assignee_id=chats.people["olga"])
    for owner in ("milo", "olga"):
        chats.desk.update("ticket", chats.ticket(), owner_id=chats.people[owner])
    assert headlines(chats.run_rounds(6)) == ["Assigned to Olga"]


def test_spam_notices_deleted_and_imported_tickets_are_left_out(chats: ChatPost) -> None:
    chats.chat("ntfy")
    chats.ticket("Spam", spam_training="S")
    id = chats.ticket("Old", name="Old")
    chats.set_stored("message", chats.desk.row("ticket", id)["initial_message_id"], created=NOW - 90_000)
    chats.message(chats.ticket("Deleted", status="deleted"))
    chats.message(chats.ticket("Kept"), is_notice=1)
    assert headlines(chats.run_rounds(16)) == ["New ticket from Ann Lee"]


def test_notes_and_words_of_customers_stay_here(chats: ChatPost) -> None:
    for program in PROGRAMS:
        chats.chat(program)
    id = chats.ticket(text="My card is 4111")
    chats.message(id, text="My pin is 4711")
    chats.desk.create("comment", target__context="ticket", target_id=id, comment="A note")
    sent = chats.run_rounds(16)
    assert len(sent) == 2 * len(PROGRAMS)
    assert not any(word in each.body for each in sent for word in (b"4111", b"4711", b"note"))


def test_nobody_writes_under_the_name_of_a_worker(chats: ChatPost) -> None:
    chats.chat("ntfy", "ticket.created")
    chats.desk.update("address", chats.address, worker_id=chats.people["milo"])
    chats.ticket(name="Milo")
    chats.ticket(name="")
    assert headlines(chats.run_rounds(8)) == [chat_text.inert("New ticket from ann@kite.example")] * 2


def test_the_language_of_the_webhook(chats: ChatPost) -> None:
    chats.chat("ntfy", "ticket.created", language="de")
    chats.ticket()
    assert "Gruppe: Support" in content(chats.run_rounds(4)[0])["message"]


def visible(text: str) -> str:
    return text.replace(BREAK, "")


@pytest.mark.parametrize("program", PROGRAMS)
def test_hostile_texts_stay_text(chats: ChatPost, program: str) -> None:
    chats.chat(program, "ticket.created", has_text=1)
    chats.ticket(HOSTILE, f"{HOSTILE}\r\nBcc: x", HOSTILE)
    sent = chats.run_rounds(3)[0].body.decode()
    value = json.loads(sent)
    assert "\u202e" not in sent and "\\u202e" not in sent
    if program == "slack":
        assert "<" not in value["text"]
        kinds = {part["type"] for each in value["blocks"][0]["elements"] for part in each["elements"]}
        assert kinds == {"text", "link"}
        urls = [part["url"] for each in value["blocks"][0]["elements"] for part in each["elements"] if "url" in part]
        assert urls == [chats.desk.record("ticket", 1)["record_url"]]
        return
    if program == "teams":
        body = value["attachments"][0]["content"]["body"]
        assert {each["type"] for each in body} == {"RichTextBlock"}
        assert {run["type"] for each in body for run in each["inlines"]} == {"TextRun"}
        return
    texts = {
        "discord": lambda: [value["content"], value["embeds"][0]["title"], value["embeds"][0]["description"]],
        "mattermost": lambda: [value["text"].replace("(https://desk.example", "(")],
        "rocketchat": lambda: [value["text"], value["attachments"][0]["title"], value["attachments"][0]["text"]],
        "matrix": lambda: [
            value["body"].replace(" https://desk", ""),
            value["formatted_body"].replace('"https://', ""),
        ],
        "ntfy": lambda: [value["title"], value["message"]],
    }[program]()
    for text in texts:
        assert "://" not in text and "@channel" not in text and "evil.example" not in text and ":tada:" not in text
    if program == "matrix":
        assert "<b>" not in value["formatted_body"] and "&lt;b&gt;" in value["formatted_body"]
    if program in ("discord", "mattermost"):
        assert "\\*b\\*" in texts[-1] and "\\[x\\]\\(" in texts[-1] and "\\`c\\`" in texts[-1]
    if program == "rocketchat":
        assert "\\*b\\*" in texts[-1] and "(x)(" in texts[-1] and "<" not in texts[-1]
    if program == "ntfy":
        assert "*b*" in visible(texts[-1])


LIMITS: dict[str, Callable[[dict[str, Any]], list[tuple[int, int]]]] = {
    "slack": lambda value: [(len(value["text"]), 4000), (len(json.dumps(value["blocks"])), 12_000)],
    "teams": lambda value: [(len(json.dumps(value).encode()), 28_000)],
    "discord": lambda value: [
        (len(value["content"]), 2000),
        (len(value["embeds"][0]["title"]), 256),
        (len(value["embeds"][0]["description"]), 4096),
        (sum(len(str(each)) for each in value["embeds"][0].values()), 6000),
    ],
    "mattermost": lambda value: [(len(value["text"]), 4000)],
    "rocketchat": lambda value: [(len(json.dumps(value, ensure_ascii=False)), 5000)],
    "matrix": lambda value: [(len(json.dumps(value).encode()), 65_536)],
    "ntfy": lambda value: [(len(value["message"].encode()), 4096), (len(value["title"]), 1000)],
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("letter", ["*", "@a", "&", "界"])
def test_the_longest_message_keeps_the_limits(program: str, letter: str) -> None:
    def long(most: int) -> str:
        return chat_text.clean(letter * most, most)

    facts = tuple((long(30), long(chat_notice.MAX_FACT_CHARS)) for _ in range(2))
    notice = ChatNotice(
        long(chat_notice.MAX_HEADLINE_CHARS),
        long(chat_notice.MAX_TITLE_CHARS),
        "https://desk.example/tickets/KTE-1",
        facts,
        long(chat_notice.MAX_TEXT_CHARS),
        is_urgent=True,
    )
    value = PROGRAMS[program].render(notice, parsed(f"https://chat.example{PATHS[program]}"))
    for size, most in LIMITS[program](value):
        assert 0 < size <= most


# -- addresses -------------------------------------------------------------------------------------------------------

WHOLE = {
    "slack": ["https://hooks.slack.com/services/T1/B1/abc", "https://hooks.slack-gov.com/services/T1/B1/abc"],
    "teams": [
        "https://prod-1.westeurope.logic.azure.com:443/workflows/a/triggers/manual/paths/invoke?api-version=1&sig=x",
        "https://x.environment.api.powerplatform.com/powerautomate/automations/direct/workflows/a/triggers/m?sig=x_y-z",
    ],
    "discord": [f"https://discord.com{PATHS['discord']}", f"https://discordapp.com{PATHS['discord']}?thread_id=1"],
    "mattermost": [f"https://chat.example{PATHS['mattermost']}", f"https://kite.example/chat{PATHS['mattermost']}"],
    "rocketchat": [f"https://chat.example{PATHS['rocketchat']}"],
    "matrix": [f"https://matrix.example{PATHS['matrix']}"],
    "ntfy": ["https://ntfy.sh/kite_123"],
}
WRONG = [
    ("slack", "https://hooks.slack.com/workflows/T1/A1/1/x", "such as https://hooks.slack.com/services/"),
    ("slack", "https://hooks.slack.com.evil.example/services/T1/B1/abc", "not an address of Slack"),
    ("slack", "http://hooks.slack.com/services/T1/B1/abc", "needs https"),
    ("slack", "https://8.8.8.8/services/T1/B1/abc", "not an address of Slack"),
    ("teams", "https://kite.webhook.office.com/webhookb2/a/IncomingWebhook/b/c", "are retired"),
    ("teams", "https://prod-1.westeurope.logic.azure.com/workflows/a/triggers/manual/paths/invoke", "Microsoft Teams"),
    ("teams", "https://evil.example/workflows/a?sig=x", "not an address of Microsoft Teams"),
    ("discord", f"https://discord.com{PATHS['discord']}/slack", "not an address of Discord"),
    ("discord", "https://discord.com/channels/1/2", "https://discord.com/api/webhooks/"),
    ("mattermost", f"https://chat.example{PATHS['rocketchat']}", "not an address of Mattermost"),
    ("rocketchat", f"https://chat.example{PATHS['mattermost']}", "not an address of Rocket.Chat"),
    ("matrix", "https://matrix.example/#/room/!abc:x", "not an address of Matrix"),
    ("ntfy", "https://ntfy.sh/", "such as https://ntfy.sh/"),
    ("ntfy", "https://ntfy.sh/a/b", "not an address of ntfy"),
    ("ntfy", "ntfy.sh/a", "url: "),
]


@pytest.mark.parametrize(("program", "url"), [(name, url) for name, urls in WHOLE.items() for url in urls])
def test_addresses(program: str, url: str) -> None:
    assert str(PROGRAMS[program].require_address(url, allowed([]))).startswith("https://")


@pytest.mark.parametrize(("program", "url", "reason"), WRONG)
def test_an_address_of_another_form_is_refused(program: str, url: str, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        PROGRAMS[program].require_address(url, allowed(["10.0.0.0/8"]))
    assert reason in refused.value.message


def test_a_room_of_matrix() -> None:
    expected = "https://m.example/_matrix/client/v3/rooms/!abc:x.example/send/m.room.message"
    assert chat_programs.matrix_address("https://m.example/", " !abc:x.example ") == expected
    for wrong in ("#pumps:x.example", "!a/b:x.example", ""):
        with pytest.raises(Invalid):
            chat_programs.matrix_address("https://m.example/", wrong)


def test_a_secret_address_is_never_returned(chats: ChatPost) -> None:
    desk = chats.desk
    for program, chat in PROGRAMS.items():
        id = chats.chat(program)
        record, whole = desk.record("outgoing_webhook", id), chats.peer.url(PATHS[program])
        assert ("address" in record, record["url"] == whole) == (False, not chat.is_secret)
        if chat.is_secret:
            assert PATHS[program] not in json.dumps(record)
            tried = couriers.tried(desk.context(), id)
            assert tried["state"] == "sent" and PATHS[program] not in json.dumps(tried["request"]["url"])
            desk.update("outgoing_webhook", id, name="Again", url=record["url"])
            assert desk.row("outgoing_webhook", id)["address"] == whole
            assert desk.found("outgoing_webhook", f"url:*{PATHS[program][1:8]}*") == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"events": "ticket.updated"}, "is not one of"),
        ({"events": "ticket.close"}, "did you mean 'ticket.closed'"),
        ({"events": ""}, "events"),
        ({"query": "status:(open"}, "query: "),
        ({"body": "{{record.id}}"}, "body: goes with generic webhooks only"),
        ({"secret": "whsec_" + "QUJD" * 10}, "secret: goes with generic"),
        ({"program": "matrix", "headers": ""}, "headers: Matrix needs an access token"),
        (
            {"program": "generic", "address": "https://x.example", "events": "task.*"},
            "address: goes with chat programs",
        ),
        ({"program": "irc"}, "'irc' is not one of"),
    ],
)
def test_a_chat_that_could_not_work_is_refused(chats: ChatPost, fields: dict[str, Any], reason: str) -> None:
    program = fields.get("program", "ntfy")
    values = {"name": "x", "program": program, "events": "ticket.created"} | fields
    values["url"] = chats.peer.url(PATHS.get(program, "/hook"))
    with pytest.raises(Invalid) as refused:
        chats.desk.create("outgoing_webhook", **values)
    assert reason in refused.value.message


def test_the_program_stays(chats: ChatPost) -> None:
    id = chats.chat("ntfy")
    with pytest.raises(Invalid):
        chats.desk.update("outgoing_webhook", id, program="slack")


# -- responses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "response"),
    [
        ("slack", answer("no_service", status=404)),
        ("slack", answer("channel_is_archived", status=410)),
        ("slack", answer("action_prohibited", status=403)),
        ("teams", answer('{"error":{"code":"WorkflowNotFound","message":"The workflow is gone"}}', status=404)),
        ("teams", answer('{"error":{"code":"DirectApiAuthorizationRequired","message":"No sig"}}', status=401)),
        ("discord", answer('{"message": "Unknown Webhook", "code": 10015}', status=404)),
        (
            "mattermost",
            answer('{"id":"web.incoming_webhook.invalid.app_error","message":"Invalid webhook"}', status=400),
        ),
        ("rocketchat", answer('{"success":false,"error":"Invalid integration id"}', status=404)),
        ("matrix", answer('{"errcode":"M_UNKNOWN_TOKEN","error":"Unknown token"}', status=401)),
        ("matrix", answer('{"errcode":"M_FORBIDDEN","error":"Not in room"}', status=403)),
        ("ntfy", answer('{"code":40301,"http":403,"error":"forbidden"}', status=403)),
    ],
    ids=lambda value: value[9:12].decode() if isinstance(value, bytes) else str(value),
)
def test_a_receiver_that_is_gone_switches_the_webhook_off(chats: ChatPost, program: str, response: bytes) -> None:
    id = chats.chat(program, "ticket.created")
    chats.answer_with(program, response)
    chats.ticket()
    chats.run_rounds(4)
    assert chats.desk.record("outgoing_webhook", id)["is_disabled"]
    [entry] = chats.desk.log("outgoing_webhook.switched_off")
    assert PATHS[program] not in json.dumps(entry["params"]) and "responded with 4" in json.dumps(entry["params"])
    assert chats.desk.found("notification", f"worker.id:{chats.people['nora']}")


@pytest.mark.parametrize(
    ("program", "response", "seconds"),
    [
        ("discord", answer('{"message": "rate limited", "retry_after": 64.57, "global": false}', status=429), 65),
        ("matrix", answer('{"errcode":"M_LIMIT_EXCEEDED","error":"x","retry_after_ms":61500}', status=429), 62),
        ("slack", answer("ratelimited", status=429, retry_after="120"), 120),
        ("ntfy", answer('{"code":42901,"http":429,"error":"limit reached"}', status=429), retry_schedule.REST[0]),
        ("discord", answer('{"retry_after": "soon"}', status=429), retry_schedule.REST[0]),
        ("teams", answer(status=503), retry_schedule.REST[0]),
    ],
    ids=lambda value: value[9:12].decode() if isinstance(value, bytes) else str(value),
)
def test_a_program_that_is_busy_gets_the_same_message_later(
    chats: ChatPost, program: str, response: bytes, seconds: int
) -> None:
    id = chats.chat(program, "ticket.created")
    chats.answer_with(program, response)
    chats.ticket("First")
    chats.ticket("Second")
    [first] = chats.run_rounds(4)
    state = chats.desk.read(lambda tx: deliveries.state_of(tx, id))
    assert state.resume_at == NOW + seconds and not chats.desk.record("outgoing_webhook", id)["is_disabled"]
    chats.answer_with(program, answer(status=202 if program == "teams" else 200))
    chats.now += seconds - 1
    assert not chats.run_rounds(3)
    chats.now += 301
    again, second = chats.run_rounds(6)
    assert (again.body, again.target) == (first.body, first.target) and second.body != first.body
    assert (second.target == first.target) is (program != "matrix")


def test_a_message_that_is_refused_fails_alone(chats: ChatPost) -> None:
    chats.chat("rocketchat", "ticket.created")
    responses = [answer('{"success":false,"error":"message too long"}')]
    chats.answer_with("rocketchat", lambda asked: responses.pop() if responses else answer('{"success":true}'))
    chats.ticket("First")
    chats.ticket("Second")
    chats.run_rounds(6)
    rows = chats.rows()
    assert sorted(row["state"] for row in rows) == ["sent", "waiting"]
    assert next(row["error"] for row in rows if row["error"]).endswith("message too long")


def test_a_service_that_is_killed_repeats_no_entry(chats: ChatPost) -> None:
    chats.chat("ntfy")
    ids = [chats.ticket(), chats.ticket()]
    chats.run_rounds(8)
    chats.desk.update("ticket", ids[0], status="closed")
    chats.restart()
    assert headlines(chats.run_rounds(4)) == ["Closed by Helpdesk"]
    chats.restart()
    chats.desk.update("ticket", ids[1], status="closed")
    assert headlines(chats.run_rounds(4)) == ["Closed by Helpdesk"] and not chats.rows(state="waiting")
    webhook = chats.rows()[0]["webhook_id"]
    assert deliveries.replay_since(chats.desk.context(), webhook, NOW - 60) == 4
    chats.courier._is_known = False
    assert len(chats.run_rounds(12)) == 4 and len(chats.rows()) == 4
