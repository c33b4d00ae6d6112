"""The front door of HTTP: finds the site of each request, and owns the threads, limits and counts that all requests
share. exchange.py receives a request, dispatch.py runs it, response_sender.py sends its response.

Built below the framework's RequestHandler on purpose: its routing, cookies and templating cost more than our whole
response (`make bench` shows both). Endpoints are in web/rest/."""

import asyncio
import time

from server import memory, passwords
from server.context import Service
from server.web.bodies import BodyMeter
from server.web.hosts import host_name, is_known, known_hosts, networks
from server.web.meter import Meter
from server.web.site import HostSite, Pool, Site
from server.web.streams import Streams
from server.web.thread_results import ThreadResults

ALONE_SECONDS = 2.0  # after the last write of a request
HASHING_THREADS = passwords.AT_ONCE + passwords.WAITING + 8  # more than can wait: the others are refused at once
NO_HOSTS: frozenset[str] = frozenset()
MEMORY_SECONDS = 2.0  # delay before memory goes back to the system: more large bodies may follow


class Front:
    """Passes each request to its site. sites: {beginning of the path: site}; the longest match wins."""

    def __init__(
        self, service: Service, sites: dict[str, Site], rest_errors_as_200: bool = False, meter: Meter | None = None
    ) -> None:
        settings = service.settings
        self.service = service
        self.sites = sorted(sites.items(), key=lambda item: -len(item[0]))
        self._by_start = {
            start: [each for each in self.sites if each[0].startswith(start) or start.startswith(each[0])]
            for start in map(_first_part, sites)
        }
        self.pool = Pool(settings.worker_threads, settings.request_queue, "worker")
        self.hashing = Pool(HASHING_THREADS, settings.request_queue, "password")
        self.in_flight = 0
        self._wrote_at = -ALONE_SECONDS
        self.bodies = BodyMeter(self._give_back_soon)
        self._gives_back: asyncio.TimerHandle | None = None
        self.steps = settings.inline_steps
        self.reads_wait = service.store.reads_wait  # so that none runs on the event loop
        self.logs_requests = settings.request_log
        self.errors_as_200 = rest_errors_as_200
        self.webhook_host = settings.webhook_host
        self._host_site = next((site for site in sites.values() if isinstance(site, HostSite)), None)
        self._hosts = ("", NO_HOSTS, known_hosts(service))
        self.proxies = networks(settings.trusted_proxies)
        self.is_stopping = False
        self.is_leaving = False  # requests are served, but clients should use other processes from now on
        self.results = ThreadResults()
        self.meter = meter or Meter()
        self.streams = Streams(service, self.meter, settings.request_log)
        self._show_gauges()

    @property
    def hosts(self) -> frozenset[str]:
        """The current host names of the service."""
        base_url, own, names = self._hosts
        own_now = self._own_hosts
        if base_url is not self.service.base_url or own is not own_now:
            names = known_hosts(self.service) | own_now
            self._hosts = (self.service.base_url, own_now, names)
        return names

    def may_be_new(self, host: str) -> bool:
        """Whether another process may have saved this host since the own hosts of sites were read."""
        return self.service.store.is_shared and self._host_site is not None and not is_known(host, self.hosts)

    def renew_hosts(self) -> None:
        """Reads the host names of such a site again. Not called on the event loop."""
        if self._host_site is not None:
            self._host_site.renew_hosts()

    @property
    def _own_hosts(self) -> frozenset[str]:
        """The host names at which only one site responds."""
        return self._host_site.own_hosts if self._host_site is not None else NO_HOSTS

    @property
    def closes(self) -> bool:
        """Whether a connection ends with its response."""
        return self.is_stopping or self.is_leaving

    def _show_gauges(self) -> None:
        self.meter.gauges["body_bytes"] = ("Bytes of bodies in memory.", lambda: self.bodies.held)
        self.meter.gauges["requests_in_flight"] = ("Requests being served.", lambda: self.in_flight)
        for pool in self._pools:
            about = f"Requests on the {pool.name} threads, or waiting for one."
            self.meter.gauges[f"{pool.name}_requests"] = (about, lambda pool=pool: pool.waiting)  # type: ignore[misc]

    def site_of(self, path: str, host: str) -> tuple[str, Site | None]:
        """Returns the site of a path at a host, and the beginning of its paths."""
        own, is_apart = self._own_hosts, False
        if own or self.webhook_host:
            name = host_name(host)
            if name in own:
                return "", self._host_site
            is_apart = self.webhook_host != "" and name == self.webhook_host
        for prefix, site in self._by_start.get(_first_part(path), self.sites):
            if path.startswith(prefix) and (site.is_apart or not is_apart):
                return prefix, site
        return "", None

    def _give_back_soon(self) -> None:
        """Schedules the return of memory of large bodies to the system, unless it is scheduled."""
        if self._gives_back is None:
            self._gives_back = asyncio.get_running_loop().call_later(MEMORY_SECONDS, self._give_back)

    def _give_back(self) -> None:
        self._gives_back = None
        if not self.is_stopping:
            self.pool.threads.submit(memory.give_back)

    async def drain(self, seconds: float) -> None:
        """Waits until running requests are finished, at most this long."""
        self.is_stopping = True
        self.streams.close()
        end = time.monotonic() + seconds
        while (self.in_flight or self.streams.is_busy) and time.monotonic() < end:
            await asyncio.sleep(0.02)
        for pool in self._pools:
            pool.threads.shutdown(wait=False, cancel_futures=True)

    def mark_write(self) -> None:
        """Records the time of a request that may write."""
        self._wrote_at = time.monotonic()

    def is_alone(self) -> bool:
        """Whether no request has written lately, except those whose pool limits its writes."""
        return time.monotonic() - self._wrote_at >= ALONE_SECONDS

    @property
    def _pools(self) -> list[Pool]:
        return [self.pool, self.hashing, *(pool for _, site in self.sites for pool in site.pools)]


def _first_part(path: str) -> str:
    """`/rest/` of `/rest/records/1.json`."""
    return path[: path.find("/", 1) + 1]
