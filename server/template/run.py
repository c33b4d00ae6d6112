"""One rendering: placeholders, variables of the template, output, and budget."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from server.dataclass import dataclass
from server.template.budget import Budget

Eval = Callable[["Rendering"], Any]
Act = Callable[["Rendering"], None]


@dataclass
class Surroundings:
    """What the caller provides to a template. zone: the name of the time zone. now: Unix seconds. host: functions of
    the service by name, such as `svc_url`; some filters and tests call them too."""

    zone: str = "UTC"
    now: int | None = None
    host: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


class Rendering:
    """The state of a rendering. scopes: variables, the innermost scope last. closed: for each scope, whether it stops
    assignments from reaching outer scopes. line: of the tag that is being rendered."""

    __slots__ = ("values", "scopes", "closed", "out", "budget", "around", "line")

    def __init__(self, values: Mapping[str, Any], budget: Budget, around: Surroundings) -> None:
        self.values = values
        self.scopes: list[dict[str, Any]] = [{}]
        self.closed: list[bool] = [True]
        self.out: list[str] = []
        self.budget = budget
        self.around = around
        self.line = 1

    def lookup(self, name: str) -> Any:
        """Returns a variable, else a placeholder, else null."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        try:
            return self.values[name]
        except KeyError:
            return None

    def assign(self, name: str, value: Any) -> None:
        """Assigns the variable of this name in any scope up to the next closed one; creates it in the innermost scope
        if it is new.

        A placeholder is hidden by a variable that lives as long as the nearest closed scope, so it outlives loops."""
        place = len(self.scopes) - 1
        while name not in self.scopes[place] and not self.closed[place]:
            place -= 1
        if name in self.scopes[place] or name in self.values:
            self.scopes[place][name] = value
        else:
            self.scopes[-1][name] = value

    def push(self, variables: dict[str, Any], closed: bool = False) -> None:
        self.scopes.append(variables)
        self.closed.append(closed)

    def pop(self) -> None:
        self.scopes.pop()
        self.closed.pop()

    def write(self, text: str) -> None:
        """Appends text to the output."""
        if text:
            self.budget.text(len(text), text)
            self.out.append(text)

    def captured(self, body: Act) -> str:
        """Returns the output of a part of the template."""
        outer, self.out = self.out, []
        try:
            body(self)
            return "".join(self.out)
        finally:
            self.out = outer


class Arrow:
    """`x => expression`, callable with values. It is valid only during the call that it is an argument of."""

    __slots__ = ("names", "body", "run")

    def __init__(self, names: tuple[str, ...], body: Eval, run: Rendering) -> None:
        self.names = names
        self.body = body
        self.run = run

    def __call__(self, *values: Any) -> Any:
        run = self.run
        run.budget.step()
        run.push(dict(zip(self.names, values, strict=False)), closed=True)
        try:
            return self.body(run)
        finally:
            run.pop()
