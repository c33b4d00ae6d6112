"""The tables that a run ends with."""

from dataclasses import dataclass
from statistics import median

from tests.bench.load import Measured
from tests.bench.scenarios import Scenario

CLIENTS_JUDGED = 16  # the targets are meant for this many
MOST_SLOWER_PERCENT = 15
MOST_MEMORY_MIB = 150
MOST_HOLD_MS = 250  # for which a write of another waits then


@dataclass(frozen=True)
class Result:
    """All rounds of one scenario with one number of clients and tickets. `rounds` are pairs (bare, helpdesk)."""

    scenario: Scenario
    tickets: int
    clients: int
    rounds: list[tuple[Measured, Measured]]

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios: both halves of a round saw the same noise."""
        return median(ours.per_second / max(bare.per_second, 1e-9) for bare, ours in self.rounds)

    def bare(self, name: str) -> float:
        return median(getattr(bare, name) for bare, _ in self.rounds)

    def ours(self, name: str) -> float:
        return median(getattr(ours, name) for _, ours in self.rounds)


@dataclass(frozen=True)
class Process:
    """What was seen of the whole server process."""

    tickets: int
    first_answer_ms: float
    idle_mib: float
    loaded_mib: float
    longest_write_ms: float  # that one write held all others


def head_line() -> str:
    return (
        f"{'tickets':>8} {'clients':>7}  {'scenario':<30} {'bare/s':>8} {'ours/s':>8} {'ratio':>6} {'target':>6} "
        f"{'':<6} {'p50 ms':>7} {'p99 ms':>7} {'load %':>6}"
    )


def line(result: Result) -> str:
    """One row. `load %` is the processor time of the load generator: near 100 it would be the bottleneck."""
    scenario = result.scenario
    target = verdict = ""
    if scenario.target and result.clients == CLIENTS_JUDGED:
        target = f"{scenario.target:.2f}"
        verdict = "ok" if result.ratio >= scenario.target else "MISSED"
    if scenario.most_ms and result.clients == 1:
        target = f"{scenario.most_ms:.0f} ms"
        verdict = "ok" if result.ours("p50_ms") <= scenario.most_ms else "MISSED"
    if scenario.most_p99_ms and result.clients == CLIENTS_JUDGED:
        target = f"{scenario.most_p99_ms:.0f} ms"
        verdict = "ok" if result.ours("p99_ms") <= scenario.most_p99_ms else "MISSED"
    busy = result.bare("cpu_us") * result.bare("per_second") / 1e4
    return (
        f"{result.tickets:>8} {result.clients:>7}  {scenario.title:<30} {result.bare('per_second'):>8.0f} "
        f"{result.ours('per_second'):>8.0f} {result.ratio:>6.2f} {target:>6} {verdict:<6} "
        f"{result.ours('p50_ms'):>7.2f} {result.ours('p99_ms'):>7.2f} {busy:>6.0f}"
    )


def growth(results: list[Result]) -> list[str]:
    """How much slower each scenario is with the most tickets than with the fewest, by its ratio to the bare handler."""
    fewest, most = min(result.tickets for result in results), max(result.tickets for result in results)
    if fewest == most:
        return []
    ratios = {(r.scenario.name, r.tickets): r.ratio for r in results if r.clients == CLIENTS_JUDGED}
    lines = [f"{most:,} tickets against {fewest:,}, {CLIENTS_JUDGED} clients; at most {MOST_SLOWER_PERCENT} % slower:"]
    for name in dict.fromkeys(result.scenario.name for result in results):
        small, large = ratios.get((name, fewest)), ratios.get((name, most))
        if small and large:
            slower = (1 - large / small) * 100
            lines.append(f"  {name:<10} {slower:>6.1f} %  {'ok' if slower <= MOST_SLOWER_PERCENT else 'MISSED'}")
    return lines


def process_line(seen: Process) -> str:
    verdict = "ok" if seen.loaded_mib <= MOST_MEMORY_MIB else "MISSED"
    return (
        f"{seen.tickets:>8} tickets: first answer after {seen.first_answer_ms:.0f} ms; resident memory "
        f"{seen.idle_mib:.0f} MiB after the start, {seen.loaded_mib:.0f} MiB after the load "
        f"(at most {MOST_MEMORY_MIB}) {verdict}"
    )


def hold_line(tickets: int, ms: float) -> str:
    """One row: the longest that one write has held all others, of all that the scenarios sent."""
    verdict = "ok" if ms <= MOST_HOLD_MS else "MISSED"
    return (
        f"{tickets:>8} {'':>7}  {'longest hold of the writer':<30} {'':>8} {'':>8} {'':>6} "
        f"{f'{MOST_HOLD_MS} ms':>6} {verdict:<6} {ms:>7.2f}"
    )
