"""The verdict on the health of a service. All places that show it read it here, so that they agree: System, the
check-up, the start page and the marks of the console, `/health` and `helpdesk doctor`."""

import json
import threading
from collections.abc import Hashable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any

from server.context import Service
from server.dataclass import dataclass
from server.jobs.queue import JobQueue, job
from server.jobs.scheduler import periodic
from server.store.schema import META
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction
from server.translation import _, listed, ngettext
from server.upkeep import checkup
from server.upkeep.finding import Finding, Look, State, at_once
from server.upkeep.health import WATCH

KIND = "service.look"
LOOK_SECONDS = 600  # until mail servers and names are contacted again
LOOKS = 8  # mail servers and names that are looked at side by side
TRUSTED_SECONDS = 5  # for which results are cached, so that frequent requests rarely connect
LOOKED = "looked"  # what other processes hear
KEPT = "looks"  # the row of META
STATES: tuple[State, ...] = ("ok", "warning", "problem")
# The order of problems.
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
    "automations",
    "jobs",
    "backups",
)
_looking = threading.Lock()


@dataclass(frozen=True)
class Notes:
    """Results of slow lookups: {subject as text: problem}. at: Unix seconds."""

    at: int = 0
    found: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """findings: of every part, those that are well among them."""

    findings: tuple[Finding, ...]

    @property
    def state(self) -> State:
        """The worst of its findings."""
        return max((each.state for each in self.findings), key=STATES.index, default="ok")

    @property
    def wrong(self) -> list[Finding]:
        """What needs attention, problems first."""
        wrong = [each for each in self.findings if each.state != "ok"]
        return sorted(wrong, key=lambda each: -STATES.index(each.state))

    def about(self, part: str) -> "Verdict":
        """That of one part alone; "" is all of them."""
        return Verdict(tuple(each for each in self.findings if part in ("", each.part)))

    @property
    def text(self) -> str:
        """The same in words.

        >>> Verdict((Finding("disk", "problem", ""), Finding("mail", "warning", ""))).text, Verdict(()).text
        ('1 problem and 1 warning', 'all is well')
        """
        problems, warnings = (sum(each.state == state for each in self.findings) for state in ("problem", "warning"))
        told = [ngettext("{count} problem", "{count} problems", problems)] if problems else []
        told += [ngettext("{count} warning", "{count} warnings", warnings)] if warnings else []
        return listed(told) or _("all is well")


NOTES: StoreLocal[Notes] = StoreLocal()


def of(service: Service, now: int) -> Verdict:
    """The current state. Mail servers and names are not contacted: the last results hold until the next lookup. now:
    Unix seconds."""
    return _judged(service, now, _notes(service).found)


def anew(service: Service, now: int) -> Verdict:
    """The state after contacting mail servers and names, which takes as long as they do; the next `of` knows it. While
    somebody else does so, returns what is known already."""
    if _looking.acquire(blocking=False):
        try:
            far, notes = _far_ends(service, now), _notes(service)
            if now - notes.at >= TRUSTED_SECONDS or not far.keys() <= notes.found.keys():
                _keep(service, Notes(now, _looked(far)))
        finally:
            _looking.release()
    return of(service, now)


def at_rest(service: Service, now: int) -> Verdict:
    """That of a database which no service runs on, looked at by a command. Nothing is kept."""
    return Verdict(tuple(_sorted(checkup.of_service(service, now, at_once))))


@periodic("mail servers to look at")
def find_due(service: Service, now: int) -> None:
    """Add a job when the last look is long ago, or the service has run that long without one."""
    watch = WATCH.get(service.store)
    since = max(_notes(service).at, watch.started_at if watch else now)
    if now - since >= LOOK_SECONDS and _far_ends(service, now):
        service.store.write(lambda tx: JobQueue.add(tx, KIND, now, {}, unique_key=KIND, is_slow=True))


@job(KIND)
def _look(service: Service, payload: dict[str, Any], now: int) -> None:
    anew(service, now)


def _looked(far: Mapping[str, Look]) -> dict[str, str]:
    """Looks up everything: {subject: problem}. One that does not respond delays few others."""
    with ThreadPoolExecutor(LOOKS, thread_name_prefix="looks") as pool:
        return dict(zip(far, pool.map(lambda look: look(), far.values()), strict=True))


def _far_ends(service: Service, now: int) -> dict[str, Look]:
    """{what takes long to check, as text: the check}."""
    found: dict[str, Look] = {}

    def note(what: Hashable, look: Look) -> None:
        found[repr(what)] = look

    list(checkup.of_service(service, now, note))
    return found


def _judged(service: Service, now: int, known: Mapping[str, str]) -> Verdict:
    return Verdict(tuple(_sorted(checkup.of_service(service, now, lambda what, look: known.get(repr(what))))))


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda each: PARTS.index(each.part))


def forget(service: Service) -> None:
    """Another process has new results: they are read at the next request."""
    NOTES.clear(service.store)


def _notes(service: Service) -> Notes:
    notes = NOTES.get(service.store)
    if notes is None and service.store.is_shared:
        notes = service.store.read(_kept)
        NOTES.set(service.store, notes)
    return notes or Notes()


def _keep(service: Service, notes: Notes) -> None:
    """For this process, and where there are others for them."""
    store = service.store

    def write(tx: Transaction) -> None:
        tx.put(META, {"name": KEPT, "value": json.dumps({"at": notes.at, "found": dict(notes.found)})})
        store.announce_after(tx, LOOKED)

    NOTES.set(store, notes)
    if store.is_shared:
        store.write(write)


def _kept(tx: Transaction) -> Notes:
    row = tx.first(META, name=KEPT)
    return Notes() if row is None else Notes(**json.loads(row[1]))
