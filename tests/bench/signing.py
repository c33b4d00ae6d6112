"""Sixteen people sign in again and again: the cost of one password hash, and how long others wait."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

from server import passwords
from tests.bench.load import Measured
from tests.bench.pages import Visit

PEOPLE = 16
HASHES = 7  # samples; their median is reported
LEAST_MS, MOST_MS = 50, 250  # milliseconds of processor time for one hash
MOST_P99_MS = 100  # 99th percentile of the others' responses


@dataclass
class Signing:
    """took_ms: of each sign-in, its page and its hash. failed: why one ended, "" on success."""

    took_ms: list[float] = field(default_factory=list)
    failed: str = ""


def lines(url: str, emails: Sequence[str], password: str, others: Callable[[], Measured]) -> Iterator[str]:
    """Yields the lines to print. emails: of PEOPLE workers, since attempts are counted by account. others: measures
    simultaneous requests. Raises AssertionError if a sign-in fails."""
    hashes = [_hash_ms() for _ in range(HASHES)]
    passed, used = (median(each[place] for each in hashes) for place in (0, 1))
    verdict = _verdict(LEAST_MS <= used <= MOST_MS)
    yield f"a hash: {used:.0f} ms of processor time, to be {LEAST_MS} to {MOST_MS}  {verdict}; it took {passed:.0f} ms"
    alone = others()
    yield f"who I am, alone:               p50 {alone.p50_ms:.1f} ms, p99 {alone.p99_ms:.1f} ms"
    with signing_in(url, emails, password) as signing:
        beside = others()
    assert not signing.failed, f"a sign-in failed: {signing.failed}"
    verdict = _verdict(beside.p99_ms <= MOST_P99_MS)
    yield (
        f"who I am, {PEOPLE} people sign in:   p50 {beside.p50_ms:.1f} ms, p99 {beside.p99_ms:.1f} ms, "
        f"to be {MOST_P99_MS}  {verdict}"
    )
    yield f"a sign-in then:                p50 {median(signing.took_ms):.0f} ms, of {len(signing.took_ms)}"


@contextmanager
def signing_in(url: str, emails: Sequence[str], password: str) -> Iterator[Signing]:
    """Lets all sign in without a pause while the context is active, which begins when all have started."""
    signing, over = Signing(), threading.Event()
    begun = threading.Barrier(len(emails) + 1)

    def sign_in(email: str) -> None:
        begun.wait()
        while not over.is_set():
            started = time.perf_counter()
            try:
                Visit(url, email, password)
            except Exception as error:
                signing.failed = repr(error)
                return
            signing.took_ms.append((time.perf_counter() - started) * 1000)

    threads = [threading.Thread(target=sign_in, args=(email,)) for email in emails]
    for each in threads:
        each.start()
    begun.wait()
    try:
        yield signing
    finally:
        over.set()
        for each in threads:
            each.join()


def _hash_ms() -> tuple[float, float]:
    """Returns elapsed time and processor time."""
    started, used = time.perf_counter(), time.process_time()
    passwords.hash("a password for a bench alone")
    return (time.perf_counter() - started) * 1000, (time.process_time() - used) * 1000


def _verdict(is_good: bool) -> str:
    return "ok" if is_good else "MISSED"
