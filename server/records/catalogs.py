"""Message catalogs: the available languages, and the one of a worker."""

from functools import lru_cache
from pathlib import Path

from server import resources, translation
from server.context import Service
from server.store.transaction import Transaction
from server.translation import Catalog, Languages


def languages(service: Service) -> Languages:
    """The languages of the data folder, which take precedence, and the built-in ones."""
    return _languages_in(service.settings.data)


@lru_cache(maxsize=16)  # resolving the paths takes 30 microseconds, for each page
def _languages_in(data: Path) -> Languages:
    return Languages((data / translation.FOLDER, resources.path(translation.FOLDER)))


def worker_catalog(service: Service, worker_id: int) -> Catalog:
    """The catalog of a worker's language. Call it before a write, since it may read a file."""
    workers = service.registry.type("worker")

    def read(tx: Transaction) -> str:
        row = tx.get(workers.table, worker_id)
        return str(workers.record(row)["language"]) if row is not None else ""

    return languages(service).catalog_for(service.store.read(read))
