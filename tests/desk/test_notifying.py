"""Notification mail to workers, and their replies to it: the ticket, the author, and the use of the text."""

import re
from collections.abc import Mapping
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from types import ModuleType
from typing import Any

import pytest

from server import mailroom, tickets
from server.errors import Rejected
from server.mailroom import Receipt
from server.notifying import mailing, notification_mails, reply_ids
from server.notifying.reply_ids import DAY_SECONDS, ReplyId
from server.records import notification_mail
from server.tickets import originals
from tests.desk.conftest import Post
from tests.smtp_server import SmtpServer

JOBS = (mailing.mail_waiting,)  # importing the module registers the job
names = pytest.mark.parametrize
CUSTOMER = "ann@kite.example"
FAILED = """Reporting-MTA: dns; mx.desk.example

Final-Recipient: rfc822; milo@desk.example
Action: failed
Status: 5.1.1"""
EVERYTHING = frozenset(notification_mail.KINDS)


def words(mail: object) -> str:
    """Returns the text part of a mail."""
    assert isinstance(mail, EmailMessage)
    part = mail.get_body(("plain",))
    assert part is not None
    return str(part.get_content())


class Team:
    """A desk whose workers get everything by mail. milo is notified; his mail program replies as usual."""

    def __init__(self, desk: Post, smtp: SmtpServer) -> None:
        self.desk, self.smtp, self._taken = desk, smtp, 0
        for worker in (desk.nora, desk.milo):
            notification_mail.choose(desk.context(worker), EVERYTHING)
        self.ticket = desk.create("ticket", subject="Boat", group_id=desk.support, owner_id=desk.milo)
        desk.add_requester(self.ticket, CUSTOMER)
        self.settle()

    def settle(self) -> list[EmailMessage]:
        """Returns the mails that are sent once the time to read the notifications is over."""
        self.desk.run_due(60)
        self.desk.run_due()
        return self.take()

    def take(self) -> list[EmailMessage]:
        found = self.smtp.messages[self._taken :]
        self._taken += len(found)
        return [parsed(raw.replace(b"\r\n", b"\n")) for _, _, raw in found]

    def receive(self, raw: bytes) -> Receipt:
        return mailroom.receive(self.desk.context(), raw)

    def customer_writes(self, text: str = "It leaks.") -> EmailMessage:
        """Delivers a mail of the customer; returns the mail that milo gets."""
        mask = self.desk.ticket(self.ticket)["mask"]
        self.receive(mail(text, sender=CUSTOMER, Subject=f"Boat [#{mask}]", Message_ID=f"<{hash(text)}@kite.example>"))
        [told] = self.settle()
        return told

    def answer(self, told: Mapping[str, Any], text: str, sender: str = "milo@desk.example", **headers: str) -> Receipt:
        """Delivers milo's reply, as mail programs write it."""
        quoted = "".join(f"> {line}\n" for line in words(told).splitlines())
        named = {"Subject": f"Re: {told['Subject']}", "In_Reply_To": str(told["Message-ID"])} | headers
        return self.receive(mail(f"{text}\n\nOn Friday Helpdesk wrote:\n{quoted}", sender=sender, **named))


def parsed(raw: bytes) -> EmailMessage:
    found = message_from_bytes(raw, policy=default)
    assert isinstance(found, EmailMessage)
    return found


def is_signed(team: Team, told: EmailMessage) -> bool:
    return team.desk.read(lambda tx: reply_ids.find(tx, [told["Message-ID"]])) is not None


def mail(text: str, sender: str, **headers: str) -> bytes:
    named = {"From": sender, "To": "support@desk.example"} | {
        name.replace("_", "-"): value for name, value in headers.items() if value
    }
    return ("".join(f"{name}: {value}\n" for name, value in named.items()) + f"\n{text}\n").encode()


@pytest.fixture
def team(desk: Post, smtp: SmtpServer) -> Team:
    return Team(desk, smtp)


# -- notification mails ------------------------------------------------------------------------------------------------


def test_a_customers_message_reaches_the_owner_with_its_text(team: Team) -> None:
    told = team.customer_writes("It leaks again.\n\nOn Monday Nora wrote:\n> Does it leak?")
    text, mask = words(told), team.desk.ticket(team.ticket)["mask"]
    assert told["To"] == "milo@desk.example" and told["Subject"] == f"[#{mask}] Boat"
    assert text.startswith("##- Write above this line to reply to ann@kite.example. -##")
    assert "It leaks again." in text and "Does it leak?" not in text
    assert f"/records/ticket/{team.ticket}" in text and "Owner: Milo Test" in text
    assert told["Auto-Submitted"] == "auto-generated"


def test_an_email_about_a_ticket_says_the_name_of_its_status(team: Team) -> None:
    team.desk.create("ticket_status", name="In progress", status="open")
    team.desk.update("ticket", team.ticket, status_name="In progress")
    assert "Status: In progress. Owner: Milo Test" in words(team.customer_writes("It leaks again."))


def test_notifications_read_in_time_are_not_mailed(team: Team) -> None:
    team.desk.update("ticket", team.ticket, owner_id=0)
    team.settle()
    team.desk.update("ticket", team.ticket, owner_id=team.desk.milo)
    for each in team.desk.all("notification", worker_id=team.desk.milo):
        team.desk.update("notification", each["id"], is_read=1)
    assert team.settle() == []


@names("kinds", [frozenset(), EVERYTHING - {"message", "reopened"}])
def test_unselected_notifications_are_not_mailed(team: Team, kinds: frozenset[str]) -> None:
    notification_mail.choose(team.desk.context(team.desk.milo), kinds)
    mask = team.desk.ticket(team.ticket)["mask"]
    team.receive(mail("It leaks.", sender=CUSTOMER, Subject=f"[#{mask}]"))
    assert team.settle() == []


def test_a_setting_is_the_default_for_workers_without_a_choice(desk: Post, smtp: SmtpServer) -> None:
    desk.set(notification_mail=("assigned",))
    ticket = desk.create("ticket", subject="Boat", group_id=desk.support)
    desk.update("ticket", ticket, owner_id=desk.milo)
    desk.set(notification_mail=("message",))
    desk.update("ticket", ticket, owner_id=desk.nora)
    desk.run_due(60)
    desk.run_due()
    assert [taken[1] for taken in smtp.messages] == [("milo@desk.example",)]


def test_ten_events_on_a_ticket_are_one_mail_and_notes_another(team: Team) -> None:
    desk, mask = team.desk, team.desk.ticket(team.ticket)["mask"]
    for number in range(10):
        text = f"Message {number}."
        team.receive(mail(text, sender=CUSTOMER, Subject=f"[#{mask}]", Message_ID=f"<{number}@kite.example>"))
    desk.create("comment", target__context="svc.contexts.ticket", target_id=team.ticket, comment="Ours, @milo.")
    messages, note = sorted((words(each) for each in team.settle()), key=lambda text: "add a note" in text)
    assert [f"Message {number}." in messages for number in range(10)] == [False] * 5 + [True] * 5
    assert "Ours" not in messages and "Ours, @milo." in note and "Message 9" not in note


def test_many_tickets_are_one_mail_without_a_reply_address(team: Team) -> None:
    for number in range(12):
        id = team.desk.create("ticket", subject=f"Boat {number}", group_id=team.desk.support)
        team.desk.update("ticket", id, owner_id=team.desk.milo)
    [told] = team.settle()
    assert told["Subject"] == "12 notifications" and words(told).count("/notifications/") == 12
    assert not is_signed(team, told)


@pytest.mark.parametrize(
    ("module", "step"), [(notification_mails, "batch_for"), (mailing, "send_soon")], ids=["read", "queued"]
)
def test_a_notification_that_arrives_during_a_run_is_mailed_by_the_next(
    team: Team, monkeypatch: pytest.MonkeyPatch, module: ModuleType, step: str
) -> None:
    """Once the run has read the notifications, and once it has queued their mail."""
    usual, late = getattr(module, step), ["It also smells."]

    def with_arrival(*args: Any) -> Any:
        result = usual(*args)
        while late:
            team.receive(mail(late.pop(), sender=CUSTOMER, Subject=f"[#{mask}]", Message_ID="<late@kite.example>"))
        return result

    monkeypatch.setattr(module, step, with_arrival)
    mask = team.desk.ticket(team.ticket)["mask"]
    team.receive(mail("It leaks.", sender=CUSTOMER, Subject=f"[#{mask}]"))
    [first, second] = team.settle() + team.settle()
    assert "It also smells." not in words(first) and "It also smells." in words(second)


def test_a_worker_who_can_no_longer_read_a_ticket_gets_no_mail(team: Team) -> None:
    desk = team.desk
    private = desk.create("group", name="Private", is_private=1)
    mask = desk.ticket(team.ticket)["mask"]
    team.receive(mail("It leaks.", sender=CUSTOMER, Subject=f"[#{mask}]"))
    desk.write(lambda writing: writing.set("ticket", team.ticket, {"group_id": private, "bucket_id": 0}))
    assert team.settle() == []


def test_a_disabled_worker_gets_no_mail_and_nothing_stays_queued(team: Team) -> None:
    mask = team.desk.ticket(team.ticket)["mask"]
    team.receive(mail("It leaks.", sender=CUSTOMER, Subject=f"[#{mask}]"))
    team.desk.update("worker", team.desk.milo, is_disabled=1)
    assert team.settle() == []
    team.desk.update("worker", team.desk.milo, is_disabled=0)
    assert team.settle() == []


def test_an_address_that_the_desk_sends_from_gets_no_mail(team: Team) -> None:
    own = team.desk.one("mail_transport")["id"]
    team.desk.update("address", team.desk.address("milo@desk.example"), mail_transport_id=own)
    team.desk.update("ticket", team.ticket, owner_id=0)
    team.desk.update("ticket", team.ticket, owner_id=team.desk.milo)
    assert team.settle() == []


def test_mail_is_in_the_workers_language(team: Team) -> None:
    folder = team.desk.service.settings.data / "languages"
    folder.mkdir()
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    said = 'msgid "Write above this line to reply to {address}."\nmsgstr "Skriv til {address}."\n'
    (folder / "da.po").write_text(header + said, "utf-8")
    team.desk.update("worker", team.desk.milo, language="da_DK")
    assert words(team.customer_writes()).startswith("##- Skriv til ann@kite.example. -##")


# -- replies -----------------------------------------------------------------------------------------------------------


def test_a_reply_becomes_the_workers_reply_to_the_requesters(team: Team) -> None:
    receipt = team.answer(team.customer_writes(), "We come on Monday.\n\n-- \nMilo, by phone")
    team.desk.run_due()
    [sent] = [each for each in team.take() if each["To"] == CUSTOMER]
    assert words(sent).strip() == "We come on Monday."
    message = team.desk.message(team.ticket)
    assert (receipt.ticket_id, receipt.outcome) == (team.ticket, "stored")
    assert (message["worker_id"], message["is_outgoing"], message["content"]) == (
        team.desk.milo, 1, "We come on Monday.",
    )  # fmt: skip
    assert team.desk.ticket(team.ticket)["status_id"] == 1


def test_files_are_included(team: Team) -> None:
    told = team.customer_writes()
    response = EmailMessage(policy=default)
    response["From"], response["To"], response["In-Reply-To"] = (
        "milo@desk.example",
        "x@desk.example",
        told["Message-ID"],
    )
    response.set_content("See the plan.")
    response.add_attachment(b"plan", maintype="application", subtype="pdf", filename="plan.pdf")
    team.receive(response.as_bytes())
    team.desk.run_due()
    [sent] = [each for each in team.take() if each["To"] == CUSTOMER]
    assert [(part.get_filename(), part.get_content()) for part in sent.iter_attachments()] == [("plan.pdf", b"plan")]


def test_a_reply_to_a_note_is_a_note(team: Team) -> None:
    desk = team.desk
    desk.create("comment", target__context="svc.contexts.ticket", target_id=team.ticket, comment="Is it ours, @milo?")
    [told] = team.settle()
    team.answer(told, "No, theirs.")
    team.desk.run_due()
    [note] = [each for each in desk.all("comment") if each["comment"] == "No, theirs."]
    assert note["author_id"] == desk.milo and desk.all("message", ticket_id=team.ticket) == []
    assert CUSTOMER not in [each["To"] for each in team.take()]


def test_the_same_reply_has_no_effect_a_second_time(team: Team) -> None:
    told = team.customer_writes()
    first, second = (team.answer(told, "On Monday.", Message_ID="<1@desk.example>") for _ in range(2))
    team.desk.run_due()
    assert (first.outcome, second.outcome) == ("stored", "duplicate")
    assert [each["To"] for each in team.take()] == [CUSTOMER]


def test_a_second_reply_to_one_mail_is_stored_and_sent_to_no_one(team: Team) -> None:
    told = team.customer_writes()
    team.answer(told, "On Monday.")
    assert outgoing(team) == ["On Monday.\n"]
    team.answer(told, "Send them the money.\n#status closed")
    assert outgoing(team) == [] and team.desk.ticket(team.ticket)["status_id"] == 1
    [draft] = team.desk.all("draft", ticket_id=team.ticket)
    assert "Send them the money." in draft["params"]["content"] and not draft["is_queued"]
    newest = team.desk.all("notification", worker_id=team.desk.milo)[-1]
    assert "already answered" in newest["params"]["variables"]["reason"]


def test_a_second_reply_to_a_note_is_a_note_of_the_address(team: Team) -> None:
    desk = team.desk
    desk.create("comment", target__context="svc.contexts.ticket", target_id=team.ticket, comment="Is it ours, @milo?")
    [told] = team.settle()
    for text in ("No, theirs.", "Pay them."):
        team.answer(told, text)
    authors = {each["comment"]: (each["author__context"], each["author_id"]) for each in desk.all("comment")}
    assert authors["No, theirs."] == ("svc.contexts.worker", desk.milo)
    assert authors["Pay them."] == ("svc.contexts.address", desk.address("milo@desk.example"))


def test_each_mail_has_its_own_name(team: Team) -> None:
    first, second = (str(team.customer_writes(text)["Message-ID"]) for text in ("It leaks.", "It still leaks."))
    [name, other] = (each.partition(".")[0] for each in (first, second))
    assert name != other


def test_a_name_from_before_the_random_letters_still_counts_once(team: Team) -> None:
    team.customer_writes()
    day = team.desk.now // DAY_SECONDS
    name = ReplyId(team.ticket, team.desk.milo, False, day).name(reply_ids.key(team.desk.service))
    for text in ("On Monday.", "On Tuesday."):
        team.receive(mail(text, sender="milo@desk.example", In_Reply_To=f"<{name}.1@desk.example>"))
    assert outgoing(team) == ["On Monday.\n"]


COMMANDS: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    ("Done.\n#status closed", {"status_id": 2}, ["Done."], []),
    ("#status c\nDone.", {"status_id": 2}, ["Done."], []),
    ("Done.\n#status open", {"status_id": 0}, ["Done."], []),
    ("#status closed", {"status_id": 2}, [], []),
    ("Later.\n#reopen +2 days", {"status_id": 1, "reopen_date": 172800}, ["Later."], []),
    ("Yes.\n#comment Call them on Monday", {"status_id": 1}, ["Yes."], ["Call them on Monday"]),
    ("Yes.\n#start note\nOne.\nTwo.\n#end\nSure.", {"status_id": 1}, ["Yes.\nSure."], ["One.\nTwo."]),
    ("#noreply\n#comment Just us\nNot sent.", {"status_id": 0}, [], ["Just us"]),
    ("#noreply\n#status waiting", {"status_id": 1}, [], []),
    ("Yes.\n#cut\nNo.", {"status_id": 1}, ["Yes."], []),
    ("# A heading\nWith #hash in it", {"status_id": 1}, ["# A heading\nWith #hash in it"], []),
    ("#tags are words", {"status_id": 1}, ["#tags are words"], []),
]


@names("text, ticket, sent, notes", COMMANDS)
def test_lines_with_commands(team: Team, text: str, ticket: dict[str, Any], sent: list[str], notes: list[str]) -> None:
    told = team.customer_writes()
    now = team.desk.now
    team.answer(told, text)
    team.desk.run_due()
    found = team.desk.ticket(team.ticket)
    wanted = {name: value + now if name == "reopen_date" else value for name, value in ticket.items()}
    assert {name: found[name] for name in ticket} == wanted
    assert [words(each).strip() for each in team.take() if each["To"] == CUSTOMER] == sent
    assert team.desk.comments("ticket", team.ticket) == notes


@names(("word", "watches"), [("watch", True), ("unwatch", False)])
def test_watching_by_mail(team: Team, word: str, watches: bool) -> None:
    team.answer(team.customer_writes(), f"#{word}\n#noreply")
    shown = team.desk.shown("ticket", team.ticket, team.desk.nora)
    found = team.desk.read(lambda tx: len(tx.connection.execute(
        f"SELECT 1 FROM link WHERE from_context = 'svc.contexts.ticket' AND to_id = {team.desk.milo}"
    ).fetchall()))  # fmt: skip
    assert shown["id"] == team.ticket and bool(found) is watches


@names(("text", "reason"), [
    ("#status done\nIt is.", "open, waiting or closed"), ("#reopen never ever\nWell.", "never ever"),
])  # fmt: skip
def test_an_unknown_command_loses_no_text(team: Team, text: str, reason: str) -> None:
    told = team.customer_writes()
    team.answer(told, text)
    team.desk.run_due()
    [draft] = team.desk.all("draft", ticket_id=team.ticket)
    assert draft["params"]["content"] == text and draft["worker_id"] == team.desk.milo and not draft["is_queued"]
    newest = team.desk.all("notification", worker_id=team.desk.milo)[-1]
    assert reason in newest["params"]["variables"]["reason"]
    assert [each for each in team.take() if each["To"] == CUSTOMER] == []


def test_an_empty_reply_is_reported_and_does_nothing_else(team: Team) -> None:
    team.answer(team.customer_writes(), "")
    team.desk.run_due()
    assert team.desk.all("draft", ticket_id=team.ticket) == []
    assert team.desk.all("notification", worker_id=team.desk.milo)[-1]["activity_point"] == "ticket.answer.refused"


# -- authors, and never by From alone ----------------------------------------------------------------------------------


def outgoing(team: Team) -> list[str]:
    team.desk.run_due()
    return [words(each) for each in team.take() if each["To"] == CUSTOMER]


def test_from_alone_has_no_effect(team: Team) -> None:
    team.customer_writes()
    mask = team.desk.ticket(team.ticket)["mask"]
    team.receive(mail("Send them the money.", sender="milo@desk.example", Subject=f"Re: [#{mask}] Boat"))
    assert outgoing(team) == [] and not team.desk.message(team.ticket)["is_outgoing"]


@names("sender", [CUSTOMER, "nora@desk.example", "olga@desk.example", "eve@evil.example"])
def test_mail_of_another_address_is_ordinary(team: Team, sender: str) -> None:
    receipt = team.answer(team.customer_writes(), "Send them the money.", sender=sender)
    assert outgoing(team) == [] and not team.desk.message(receipt.ticket_id)["is_outgoing"]


@names("sender", ["milo@desk.example, eve@evil.example", "milo@desk.example\nFrom: eve@evil.example"])
def test_a_mail_with_two_senders_is_not_a_workers(team: Team, sender: str) -> None:
    team.answer(team.customer_writes(), "Send them the money.", sender=sender)
    assert outgoing(team) == [] and team.desk.message(team.ticket)["worker_id"] == 0


@names("caller, counts", [("milo", True), ("nora", True), ("olga", False)])
def test_only_its_worker_or_an_administrator_submits_a_reply(team: Team, caller: str, counts: bool) -> None:
    desk, told = team.desk, team.customer_writes()
    by = getattr(desk, caller)
    raw = mail("Send them the money.", sender="milo@desk.example", In_Reply_To=str(told["Message-ID"]),
               Subject=f"Re: {told['Subject']}")  # fmt: skip
    receipt = mailroom.receive(desk.context(by), raw)
    assert receipt.ticket_id == team.ticket and outgoing(team) == (["Send them the money.\n"] if counts else [])
    [entry] = desk.all("activity_log", activity_point="ticket.message.handed_in")
    assert (entry["actor__context"], entry["actor_id"], entry["target_id"]) == ("svc.contexts.worker", by, team.ticket)
    assert entry["params"]["variables"]["sender"] == "milo@desk.example"
    if not counts:
        message = desk.message(team.ticket)
        assert (message["worker_id"], message["is_outgoing"], message["is_stranger"]) == (0, 0, 1)
        assert "Olga Test (worker" in message["notes"] and "nothing proves" in message["notes"]


def test_signed_names_are_never_stored_or_shown(team: Team) -> None:
    desk = team.desk
    desk.set(answer_address="help+{token}@desk.example")
    told = team.customer_writes()
    name = str(told["Message-ID"]).strip("<>").partition(".")[0]
    to = str(told["Reply-To"])
    receipt = team.receive(mail(
        f"See {to}.", sender="milo@home.example", In_Reply_To=str(told["Message-ID"]),
        References=f"<a@b>\n\t<{name}@x>", To=to.upper(), Subject=f"Re: {told['Subject']}",
    ))  # fmt: skip
    message = desk.one("message", id=receipt.message_id)
    shown = desk.shown("message", receipt.message_id)
    source = originals.raw(desk.context(desk.nora), receipt.message_id)
    everything = f"{message} {shown} {source.decode()}".lower()
    assert receipt.ticket_id == team.ticket and "signed-name-removed" in everything and name not in everything
    reply = desk.reply(receipt.message_id, to=CUSTOMER)
    assert reply and all(name not in taken.as_string() for taken in team.take())


def test_a_role_without_notes_adds_none_by_mail(team: Team) -> None:
    desk, told = team.desk, team.customer_writes()
    for role in desk.all("role"):
        privileges = ["contexts.svc.contexts.ticket.create", "contexts.svc.contexts.mail.draft.create"]
        desk.update("role", role["id"], privs_mode="itemized", privs=privileges)
    team.answer(told, "Yes.\n#comment Call them")
    assert desk.comments("ticket", team.ticket) == [] and outgoing(team) == []
    [draft] = desk.all("draft", ticket_id=team.ticket)
    assert draft["params"]["content"] == "Yes.\n#comment Call them"


def test_a_worker_only_in_reply_to_is_not_trusted(team: Team) -> None:
    told = team.customer_writes()
    team.answer(told, "Send them the money.", sender="eve@evil.example", Reply_To="milo@desk.example")
    assert outgoing(team) == []


def test_a_mail_that_fails_dmarc_is_not_trusted(team: Team) -> None:
    team.desk.set(mail_authserv_ids=("mx.desk.example",))
    told = team.customer_writes()
    failed = "mx.desk.example; dmarc=fail header.from=desk.example"
    team.answer(told, "Send them the money.", Authentication_Results=failed)
    assert outgoing(team) == []


def test_a_forged_name_is_refused(team: Team) -> None:
    told = team.customer_writes()
    forged = re.sub(r"r-\d+-", f"r-{team.ticket + 1}-", str(told["Message-ID"]))
    with pytest.raises(Rejected, match="signature"):
        team.answer(told, "On Monday.", In_Reply_To=forged)


def test_a_name_of_another_helpdesk_is_ordinary_mail_of_its_customers(team: Team) -> None:
    told = team.customer_writes()
    strange = ReplyId(5, team.desk.milo, False, team.desk.now // DAY_SECONDS).name(b"theirs")
    receipt = team.answer(told, "We use it, too.", sender=CUSTOMER, In_Reply_To=f"<{strange}@them.example>")
    assert receipt.outcome == "stored" and team.desk.message(receipt.ticket_id)["content"].startswith("We use it, too.")


def test_a_name_expires_after_half_a_year(team: Team) -> None:
    told = team.customer_writes()
    team.desk.now += (reply_ids.VALID_DAYS + 1) * DAY_SECONDS
    with pytest.raises(Rejected, match="180 days"):
        team.answer(told, "On Monday.")


@names("headers", [
    {"Auto_Submitted": "auto-replied"}, {"Precedence": "bulk"}, {"X_Autoreply": "yes"},
    {"Subject": "Automatic reply: Boat"},
])  # fmt: skip
def test_a_notice_of_absence_is_not_a_reply(team: Team, headers: dict[str, str]) -> None:
    receipt = team.answer(team.customer_writes(), "I am away until Monday.", **headers)
    assert receipt.outcome == "ignored" and outgoing(team) == []


@names("headers", [
    {"X_Auto_Response_Suppress": "All"}, {"X_Autoreply": "no"}, {"Auto_Submitted": "no"},
    {"Subject": "Re: Automatic reply: Boat"},
])  # fmt: skip
def test_a_reply_that_suppresses_automatic_replies_is_a_reply(team: Team, headers: dict[str, str]) -> None:
    team.answer(team.customer_writes(), "On Monday.", **headers)
    assert outgoing(team) == ["On Monday.\n"]


def test_a_bounced_mail_to_a_worker_creates_no_ticket(team: Team) -> None:
    told, tickets_before = team.customer_writes(), len(team.desk.all("ticket"))
    parts = (
        "Content-Type: text/plain\n\nNo such mailbox.",
        f"Content-Type: message/delivery-status\n\n{FAILED}",
        f"Content-Type: text/rfc822-headers\n\nMessage-ID: {told['Message-ID']}\nSubject: Boat",
    )
    body = "".join(f"--b0\n{part}\n" for part in parts) + "--b0--"
    kind = "multipart/report; report-type=delivery-status; boundary=b0"
    head = {"Return_Path": "<>", "MIME_Version": "1.0", "Content_Type": kind, "Subject": "Undelivered"}
    receipt = team.receive(mail(body, sender="MAILER-DAEMON@mx.desk.example", **head))
    assert receipt.outcome == "ignored" and len(team.desk.all("ticket")) == tickets_before


def test_replying_requires_the_right_to_change_the_ticket(team: Team) -> None:
    told = team.customer_writes()
    private = team.desk.create("group", name="Private", is_private=1)
    team.desk.write(lambda writing: writing.set("ticket", team.ticket, {"group_id": private, "bucket_id": 0}))
    with pytest.raises(Rejected, match="you may not"):
        team.answer(told, "On Monday.")


@names(("text", "status"), [("Theirs.", 0), ("Theirs.\n#status closed", 0)])
def test_a_reader_of_a_ticket_adds_a_note_by_mail(team: Team, text: str, status: int) -> None:
    desk = team.desk
    notification_mail.choose(desk.context(desk.olga), frozenset({"mentioned"}))
    desk.update("worker", desk.olga, at_mention_name="olga")
    desk.create("comment", target__context="svc.contexts.ticket", target_id=team.ticket, comment="Is it ours, @olga?")
    [told] = [each for each in team.settle() if each["To"] == "olga@desk.example"]
    team.answer(told, text, sender="olga@desk.example")
    assert desk.comments("ticket", team.ticket)[-1] == text and desk.ticket(team.ticket)["status_id"] == status


def test_mail_of_a_disabled_worker_is_ordinary(team: Team) -> None:
    told = team.customer_writes()
    team.desk.update("worker", team.desk.milo, is_disabled=1)
    team.answer(told, "On Monday.")
    assert outgoing(team) == []


def test_a_reply_follows_a_merged_ticket(desk: Post, smtp: SmtpServer) -> None:
    older = desk.create("ticket", subject="Pump", group_id=desk.support)
    team = Team(desk, smtp)
    told = team.customer_writes()
    tickets.merge(team.desk.context(team.desk.nora), [team.ticket, older])
    assert team.answer(told, "On Monday.").ticket_id == older != team.ticket


def test_replying_by_mail_can_be_disabled(team: Team) -> None:
    team.desk.set(answer_by_mail=False)
    told = team.customer_writes()
    assert not words(told).startswith("##-") and not is_signed(team, told)


def test_the_reply_address_carries_the_name_where_possible(team: Team) -> None:
    team.desk.set(answer_address="help+{token}@desk.example")
    told = team.customer_writes()
    to = str(told["Reply-To"])
    assert re.fullmatch(rf"help\+r-{team.ticket}-{team.desk.milo}-\d+-[a-z2-7]{{6}}-[a-z2-7]{{24}}@desk\.example", to)
    team.receive(mail("On Monday.", sender="milo@desk.example", To=to.upper(), Subject="Re: Boat"))
    assert outgoing(team) == ["On Monday.\n"]
