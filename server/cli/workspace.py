"""The store of an offline command: of a data folder, or a temporary one that is created when it is needed."""

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
from server.access.service_actor import command_context
from server.automation.automation_service import ServiceHost
from server.automation.host import Script
from server.automation.template_functions import functions_for
from server.cli.opening import require_unused
from server.context import Context, Service
from server.settings import Settings, load
from server.store import lock
from server.store.database import Store

TERMINATED = 128 + signal.SIGTERM


class Workspace:
    """Opens the store when it is first needed. is_open: whether it is open."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened
        self._service: Service | None = None
        self._sandbox: _Sandbox | None = None  # the temporary folder

    @property
    def is_open(self) -> bool:
        return self._service is not None

    def context(self) -> Context:
        """Returns the context of a command at this moment, on the open store or on a temporary one."""
        if self._service is None:
            folder = tempfile.TemporaryDirectory(prefix="helpdesk-", ignore_cleanup_errors=True)
            self._sandbox = _Sandbox(Path(self._opened.enter_context(folder)))
            self._opened.callback(self._close)  # before the folder is removed
            self._open(self._sandbox.settings).close()
            self._sandbox.store()
            self._open(self._sandbox.settings)
            self._sandbox.look()
        assert self._service is not None
        return command_context(self._service)

    def open_existing(self, folder: Path) -> None:
        """Opens the database of a folder for exclusive use. Raises Damaged if a server runs there, or there is no
        database."""
        settings = load({}, os.environ, data_folder=folder)
        app.require_database(settings)
        if not settings.database:
            folder_lock = lock.FolderLock(folder)
            folder_lock.take()
            self._opened.callback(folder_lock.release)
        self._opened.callback(self._close)  # before the lock is released
        self._open(settings)
        assert self._service is not None
        require_unused(self._service)

    def renew(self) -> None:
        """Resets a temporary store between two requests."""
        if self._sandbox is not None and self._sandbox.is_changed():
            self._close()
            self._sandbox.restore()
            self._open(self._sandbox.settings)
            self._sandbox.look()

    def _open(self, settings: Settings) -> Store:
        self._service = app.open_service(settings)
        return self._service.store

    def _close(self) -> None:
        if self._service is not None:
            self._service.store.close()


class _Sandbox:
    """A temporary folder, and the initial content of its database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = load({}, os.environ, data_folder=folder).replace(database="")  # never the service's
        self._path = folder / app.DATABASE
        self._first = b""
        self._seen: list[tuple[int, int]] = []

    def store(self) -> None:
        """Stores the content of the database, which must be closed."""
        self._first = self._path.read_bytes()

    def look(self) -> None:
        """Records the state of its files, to detect writes from now on."""
        self._seen = self._looks()

    def is_changed(self) -> bool:
        return self._seen != self._looks()

    def restore(self) -> None:
        """Restores the stored content of the database, which must be closed."""
        for path in self.folder.glob(f"{app.DATABASE}*"):
            path.unlink()
        self._path.write_bytes(self._first)

    def _looks(self) -> list[tuple[int, int]]:
        stats = [path.stat() for path in sorted(self.folder.glob(f"{app.DATABASE}*")) if not path.name.endswith("-shm")]
        return [(each.st_size, each.st_mtime_ns) for each in stats]


@contextmanager
def workspace(data: str | None) -> Iterator[Workspace]:
    """Yields the store of a command. data: the data folder of the command line, None for a temporary one."""
    log.configure("warning", "text")
    with ExitStack() as opened:
        opened.enter_context(_ended_in_order())
        store = Workspace(opened)
        if data is not None:
            store.open_existing(Path(data))
        yield store


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Turns a signal to terminate into an exception, so that the temporary folder is removed."""
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
    """Implements automation.host.Host on a workspace. automations: callable automations in addition to those of the
    store.

    Opens the store only when a script needs it."""

    depth = 0
    reads_only = False
    zone = "UTC"

    def __init__(self, store: Workspace, automations: Mapping[str, Script] | None = None, *, dry: bool = False) -> None:
        self.dry = dry
        self._store = store
        self._automations = automations or {}
        self._within: _WorkspaceHost | None = None

    @property
    def ctx(self) -> Context:
        return self._inside().ctx

    def automation(self, name: str) -> Script | None:
        return self._inside().automation(name) if self._store.is_open else self._automations.get(name)

    def load(self, context: str, id: int, key: str) -> Mapping[str, Any]:
        return self._inside().load(context, id, key)

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        return functions_for(self._inside)

    def _inside(self) -> "_WorkspaceHost":
        if self._within is None:
            self._within = _WorkspaceHost(self._store.context(), self._automations, dry=self.dry)
        return self._within


class _WorkspaceHost(ServiceHost):
    """The host after the store was opened."""

    def __init__(self, ctx: Context, automations: Mapping[str, Script], *, dry: bool) -> None:
        super().__init__(ctx, dry=dry)
        self._automations = automations

    def automation(self, name: str) -> Script | None:
        return self._automations.get(name) or super().automation(name)
