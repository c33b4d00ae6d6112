"""`/health` and `/metrics`, for monitoring. They need no token; the details shown depend on the client's address."""

import time
from collections.abc import Callable
from dataclasses import asdict

from server import clock
from server.context import Service
from server.errors import Forbidden, NotFound
from server.jobs import processes
from server.upkeep import health, verdict
from server.upkeep.health import TRUSTED_SECONDS, Health, Pulse
from server.upkeep.verdict import Verdict
from server.web import envelope, metrics
from server.web.endpoint_call import Response
from server.web.hosts import is_within, networks
from server.web.meter import Meter
from server.web.site import Pool, Request, Site, unless_read

HEALTH, METRICS = "/health", "/metrics"
LOOK_NOW = "look=now"
THREADS = 2  # separate threads, so that a service whose other threads are busy can still report it
WAITING = 64  # requests that may wait for a thread
SPEAKS_FOR_OTHERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")


class MonitoringSites:
    """Creates both sites. scheduler_alive: whether the scheduler runs; jobs_running: the number of running jobs;
    takes_requests: False when the service is about to stop."""

    def __init__(
        self,
        service: Service,
        meter: Meter,
        scheduler_alive: Callable[[], bool],
        jobs_running: Callable[[], int],
        takes_requests: Callable[[], bool] = lambda: True,
    ) -> None:
        meter.gauges["jobs_running"] = ("Running jobs.", jobs_running)
        pulse, pool = Pulse(service), Pool(THREADS, WAITING, "watching")

        def look(seconds: float = TRUSTED_SECONDS) -> Health:
            return pulse.look(scheduler_alive(), seconds, takes_requests())

        health.watch(service, look, jobs_running)
        readers = MetricsReaders(service)
        self.sites: dict[str, Site] = {
            HEALTH: HealthSite(pool, readers, service, look),
            METRICS: MetricsSite(pool, readers, metrics.Numbers(service, meter, look)),
        }


class MetricsReaders:
    """The clients that may read numbers, by the setting metrics_allow."""

    def __init__(self, service: Service) -> None:
        self._networks = networks(service.settings.metrics_allow, "metrics_allow")

    def includes(self, request: Request) -> bool:
        """Whether a request comes from such a client. A request through an untrusted proxy is never included, whatever
        the address of the proxy."""
        is_passed_on = any(name in request.headers for name in SPEAKS_FOR_OTHERS)
        if is_passed_on and request.client == request.peer:
            return False
        return is_within(request.client, self._networks)


class MonitoringSite(Site):
    """A site with one path that is read-only."""

    is_json = False
    path = ""

    def __init__(self, pool: Pool, readers: MetricsReaders) -> None:
        self.pool = pool
        self.readers = readers

    def limit(self, request: Request) -> int:
        return 0

    def respond(self, request: Request, steps: int | None) -> Response:
        if request.path != self.path:
            raise NotFound(f"there is nothing at {request.path[:200]}")
        return unless_read(request) or self.shown(request)

    def shown(self, request: Request) -> Response:
        """Returns the response to a GET."""
        raise NotFound(f"there is nothing at {self.path}")


class HealthSite(MonitoringSite):
    """Responds with 200 while the vital checks pass, otherwise 503. The vital checks cover failures that a restart may
    cure, and tell a load balancer that the service is about to stop. `status` is the verdict that the console shows.
    Only readers of metrics see its causes and numbers; for them `look=now` checks mail servers too."""

    path = HEALTH

    def __init__(self, pool: Pool, readers: MetricsReaders, service: Service, look: Callable[[], Health]) -> None:
        super().__init__(pool, readers)
        self.service = service
        self.look = look
        self._judged, self._judged_at = Verdict(()), -TRUSTED_SECONDS

    def shown(self, request: Request) -> Response:
        health, is_reader = self.look(), self.readers.includes(request)
        judged = self._verdict(health, is_anew=is_reader and request.query == LOOK_NOW and health.is_well)
        payload: dict[str, object] = {"status": judged.state, "checks": health.checks()}
        if is_reader:
            payload["findings"] = [asdict(each) for each in judged.findings]
            payload |= {"disk_free_bytes": health.free_bytes, "writes_waiting": self.service.store.writes_waiting}
            payload |= {"backlog": metrics.backlog(self.service, health)}
            payload |= self._processes()
        status = 200 if health.is_well else 503
        return Response(status=status, body=metrics.as_json(payload), content_type=envelope.CONTENT_TYPE)

    def _processes(self) -> dict[str, object]:
        """Returns the processes that serve the database, if several may."""
        if not self.service.store.is_shared:
            return {}
        keys = ("role", "host", "pid", "started_at", "seen_at", "leads")
        return {"processes": [{name: getattr(each, name) for name in keys} for each in processes.running(self.service)]}

    def _verdict(self, found: Health, is_anew: bool) -> Verdict:
        """Returns the verdict, cached briefly like the state of the disk, since requests are public and unlimited."""
        is_old = time.monotonic() - self._judged_at >= TRUSTED_SECONDS
        if is_anew or is_old or found.is_well == (self._judged.state == "problem"):
            self._judged = (verdict.refresh if is_anew else verdict.current)(self.service, clock.now())
            self._judged_at = time.monotonic()
        return self._judged


class MetricsSite(MonitoringSite):
    """Numbers in the text format of Prometheus, or of OpenMetrics if the client accepts it."""

    path = METRICS

    def __init__(self, pool: Pool, readers: MetricsReaders, numbers: metrics.Numbers) -> None:
        super().__init__(pool, readers)
        self.numbers = numbers

    def shown(self, request: Request) -> Response:
        if not self.readers.includes(request):
            raise Forbidden(
                f"{request.client} may not read this; add its address to metrics_allow, or, behind a proxy, the "
                f"proxy's address to trusted_proxies"
            )
        body, kind = self.numbers.text(request.headers.get("Accept", ""))
        return Response(body=body, content_type=kind)
