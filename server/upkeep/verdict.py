"""The verdict on the health of a service. All places read it here, so that they agree: System, the check-up, the start
page and the marks of the console, `/health` and `helpdesk doctor`."""

import json
import threading
import time
from collections.abc import Hashable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any

from server.context import Service
from server.dataclass import dataclass
from server.jobs.job_queue import JobQueue, job
from server.jobs.scheduler import periodic
from server.store.schema import META
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction
from server.translation import N_, _, listed, ngettext
from server.upkeep import checkup
from server.upkeep.finding import Finding, Look, State, at_once
from server.upkeep.health import WATCH

KIND = "service.look"
LOOK_SECONDS = 600  # interval of the lookups of mail servers and names
LOOKS = 8  # parallel lookups
RECENT_SECONDS = 5.0  # age of a verdict for the mark beside every page
TRUSTED_SECONDS = 5  # validity of results, so that frequent requests rarely connect
LOOKED = "looked"  # the announcement to other processes
ROW = "looks"  # the row of META with the results
STATES: tuple[State, ...] = ("ok", "warning", "problem")
# In the order of the list.
PARTS = (
    "server",
    "data folder",
    "disk",
    "database",
    "search index",
    "write-ahead log",
    "clock",
    "base URL",
    "clients",
    "mail",
    "connections",
    "automations",
    "jobs",
    "backups",
)
_looking = threading.Lock()


@dataclass(frozen=True)
class LookupResults:
    """Results of slow lookups. at: Unix seconds. found: {subject as text: problem}."""

    at: int = 0
    found: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The findings about all parts, including those without problems."""

    findings: tuple[Finding, ...]

    @property
    def state(self) -> State:
        """The worst state among the findings."""
        return max((each.state for each in self.findings), key=STATES.index, default="ok")

    @property
    def wrong(self) -> list[Finding]:
        """The findings that need attention, problems first."""
        wrong = [each for each in self.findings if each.state != "ok"]
        return sorted(wrong, key=lambda each: -STATES.index(each.state))

    def about(self, part: str) -> "Verdict":
        """Returns the verdict on one part; "" for all."""
        return Verdict(tuple(each for each in self.findings if part in ("", each.part)))

    @property
    def text(self) -> str:
        """The verdict in words.

        >>> Verdict((Finding("disk", "problem", ""), Finding("mail", "warning", ""))).text, Verdict(()).text
        ('1 problem and 1 warning', 'all is well')
        """
        problems, warnings = (sum(each.state == state for each in self.findings) for state in ("problem", "warning"))
        parts = [ngettext("{count} problem", "{count} problems", problems)] if problems else []
        parts += [ngettext("{count} warning", "{count} warnings", warnings)] if warnings else []
        return listed(parts) or _("all is well")


RESULTS: StoreLocal[LookupResults] = StoreLocal()
# Saves a millisecond and nine statements of each page of an administrator.
_RECENT: StoreLocal[tuple[float, Verdict]] = StoreLocal()


def current(service: Service, now: int) -> Verdict:
    """Returns the current verdict. Does not contact mail servers or resolve names: the results of the last lookup apply
    until the next one. now: Unix seconds."""
    judged = _judged(service, now, _read_results(service).found)
    _RECENT.set(service.store, (time.monotonic(), judged))
    return judged


def recent(service: Service, now: int) -> Verdict:
    """Returns a verdict of the last RECENT_SECONDS, for the mark beside every page. The words of its findings are those
    of another caller."""
    at, judged = _RECENT.get(service.store) or (0.0, None)
    if judged is None or time.monotonic() - at > RECENT_SECONDS:
        return current(service, now)
    return judged


def refresh(service: Service, now: int) -> Verdict:
    """Returns the verdict after contacting mail servers and resolving names, which may be slow; `current` then uses the
    results. If another thread is already doing so, returns the current verdict."""
    if _looking.acquire(blocking=False):
        try:
            lookups, results = _slow_lookups(service, now), _read_results(service)
            if now - results.at >= TRUSTED_SECONDS or not lookups.keys() <= results.found.keys():
                _store_results(service, LookupResults(now, _run_lookups(lookups)))
        finally:
            _looking.release()
    return current(service, now)


def at_rest(service: Service, now: int) -> Verdict:
    """Returns the verdict on a database without a running service, for a command. Stores no results."""
    return Verdict(tuple(_sorted(checkup.of_service(service, now, at_once))))


@periodic(N_("mail servers to look at"), N_("Adds a job if the last check was long ago."))
def find_due(service: Service, now: int) -> None:
    """Adds a job if the last lookup was long ago, or if the service has run that long without one."""
    watch = WATCH.get(service.store)
    since = max(_read_results(service).at, watch.started_at if watch else now)
    if now - since >= LOOK_SECONDS and _slow_lookups(service, now):
        service.store.write(lambda tx: JobQueue.add(tx, KIND, now, {}, unique_key=KIND, is_slow=True))


@job(KIND, N_("Checks whether the mail servers can be reached"))
def _look(service: Service, payload: dict[str, Any], now: int) -> None:
    refresh(service, now)


def _run_lookups(lookups: Mapping[str, Look]) -> dict[str, str]:
    """Runs all lookups: {subject: problem}. A server that does not respond delays few others."""
    with ThreadPoolExecutor(LOOKS, thread_name_prefix="looks") as pool:
        return dict(zip(lookups, pool.map(lambda look: look(), lookups.values()), strict=True))


def _slow_lookups(service: Service, now: int) -> dict[str, Look]:
    """Returns {subject as text: lookup} of the slow lookups."""
    lookups: dict[str, Look] = {}

    def note(what: Hashable, look: Look) -> None:
        lookups[repr(what)] = look

    list(checkup.of_service(service, now, note))
    return lookups


def _judged(service: Service, now: int, results: Mapping[str, str]) -> Verdict:
    return Verdict(tuple(_sorted(checkup.of_service(service, now, lambda what, look: results.get(repr(what))))))


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda each: PARTS.index(each.part))


def forget(service: Service) -> None:
    """Drops the cached results, after another process has stored new ones."""
    RESULTS.clear(service.store)


def _read_results(service: Service) -> LookupResults:
    results = RESULTS.get(service.store)
    if results is None and service.store.is_shared:
        results = service.store.read(_stored_results)
        RESULTS.set(service.store, results)
    return results or LookupResults()


def _store_results(service: Service, results: LookupResults) -> None:
    """Stores results for this process, and for other processes if the database is shared."""
    store = service.store

    def write(tx: Transaction) -> None:
        tx.put(META, {"name": ROW, "value": json.dumps({"at": results.at, "found": dict(results.found)})})
        store.announce_after(tx, LOOKED)

    RESULTS.set(store, results)
    if store.is_shared:
        store.write(write)


def _stored_results(tx: Transaction) -> LookupResults:
    row = tx.first(META, name=ROW)
    return LookupResults() if row is None else LookupResults(**json.loads(row[1]))
