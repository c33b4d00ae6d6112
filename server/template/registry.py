"""Filters, functions and tests of the language by name. Each file of a package is a family, which registers when it is
imported. Their first parameter is the run, then comes the value (filters and tests), then the arguments. Templates may
pass arguments by name, as in Python; arguments that are left out have their defaults."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from server.dataclass import dataclass

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Callee:
    """A filter, a function or a test. names: its parameters without the run and the value. least, most: the number of
    arguments, most None for any number. takes_arrow: whether an argument may be `x => expression`. charges_itself:
    whether it charges its whole cost, or has the same cost for all arguments; others are charged for one pass over
    their arguments before the call. note: the first paragraph of the docstring."""

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
    """Declares a filter: `def upper(run, value, ...)`."""
    return _declare(FILTERS, names, 2, takes_arrow, charges_itself)


def function(*names: str, charges_itself: bool = False) -> Callable[[Function], Function]:
    """Declares a function: `def range(run, ...)`."""
    return _declare(FUNCTIONS, names, 1, False, charges_itself)


def test(*names: str, charges_itself: bool = False) -> Callable[[Function], Function]:
    """Declares a test: `def divisible_by(run, value, ...)` under the name `divisible by`."""
    return _declare(TESTS, names, 2, False, charges_itself)


def _declare(
    table: dict[str, Callee], names: tuple[str, ...], own: int, takes_arrow: bool, charges_itself: bool
) -> Callable[[Function], Function]:
    def declare(call: Function) -> Function:
        parameters = list(inspect.signature(call).parameters.values())[own:]
        plain = [each for each in parameters if each.kind is not inspect.Parameter.VAR_POSITIONAL]
        least = sum(each.default is inspect.Parameter.empty for each in plain)
        most = len(plain) if len(plain) == len(parameters) else None
        argument_names = tuple(each.name.removesuffix("_") for each in plain)
        note = " ".join((inspect.getdoc(call) or "").partition("\n\n")[0].split())
        for name in names:
            table[name] = Callee(name, call, argument_names, least, most, takes_arrow, charges_itself, note)
        return call

    return declare
