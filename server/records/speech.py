"""The languages that people are spoken to in."""

from server import resources, translation
from server.context import Service
from server.store.transaction import Transaction
from server.translation import Catalog, Languages


def languages(service: Service) -> Languages:
    """Ours, and those of the data folder, which go before."""
    return Languages((service.settings.data / translation.FOLDER, resources.path(translation.FOLDER)))


def of_worker(service: Service, worker_id: int) -> Catalog:
    """The language of a worker; to be asked before a write, as its file may have to be read first."""
    workers = service.registry.type("worker")

    def read(tx: Transaction) -> str:
        row = tx.get(workers.table, worker_id)
        return str(workers.record(row)["language"]) if row is not None else ""

    return languages(service).catalog_for(service.store.read(read))
