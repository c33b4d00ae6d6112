"""The queue of mail: scheduled, interrupted, refused, without a server, changed by clients; nothing is sent twice or
lost."""

import threading
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest

from server import tickets
from server.errors import Invalid
from server.outbox import delivery, holds, mail_queue, queue_rows
from server.outbox.deliver import deliver
from server.outbox.due_drafts import send_draft
from server.outbox.holds import TransportHold, list_holds
from server.records import records
from server.records.writing import RecordWriter
from server.tickets.compose import prepare, save
from server.tickets.request_values import compose_request
from server.upkeep import checkup, checkup_mail, health
from tests.desk.conftest import NOW, Post
from tests.smtp_server import SmtpServer

HOUR, DAY, RETRY = 3600, 86_400, 300
DRAFT = "svc.contexts.mail.draft"


def cut_short(desk: Post, **values: Any) -> tuple[int, int, str]:
    """Composes as a process that ends between the commit and sending: returns the ids of ticket and draft, and the
    claim."""
    form = {"group_id": desk.support, "to": "ann@kite.example", "subject": "Boat", "content": "Hello"} | values
    ctx = desk.context(desk.nora)
    prepared = prepare(ctx, compose_request(ctx, form), desk.nora)
    return desk.service.store.write(lambda tx: save(RecordWriter(ctx, tx), prepared))


@pytest.mark.parametrize("format", ["", "markdown"])
def test_a_message_names_the_address_of_its_own_ticket_if_its_number_was_given_to_another(
    desk: Post, format: str
) -> None:
    ctx = desk.context(desk.nora)
    records.create(ctx, "brand", {"name": "Kite", "is_public": 1, "has_requests": 1})
    form = {"group_id": desk.support, "to": "ann@kite.example", "subject": "Boat", "content": "At {{ticket_url}}"}
    prepared = prepare(ctx, compose_request(ctx, form | {"content_format": format}), desk.nora)
    ids = [desk.service.store.write(lambda tx: save(RecordWriter(ctx, tx), prepared))[0] for _ in range(2)]
    masks = [desk.one("ticket", id=id)["mask"] for id in ids]
    assert masks[0] == prepared.mask != masks[1]
    for id, mask in zip(ids, masks, strict=True):
        message = desk.message(id)
        assert message["content"].endswith(f"/requests/{mask}" + (">" if format else "")), message["content"]


# -- scheduled ---------------------------------------------------------------------------------------------------------


def test_a_scheduled_compose_is_a_draft_until_it_is_due(desk: Post, smtp: SmtpServer) -> None:
    uri, id = desk.compose(send_at="+1 hour", status="1", reopen_at="+1 day", owner_id=str(desk.milo))
    assert uri == "draft"
    shown = desk.shown("draft", id)
    assert (shown["type"], shown["params"]["send_at"], shown["to"]) == ("mail.compose", NOW + HOUR, "ann@kite.example")
    assert shown["params"]["ticket_reopen"] == NOW + 86400
    desk.run_due(HOUR - 1)
    assert desk.all("ticket") == [] and smtp.messages == []
    desk.run_due(1)
    [ticket] = desk.all("ticket")
    message = desk.message(ticket["id"])
    assert smtp.take()[1] == ("ann@kite.example",)
    assert (ticket["status_id"], ticket["reopen_date"], ticket["owner_id"]) == (1, NOW + 86400, desk.milo)
    assert (ticket["created"], message["worker_id"]) == (NOW + HOUR, desk.nora)
    assert desk.all("draft") == [] and desk.all("comment") == []
    desk.run_due(HOUR)
    assert len(smtp.messages) == 1 and len(desk.all("ticket")) == 1


@pytest.mark.parametrize("send_at", ["", "0", "-1 hour", str(NOW - 5), str(NOW)])
def test_mail_scheduled_in_the_past_is_sent_at_once(desk: Post, smtp: SmtpServer, send_at: str) -> None:
    assert desk.compose(send_at=send_at)[0] == "ticket"
    assert len(smtp.messages) == 1


@pytest.mark.parametrize("send_at", [str(NOW + 60), f"@{NOW + 60}", "+1 minute"])
def test_digits_are_a_time_too(desk: Post, send_at: str) -> None:
    _, id = desk.compose(send_at=send_at)
    assert desk.one("draft", id=id)["queue_delivery_date"] == NOW + 60


def test_a_scheduled_reply_changes_the_ticket_now_and_its_status_only_once(desk: Post, smtp: SmtpServer) -> None:
    ticket = desk.ticket_id()
    answered = desk.received(ticket)
    desk.reply(answered, send_at="+1 hour", status="2", to="zed@kite.example", owner_id=str(desk.milo), subject="Oars")
    found = desk.ticket(ticket)
    assert (found["status_id"], found["owner_id"], found["subject"]) == (2, desk.milo, "Oars")
    assert desk.requesters(ticket) == ["ann@kite.example", "zed@kite.example"] and found["num_messages"] == 2
    desk.update("ticket", ticket, status_id=0, owner_id=0)  # the customer wrote in between
    desk.run_due(HOUR)
    assert smtp.take()[1] == ("zed@kite.example",)
    found = desk.ticket(ticket)
    assert (found["status_id"], found["owner_id"], found["num_messages"]) == (0, 0, 3)
    kept = desk.message(ticket)
    assert (kept["worker_id"], kept["response_time"]) == (desk.nora, HOUR)
    assert found["initial_response_message_id"] == kept["id"]


def test_a_date_in_a_custom_field_is_resolved_at_the_request(desk: Post, smtp: SmtpServer) -> None:
    fields = {"name": "Due", "context": "ticket", "type": "E", "uri": "due"}
    due = records.create(desk.context(), "custom_field", fields)["id"]
    desk.compose(send_at="+1 hour", **{f"custom_{due}": "+1 day"})
    desk.run_due(HOUR)
    [ticket] = desk.all("ticket")
    assert records.retrieve(desk.context(), "ticket", ticket["id"], "custom_")["custom"] == {str(due): NOW + 86400}


@pytest.mark.parametrize("change", [{"is_queued": 0}, None])
def test_a_draft_removed_from_the_queue_is_not_sent(
    desk: Post, smtp: SmtpServer, change: dict[str, Any] | None
) -> None:
    _, id = desk.compose(send_at="+1 hour")
    if change is None:
        records.delete(desk.context(desk.nora), "draft", id)
    else:
        records.update(desk.context(desk.nora), "draft", id, change)
    desk.run_due(2 * HOUR)
    assert smtp.messages == [] and desk.all("ticket") == []


def test_only_the_date_of_the_draft_counts(desk: Post, smtp: SmtpServer) -> None:
    _, id = desk.compose(send_at="+1 hour")
    records.update(desk.context(desk.nora), "draft", id, {"queue_delivery_date": NOW + 2 * HOUR})
    desk.run_due(HOUR)
    assert smtp.messages == []
    desk.run_due(HOUR)
    assert len(smtp.messages) == 1


def test_checked_mail_is_sent_although_its_worker_was_deleted(desk: Post, smtp: SmtpServer) -> None:
    ticket = desk.ticket_id()
    desk.reply(desk.received(ticket), by=desk.milo, send_at="+1 hour")
    desk.write(lambda writing: writing.set("worker", desk.milo, {"is_disabled": 1}))
    desk.run_due(HOUR)
    assert len(smtp.messages) == 1 and desk.message(ticket)["worker_id"] == desk.milo


def test_a_changed_draft_is_checked_again(desk: Post, smtp: SmtpServer) -> None:
    private = desk.create("group", name="Management", is_private=1)
    _, id = desk.compose(by=desk.milo, send_at="+1 hour")
    params = desk.one("draft", id=id)["params"] | {"group_id": private}
    records.update(desk.context(desk.milo), "draft", id, {"params": params})
    desk.run_due(HOUR)
    assert smtp.messages == [] and desk.all("ticket") == []
    assert desk.one("draft", id=id)["is_queued"] == 0 and "may not read" in desk.comments("draft", id)[0]


@pytest.mark.parametrize(("name", "typed"), [("to", "ann@kite.example, bob"), ("cc", "<bob@kite"), ("bcc", "b@@x.y")])
def test_an_unreadable_recipient_is_reported_in_rendered_mail_too(
    desk: Post, smtp: SmtpServer, name: str, typed: str
) -> None:
    _, id, claim = cut_short(desk)
    params = desk.one("draft", id=id)["params"] | {name: typed}
    records.update(desk.context(desk.nora), "draft", id, {"params": params})
    assert not deliver(desk.service, id, claim, NOW) and smtp.messages == []
    wrong = typed.rpartition(" ")[2]
    told = f"Error sending message: {name}: '{wrong}' is not an email address; use name@host"
    assert (desk.one("draft", id=id)["is_queued"], desk.comments("draft", id)) == (0, [told])


# -- drafts of clients -------------------------------------------------------------------------------------------------


def test_a_draft_of_the_records_api_is_sent_in_its_workers_name(desk: Post, smtp: SmtpServer) -> None:
    params = {
        "to": "ann@kite.example", "subject": "Boat", "content": "Hello", "group_id": desk.support, "status_id": 2,
    }  # fmt: skip
    fields = {"type": "mail.compose", "worker_id": desk.milo, "is_queued": 1, "params": params}
    records.create(desk.context(desk.milo), "draft", fields)
    desk.run_due()
    [ticket] = desk.all("ticket")
    assert (ticket["status_id"], desk.message(ticket["id"])["worker_id"]) == (2, desk.milo)
    assert smtp.take()[1] == ("ann@kite.example",)


def test_an_invalid_draft_fails_for_good_and_says_why(desk: Post, smtp: SmtpServer) -> None:
    fields = {"type": "mail.compose", "worker_id": desk.nora, "is_queued": 1, "params": {"content": "Hello"}}
    id = records.create(desk.context(desk.nora), "draft", fields)["id"]
    desk.run_due()
    assert desk.one("draft", id=id)["is_queued"] == 0
    assert desk.comments("draft", id) == ["Error sending message: subject is required"]


def test_a_client_cannot_choose_sender_or_message(desk: Post, smtp: SmtpServer) -> None:
    params = {
        "to": "ann@kite.example", "subject": "Boat", "content": "Hello", "group_id": desk.support,
        "from_address": "chief@desk.example", "message_id": "x@y", "mail": {"from_address": "chief@desk.example"},
    }  # fmt: skip
    fields = {"type": "mail.compose", "worker_id": desk.milo, "is_queued": 1, "params": params}
    records.create(desk.context(desk.milo), "draft", fields)
    desk.run_due()
    assert smtp.take()[0] == "support@desk.example"


def test_only_administrators_send_mail_without_a_ticket(desk: Post, smtp: SmtpServer) -> None:
    params = {"to": "ann@kite.example", "subject": "News", "content": "Hello"}
    for worker in (desk.milo, desk.nora):
        fields = {"type": "mail.transactional", "worker_id": worker, "is_queued": 1, "params": params}
        records.create(desk.context(worker), "draft", fields)
    desk.run_due()
    assert len(smtp.messages) == 1 and desk.all("ticket") == []
    assert [each["worker_id"] for each in desk.all("draft")] == [desk.milo]


# -- no mail server ----------------------------------------------------------------------------------------------------


def test_without_a_mail_server_mail_waits_and_says_so(desk: Post) -> None:
    uri, id = desk.compose()
    assert uri == "ticket" and desk.message(id)["is_not_sent"] == 0
    [draft] = desk.all("draft")
    assert (draft["is_queued"], draft["queue_fails"]) == (1, 0)
    assert desk.comments("draft", draft["id"])[0].startswith("Error sending message: no mail server is configured")
    desk.run_due(RETRY)
    desk.run_due(RETRY)
    assert len(desk.comments("draft", draft["id"])) == 1
    with SmtpServer() as server:
        desk.smtp(server.host, server.port)
        desk.run_due()
        mail = message_from_bytes(server.take()[2], policy=default)
    assert mail["Message-ID"].strip() == desk.message(id)["message_id"] and desk.all("draft") == []


def test_mail_to_people_of_the_demo_reaches_no_mail_server(desk: Post, smtp: SmtpServer) -> None:
    people = "ana@larch-bicycles.demo.example"
    uri, id = desk.compose(to=people)
    assert (uri, desk.all("draft"), smtp.messages) == ("ticket", [], []) and desk.message(id)["is_not_sent"] == 0
    desk.compose(to=f"{people}, ann@kite.example")
    assert smtp.take()[1] == ("ann@kite.example",) and desk.all("draft") == []


def test_scheduled_mail_to_people_of_the_demo_needs_no_mail_server(desk: Post) -> None:
    desk.compose(to="ana@larch-bicycles.demo.example", send_at="+1 hour")
    desk.run_due(HOUR)
    assert len(desk.all("ticket")) == 1 and desk.all("draft") == []


def test_a_default_transport_serves_senders_without_one(desk: Post) -> None:
    with SmtpServer() as server:
        id = desk.smtp(server.host, server.port)
        desk.update("address", desk.sender, mail_transport_id=0)
        desk.put_setting("default_transport_id", id)
        desk.compose()
        assert len(server.messages) == 1


def test_the_null_transport_accepts_everything(desk: Post) -> None:
    id = desk.create("mail_transport", name="Nowhere", extension_id="core.mail.transport.null")
    desk.put_setting("default_transport_id", id)
    assert desk.compose()[0] == "ticket" and desk.all("draft") == []


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_the_token_of_a_connected_account_replaces_a_password(desk: Post) -> None:
    kind = desk.create("connected_service", name="Mail", extension_id="svc.service.provider.token.bearer", params={})
    account = desk.create(
        "connected_account", name="Mail", service_id=kind, params={"token": "t0ken"},
        owner__context="svc.contexts.app", owner_id=0,
    )  # fmt: skip
    with SmtpServer(token="t0ken") as server:
        id = desk.smtp(server.host, server.port)
        params = {"host": server.host, "port": server.port, "username": "ida", "password": "s3cret"}
        desk.update("mail_transport", id, params=params)
        del params["password"]
        desk.update("mail_transport", id, params=params | {"connected_account": account})
        assert "password" not in desk.one("mail_transport", id=id)["params"]
        assert desk.compose()[0] == "ticket" and len(server.messages) == 1
        desk.write(lambda writing: writing.set("connected_account", account, {"service_id": 0}))
        _, draft = desk.compose()
    kept = desk.one("draft", id=draft)
    assert (kept["is_queued"], kept["queue_fails"]) == (1, 1)  # tried again once the cause is fixed
    (told,) = desk.comments("draft", draft)
    assert f"mail transport {id}: the connected account 'Mail' has no connected service" in told


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_a_refused_token_is_not_used_again(desk: Post) -> None:
    """A token may have no known expiry, and would count as valid forever."""
    params = {"access_token": "old", "refresh_token": "again"}
    kind = desk.create(
        "connected_service", name="Mail", extension_id="svc.service.provider.oauth2",
        params={"token_url": "https://127.0.0.1:1/token", "client_id": "desk"},
    )  # fmt: skip
    account = desk.create(
        "connected_account", name="Mail", service_id=kind, params=params, owner__context="svc.contexts.app", owner_id=0
    )
    with SmtpServer(token="new") as server:
        id = desk.smtp(server.host, server.port)
        login = {"host": server.host, "port": server.port, "username": "ida", "connected_account": account}
        desk.update("mail_transport", id, params=login)
        assert desk.compose()[0] == "draft"
        assert desk.one("connected_account", id=account)["params"] == params | {"expires_at": NOW}
        desk.run_due(RETRY)
    [draft] = desk.all("draft")
    assert "rejected the token" not in desk.comments("draft", draft["id"])[-1]  # a new one was requested


# -- failures ----------------------------------------------------------------------------------------------------------


def test_temporarily_refused_mail_is_tried_for_days_with_growing_waits(desk: Post, smtp: SmtpServer) -> None:
    smtp.sender_answer = "451 4.7.1 later"
    uri, id = desk.compose()
    assert uri == "draft"
    draft = desk.one("draft", id=id)
    assert (draft["is_queued"], draft["queue_fails"], draft["queue_delivery_date"]) == (1, 1, NOW + RETRY)
    assert desk.comments("draft", id) == ["Error sending message: the mail server refused the sender: 451 4.7.1 later"]
    assert len(desk.all("activity_log", activity_point="transport.delivery.error")) == 1
    desk.run_due(RETRY - 1)
    assert desk.one("draft", id=id)["queue_fails"] == 1
    waits = []
    while draft["is_queued"]:
        wait = max(draft["queue_delivery_date"] - desk.now, 0)
        waits.append(wait)
        assert desk.all("notification") == []
        desk.run_due(wait)
        draft = desk.one("draft", id=id)
    assert waits[1:8] == [600, 1200, 2400, 4800, 9600, 14_400, 14_400]
    assert 4 * DAY <= 5 * DAY <= desk.now - NOW <= 5 * DAY + 14_400
    assert [each["worker_id"] for each in desk.all("notification")] == [desk.nora]
    desk.run_due(DAY)
    assert len(desk.comments("draft", id)) == draft["queue_fails"] == len(waits) + 1 and len(desk.all("message")) == 1


@pytest.mark.parametrize(("attempts", "fails"), [(1, 1), (3, 3)])
def test_attempts_can_be_limited(desk: Post, smtp: SmtpServer, attempts: int, fails: int) -> None:
    desk.set(mail_attempts=attempts)
    smtp.sender_answer = "451 later"
    _, id = desk.compose()
    for _ in range(4):
        desk.run_due(RETRY * 4)
    draft = desk.one("draft", id=id)
    assert (draft["is_queued"], draft["queue_fails"]) == (0, fails)


def test_abandoned_mail_is_reported_until_a_worker_handles_it(desk: Post, smtp: SmtpServer) -> None:
    smtp.data_answer = "554 spam"
    for name in ("Boat", "Oars"):
        desk.compose(subject=name)

    def findings() -> list[str]:
        return [str(each.found) for each in checkup.of_jobs(desk.service, desk.now) if each.state == "problem"]

    def given_up() -> int:
        return int(desk.read(lambda tx: health.backlog(tx, desk.now).mail_given_up))

    assert (findings(), given_up()) == (["2 emails are given up"], 2)
    first, second = (each["id"] for each in desk.all("draft"))
    mail_queue.drop(desk.context(desk.nora), first)
    assert (findings(), given_up()) == (["1 email is given up"], 1)
    smtp.data_answer = ""
    mail_queue.send_again(desk.context(desk.nora), second)
    desk.run_due()
    assert (findings(), given_up(), len(smtp.messages)) == ([], 0, 1)


# -- an unreachable transport ------------------------------------------------------------------------------------------


def hold(desk: Post) -> TransportHold:
    [found] = desk.read(list_holds)
    assert isinstance(found, TransportHold)
    return found


def test_an_unreachable_transport_holds_its_queue_and_abandons_nothing(desk: Post, down: int) -> None:
    ids = [desk.compose(to=f"a{n}@kite.example")[1] for n in range(3)]
    first = desk.all("draft")[0]
    assert desk.comments("draft", first["id"])[0].startswith("Error sending message: no mail server at 127.0.0.1")
    states = [delivery.of_draft(desk.context(), each["id"]) for each in desk.all("draft")]
    assert [each.state for each in states] == ["held"] * 3 and ids[1:] == [2, 3]  # tickets: they were not tried
    assert {each.due_at for each in states} == {NOW + RETRY}
    for _ in range(40):
        desk.run_due(DAY)
    drafts = desk.all("draft")
    assert [each["is_queued"] for each in drafts] == [1, 1, 1]
    assert [each["queue_fails"] for each in drafts] == [41, 0, 0]  # one of them detects it
    assert len(desk.comments("draft", first["id"])) == 1 and desk.all("notification") == []
    [found] = [each for each in checkup_mail.of_mail(desk.service, desk.now) if "has been failing" in each.found]
    assert found.state == "problem" and "2026-11-20 15:04 UTC, and 3 of its emails are waiting" in found.found
    with SmtpServer() as back:
        params = {"host": back.host, "port": str(back.port), "timeout": "60"}
        desk.write(lambda writing: writing.set("mail_transport", down, {"params": params}))  # a server comes back
        desk.run_due(holds.LONGEST_HOLD_SECONDS)
        desk.run_due()
        assert len(back.messages) == 3
    assert desk.all("draft") == [] and desk.read(list_holds) == []


def test_waits_of_a_held_transport_grow_to_a_quarter_of_an_hour(desk: Post, down: int) -> None:
    desk.compose()
    waits = []
    for _ in range(4):
        waits.append(hold(desk).retry_at - desk.now)
        desk.run_due(waits[-1] - 1)
        desk.run_due(1)
    assert waits == [300, 600, 900, 900] and desk.all("draft")[0]["queue_fails"] == 5


def test_a_changed_transport_is_tried_at_once(desk: Post, down: int) -> None:
    desk.compose()
    desk.compose()
    with SmtpServer() as other:
        params = {"host": other.host, "port": str(other.port), "timeout": "60"}
        records.update(desk.context(desk.nora), "mail_transport", down, {"params": params})
        desk.run_due()
        assert len(other.messages) == 2


def test_held_mail_is_sent_when_its_sender_gets_another_transport(desk: Post, down: int) -> None:
    desk.compose()
    desk.compose()
    with SmtpServer() as other:
        desk.smtp(other.host, other.port)
        desk.run_due()
        assert len(other.messages) == 2 and desk.read(list_holds) != []
    desk.run_due(RETRY)
    assert desk.read(list_holds) == []  # no mail waits for it any more


def test_one_mail_can_be_sent_now_through_a_held_transport(desk: Post, down: int) -> None:
    _, first = desk.compose()
    desk.compose()
    mail_queue.send_again(desk.context(desk.nora), first)
    desk.run_due()
    assert [each["queue_fails"] for each in desk.all("draft")] == [1, 0]
    assert "no mail server" in delivery.of_draft(desk.context(), first).reason and hold(desk).fails == 2


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_a_wrong_password_of_ours_loses_no_mail(desk: Post) -> None:
    with SmtpServer(login=("ida", "s3cret")) as server:
        id = desk.smtp(server.host, server.port)
        params = {"host": server.host, "port": str(server.port), "username": "ida", "password": "old"}
        desk.update("mail_transport", id, params=params)
        _, draft = desk.compose()
        assert (desk.one("draft", id=draft)["is_queued"], hold(desk).transport_id) == (1, id)
        records.update(desk.context(desk.nora), "mail_transport", id, {"params": params | {"password": "s3cret"}})
        desk.run_due()
        assert len(server.messages) == 1


def test_a_server_that_refuses_one_mail_is_not_held(desk: Post, smtp: SmtpServer) -> None:
    smtp.sender_answer = "451 later"
    desk.compose()
    smtp.sender_answer = ""
    desk.compose()
    assert len(smtp.messages) == 1 and desk.read(list_holds) == []


def test_a_hold_is_not_extended_by_a_clock_set_back(desk: Post, down: int) -> None:
    desk.compose()
    desk.service.store.write(lambda tx: holds.hasten(tx, NOW - DAY))
    assert hold(desk).retry_at == NOW - DAY


# -- some recipients ---------------------------------------------------------------------------------------------------


BOTH = "ann@kite.example, bob@kite.example"


@pytest.mark.parametrize("answer", ["451 4.7.1 Greylisted", "452 4.2.2 Mailbox full", "421 4.7.0 Slow down"])
def test_a_temporarily_refused_recipient_is_tried_again_and_others_get_it_once(
    desk: Post, smtp: SmtpServer, answer: str
) -> None:
    smtp.refused = {"bob@kite.example": answer}
    uri, _ = desk.compose(to=BOTH)
    [draft] = desk.all("draft")
    told = delivery.of_draft(desk.context(), draft["id"])
    if not answer.startswith("421"):  # 421 ends the whole transaction
        assert uri == "ticket" and smtp.take()[1] == ("ann@kite.example",)
        assert (told.state, told.due_at) == ("partly", NOW + RETRY)
        assert told.reason == f"not delivered yet to bob@kite.example: {answer}"
        assert desk.all("notification") == []
    smtp.refused = {}
    desk.run_due(RETRY)
    if answer.startswith("421"):
        assert smtp.take()[1] == ("ann@kite.example", "bob@kite.example")
    else:
        _, recipients, raw = smtp.take()
        assert recipients == ("bob@kite.example",)
        assert "ann@kite.example" in message_from_bytes(raw, policy=default)["To"]
    assert desk.all("draft") == [] and desk.comments("message", desk.all("message")[0]["id"]) == []


def test_a_recipient_refused_for_days_is_abandoned_and_shown(desk: Post, smtp: SmtpServer) -> None:
    ticket = desk.ticket_id()
    smtp.refused = {"bob@kite.example": "451 4.7.1 Greylisted"}
    desk.reply(desk.received(ticket), to=BOTH, status="2")
    assert desk.ticket(ticket)["status_id"] == 2
    for _ in range(40):
        desk.run_due(14_400)
    [draft] = desk.all("draft")
    told = delivery.of_draft(desk.context(), draft["id"])
    assert (draft["is_queued"], told.state, told.due_at) == (0, "partly", 0) and "451 4.7.1" in told.reason
    assert desk.ticket(ticket)["status_id"] == 0 and [each["worker_id"] for each in desk.all("notification")] == [
        desk.nora
    ]
    [listed] = mail_queue.list_queue(desk.context(desk.nora), "failed")[0]
    assert listed.is_given_up and [recipients for _, recipients, _ in smtp.messages] == [("ann@kite.example",)]


def test_a_permanently_refused_recipient_is_shown_and_tried_on_request(desk: Post, smtp: SmtpServer) -> None:
    ticket = desk.ticket_id()
    smtp.refused = {"bob@kite.example": "550 5.1.1 no such user"}
    desk.reply(desk.received(ticket), by=desk.milo, to=BOTH, status="2")
    message = desk.message(ticket)
    assert desk.comments("message", message["id"]) == ["Not delivered to bob@kite.example: 550 5.1.1 no such user"]
    [draft] = desk.all("draft")
    assert (draft["is_queued"], desk.ticket(ticket)["status_id"]) == (0, 0)
    assert [each["worker_id"] for each in desk.all("notification")] == [desk.milo]
    [told] = delivery.of_ticket(desk.context(), ticket)
    assert (told.state, told.message_id) == ("partly", message["id"]) and "550 5.1.1 no such user" in told.reason
    desk.run_due(DAY)
    assert len(smtp.messages) == 1
    smtp.refused = {}
    mail_queue.send_again(desk.context(desk.nora), draft["id"])
    desk.run_due()
    assert [recipients for _, recipients, _ in smtp.messages] == [("ann@kite.example",), ("bob@kite.example",)]
    assert desk.all("draft") == []


def test_a_corrected_recipient_alone_gets_the_mail(desk: Post, smtp: SmtpServer) -> None:
    smtp.refused = {"bop@kite.example": "550 5.1.1 no such user"}
    desk.compose(to="ann@kite.example, bop@kite.example")
    [draft] = desk.all("draft")
    changed = draft["params"] | {"to": BOTH}
    records.update(desk.context(desk.nora), "draft", draft["id"], {"params": changed, "is_queued": 1})
    desk.run_due()
    assert [recipients for _, recipients, _ in smtp.messages] == [("ann@kite.example",), ("bob@kite.example",)]


def test_nothing_is_sent_when_the_refused_recipient_is_removed(desk: Post, smtp: SmtpServer) -> None:
    smtp.refused = {"bob@kite.example": "550 5.1.1 no such user"}
    desk.compose(to=BOTH)
    [draft] = desk.all("draft")
    changed = draft["params"] | {"to": "ann@kite.example"}
    records.update(desk.context(desk.nora), "draft", draft["id"], {"params": changed, "is_queued": 1})
    desk.run_due()
    assert len(smtp.messages) == 1 and desk.all("draft") == []


def test_permanent_and_temporary_refusals_are_distinguished(desk: Post, smtp: SmtpServer) -> None:
    smtp.refused = {"bob@kite.example": "451 later", "carl@kite.example": "550 5.1.1 no such user"}
    desk.compose(to=f"{BOTH}, carl@kite.example")
    assert len(desk.all("notification")) == 1
    smtp.refused = {"carl@kite.example": "550 5.1.1 no such user"}
    desk.run_due(RETRY)
    assert [recipients for _, recipients, _ in smtp.messages] == [("ann@kite.example",), ("bob@kite.example",)]
    [draft] = desk.all("draft")
    told = delivery.of_draft(desk.context(), draft["id"])
    assert draft["is_queued"] == 0 and told.reason == "not delivered to carl@kite.example: 550 5.1.1 no such user"
    assert len(desk.all("notification")) == 1  # nothing new


def test_with_all_refused_only_temporary_refusals_are_tried_again(desk: Post, smtp: SmtpServer) -> None:
    smtp.refused = {"ann@kite.example": "550 5.1.1 no such user", "bob@kite.example": "451 later"}
    desk.compose(to=BOTH)
    smtp.refused = {}
    desk.run_due(RETRY)
    assert smtp.take()[1] == ("bob@kite.example",)
    [draft] = desk.all("draft")
    assert "not delivered to ann@kite.example: 550" in delivery.of_draft(desk.context(), draft["id"]).reason


def test_a_later_reply_does_not_wait_for_a_temporarily_refused_recipient(desk: Post, smtp: SmtpServer) -> None:
    answered = desk.received(desk.ticket_id())
    smtp.refused = {"bob@kite.example": "451 later"}
    desk.reply(answered, to=BOTH, content="one")
    desk.reply(answered, to="ann@kite.example", content="two")
    assert texts(smtp) == ["one", "two"]


def test_a_failed_reply_reopens_the_ticket_with_an_entry(desk: Post, down: int) -> None:
    ticket = desk.ticket_id()
    desk.reply(desk.received(ticket), status="2")
    assert desk.ticket(ticket)["status_id"] == 0
    [draft] = desk.all("draft")
    assert (draft["type"], draft["ticket_id"], draft["queue_fails"]) == ("ticket.reply", ticket, 1)


def test_failed_mail_is_sent_once_the_server_is_back(desk: Post, smtp: SmtpServer) -> None:
    smtp.sender_answer = "451 later"
    desk.compose(to="ann@kite.example")
    smtp.sender_answer = ""
    desk.run_due(RETRY)
    assert len(smtp.messages) == 1 and desk.all("draft") == []
    assert b"Message-ID: " + desk.all("message")[0]["message_id"].encode() in smtp.messages[0].raw


def test_a_permanent_refusal_is_not_tried_again(desk: Post, smtp: SmtpServer) -> None:
    smtp.data_answer = "554 spam"
    uri, id = desk.compose()
    draft = desk.one("draft", id=id)
    assert (uri, draft["is_queued"], draft["queue_fails"]) == ("draft", 0, 1)
    assert "554 spam" in desk.comments("draft", id)[0] and len(desk.all("notification")) == 1


def test_a_failed_draft_starts_again_with_corrected_recipients(desk: Post, smtp: SmtpServer) -> None:
    smtp.refused = {"anne@kite.example": "550 no such user"}
    _, id = desk.compose(to="anne@kite.example")
    params = desk.one("draft", id=id)["params"] | {"to": "ann@kite.example"}
    records.update(desk.context(desk.nora), "draft", id, {"is_queued": 1, "params": params, "queue_delivery_date": 0})
    assert desk.one("draft", id=id)["queue_fails"] == 0
    desk.run_due()
    assert smtp.take()[1] == ("ann@kite.example",) and len(desk.all("ticket")) == 1


def test_a_transport_with_wrong_settings_is_tried_again_later(desk: Post) -> None:
    id = desk.smtp("127.0.0.1", 1)
    desk.write(lambda writing: writing.set("mail_transport", id, {"params": {"host": "no host"}}))
    _, draft = desk.compose()
    assert desk.one("draft", id=draft)["is_queued"] == 1 and "no host" in desk.comments("draft", draft)[0]


def test_a_bug_leaves_the_mail_in_the_queue(desk: Post, smtp: SmtpServer) -> None:
    _, id, claim = cut_short(desk)
    desk.service.store.write(lambda tx: queue_rows.change(tx, id, {"mail": '{"damaged": 1}'}))
    assert not deliver(desk.service, id, claim, desk.now)
    draft = desk.one("draft", id=id)
    assert (draft["is_queued"], draft["queue_fails"]) == (1, 1)


# -- nothing twice, nothing lost ---------------------------------------------------------------------------------------


@pytest.mark.sqlite("one process to a file")
def test_mail_of_a_killed_process_is_sent_by_the_next(desk: Post, smtp: SmtpServer) -> None:
    ticket, draft, claim = cut_short(desk)
    desk.run_due()
    assert smtp.messages == []  # the claim is still valid
    gone = claim.replace(claim.partition(":")[0], "0123456789ab")
    desk.service.store.write(lambda tx: queue_rows.change(tx, draft, {"claimed_by": gone}))
    desk.service.store.write(queue_rows.release_lost)
    desk.run_due()
    assert desk.message(ticket)["message_id"].encode() in smtp.take()[2]
    desk.run_due(RETRY)
    assert len(smtp.messages) == 1 and desk.all("draft") == []


def test_a_lapsed_claim_is_taken_over_and_void(desk: Post, smtp: SmtpServer) -> None:
    _, draft, claim = cut_short(desk)
    desk.run_due(queue_rows.CLAIM_SECONDS + 1)
    assert len(smtp.messages) == 1
    assert not deliver(desk.service, draft, claim, desk.now) and len(smtp.messages) == 1


def test_two_schedulers_send_once(desk: Post, smtp: SmtpServer) -> None:
    ids = [desk.compose(to=f"a{n}@kite.example", send_at="+1 hour")[1] for n in range(10)]
    desk.now += HOUR
    start = threading.Barrier(2)

    def run() -> None:
        start.wait()
        for id in ids:
            send_draft(desk.service, id, desk.now)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(message[1][0] for message in smtp.messages) == sorted(f"a{n}@kite.example" for n in range(10))
    assert len(desk.all("ticket")) == 10 and desk.all("draft") == []


def test_a_process_that_ends_after_creating_the_ticket_creates_no_second_one(desk: Post, down: int) -> None:
    _, id = desk.compose(send_at="+1 hour")
    desk.run_due(HOUR)
    assert len(desk.all("ticket")) == 1 and desk.one("draft", id=id)["ticket_id"]
    desk.run_due(RETRY)
    assert len(desk.all("ticket")) == 1 and desk.one("draft", id=id)["queue_fails"] == 2


def test_a_draft_deleted_while_it_is_sent_leaves_nothing_behind(desk: Post, smtp: SmtpServer) -> None:
    _, id, claim = cut_short(desk)
    records.delete(desk.context(desk.nora), "draft", id)
    assert not deliver(desk.service, id, claim, desk.now)
    assert smtp.messages == [] and desk.read(lambda tx: queue_rows.get(tx, id)) is None


def test_a_request_refused_later_leaves_nothing_queued(desk: Post, smtp: SmtpServer) -> None:
    with pytest.raises(Invalid):
        tickets.compose(desk.context(desk.nora), {"group_id": 99, "to": "a@x.example", "subject": "a", "content": "b"})
    assert desk.all("draft") == []


# -- several on one ticket ---------------------------------------------------------------------------------------------


def texts(smtp: SmtpServer) -> list[str]:
    """Returns the texts of received mails, in order."""
    return [str(message_from_bytes(raw, policy=default).get_content()).strip() for _, _, raw in smtp.messages]


def test_replies_on_a_ticket_are_sent_in_the_order_they_were_written(desk: Post, smtp: SmtpServer) -> None:
    answered, other = (desk.received(desk.ticket_id(), message_id=f"<{n}@kite.example>") for n in range(2))
    smtp.sender_answer = "451 later"
    desk.reply(answered, content="one")
    smtp.sender_answer = ""
    desk.reply(answered, content="two")
    desk.reply(answered, content="three")
    desk.reply(other, content="on another ticket")
    desk.run_due(RETRY - 1)
    assert texts(smtp) == ["on another ticket"]
    for _ in range(3):
        desk.run_due(1)
    assert texts(smtp) == ["on another ticket", "one", "two", "three"] and desk.all("draft") == []


def test_a_reply_does_not_wait_for_abandoned_or_deferred_ones(desk: Post, smtp: SmtpServer) -> None:
    answered = desk.received(desk.ticket_id())
    smtp.sender_answer = "550 never"
    desk.reply(answered, content="given up")
    smtp.sender_answer = ""
    desk.reply(answered, content="put off", send_at="+1 hour")
    desk.reply(answered, content="now")
    assert texts(smtp) == ["now"]
    desk.run_due(HOUR)
    assert texts(smtp) == ["now", "put off"]


def test_a_ticket_gets_the_status_of_its_reply_once_the_mail_was_sent(desk: Post, smtp: SmtpServer) -> None:
    ticket = desk.ticket_id()
    smtp.sender_answer = "451 later"
    desk.reply(desk.received(ticket), status="1", reopen_at="+2 days")
    desk.run_due(RETRY)
    assert desk.ticket(ticket)["status_id"] == 0
    smtp.sender_answer = ""
    desk.run_due(2 * RETRY)
    found = desk.ticket(ticket)
    assert (found["status_id"], found["reopen_date"]) == (1, NOW + 2 * 86400)


@pytest.mark.parametrize("status", [1, 2])
def test_a_status_set_in_the_meantime_stays(desk: Post, smtp: SmtpServer, status: int) -> None:
    ticket = desk.ticket_id()
    smtp.sender_answer = "451 later"
    desk.reply(desk.received(ticket), status="2")
    desk.update("ticket", ticket, status_id=status)
    desk.update("ticket", ticket, status_id=0)
    smtp.sender_answer = ""
    desk.run_due(RETRY)
    assert len(smtp.messages) == 1 and desk.ticket(ticket)["status_id"] == 0
