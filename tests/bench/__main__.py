"""`make bench`: Helpdesk beside a bare Tornado handler on the same machine in the same minutes.

The bare handler answers GET with the very dictionary that Helpdesk answered in the scenario. Rounds alternate
(bare, Helpdesk, bare, Helpdesk ...), so that a machine that is slow for a while is slow for both.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from statistics import median
from urllib.request import urlopen

from tests.bench import keeping, pages, report, signing, streaming, usable
from tests.bench.load import Measured, Plan
from tests.bench.process import ROOT, Server
from tests.bench.scenarios import ASKING, NOTING, SCENARIOS, Desk, Scenario, webhook
from tests.bench.waiting import HOST, Silent, waiting

STARTS = 3  # of which the median is the start-to-first-answer time
BENCH_WORKER, BENCH_PASSWORD = "bench@example.com", "a password for a bench alone"
PAGES = "pages"  # not measured beside the bare handler, but beside the requests that pages rest on
USABLE = "usable"  # the same: pages with and without calls of a webhook meanwhile
SIGNING = "signing"  # the same: others' answers while many sign in
STREAMING = "streams"  # the same: requests beside streams
INBOXES = "inboxes"  # the same: requests beside the open inboxes of many workers
OTHERS = 4  # clients whose answers are measured then


def main() -> None:
    """Measure what was asked for, print the tables, and write them as JSON beside the data."""
    asked = arguments()
    chosen = [scenario for scenario in SCENARIOS if scenario.name in asked.scenarios]
    program = [asked.exe] if asked.exe else [sys.executable, "-m", "server"]
    results: list[report.Result] = []
    processes: list[report.Process] = []
    for tickets in asked.tickets:
        folder = keeping.copy_of(tickets, fresh=asked.fresh)
        token = make_token(program, folder)
        first_answer_ms = median(first_answer(program, folder, token) for _ in range(STARTS))
        with serve(program, folder) as server:
            desk = Desk(server.port, token, tickets)
            desk.answer(desk.get("/rest/workers/me.json"))
            idle_mib = server.memory_kib() / 1024
            if chosen:
                results += measure(desk, chosen, asked)
                print(report.hold_line(tickets, longest_write_ms(server)), flush=True)
            if {PAGES, USABLE, SIGNING} & set(asked.scenarios):
                measure_pages(desk, asked.scenarios, asked.seconds)
            for name, lines in ((STREAMING, streaming.lines), (INBOXES, streaming.inbox_lines)):
                for line in lines(desk, half_of(server, asked.seconds)) if name in asked.scenarios else ():
                    print(line, flush=True)
            loaded_mib = server.memory_kib() / 1024
            processes.append(report.Process(tickets, first_answer_ms, idle_mib, loaded_mib, longest_write_ms(server)))
        shutil.rmtree(folder)
    print(*["", *(report.growth(results) if results else []), "", *map(report.process_line, processes)], sep="\n")
    save(results, processes)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    names = [*(scenario.name for scenario in SCENARIOS), PAGES, USABLE, SIGNING, STREAMING, INBOXES]
    parser.add_argument("--tickets", type=numbers, default=[1000, 100_000], metavar="N,N", help="1000,100000")
    parser.add_argument("--clients", type=numbers, default=[1, 16], metavar="N,N", help="1,16")
    parser.add_argument("--scenarios", type=lambda text: text.split(","), default=names, help=",".join(names))
    parser.add_argument("--seconds", type=float, default=2.0, help="length of each half of a round; 2")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each line; 3")
    parser.add_argument("--exe", help="measure this executable instead of the source")
    parser.add_argument("--fresh", action="store_true", help="load the tickets again, after a change of the schema")
    asked = parser.parse_args()
    unknown = set(asked.scenarios) - set(names)
    if unknown:
        parser.error(f"no scenario is called {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return asked


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def make_token(program: list[str], folder: Path) -> str:
    """A token of an administrator, made through the command line before the server starts."""
    person = ["--email", BENCH_WORKER, "--first-name", "Bench", "--admin"]
    for_folder = ["--data", str(folder)]
    worker = [*program, "worker", "create", *person, *for_folder]
    subprocess.run(worker, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    token = [*program, "token", "create", "--worker", BENCH_WORKER, "--expires", "1 day", *for_folder]
    return subprocess.run(token, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def serve(program: list[str], folder: Path) -> Server:
    command = [*program, "serve", "--port", "0", "--data", str(folder), "--no-open"]
    more = {"HELPDESK_OUTBOUND_ALLOW": HOST, "HELPDESK_MAX_WORKER_STREAMS": str(streaming.STREAMS)}
    return Server(command, keeping.FOLDER / "serve.log", **more)


def first_answer(program: list[str], folder: Path, token: str) -> float:
    """Milliseconds from the start of the process to its first answer from the database."""
    with serve(program, folder) as server:
        desk = Desk(server.port, token, 0)
        desk.answer(desk.get("/rest/workers/me.json"))
        return (time.perf_counter() - server.started_at) * 1000


def longest_write_ms(server: Server) -> float:
    """The longest that one write has held all others, as the service counts it."""
    with urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=30) as answered:
        told = answered.read().decode()
    found = re.search(r"^helpdesk_write_longest_seconds (\S+)$", told, re.MULTILINE)
    assert found is not None, told
    return float(found[1]) * 1000


def measure(desk: Desk, chosen: list[Scenario], asked: argparse.Namespace) -> list[report.Result]:
    """Every scenario with every number of clients; a line is printed as soon as it is known."""
    requests = {scenario.name: scenario.requests(desk) for scenario in chosen}
    answers = keeping.FOLDER / "answers.json"
    answers.write_text(json.dumps({name: desk.answer(sent[0]) for name, sent in requests.items()}), "utf-8")
    results = []
    print("", report.head_line(), sep="\n")
    with Server([sys.executable, "-m", "tests.bench.bare", str(answers)], keeping.FOLDER / "bare.log") as bare:
        yardstick = Desk(bare.port, desk.token, desk.tickets)
        for clients in asked.clients:
            for scenario in chosen:
                with meanwhile(desk, scenario):
                    rounds = [
                        (
                            run(bare.port, [yardstick.get(f"/{scenario.name}")], clients, asked.seconds),
                            run(desk.port, requests[scenario.name], clients, asked.seconds),
                        )
                        for _ in range(asked.rounds)
                    ]
                results.append(report.Result(scenario, desk.tickets, clients, rounds))
                print(report.line(results[-1]), flush=True)
    return results


def measure_pages(desk: Desk, chosen: list[str], seconds: float) -> None:
    """How many times the time of its request a page takes; how long it takes while a webhook is called; and how long
    others wait while many sign in."""
    me = desk.answer(desk.get("/rest/workers/me.json"))["id"]
    groups = desk.answer(desk.get("/rest/records/group/search.json", limit="1"))["results"]
    desk.answer(desk.put(f"/rest/records/worker/{me}.json", **{"fields[password]": BENCH_PASSWORD}))
    url = f"http://127.0.0.1:{desk.port}"
    visit = pages.Visit(url, BENCH_WORKER, BENCH_PASSWORD)
    if PAGES in chosen:
        print("", pages.head_line(), sep="\n")
        for measured in pages.ratios(url, desk.token, visit, {"worker": me, "group": groups[0]["id"]}):
            print(pages.line(*measured), flush=True)
    if USABLE in chosen:
        request = webhook(desk, NOTING, "bench.usable")
        hooks = desk.answer(desk.get("/rest/records/webhook_listener/search.json", q="sort:-id", limit="1"))["results"]
        print("", *usable.lines(usable.measured(visit, desk.port, request, hooks[0]["id"])), sep="\n", flush=True)
    if SIGNING in chosen:
        me_again = [desk.get("/rest/workers/me.json")]
        for line in signing.lines(url, BENCH_WORKER, BENCH_PASSWORD, lambda: run(desk.port, me_again, OTHERS, seconds)):
            print(line, flush=True)


def half_of(server: Server, seconds: float) -> Callable[[list[str]], streaming.Half]:
    """Runs half a round beside streams, or without."""

    def half(requests: list[str]) -> streaming.Half:
        before = server.cpu_seconds()
        found = run(server.port, requests, streaming.CLIENTS, seconds)
        return streaming.Half(found.per_second, (server.cpu_seconds() - before) / found.sent * 1e6)

    return half


@contextmanager
def meanwhile(desk: Desk, scenario: Scenario) -> Iterator[None]:
    """What goes on in the server while a scenario is measured."""
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


def run(port: int, requests: list[str], clients: int, seconds: float) -> Measured:
    """One half of a round, by a load generator of its own. Raises SystemExit when an answer was not 200."""
    # A range of numbers for each run, so that no Message-Id and no address comes twice; 0 was the sample's.
    plan = Plan(port, requests, clients, seconds, count_from=next(_numbers_used) * 1_000_000)
    command = [sys.executable, "-m", "tests.bench.load"]
    told = subprocess.run(command, cwd=ROOT, input=json.dumps(asdict(plan)), capture_output=True, text=True)
    if told.returncode:
        raise SystemExit(f"the load generator failed:\n{told.stderr}")
    measured = Measured(**json.loads(told.stdout))
    if measured.bad:
        raise SystemExit(f"{measured.bad} of {measured.requests} answers were not 200:\n{measured.first_bad}")
    return measured


def save(results: list[report.Result], processes: list[report.Process]) -> None:
    lines = [
        {
            "scenario": r.scenario.name,
            "tickets": r.tickets,
            "clients": r.clients,
            "ratio": r.ratio,
            "target": r.scenario.target,
            "rounds": [[asdict(bare), asdict(ours)] for bare, ours in r.rounds],
        }
        for r in results
    ]
    written = keeping.FOLDER / "results.json"
    written.write_text(json.dumps({"lines": lines, "processes": [asdict(p) for p in processes]}, indent=1), "utf-8")
    print(f"\nall rounds: {written.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
