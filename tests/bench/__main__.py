"""`make bench`: compares Helpdesk with a bare Tornado handler, on the same machine at the same time.

The bare handler responds to GET with the same dictionary as Helpdesk in the scenario. Rounds alternate (bare,
Helpdesk, bare, Helpdesk ...), so that a temporary slowdown of the machine affects both.

Exit codes: 0 measured, whatever the result; 1 a request failed; 2 the command line is wrong; 3 a line is worse
than in the run of --against by more than 5 % in at least three rounds."""

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import urlopen

from tests.bench import contact, keeping, outgoing, pages, report, rules, runs, signing, soak, streaming, usable
from tests.bench.load import Measured, Plan
from tests.bench.process import ROOT, Server
from tests.bench.scenarios import ASKING, NOTING, SCENARIOS, Desk, Scenario, webhook
from tests.bench.waiting import HOST, Silent, waiting

FAILED, WORSE = 1, 3  # exit codes
ONCE_SECONDS = 300  # limit of a run that sends a fixed number of requests
STARTS = 3  # the start-to-first-response time is their median
BENCH_WORKER, BENCH_PASSWORD = "bench@example.com", "a password for a bench alone"
PAGES = "pages"  # compared with the requests that pages are based on
USABLE = "usable"  # the same: pages with and without simultaneous calls of a webhook
SIGNING = "signing"  # the same: responses to others while many sign in
STREAMING = "streams"  # the same: requests next to streams
INBOXES = "inboxes"  # the same: requests next to the open inboxes of many workers
OUTGOING = "outgoing"  # the same: tickets composed next to outgoing webhooks
RULES = "rules"  # the same: tickets that arrive with rules
CONTACT = "contact"  # the same: contact forms compared with email
NONE = "none"  # measures no scenario
MEASUREMENTS = (PAGES, USABLE, SIGNING, STREAMING, INBOXES, OUTGOING, RULES, CONTACT)
NAMES = [*(scenario.name for scenario in SCENARIOS), *MEASUREMENTS]
OTHERS = 4  # clients whose requests are measured in the meantime


class Unanswered(Exception):
    """A request got a status other than 200."""


def main() -> int:
    """Measures as requested, prints the tables, and writes them as JSON. Returns the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(FAILED))  # so that it stops the processes that it started
    asked = arguments()
    earlier = runs.read(asked.against) if asked.against else None
    program = [asked.exe] if asked.exe else [sys.executable, "-m", "server"]
    results: list[report.Result] = []
    processes: list[report.Process] = []
    soaks: list[dict[str, Any]] = []
    is_measured = True
    for tickets in asked.tickets:
        folder = keeping.copy_of(tickets, fresh=asked.fresh)
        token = make_token(program, folder)
        starts = [first_answer(program, folder, token) for _ in range(STARTS)]
        first_answer_ms, first_answer_cpu_ms = (median(each[place] for each in starts) for place in (0, 1))
        with serve(program, folder, is_watched=not asked.exe) as server:
            desk = Desk(server.port, token, tickets)
            desk.answer(desk.get("/rest/workers/me.json"))
            idle_mib = server.memory_kib() / 1024
            seen = measure(desk, server, asked)
            results += seen
            is_measured &= measure_others(desk, server, asked)
            loaded_mib = server.memory_kib() / 1024
            if asked.soak:
                soaks.append(soaked(desk, server, asked.soak))
            processes.append(
                report.Process(
                    tickets, first_answer_ms, first_answer_cpu_ms, idle_mib, loaded_mib, longest_write_ms(server),
                    size_mib(folder), report.of_all(seen),
                )
            )  # fmt: skip
        shutil.rmtree(folder)
    print(*["", *(report.growth(results) if results else []), "", *map(report.process_line, processes)], sep="\n")
    runs.written(asked.json, results, processes, soaks)
    print(f"\nall rounds: {asked.json}")
    lines, worse = runs.compared(results, earlier) if earlier else ([], 0)
    print(*lines, sep="\n")
    return WORSE if worse else FAILED if any(each.failed for each in results) or not is_measured else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tickets", type=numbers, default=[1000, 100_000], metavar="N,N", help="1000,100000")
    parser.add_argument("--clients", type=numbers, default=[1, 16], metavar="N,N", help="1,16")
    parser.add_argument("--scenarios", type=lambda text: text.split(","), default=NAMES, help=",".join([*NAMES, NONE]))
    parser.add_argument("--seconds", type=float, default=2.0, help="length of each half of a round; 2")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each line; 3")
    parser.add_argument("--exe", help="measure this executable instead of the source")
    parser.add_argument("--fresh", action="store_true", help="load the tickets again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the run there; .work/bench/TIME-COMMIT.json")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with the JSON file of an earlier run")
    parser.add_argument("--soak", type=float, default=0, metavar="MINUTES", help="mixed load for so long, at the end")
    asked = parser.parse_args()
    asked.json = asked.json or keeping.FOLDER / runs.named()
    if asked.against and asked.rounds < runs.ROUNDS:
        parser.error(f"--against needs --rounds {runs.ROUNDS} or more")
    if asked.soak and asked.exe:
        parser.error("--soak watches the source from within; leave --exe out")
    asked.scenarios = [name for name in asked.scenarios if name != NONE]
    unknown = set(asked.scenarios) - set(NAMES)
    if unknown:
        parser.error(f"no scenario is called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    return asked


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def make_token(program: list[str], folder: Path) -> str:
    """Creates a token of an administrator through the command line, before the server starts."""
    person = ["--email", BENCH_WORKER, "--first-name", "Bench", "--admin"]
    for_folder = ["--data", str(folder)]
    worker = [*program, "worker", "create", *person, *for_folder]
    subprocess.run(worker, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    token = [*program, "token", "create", "--worker", BENCH_WORKER, "--expires", "1 day", *for_folder]
    return subprocess.run(token, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def serve(program: list[str], folder: Path, is_watched: bool = False) -> Server:
    """Starts a server. is_watched: whether its holds are recorded, which the executable does not support."""
    if is_watched:
        program = [sys.executable, "-m", "tests.bench.watched"]
    command = [*program, "serve", "--port", "0", "--data", str(folder), "--no-open"]
    more = {
        "HELPDESK_MCP": "yes",
        "HELPDESK_MCP_RATE_LIMIT_PER_MINUTE": "0",
        "HELPDESK_OUTBOUND_ALLOW": HOST,
        "HELPDESK_VISITOR_RATE_PER_MINUTE": "0",  # all visitors of the bench have one address
        "HELPDESK_CONTACT_FORMS_PER_HOUR": "0",
        "HELPDESK_CONTACT_FORM_SECONDS": "0",
        "HELPDESK_MAX_WORKER_STREAMS": str(streaming.STREAMS),
    }
    return Server(command, keeping.FOLDER / "serve.log", is_watched, **more)


def first_answer(program: list[str], folder: Path, token: str) -> tuple[float, float]:
    """Returns the milliseconds from the start of the process to its first response from the database, and its
    processor time."""
    with serve(program, folder) as server:
        desk = Desk(server.port, token, 0)
        desk.answer(desk.get("/rest/workers/me.json"))
        return (time.perf_counter() - server.started_at) * 1000, server.cpu_seconds() * 1000


def size_mib(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.glob("helpdesk.db*")) / 2**20


def longest_write_ms(server: Server) -> float:
    """Returns the longest time that one write has blocked all others, as the service measures it."""
    with urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=30) as answered:
        told = answered.read().decode()
    found = re.search(r"^helpdesk_write_longest_seconds (\S+)$", told, re.MULTILINE)
    assert found is not None, told
    return float(found[1]) * 1000


def measure(desk: Desk, server: Server, asked: argparse.Namespace) -> list[report.Result]:
    """Measures every scenario with every number of clients; prints each line as soon as it is known."""
    chosen = [scenario for scenario in SCENARIOS if scenario.name in asked.scenarios]
    if not chosen:
        return []
    requests: dict[str, list[str]] = {}
    answered: dict[str, Any] = {}
    results = []
    print("", report.head_line(), sep="\n")
    for scenario in chosen:
        requests[scenario.name] = scenario.requests(desk)
        with suppress(OSError):  # the line reports an unexpected response
            answered[scenario.name] = desk.answer(requests[scenario.name][0])
    answers = keeping.FOLDER / "answers.json"
    answers.write_text(json.dumps({scenario.name: answered.get(scenario.name, {}) for scenario in chosen}), "utf-8")
    with Server([sys.executable, "-m", "tests.bench.bare", str(answers)], keeping.FOLDER / "bare.log") as bare:
        for clients in asked.clients:
            for scenario in chosen:
                results.append(rounds_of(scenario, requests[scenario.name], desk, bare, server, clients, asked))
                print(report.line(results[-1]), flush=True)
    print(*report.same_lines(results), *report.hold_lines(desk.tickets, report.of_all(results)), sep="\n", flush=True)
    return results


def rounds_of(
    scenario: Scenario, requests: list[str], desk: Desk, bare: Server, server: Server, clients: int,
    asked: argparse.Namespace,
) -> report.Result:  # fmt: skip
    """Measures one line."""
    yardstick = [Desk(bare.port, desk.token, desk.tickets).get(f"/{scenario.name}")]
    rounds, failed = [], ""
    server.holds()
    try:
        with meanwhile(desk, scenario):
            for _ in range(asked.rounds):
                rounds.append(
                    (half(bare, yardstick, clients, asked.seconds), half(server, requests, clients, asked.seconds))
                )
    except Unanswered as error:
        rounds, failed = [], str(error)
    mib, holds = server.memory_kib() / 1024, server.holds()
    return report.Result(scenario, desk.tickets, clients, rounds, mib, holds, failed)


def measure_others(desk: Desk, server: Server, asked: argparse.Namespace) -> bool:
    """Runs the measurements that do not compare with the bare handler. Returns False if some failed; the others
    still run."""
    run_half = half_of(server, asked.seconds)
    measurements: dict[str, Callable[[], Iterator[str]]] = {
        PAGES: lambda: page_lines(desk),
        USABLE: lambda: usable_lines(desk),
        SIGNING: lambda: signing_lines(desk, asked.seconds),
        STREAMING: lambda: iter(streaming.lines(desk, run_half)),
        INBOXES: lambda: iter(streaming.inbox_lines(desk, run_half)),
        OUTGOING: lambda: outgoing.lines(desk, run_half, asked.seconds),
        RULES: lambda: rules.lines(
            desk, server, lambda requests: half(server, requests, streaming.CLIENTS, asked.seconds)
        ),
        CONTACT: lambda: contact.lines(desk, server, lambda *of: run_once(server.port, *of)),
    }
    done = [printed(name, lines()) for name, lines in measurements.items() if name in asked.scenarios]
    return all(done)


def printed(name: str, lines: Iterator[str]) -> bool:
    """Prints each line as it is measured; returns False if the measurement fails."""
    try:
        for line in lines:
            print(line, flush=True)
    except (AssertionError, OSError, Unanswered) as error:
        print(f"{name} FAILED: {error}", flush=True)
        return False
    return True


def soaked(desk: Desk, server: Server, minutes: float) -> dict[str, Any]:
    """Runs a mixed load for some minutes; returns its results for the JSON file."""
    mix = soak.requests_of(desk, visited(desk))
    start_mib = server.memory_kib() / 1024
    print("", soak.head_line(desk.tickets, minutes), sep="\n", flush=True)
    seen = []
    for each in soak.intervals(server, minutes, lambda seconds: sent(desk.port, mix, soak.CLIENTS, seconds)):
        seen.append(each)
        print(soak.line(each), flush=True)
    print(*soak.summary(desk.tickets, start_mib, seen), sep="\n", flush=True)
    return soak.as_json(desk.tickets, minutes, start_mib, seen)


def visited(desk: Desk) -> pages.Visit:
    """Returns a browser that is signed in as the bench's worker."""
    me = desk.answer(desk.get("/rest/workers/me.json"))["id"]
    desk.answer(desk.put(f"/rest/records/worker/{me}.json", **{"fields[password]": BENCH_PASSWORD}))
    return pages.Visit(f"http://127.0.0.1:{desk.port}", BENCH_WORKER, BENCH_PASSWORD)


def page_lines(desk: Desk) -> Iterator[str]:
    """Measures pages as multiples of the time of their requests."""
    visit = visited(desk)
    me = desk.answer(desk.get("/rest/workers/me.json"))["id"]
    groups = desk.answer(desk.get("/rest/records/group/search.json", limit="1"))["results"]
    yield f"\n{pages.head_line()}"
    for measured in pages.ratios(visit.url, desk.token, visit, {"worker": me, "group": groups[0]["id"]}):
        yield pages.line(*measured)


def usable_lines(desk: Desk) -> Iterator[str]:
    """Measures pages while a webhook is called."""
    visit, request = visited(desk), webhook(desk, NOTING, "bench.usable")
    hooks = desk.answer(desk.get("/rest/records/webhook_listener/search.json", q="sort:-id", limit="1"))["results"]
    yield ""
    yield from usable.lines(usable.measured(visit, desk.port, request, hooks[0]["id"]))


def signing_lines(desk: Desk, seconds: float) -> Iterator[str]:
    """Measures how long others wait while many sign in."""
    emails = [f"signing-{number}@example.com" for number in range(signing.PEOPLE)]
    for email in emails:
        fields = {"first_name": "Signing", "email": email, "language": "en_US", "timezone": "UTC"}
        given = {f"fields[{name}]": text for name, text in (fields | {"password": BENCH_PASSWORD}).items()}
        desk.answer(desk.post("/rest/records/worker/create.json", **given))
    me_again = [desk.get("/rest/workers/me.json")]
    url = f"http://127.0.0.1:{desk.port}"
    yield from signing.lines(url, emails, BENCH_PASSWORD, lambda: run(desk.port, me_again, OTHERS, seconds))


def half_of(server: Server, seconds: float) -> Callable[[list[str]], streaming.Half]:
    """Returns a function that runs half a round next to streams, or without."""

    def run_half(requests: list[str]) -> streaming.Half:
        found = half(server, requests, streaming.CLIENTS, seconds)
        return streaming.Half(found.per_second, found.server_us)

    return run_half


@contextmanager
def meanwhile(desk: Desk, scenario: Scenario) -> Iterator[None]:
    """Runs the background activity of a scenario while the context is active."""
    if not scenario.waiting:
        yield
        return
    silent = Silent(scenario.waiting)
    try:
        request = webhook(desk, ASKING.replace("PORT", str(silent.port)), f"bench.wait.{silent.port}")
        with waiting(desk.port, request, silent, scenario.waiting):
            yield
    finally:
        silent.close()


_numbers_used = count(1)


def half(server: Server, requests: list[str], clients: int, seconds: float) -> Measured:
    """Runs half a round, including the processor time of the server per request. Raises Unanswered."""
    before = server.cpu_seconds()
    measured = run(server.port, requests, clients, seconds)
    return replace(measured, server_us=(server.cpu_seconds() - before) / measured.sent * 1e6)


def run(port: int, requests: list[str], clients: int, seconds: float) -> Measured:
    """Runs the load for some seconds. Raises Unanswered if a status was not 200."""
    measured = sent(port, requests, clients, seconds)
    if measured.bad:
        raise Unanswered(f"{measured.bad} of {measured.requests} answers were not 200: {measured.first_bad}")
    return measured


def run_once(port: int, requests: list[str], clients: int, status: int) -> Measured:
    """Sends each request once. Raises Unanswered if a response had another status, or none came in time."""
    measured = loaded(
        Plan(
            port,
            requests,
            clients,
            ONCE_SECONDS,
            count_from=next(_numbers_used) * 1_000_000,
            is_once=True,
            status=status,
        )
    )
    if measured.bad or measured.requests < len(requests):
        raise Unanswered(
            f"{measured.bad} of {measured.requests} answers to {len(requests)} requests were not {status}: "
            f"{measured.first_bad}"
        )
    return measured


def sent(port: int, requests: list[str], clients: int, seconds: float) -> Measured:
    """Runs the load in a generator process. Raises Unanswered if the server hung up or did not respond."""
    # Each run has its own range of numbers, so that no Message-Id and no address is repeated; 0 was the sample's.
    measured = loaded(Plan(port, requests, clients, seconds, count_from=next(_numbers_used) * 1_000_000))
    if not measured.requests:
        raise Unanswered(f"no answer within {seconds:g} seconds")
    return measured


def loaded(plan: Plan) -> Measured:
    """Runs a plan in a generator process. Raises Unanswered if the server hung up."""
    command = [sys.executable, "-m", "tests.bench.load"]
    told = subprocess.run(command, cwd=ROOT, input=json.dumps(asdict(plan)), capture_output=True, text=True)
    if told.returncode:
        raise Unanswered(f"the load generator failed: {told.stderr}")
    return Measured(**json.loads(told.stdout))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unanswered as error:
        sys.exit(f"{error}")
