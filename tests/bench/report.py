"""The tables of a run."""

from dataclasses import dataclass, field
from statistics import median

from tests.bench.load import Measured
from tests.bench.scenarios import MANY, Scenario, goal_at
from tests.bench.watched import Hold, Holds, longer

CLIENTS_JUDGED = 16  # number of clients for which ratios are judged
MOST_SLOWER_PERCENT = 15
MOST_MEMORY_MIB = (130, 200)  # up to MANY tickets and above
MOST_START_MS = (1200, 1500)
MOST_TIMES = 1.3  # processor time of a call by an assistant, in that of the REST requests for the same
MOST_LOOP_MS, MOST_WRITER_MS = 50, 250  # milliseconds of processor time for which all others wait


@dataclass(frozen=True)
class Result:
    """All rounds of one scenario with one number of clients and tickets. rounds: pairs (bare, helpdesk). mib: memory
    after them. failed: why there are none, "" on success."""

    scenario: Scenario
    tickets: int
    clients: int
    rounds: list[tuple[Measured, Measured]]
    mib: float = 0.0
    holds: Holds | None = None
    failed: str = ""

    @property
    def ratios(self) -> list[float]:
        return [ours.per_second / max(bare.per_second, 1e-9) for bare, ours in self.rounds]

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios: both halves of a round saw the same noise."""
        return median(self.ratios or [0.0])

    @property
    def cpu_ratio(self) -> float:
        """The median ratio of the servers' processor time per request, which other programs affect less."""
        return median([bare.server_us / max(ours.server_us, 1e-9) for bare, ours in self.rounds] or [0.0])

    def bare(self, name: str) -> float:
        return median(getattr(bare, name) for bare, _ in self.rounds)

    def ours(self, name: str) -> float:
        return median(getattr(ours, name) for _, ours in self.rounds)


@dataclass(frozen=True)
class Process:
    """Measurements of the whole server process. file_mib: size of the database, 0 if it is not a file."""

    tickets: int
    first_answer_ms: float
    first_answer_cpu_ms: float
    idle_mib: float
    loaded_mib: float
    longest_write_ms: float  # longest time that one write blocked all others
    file_mib: float = 0.0
    holds: Holds = field(default_factory=Holds)


def head_line() -> str:
    return (
        f"{'tickets':>8} {'clients':>7}  {'scenario':<30} {'bare/s':>8} {'ours/s':>8} {'ratio':>6} {'by cpu':>6} "
        f"{'target':>6} {'':<6} {'p50 ms':>7} {'p99 ms':>7} {'load %':>6} {'MiB':>5} {'loop ms':>7} {'writer':>7}"
    )


def line(result: Result) -> str:
    """Returns one row. `by cpu` is the ratio by processor time. `load %` is the processor time of the load
    generator: near 100 it would be the bottleneck. `loop ms` and `writer` are the longest holds of the round, by
    processor time."""
    if result.failed:
        why = result.failed.strip().splitlines()[-1][:60]
        return f"{result.tickets:>8} {result.clients:>7}  {result.scenario.title:<30} FAILED: {why}"
    target, verdict = _judged(result)
    busy = result.bare("cpu_us") * result.bare("per_second") / 1e4
    holds = result.holds
    held = f" {holds.loop.cpu_ms:>7.1f} {holds.writer.cpu_ms:>7.1f}" if holds is not None else ""
    return (
        f"{result.tickets:>8} {result.clients:>7}  {result.scenario.title:<30} {result.bare('per_second'):>8.0f} "
        f"{result.ours('per_second'):>8.0f} {result.ratio:>6.2f} {result.cpu_ratio:>6.2f} {target:>6} {verdict:<6} "
        f"{result.ours('p50_ms'):>7.2f} {result.ours('p99_ms'):>7.2f} {busy:>6.0f} {result.mib:>5.0f}{held}"
    )


def _judged(result: Result) -> tuple[str, str]:
    """Returns (goal, verdict), ("", "") if the scenario has no goal."""
    scenario, tickets = result.scenario, result.tickets
    ratio, most_ms, most_p99_ms = (
        goal_at(each, tickets) for each in (scenario.ratio, scenario.most_ms, scenario.most_p99_ms)
    )
    if ratio and result.clients == CLIENTS_JUDGED:
        return f"{ratio:.2f}", _verdict(result.ratio >= ratio)
    if most_ms and result.clients == 1:
        return f"{most_ms:.0f} ms", _verdict(result.ours("p50_ms") <= most_ms)
    if most_p99_ms and result.clients == CLIENTS_JUDGED:
        return f"{most_p99_ms:.0f} ms", _verdict(result.ours("p99_ms") <= most_p99_ms)
    return "", ""


def _verdict(is_good: bool) -> str:
    return "ok" if is_good else "MISSED"


def growth(results: list[Result]) -> list[str]:
    """Compares each scenario at the largest number of tickets with the smallest, by its ratio to the bare handler."""
    fewest, most = min(result.tickets for result in results), max(result.tickets for result in results)
    if fewest == most:
        return []
    ratios = {(r.scenario.name, r.tickets): r.ratio for r in results if r.clients == CLIENTS_JUDGED}
    lines = [f"{most:,} tickets against {fewest:,}, {CLIENTS_JUDGED} clients; at most {MOST_SLOWER_PERCENT} % slower:"]
    for name in dict.fromkeys(result.scenario.name for result in results):
        small, large = ratios.get((name, fewest)), ratios.get((name, most))
        if small and large:
            slower = (1 - large / small) * 100
            lines.append(f"  {name:<10} {slower:>6.1f} %  {_verdict(slower <= MOST_SLOWER_PERCENT)}")
    return lines


def same_lines(results: list[Result]) -> list[str]:
    """Compares the processor time of scenarios with those that do the same by REST."""
    by_name = {(each.scenario.name, each.tickets, each.clients): each for each in results if each.rounds}
    lines = []
    for (_, tickets, clients), each in by_name.items():
        other = by_name.get((each.scenario.same_as, tickets, clients))
        if other is not None:
            times = each.ours("server_us") / max(other.ours("server_us"), 1e-9)
            lines.append(
                f"{tickets:>8} {clients:>7}  {each.scenario.title:<30} {times:.2f} times the processor time of "
                f"{other.scenario.name}, at most {MOST_TIMES:.2f}: {_verdict(times <= MOST_TIMES)}"
            )
    return lines


def process_line(seen: Process) -> str:
    most_ms, most_mib = MOST_START_MS[seen.tickets > MANY], MOST_MEMORY_MIB[seen.tickets > MANY]
    size = f"; the file has {seen.file_mib:,.0f} MiB" if seen.file_mib else ""
    return (
        f"{seen.tickets:>8} tickets: first answer after {seen.first_answer_ms:.0f} ms (at most {most_ms}) "
        f"{_verdict(seen.first_answer_ms <= most_ms)}, {seen.first_answer_cpu_ms:.0f} ms of it on the processor; "
        f"resident memory {seen.idle_mib:.0f} MiB after the start, "
        f"{seen.loaded_mib:.0f} MiB after the load (at most {most_mib}) {_verdict(seen.loaded_mib <= most_mib)}{size}"
    )


def of_all(results: list[Result]) -> Holds:
    """Returns the longest holds of all measurements."""
    longest = Holds()
    for each in results:
        longest = longer(longest, each.holds) if each.holds is not None else longest
    return longest


def hold_lines(tickets: int, holds: Holds) -> list[str]:
    """Returns lines with the longest step on the event loop and the longest write of all requests."""
    return [
        _hold_line(tickets, f"longest hold of the {name}", hold, most)
        for name, hold, most in (("event loop", holds.loop, MOST_LOOP_MS), ("writer", holds.writer, MOST_WRITER_MS))
    ]


def _hold_line(tickets: int, title: str, hold: Hold, most_ms: int) -> str:
    return (
        f"{tickets:>8} {'':>7}  {title:<30} {hold.cpu_ms:.1f} ms of processor time, at most {most_ms}: "
        f"{_verdict(hold.cpu_ms <= most_ms)}, in {hold.what}; by the clock {hold.ms:.1f} ms, in {hold.waited}"
    )
