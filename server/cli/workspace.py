"""The store that an offline command runs on: that of a data folder, or a throw-away one, made when it is needed."""

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from server import app, log
from server.automation.host import Automation
from server.automation.service import ServiceHost
from server.automation.template_functions import functions_for
from server.context import Context, Service
from server.desk import first_start
from server.settings import load
from server.store import lock

TERMINATED = 128 + signal.SIGTERM


class Workspace:
    """Opens the store at most once. is_open: whether there is one yet."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened
        self._service: Service | None = None

    @property
    def is_open(self) -> bool:
        return self._service is not None

    def context(self) -> Context:
        """The service's own operation of this moment, on the store that is open, or on a throw-away one."""
        if self._service is None:
            folder = tempfile.TemporaryDirectory(prefix="helpdesk-", ignore_cleanup_errors=True)
            self.open(Path(self._opened.enter_context(folder)))
        assert self._service is not None
        return first_start.own_context(self._service)

    def open(self, folder: Path) -> None:
        """Use the database of a folder."""
        self._service = app.open_service(load({}, os.environ, data_folder=folder))
        self._opened.callback(self._service.store.close)

    def open_existing(self, folder: Path) -> None:
        """As open, alone: a server may not run there. Raises Damaged when one does, or there is no database."""
        app.require_database(folder)
        held = lock.FolderLock(folder)
        held.take()
        self._opened.callback(held.release)
        self.open(folder)


@contextmanager
def workspace(data: str | None) -> Iterator[Workspace]:
    """The store of a command. data: the folder that was named, None for none."""
    log.configure("warning", "text")
    with ExitStack() as opened:
        opened.enter_context(_ended_in_order())
        found = Workspace(opened)
        if data is not None:
            found.open_existing(Path(data))
        yield found


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Within it, being told to end is an exception, so that the temporary folder goes too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class OfflineHost:
    """automation.host.Host on a workspace. automations: those that may be called beside the ones of the store.

    Asks for the store only where a script needs it."""

    depth = 0
    zone = "UTC"

    def __init__(
        self, store: Workspace, automations: Mapping[str, Automation] | None = None, *, dry: bool = False
    ) -> None:
        self.dry = dry
        self._store = store
        self._automations = automations or {}
        self._within: _Within | None = None

    @property
    def ctx(self) -> Context:
        return self._inside().ctx

    def automation(self, name: str) -> Automation | None:
        return self._inside().automation(name) if self._store.is_open else self._automations.get(name)

    def load(self, context: str, id: int, key: str) -> Mapping[str, Any]:
        return self._inside().load(context, id, key)

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        return functions_for(self._inside)

    def _inside(self) -> "_Within":
        if self._within is None:
            self._within = _Within(self._store.context(), self._automations, dry=self.dry)
        return self._within


class _Within(ServiceHost):
    """The host once there is a store."""

    def __init__(self, ctx: Context, automations: Mapping[str, Automation], *, dry: bool) -> None:
        super().__init__(ctx, dry=dry)
        self._automations = automations

    def automation(self, name: str) -> Automation | None:
        return self._automations.get(name) or super().automation(name)
