"""Several processes over one database: two services over two stores of one file, configured as if others may exist.
Announcements of one reach the other, as with PostgreSQL; a claim belongs to its process as long as that lives."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from server import clock
from server.access import lockout, provider, sessions
from server.automation import stopping
from server.automation.engine import Run
from server.context import WAKE, Context, Service
from server.errors import Invalid, TimedOut, TooMany
from server.imports import background
from server.jobs import job_queue, processes, scheduler, turns
from server.jobs.job_queue import CLAIM_SECONDS, JOB, JobQueue
from server.jobs.processes import PROCESS, Membership, ServingProcess, Watchman
from server.jobs.scheduler import Scheduler, last_scans, periodic
from server.mailroom import mail_listening
from server.mailroom.mail_listening import State
from server.outbox import queue_rows
from server.packages import results
from server.packages.record_creation import ImportResult
from server.people import presence
from server.record_types.registry import load as load_types
from server.records import live_settings, records
from server.records.process_caches import ProcessCaches
from server.settings import ALL, WEB, WORKER, Settings
from server.store.database import Store
from server.store.sqlite import SqliteStore
from server.store.transaction import Transaction
from server.upkeep import verdict
from server.web.rate import RateLimiter
from tests.desk.conftest import NOW, Post

pytestmark = pytest.mark.sqlite("two processes over PostgreSQL: tests/test_processes.py")
FIRST, SECOND = "aaaaaaaaaaaa", "bbbbbbbbbbbb"
Hear = Callable[[str], None]


class Times:
    """A clock that only the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Pair:
    """Two processes of one desk. heard: announcements of the first that the second received."""

    def __init__(self, desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
        assert isinstance(desk.service.store, SqliteStore)
        self.desk = desk
        self.times = Times()
        self.first = desk.service
        self.store = SqliteStore(desk.service.store.path)
        apart: dict[str, Any] = {"settings": self.first.settings.replace(), "followers": [], "hearing": {}}
        self.second = replace(self.first, store=self.store, registry=load_types(), **apart)
        self.heard: list[str] = []
        self.monkeypatch = monkeypatch
        for of, other in ((self.first, self.second), (self.second, self.first)):
            monkeypatch.setattr(of.store, "is_shared", True, raising=False)
            monkeypatch.setattr(of.store, "announce_after", self.announcing(other))
        self.second.store.on_announced = lambda name: (self.heard.append(name), self.second.hear(name))[1]
        self.first.store.on_announced = self.first.hear
        self.one = Membership(self.first, ALL, self.times, FIRST)
        self.two = Membership(self.second, WORKER, self.times, SECOND)

    @staticmethod
    def announcing(to: Service) -> Callable[[Transaction, str], None]:
        return lambda tx, name: tx.at_commit(lambda: to.store.on_announced(name))

    def beat(self, *members: Membership, seconds: float = 2.0, times: int = 1) -> None:
        """Keeps these processes alive for a while; others stop beating."""
        for _ in range(times):
            self.times.now += seconds
            for each in members:
                each.beat()

    def acting(self, name: str) -> None:
        """Makes further claims in the name of this process."""
        self.monkeypatch.setattr(job_queue, "_run_name", name)

    def context(self, service: Service, worker_id: int) -> Context:
        return replace(self.desk.context(worker_id), service=service)

    def rows(self) -> dict[str, tuple[str, bool]]:
        return {each.name: (each.role, each.leads) for each in processes.running(self.first)}


@pytest.fixture
def pair(desk: Post, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    made = Pair(desk, monkeypatch)
    yield made
    made.store.close()


# -- liveness ----------------------------------------------------------------------------------------------------------


def serving(beats: int) -> list[ServingProcess]:
    return [ServingProcess(SECOND, ALL, "there", 7, NOW, NOW, beats, leads=False)] if beats else []


@pytest.mark.parametrize(
    ("looks", "is_gone"),
    [
        ([(0, 1), (2, 2), (4, 3), (6, 4), (8, 5), (10, 6)], False),
        ([(0, 1), (2, 1), (4, 1), (6, 1)], False),  # too early
        ([(0, 1), (2, 1), (4, 1), (6, 1), (8, 1)], True),
        ([(0, 1), (2, 1), (4, 1), (6, 2), (8, 2)], False),  # it was late
        ([(0, 1), (2, 1), (60, 1), (62, 1)], False),  # no one observed it in between, so its state is unknown
        ([(0, 1), (2, 1), (60, 1), (62, 1), (64, 1), (66, 1), (68, 1)], True),
        ([(0, 1), (2, 1), (4, 0), (6, 1), (8, 1), (10, 1)], False),  # it left, and is back under its name
    ],
    ids=["beats", "too early", "silent", "late", "unobserved", "unobserved, then silent", "back under its name"],
)
def test_a_process_is_dead_when_an_observer_sees_no_beats(looks: list[tuple[int, int]], is_gone: bool) -> None:
    times = Times()
    watchman, found = Watchman(times), []
    for at, beats in looks:
        times.now = 1000 + at
        found = watchman.gone(serving(beats))
    assert bool(found) == is_gone


def test_one_leads_and_the_next_takes_over_when_it_dies_or_leaves(pair: Pair) -> None:
    pair.one.beat()
    pair.two.beat()
    assert pair.rows() == {FIRST: (ALL, True), SECOND: (WORKER, False)}
    assert pair.one.leads and not pair.two.leads and processes.leads(pair.first)
    pair.beat(pair.two, times=3)
    assert not pair.two.leads
    pair.beat(pair.two)
    assert not pair.one.leads  # on its own: it gave no sign of life for as long as others wait for one
    assert pair.rows() == {SECOND: (WORKER, True)} and pair.two.leads
    pair.beat(pair.one, pair.two)  # it was only suspended
    assert pair.rows() == {SECOND: (WORKER, True), FIRST: (ALL, False)}
    pair.two._thread = threading.Thread(target=lambda: None)
    pair.two._thread.start()
    pair.two.stop()
    pair.beat(pair.one)
    assert pair.rows() == {FIRST: (ALL, True)}


def test_a_process_with_a_stuck_scheduler_gives_up_the_lead(pair: Pair) -> None:
    stuck: list[bool] = []
    pair.one.can_lead = lambda: not stuck
    pair.beat(pair.one, pair.two)
    assert pair.one.leads
    stuck.append(True)
    pair.beat(pair.one, pair.two)
    assert not pair.one.leads and pair.two.leads
    stuck.clear()
    pair.beat(pair.one, pair.two)
    assert pair.rows() == {FIRST: (ALL, False), SECOND: (WORKER, True)}


def test_a_process_without_jobs_never_leads(pair: Pair) -> None:
    web = Membership(pair.second, WEB, pair.times, SECOND)
    web.beat()
    assert pair.rows() == {SECOND: (WEB, False)} and not web.leads and not web.does_jobs


def test_a_file_of_a_single_process_has_no_rows_and_no_beats(desk: Post) -> None:
    alone = Membership(desk.service)
    alone.start()
    assert alone.leads and processes.running(desk.service) == []
    alone.stop()
    assert processes.leads(desk.service)


# -- claims ------------------------------------------------------------------------------------------------------------


def claims(store: Store) -> dict[int, str]:
    at = JOB.position["claimed_by"]
    return {row[0]: row[at].partition(":")[0] for row in store.read(lambda tx: tx.find(JOB))}


def test_claims_of_a_dead_process_are_released_and_others_stay(pair: Pair) -> None:
    store = pair.first.store
    pair.one.beat()
    pair.two.beat()
    mine, theirs = (store.write(lambda tx: JobQueue.add(tx, "work", 0, {})) for _ in range(2))
    draft = pair.desk.create("draft", type="mail.compose", is_queued=1)
    pair.acting(FIRST)
    [first] = JobQueue(store).claim_due(NOW, job_queue.JobCapacity(total=1))
    store.write(lambda tx: queue_rows.put(tx, draft, queue_rows.new_claim_values(NOW)))
    pair.acting(SECOND)
    JobQueue(pair.second.store).claim_due(NOW)
    assert claims(store) == {mine: FIRST, theirs: SECOND}
    JobQueue(pair.second.store).release_lost()  # at the start of a process: others may be alive
    pair.second.store.write(queue_rows.release_lost)
    assert claims(store) == {mine: FIRST, theirs: SECOND}
    pair.beat(pair.two, times=5)
    assert claims(store) == {mine: "", theirs: SECOND} and WAKE not in pair.heard
    kept = store.read(lambda tx: queue_rows.get(tx, draft))
    assert kept is not None and kept["claimed_by"] == ""
    [again] = JobQueue(pair.second.store).claim_due(NOW)
    JobQueue(store).finish(first)  # too late: another process has claimed it
    assert claims(store) == {mine: SECOND, theirs: SECOND} and again.attempts == 2


def test_a_process_that_beats_before_it_is_declared_dead_keeps_its_claims(pair: Pair) -> None:
    pair.one.beat()
    pair.two.beat()
    [seen] = [each for each in processes.running(pair.second) if each.name == FIRST]
    pair.one.beat()
    assert not pair.store.write(lambda tx: pair.two._bury(tx, seen))
    assert FIRST in pair.rows()


def test_claims_of_a_stopped_process_are_released(pair: Pair) -> None:
    pair.one.start()
    id = pair.first.store.write(lambda tx: JobQueue.add(tx, "work", 0, {}))
    pair.acting(FIRST)
    assert JobQueue(pair.first.store).claim_due(NOW)
    pair.one.stop()
    assert claims(pair.first.store) == {id: ""} and pair.rows() == {}
    assert pair.heard[-2:] == [processes.LEFT, WAKE]


@pytest.mark.parametrize(
    ("is_shared", "is_taken"), [(True, False), (False, True)], ids=["several machines", "one machine"]
)
def test_a_clock_that_is_ahead_on_another_machine_releases_no_claim(
    pair: Pair, is_shared: bool, is_taken: bool
) -> None:
    """In a file of a single process, a claim too far in the future was made before the clock was set back."""
    store = pair.first.store
    store.write(lambda tx: JobQueue.add(tx, "work", 0, {}))
    assert JobQueue(store).claim_due(NOW + 100)
    pair.store.is_shared = is_shared
    assert bool(JobQueue(pair.store).claim_due(NOW)) == is_taken
    assert JobQueue(pair.store).claim_due(NOW + 101 + CLAIM_SECONDS)


# -- scans -------------------------------------------------------------------------------------------------------------


def test_scans_run_in_the_leading_process_and_some_in_each(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "_scans", {})
    ran: list[str] = []

    def process_name(service: Service) -> str:
        return "one" if service is pair.first else "two"

    periodic("of all")(lambda service, now: ran.append(f"all {process_name(service)}"))
    periodic("of each", everywhere=True)(lambda service, now: ran.append(f"each {process_name(service)}"))
    pair.one.beat()
    pair.two.beat()
    with ThreadPoolExecutor(1) as pool:
        schedulers = [Scheduler(each, pool) for each in (pair.first, pair.second)]
        for each in schedulers:
            each.run_due(NOW)
        assert ran == ["all one", "each one", "each two"]
        assert last_scans(pair.second)["of all"].at == NOW  # published by the other one
        pair.beat(pair.two, times=6)
        ran.clear()
        for each in schedulers:
            each.run_due(NOW)
        assert ran == ["each one", "all two", "each two"]


def test_a_scheduler_without_slots_claims_no_job(pair: Pair) -> None:
    with ThreadPoolExecutor(1) as pool:
        room = Scheduler(pair.first, pool, slots=0)._room()
    assert (room.slow, room.quick, room.total) == (0, 0, 0)


# -- locks -------------------------------------------------------------------------------------------------------------


def test_exclusive_work_is_done_one_after_the_other(pair: Pair) -> None:
    done: list[str] = []
    is_in, go = threading.Event(), threading.Event()

    def slowly() -> None:
        with turns.exclusive(pair.first, "renewal", 30):
            is_in.set()
            assert go.wait(60)
            done.append("one")

    thread = threading.Thread(target=slowly)
    thread.start()
    assert is_in.wait(60)
    with pytest.raises(TimedOut, match="renewal takes too long"), turns.exclusive(elsewhere(pair), "renewal", 0):
        pass
    with turns.exclusive(elsewhere(pair), "another", 0):
        pass
    go.set()
    with turns.exclusive(elsewhere(pair), "renewal", 60):
        done.append("two")
    thread.join()
    assert done == ["one", "two"]


def test_the_lock_of_a_dead_process_is_released(pair: Pair) -> None:
    pair.acting(FIRST)
    pair.first.store.write(lambda tx: turns._claim(tx, "renewal", job_queue.new_claim(), clock.now(), 600))
    with pytest.raises(TimedOut), turns.exclusive(pair.second, "renewal", 0):
        pass
    pair.first.store.write(lambda tx: processes.release(tx, FIRST))
    with turns.exclusive(pair.second, "renewal", 0):
        pass


def elsewhere(pair: Pair) -> Service:
    """Returns the second process with another identity: the locks of the first one's threads are not in it."""
    return replace(pair.second, installation="another process")


# -- announcements -----------------------------------------------------------------------------------------------------


def test_events_and_due_work_are_announced_once_with_their_transaction(pair: Pair) -> None:
    told: list[str] = []
    pair.second.followers.append(told.append)
    woken: list[bool] = []
    object.__setattr__(pair.second, "wake_scheduler", lambda: woken.append(True))

    def write(tx: Transaction) -> None:
        for _ in range(3):
            pair.first.notify_after(tx, "changes")
            pair.first.wake_after(tx)

    pair.first.store.write(write)
    assert sorted(pair.heard) == ["tell:changes", WAKE] and told == ["changes"] and woken == [True]
    with pytest.raises(Invalid):
        pair.first.store.write(lambda tx: (write(tx), fail())[1])
    assert len(pair.heard) == 2
    pair.second.hear("")  # some may have been missed
    assert woken == [True, True]


def fail() -> None:
    raise Invalid("no")


def test_settings_of_the_console_and_record_types_apply_in_the_other_process(pair: Pair) -> None:
    kept = ProcessCaches(pair.second)
    kept.renew()
    pair.second.registry.renew = kept.renew
    live_settings.change(pair.context(pair.first, pair.desk.nora), {"base_url": "https://moved.example"})
    assert live_settings.LIVE_SETTINGS in pair.heard and pair.second.base_url != "https://moved.example"
    kept.renew()
    assert pair.second.base_url == pair.second.settings.base_url == "https://moved.example"
    boat = {"name": "Boat", "name_plural": "Boats", "uri": "boat"}
    made = records.create(pair.context(pair.first, pair.desk.nora), "custom_record", boat)["id"]
    store = pair.second.store  # requested before the announcement arrives, inside a write as requests do
    assert store.write(lambda tx: pair.second.registry.type("boat").uri) == "boat"
    records.delete(pair.context(pair.first, pair.desk.nora), "custom_record", made)
    kept.renew()
    assert pair.second.registry.find("boat") is None


def test_presence_on_a_ticket_is_visible_in_the_other_process(pair: Pair) -> None:
    ticket = pair.desk.ticket_id()
    pair.second.hearing[presence.HERE] = lambda text: presence.hear(pair.second, text)
    told: list[str] = []
    pair.second.followers.append(told.append)
    milo, nora = pair.context(pair.first, pair.desk.milo), pair.context(pair.second, pair.desk.nora)
    milo, nora = (replace(each, now=clock.now()) for each in (milo, nora))

    def seen() -> list[tuple[str, str]]:
        return [(each.name, each.doing) for each in presence.others(nora, ticket)]

    def heres() -> list[str]:
        return [each for each in pair.heard if each.startswith(presence.HERE)]

    presence.note(milo, ticket, "viewing")
    assert seen() == [("Milo Test", "viewing")] and told == [presence.CHANNEL]
    presence.note(replace(milo, now=milo.now + 5), ticket, "viewing")  # unchanged, and announced a moment ago
    assert len(heres()) == 1
    presence.note(replace(milo, now=milo.now + presence.AGAIN_SECONDS), ticket, "viewing")
    assert len(heres()) == 2 and told == [presence.CHANNEL]
    presence.note(milo, ticket, "writing")
    assert seen() == [("Milo Test", "writing")]
    presence.note(milo, ticket, "")
    assert seen() == [] and len(told) == 3
    presence.hear(pair.second, f"{ticket} 99999 viewing")  # a worker who was deleted
    assert seen() == []


def test_a_run_is_stopped_by_whichever_process_gets_the_request(pair: Pair) -> None:
    pair.second.hearing[stopping.STOP] = lambda text: stopping.hear(pair.second, text)
    stopped: list[int] = []

    class Running(Run):
        def __init__(self, number: int) -> None:
            self.number = number

        def stop(self) -> None:
            stopped.append(self.number)

    here = stopping.stoppable(pair.second.store)
    with here.under(pair.desk.nora, "a" * 100, Running(1)), here.under(pair.desk.milo, "a" * 100, Running(2)):
        assert stopping.stop(pair.context(pair.first, pair.desk.nora), "a" * 100)
        assert all(len(each) <= 60 for each in pair.heard)
    assert stopped == [1]


# -- shared state ------------------------------------------------------------------------------------------------------


def test_attempts_to_sign_in_are_counted_across_processes(pair: Pair) -> None:
    keys = [lockout.account("password", "nora@desk.example")]
    for place in range(lockout.MAX_WRONG_OF_ACCOUNT):
        of = (pair.first, pair.second)[place % 2]
        of.store.write(lambda tx: lockout.count(tx, keys, NOW))
    for of in (pair.first, pair.second):
        with pytest.raises(TooMany):
            of.store.write(lambda tx: lockout.count(tx, keys, NOW))


def test_a_session_is_valid_and_ends_in_each_process(pair: Pair) -> None:
    lasts = sessions.Lifetime(3600, 86400)
    id = pair.first.store.write(lambda tx: sessions.create(tx, pair.desk.milo, NOW, lasts, "", ""))
    found = pair.store.read(lambda tx: sessions.check(tx, id, NOW))
    assert found is not None and found.actor.worker_id == pair.desk.milo
    pair.desk.update("worker", pair.desk.milo, is_disabled=1)  # its cache of people must notice
    assert pair.store.read(lambda tx: sessions.check(tx, id, NOW)) is None


def test_requests_are_counted_across_processes_a_beat_later(pair: Pair) -> None:
    limits = [RateLimiter(10, "with one token", each) for each in (pair.first, pair.second)]
    for _ in range(6):
        limits[0].count(("token", 7), NOW)
    pair.beat(pair.one, pair.two)
    for _ in range(4):
        limits[1].count(("token", 7), NOW)
    with pytest.raises(TooMany, match="at most 10 requests a minute with one token"):
        limits[1].count(("token", 7), NOW)
    limits[1].count(("token", 8), NOW)  # another token
    limits[1].count(("token", 7), NOW + 60)  # in another minute
    told = pair.store.read(lambda tx: tx.first(PROCESS, name=FIRST))
    assert told is not None and '"counts": {"' in told[-1] and "token, 7" not in told[-1]


def test_a_consent_page_is_valid_in_the_other_process(pair: Pair) -> None:
    keys = {provider._seal_key(each) for each in (pair.first, pair.second)}
    assert len(keys) == 1 and len(keys.pop()) == 32


def test_the_result_of_an_import_is_shown_once_by_the_other_process(pair: Pair) -> None:
    secret = ImportResult({"oauth_app": {"app": {"id": 1, "label": "App", "client_secret": "very secret"}}}, ["a note"])
    nora, milo = pair.context(pair.second, pair.desk.nora), pair.context(pair.second, pair.desk.milo)
    code = results.put(pair.context(pair.first, pair.desk.nora), "Boats", secret)
    kept = pair.store.read(lambda tx: tx.find(results.PACKAGE_RESULT))
    assert b"very secret" not in repr(kept).encode() and code not in repr(kept)
    assert results.get(milo, code) is None and results.get(nora, code[:-1]) is None
    assert results.get(nora, code) == ("Boats", secret)
    assert results.get(nora, code) is None
    plain = results.put(nora, "Boats", ImportResult({"task": {"one": {"id": 1, "label": "Row"}}}))
    assert results.get(nora, plain) == results.get(nora, plain) is not None
    assert results.get(replace(nora, now=NOW + results.RETENTION_SECONDS), plain) is None


def test_expensive_findings_are_shared_with_the_other_process(pair: Pair) -> None:
    pair.second.hearing[verdict.LOOKED] = lambda text: verdict.forget(pair.second)
    assert verdict._read_results(pair.second) == verdict.LookupResults()
    looked = verdict.LookupResults(NOW, {"('host', 'desk.example')": "has no address"})
    verdict._store_results(pair.first, looked)
    assert verdict._read_results(pair.second) == looked and verdict.LOOKED in pair.heard


class Listening:
    """A listener that other processes report on."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.renewed: list[Settings] = []

    def state(self) -> State:
        return self._state

    def holds(self, settings: Settings) -> bool:
        return settings.lmtp_port == 1

    def renew(self, settings: Settings) -> None:
        self.renewed.append(settings)


def test_listeners_of_all_processes_are_shown_as_one_and_follow_the_settings(pair: Pair) -> None:
    here, there = Listening(State(("lmtp://a:1",), taken=2, taken_at=5)), Listening(State(("lmtp://b:1",), taken=3))
    mail_listening.watch(pair.first, here)
    mail_listening.watch(pair.second, there)
    pair.beat(pair.one, pair.two)
    pair.beat(pair.one, pair.two)
    for each in (pair.first, pair.second):
        assert mail_listening.state(each) == State(("lmtp://a:1", "lmtp://b:1"), taken=5, taken_at=5)
    mail_listening.follow(pair.second)
    assert there.renewed == [pair.second.settings] and here.renewed == []


def test_progress_of_an_import_is_visible_in_the_other_process(pair: Pair) -> None:
    told = background.PROGRESS.made(pair.first.store, dict)
    processes.share(pair.first, background.KIND, lambda: dict(told))
    told["code"] = (3, 10)
    pair.beat(pair.one, pair.two)
    asked = pair.context(pair.second, pair.desk.nora)
    assert background.progress(asked, "code") == (3, 10) and background.progress(asked, "another") == (0, 0)
