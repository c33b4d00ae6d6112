"""A helpdesk without a server: registry, database file and the operations on records, for tests of record types."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from server import settings
from server.access import actor as actors
from server.access.actor import Actor
from server.automation import saving
from server.automation.service_automations import ServiceAutomations
from server.context import Context, Service
from server.record_types.registry import Registry
from server.record_types.shared import entries
from server.records import records
from server.records.dictionary import Dictionaries
from server.records.writing import RecordWriter
from server.search.compile import SearchScope
from server.search.conditions import ALWAYS
from server.search.query_parser import parse
from server.search.select import CompiledSearch
from server.search.select import search as compile_search
from server.store.transaction import Transaction
from tests import opening

NOW = 1_795_000_000
BASE_URL = "https://desk.example"
READ_SECONDS = 120  # more than the service allows, so that no result depends on how busy the machine is
Result = TypeVar("Result")


class Desk:
    """A database file. By default the service itself acts, at NOW, in UTC."""

    def __init__(self, folder: Path, registry: Registry | None = None) -> None:
        """registry: the caller's record types, for several desks or with custom types."""
        self.registry = registry or opening.borrow()
        self._is_borrowed = registry is None
        saving.register()
        self.store = opening.opened(folder, self.registry, read_seconds=READ_SECONDS)
        loaded = settings.load({}, {}, data_folder=folder)
        self.service = Service(self.store, self.registry, loaded, BASE_URL, "test", automations=ServiceAutomations())

    def close(self) -> None:
        self.store.close()
        if self._is_borrowed:
            opening.give_back(self.registry)

    def context(self, worker_id: int = 0) -> Context:
        """Returns a context for operations of this worker; 0 is the service."""
        return Context(self.service, self.actor(worker_id), NOW, ZoneInfo("UTC"))

    def actor(self, worker_id: int = 0) -> Actor:
        found = self.read(lambda tx: actors.worker(tx, worker_id)) if worker_id else actors.system()
        assert found is not None
        return found

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        return self.store.read(work)

    def create(self, uri: str, /, by: int = 0, expand: str = "", **fields: Any) -> dict[str, Any]:
        return records.create(self.context(by), uri, fields, expand)

    def own(self, uri: str, /, **values: Any) -> int:
        """Creates a record as the service does, from stored values, regardless of permissions; returns its id."""
        return self.store.write(lambda tx: RecordWriter(self.context(), tx).create(uri, values))

    def update(self, uri: str, id: int, /, by: int = 0, expand: str = "", **fields: Any) -> dict[str, Any]:
        return records.update(self.context(by), uri, id, fields, expand)

    def delete(self, uri: str, id: int, by: int = 0) -> None:
        records.delete(self.context(by), uri, id)

    def record(self, uri: str, id: int, by: int = 0, expand: str = "") -> dict[str, Any]:
        return records.retrieve(self.context(by), uri, id, expand)

    def row(self, uri: str, id: int) -> dict[str, Any]:
        """Returns the record as it is stored."""
        record_type = self.registry.type(uri)
        row = self.read(lambda tx: tx.get(record_type.table, id))
        assert row is not None
        return record_type.record(row)

    def found(self, uri: str, q: str, by: int = 0) -> list[int]:
        """Returns the ids that a search finds, in order."""
        result = records.search(self.context(by), uri, records.SearchRequest(q, limit=500))
        return [each["id"] for each in result["results"]]

    def log(self, point: str = "", **equals: Any) -> list[dict[str, Any]]:
        """Returns the activity entries, oldest first, of one point or of all, with these column values."""
        table, of_point = self.registry.type("activity_log"), {"activity_point": point} if point else {}
        rows = self.read(lambda tx: tx.find(table.table, **of_point, **equals))
        return [table.record(row) for row in rows]

    def acts(self, since: int = 0) -> list[str]:
        """Returns the sentences of the administrative actions after an entry, oldest first."""
        return [entries.plain_text(each["params"]) for each in self.log(is_administrative=1) if each["id"] > since]

    def search(self, tx: Transaction, uri: str, q: str) -> CompiledSearch:
        """Compiles a search that sees everything."""
        scope = SearchScope(self.registry, tx, 1, NOW, ZoneInfo("UTC"), lambda record_type: ALWAYS)
        return compile_search(self.registry.type(uri), parse(q), scope)

    def shown(self, tx: Transaction, worker_id: int = 0) -> Dictionaries:
        return Dictionaries(self.context(worker_id), tx)

    def worker(self, name: str, **fields: Any) -> int:
        """Creates a worker and returns the id; the first one should be an administrator, as in production."""
        values = {"first_name": name, "email": f"{name.lower()}@desk.example", "language": "en_US", "timezone": "UTC"}
        return int(self.create("worker", **values | fields)["id"])

    def people(self) -> dict[str, int]:
        """Creates nora, an administrator; milo, a member of Support; olga, in no group; and the default group, as
        `support`."""
        found = {"nora": self.worker("Nora", last_name="Berg", is_superuser=1)}
        found["support"] = int(self.create("group", name="Support")["id"])
        found["milo"] = self.worker("Milo", at_mention_name="milo")
        found["olga"] = self.worker("Olga")
        self.update("group", found["support"], members={"member": str(found["milo"])})
        return found
