"""Runs a request that has arrived. Small reads run on the event loop under a budget of database steps, or on the
threads of a store whose reads wait, and start again on a worker thread when they take too long; small writes go
straight to the writer; everything else runs on a worker thread."""

from collections.abc import Callable
from contextlib import suppress

from server.errors import HelpdeskError
from server.store.database import NotOnWriter, OutOfSteps, TextsWait
from server.store.transaction import Transaction
from server.store.writer import PendingWrite, Write
from server.web import entity_tags
from server.web.endpoint_call import Response
from server.web.error_responses import error_response
from server.web.front import Front
from server.web.response_sender import ResponseSender
from server.web.site import Pool, Request, Site
from server.web.streams import stopping
from server.web.thread_results import Result


class Dispatch:
    """All runs of one request; the last one has its response."""

    __slots__ = ("_front", "_request", "_site", "_sender", "_pool", "_awaits_texts")

    def __init__(self, front: Front, request: Request, site: Site, sender: ResponseSender) -> None:
        self._front = front
        self._request = request
        self._site = site
        self._sender = sender
        self._pool: Pool | None = None  # the pool of the thread that runs it
        self._awaits_texts = False  # to be indexed by the writer before the search runs

    def start(self) -> None:
        """Begins the first run, on the event loop; sends its response or error."""
        front, site, request = self._front, self._site, self._request
        try:
            if front.steps and site.inline(request):
                if front.reads_wait:
                    self._run_on_reader()
                    return
                try:
                    self._sender.send(self._counted(front.steps))
                    return
                except TextsWait as error:
                    self._run_once_indexed(error.names)
                    return
                except OutOfSteps:
                    pass
            work = site.writing(request)
            if work is not None:
                self._run_on_writer(work)
            else:
                self._run_on_thread()
        except Exception as error:
            self._sender.send_error(error)

    def _run_on_reader(self) -> None:
        """Runs a small read on a thread of the store, which runs several at once."""
        front = self._front
        if front.is_stopping:
            raise stopping()
        front.service.store.submit_read(
            lambda: self._counted(front.steps), lambda pending: front.results.put(self._receive, pending)
        )
        front.in_flight += 1

    def _run_on_writer(self, work: Callable[[], Response]) -> None:
        """Runs a small write on the writer without a worker thread: two thread switches instead of four."""
        front, request = self._front, self._request
        if front.is_stopping:
            raise stopping()

        def write(tx: Transaction) -> Response:
            response = work()
            request.queries = tx.statements
            return response

        front.mark_write()
        front.service.store.submit(write, lambda pending: front.results.put(self._receive, pending))
        front.in_flight += 1

    def _run_on_thread(self, is_new: bool = True) -> None:
        """is_new: whether a stopping service may refuse it."""
        front, site, request = self._front, self._site, self._request
        pool = front.hashing if site.hashes(request) else site.pool_for(request) or front.pool
        if is_new and front.is_stopping:
            raise stopping()
        pool.require_room()
        if pool.writes is None and request.method not in ("GET", "HEAD"):
            front.mark_write()
        pool.waiting += 1
        front.in_flight += 1
        self._pool = pool

        def work() -> None:
            response = self._respond()
            if site.packs:  # on this thread, which delays no other request
                response = entity_tags.pack(entity_tags.rendered(response), request)
            if response.write is None:
                front.results.put(self._receive, response)
            else:
                self._write_before(response, response.write, pool)

        pool.threads.submit(work)

    def _write_before(self, response: Response, write: Write, pool: Pool) -> None:
        """Lets the writer send the response after its commit, so that this thread can serve other requests."""
        front, request = self._front, self._request

        def written(tx: Transaction) -> Response:
            other = write(tx)
            return other if isinstance(other, Response) else response

        def done(pending: PendingWrite) -> None:
            pool.end_write()
            request.queries += pending.statements
            error = pending.error
            if error is not None and response.refused is not None:
                with suppress(RuntimeError):  # the threads have been shut down
                    pool.threads.submit(self._refuse, response, error)
                    return
            front.results.put(self._receive, pending)

        try:
            pool.begin_write(front.is_alone)
        except HelpdeskError as error:
            self._refuse(response, error)
            return
        try:
            front.service.store.submit(written, done)
        except HelpdeskError as error:
            pool.end_write()
            self._refuse(response, error)

    def _refuse(self, response: Response, error: BaseException) -> None:
        """Sends the response to an error of a write; on a thread."""
        front, request, store = self._front, self._request, self._front.service.store
        store.take_queries()
        try:
            refusal = error_response(front, request, error) if response.refused is None else response.refused(error)
        except Exception as bug:
            refusal = error_response(front, request, bug)
        request.queries += store.take_queries()
        front.results.put(self._receive, refusal)

    def _run_once_indexed(self, names: tuple[str, ...]) -> None:
        """Repeats a small read after the writer has indexed the texts that it searches."""
        front = self._front
        front.service.store.submit(
            lambda tx: tx.store.index_waiting(tx, names), lambda pending: front.results.put(self._receive, pending)
        )
        front.in_flight += 1
        self._awaits_texts = True

    def _run_as_indexed(self) -> None:
        """Repeats a read with the texts that are indexed, if indexing the others failed, such as on a full disk."""
        front = self._front
        try:
            with front.service.store.as_indexed():
                response = self._counted(front.steps)
            self._sender.send(response)
        except OutOfSteps:
            self._run_again_on_thread()
        except Exception as error:
            self._sender.send_error(error)

    def _run_again_on_thread(self) -> None:
        """Repeats on a worker thread a request that took too long on a thread of the store, without effects so far."""
        try:
            self._run_on_thread(is_new=False)
        except HelpdeskError as error:
            self._sender.send_error(error)

    def _receive(self, result: Result) -> None:
        """Sends the response of a run on another thread, or begins the next run."""
        front = self._front
        front.in_flight -= 1
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.waiting -= 1
        if self._awaits_texts:
            self._awaits_texts = False
            front.service.store.record_indexed(result.error if isinstance(result, PendingWrite) else None)
            self._run_as_indexed()
        elif isinstance(result, Response):
            self._sender.send(result)
        elif (error := result.error) is None:
            self._sender.send(result.result)
        elif isinstance(error, (NotOnWriter, OutOfSteps)) and pool is None:
            self._run_again_on_thread()
        else:
            self._sender.send_error(error)

    def _respond(self) -> Response:
        """Returns the response; on a worker thread, and never raises."""
        try:
            return self._counted(None)
        except Exception as error:
            return error_response(self._front, self._request, error)

    def _counted(self, steps: int | None) -> Response:
        """Returns the site's response, and counts its statements for the log line."""
        store = self._front.service.store
        store.take_queries()
        try:
            return self._site.respond(self._request, steps)
        finally:
            self._request.queries += store.take_queries()
