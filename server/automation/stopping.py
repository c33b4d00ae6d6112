"""Stops runs that someone waits for before they end."""

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

STOP = "stop"  # channel to other processes
NAME_CHARS = 32


@dataclass
class StoppableRuns:
    """The current runs that can be stopped, by worker and the code that the worker's page chose."""

    runs: dict[tuple[int, str], Run] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def under(self, worker_id: int, code: str, run: Run) -> Iterator[None]:
        """Makes the run stoppable inside the `with` block."""
        with self.lock:
            self.runs[worker_id, code] = run
        try:
            yield
        finally:
            with self.lock:
                if self.runs.get((worker_id, code)) is run:
                    del self.runs[worker_id, code]

    def stop(self, worker_id: int, code: str) -> bool:
        """Stops a run after its current command; returns whether there was one."""
        with self.lock:
            run = self.runs.get((worker_id, code))
            if run is not None:
                run.stop()
        return run is not None

    def stop_named(self, name: str) -> None:
        """Stops a run by its name_of(); returns whether there was one."""
        with self.lock:
            for (worker_id, code), run in self.runs.items():
                if name_of(worker_id, code) == name:
                    run.stop()


STOPPABLE: StoreLocal[StoppableRuns] = StoreLocal()


def stoppable(store: Store) -> StoppableRuns:
    """Returns the stoppable runs of the service with this store."""
    return STOPPABLE.made(store, StoppableRuns)


def stop(ctx: Context, code: str) -> bool:
    """Stops a run of the caller by the code that its page chose; returns whether this process knows it. Other processes
    are notified."""
    is_here = stoppable(ctx.service.store).stop(ctx.actor.worker_id, code)
    if not is_here:
        ctx.service.announce(STOP, name_of(ctx.actor.worker_id, code))
    return is_here or ctx.service.store.is_shared


def hear(service: Service, name: str) -> None:
    """Handles the request of another process to stop a run."""
    stoppable(service.store).stop_named(name)


def name_of(worker_id: int, code: str) -> str:
    """Returns the name of a run for other processes: short, whatever the length of the code."""
    return f"{worker_id} {digest(code)[:NAME_CHARS]}"
