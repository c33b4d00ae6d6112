"""A database for tests of incoming mail: without a server, with the same first records as a real one."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from server import app, mailroom
from server.access.actor import system
from server.automation.service_automations import ServiceAutomations
from server.context import Context, Service
from server.first_start import setup
from server.mailroom import Receipt
from server.record_types.record_type import Record
from server.record_types.shared.relation_tables import ATTACHED, REQUESTER
from server.records.writing import RecordWriter
from server.settings import load
from server.store import blobs
from server.store.transaction import Transaction
from tests import databases, opening

NOW = 1_795_000_000  # 2026-11-18


def mail(body: str | bytes = "The pump leaks.\n", **headers: str) -> bytes:
    """Returns a mail with these headers; `_` stands for `-` in their names, "" leaves one out. By default Ann writes
    to the desk."""
    known = {"From": "Ann Kite <ann@kite.example>", "To": "help@desk.example", "Subject": "Boat"}
    named = known | {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\n" for name, value in named.items() if value)
    return f"{head}\n".encode() + (body.encode() if isinstance(body, str) else body)


def multipart(*parts: str, kind: str = "mixed", **headers: str) -> bytes:
    """Returns a multipart mail; each part consists of header lines, an empty line and a body."""
    body = "".join(f"--b0\n{part}\n" for part in parts) + "--b0--\n"
    return mail(body, MIME_Version="1.0", Content_Type=f"multipart/{kind}; boundary=b0", **headers)


@cache
def _new_desk() -> bytes:
    """The file of a new desk with its first records; of PostgreSQL, nothing, since a copy takes longer than they do."""
    if databases.is_postgresql():
        return b""
    with TemporaryDirectory() as folder:
        Desk(Path(folder), copied=b"").close()
        return (Path(folder) / databases.FILE).read_bytes()


class Desk:
    """An open database. `now`: the second at which mail arrives."""

    def __init__(self, folder: Path, copied: bytes | None = None, **settings: Any) -> None:
        """copied: the file of a desk with its first records, b"" for a file without any."""
        copied = _new_desk() if copied is None else copied
        registry = opening.borrow()
        folder.mkdir(exist_ok=True)
        store = opening.opened(folder, registry, copied)
        chosen = load({}, {}, folder).replace(base_url="https://desk.example", **settings)
        self.service = Service(store, registry, chosen, chosen.base_url, "0" * 32, automations=ServiceAutomations())
        self.now = NOW
        if not copied:
            setup.prepare(self.ctx)

    def set(self, **settings: Any) -> None:
        self.service = replace(self.service, settings=self.service.settings.replace(**settings))

    def close(self) -> None:
        self.service.store.close()
        opening.give_back(self.service.registry)

    @property
    def ctx(self) -> Context:
        return Context(self.service, system(), self.now, UTC)

    def receive(self, raw: bytes) -> Receipt:
        return mailroom.receive(self.ctx, raw)

    def write(self, work: Callable[[RecordWriter], Any]) -> Any:
        return self.service.store.write(lambda tx: work(RecordWriter(self.ctx, tx)))

    def read(self, work: Callable[[Transaction], Any]) -> Any:
        return self.service.store.read(work)

    def create(self, uri: str, /, **values: Any) -> int:
        return int(self.write(lambda writing: writing.create(uri, values)))

    def update(self, uri: str, id: int, **values: Any) -> None:
        self.write(lambda writing: writing.update(uri, id, values))

    def change(self, uri: str, id: int, **values: Any) -> None:
        """Updates a record without side effects."""
        self.write(lambda writing: writing.set(uri, id, values))

    def all(self, uri: str, **equals: Any) -> list[Record]:
        """Returns the records whose columns have these values, in order."""
        record_type = self.service.registry.type(uri)
        return [record_type.record(row) for row in self.read(lambda tx: tx.find(record_type.table, **equals))]

    def one(self, uri: str, **equals: Any) -> Record:
        [record] = self.all(uri, **equals)
        return record

    def ticket(self, received: Receipt) -> Record:
        return self.one("ticket", id=received.ticket_id)

    def message(self, received: Receipt) -> Record:
        return self.one("message", id=received.message_id)

    def sender(self, received: Receipt) -> str:
        return str(self.one("address", id=self.message(received)["sender_id"])["email"])

    def requesters(self, ticket_id: int) -> list[str]:
        rows = self.read(lambda tx: tx.find(REQUESTER, ticket_id=ticket_id))
        return sorted(self.one("address", id=row[1])["email"] for row in rows)

    def files(self, received: Receipt) -> dict[str, bytes]:
        """Returns {name: bytes} of the files of a message, in order."""
        context = "svc.contexts.message"
        rows = self.read(lambda tx: tx.find(ATTACHED, context=context, record_id=received.message_id))
        files = [self.one("attachment", id=row[0]) for row in rows]
        return {file["name"]: self.blob(file["blob_id"]) for file in files}

    def html(self, received: Receipt) -> str:
        id = self.one("attachment", id=self.message(received)["html_attachment_id"])["blob_id"]
        return self.blob(id).decode()

    def blob(self, id: int) -> bytes:
        return bytes(self.read(lambda tx: blobs.read(tx, id)))

    def raw(self, received: Receipt) -> bytes:
        return self.blob(self.message(received)["raw_blob_id"])

    def notes(self, received: Receipt) -> list[str]:
        found = json.loads(self.message(received)["notes"])
        assert isinstance(found, list)
        return found

    def activity(self, ticket_id: int) -> list[str]:
        """Returns the activity points on a ticket, in order."""
        entries = self.all("activity_log", target__context="svc.contexts.ticket", target_id=ticket_id)
        return [entry["activity_point"] for entry in entries]

    def counts(self) -> dict[str, int]:
        """Returns the number of rows of every table."""
        names = [table.name for table in app.all_tables(self.service.registry)]

        def count(tx: Transaction) -> dict[str, int]:
            execute = tx.connection.execute
            return {name: len(execute(f'SELECT 1 FROM "{name}"').fetchall()) for name in names}

        return dict(self.read(count))

    def transport(self) -> int:
        return self.create("mail_transport", name="Nowhere", extension_id="core.mail.transport.null")

    def own_address(self, email: str) -> int:
        """Creates an address that the desk sends from."""
        return self.create("address", email=email, mail_transport_id=self.transport())

    def worker(self, email: str) -> int:
        address = self.create("address", email=email)
        name = email.partition("@")[0]
        id = self.create("worker", first_name=name, email_id=address, language="en_US", timezone="UTC")
        self.change("address", address, worker_id=id)
        return id

    def sent(self, ticket_id: int, message_id: str, **headers: str) -> int:
        """Stores a message that the desk sent, as the outbox does."""
        known = self.all("address", email="help@desk.example")
        sender = known[0]["id"] if known else self.own_address("help@desk.example")
        lines = "\n".join(f"{name}: {value}" for name, value in {"Message-Id": message_id, **headers}.items())
        return self.create(
            "message", ticket_id=ticket_id, sender_id=sender, is_outgoing=1, content="Shut the valve.", headers=lines
        )
