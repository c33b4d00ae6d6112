"""The cost of rules for tickets that arrive: the processor time of the server per request without and with rules, in
turn. It includes what rules do after the responses: a half ends when the server is idle again.

If no rule matches, the loss has a goal. A rule that sets a field of each ticket changes it like a second request; the
cost of such a run is printed."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from statistics import median

from tests.bench.load import Measured
from tests.bench.process import Server
from tests.bench.scenarios import Desk, compose, parse

RULES, ROUNDS = 30, 10
MOST_LOST_PERCENT = 5.0  # largest loss of requests per second of processor time
IDLE_SHARE, IDLE_SECONDS = 0.1, 1.0  # the server is idle if it uses less than this share of the processor for so long
MOST_SECONDS = 120  # until it must be idle
CONDITIONS = (
    "subject:bench{number}*", "subject:bench{number}* status:open", "group:(name:bench{number}*)",
    "group.id:{missing}", "tag:bench{number}", "tag:[bench{number},vip] importance:<50",
)  # fmt: skip
MATCHING = "subject:your* OR subject:order*"  # each ticket of compose() and of parse()
_used = count(1)  # numbers in the names of rules, which must be unique


def lines(desk: Desk, server: Server, run: Callable[[list[str]], Measured]) -> Iterator[str]:
    """Yields the lines to print. run: half a round of requests."""
    title = f"without rules, and with {RULES}"
    yield f"{title:<40} {'a second':>15} {'us each':>15} {'lost %':>7}"
    for is_matched, what in ((False, "no rule matches"), (True, "one rule sets a field")):
        for name, requests in (("compose a ticket", compose(desk)), ("parse a mail", parse(desk))):
            yield _compared(f"{name}; {what}", desk, server, run, requests, is_matched=is_matched)


def _compared(
    title: str, desk: Desk, server: Server, run: Callable[[list[str]], Measured], requests: list[str], *,
    is_matched: bool,
) -> str:  # fmt: skip
    rounds = []
    run(requests)  # the first requests of a server take longer
    for number in range(ROUNDS):
        halves = {}
        for has_rules in (False, True) if number % 2 else (True, False):  # a fuller database affects both
            with _rules(desk, is_matched=is_matched) if has_rules else nullcontext():
                halves[has_rules] = _half(server, run, requests)
        rounds.append((halves[False], halves[True]))
    lost = (1 - median(alone[1] / beside[1] for alone, beside in rounds)) * 100
    told = " ".join(f"{median(half[place] for half in side):>7.0f}"
                    for place in (0, 1) for side in zip(*rounds, strict=True))  # fmt: skip
    if is_matched:
        goal = f"{median(beside[1] - alone[1] for alone, beside in rounds):.0f} us for each run"
    else:
        goal = f"at most {MOST_LOST_PERCENT:g}: {'ok' if lost <= MOST_LOST_PERCENT else 'MISSED'}"
    return f"{title:<40} {told} {lost:>7.1f}  {goal}"


def _half(server: Server, run: Callable[[list[str]], Measured], requests: list[str]) -> tuple[float, float]:
    """Returns requests per second, and microseconds of processor time per request until the server is idle."""
    before = idle(server)  # the rules have just been created, or deleted
    measured = run(requests)
    return measured.per_second, (idle(server) - before) / measured.sent * 1e6


def idle(server: Server) -> float:
    """Waits until the server is idle; returns its processor time. Raises AssertionError if it never is."""
    until, used = time.monotonic() + MOST_SECONDS, server.cpu_seconds()
    while time.monotonic() < until:
        time.sleep(IDLE_SECONDS)
        before, used = used, server.cpu_seconds()
        if used - before < IDLE_SHARE * IDLE_SECONDS:
            return used
    raise AssertionError(f"the server was not idle within {MOST_SECONDS} seconds")


@contextmanager
def _rules(desk: Desk, *, is_matched: bool) -> Iterator[None]:
    """Has RULES rules for new tickets while the context is active. is_matched: whether one of them matches."""
    path = "/rest/records/automation"
    ids = []
    for number in range(RULES):
        condition = CONDITIONS[number % len(CONDITIONS)].format(number=number, missing=999_000 + number)
        form = {
            "title": f"Bench {next(_used)}",
            "when": ["created"],
            "matches_everything": 1,
            "conditions": [MATCHING if is_matched and number == RULES // 2 else condition],
            "steps": [{"kind": "importance", "importance": "90"}],
        }
        fields = {"extension_id": "svc.trigger.ticket.event", "form": json.dumps(form)}
        ids.append(
            desk.answer(desk.post(f"{path}/create.json", **{f"fields[{k}]": v for k, v in fields.items()}))["id"]
        )
    yield
    for id in ids:
        desk.answer(desk.get(f"{path}/{id}.json").replace("GET", "DELETE", 1))
