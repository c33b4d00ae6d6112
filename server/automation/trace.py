"""Traces a run command by command."""

import time
from dataclasses import field
from typing import Any

from server.automation.run_dictionary import plain, require_bounded
from server.dataclass import dataclass

MAX_TRACED = 10_000  # commands per trace; one more line says that the rest is omitted
REFUSED = "the policy does not let "  # how the error of a refused command begins
_ABSENT = object()


@dataclass
class TraceStep:
    """A command in a trace. ms: its duration, without nested commands. changed: the keys that it set. verdict: the
    deciding rule of the policy; "" if the command is not governed, or no rule applies."""

    path: str
    ms: float = 0.0
    changed: list[str] = field(default_factory=list)
    verdict: str = ""
    error: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether the policy refused it."""
        return self.error.startswith(REFUSED)


class Trace:
    """The trace of a run. most: number of commands to list. state_at: number of the command, from 1, after which the
    dictionary is recorded; 0 for none."""

    def __init__(self, most: int, state_at: int = 0) -> None:
        self.steps: list[TraceStep] = []
        self.at_step: dict[str, Any] | None = None  # the dictionary after command number `state_at`
        self._most = min(most, MAX_TRACED)
        self._state_at = state_at
        self._step: TraceStep | None = None  # the running command; None beyond the limit
        self._before: dict[str, Any] = {}  # the values at the start of the command
        self._began = 0.0

    @property
    def is_full(self) -> bool:
        return len(self.steps) > self._most

    def begin(self, path: str, values: dict[str, Any]) -> None:
        """Starts a command that changes these values; `end` must follow."""
        if len(self.steps) == self._most:
            self._step = None
            self.steps.append(TraceStep("", error=f"only the first {self._most:,} commands of the run are listed"))
            return
        self._step = TraceStep(path)
        self.steps.append(self._step)
        self._before, self._began = dict(values), time.perf_counter()

    def end(self, values: dict[str, Any]) -> None:
        """Ends the command, successful or not."""
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
        """Records the rule of the policy that decided on the command."""
        if self._step is not None:
            self._step.verdict = name

    def failed(self, message: str) -> None:
        """Records the error of the command."""
        if self._step is not None:
            self._step.error = message


def visible_values(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the dictionary of a run without the engine's own keys."""
    return {key: plain(value) for key, value in values.items() if not key.startswith("__")}
