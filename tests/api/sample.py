"""A small helpdesk to search: about thirty tickets with their messages, requesters, organizations and files.

The same data are stored as plain values too, so that tests can compute in Python what a search must return. Its
clock is set to a Wednesday at noon, UTC."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.service import Api, Server, people

NOW = 1715774400  # 2024-05-15 12:00:00 UTC
MINUTE, HOUR, DAY = 60, 3600, 86400
MASK = "QTR-48213-657"


@dataclass
class Message:
    text: str
    by: str = ""  # the worker who sent it, "" for a received message
    sender: str = "ana@larch.example"
    after: int = 0  # seconds after the creation of the ticket
    id: int = 0
    created: int = 0
    subject: str = ""

    @property
    def words(self) -> list[str]:
        return re.findall(r"\w+", self.text.lower())


@dataclass
class Ticket:
    subject: str
    group: str = "Support"
    bucket: str = "Inbox"
    status: str = "open"
    importance: int = 50
    owner: str = ""
    org: str = ""
    age: int = 2 * DAY  # seconds before NOW
    closed: int = 0
    reopen: int = 0
    spam: float = 0.5
    training: str = ""
    requesters: tuple[str, ...] = ()
    tier: str = ""
    paid: int | None = None
    due: int = 0
    watchers: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    comments: tuple[tuple[str, str], ...] = ()  # worker, text
    messages: list[Message] = field(default_factory=list)
    mask: str = ""
    id: int = 0

    @property
    def created(self) -> int:
        return NOW - self.age

    @property
    def response(self) -> int:
        """Seconds to the first reply of a worker, 0 if there is no reply."""
        return next((each.after for each in self.messages[1:] if each.by), 0)


@dataclass
class Sample:
    """ids: of groups, buckets ("Support/Refunds"), orgs, addresses, workers and custom fields, each by name."""

    api: Api
    tickets: list[Ticket]
    ids: dict[str, int]
    comments: list[Any]
    tasks: list[Any]
    files: list[Any]

    def __getitem__(self, name: str) -> int:
        return self.ids[name]

    @property
    def messages(self) -> list[Message]:
        return [each for ticket in self.tickets for each in ticket.messages]


def says(*words: str) -> Callable[[Ticket], bool]:
    """Matches tickets with a message that contains all the words."""
    return lambda t: any(set(words) <= set(each.words) for each in t.messages)


def tickets() -> list[Ticket]:
    said = Message
    special = [
        Ticket(
            "Pump leak",
            importance=50,
            owner="Milo",
            org="Larch Foods",
            age=HOUR,
            requesters=("ana@larch.example",),
            tier="Gold",
            paid=1,
            due=NOW + 2 * DAY,
            watchers=("Nora",),
            links=("org",),
            mask=MASK,
            messages=[said("The pump leak is back, still under warranty")],
        ),
        Ticket(
            "pump leak",
            status="waiting",
            importance=25,
            owner="Nora",
            org="Alder Works",
            age=26 * HOUR,
            reopen=NOW + 3 * DAY,
            requesters=("ole@alder.example",),
            tier="Gold plus",
            paid=0,
            messages=[
                said("There is a leak near the pump", sender="ole@alder.example"),
                said("We are on it", by="Milo", after=1800),
            ],
        ),
        Ticket(
            "Lamp, red",
            bucket="Refunds",
            status="closed",
            importance=75,
            age=3 * DAY,
            closed=NOW - 2 * DAY,
            mask="BDM-11111-222",
            requesters=("bob@ostrava.example",),
            tier="Iron",
            due=NOW + 20 * DAY,
            messages=[
                said("The lamp is red", sender="bob@ostrava.example"),
                said("Refund sent for the lamp", by="Milo", after=2 * HOUR),
            ],
        ),
        Ticket(
            "Pumpkin order",
            group="Depot",
            importance=10,
            owner="Nora",
            org="Larch Foods",
            age=8 * DAY,
            requesters=("ana@larch.example", "bob@ostrava.example"),
            watchers=("Milo", "Nora"),
            links=("org", "task"),
            messages=[said("Forty pumpkins please")],
        ),
        Ticket(
            "100% refund",
            group="Depot",
            importance=90,
            age=10 * MINUTE,
            spam=0.95,
            training="S",
            paid=1,
            messages=[said("the of and", sender="bob@ostrava.example")],
        ),
        Ticket("1000 screws", group="Stock", status="deleted", age=30 * DAY, spam=0.2, links=("task",)),
        Ticket(
            "A_B test",
            group="Stock",
            status="closed",
            importance=0,
            age=40 * DAY,
            closed=NOW - 35 * DAY,
            owner="Olga",
            messages=[said("pump pum leak", after=5), said("again", by="Nora", after=5 * HOUR)],
        ),
        Ticket(
            "A B test",
            group="Stock",
            importance=100,
            age=5 * HOUR,
            training="N",
            reopen=0,
            tier="Iron",
            paid=0,
            messages=[said("Text in NOT any field, or maybe")],
        ),
        Ticket(
            "Ärger mit Öl",
            group="Management",
            importance=60,
            org="Ostrava Tiles",
            age=6 * DAY,
            owner="Nora",
            messages=[said("Straße überflutet", sender="bob@ostrava.example")],
        ),
        Ticket(
            "The printer smells",
            importance=33,
            age=23 * HOUR,
            comments=(("Milo", "Smells of ozone"),),
            watchers=("Milo",),
            messages=[said(f"Text {number}", after=number) for number in range(6)],
        ),
    ]
    groups, words = ("Support", "Depot", "Stock", "Management"), ("open", "waiting", "closed", "deleted")
    for number in range(10, 30):
        status = words[number * 7 % 4]
        special.append(Ticket(
            f"Order {number}", group=groups[number % 4], bucket="Refunds" if number % 8 == 4 else "Inbox",
            status=status, importance=number * 3 % 101, owner=("", "Milo", "Nora")[number % 3],
            org=("", "Larch Foods", "Alder Works")[number * 5 % 3], age=number * 7 * HOUR + 90 * MINUTE,
            closed=NOW - number * HOUR if status == "closed" else 0, spam=number / 40,
            reopen=NOW + number * DAY if status == "waiting" and number % 2 else 0,
        ))  # fmt: skip
    return special


def sample(folder: Path) -> tuple[Server, Sample]:
    """Starts a server with the sample data."""
    server = Server(folder / "data", seconds_off=NOW - int(time.time()))
    api = server.set_up()
    people(api)
    seeded = Sample(api, tickets(), {name.capitalize(): id for name, id in api.ids.items()}, [], [], [])
    _places(seeded)
    _people(seeded)
    _fields(seeded)
    for each in seeded.tickets:
        _ticket(seeded, each)
    _files(seeded)
    return server, seeded


def _places(sample: Sample) -> None:
    api, ids = sample.api, sample.ids
    ids["Support"], ids["Management"] = api.ids["support"], api.ids["private"]
    for name in ("Depot", "Stock"):
        ids[name] = api.create("group", name=name).ok()["id"]
    for name in ("Support", "Depot", "Stock", "Management"):
        ids[f"{name}/Inbox"] = api.found("bucket", f"group.id:{ids[name]} name:Inbox")[0]
        ids[f"{name}/Refunds"] = api.create("bucket", name="Refunds", group_id=ids[name]).ok()["id"]


def _people(sample: Sample) -> None:
    api, ids = sample.api, sample.ids
    for name, country, city in (
        ("Larch Foods", "France", "Lyon"), ("Alder Works", "Spain", "Vigo"), ("Ostrava Tiles", "Czechia", "Ostrava"),
    ):  # fmt: skip
        ids[name] = api.create("org", name=name, country=country, city=city).ok()["id"]
    for email, first, gender, org, banned in (
        ("ana@larch.example", "Ana", "F", "Larch Foods", 0),
        ("ole@alder.example", "Ole", "M", "Alder Works", 0),
        ("bob@ostrava.example", "Bob", "", "Ostrava Tiles", 1),
    ):
        ids[email] = api.create("address", email=email, org_id=ids[org], is_banned=banned).ok()["id"]
        ids[first] = api.create("contact", first_name=first, gender=gender, email_id=ids[email]).ok()["id"]
    for title, status, due in (("Count", "open", NOW - DAY), ("Sweep", "closed", NOW - DAY), ("Paint", "open", 0),
                               ("Order paint", "waiting", NOW + DAY)):  # fmt: skip
        id = api.create("task", title=title, status=status, due=due).ok()["id"]
        ids[title] = id
        sample.tasks.append({"id": id, "title": title, "status": status, "due": due})


def _fields(sample: Sample) -> None:
    api, ids = sample.api, sample.ids
    for name, kind, params in (
        ("Tier", "D", {"options": "Gold\nGold plus\nIron"}), ("Paid", "C", {}), ("Due date", "E", {}),
    ):  # fmt: skip
        uri = name.lower().replace(" ", "_")
        field = api.create("custom_field", context="ticket", name=name, type=kind, uri=uri, params=params or "")
        ids[name] = field.ok()["id"]


def _ticket(sample: Sample, ticket: Ticket) -> None:
    api, ids = sample.api, sample.ids
    fields: dict[str, Any] = {
        "subject": ticket.subject, "bucket_id": ids[f"{ticket.group}/{ticket.bucket}"], "status": ticket.status,
        "importance": ticket.importance, "created": ticket.created, "closed": ticket.closed, "spam_score": ticket.spam,
        "reopen_date": ticket.reopen, "participants": ", ".join(ticket.requesters), "org": ticket.org,
        "links": [f"worker:{ids[name]}" for name in ticket.watchers]
        + [f"{uri}:{ids['Larch Foods' if uri == 'org' else 'Count']}" for uri in ticket.links],
    }  # fmt: skip
    if ticket.mask:
        fields["mask"] = ticket.mask
    if ticket.training:
        fields["spam_training"] = ticket.training
    if ticket.tier:
        fields["tier"] = ticket.tier
    if ticket.paid is not None:
        fields["paid"] = ticket.paid
    if ticket.due:
        fields["due_date"] = ticket.due
    made = api.create("ticket", **{name: value for name, value in fields.items() if value != []}).ok()
    ticket.id, ticket.mask = made["id"], made["mask"]
    if ticket.owner:
        api.update("ticket", ticket.id, owner_id=ids[ticket.owner]).ok()
    for message in ticket.messages:
        _message(sample, ticket, message)
    for worker, text in ticket.comments:
        client = api.as_(worker.lower())
        id = client.create("comment", target__context="ticket", target_id=ticket.id, comment=text).ok()["id"]
        sample.comments.append({"id": id, "on": ticket, "by": worker, "text": text})


def _message(sample: Sample, ticket: Ticket, message: Message) -> None:
    message.created, message.subject = ticket.created + message.after, ticket.subject
    sender = "nora@desk.example" if message.by else message.sender
    fields: dict[str, Any] = {
        "ticket_id": ticket.id, "sender": sender, "content": message.text, "created": message.created,
        "headers": f"From: {sender}\r\nMessage-Id: <m{ticket.id}.{message.after}@kite.example>\r\n",
    }  # fmt: skip
    if message.by:
        fields |= {"is_outgoing": 1, "worker_id": sample.ids[message.by]}
    message.id = sample.api.create("message", **fields).ok()["id"]


def _files(sample: Sample) -> None:
    first = sample.tickets[0].messages[0].id
    for name, kind, size, on in (
        ("red.png", "image/png", 300_000, f"message:{first}"), ("small.png", "image/png", 1000, "message:0"),
        ("photo.jpeg", "image/jpeg", 2_000_000, f"message:{first}"), ("list.txt", "text/plain", 999, ""),
        ("film.mp4", "video/mp4", 1_600_000, f"ticket:{sample.tickets[1].id}"),
    ):  # fmt: skip
        fields: dict[str, Any] = {"name": name, "mime_type": kind, "content": "x" * size}
        if on and not on.endswith(":0"):
            fields["attach"] = [on]
        id = sample.api.create("attachment", **fields).ok()["id"]
        sample.files.append({"id": id, "name": name, "type": kind, "size": size, "on": on})
