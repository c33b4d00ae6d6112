"""Writes the demo into the database, in chronological order. Mails are parsed and texts rendered before the writer is
used; then one transaction contains many steps. Automations do not run, workers are not notified, and nothing is
sent."""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from server import times
from server.access import actor as actors
from server.access.actor import APP
from server.automation.macros import forms as macro_forms
from server.automation.rules import rule_building
from server.context import Context
from server.contexts import GROUP, TASK, TICKET, WORKER
from server.dataclass import dataclass
from server.errors import Conflict, Invalid
from server.first_start.demo import demo_ratings, desk, first_minute, plan
from server.first_start.demo.demo_files import DemoFile
from server.first_start.demo.desk import Person
from server.first_start.demo.kept import DOING, KEY, PLAIN, Ids, enroll, is_there
from server.first_start.demo.mails import mail_of, message_id, message_ids
from server.first_start.demo.plan import DAY, HOUR, PlannedTicket, Step, conversations
from server.mail.addresses import DEMO_DOMAIN, NamedAddress
from server.mail.spam_score import HIGHEST
from server.mailroom import incoming as reading
from server.mailroom import sender as senders
from server.mailroom import storing
from server.mailroom.incoming import IncomingMail
from server.outbox.content import MARKDOWN, Body, Signature, body_of
from server.outbox.deliver import MailSpec
from server.outbox.sender import NO_SENDER, default_sender
from server.people import nicknames
from server.people.next_owner import ROUND_ROBIN
from server.record_types.kb.categories import PLACED
from server.record_types.record_type import Record
from server.record_types.shared import tags
from server.record_types.shared.relation_tables import CONTACT_TAG, ORG_TAG, TICKET_TAG
from server.record_types.shared.triggers import MACRO, RULE
from server.record_types.task import STATUSES as TASK_STATUSES
from server.records import changes, service_settings
from server.records.writing import RecordWriter
from server.rules import steps as rule_steps
from server.store.transaction import Transaction
from server.tickets import due_times, letter, requesters
from server.tickets.letter import Recipients
from server.tickets.types.snippet import SNIPPET_USE
from server.tickets.types.ticket import STATUSES
from server.tickets.types.ticket_parts import status_names
from server.tickets.types.ticket_parts.spam_verdict import SPAM
from server.tickets.types.ticket_parts.status import DELETED

BATCH = 80  # steps in one transaction, which delays other writes
MARKDOWN_FORMAT = 2  # of articles
BEGUN_DAYS = 370  # age of the demo's people

Progress = Callable[[int, int], None]  # (steps done, steps in all)


@dataclass(frozen=True, slots=True)
class Made:
    """The size of the demo."""

    tickets: int
    messages: int
    workers: int
    groups: int
    orgs: int


def fill(ctx: Context, progress: Progress = lambda done, total: None) -> Made:
    """Creates the whole demo. The caller joins its groups and gets a part of the open work. Raises AdminOnly; Conflict
    if there is a demo already; Invalid if the service has no sender."""
    ctx.require_admin(DOING)
    ctx = replace(ctx, is_quiet=True)
    store = ctx.service.store
    if store.read(is_there):
        raise _there_already()
    tickets = conversations(ctx.now)
    demo_desk = store.write(lambda tx: _dated(ctx, tx, _people))
    _write_steps(ctx, demo_desk, tickets, progress)
    own_tickets = [each.number for each in plan.for_first_administrator(tickets, ctx.now)]
    store.write(lambda tx: _dated(ctx, tx, lambda writing: demo_desk.furnish(writing, own_tickets)))
    messages = sum(step.kind in (plan.MAIL, plan.REPLY) for each in tickets for step in each.steps)
    return Made(len(tickets), messages, len(desk.workers()), len(desk.content()["groups"]), len(desk.content()["org"]))


def _write_steps(ctx: Context, demo_desk: "_Desk", tickets: Sequence[PlannedTicket], progress: Progress) -> None:
    """Writes all steps of all tickets in chronological order."""
    steps = sorted((step.at, each.number, place) for each in tickets for place, step in enumerate(each.steps))
    for start in range(0, len(steps), BATCH):
        portion = steps[start : start + BATCH]
        steps_ready = [_prepared(ctx, demo_desk.sender, tickets[number - 1], place) for _, number, place in portion]
        ctx.service.store.write(
            lambda tx, ready=steps_ready: _dated(ctx, tx, lambda writing: demo_desk.write(writing, ready))  # type: ignore[misc]
        )
        progress(min(start + BATCH, len(steps)), len(steps))


def _dated(ctx: Context, tx: Transaction, work: Callable[[RecordWriter], Any]) -> Any:
    """Runs `work` at other times; the change log records the present time."""
    before = changes.now(tx)
    result = work(RecordWriter(ctx, tx))
    changes.set_time_after(tx, before, ctx.now)
    return result


def _there_already() -> Conflict:
    return Conflict("the demo data already exists; remove it first")


# -- before the writer is used ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A step with everything that needs no database. answers: ids of the messages before it, the oldest first."""

    planned: PlannedTicket
    step: Step
    message_id: str
    answers: tuple[str, ...]
    waited_seconds: int
    incoming: IncomingMail | None = None
    body: Body | None = None


def _prepared(ctx: Context, sender: Record, planned: PlannedTicket, place: int) -> _Prepared:
    step = planned.steps[place]
    answers = message_ids(planned, place)
    came = next((each.at for each in reversed(planned.steps[:place]) if each.kind == plan.MAIL), step.at)
    prepared = _Prepared(planned, step, message_id(planned, place), answers, step.at - came)
    if step.kind == plan.MAIL:
        raw = mail_of(step, sender["email"], planned.subject, prepared.message_id, answers)
        return replace(prepared, incoming=reading.read(ctx.service, raw, step.at))
    if step.kind == plan.REPLY:
        return replace(prepared, body=body_of(step.text, MARKDOWN, Signature(), None))
    return prepared


# -- people ------------------------------------------------------------------------------------------------------------


def _people(writing: RecordWriter) -> "_Desk":
    """Creates the people, groups and buckets. Raises Conflict if there is a demo, Invalid without a sender address."""
    if is_there(writing.tx):
        raise _there_already()
    sender = writing.record("address", default_sender(writing.tx))
    if sender is None:
        raise Invalid(NO_SENDER)
    demo_desk = _Desk(writing.ctx, sender)
    past = RecordWriter(replace(writing.ctx, now=writing.now - BEGUN_DAYS * DAY), writing.tx)
    demo_desk.mark(past)
    demo_desk.hire(past)
    demo_desk.meet(past)
    demo_desk.remember(writing)
    writing.log("demo.added", APP, 0, {})
    return demo_desk


def _record(writing: RecordWriter, uri: str, id: int) -> Record:
    record = writing.record(uri, id)
    assert record is not None
    return record


@dataclass(slots=True)
class _Desk:
    """The records created so far, by their names in the plan. A write may run twice, so values are replaced rather than
    appended."""

    ctx: Context
    sender: Record  # the address that mail comes from
    ids: Ids = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    buckets: dict[tuple[str, str], int] = field(default_factory=dict)
    addresses: dict[str, Record] = field(default_factory=dict)
    tickets: dict[int, Record] = field(default_factory=dict)
    tags: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)

    def mark(self, writing: RecordWriter) -> None:
        """Creates the tags, the names of statuses and the custom fields. A tag or name that is there already does not
        belong to the demo and is used; a field of the same name is left alone."""
        for each in desk.content()["tag"]:
            id = tags.tag_id(writing.tx, each["name"])
            self.tags[each["name"]] = id or self._make(writing, "tag", {"name": each["name"], "color": each["color"]})
        for each in desk.content()["status"]:
            id = status_names.read(writing.tx).by_key.get(status_names.name_key(each["name"]), 0)
            values = {"name": each["name"], "status_id": STATUSES["waiting"], "color": each["color"]}
            self.statuses[each["name"]] = id or self._make(writing, "ticket_status", values)
        self.fields = {}
        for each in desk.content()["field"]:
            if writing.tx.first(writing.registry.type("custom_field").table, uri=each["uri"]) is None:
                values = {name: each[name] for name in ("name", "uri", "type")} | {"context": TICKET}
                params = {"options": each["options"]} if "options" in each else {}
                self.fields[each["name"]] = self._make(writing, "custom_field", values | {"params": params})

    def hire(self, writing: RecordWriter) -> None:
        """Creates the workers, without passwords and invitations, and their groups."""
        for each in desk.workers():
            self.workers[each.email] = self._make(
                writing,
                "worker",
                {
                    "first_name": each.first_name,
                    "last_name": each.last_name,
                    "title": each.title,
                    "email_id": self._address(writing, each)["id"],
                    "location": each.location,
                    "language": "en_US",
                    "timezone": each.timezone,
                    "is_password_disabled": 1,
                    "at_mention_name": nicknames.free(writing.tx, each.first_name, each.last_name),
                },
            )
        for name, buckets in desk.content()["groups"].items():
            id = self.groups[name] = self._make(writing, "group", {"name": name})
            enroll(writing, id, self._members(name))
            self.buckets[name, "Inbox"] = _record(writing, "group", id)["default_bucket_id"]
            for bucket in buckets:
                self.buckets[name, bucket] = writing.create("bucket", {"name": bucket, "group_id": id})

    def meet(self, writing: RecordWriter) -> None:
        """Creates the organizations and customers."""
        orgs = {
            each["name"]: self._make(
                writing,
                "org",
                {
                    "name": each["name"],
                    "website": f"https://{each['host']}.{DEMO_DOMAIN}",
                    "city": each["city"],
                    "country": each["country"],
                },
            )
            for each in desk.content()["org"]
        }
        tags_of_org = {
            org: [self.tags[each["name"]] for each in desk.content()["tag"] if org in each.get("orgs", ())]
            for org in orgs
        }
        for name, id in orgs.items():
            tags.add(writing.tx, ORG_TAG, id, tags_of_org[name])
        for kind, people in desk.customers().items():
            for each in people:
                address = self._address(writing, each, orgs.get(each.org, 0))
                if kind != "spam" and not address["contact_id"]:
                    id = self._make(
                        writing,
                        "contact",
                        {
                            "first_name": each.first_name,
                            "last_name": each.last_name,
                            "title": each.title,
                            "email_id": address["id"],
                            "org_id": orgs.get(each.org, 0),
                        },
                    )
                    tags.add(writing.tx, CONTACT_TAG, id, tags_of_org.get(each.org, []))

    def remember(self, writing: RecordWriter) -> None:
        """Stores the ids of all created records."""
        service_settings.put(writing.tx, KEY, self.ids)

    def furnish(self, writing: RecordWriter, own_tickets: Sequence[int]) -> None:
        """Creates snippets, macros, rules, articles, searches and tasks, and gives tickets to the worker who loads the
        demo.

        own_tickets: their numbers in the plan."""
        self.ids = {uri: ids for uri, ids in self.ids.items() if uri not in (*PLAIN, "calendar")}
        for each in desk.content()["snippet"]:
            self._snippet(writing, each)
        for each in desk.content()["macro"]:
            self._macro(writing, each)
        for each in desk.content()["rule"]:
            self._rule(writing, each)
        for each in desk.content()["article"]:
            self._article(writing, each)
        for each in desk.content()["search"]:
            values = {"name": each["name"], "query": each["query"], "context": TICKET, "owner__context": APP}
            self._make(writing, "saved_search", values | {"owner_id": 0})
        for each in desk.content()["task"]:
            self._task(writing, each)
        self.promise(writing)
        self.share(writing)
        self.remember(writing)
        first_minute.prepare(writing, [self.tickets[each]["id"] for each in own_tickets])
        if writing.actor.worker_id:
            first_minute.hand_over(writing, writing.actor.worker_id)

    def promise(self, writing: RecordWriter) -> None:
        """Creates the office hours and the service targets of the groups. Nobody is notified of due tickets."""
        hours = self._make(
            writing, "calendar", {"name": "Support hours", "timezone": "UTC", "owner__context": APP, "owner_id": 0}
        )
        times_of_day = {"event_start": f"{plan.OPEN_HOUR}:00", "event_end": f"{plan.CLOSE_HOUR}:00"}
        open_days = {"name": "Open", "patterns": "weekdays", "is_available": 1, "calendar_id": hours}
        writing.create("calendar_event_recurring", open_days | times_of_day)
        for holiday in desk.holidays():
            writing.create("calendar_event_recurring", holiday.event(hours))
        for name, group_id in self.groups.items():
            minutes = {"response_minutes": plan.RESPONSE_HOURS * 60}
            target = {"name": f"First response: {name}", "group_id": group_id, "calendar_id": hours}
            self._make(writing, "service_target", target | minutes)
        targets = due_times.enabled_targets(writing)
        for each in self.tickets.values():
            ticket = _record(writing, "ticket", each["id"])
            if ticket["status_id"] == STATUSES["open"]:
                due = due_times.renewed(targets, ticket, writing.now)
                writing.set("ticket", ticket["id"], {**due, "tell_at": 0})

    def share(self, writing: RecordWriter) -> None:
        """Lets a group assign its new tickets in turn, and sends a colleague on holiday."""
        writing.update("group", self.groups[desk.content()["in_turn"]], {"assign_way": ROUND_ROBIN})
        absence = desk.content()["absence"]
        away = {"away_from": writing.now, "away_until": (writing.now // DAY + absence["days"]) * DAY}
        stand_in = self._worker_id(absence["stand_in"])
        writing.update("worker", self._worker_id(absence["worker"]), {**away, "away_stand_in_id": stand_in})

    def write(self, writing: RecordWriter, steps: Sequence[_Prepared]) -> None:
        """Writes a sequence of steps."""
        for each in steps:
            _STEPS[each.step.kind](self, writing, each)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def arrive(self, writing: RecordWriter, done: _Prepared) -> None:
        """Stores an incoming mail."""
        planned, mail, sender = done.planned, done.incoming, self.addresses[done.step.by.email]
        assert mail is not None
        by = senders.as_author(RecordWriter(replace(self.ctx, now=done.step.at), writing.tx), sender)
        if not done.answers:
            place = {"bucket_id": self.buckets[planned.story.group, planned.story.bucket]}
            ticket = self.tickets[planned.number] = storing.new_ticket(by, mail, place, sender["org_id"], sender["id"])
            requesters.add(by, ticket["id"], [sender["id"]], is_new_ticket=True)
            tags.add(by.tx, TICKET_TAG, ticket["id"], [self.tags[each] for each in planned.tags])
            values = {
                f"custom_{self.fields[name]}": each for name, each in planned.fields.items() if name in self.fields
            }
            letter.write_customs(by, ticket["id"], letter.customs_of(by, values))
        else:
            ticket = self.tickets[planned.number]
            storing.reopen(by, _record(by, "ticket", ticket["id"]))
        is_first = not done.answers
        storing.message(
            by, mail, ticket["id"], sender, (), is_stranger=False, is_first=is_first, created=mail.mail.date
        )
        by.log("ticket.message.inbound", TICKET, ticket["id"], {"target": self._label(by, ticket)})

    def answer(self, writing: RecordWriter, done: _Prepared) -> None:
        """Stores a reply as sent, without sending it."""
        step, ticket, body = done.step, self.tickets[done.planned.number], done.body
        assert body is not None
        by, worker_id = self._as(writing, step), self.workers[step.by.email]
        by.update(
            "ticket",
            ticket["id"],
            {
                "status_id": STATUSES[step.status],
                "status_name_id": self.statuses.get(done.planned.waits_for(step), 0),
                "owner_id": worker_id,
                "reopen_date": step.reopen_at,
            },
        )
        mail = self._mail(done, tuple(_attach(by, worker_id, each) for each in step.files))
        customer = done.planned.customer
        to = Recipients((NamedAddress(customer.name, customer.email),))
        letter.store_message(
            by,
            mail,
            body,
            to,
            ticket["id"],
            {
                "worker_id": worker_id,
                "is_not_sent": 0,
                "response_time": done.waited_seconds,
                "notes": "[]",
            },
        )
        letter.log_sent(by, ticket["id"], self._label(by, ticket))
        demo_ratings.rate(writing, done.planned, step, _record(by, "ticket", ticket["id"]), worker_id)

    def note(self, writing: RecordWriter, done: _Prepared) -> None:
        """Adds a worker's comment for colleagues."""
        by = self._as(writing, done.step)
        by.create(
            "comment",
            {
                "target__context": TICKET,
                "target_id": self.tickets[done.planned.number]["id"],
                "comment": done.step.text,
                "author__context": WORKER,
                "author_id": self.workers[done.step.by.email],
                "is_markdown": 1,
            },
        )

    def assign(self, writing: RecordWriter, done: _Prepared) -> None:
        """Assigns a ticket to a worker."""
        values = {"owner_id": self.workers[done.step.by.email]}
        self._as(writing, done.step).update("ticket", self.tickets[done.planned.number]["id"], values)

    def end(self, writing: RecordWriter, done: _Prepared) -> None:
        """Closes or deletes a ticket. Spam is marked without training the filter, because training cannot be undone."""
        by, id, status = self._as(writing, done.step), self.tickets[done.planned.number]["id"], done.step.status
        if status == "spam":
            by.set("ticket", id, {"spam_training": SPAM, "spam_score": HIGHEST})
        by.update("ticket", id, {"status_id": STATUSES.get(status, DELETED)})
        demo_ratings.rate(writing, done.planned, done.step, _record(by, "ticket", id), self.workers[done.step.by.email])

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _make(self, writing: RecordWriter, uri: str, values: dict[str, Any]) -> int:
        id = writing.create(uri, values)
        self.ids[uri] = [*self.ids.get(uri, ()), id]
        return id

    def _worker_id(self, name: str) -> int:
        return next(self.workers[each.email] for each in desk.workers() if each.name == name)

    def _snippet(self, writing: RecordWriter, entry: dict[str, Any]) -> None:
        """Creates a snippet, with its uses by the members of its group."""
        owner = {"owner__context": GROUP, "owner_id": self.groups[entry["group"]]}
        values = {"title": entry["title"], "content": entry["content"].strip(), "context": TICKET}
        id = self._make(writing, "snippet", values | owner | {"total_uses": entry["uses"]})
        last = writing.now // HOUR * HOUR - entry["uses"] * 7 * HOUR
        writing.set("snippet", id, {"last_used_at": last})
        users = desk.members(entry["group"])
        for place, each in enumerate(users):
            uses = entry["uses"] // len(users) + (place < entry["uses"] % len(users))
            use = {"snippet_id": id, "worker_id": self.workers[each.email], "hour": last - place * DAY, "uses": uses}
            writing.tx.insert(SNIPPET_USE, use)

    def _macro(self, writing: RecordWriter, entry: dict[str, Any]) -> None:
        """Creates a macro: a script for the tickets of its groups, or a form for everybody."""
        values = {"name": entry["name"], "extension_id": MACRO}
        owner: dict[str, Any] = {}
        if "script" in entry:
            texts = {name: entry[name].strip() for name in ("description", "script")}
            values |= {**texts, "policy_kata": _for(entry["groups"])}
        else:
            values |= macro_forms.fields_of(entry["description"], self._steps(entry), sends=False)
            owner = {"available_context": APP, "available_id": 0}
        id = self._make(writing, "automation", values)
        writing.set("automation", id, {**owner, "uses": entry["uses"], "last_used_at": writing.now - DAY})

    def _rule(self, writing: RecordWriter, entry: dict[str, Any]) -> None:
        """Creates a rule, unless there is one with its title."""
        titles = {title.casefold() for _id, title, _form in rule_building.stored_forms(writing)}
        if entry["title"].casefold() not in titles:
            form = entry | {"steps": self._steps(entry)}
            self._make(writing, "automation", {"extension_id": RULE, "form": form})

    def _steps(self, entry: dict[str, Any]) -> list[dict[str, str]]:
        """Returns the checked steps of a form, in which statuses have names in place of ids."""
        ids = {name: str(id) for name, id in self.statuses.items()}
        return rule_steps.read(
            [{name: ids.get(value, value) for name, value in each.items()} for each in entry["steps"]]
        )

    def _article(self, writing: RecordWriter, entry: dict[str, Any]) -> None:
        """Creates an article of the knowledgebase, with its category if that is new."""
        category = writing.find("kb_category", name=entry["category"])
        category_id = category["id"] if category else self._make(writing, "kb_category", {"name": entry["category"]})
        values = {"title": entry["title"], "content": entry["content"].strip(), "format": MARKDOWN_FORMAT}
        id = self._make(writing, "kb_article", values)
        writing.tx.insert(PLACED, {"article_id": id, "category_id": category_id})

    def _address(self, writing: RecordWriter, person: Person, org_id: int = 0) -> Record:
        """Returns the record of a person's address; an address that existed before does not belong to the demo."""
        address = writing.find("address", email=person.email)
        if address is None:
            id = self._make(writing, "address", {"email": person.email, "org_id": org_id})
            address = _record(writing, "address", id)
        self.addresses[person.email] = address
        return address

    def _members(self, group: str) -> dict[int, str]:
        members = {self.workers[each.email]: dict(each.groups)[group] for each in desk.members(group)}
        me = self.ctx.actor.worker_id
        return members | ({me: "manager"} if me else {})

    def _as(self, writing: RecordWriter, step: Step) -> RecordWriter:
        """Returns the same transaction, acting as the worker of a step at its time."""
        actor = actors.worker(writing.tx, self.workers[step.by.email])
        assert actor is not None
        return RecordWriter(replace(self.ctx, now=step.at).as_actor(actor, times.zone(actor.timezone)), writing.tx)

    def _label(self, writing: RecordWriter, ticket: Record) -> str:
        return writing.registry.type("ticket").label(ticket)

    def _mail(self, done: _Prepared, file_ids: tuple[int, ...]) -> MailSpec:
        step, planned = done.step, done.planned
        mask, worker = self.tickets[planned.number]["mask"], desk.workers()
        return MailSpec(
            message_id=done.message_id,
            date=step.at,
            zone=next(each.timezone for each in worker if each.email == step.by.email),
            from_address_id=self.sender["id"],
            from_address=self.sender["email"],
            from_name=step.by.name,
            subject=f"Re: [#{mask}] {planned.subject}",
            in_reply_to=done.answers[-1],
            references=done.answers,
            is_markdown=True,
            file_ids=file_ids,
        )

    def _task(self, writing: RecordWriter, entry: dict[str, Any]) -> None:
        workers = {each.name: self.workers[each.email] for each in desk.workers()}
        due = writing.now + entry["due"] * DAY
        status = entry.get("status", "open")
        past = replace(writing.ctx, now=min(writing.now, due) - 9 * DAY)
        id = self._make(
            RecordWriter(past, writing.tx),
            "task",
            {
                "title": entry["title"],
                "owner_id": workers.get(entry.get("owner", ""), 0),
                "due": due,
                "importance": entry.get("importance", 50),
                "status_id": TASK_STATUSES[status],
                "reopen": due - DAY if status == "waiting" else 0,
                **({"completed": due - DAY} if status == "closed" else {}),
            },
        )
        if "note" in entry:
            author = workers.get(entry.get("owner", ""), next(iter(workers.values())))
            writing.create(
                "comment",
                {
                    "target__context": TASK,
                    "target_id": id,
                    "comment": entry["note"],
                    "author__context": WORKER,
                    "author_id": author,
                },
            )


def _for(groups: Sequence[str]) -> str:
    """Returns the policy of a macro for tickets of these groups."""
    names = ", ".join(f"'{each}'" for each in groups)
    return f"callers:\n  {MACRO}:\n    allow@bool: {{{{ticket_group__label in [{names}]}}}}\n"


def _attach(writing: RecordWriter, worker_id: int, file: DemoFile) -> int:
    values = {"name": file.name, "mime_type": file.mime_type, "content": file.content, "uploader_id": worker_id}
    return writing.create("attachment", values)


_STEPS: dict[str, Callable[[_Desk, RecordWriter, _Prepared], None]] = {
    plan.MAIL: _Desk.arrive,
    plan.REPLY: _Desk.answer,
    plan.NOTE: _Desk.note,
    plan.TAKE: _Desk.assign,
    plan.END: _Desk.end,
}
