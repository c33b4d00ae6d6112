"""Data of the database that a process caches permanently: live settings and custom record types. Other caches are
checked by version at each use. Another process may change both."""

import threading

from server.context import Service
from server.record_types.shared import custom_types
from server.record_types.shared.custom_types import VERSION as TYPES_VERSION
from server.records import live_settings
from server.records.service_settings import VERSION as SETTINGS_VERSION
from server.store.database import NotOnWriter
from server.store.transaction import Transaction


class ProcessCaches:
    """The permanent caches of a service with several processes."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._settings = self._types = -1  # the cached versions

    def renew(self) -> None:
        """Reloads changed data in its committed state. Inside a write, which may be rolled back, another thread reads
        it."""
        try:
            self._service.store.require_off_writer()
        except NotOnWriter:
            reading = threading.Thread(target=self._renew, name="process caches")
            reading.start()
            reading.join()
        else:
            self._renew()

    def _renew(self) -> None:
        service = self._service
        with self._lock:  # so that an older read does not overwrite a newer one
            settings, types = service.store.read(_versions)
            if settings != self._settings:
                live_settings.apply(service)
                self._settings = settings
            if types != self._types:
                service.registry.replace_custom(service.store.read(lambda tx: custom_types.read(tx, service.registry)))
                service.store.statements.forget()
                self._types = types


def _versions(tx: Transaction) -> tuple[int, int]:
    return tx.version(SETTINGS_VERSION), tx.version(TYPES_VERSION)
