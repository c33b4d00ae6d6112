"""What a run did, command by command, for whoever looks at it."""

import time
from dataclasses import field
from typing import Any

from server.automation.dictionary import plain, require_bounded
from server.dataclass import dataclass

MAX_TRACED = 10_000  # commands of one trace at most; one more line says that the rest is left out
_ABSENT = object()


@dataclass
class TraceStep:
    """One command of a trace. ms: its time, without that of commands inside it. changed: the keys that it set.
    verdict: the rule of the policy that let it run, or did not; "" where none is asked, or none fits."""

    path: str
    ms: float = 0.0
    changed: list[str] = field(default_factory=list)
    verdict: str = ""
    error: str = ""


class Trace:
    """most: how many commands are listed. state_at: the command, from 1, whose dictionary is kept; 0 for none."""

    def __init__(self, most: int, state_at: int = 0) -> None:
        self.steps: list[TraceStep] = []
        self.at_step: dict[str, Any] | None = None  # the dictionary after that command
        self._most = min(most, MAX_TRACED)
        self._state_at = state_at
        self._step: TraceStep | None = None  # of the command that is run; None beyond what is listed
        self._before: dict[str, Any] = {}  # the values when it began
        self._began = 0.0

    @property
    def is_full(self) -> bool:
        return len(self.steps) > self._most

    def begin(self, path: str, values: dict[str, Any]) -> None:
        """A command begins that changes these values; `end` must follow."""
        if len(self.steps) == self._most:
            self._step = None
            self.steps.append(TraceStep("", error=f"only the first {self._most:,} commands of the run are listed"))
            return
        self._step = TraceStep(path)
        self.steps.append(self._step)
        self._before, self._began = dict(values), time.perf_counter()

    def end(self, values: dict[str, Any]) -> None:
        """It is over, well or not."""
        step, before = self._step, self._before
        if step is None:
            return
        step.ms = round((time.perf_counter() - self._began) * 1000, 3)
        step.changed = [key for key, value in values.items() if before.get(key, _ABSENT) is not value]
        self._before = {}
        if len(self.steps) == self._state_at:
            require_bounded(values)
            self.at_step = visible_values(values)

    def rule(self, name: str) -> None:
        """Note the rule of the policy that decided about the command."""
        if self._step is not None:
            self._step.verdict = name

    def failed(self, message: str) -> None:
        """Note the error of the command."""
        if self._step is not None:
            self._step.error = message


def visible_values(values: dict[str, Any]) -> dict[str, Any]:
    """The dictionary of a run without what the engine keeps in it."""
    return {key: plain(value) for key, value in values.items() if not key.startswith("__")}
