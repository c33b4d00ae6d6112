"""A run as JSON, and its regressions compared with an earlier run."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import apsw

from tests.bench.process import ROOT
from tests.bench.report import Process, Result

MOST_WORSE_PERCENT = 5
ROUNDS = 3  # rounds that must all be worse, since a single one may be due to the machine
RED, PLAIN = "\x1b[31m", "\x1b[0m"


def written(path: Path, results: list[Result], processes: list[Process], soaks: list[dict[str, Any]]) -> None:
    """Writes the JSON file of a run. A line's ratio is the median of its rounds; each round is [bare, helpdesk]."""
    lines = [
        {
            "scenario": r.scenario.name, "tickets": r.tickets, "clients": r.clients, "ratio": r.ratio,
            "ratios": r.ratios, "cpu_ratio": r.cpu_ratio, "mib": r.mib,
            "holds": asdict(r.holds) if r.holds else None, "failed": r.failed,
            "rounds": [[asdict(bare), asdict(ours)] for bare, ours in r.rounds],
        }
        for r in results
    ]  # fmt: skip
    told = {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": _commit(), "machine": _machine(),
        "lines": lines, "processes": [asdict(each) for each in processes], "soaks": soaks,
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=1), "utf-8")


def named() -> str:
    """Returns the name of a run's file."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{_commit().partition(' ')[0]}.json"


def read(path: Path) -> dict[str, Any]:
    """Reads an earlier run. Raises SystemExit for another file."""
    try:
        earlier: dict[str, Any] = json.loads(path.read_text("utf-8"))
        _ratios(earlier)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{path} is not the JSON file of a run: {error}") from None
    return earlier


def compared(results: Iterable[Result], earlier: dict[str, Any]) -> tuple[list[str], int]:
    """Returns (lines to print, number of regressions). A line is worse if at least ROUNDS rounds have a ratio more
    than MOST_WORSE_PERCENT below the earlier median, or if it failed and did not before."""
    known, worse = _ratios(earlier), 0
    lines = [f"against {earlier.get('date')}, commit {earlier.get('commit')}:"]
    if earlier.get("machine") != _machine():
        lines.append("  another machine, or another Python or SQLite: look at the ratios with care")
    for each in results:
        was = known.get((each.scenario.name, each.tickets, each.clients), 0.0)
        told = f"  {each.scenario.name:<10} {each.tickets:>9,} tickets {each.clients:>3} clients"
        if not was:
            lines.append(f"{told}  has no earlier ratio")
            continue
        least = was * (1 - MOST_WORSE_PERCENT / 100)
        is_worse = bool(each.failed) or (len(each.ratios) >= ROUNDS and all(now < least for now in each.ratios))
        worse += is_worse
        told += f"  {was:>6.3f} then, {each.ratio:>6.3f} now  {(each.ratio / was - 1) * 100:>+6.1f} %"
        lines.append(_red(f"{told}  WORSE") if is_worse else told)
    return lines, worse


def _ratios(run: dict[str, Any]) -> dict[tuple[str, int, int], float]:
    return {(line["scenario"], line["tickets"], line["clients"]): float(line["ratio"]) for line in run["lines"]}


def _red(text: str) -> str:
    return f"{RED}{text}{PLAIN}" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def _commit() -> str:
    """Returns the short name of the commit, and whether there are uncommitted changes."""
    commit = _git("rev-parse", "--short", "HEAD") or "none"
    return f"{commit} with changes" if _git("status", "--porcelain", "--untracked-files=no") else commit


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()


def _machine() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.machine()}", "processor": _processor(), "cores": os.cpu_count(),
        "python": platform.python_version(), "sqlite": apsw.sqlite_lib_version(),
    }  # fmt: skip


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
