"""Data folders with many tickets, made once and kept under .work/bench/; each run works on a copy.

What a ticket says is decided here (`sample`), from its number alone, so that two machines measure the same. How it gets
into the database is `load_tickets`, the only function here that knows the product.
"""

import hashlib
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from urllib.parse import urlsplit

from server import app
from server.access.service_actor import own_context
from server.context import Service
from server.desk.writing import RecordWriter
from server.records.shared.tables import CUSTOM_VALUE, REQUESTER
from server.settings import load
from server.store import fulltext
from server.store.transaction import Transaction
from tests.bench.process import ROOT

SERVER = "BENCH_POSTGRESQL"  # the address of a database of the server, by which others are made
ADDRESS = "HELPDESK_DATABASE"
FOLDER = ROOT / ".work" / "bench"
RARE_WORD = "quartzite"  # stands in RARE_TICKETS tickets, whatever their number in all
RARE_TICKETS = 50
VOCABULARY = 3000
MESSAGE_BYTES = 1000
BYTES_A_WORD = 7  # with the blank
SENDERS = 500
FIRST_CREATED = 1_735_000_000  # Unix seconds
SECONDS_APART = 600  # 100,000 tickets come over two years
GROUPS = ("Depot", "Sales", "Workshop")  # beside the default one
ORGS, ACME_EVERY = 500, 50  # each fiftieth organization is called Acme and a number
OWNERS = 8
TIERS = ("Gold", "Silver", "Bronze")  # a picklist on tickets; the other custom field is a text
REFUND_WORD, REFUND_EVERY = "refund", 20  # in one message of each twentieth ticket
SHAPE = 3  # raised when the data is another, so that no older copy is taken for it
TICKETS_A_BATCH = 1000
BATCH_SECONDS = 600  # that one may take
OPEN_EVERY, WAITING_EVERY = 5, 7  # each fifth ticket is open, of the others each seventh is waiting, the rest closed


@dataclass(frozen=True)
class Sample:
    """One ticket to load. `messages` are two or three texts of about 1 KB, the oldest first; status as in the API."""

    number: int
    subject: str
    sender: str
    status: int
    messages: tuple[str, ...]


def load_tickets(data_folder: Path, count: int) -> None:
    """Fill a new data folder with samples(count), through the store, with ids from 1 in their order.

    To be called in a process that has no server on the folder. In batches: a transaction for each ticket would take
    minutes at 100,000.
    """
    # A batch is one write, and a busy machine needs longer for it than a request may take.
    service = app.open_service(load({"data": str(data_folder), "read_seconds": str(BATCH_SECONDS)}, os.environ))
    try:
        loader = _Loader(service)
        batch: list[Sample] = []
        for each in samples(count):
            batch.append(each)
            if len(batch) == TICKETS_A_BATCH:
                service.store.write(lambda tx, batch=tuple(batch): loader.write(tx, batch))
                batch.clear()
        service.store.write(lambda tx: loader.write(tx, tuple(batch)))
    finally:
        service.store.close()


class _Loader:
    """Writes rows as the service would, without its hooks: what they would work out is known here."""

    def __init__(self, service: Service) -> None:
        registry = service.registry
        ctx = own_context(service)
        self.tickets, self.messages = registry.type("ticket"), registry.type("message")
        self.addresses, self.bucket = registry.type("address"), registry.type("bucket")
        self.senders: dict[str, int] = {}
        service.store.write(lambda tx: self._surroundings(RecordWriter(ctx, tx)))
        self.buckets = service.store.read(self._buckets)

    def _surroundings(self, writing: RecordWriter) -> None:
        """Groups, organizations, owners and custom fields, made as the service makes them."""
        for name in GROUPS:
            writing.create("group", {"name": name})
        self.orgs = [
            writing.create("org", {"name": f"{'Acme' if number % ACME_EVERY == 0 else 'Larch'} {number}"})
            for number in range(ORGS)
        ]
        self.owners = [
            writing.create("worker", {
                "first_name": f"Owner {number}", "email_id": self._sender(writing.tx, f"owner{number}@desk.example"),
                "at_mention_name": f"owner{number}", "language": "en_US", "timezone": "UTC",
            })
            for number in range(OWNERS)
        ]  # fmt: skip
        field = {"context": "svc.contexts.ticket", "params": {}}
        self.tier = writing.create("custom_field", field | {
            "name": "Tier", "uri": "tier", "type": "D", "params": {"options": list(TIERS)},
        })  # fmt: skip
        self.order = writing.create("custom_field", field | {"name": "Order number", "uri": "order", "type": "S"})

    def _buckets(self, tx: Transaction) -> list[tuple[int, int]]:
        """[(group, its bucket)]."""
        bucket = self.bucket.table
        row_of = bucket.position
        return [(row[row_of["group_id"]], row[row_of["id"]]) for row in tx.find(bucket)]

    def write(self, tx: Transaction, batch: tuple[Sample, ...]) -> None:
        for each in batch:
            self._ticket(tx, each)

    def _ticket(self, tx: Transaction, sample: Sample) -> None:
        created = FIRST_CREATED + sample.number * SECONDS_APART
        group, bucket = self.buckets[sample.number % len(self.buckets)]
        sender = self._sender(tx, sample.sender)
        ticket = tx.insert(self.tickets.table, {
            "subject": sample.subject, "mask": f"BNC-{sample.number:05}-{sample.number % 900 + 100}",
            "group_id": group, "bucket_id": bucket, "status_id": sample.status, "importance": 50,
            "org_id": self.orgs[sample.number % ORGS], "owner_id": self.owners[sample.number % OWNERS],
            "created": created, "updated": created + 600, "last_opened_at": created,
            "num_messages": len(sample.messages), "num_messages_in": len(sample.messages), "num_messages_out": 0,
            "first_wrote_address_id": sender, "last_wrote_address_id": sender,
        })  # fmt: skip
        assert self.tickets.text is not None
        fulltext.index(tx, self.tickets.text, ticket, {"subject": sample.subject})
        ids = [self._message(tx, sample, place, ticket, sender, created) for place in range(len(sample.messages))]
        tx.update(self.tickets.table, ticket, {"initial_message_id": ids[0], "latest_message_id": ids[-1]})
        tx.add(REQUESTER, {"ticket_id": ticket, "address_id": sender})
        for field, value in ((self.tier, TIERS[sample.number % len(TIERS)]), (self.order, f"A-{sample.number}")):
            tx.insert(CUSTOM_VALUE, {"field_id": field, "record_id": ticket, "place": 0, "text": value})

    def _message(self, tx: Transaction, sample: Sample, place: int, ticket: int, sender: int, created: int) -> int:
        message_id = f"<{sample.number}.{place}@example.com>"
        content = sample.messages[place]
        id = tx.insert(self.messages.table, {
            "ticket_id": ticket, "sender_id": sender, "created": created + place * 60, "content": content,
            "headers": f"Message-Id: {message_id}\nFrom: {sample.sender}\nSubject: {sample.subject}",
            "message_id": message_id, "storage_size": len(content),
            "hash_header_message_id": hashlib.sha1(message_id.encode()).hexdigest(),
            "token": f"{sample.number}-{place}",
        })  # fmt: skip
        assert self.messages.text is not None
        fulltext.index(tx, self.messages.text, id, {
            "content": content, "header_from": sample.sender, "header_subject": sample.subject,
        })  # fmt: skip
        return id

    def _sender(self, tx: Transaction, email: str) -> int:
        if email not in self.senders:
            self.senders[email] = tx.insert(self.addresses.table, {
                "email": email, "host": email.partition("@")[2], "created_at": FIRST_CREATED, "updated": FIRST_CREATED,
            })  # fmt: skip
        return self.senders[email]


def copy_of(count: int, *, fresh: bool = False) -> Path:
    """A data folder with `count` tickets to work on: a copy of the kept one, which is made when missing or `fresh`.

    Where SERVER names a PostgreSQL server, the copy is a database of it, which ADDRESS names from then on."""
    if SERVER in os.environ:
        return _database_of(os.environ[SERVER], count, fresh=fresh)
    kept, work = FOLDER / f"tickets-{count}-{SHAPE}", FOLDER / f"run-{count}"
    if fresh:
        shutil.rmtree(kept, ignore_errors=True)
    if not kept.exists():
        _make(kept, count)
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(kept, work)
    return work


def _database_of(server: str, count: int, *, fresh: bool) -> Path:
    import psycopg  # of those alone who measure it

    kept, work = f"bench_{count}_{SHAPE}", f"bench_run_{count}"
    folder = FOLDER / work
    folder.mkdir(parents=True, exist_ok=True)
    with psycopg.connect(server, autocommit=True) as connection:
        if fresh:
            connection.execute(f"DROP DATABASE IF EXISTS {kept} WITH (FORCE)")
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (kept,)).fetchone():
            connection.execute(f"DROP DATABASE IF EXISTS {kept}_part WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {kept}_part")
            os.environ[ADDRESS] = _address(server, f"{kept}_part")
            print(f"loading {count:,} tickets, once ...", flush=True)
            load_tickets(folder, count)
            connection.execute(f"ALTER DATABASE {kept}_part RENAME TO {kept}")
        connection.execute(f"DROP DATABASE IF EXISTS {work} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {work} TEMPLATE {kept}")
    os.environ[ADDRESS] = _address(server, work)
    with psycopg.connect(os.environ[ADDRESS], autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    return folder


def _address(server: str, database: str) -> str:
    return urlsplit(server)._replace(path=f"/{database}").geturl()


def samples(count: int) -> Iterator[Sample]:
    """Tickets 1 to count."""
    return (sample(number, count) for number in range(1, count + 1))


def sample(number: int, count: int) -> Sample:
    """The ticket of that number among `count`; always the same for the same two."""
    chance = random.Random(number)
    messages = [text(chance) for _ in range(2 + number % 2)]
    if number % max(count // RARE_TICKETS, 1) == 0:
        messages[0] += f" {RARE_WORD}"
    if number % REFUND_EVERY == 0:
        messages[-1] += f" {REFUND_WORD}"
    status = 0 if number % OPEN_EVERY == 0 else 1 if number % WAITING_EVERY == 0 else 2
    subject = " ".join(_choose(chance, 6))
    return Sample(number, subject, f"customer{number % SENDERS}@example.com", status, tuple(messages))


def text(chance: random.Random) -> str:
    """About MESSAGE_BYTES of made-up words, some frequent and most rare, as in real text."""
    return " ".join(_choose(chance, MESSAGE_BYTES // BYTES_A_WORD))


def _make(kept: Path, count: int) -> None:
    half_done = kept.with_suffix(".part")
    shutil.rmtree(half_done, ignore_errors=True)
    half_done.parent.mkdir(parents=True, exist_ok=True)
    print(f"loading {count:,} tickets, once ...", flush=True)
    load_tickets(half_done, count)
    half_done.rename(kept)


def _choose(chance: random.Random, number: int) -> list[str]:
    return chance.choices(_words(), cum_weights=_weights(), k=number)


@cache
def _words() -> tuple[str, ...]:
    chance = random.Random(0)
    syllables = [first + second for first in "bdfgklmnprstv" for second in "aeiou"]
    return tuple("".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(VOCABULARY))


@cache
def _weights() -> tuple[float, ...]:
    """Cumulated, as `choices` wants them; the n-th word is n times rarer than the first."""
    return tuple(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
