"""The numbers of /metrics, collected on request: counts of requests from meter.py, others from their sources.

prometheus_client writes them; it is imported with the first request, since nothing else needs it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from server import clock
from server.context import Service
from server.errors import HelpdeskError
from server.jobs.scheduler import last_scans
from server.settings import VERSION
from server.upkeep import backups, health
from server.upkeep.health import Health
from server.web.meter import BOUNDS, Meter

if TYPE_CHECKING:
    from prometheus_client.core import Metric

PREFIX = "helpdesk_"
BACKLOG = {
    "jobs_due": "Jobs due now.",
    "jobs_later": "Jobs scheduled for later.",
    "jobs_failed": "Jobs that failed too often and are no longer retried.",
    "oldest_job_seconds": "How long the oldest due job has been waiting.",
    "mail_queued": "Emails waiting to be sent, now or later.",
    "mail_failing": "Emails of these that could not be sent so far.",
    "mail_parked": "Emails waiting because no mail server is configured.",
    "mail_held": "Emails waiting because their mail server cannot be reached.",
    "mail_given_up": "Emails that are no longer retried, for some recipients or all, until somebody deals with them.",
    "queue_messages": "Messages in the queues of automations.",
}


def as_json(value: object) -> bytes:
    """Returns compact JSON with a line end."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def backlog(service: Service, found: Health) -> dict[str, int] | None:
    """Returns the queues by name; None if the database cannot be read. found: the health of the service."""
    if not found.database_readable:
        return None
    try:
        return asdict(service.store.read(lambda tx: health.backlog(tx, clock.now())))
    except HelpdeskError:  # the health checks report this error
        return None


def path_of(route: str) -> str:
    """Returns a route as metrics show it: endpoints are below /rest/.

    >>> path_of("records/{uri}/search"), path_of("/webhooks/"), path_of("")
    ('/rest/records/{uri}/search.json', '/webhooks/', 'none')"""
    if not route:
        return "none"
    return route if route.startswith("/") else f"/rest/{route}.json"


class Numbers:
    """Collects the numbers of one service for prometheus_client. look: returns its health."""

    def __init__(self, service: Service, meter: Meter, look: Callable[[], Health]) -> None:
        self._service = service
        self._meter = meter
        self._look = look
        self._registry: Any = None

    def text(self, accept: str) -> tuple[bytes, str]:
        """Returns all numbers and their content type. accept: the Accept header of the request."""
        from prometheus_client import CollectorRegistry, ProcessCollector
        from prometheus_client.exposition import choose_encoder

        if self._registry is None:
            registry = CollectorRegistry(auto_describe=False)
            registry.register(self)
            ProcessCollector(registry=registry)  # memory, processor time and open files, where /proc exists
            self._registry = registry
        encode, kind = choose_encoder(accept)
        return encode(self._registry), kind

    def collect(self) -> "Iterator[Metric]":
        """Called by prometheus_client."""
        from prometheus_client.core import CounterMetricFamily, InfoMetricFamily

        yield InfoMetricFamily("helpdesk", "The program.", {"version": VERSION})
        yield from self._requests()
        for name, value, about in (
            ("loop_stalls", self._meter.stalls, "Number of times something blocked the event loop."),
            ("loop_stalled_seconds", self._meter.stalled_seconds, "Total time it was blocked."),
            ("stream_events", self._meter.events_sent, "Events sent to streams."),
            ("streams_cut", self._meter.streams_cut, "Streams closed because their clients did not read."),
        ):
            yield CounterMetricFamily(PREFIX + name, about, value)
        for name, (about, now) in list(self._meter.gauges.items()):
            yield _gauge(name, about, now())
        yield from self._health()
        yield from self._files()

    def _requests(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        counter = CounterMetricFamily(PREFIX + "requests", "Responses by status.", labels=("method", "route", "status"))
        about = "Time from the head of a request to the end of its response."
        times = HistogramMetricFamily(PREFIX + "request_seconds", about, labels=("method", "route"))
        together: dict[tuple[str, str], tuple[list[int], float]] = {}
        for (method, route, digit), tally in sorted(self._meter.tallies.items()):
            buckets, seconds = list(tally.buckets), tally.seconds
            counter.add_metric((method, path_of(route), f"{digit}xx"), sum(buckets))
            before, spent = together.get((method, route), ([0] * len(buckets), 0.0))
            together[method, route] = ([a + b for a, b in zip(before, buckets, strict=True)], spent + seconds)
        bounds = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
        for (method, route), (buckets, seconds) in together.items():
            counted = list(zip(bounds, accumulate(buckets), strict=True))
            times.add_metric((method, path_of(route)), counted, seconds)
        yield counter
        yield times

    def _health(self) -> "Iterator[Metric]":
        from prometheus_client.core import GaugeMetricFamily

        health = self._look()
        checks = GaugeMetricFamily(PREFIX + "healthy", "1: this part of the service works.", labels=("check",))
        for name, value in health.checks().items():
            checks.add_metric((name,), float(value))
        yield checks
        yield _gauge("disk_free_bytes", "Free space on the disk of the data folder.", health.free_bytes)
        for name, number in (backlog(self._service, health) or {}).items():
            yield _gauge(name, BACKLOG[name], number)
        if health.database_readable:
            yield from self._scans()

    def _scans(self) -> "Iterator[Metric]":
        from prometheus_client.core import GaugeMetricFamily

        try:
            runs = last_scans(self._service)
        except HelpdeskError:
            return
        times = GaugeMetricFamily(PREFIX + "scan_timestamp_seconds", "When this scan last ran.", labels=("scan",))
        failures = GaugeMetricFamily(
            PREFIX + "scan_failures", "Runs of this scan that failed in a row.", labels=("scan",)
        )
        for name, run in sorted(runs.items()):
            times.add_metric((name,), run.at)
            failures.add_metric((name,), run.failures)
        yield times
        yield failures

    def _files(self) -> "Iterator[Metric]":
        store, settings = self._service.store, self._service.settings
        yield _gauge("writes_waiting", "Writes waiting for the writer.", store.writes_waiting)
        yield _gauge(
            "write_longest_seconds", "Longest time that one write blocked all others.", store.longest_write_seconds
        )
        try:
            database, log = store.sizes()
        except HelpdeskError:  # the server is unreachable, as the health checks report
            return
        yield _gauge("database_bytes", "Size of the database.", database)
        if store.path is None:
            yield from self._server()
            return
        yield _gauge("log_bytes", "Size of the write-ahead log.", log)
        try:
            newest = backups.newest(settings)
        except HelpdeskError:
            return
        if settings.backup_folder:
            at = newest.at if newest else 0
            yield _gauge("backup_timestamp_seconds", "When the newest backup was created; 0 for never.", at)

    def _server(self) -> "Iterator[Metric]":
        """Yields the numbers of a database server."""
        try:
            state = self._service.store.server_state()
        except HelpdeskError:
            return
        assert state is not None
        yield _gauge("database_latency_seconds", "Round trip of one query to the database.", state.seconds)
        yield _gauge("database_connections", "Connections to the database server, of all programs.", state.connections)
        yield _gauge("database_connections_most", "Maximum number of connections.", state.most)
        yield _gauge("database_replicas", "Replicas of the database.", len(state.replicas))
        lags = [each.seconds for each in state.replicas if each.seconds is not None]
        yield _gauge("database_lag_seconds", "Lag of the slowest replica.", max(lags, default=0.0))


def _gauge(name: str, about: str, value: float) -> "Metric":
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(PREFIX + name, about, value)
