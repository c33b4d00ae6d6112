"""Tickets to look at in a new service, made as mail makes them, and removed again without a trace. No mail is sent.

Source: ours."""

import json
from dataclasses import replace
from email.message import EmailMessage
from email.utils import formataddr, formatdate
from functools import cache
from typing import Any

from server import mailroom, resources
from server.access.actor import APP
from server.access.service_actor import own_context
from server.context import Context
from server.desk import records, service_settings
from server.desk.writing import RecordWriter
from server.errors import Conflict
from server.records.shared.tables import REQUESTER
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets.reply import reply

DOING = "fill the service with demo data, or remove it"  # what administrators alone may

KEY = "demo"  # of the service setting that tells what was made: {org: ids, address: ids}
HOUR_SECONDS, DAY_SECONDS = 3600, 86400
Story = dict[str, Any]  # a ticket as it is told in the file


def count() -> int:
    """How many tickets there are in the demo."""
    return len(_told()["tickets"])


def is_there(tx: Transaction) -> bool:
    """Whether the demo data is in the database."""
    return bool(service_settings.get(tx, KEY))


def is_filled(ctx: Context) -> bool:
    """Whether the demo data is there. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(is_there)


def fill(ctx: Context) -> None:
    """Make organizations, people, tickets and answers of the last weeks. Neither automations nor workers are told.

    Raises AdminOnly, Conflict when it is there already."""
    ctx.require_admin(DOING)
    ctx = replace(ctx, is_quiet=True)
    ctx.service.store.write(lambda tx: _people(ctx, tx))
    for number, story in enumerate(_told()["tickets"]):
        _tell(ctx, story, f"{number + 1}@desk.demo.example")


def remove(ctx: Context) -> int:
    """Remove all of it for good, with what was written on its tickets since; answers how many tickets that were. People
    who are on other tickets stay. Raises AdminOnly."""
    ctx.require_admin(DOING)
    ctx = replace(ctx, is_quiet=True)

    def write(tx: Transaction) -> int:
        made, writing = service_settings.get(tx, KEY) or {}, RecordWriter(ctx, tx)
        addresses = [int(id) for id in made.get("address", ())]
        tickets = _tickets_of(tx, addresses)
        for id in tickets:
            writing.delete("ticket", id)
        for id in addresses:
            if writing.record("address", id) is not None and tx.first(REQUESTER, address_id=id) is None:
                writing.delete("address", id)
        for id in made.get("org", ()):
            if writing.record("org", id) is not None and not writing.search_ids("address", f"org.id:{id}"):
                writing.delete("org", id)
        if made:
            writing.log("demo.removed", APP, 0, {})
        service_settings.put(tx, KEY, None)
        return len(tickets)

    return ctx.service.store.write(write)


@cache
def _told() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(resources.path("demo", "tickets.json").read_text("utf-8"))
    return found


def _people(ctx: Context, tx: Transaction) -> None:
    if is_there(tx):
        raise Conflict("the demo data is there already; remove it first")
    writing, told = RecordWriter(ctx, tx), _told()
    orgs = {name: writing.create("org", {"name": name, "website": site}) for name, site in told["orgs"].items()}
    known = {email: writing.find("address", email=email) for email in told["people"]}
    made = [
        writing.create("address", {"email": email, "org_id": orgs[org]})
        for email, (_, org) in told["people"].items()
        if known[email] is None
    ]
    service_settings.put(tx, KEY, {"org": list(orgs.values()), "address": made})
    writing.log("demo.added", APP, 0, {})


def _tell(ctx: Context, story: Story, message_id: str) -> None:
    """One ticket, from its first mail to how it stands today."""
    at = ctx.now - int(story["days"] * DAY_SECONDS)
    first = mailroom.receive(_service_at(ctx, at), _mail(story, story["text"], message_id, at))
    last = first.message_id
    for number, (who, hours, text) in enumerate(story.get("then", ())):
        at = min(at + int(hours * HOUR_SECONDS), ctx.now)
        if who == "us":
            reply(replace(ctx, now=at), {"message_id": str(last), "content": text, "dont_send": "1"})
        else:
            raw = _mail(story, text, f"{number + 1}.{message_id}", at, answers=message_id)
            last = mailroom.receive(_service_at(ctx, at), raw).message_id
    state = story.get("state", "open")
    fields = {"status": state.partition(" ")[0]}
    if state.startswith("waiting"):
        fields["reopen_date"] = str(ctx.now + int(state.partition(" ")[2]) * DAY_SECONDS)
    if story.get("mine"):
        fields["owner_id"] = str(ctx.actor.worker_id)
    if fields != {"status": "open"}:
        records.update(replace(ctx, now=at), "ticket", first.ticket_id, fields)


def _service_at(ctx: Context, at: int) -> Context:
    return replace(own_context(ctx.service, at), is_quiet=True)


def _mail(story: Story, text: str, message_id: str, at: int, answers: str = "") -> bytes:
    name, _ = _told()["people"][story["from"]]
    mail = EmailMessage()
    mail["From"] = formataddr((name, story["from"]))
    mail["To"] = "support@desk.demo.example"
    mail["Subject"] = f"Re: {story['subject']}" if answers else story["subject"]
    mail["Date"] = formatdate(at)
    mail["Message-ID"] = f"<{message_id}>"
    if answers:
        mail["In-Reply-To"] = f"<{answers}>"
    mail.set_content(text)
    return mail.as_bytes()


def _tickets_of(tx: Transaction, address_ids: list[int]) -> list[int]:
    ticket = table_named("ticket")
    rows = tx.rows(
        lambda: ticket.select(ticket.c.id).where(in_list(ticket.c.first_wrote_address_id, slot(0))),
        (json.dumps(address_ids),),
    )
    return [row[0] for row in rows]
