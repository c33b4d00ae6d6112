"""Threads that hand mail to mail servers: a few for each transport, so that a slow server delays only its own mail.

Without these threads, where no service runs, the calling thread delivers the mail. The mail itself is built in
deliver.py."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait

from server import log
from server.context import Service
from server.outbox import queue_rows
from server.outbox.deliver import deliver
from server.outbox.sender import way_of
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction

CONNECTIONS = 4  # simultaneous, for each transport
ANSWER_SECONDS = 2  # maximum time that a request waits for its mail to be sent
_log = log.get("mail")


class Sending:
    """The threads of one service. most_waiting: number of requests that may wait for their mail at a time; further
    requests get their response at once, so that enough threads stay free."""

    def __init__(self, service: Service, most_waiting: int) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._threads: dict[int, ThreadPoolExecutor] = {}
        self._running: set[Future[bool | None]] = set()
        self._places = threading.BoundedSemaphore(most_waiting)
        self._is_stopping = False
        SENDING.set(service.store, self)

    def hand_over(self, draft_id: int, claim: str, now: int) -> "Future[bool | None] | None":
        """Sends a claimed draft on a thread of its transport. Returns None once the service stops."""
        transport_id = self._service.store.read(lambda tx: _transport_id(self._service, tx, draft_id))
        with self._lock:
            if self._is_stopping:
                return None
            future = self._pool(transport_id).submit(self._deliver, draft_id, claim, now)
            self._running.add(future)
        future.add_done_callback(self._ended)
        return future

    def outcome(self, future: "Future[bool | None] | None") -> bool | None:
        """Whether the mail was sent; None when that is unknown after ANSWER_SECONDS, or too many requests wait
        already."""
        if future is None or not self._places.acquire(blocking=False):
            return None
        try:
            done, _ = wait((future,), ANSWER_SECONDS)
            return None if not done or future.cancelled() else future.result()
        finally:
            self._places.release()

    def stop(self, seconds: float) -> None:
        """Starts no further mail, and waits some seconds for mail that is being sent. Unsent mail stays in the
        queue."""
        with self._lock:
            self._is_stopping = True
            running = tuple(self._running)
        for pool in self._threads.values():
            pool.shutdown(wait=False, cancel_futures=True)
        wait(running, seconds)

    def _pool(self, transport_id: int) -> ThreadPoolExecutor:
        if transport_id not in self._threads:
            self._threads[transport_id] = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix=f"mail-{transport_id}")
        return self._threads[transport_id]

    def _deliver(self, draft_id: int, claim: str, now: int) -> bool | None:
        try:
            return deliver(self._service, draft_id, claim, now)
        except Exception:
            # The next run of the service releases this claim and tries again.
            if self._is_stopping:
                _log.warning("mail.left", draft=draft_id)
            else:
                _log.exception("mail.failed", draft=draft_id)
            return None

    def _ended(self, future: "Future[bool | None]") -> None:
        with self._lock:
            self._running.discard(future)


SENDING: StoreLocal[Sending] = StoreLocal()


def send_soon(service: Service, draft_id: int, claim: str, now: int) -> bool | None:
    """Sends a claimed draft in the background; returns None while it is on its way."""
    sending = SENDING.get(service.store)
    if sending is None:
        return deliver(service, draft_id, claim, now)
    sending.hand_over(draft_id, claim, now)
    return None


def send_and_wait(service: Service, draft_id: int, claim: str, now: int) -> bool | None:
    """Sends a claimed draft for a request. Returns whether it was sent, None when it is still on its way."""
    sending = SENDING.get(service.store)
    if sending is None:
        return deliver(service, draft_id, claim, now)
    return sending.outcome(sending.hand_over(draft_id, claim, now))


def _transport_id(service: Service, tx: Transaction, draft_id: int) -> int:
    row = queue_rows.get(tx, draft_id)
    way = way_of(tx, service.registry, row["from_address_id"]) if row else None
    return way.transport_id if way else 0
