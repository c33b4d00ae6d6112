"""Runs that somebody waits for, and may stop before they come to their end. Source: ours."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from server.automation.engine import Run
from server.context import Context
from server.store.database import Store
from server.store.store_local import StoreLocal


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


STOPPABLE: StoreLocal[StoppableRuns] = StoreLocal()


def stoppable(store: Store) -> StoppableRuns:
    """Those of the service with this store."""
    return STOPPABLE.made(store, StoppableRuns)


def stop(ctx: Context, code: str) -> bool:
    """Stop a run of one's own, by the code that its page chose; whether there was one."""
    return stoppable(ctx.service.store).stop(ctx.actor.worker_id, code)
