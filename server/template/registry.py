"""Filters, functions and tests of the language by name. Each family of them is a file that registers by being imported.

All take the run first, then the value (filters and tests) and their arguments, which may be named in a template as they
are in Python. Arguments that a template leaves out have their defaults."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from server.dataclass import dataclass

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Callee:
    """One of them. names: its parameters without the run, and without the value. least, most: how many arguments it
    takes, most None for any. takes_arrow: whether an argument may be `x => expression`. charges_itself: whether it
    charges all that it costs, or costs the same whatever it is given; all others are charged for one look through their
    arguments before they are called. note: the first paragraph of its docstring."""

    name: str
    call: Callable[..., Any]
    names: tuple[str, ...]
    least: int
    most: int | None
    takes_arrow: bool
    charges_itself: bool
    note: str


FILTERS: dict[str, Callee] = {}
FUNCTIONS: dict[str, Callee] = {}
TESTS: dict[str, Callee] = {}


def filter(*names: str, takes_arrow: bool = False, charges_itself: bool = False) -> Callable[[Function], Function]:
    """Declare a filter: `def upper(run, value, ...)`."""
    return _declare(FILTERS, names, 2, takes_arrow, charges_itself)


def function(*names: str, charges_itself: bool = False) -> Callable[[Function], Function]:
    """Declare a function: `def range(run, ...)`."""
    return _declare(FUNCTIONS, names, 1, False, charges_itself)


def test(*names: str, charges_itself: bool = False) -> Callable[[Function], Function]:
    """Declare a test: `def divisible_by(run, value, ...)` under the name `divisible by`."""
    return _declare(TESTS, names, 2, False, charges_itself)


def _declare(
    table: dict[str, Callee], names: tuple[str, ...], own: int, takes_arrow: bool, charges_itself: bool
) -> Callable[[Function], Function]:
    def declare(call: Function) -> Function:
        parameters = list(inspect.signature(call).parameters.values())[own:]
        plain = [each for each in parameters if each.kind is not inspect.Parameter.VAR_POSITIONAL]
        least = sum(each.default is inspect.Parameter.empty for each in plain)
        most = len(plain) if len(plain) == len(parameters) else None
        listed = tuple(each.name.removesuffix("_") for each in plain)
        note = " ".join((inspect.getdoc(call) or "").partition("\n\n")[0].split())
        for name in names:
            table[name] = Callee(name, call, listed, least, most, takes_arrow, charges_itself, note)
        return call

    return declare
