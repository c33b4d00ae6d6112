"""Fixtures for tests of the desk: a database with its first records and people, and a mail server to send through."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from server import tickets
from server.access import actor
from server.automation.service_automations import ServiceAutomations
from server.context import Context, Service
from server.first_start import setup
from server.jobs.scheduler import Scheduler
from server.outbox import due_drafts
from server.record_types.record_type import Record
from server.record_types.registry import Registry
from server.record_types.registry import load as load_types
from server.record_types.shared.relation_tables import REQUESTER
from server.records import records
from server.records.service_settings import get, put
from server.records.writing import RecordWriter
from server.settings import load
from server.store.transaction import Transaction
from server.tickets import reopening, requesters
from tests import databases, opening
from tests.smtp_server import SmtpServer

SCANS = (
    due_drafts.find_due,
    reopening.reopen_due,
    reopening.purge_deleted,
)  # importing these modules registers the scans
NOW = 1_795_187_045  # Friday 2026-11-20 15:04:05 UTC
BASE_URL = "https://desk.example"


class Post:
    """A helpdesk without a server. nora administers, milo is a member of Support, olga is in no group; `now` can be
    moved. Unless stated otherwise, nora acts. Workers get no notification mail unless they choose it."""

    def __init__(self, folder: Path, registry: Registry, copied: bytes = b"") -> None:
        """copied: the database file of another desk that nothing was done to, which takes less time than a new one."""
        store = opening.opened(folder, registry, copied)
        settings = load({}, {}, folder).replace(base_url=BASE_URL, notification_mail=())
        self.service = Service(store, registry, settings, BASE_URL, "0" * 32, automations=ServiceAutomations())
        self.now = NOW
        self.pool = ThreadPoolExecutor(2)
        if not copied:
            setup.prepare(self.context())
        self.support = self.all("group")[0]["id"]
        self.inbox = self.all("bucket", group_id=self.support)[0]["id"]
        if copied:
            self.nora, self.milo, self.olga = (each["id"] for each in self.all("worker"))
        else:
            self.nora = self.worker("Nora", "Berg", is_superuser=1)
            self.milo = self.worker("Milo", "Test")
            self.olga = self.worker("Olga", "Test")
            records.update(self.context(), "group", self.support, {"members": {"member": str(self.milo)}})
        self.sender = int(self.read(lambda tx: get(tx, "default_sender_id")))

    def close(self) -> None:
        self.pool.shutdown()
        self.service.store.close()

    # -- actions

    def compose(self, by: int = 0, **values: Any) -> tuple[str, int]:
        known = {"group_id": self.support, "to": "ann@kite.example", "subject": "Boat", "content": "Hello Ann"}
        made = tickets.compose(self.context(by or self.nora), known | values)
        return made.uri, made.id

    def ticket_id(self, by: int = 0, **values: Any) -> int:
        """Creates a ticket and returns its id; mails nothing unless requested."""
        uri, id = self.compose(by, **{"dont_send": "1"} | values)
        assert uri == "ticket"
        return id

    def reply(self, message_id: int, by: int = 0, **values: Any) -> int:
        known = {"message_id": message_id, "content": "On its way."}
        made = tickets.reply(self.context(by or self.nora), known | values)
        assert made.uri == "ticket"
        return made.id

    def received(self, ticket_id: int, sender: str = "ann@kite.example", **headers: str) -> int:
        """Stores a received message on a ticket; returns its id."""
        named = {"From": sender, "Message-ID": f"<m{ticket_id}@kite.example>"} | headers
        lines = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in named.items())
        address = self.address(sender)
        return self.write(lambda writing: writing.create("message", {
            "ticket_id": ticket_id, "sender_id": address, "content": "It leaks.\n\nAnn", "headers": lines,
        }))  # fmt: skip

    def add_requester(self, ticket_id: int, email: str) -> int:
        """Makes an address a requester; returns its id."""
        address = self.address(email.lower())
        self.write(lambda writing: requesters.add(writing, ticket_id, [address], is_new_ticket=True))
        return address

    def run_due(self, seconds: int = 0) -> None:
        """Runs the scheduler `seconds` from now."""
        self.now += seconds
        self.scheduler().run_due(self.now)

    def scheduler(self) -> Scheduler:
        return Scheduler(self.service, self.pool)

    # -- contents

    def context(self, worker_id: int = 0) -> Context:
        found = self.read(lambda tx: actor.worker(tx, worker_id)) if worker_id else actor.system()
        assert found is not None
        return Context(self.service, found, self.now, ZoneInfo(found.timezone))

    def read(self, work: Callable[[Transaction], Any]) -> Any:
        return self.service.store.read(work)

    def write(self, work: Callable[[RecordWriter], Any]) -> Any:
        return self.service.store.write(lambda tx: work(RecordWriter(self.context(), tx)))

    def create(self, uri: str, **values: Any) -> int:
        return int(self.write(lambda writing: writing.create(uri, values)))

    def update(self, uri: str, id: int, **values: Any) -> None:
        self.write(lambda writing: writing.update(uri, id, values))

    def all(self, uri: str, **equals: Any) -> list[Record]:
        record_type = self.service.registry.type(uri)
        return [record_type.record(row) for row in self.read(lambda tx: tx.find(record_type.table, **equals))]

    def one(self, uri: str, **equals: Any) -> Record:
        [record] = self.all(uri, **equals)
        return record

    def ticket(self, id: int) -> Record:
        return self.one("ticket", id=id)

    def message(self, ticket_id: int) -> Record:
        """Returns the newest message of a ticket."""
        return self.all("message", ticket_id=ticket_id)[-1]

    def shown(self, uri: str, id: int, by: int = 0) -> dict[str, Any]:
        return records.retrieve(self.context(by or self.nora), uri, id)

    def requesters(self, ticket_id: int) -> list[str]:
        rows = self.read(lambda tx: tx.find(REQUESTER, ticket_id=ticket_id))
        return sorted(self.one("address", id=row[1])["email"] for row in rows)

    def activity(self, ticket_id: int) -> list[str]:
        found = self.all("activity_log", target__context="svc.contexts.ticket", target_id=ticket_id)
        return [entry["activity_point"] for entry in found]

    def comments(self, uri: str, id: int) -> list[str]:
        context = self.service.registry.type(uri).context
        return [each["comment"] for each in self.all("comment", target__context=context, target_id=id)]

    def address(self, email: str) -> int:
        known = self.all("address", email=email)
        return int(known[0]["id"]) if known else self.create("address", email=email)

    def worker(self, first: str, last: str, **values: Any) -> int:
        email = self.create("address", email=f"{first.lower()}@desk.example")
        return self.create(
            "worker", first_name=first, last_name=last, email_id=email, language="en_US", timezone="UTC", **values
        )

    def set(self, **settings: Any) -> None:
        self.service = replace(self.service, settings=self.service.settings.replace(**settings))

    def put_setting(self, name: str, value: Any) -> None:
        self.write(lambda writing: put(writing.tx, name, value))

    # -- mail servers

    def smtp(self, host: str, port: int) -> int:
        """Routes mail of the default sender through this server; returns the transport's id."""
        params = {"host": host, "port": str(port), "timeout": "60"}
        id = self.create("mail_transport", name="Relay", extension_id="core.mail.transport.smtp", params=params)
        self.update("address", self.sender, mail_transport_id=id)
        return id


@pytest.fixture(scope="session")
def types() -> Registry:
    return load_types()


@pytest.fixture(scope="session")
def new_desk(tmp_path_factory: pytest.TempPathFactory, types: Registry) -> bytes:
    """The database file of a new desk; of PostgreSQL, nothing, since a copy would take longer than a new one."""
    if databases.is_postgresql():
        return b""
    folder = tmp_path_factory.mktemp("new desk")
    Post(folder, types).close()
    return (folder / databases.FILE).read_bytes()


@pytest.fixture
def desk(tmp_path: Path, types: Registry, new_desk: bytes) -> Iterator[Post]:
    """A helpdesk without a mail server."""
    opened = Post(tmp_path, types, new_desk)
    yield opened
    opened.close()


@pytest.fixture
def smtp(desk: Post) -> Iterator[SmtpServer]:
    """A mail server that the desk sends through."""
    with SmtpServer() as server:
        desk.smtp(server.host, server.port)
        yield server


@pytest.fixture
def down(desk: Post) -> int:
    """A mail server that does not respond: nothing listens on its port. Returns the transport's id."""
    with SmtpServer() as server:
        port = server.port
    return desk.smtp("127.0.0.1", port)
