"""The demo: its plan, the records that it creates in a database, and its removal without a trace."""

import email
import email.policy
import json
import os
import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from server import log
from server.__main__ import main
from server.access.logins import WORKER_LOGIN
from server.access.tokens import TOKEN
from server.apps import app_tokens
from server.automation import examples
from server.automation.macros import forms, macro_result
from server.automation.macros import listing as macros
from server.automation.rules import rule_building
from server.context import Context
from server.errors import AdminOnly, Conflict
from server.first_start import builtin_records, demo, setup, to_do
from server.first_start.demo import demo_writer, first_minute
from server.first_start.demo.demo_files import CSV, PDF, PNG, DemoFile
from server.first_start.demo.desk import customers, members, workers
from server.first_start.demo.mails import mail_of
from server.first_start.demo.plan import (
    MAIL,
    REPLY,
    TICKETS,
    PlannedTicket,
    conversations,
    for_first_administrator,
)
from server.first_start.demo.stories import stories
from server.imports import holidays
from server.jobs.job_queue import JOB
from server.record_types.shared.relation_tables import CHANGE
from server.record_types.shared.triggers import RULE
from server.sign_in.sign_in import Peer
from server.store import blobs, lock
from server.tickets.reply import reply
from server.tickets.rule_events import RULE_EVENT
from server.tickets.types.snippet import SNIPPET_USE
from tests import databases
from tests.records.desk import NOW, Desk
from tests.telling import telling

SUNDAY_NIGHT = 1_795_315_800
MOMENTS = {"weekday": NOW, "sunday": SUNDAY_NIGHT, "leap day": 1_709_164_800 + 7 * 3600}
# The remaining traces of a removed demo, which any record leaves: counters, and gaps in text indexes.
KEPT = {"activity_log", "change_log", "sqlite_sequence"}
STATES = {"open": 20, "waiting": 10, "closed": 240, "deleted": 24}  # at least


# -- the plan
# ------------------------------------------------------------------------------------------------------------


planned_at = cache(conversations)  # for tests that only read


@pytest.fixture(params=telling(MOMENTS, ("sunday",), "every kind of day"))
def planned(request: pytest.FixtureRequest) -> list[PlannedTicket]:
    return planned_at(request.param)


def test_the_demo_is_the_same_every_time() -> None:
    assert conversations(NOW) == planned_at(NOW)
    assert [each.subject for each in planned_at(NOW)] != [each.subject for each in conversations(NOW - 40 * 86400)]


@pytest.mark.parametrize("now", MOMENTS.values(), ids=MOMENTS)
def test_everything_happened_in_the_year_until_now_and_in_order(now: int) -> None:
    for each in planned_at(now):
        times = [step.at for step in each.steps]
        assert times == sorted(times) and now - 372 * 86400 < times[0] and times[-1] <= now
        assert each.steps[0].kind == MAIL and each.steps[0].by == each.customer
        assert all(step.reopen_at == 0 or step.reopen_at > now for step in each.steps)


def test_every_word_of_every_story_is_filled_in(planned: list[PlannedTicket]) -> None:
    assert len(planned) == TICKETS
    texts = [text for each in planned for text in (each.subject, *(step.text for step in each.steps))]
    assert [text for text in texts if re.search(r"[{}]|\w  +\w|\bNone\b", text)] == []
    assert all(each.subject.strip() == each.subject for each in planned)
    assert {each.story for each in planned} == set(stories()) and len(stories()) >= 50


def test_tickets_do_not_look_cloned(planned: list[PlannedTicket]) -> None:
    assert len({each.subject for each in planned}) > TICKETS * 0.7
    firsts = Counter(each.steps[0].text for each in planned)
    assert max(firsts.values()) <= 3 and len(firsts) > TICKETS * 0.95
    assert sum(each.story == other.story for each, other in pairwise(planned)) < 5


def test_replies_come_from_members_of_the_group(planned: list[PlannedTicket]) -> None:
    for each in planned:
        assert {step.by for step in each.steps if step.kind == REPLY} <= set(members(each.story.group))
    assert {step.by for each in planned for step in each.steps if step.kind == REPLY} == set(workers())
    people = [*workers(), *(each for kind in customers().values() for each in kind)]
    assert all(each.email.endswith(".demo.example") for each in people)


def test_mails_are_whole(planned: list[PlannedTicket]) -> None:
    kinds = set()
    for each in {each.story: each for each in planned}.values():
        for step in each.steps:
            if step.kind == MAIL:
                answers = ("0@desk.demo.example", "1@desk.demo.example")
                raw = mail_of(step, "help@desk.example", each.subject, "2@desk.demo.example", answers)
                mail = email.message_from_bytes(raw, policy=email.policy.default)
                assert not any(part.defects for part in mail.walk())
                assert mail["Subject"] == f"Re: {each.subject}" and step.by.email in str(mail["From"])
                assert [file.get_filename() for file in mail.iter_attachments()] == [file.name for file in step.files]
                kinds.add(mail.get_content_type())
    assert kinds == {"text/plain", "multipart/alternative", "multipart/mixed"}


def test_files_are_what_they_say(planned: list[PlannedTicket]) -> None:
    files = [file for each in planned for step in each.steps for file in step.files]
    assert {PDF, PNG, CSV, "text/plain"} == {each.mime_type for each in files}
    for each in files:
        assert len(each.content) < 10_000 and re.fullmatch(r"[\w. -]+\.(pdf|png|csv|txt)", each.name)
        if each.mime_type == PDF:
            _check_pdf(each)
        elif each.mime_type == PNG:
            _check_png(each)


def _check_pdf(file: DemoFile) -> None:
    """Checks that the table at the end of a PDF lists the offset of each object."""
    content = file.content
    start = int(content.rpartition(b"startxref\n")[2].split()[0])
    assert content[start:].startswith(b"xref\n") and content.endswith(b"%%EOF\n")
    places = [int(line[:10]) for line in content[start:].splitlines()[3:] if line.endswith(b" n ")]
    assert len(places) == 5
    assert all(content[place:].startswith(b"%d 0 obj\n" % number) for number, place in enumerate(places, 1))
    (length,) = re.findall(rb"/Length (\d+)", content)
    assert len(content.partition(b"stream\n")[2].partition(b"\nendstream")[0]) == int(length)


def _check_png(file: DemoFile) -> None:
    rest, names = file.content.removeprefix(b"\x89PNG\r\n\x1a\n"), []
    while rest:
        (length,) = struct.unpack(">I", rest[:4])
        assert struct.unpack(">I", rest[8 + length : 12 + length]) == (zlib.crc32(rest[4 : 8 + length]),)
        names.append(rest[4:8])
        if names[-1] == b"IDAT":
            assert len(zlib.decompress(rest[8 : 8 + length])) == 300 * 481
        rest = rest[12 + length :]
    assert names == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]


# -- the records
# ---------------------------------------------------------------------------------------------------------


def _new(folder: Path) -> Desk:
    opened = Desk(folder)
    setup.prepare(opened.context())
    builtin_records.add_missing(opened.context())
    setup.furnish(opened.context())
    return opened


def _nora(desk: Desk) -> int:
    made: int = desk.create(
        "worker", first_name="Nora", email="nora@desk.example", language="en_US", timezone="UTC", is_superuser="1"
    )["id"]
    return made


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = _new(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def nora(desk: Desk) -> int:
    return _nora(desk)


class Filled(NamedTuple):
    """A desk with the demo. nora: her id. before: rows in each table before it was filled. progress: reported steps."""

    desk: Desk
    nora: int
    made: demo.Made
    before: dict[str, int]
    progress: list[tuple[int, int]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A desk with the demo, for tests that only read."""
    opened = _new(tmp_path_factory.mktemp("filled"))
    nora = _nora(opened)
    for name in ("mail.received", "mail.filter", "record.changed"):
        (event,) = opened.found("automation_event", f"name:{name}")
        opened.update("automation_event", event, automations_kata="automation/none:\n  uri: {{'none'}}\n")
    before = _rows(opened)
    progress: list[tuple[int, int]] = []
    made = demo.fill(opened.context(nora), lambda done, total: progress.append((done, total)))
    yield Filled(opened, nora, made, before, progress)
    opened.close()


@pytest.fixture
def own(filled: Filled, tmp_path: Path) -> Iterator[Filled]:
    """A desk with the demo, for one test that changes it."""
    with _copy(filled.desk, tmp_path) as desk:
        yield filled._replace(desk=desk)


@contextmanager
def _copy(filled: Desk, folder: Path) -> Iterator[Desk]:
    databases.copy(filled.store, folder)
    desk = Desk(folder)
    yield desk
    desk.close()


def _rows(desk: Desk) -> dict[str, int]:
    """The number of rows in each table, except tables with remaining traces; no texts wait for their index."""
    desk.store.write(desk.store.tidy)

    def read(tx: Any) -> dict[str, int]:
        names = databases.tables(tx.connection)
        wanted = [each for each in names if each not in KEPT and not each.endswith(("_data", "_idx"))]
        return {name: tx.connection.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] for name in wanted}

    return desk.read(read)


def _settings_left(before: dict[str, int]) -> dict[str, int]:
    """The rows of settings after the removal of a demo: the names of its two settings stay."""
    return {"service_setting": before["service_setting"] + 2}


def test_there_is_something_of_everything(filled: Filled) -> None:
    desk, made = filled.desk, filled.made
    assert (made.tickets, made.workers, made.groups, made.orgs) == (TICKETS, 8, 3, 14)
    for state, least in STATES.items():
        assert len(desk.found("ticket", f"status:{state} limit:250")) >= least, state
    for q in (
        "status:open owner.id:none",
        "status:waiting reopen:>now",
        "spam.training:s",
        "messages.count:>4",
        "status:open messages.count.out:0",
        "comments:(text:customer)",
        "rating:good status:closed",
        "rating:bad",
        "rating:asked",
        "ratings:(comment:*times*)",
    ):
        assert desk.found("ticket", q), q
    for mime_type in ("application/pdf", "image/png", "text/csv", "text/plain", "text/html"):
        assert desk.found("attachment", f"mimetype:{mime_type}"), mime_type
    for status in ("open", "waiting", "closed"):
        assert desk.found("task", f"status:{status}"), status
    assert len(desk.found("contact", "org.id:>0")) > 30 and len(desk.read(demo.record_ids)["snippet"]) == 6
    for text in ("<table>", "<blockquote>", "<a href=", "<ul>"):
        assert any(text.encode() in content for content in _html(desk)), text


def _html(desk: Desk) -> list[bytes]:
    ids = [desk.row("attachment", id)["blob_id"] for id in desk.found("attachment", "mimetype:text/html limit:250")]
    return desk.read(lambda tx: [blobs.read(tx, id) for id in ids])


def test_who_fills_it_has_something_to_do(filled: Filled) -> None:
    desk, nora = filled.desk, filled.nora
    mine = desk.found("ticket", "owner.id:me status:open", by=nora)
    assert len(mine) == 8
    assert len(desk.found("group", "member:(me)", by=nora)) == 3


# -- the first minute --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("now", MOMENTS.values(), ids=MOMENTS)
def test_who_loads_it_gets_late_and_waiting_tickets_at_any_hour(now: int) -> None:
    mine = for_first_administrator(planned_at(now), now)
    states = Counter(each.status for each in mine)
    assert states == {"open": 8, "waiting": 3} and any(each.steps[0].files for each in mine)
    unanswered = [each for each in mine if all(step.kind != REPLY for step in each.steps)]
    assert len(unanswered) >= 5 and all(each.next_mail for each in mine if each.status == "waiting")


class Sunday(NamedTuple):
    """A desk that `helpdesk demo` has filled on a Sunday night. before: rows in each table before it was filled."""

    desk: Desk
    nora: int
    before: dict[str, int]

    @property
    def ctx(self) -> Context:
        return replace(self.desk.context(self.nora), now=SUNDAY_NIGHT)


@pytest.fixture(scope="module")
def filled_on_sunday(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sunday]:
    opened = _new(tmp_path_factory.mktemp("sunday"))
    nora = _nora(opened)
    before = _rows(opened)
    demo.fill(replace(opened.context(), now=SUNDAY_NIGHT))
    yield Sunday(opened, nora, before)
    opened.close()


@pytest.fixture
def sunday(filled_on_sunday: Sunday, tmp_path: Path) -> Iterator[Sunday]:
    with _copy(filled_on_sunday.desk, tmp_path) as desk:
        yield filled_on_sunday._replace(desk=desk)


def test_first_responses_are_due_and_late_on_a_sunday_night(sunday: Sunday) -> None:
    desk = sunday.desk
    rows = [desk.row("ticket", id) for id in desk.found("ticket", "status:open limit:250")]
    late = [each for each in rows if 0 < each["due_at"] < SUNDAY_NIGHT]
    monday = [each for each in rows if SUNDAY_NIGHT < each["due_at"] < SUNDAY_NIGHT + 2 * 86400]
    assert len(late) >= 4 and len(monday) >= 5
    assert not any(each["tell_at"] for each in rows)  # nobody is notified of them


def test_the_first_administrator_to_see_the_inbox_gets_tickets(sunday: Sunday) -> None:
    desk, nora = sunday.desk, sunday.nora
    assert desk.found("ticket", "owner.id:me", by=nora) == []
    demo.welcome(sunday.ctx)
    assert len(desk.found("ticket", "owner.id:me status:open", by=nora)) == 8
    assert len(desk.found("ticket", "owner.id:me status:waiting", by=nora)) == 3
    assert len(desk.found("group", "member:(me)", by=nora)) == 3
    (draft,) = (desk.row("draft", id) for id in desk.found("draft", ""))
    assert draft["worker_id"] == nora and draft["params"]["content"].startswith("Hello,")
    name = desk.row("worker", nora)["at_mention_name"] or "Nora"
    assert len(desk.found("comment", f"text:{name}")) == 1
    demo.welcome(sunday.ctx)
    assert len(desk.found("ticket", "owner.id:me status:open", by=nora)) == 8


def test_other_workers_do_not_begin_the_first_minute(sunday: Sunday) -> None:
    desk, before = sunday.desk, _rows(sunday.desk)
    milo = desk.create("worker", first_name="Milo", email="milo@desk.example", language="en_US", timezone="UTC")["id"]
    demo.welcome(desk.context(milo))
    assert desk.found("ticket", "owner.id:me", by=milo) == [] and _rows(desk)["job"] == before["job"]


def test_one_customer_writes_while_the_administrator_looks(sunday: Sunday) -> None:
    desk, nora = sunday.desk, sunday.nora
    demo.welcome(sunday.ctx)
    demo.welcome(sunday.ctx)
    (job,) = desk.read(lambda tx: tx.find(JOB, kind=first_minute.KIND))
    at = job[JOB.position["due_at"]]
    assert 20 <= at - SUNDAY_NIGHT <= 40
    for _attempt in range(2):  # a job that was killed runs again
        first_minute.receive_mail(desk.service, json.loads(job[JOB.position["payload"]]), at)
    assert len(desk.found("ticket", "owner.id:me status:open", by=nora)) == 9
    (ticket,) = desk.found("ticket", "owner.id:me status:open sort:-updated limit:1", by=nora)[:1]
    message = desk.row("message", desk.row("ticket", ticket)["latest_message_id"])
    assert (message["created"], message["is_outgoing"]) == (at, 0)
    told = [desk.row("notification", id) for id in desk.found("notification", "")]
    assert (nora, "ticket.message.inbound", ticket) in [
        (each["worker_id"], each["activity_point"], each["target_id"]) for each in told
    ], told


def test_the_removal_ends_the_first_minute_as_well(sunday: Sunday) -> None:
    desk, before = sunday.desk, sunday.before
    demo.welcome(sunday.ctx)
    (job,) = desk.read(lambda tx: tx.find(JOB, kind=first_minute.KIND))
    first_minute.receive_mail(desk.service, json.loads(job[JOB.position["payload"]]), SUNDAY_NIGHT + 25)
    demo.remove(desk.context(sunday.nora))
    assert _rows(desk) == before | _settings_left(before)


def test_a_reply_goes_only_to_the_sender(filled: Filled) -> None:
    desk = filled.desk
    for id in desk.found("message", "isOutgoing:no ticket:(status:open)"):
        shown = desk.record("message", id, expand="reply_to,reply_cc,sender_")
        assert shown["reply_to"] == shown["sender_email"] and shown["reply_cc"] == ""


def test_macros_do_what_they_say(filled: Filled) -> None:
    desk, nora = filled.desk, filled.nora
    ctx, labels = desk.context(nora), {}
    for group in ("Hardware", "Orders"):
        (ticket,) = desk.found("ticket", f"group:(name:{group}) status:open limit:1", by=nora)[:1]
        labels[group] = {each.label: each for each in macros.usable(ctx, ticket)}
    assert set(labels["Orders"]) == {"Promise a call", "Close as solved", "Order a spare part", "Ask for details"}
    assert set(labels["Hardware"]) == {*labels["Orders"], "Ask for the serial number"}
    assert sum(bool(each.more) for each in labels["Hardware"].values()) == 3
    for each in labels["Hardware"].values():
        given = macros.values_of(ctx, ticket) | {"inputs": {}}
        found = examples.simulate(ctx, each.automation, given)
        done = macro_result.read(found.returned, nora)
        status = done.changes.get("status") or done.changes.get("status_name_id")
        assert found.state == "return" and done.reply and status, (each.label, found.message)
        assert "{" not in done.reply + done.note and done.sends == (each.label == "Close as solved")


def test_tickets_have_tags_and_named_statuses(filled: Filled) -> None:
    desk = filled.desk
    for name in ("vip", "damaged", "spare part", "refund", "idea"):
        assert desk.found("ticket", f'tag:"{name}"'), name
    for name in ("Waiting for customer", "Waiting for supplier"):
        assert desk.found("ticket", f'status:"{name}"') and desk.found("ticket", f'status:waiting status:"{name}"'), (
            name
        )
    assert desk.found("ticket", f'-status:waiting status:"{name}"') == []


def test_tickets_have_values_of_custom_fields(filled: Filled) -> None:
    desk = filled.desk
    for option in ("Label printer", "Card reader", "Cash drawer"):
        tickets = desk.found("ticket", f'device:"{option}"')
        assert len(tickets) >= 5, option
    numbered = desk.found("ticket", "order_number:SO*")
    assert len(numbered) >= 20
    ids = desk.read(demo.record_ids)["custom_field"]
    texts = desk.record("ticket", numbered[0], expand="custom_")
    assert re.fullmatch(r"SO-\d{5}", texts[f"custom_{ids[1]}"])


def test_rules_are_built_by_form_and_send_nothing(filled: Filled) -> None:
    desk = filled.desk
    rows = [desk.row("automation", id) for id in desk.found("automation", f"trigger:{RULE}")]
    of_rules = [rule_building.form_of(each) for each in rows]
    assert [each["name"] for each in rows] == [
        "rule.vip-first", "rule.tag-damaged-goods", "rule.remind-the-owner-of-a-missed-target",
    ]  # fmt: skip
    assert {step["kind"] for form in of_rules if form is not None for step in form.steps} == {
        "importance", "tags", "notify",
    }  # fmt: skip
    assert desk.read(lambda tx: tx.find(RULE_EVENT)) == []  # they do not run on the tickets of the demo


def test_a_group_assigns_in_turn_while_a_colleague_is_away(filled: Filled) -> None:
    desk, nora = filled.desk, filled.nora
    assert len(desk.found("group", "assigns:round_robin", by=nora)) == 1
    (away,) = (desk.row("worker", id) for id in desk.found("worker", "isAway:yes", by=nora))
    assert away["away_stand_in_id"] and away["away_until"] > NOW
    (calendar,) = desk.read(demo.record_ids)["calendar"]
    assert len(holidays.of_calendar(desk.context(nora), calendar)) == 4
    assert len(desk.found("kb_article", "")) == 4


def test_snippets_and_macros_were_used(filled: Filled) -> None:
    desk, ids = filled.desk, filled.desk.read(demo.record_ids)["snippet"]
    uses = [desk.row("snippet", id)["total_uses"] for id in ids]
    by_worker = desk.read(lambda tx: tx.find(SNIPPET_USE))
    assert min(uses) > 0 and sum(row[SNIPPET_USE.position["uses"]] for row in by_worker) == sum(uses)
    assert all(each.uses > 0 for each in forms.list_macros(desk.context(filled.nora)) if each.name.startswith("demo."))


def test_saved_searches_find_something(filled: Filled) -> None:
    desk, ids = filled.desk, filled.desk.read(demo.record_ids)["saved_search"]
    assert len(ids) == 6
    for each in (desk.row("saved_search", id) for id in ids):
        assert desk.found("ticket", each["query"]), each["name"]


def test_no_notification_and_no_mail_is_sent(filled: Filled) -> None:
    desk, before = filled.desk, filled.before
    after = _rows(desk)
    for table in ("job", "notification", "automation_log", "spam_lesson", "spam_word"):
        assert after[table] == before[table], table
    assert [desk.row("draft", id)["is_queued"] for id in desk.found("draft", "")] == [0]


def test_the_order_of_records_is_that_of_time(filled: Filled) -> None:
    desk = filled.desk
    for uri in ("message", "ticket"):
        record_type = desk.registry.type(uri)
        rows = desk.read(lambda tx, table=record_type.table: tx.find(table))  # type: ignore[misc]
        times = [record_type.record(row)["created"] for row in sorted(rows)]
        assert len(times) >= TICKETS and times == sorted(times)


def test_the_change_log_tells_of_it_as_of_now(filled: Filled) -> None:
    desk = filled.desk
    assert {row[CHANGE.position["at"]] for row in desk.read(lambda tx: tx.find(CHANGE))} == {NOW}


def test_a_worker_of_the_demo_cannot_sign_in(filled: Filled) -> None:
    desk = filled.desk
    ids = desk.read(demo.record_ids)["worker"]
    rows = [desk.row("worker", id) for id in ids]
    assert [each["is_password_disabled"] for each in rows] == [1] * 8 and not any(each["is_superuser"] for each in rows)
    assert desk.read(lambda tx: [tx.first(WORKER_LOGIN, worker_id=id) for id in ids]) == [None] * 8


@pytest.mark.parametrize("work", [demo.fill, demo.remove])
def test_only_administrators_may(desk: Desk, nora: int, work: Callable[..., Any]) -> None:
    milo = desk.create("worker", first_name="Milo", email="milo@desk.example", language="en_US", timezone="UTC")["id"]
    with pytest.raises(AdminOnly):
        work(desk.context(milo))


def test_there_is_one_demo_at_most(filled: Filled) -> None:
    desk = filled.desk
    before = _rows(desk)
    with pytest.raises(Conflict, match="remove it first"):
        demo.fill(desk.context())
    assert _rows(desk) == before


def test_a_demo_beside_other_tickets_is_no_reason_to_tick_them_off(own: Filled) -> None:
    desk, nora = own.desk, own.nora
    done = {each.name for each in to_do.list_items(desk.context(nora)) if each.is_done}
    assert not done & {"ticket", "worker"}, done
    desk.own("ticket", subject="Real", group_id=1)
    desk.create("worker", first_name="Milo", email="milo@desk.example", language="en_US", timezone="UTC")
    assert {each.name for each in to_do.list_items(desk.context(nora)) if each.is_done} == {"ticket", "worker"}


@pytest.mark.exhaustive("a demo of its own")
def test_the_first_administrator_joins_a_demo_that_is_there(desk: Desk) -> None:
    demo.fill(desk.context())
    path = setup.setup_path(desk.context())
    assert path is not None
    person = {"first_name": "Nora", "email": "nora@desk.example", "timezone": "UTC", "password": "a long password"}
    setup.finish_setup(desk.context(), path.removeprefix("/setup/"), person, Peer("127.0.0.1", ""))
    (id,) = desk.found("worker", "email:(email:nora@desk.example)")
    assert desk.actor(id).manages >= set(desk.read(demo.record_ids)["group"])


# -- removal
# -------------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive("a demo of its own")
def test_its_removal_leaves_nothing(own: Filled) -> None:
    desk, nora, before = own.desk, own.nora, own.before
    assert demo.remove(desk.context(nora)) == TICKETS
    after = _rows(desk)
    assert after == before | _settings_left(before)
    assert not desk.read(demo.is_there)
    assert [each["activity_point"] for each in desk.log()[-2:]] == ["demo.added", "demo.removed"]
    assert demo.fill(desk.context(nora)).tickets == TICKETS


class Removed(NamedTuple):
    """A desk whose demo was removed after people had worked with it. Ids: of a service target of their own that uses
    the calendar of the demo, of that calendar, and of a worker of the demo for whom a token was made."""

    desk: Desk
    before: dict[str, int]
    target: int
    calendar: int
    worker: int


@pytest.fixture(scope="module")
def removed(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Removed]:
    with _copy(filled.desk, tmp_path_factory.mktemp("removed")) as desk:
        nora, ids = filled.nora, desk.read(demo.record_ids)
        (calendar,), worker = ids["calendar"], ids["worker"][0]
        own = {"name": "Ours", "response_minutes": "60", "calendar_id": str(calendar)}
        target = desk.create("service_target", by=nora, **own)["id"]
        app_tokens.create(desk.context(nora), worker, 0, "api", "1 hour", "test", is_renewable=False)
        assert desk.read(lambda tx: tx.find(TOKEN, worker_id=worker)) != []
        (ticket,) = desk.found("ticket", "owner.id:me status:open limit:1", by=nora)[:1]
        desk.create("comment", by=nora, target__context="ticket", target_id=str(ticket), comment="Mine.")
        message = desk.row("ticket", ticket)["latest_message_id"]
        reply(desk.context(nora), {"message_id": str(message), "content": "Mine.", "dont_send": "1"})
        desk.update("ticket", ticket, by=nora, subject="Mine")
        demo.remove(desk.context(nora))
        yield Removed(desk, filled.before, target, calendar, worker)


def test_what_people_wrote_on_its_tickets_goes_too(removed: Removed) -> None:
    before, after = removed.before, _rows(removed.desk)
    assert [after[name] for name in ("ticket", "message", "comment")] == [
        before[name] for name in ("ticket", "message", "comment")
    ]
    assert removed.desk.log(target__context="svc.contexts.ticket") == []


def test_a_calendar_that_others_use_stays(removed: Removed) -> None:
    desk = removed.desk
    assert desk.found("service_target", "") == [removed.target]
    assert desk.row("calendar", removed.calendar)["name"] == "Support hours"


def test_a_token_that_somebody_made_for_a_worker_of_it_is_gone(removed: Removed) -> None:
    assert removed.desk.read(lambda tx: tx.find(TOKEN, worker_id=removed.worker)) == []


@pytest.mark.exhaustive("a demo of its own")
def test_what_others_rest_on_stays(own: Filled) -> None:
    desk, nora = own.desk, own.nora
    group = desk.read(demo.record_ids)["group"][0]
    ticket = desk.create(
        "ticket", by=nora, subject="Real", group_id=str(group), participants="ana@larch-bicycles.demo.example",
        owner_id=str(nora),
    )["id"]  # fmt: skip
    worker = desk.read(demo.record_ids)["worker"][0]
    desk.update("ticket", ticket, by=nora, owner_id=str(worker))
    demo.remove(desk.context(nora))
    row = desk.row("ticket", ticket)
    assert (row["owner_id"], row["group_id"]) == (0, desk.found("group", "default:yes")[0])
    assert len(desk.found("address", "host:*.demo.example")) == 1
    assert len(desk.found("contact", "")) == 1 and desk.found("org", "name:Larch*")
    demo.remove(desk.context(nora))  # a second removal is harmless
    assert desk.row("ticket", ticket)["subject"] == "Real"


@pytest.mark.exhaustive("a demo of its own")
def test_what_was_cut_short_is_removed_as_well(desk: Desk, nora: int) -> None:
    before = _rows(desk)

    def stop(done: int, total: int) -> None:
        if done > total // 3:
            raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        demo.fill(desk.context(nora), stop)
    with pytest.raises(Conflict):
        demo.fill(desk.context(nora))
    assert 0 < demo.remove(desk.context(nora)) < TICKETS
    assert _rows(desk) == before | _settings_left(before)


@pytest.mark.exhaustive("a demo of its own")
def test_what_was_deleted_meanwhile_is_no_obstacle(own: Filled) -> None:
    desk, nora, before = own.desk, own.nora, own.before
    made = desk.read(demo.record_ids)
    desk.delete("worker", made["worker"][0], by=nora)
    desk.delete("group", made["group"][0], by=nora)
    desk.delete("contact", made["contact"][0], by=nora)
    desk.delete("task", made["task"][0], by=nora)
    demo.remove(desk.context(nora))
    after = _rows(desk)
    jobs = {"job": after["job"]}  # for the automations that the four deletions start
    assert after == before | jobs | _settings_left(before)


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Any]]:
    """Runs `helpdesk demo` on a folder that does not exist yet; returns exit code, standard output, standard error."""
    monkeypatch.setattr(log, "configure", lambda *_: None)
    mask = os.umask(0o022)

    def run_one(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["demo", *arguments, "--data", str(tmp_path / "data")])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    yield run_one
    os.umask(mask)


@pytest.mark.exhaustive("a demo of its own")
def test_an_empty_folder_becomes_a_desk(run: Callable[..., Any], tmp_path: Path) -> None:
    code, out, err = run()
    assert code == 0 and out.startswith("520 tickets with ") and "8 workers in 3 groups" in out
    assert all(" a second, about " in line for line in err.splitlines())  # progress, if the command takes long
    assert f"helpdesk serve --data {tmp_path / 'data'}` and open the setup link" in out


def test_a_desk_has_one_demo_until_it_is_removed(run: Callable[..., Any], filled: Filled, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    databases.copy(filled.desk.store, tmp_path / "data")
    code, out, err = run()
    assert (code, out) == (1, "") and "already exists" in err
    assert run("--remove")[:2] == (0, "520 tickets removed, with everything that belonged to them\n")
    code, out, err = run("--remove")
    assert (code, out) == (1, "") and "no demo data" in err


@pytest.mark.exhaustive("a demo of its own")
def test_a_service_with_tickets_is_left_alone_unless_told(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = tmp_path / "mail.eml"
    mail.write_text("From: ana@larch.example\nSubject: Real\n\nHello")
    assert main(["mail", "import", str(mail), "--data", str(tmp_path / "data")]) == 0
    code, out, err = run()
    assert (code, out) == (1, "") and "--add" in err
    assert run("--add")[0] == 0


def test_where_a_server_runs_the_command_says_where_to_go(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    held = lock.FolderLock(tmp_path / "data")
    held.take()
    try:
        assert "stop it first" in run()[2]
        held.publish_address("http://127.0.0.1:8200")
        code, out, err = run()
        assert (code, out) == (1, "") and "http://127.0.0.1:8200/setup/start" in err
    finally:
        held.release()
    assert not (tmp_path / "data" / "helpdesk.db").exists()


def test_nothing_is_removed_where_nothing_is(run: Callable[..., Any], tmp_path: Path) -> None:
    code, out, err = run("--remove")
    assert (code, out) == (1, "") and "there is no database" in err and not (tmp_path / "data").exists()


def test_steps_are_written_in_portions(filled: Filled) -> None:
    steps = filled.progress
    total = steps[-1][1]
    assert steps[-1] == (total, total) and [done for done, _ in steps[:2]] == [demo_writer.BATCH, 2 * demo_writer.BATCH]
