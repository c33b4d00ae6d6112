"""Minutes of mixed load: growth of memory, failures, and the longest holds."""

import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import cycle
from typing import Any

from tests.bench.load import Measured
from tests.bench.pages import Visit
from tests.bench.process import Server
from tests.bench.report import hold_lines
from tests.bench.scenarios import SCENARIOS, Desk
from tests.bench.watched import Holds, longer

CLIENTS = 8
INTERVAL_SECONDS = 15.0  # from one line to the next
MOST_GROWTH_MIB = 10  # growth from the middle to the end
# Percentages of requests by scenario, or pages of the console.
SHARES = {
    "read": 30, "newest": 10, "fulltext": 8, "expand": 4, "create": 6, "compose": 8, "parse": 8, "subtotals": 3,
    "months": 1, "deep": 1, "webhook": 6, "pages": 15,
}  # fmt: skip
PAGES = ("/", "/inbox", "/inbox?q=status:open", "/tickets/BNC-00007-107", "/tickets/BNC-00123-223", "/records",
         "/notifications", "/account", "/admin/people", "/admin/system", "/automations/log")  # fmt: skip
ROUNDS = 20  # blocks of a hundred requests, each in its own order, before they repeat


@dataclass(frozen=True)
class Interval:
    """seconds: from the start to its end. sent, bad: requests, and those with a status other than 200."""

    seconds: float
    mib: float
    measured: Measured
    holds: Holds


def requests_of(desk: Desk, visit: Visit) -> list[str]:
    """Returns the mix, the same on each call."""
    chance = random.Random(5)
    makers: dict[str, Iterator[str]] = {
        each.name: cycle(each.requests(desk)) for each in SCENARIOS if each.name in SHARES
    }
    cookies = "; ".join(f"{each.name}={each.value}" for each in visit.session.cookies)
    head = f"Host: 127.0.0.1:{desk.port}\r\nCookie: {cookies}\r\nAccept: text/html\r\n\r\n"
    makers["pages"] = cycle(f"GET {page} HTTP/1.1\r\n{head}" for page in PAGES)
    hundred = [name for name, share in SHARES.items() for _ in range(share)]
    return [next(makers[name]) for _ in range(ROUNDS) for name in chance.sample(hundred, len(hundred))]


def intervals(server: Server, minutes: float, run: Callable[[float], Measured]) -> Iterator[Interval]:
    """Runs the load for some minutes. run: sends the mix for some seconds."""
    server.holds()
    passed = 0.0
    while passed < minutes * 60:
        seconds = min(INTERVAL_SECONDS, minutes * 60 - passed)
        measured = run(seconds)
        passed += seconds
        yield Interval(passed, server.memory_kib() / 1024, measured, server.holds() or Holds())


def head_line(tickets: int, minutes: float) -> str:
    return (
        f"{minutes:g} minutes of mixed load by {CLIENTS} clients, {tickets:,} tickets\n"
        f"{'time':>6} {'a second':>8} {'p50 ms':>8} {'p99 ms':>8} {'errors':>6} {'MiB':>6} {'loop ms':>8} {'writer':>8}"
    )


def line(each: Interval) -> str:
    """Returns one row; the holds are processor time."""
    found = each.measured
    return (
        f"{int(each.seconds) // 60:>3}:{int(each.seconds) % 60:02} {found.per_second:>8.1f} {found.p50_ms:>8.1f} "
        f"{found.p99_ms:>8.1f} {found.bad:>6} {each.mib:>6.0f} {each.holds.loop.cpu_ms:>8.1f} "
        f"{each.holds.writer.cpu_ms:>8.1f}"
    )


def summary(tickets: int, start_mib: float, seen: list[Interval]) -> list[str]:
    """Returns the summary of the rows."""
    longest = Holds()
    for each in seen:
        longest = longer(longest, each.holds)
    half, last = seen[len(seen) // 2].mib, seen[-1].mib
    requests, bad = sum(each.measured.requests for each in seen), sum(each.measured.bad for each in seen)
    first_bad = next((each.measured.first_bad for each in seen if each.measured.bad), "")
    grown = f"{last - half:+.0f} MiB since half of the time, at most {MOST_GROWTH_MIB}: "
    lines = [
        f"memory {start_mib:.0f} MiB before, {last:.0f} MiB after; {grown}"
        + ("ok" if last - half <= MOST_GROWTH_MIB else "MISSED"),
        f"{requests:,} requests, {bad} not answered by 200: {'ok' if not bad else 'MISSED'}",
        *hold_lines(tickets, longest),
    ]
    return lines + ([f"the first that was not: {first_bad.splitlines()[0]} ... {first_bad[-200:]}"] if bad else [])


def as_json(tickets: int, minutes: float, start_mib: float, seen: list[Interval]) -> dict[str, Any]:
    """Returns the results for the file of the run."""
    return {"tickets": tickets, "minutes": minutes, "start_mib": start_mib, "intervals": [asdict(i) for i in seen]}
