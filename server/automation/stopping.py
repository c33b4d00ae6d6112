"""Runs that somebody waits for, and may stop before they come to their end."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from server.automation.engine import Run
from server.context import Context, Service
from server.dataclass import dataclass
from server.record_types.shared.secrets import digest
from server.store.database import Store
from server.store.store_local import StoreLocal

STOP = "stop"  # what other processes are told
NAME_CHARS = 32


@dataclass
class StoppableRuns:
    """The runs under way that can be stopped, by who let them run and the code that they chose for it."""

    runs: dict[tuple[int, str], Run] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def under(self, worker_id: int, code: str, run: Run) -> Iterator[None]:
        """Inside, the run can be stopped."""
        with self.lock:
            self.runs[worker_id, code] = run
        try:
            yield
        finally:
            with self.lock:
                if self.runs.get((worker_id, code)) is run:
                    del self.runs[worker_id, code]

    def stop(self, worker_id: int, code: str) -> bool:
        """Stop a run after the command that it is at; whether there was one."""
        with self.lock:
            found = self.runs.get((worker_id, code))
            if found is not None:
                found.stop()
        return found is not None

    def stop_named(self, name: str) -> None:
        """As stop, by what `name_of` makes of worker and code."""
        with self.lock:
            for (worker_id, code), found in self.runs.items():
                if name_of(worker_id, code) == name:
                    found.stop()


STOPPABLE: StoreLocal[StoppableRuns] = StoreLocal()


def stoppable(store: Store) -> StoppableRuns:
    """Those of the service with this store."""
    return STOPPABLE.made(store, StoppableRuns)


def stop(ctx: Context, code: str) -> bool:
    """Stop a run of one's own, by the code that its page chose; whether there was one, as far as this process knows:
    others are told."""
    is_here = stoppable(ctx.service.store).stop(ctx.actor.worker_id, code)
    if not is_here:
        ctx.service.announce(STOP, name_of(ctx.actor.worker_id, code))
    return is_here or ctx.service.store.is_shared


def hear(service: Service, name: str) -> None:
    """Another process was asked to stop this run."""
    stoppable(service.store).stop_named(name)


def name_of(worker_id: int, code: str) -> str:
    """A run as it is named to other processes: short, whatever the code is."""
    return f"{worker_id} {digest(code)[:NAME_CHARS]}"
