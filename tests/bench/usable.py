"""Pages of the console while other programs call a webhook: how long a person who clicks through them waits.

First without other load, then with a number of calls per second for some seconds. One person loads one page after
the other; the calls come from a separate process, and are due at their rate regardless of responses."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from tests.bench.load import Measured, Plan
from tests.bench.pages import Visit, once
from tests.bench.process import ROOT

CALLS, SECONDS = 50, 10.0  # per second, and duration
CLIENTS = 16  # connections of the calls
QUIET_SECONDS = 4.0
MOST_P99_MS = 400.0  # during the calls; below it a click feels immediate
LEAST_REACHED = 0.98  # fraction of the due calls that were made
PAGES = ("/automations/webhooks", "/automations/webhooks/{hook}", "/automations/webhooks/{hook}/latest", "/automations",
         "/automations/log", "/automations/log?group=run", "/admin/people", "/account")  # fmt: skip


@dataclass(frozen=True)
class Usable:
    """quiet, busy: {page: milliseconds of each load}. load: results of the calls."""

    quiet: dict[str, list[float]]
    busy: dict[str, list[float]]
    load: Measured


def measured(visit: Visit, port: int, request: str, hook: int) -> Usable:
    """Measures the pages. Raises SystemExit if a call got a status other than 200."""
    began = time.monotonic()
    quiet = _looks(visit, hook, lambda: time.monotonic() - began < QUIET_SECONDS)
    plan = Plan(port, [request], CLIENTS, SECONDS, per_second=CALLS)
    command = [sys.executable, "-m", "tests.bench.load"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as calling:
        assert calling.stdin is not None and calling.stdout is not None
        calling.stdin.write(json.dumps(asdict(plan)))
        calling.stdin.close()
        time.sleep(plan.warm_up_seconds)
        busy = _looks(visit, hook, lambda: calling.poll() is None)
        load = Measured(**json.load(calling.stdout))
    if load.bad:
        raise SystemExit(f"{load.bad} of {load.requests} calls were not answered by 200:\n{load.first_bad}")
    return Usable(quiet, busy, load)


def lines(found: Usable) -> list[str]:
    """Returns the lines to print."""
    told = [f"{'page, quiet and with calls':<40} {'p50 ms':>15} {'p99 ms':>15}"]
    for page in (*found.quiet, ""):
        quiet, busy = (_all(each) if not page else each[page] for each in (found.quiet, found.busy))
        told.append(f"{page or 'all pages':<40} {_part(quiet, 50):>7.1f} {_part(busy, 50):>7.1f} "
                    f"{_part(quiet, 99):>7.1f} {_part(busy, 99):>7.1f}")  # fmt: skip
    load, slowest = found.load, _part(_all(found.busy), 99)
    told.append(f"{load.per_second:.1f} calls a second of {CALLS} for {SECONDS:g} s, p50 {load.p50_ms:.1f} ms, p99 "
                f"{load.p99_ms:.1f} ms; {len(_all(found.busy))} pages meanwhile")  # fmt: skip
    is_ok = slowest <= MOST_P99_MS and load.per_second >= LEAST_REACHED * CALLS
    return [*told, f"99 of 100 pages within {slowest:.0f} ms, at most {MOST_P99_MS:.0f}: {'ok' if is_ok else 'MISSED'}"]


def _looks(visit: Visit, hook: int, goes_on: Callable[[], bool]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {page: [] for page in PAGES}
    while goes_on():
        for page, times in found.items():
            times.append(once(visit.session, visit.url + page.format(hook=hook)))
    return found


def _all(found: dict[str, list[float]]) -> list[float]:
    return [each for times in found.values() for each in times]


def _part(times: list[float], percent: int) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)] if ordered else 0.0
