"""Ratings: whom the service asks after closing, what a link does, and what follows a rating."""

import re
import textwrap
from concurrent.futures import ThreadPoolExecutor
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest

from console.pages.rules import rule_templates
from server import mailroom, tickets
from server.errors import Forbidden, Gone, HelpdeskError, Invalid, NotFound
from server.first_start import builtin_records
from server.mailroom import Receipt
from server.people import merging
from server.record_types.record_type import Record
from server.records import changes, records
from server.tickets import originals, unmerge
from server.tickets.ratings import customer_ratings, rating_requests
from server.tickets.types.rating import MAX_COMMENT_CHARS
from server.tickets.types.ticket_parts import rating_schedule
from tests.desk.conftest import Post
from tests.desk.mailroom import mail
from tests.smtp_server import SmtpServer

HOUR, DAY = 3600, 86400
LINK = re.compile(r"(https://\S+?)/rate/([a-z2-7-]+)/(good|bad)")


@pytest.fixture(autouse=True)
def asks(desk: Post) -> None:
    desk.set(ratings="all", rating_delay_hours=24, rating_interval_days=30)


def closed(desk: Post, raw: bytes = b"", **headers: str) -> Receipt:
    """Receives a mail that starts a ticket, and closes the ticket as milo, its owner."""
    received = mailroom.receive(desk.context(), raw or mail(**headers))
    records.update(desk.context(desk.nora), "ticket", received.ticket_id, {"owner_id": str(desk.milo)})
    close(desk, received.ticket_id)
    return received


def close(desk: Post, id: int, status: str = "closed") -> None:
    records.update(desk.context(desk.milo), "ticket", id, {"status": status})


def sent(server: SmtpServer) -> tuple[str, tuple[str, ...], EmailMessage]:
    sender, recipients, raw = server.take()
    parsed = message_from_bytes(raw, policy=default)
    assert isinstance(parsed, EmailMessage)
    return sender, recipients, parsed


def body(message: EmailMessage, kind: str = "plain") -> str:
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content())


def asked(desk: Post, smtp: SmtpServer, **headers: str) -> tuple[Receipt, str]:
    """Closes a new ticket and waits until its customer was asked. Returns the ticket and the code of the link."""
    received = closed(desk, **headers)
    desk.run_due(24 * HOUR)
    match = LINK.search(body(sent(smtp)[2]))
    assert match is not None
    return received, match[2]


def rating(desk: Post, received: Receipt) -> Record:
    return desk.one("rating", ticket_id=received.ticket_id)


def rate(desk: Post, code: str, score: str, comment: str = "") -> customer_ratings.RatingPage:
    return customer_ratings.rate(desk.service, code, score, comment, desk.now)


# -- asking ------------------------------------------------------------------------------------------------------------


def test_a_customer_is_asked_once_after_the_delay(desk: Post, smtp: SmtpServer) -> None:
    received = closed(desk, Subject="Boat")
    desk.run_due(24 * HOUR - 1)
    assert smtp.messages == [] and desk.all("rating") == []
    desk.run_due(1)
    envelope, recipients, message = sent(smtp)
    assert (envelope, recipients) == ("", ("ann@kite.example",))
    assert (
        message["Auto-Submitted"] == "auto-replied" and message["From"].addresses[0].addr_spec == "support@desk.example"
    )
    assert message["Subject"] == "How did we do? Boat" and f"({received.mask})" in body(message)
    for kind in ("plain", "html"):
        links = LINK.findall(body(message, kind))
        assert {each[2] for each in links} == {"good", "bad"} and len({each[1] for each in links}) == 1
    stored = rating(desk, received)
    assert (stored["score"], stored["worker_id"], stored["group_id"]) == ("", desk.milo, desk.support)
    assert stored["asked_at"] == desk.now and stored["address_id"] == desk.address("ann@kite.example")
    assert desk.activity(received.ticket_id)[-1] == "ticket.rating.asked"
    desk.run_due(90 * DAY)
    assert len(smtp.messages) == 1 and desk.all("draft") == []


def test_no_draft_and_no_row_has_the_link(desk: Post, down: int) -> None:
    received = closed(desk)
    desk.run_due(24 * HOUR)
    draft = desk.one("draft")
    assert "/rate/one-time-code/good" in draft["params"]["content"]
    nonce = rating(desk, received)["nonce"]
    assert nonce not in str(draft) and nonce not in str(desk.shown("rating", rating(desk, received)["id"]))


def test_a_job_that_runs_again_asks_nobody_again(desk: Post, smtp: SmtpServer) -> None:
    received, _code = asked(desk, smtp)
    payload = {"ticket_id": received.ticket_id, "group_id": desk.support, "worker_id": 0}
    rating_requests.ask(desk.service, payload, desk.now + 60 * DAY)
    assert len(smtp.messages) == 1 and len(desk.all("rating")) == 1


def test_jobs_at_the_same_time_ask_once(desk: Post, smtp: SmtpServer) -> None:
    """One ticket twice, and two tickets of one customer."""
    one, two = closed(desk), closed(desk, Message_ID="<two@kite.example>")
    jobs = [{"ticket_id": each.ticket_id, "group_id": desk.support, "worker_id": 0} for each in (one, one, two, two)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda payload: rating_requests.ask(desk.service, payload, desk.now), jobs))
    assert len(desk.all("rating")) == 1
    desk.run_due()
    assert len(smtp.messages) == 1


def test_a_reply_to_the_request_reopens_the_ticket(desk: Post, smtp: SmtpServer) -> None:
    received = closed(desk)
    desk.run_due(24 * HOUR)
    message = sent(smtp)[2]
    reply = mail(Message_ID="<r@kite.example>", References=message["References"], Subject="Re: How did we do?")
    again = mailroom.receive(desk.context(), reply)
    assert again.ticket_id == received.ticket_id and desk.ticket(received.ticket_id)["status_id"] == 0


def test_a_quoted_link_is_not_stored(desk: Post, smtp: SmtpServer) -> None:
    closed(desk)
    desk.run_due(24 * HOUR)
    message = sent(smtp)[2]
    quoted = "Thanks!\n\n" + "".join(f"> {line}\n" for line in body(message).splitlines())
    code = LINK.search(quoted)
    assert code is not None
    head = "From: ann@kite.example\nTo: support@desk.example\nMessage-ID: <q@kite.example>\nSubject: Re: Boat\n"
    raw = f"{head}References: {message['References']}\n\n{quoted}> https://x.example/?u=%2Frate%2F{code[2]}%2Fbad\n"
    received = mailroom.receive(desk.context(), raw.replace("\n", "\r\n").encode())
    stored = desk.one("message", id=received.message_id)
    assert "rate/signed-name-removed/good" in stored["content"] and code[2] not in str(stored)
    assert code[2] not in originals.raw(desk.context(desk.nora), received.message_id).decode()


@pytest.mark.parametrize(
    "headers",
    [
        {"Auto_Submitted": "auto-generated"},
        {"Precedence": "bulk"},
        {"List_Id": "<news.kite.example>"},
        {"X_Auto_Response_Suppress": "All"},
        {"From": "no-reply@kite.example"},
        {"From": "milo@desk.example"},
    ],
    ids=str,
)
def test_programs_and_workers_are_not_asked(desk: Post, smtp: SmtpServer, headers: dict[str, str]) -> None:
    closed(desk, **headers)
    desk.run_due(24 * HOUR)
    assert smtp.messages == [] and desk.all("rating") == []


def _reopen(desk: Post, id: int) -> None:
    close(desk, id, "open")


def _delete(desk: Post, id: int) -> None:
    close(desk, id, "deleted")


def _train(desk: Post, id: int) -> None:
    records.update(desk.context(desk.nora), "ticket", id, {"spam_training": "S"})


def _merge(desk: Post, id: int) -> None:
    tickets.merge(desk.context(desk.nora), [desk.ticket_id(), id])


def _ban(desk: Post, id: int) -> None:
    desk.update("address", desk.address("ann@kite.example"), is_banned=1)


def _bounce(desk: Post, id: int) -> None:
    desk.update("address", desk.address("ann@kite.example"), is_defunct=1)


def _switch_off(desk: Post, id: int) -> None:
    desk.set(ratings="off")


def _narrow(desk: Post, id: int) -> None:
    desk.set(ratings="groups")


def _leave(desk: Post, id: int) -> None:
    records.update(desk.context(desk.nora), "ticket", id, {"participant_ids": f"-{desk.address('ann@kite.example')}"})


def _exclude(desk: Post, id: int) -> None:
    desk.set(mail_exclude_patterns=("*@kite.example",))


@pytest.mark.parametrize(
    "meanwhile",
    [_reopen, _delete, _train, _merge, _ban, _bounce, _switch_off, _narrow, _leave, _exclude],
    ids=lambda each: each.__name__,
)
def test_a_reason_that_comes_up_meanwhile(desk: Post, smtp: SmtpServer, meanwhile: Any) -> None:
    received = closed(desk)
    meanwhile(desk, received.ticket_id)
    desk.run_due(24 * HOUR)
    assert smtp.messages == [] and desk.all("rating") == []


def test_the_delay_begins_again_with_the_next_close(desk: Post, smtp: SmtpServer) -> None:
    received = closed(desk)
    desk.now += 20 * HOUR
    close(desk, received.ticket_id, "open")
    close(desk, received.ticket_id)
    desk.run_due(5 * HOUR)
    assert smtp.messages == []
    desk.run_due(20 * HOUR)
    assert len(smtp.messages) == 1


def test_tickets_without_a_message_of_a_customer(desk: Post, smtp: SmtpServer) -> None:
    close(desk, desk.ticket_id())
    desk.run_due(24 * HOUR)
    assert smtp.messages == [] and desk.all("rating") == []


def test_tickets_that_are_created_closed_are_not_asked_about(desk: Post, smtp: SmtpServer) -> None:
    values = {"subject": "Old", "group_id": str(desk.support), "status": "closed"}
    records.create(desk.context(desk.nora), "ticket", values)
    assert desk.read(lambda tx: tx.find(rating_schedule.JOB, kind=rating_schedule.KIND)) == []


def test_without_a_mail_server_nobody_is_asked(desk: Post) -> None:
    closed(desk)
    desk.run_due(24 * HOUR)
    assert desk.all("rating") == []


@pytest.mark.parametrize("is_contact", [False, True])
def test_once_in_the_interval(desk: Post, smtp: SmtpServer, is_contact: bool) -> None:
    other = "ann@work.example" if is_contact else "ann@kite.example"
    if is_contact:
        contact = desk.create("contact", first_name="Ann", email_id=desk.address("ann@kite.example"))
        desk.update("address", desk.address(other), contact_id=contact)
    asked(desk, smtp)
    closed(desk, From=other, Message_ID="<b@kite.example>")
    desk.run_due(DAY)
    assert len(smtp.messages) == 1
    desk.now += 30 * DAY
    closed(desk, From=other, Message_ID="<c@kite.example>")
    desk.run_due(DAY)
    assert len(smtp.messages) == 2


def test_a_group_asks_of_its_own_accord_with_its_own_words(desk: Post, smtp: SmtpServer) -> None:
    desk.set(ratings="groups")
    fields = {
        "rating_enabled": "1",
        "rating_subject": "Your view, {{mask}}",
        "rating_text": "Dear customer of **{{group_name}}**",
    }
    records.update(desk.context(desk.nora), "group", desk.support, fields)
    received = closed(desk, Subject="[Click](https://evil.example) now")
    desk.run_due(24 * HOUR)
    message = sent(smtp)[2]
    assert message["Subject"] == f"Your view, {received.mask}"
    assert "Dear customer of <strong>Support</strong>" in body(message, "html") and "evil" not in body(message, "html")
    assert LINK.search(body(message)) is not None
    with pytest.raises(Invalid, match="there is no placeholder"):
        records.update(desk.context(desk.nora), "group", desk.support, {"rating_text": "{{nonsense}}"})


def test_in_the_language_of_the_contact(desk: Post, smtp: SmtpServer) -> None:
    desk.create("contact", first_name="Ann", language="de_DE", email_id=desk.address("ann@kite.example"))
    received = closed(desk)
    desk.run_due(24 * HOUR)
    assert '<html lang="de' in body(sent(smtp)[2], "html") and rating(desk, received)["contact_id"]


GERMAN = {"language": "de", "subject": "Ihr Urteil zu {{mask}}", "text": "Guten Tag, **{{group_name}}** fragt."}


@pytest.mark.parametrize(
    ("language", "subject", "text"),
    [
        ("de_AT", "Ihr Urteil zu ", "<strong>Support</strong> fragt"),
        ("pt_PT", "Tudo bem? ", "the request is closed"),  # another region, whose blank text is the default one
        ("fr_FR", "Your view, ", "Dear customer"),
        ("", "Your view, ", "Dear customer"),
    ],
)
def test_a_group_asks_in_the_language_of_the_contact_with_its_own_words(
    desk: Post, smtp: SmtpServer, language: str, subject: str, text: str
) -> None:
    texts = [GERMAN, {"language": "pt_BR", "subject": "Tudo bem? {{mask}}"}]
    fields = {"rating_subject": "Your view, {{mask}}", "rating_text": "Dear customer", "rating_texts": texts}
    records.update(desk.context(desk.nora), "group", desk.support, fields)
    stored = desk.one("group", id=desk.support)["rating_texts"]
    assert [each["language"] for each in stored] == ["de", "pt-BR"] and stored[1]["text"] == ""
    desk.create("contact", first_name="Ann", language=language, email_id=desk.address("ann@kite.example"))
    received = closed(desk)
    desk.run_due(24 * HOUR)
    message = sent(smtp)[2]
    assert message["Subject"] == subject + received.mask
    if language != "pt_PT":
        assert text in body(message, "html")
    else:
        assert "Dear customer" not in body(message, "html")


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ([GERMAN, GERMAN | {"language": "de"}], "the language de is there twice"),
        ([GERMAN | {"language": "xx"}], "'xx' is not a known language"),
        ([GERMAN | {"language": ""}], "each subject and text needs its language"),
        ([GERMAN | {"subject": " ", "text": ""}], "de needs a subject or a text"),
        ([GERMAN | {"text": "{{nonsense}}"}], "there is no placeholder {{nonsense}}"),
        ([GERMAN | {"text": "x" * 20_001}], "at most 20000 characters"),
        ([GERMAN | {"subject": "x" * 256}], "at most 255 characters"),
        ([GERMAN | {"other": 1}], "takes a list of maps with language, subject and text"),
        (["de"], "takes a list of maps with language, subject and text"),
        ({"de": "x"}, "takes a list of maps with language, subject and text"),
        (
            [
                GERMAN | {"language": f"{each}"}
                for each in "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs".split()
            ],
            "at most 20 languages",
        ),
    ],
)
def test_texts_in_further_languages_are_checked(desk: Post, texts: Any, problem: str) -> None:
    with pytest.raises(Invalid, match=re.escape(problem)) as refused:
        records.update(desk.context(desk.nora), "group", desk.support, {"rating_texts": texts})
    assert refused.value.details["field"] == "rating_texts"
    assert desk.one("group", id=desk.support)["rating_texts"] == []


# -- the link ----------------------------------------------------------------------------------------------------------


def test_rating_and_changing_it(desk: Post, smtp: SmtpServer) -> None:
    received, code = asked(desk, smtp, Subject="Boat")
    page = customer_ratings.open_page(desk.service, code, desk.now)
    assert (page.state, page.score, page.mask, page.subject) == ("open", "", received.mask, "Boat")
    assert rating(desk, received)["score"] == ""
    page = rate(desk, code, "bad", " Too slow.\r\nReally\x07. ")
    assert (page.state, page.score, page.has_comment, page.until) == ("rated", "bad", True, desk.now + 7 * DAY)
    first = rating(desk, received)
    assert (first["comment"], first["rated_at"], first["changed_at"]) == ("Too slow.\nReally.", desk.now, 0)
    desk.now += 7 * DAY - 1
    rate(desk, code, "good")
    changed = rating(desk, received)
    assert (changed["score"], changed["comment"]) == ("good", "Too slow.\nReally.")
    assert (changed["rated_at"], changed["changed_at"]) == (first["rated_at"], desk.now)
    desk.now += 1
    with pytest.raises(Gone, match="expired"):
        rate(desk, code, "bad")
    assert customer_ratings.open_page(desk.service, code, desk.now).state == "over"
    assert rating(desk, received) == changed


def test_the_same_again_changes_nothing(desk: Post, smtp: SmtpServer) -> None:
    received, code = asked(desk, smtp)
    rate(desk, code, "good", "Thanks")
    before, log = rating(desk, received), desk.activity(received.ticket_id)
    desk.now += 5
    rate(desk, code, "good", "Thanks")
    rate(desk, code, "good")
    assert rating(desk, received) == before and desk.activity(received.ticket_id) == log
    assert log.count("ticket.rated") == 1


def test_a_link_expires(desk: Post, smtp: SmtpServer) -> None:
    received, code = asked(desk, smtp)
    desk.now += 30 * DAY
    with pytest.raises(Gone):
        rate(desk, code, "good")
    assert rating(desk, received)["score"] == ""


def _other_letter(code: str) -> str:
    return ("b" if code[0] == "a" else "a") + code[1:]


def _other_signature(code: str) -> str:
    return code[:-1] + ("b" if code[-1] == "a" else "a")


@pytest.mark.parametrize(
    "changed",
    [
        _other_letter,
        _other_signature,
        lambda code: code.partition("-")[0],
        lambda code: "",
        lambda code: "1",
        str.upper,
    ],
)
def test_altered_codes_open_nothing(desk: Post, smtp: SmtpServer, changed: Any) -> None:
    received, code = asked(desk, smtp)
    with pytest.raises(NotFound):
        rate(desk, changed(code), "good")
    assert rating(desk, received)["score"] == ""


@pytest.mark.parametrize("values", [("great", ""), ("", ""), ("good", "x" * (MAX_COMMENT_CHARS + 1))])
def test_what_is_refused(desk: Post, smtp: SmtpServer, values: tuple[str, str]) -> None:
    received, code = asked(desk, smtp)
    with pytest.raises(Invalid):
        rate(desk, code, *values)
    assert rating(desk, received)["score"] == ""


def test_deleted_tickets_and_ratings_cannot_be_rated(desk: Post, smtp: SmtpServer) -> None:
    received, code = asked(desk, smtp)
    close(desk, received.ticket_id, "deleted")
    with pytest.raises(NotFound):
        rate(desk, code, "good")
    close(desk, received.ticket_id)
    assert rate(desk, code, "good").state == "rated"
    with pytest.raises(HelpdeskError):
        records.delete(desk.context(desk.milo), "rating", rating(desk, received)["id"])
    records.delete(desk.context(desk.nora), "rating", rating(desk, received)["id"])
    with pytest.raises(NotFound):
        customer_ratings.open_page(desk.service, code, desk.now)


# -- what follows ------------------------------------------------------------------------------------------------------


def test_a_merge_takes_the_rating_along_and_gives_it_back(desk: Post, smtp: SmtpServer) -> None:
    received, code = asked(desk, smtp)
    other = mailroom.receive(desk.context(), mail(Message_ID="<o@kite.example>", From="bob@kite.example"))
    kept, merged = sorted((received.ticket_id, other.ticket_id))
    records.update(desk.context(desk.nora), "ticket", kept, {"status": "closed"})
    tickets.merge(desk.context(desk.nora), [kept, merged])
    assert desk.one("rating")["ticket_id"] == kept and rate(desk, code, "bad").state == "rated"
    unmerge.unmerge(desk.context(desk.nora), kept, unmerge.newest(desk.context(desk.nora), kept))
    assert desk.one("rating")["ticket_id"] == received.ticket_id


def test_a_ticket_keeps_one_rating_in_a_merge(desk: Post, smtp: SmtpServer) -> None:
    one, _code = asked(desk, smtp)
    two, other = asked(desk, smtp, Message_ID="<o@kite.example>", From="bob@kite.example")
    tickets.merge(desk.context(desk.nora), [one.ticket_id, two.ticket_id])
    assert [each["ticket_id"] for each in desk.all("rating")] == [one.ticket_id, two.ticket_id]
    assert rate(desk, other, "bad").mask == two.mask and rating(desk, two)["score"] == "bad"


def test_erasing_a_customer_erases_their_words(desk: Post, smtp: SmtpServer) -> None:
    contact = desk.create("contact", first_name="Ann", email_id=desk.address("ann@kite.example"))
    received, code = asked(desk, smtp)
    rate(desk, code, "bad", "I am Ann from Kite Street")
    records.delete(desk.context(desk.nora), "contact", contact)
    stored = rating(desk, received)
    assert (stored["contact_id"], stored["comment"], stored["score"]) == (0, "", "bad")
    records.delete(desk.context(desk.nora), "address", desk.address("ann@kite.example"), is_confirmed=True)
    assert rating(desk, received)["address_id"] == 0
    assert rate(desk, code, "good").score == "good"


def test_a_merge_of_contacts_takes_ratings_along(desk: Post, smtp: SmtpServer) -> None:
    contact = desk.create("contact", first_name="Ann", email_id=desk.address("ann@kite.example"))
    received, code = asked(desk, smtp)
    rate(desk, code, "good", "Fine")
    other = desk.create("contact", first_name="Anna")
    merging.merge(desk.context(desk.nora), "contact", other, [contact])
    stored = rating(desk, received)
    assert (stored["contact_id"], stored["comment"]) == (other, "Fine")


def test_purging_a_ticket_removes_its_rating(desk: Post, smtp: SmtpServer) -> None:
    received, _code = asked(desk, smtp)
    close(desk, received.ticket_id, "deleted")
    desk.run_due(31 * DAY)
    assert desk.all("ticket", id=received.ticket_id) == [] and desk.all("rating") == []


def test_who_sees_a_rating(desk: Post, smtp: SmtpServer) -> None:
    for role in desk.all("role"):
        records.delete(desk.context(desk.nora), "role", role["id"])
    received, code = asked(desk, smtp)
    rate(desk, code, "bad", "Slow")

    def finds(by: int) -> tuple[list[int], list[int], Any]:
        ctx = desk.context(by)
        of_tickets = records.search(ctx, "ticket", records.SearchRequest("rating:bad"))["results"]
        of_ratings = records.search(ctx, "rating", records.SearchRequest("score:bad"))["results"]
        shown = records.retrieve(ctx, "ticket", received.ticket_id, "rating")["rating"]
        return [each["id"] for each in of_tickets], [each["id"] for each in of_ratings], shown and shown["comment"]

    everything = ([received.ticket_id], [rating(desk, received)["id"]], "Slow")
    assert finds(desk.nora) == finds(desk.milo) == everything
    assert finds(desk.olga) == ([], [], None)
    records.update(desk.context(desk.nora), "group", desk.support, {"members": {"manager": str(desk.olga)}})
    assert finds(desk.olga) == everything
    records.update(desk.context(desk.nora), "group", desk.support, {"members": {"remove": str(desk.olga)}})
    assert finds(desk.olga) == ([], [], None)
    fields = {"name": "Quality", "privs_mode": "itemized", "privs": ["contexts.svc.contexts.rating.read"],
              "member_query_worker": f"id:{desk.olga}"}  # fmt: skip
    records.create(desk.context(desk.nora), "role", fields)
    assert finds(desk.olga) == everything
    assert "bad" not in str(desk.all("activity_log", activity_point="ticket.rated"))
    with pytest.raises(Forbidden):
        records.update(desk.context(desk.nora), "rating", rating(desk, received)["id"], {"score": "good"})


def test_rules_and_automations_hear_a_rating(desk: Post, smtp: SmtpServer) -> None:
    builtin_records.add_missing(desk.context())
    form = rule_templates.form_of("bad") | {"zone": "UTC"}
    form["steps"] = [{**form["steps"][0], "worker_ids": str(desk.nora)}]
    fields = {"extension_id": "svc.trigger.ticket.event", "form": form}
    records.create(desk.context(desk.nora), "automation", fields)
    script = f"""
      start:
        record.create:
          output: made
          inputs:
            record_type: comment
            fields:
              target__context: ticket
              target_id@key: ticket_id
              author__context: worker
              author_id: {desk.nora}
              comment: {{{{rating_score}}}}, {{{{rating_comment}}}}, {{{{is_changed}}}}
    """
    listener = {
        "name": "rated",
        "extension_id": "svc.trigger.ticket.rated",
        "script": textwrap.dedent(script),
        "policy_kata": "commands:\n  record.create:\n    allow@bool: yes\n",
    }
    records.create(desk.context(desk.nora), "automation", listener)
    [event] = desk.all("automation_event", name="ticket.rated")
    desk.update("automation_event", event["id"], automations_kata="automation/a:\n  uri: rated\n")
    received, code = asked(desk, smtp)
    rate(desk, code, "good")
    desk.run_due()
    assert notices(desk) == [] and desk.comments("ticket", received.ticket_id) == ["good, , 0"]
    rate(desk, code, "bad", "Broken")
    desk.run_due()
    assert notices(desk) == [received.ticket_id]
    assert desk.comments("ticket", received.ticket_id) == ["good, , 0", "bad, Broken, 1"]


def notices(desk: Post) -> list[int]:
    """Returns the tickets about which nora was told of a bad rating."""
    told = desk.all("notification", worker_id=desk.nora)
    return [each["target_id"] for each in told if "bad rating" in str(each["params"])]


def test_the_change_log_shows_a_rating_to_those_who_may_read_it(desk: Post, smtp: SmtpServer) -> None:
    _received, code = asked(desk, smtp)
    rate(desk, code, "good")
    table = changes.CHANGE
    rows = [dict(zip(table.names, row, strict=True)) for row in desk.read(lambda tx: tx.find(table))]
    kinds = [each["event"] for each in rows if each["context"] == "svc.contexts.rating"]
    assert kinds == ["created", "updated"]
