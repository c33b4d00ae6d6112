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
from server.automation.host import Script
from server.automation.service import ServiceHost
from server.automation.template_functions import functions_for
from server.cli.opening import require_unused
from server.context import Context, Service
from server.settings import Settings, load
from server.store import lock
from server.store.database import Store

TERMINATED = 128 + signal.SIGTERM


class Workspace:
    """Opens the store when it is asked for. is_open: whether it is."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened
        self._service: Service | None = None
        self._made: _Sandbox | None = None  # the throw-away folder

    @property
    def is_open(self) -> bool:
        return self._service is not None

    def context(self) -> Context:
        """The operation of a command of this moment, on the store that is open, or on a throw-away one."""
        if self._service is None:
            folder = tempfile.TemporaryDirectory(prefix="helpdesk-", ignore_cleanup_errors=True)
            self._made = _Sandbox(Path(self._opened.enter_context(folder)))
            self._opened.callback(self._close)  # before the folder is removed
            self._open(self._made.settings).close()
            self._made.keep()
            self._open(self._made.settings)
            self._made.look()
        assert self._service is not None
        return command_context(self._service)

    def open_existing(self, folder: Path) -> None:
        """Use the database of a folder, alone. Raises Damaged when a server runs there, or there is no database."""
        settings = load({}, os.environ, data_folder=folder)
        app.require_database(settings)
        if not settings.database:
            held = lock.FolderLock(folder)
            held.take()
            self._opened.callback(held.release)
        self._opened.callback(self._close)  # before others may have it
        self._open(settings)
        assert self._service is not None
        require_unused(self._service)

    def renew(self) -> None:
        """Resets a temporary store between two requests."""
        if self._made is not None and self._made.is_changed():
            self._close()
            self._made.restore()
            self._open(self._made.settings)
            self._made.look()

    def _open(self, settings: Settings) -> Store:
        self._service = app.open_service(settings)
        return self._service.store

    def _close(self) -> None:
        if self._service is not None:
            self._service.store.close()


class _Sandbox:
    """A throw-away folder, and its database as it was at first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = load({}, os.environ, data_folder=folder).replace(database="")  # never the one of the service
        self._path = folder / app.DATABASE
        self._first = b""
        self._seen: list[tuple[int, int]] = []

    def keep(self) -> None:
        """Remember the database as it is; it must be closed."""
        self._first = self._path.read_bytes()

    def look(self) -> None:
        """Records the state of its files, to detect writes from now on."""
        self._seen = self._looks()

    def is_changed(self) -> bool:
        return self._seen != self._looks()

    def restore(self) -> None:
        """Make the database what was kept; it must be closed."""
        for path in self.folder.glob(f"{app.DATABASE}*"):
            path.unlink()
        self._path.write_bytes(self._first)

    def _looks(self) -> list[tuple[int, int]]:
        found = [path.stat() for path in sorted(self.folder.glob(f"{app.DATABASE}*")) if not path.name.endswith("-shm")]
        return [(each.st_size, each.st_mtime_ns) for each in found]


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
    """automation.host.Host on a workspace. automations: those that may be called beside the ones of the store.

    Asks for the store only where a script needs it."""

    depth = 0
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
    """The host once there is a store."""

    def __init__(self, ctx: Context, automations: Mapping[str, Script], *, dry: bool) -> None:
        super().__init__(ctx, dry=dry)
        self._automations = automations

    def automation(self, name: str) -> Script | None:
        return self._automations.get(name) or super().automation(name)
