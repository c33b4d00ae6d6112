"""The shape of a statement: where it is composed and of what, so that one shape never stands for two texts.

A builder is a function without arguments that composes a query. Its shape is its code and what it closes over: names,
tables, conditions. Values do not belong there, since each would make a statement of its own; they have slots. A builder
that closes over anything else is refused when it is first used. `keyed` gives a shape by hand to what cannot be told
from its parts; the tests compose every statement anew and compare (tests/composed_anew.py)."""

from collections.abc import Callable, Hashable
from types import CodeType, FunctionType
from typing import Any

import peewee

ADVICE = "give it by a slot, or compose it inside"


class NoShape(TypeError):
    """A builder from which no shape follows; a mistake of the program."""


class Part:
    """What a builder may close over: equal ones compose the same text."""

    __slots__ = ()

    def bare(self) -> "Part":
        """An equal one to be kept in memory, without what belongs to a single run."""
        return self


class KeyedBuilder:
    """A builder whose shape is its code and `parts`, whatever it closes over."""

    __slots__ = ("build", "shape")

    def __init__(self, build: FunctionType, parts: tuple[Hashable, ...]) -> None:
        self.build = build
        self.shape = (id(build.__code__), *parts)

    def __call__(self) -> Any:
        return self.build()


Builder = Callable[[], Any]


def keyed(build: Any, *parts: Hashable) -> KeyedBuilder:
    """The builder with a shape by hand, for one whose text depends on objects that cannot be compared."""
    return KeyedBuilder(build, parts)


def shape_of(build: Builder) -> Hashable:
    """The shape. Code is told apart by its place in memory, which holds while the statement keeps it (code_of): to `==`
    two equal lambdas on the same line of two files are the same."""
    if type(build) is FunctionType:
        cells = build.__closure__
        if cells is None:
            return id(build.__code__)
        return (id(build.__code__), *[cell.cell_contents for cell in cells])
    if type(build) is KeyedBuilder:
        return build.shape
    raise NoShape(f"{build!r} is no plain function: no bound method, partial or class can be told apart")


def code_of(build: Builder) -> CodeType:
    """The code of a builder, for the statement to keep: nothing else gets its place in memory meanwhile."""
    code: CodeType = build.build.__code__ if isinstance(build, KeyedBuilder) else build.__code__
    return code


def kept(shape: Hashable) -> Hashable:
    """An equal shape that holds no values of the run that made it."""
    if not isinstance(shape, tuple):
        return shape
    return tuple(each.bare() if isinstance(each, Part) else each for each in shape)


def require_shaped(build: Builder) -> None:
    """Refuse a builder that closes over what is no part of a shape. Raises NoShape."""
    if isinstance(build, KeyedBuilder):
        return
    function: Any = build
    if function.__defaults__ or function.__kwdefaults__:
        raise NoShape(f"{_place(build)}: what an argument starts as is no part of a shape")
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        content = cell.cell_contents
        if not _is_part(content):
            raise NoShape(f"{_place(build)} closes over {name}, a {type(content).__name__}: {ADVICE}")


def _is_part(content: Any) -> bool:
    if isinstance(content, tuple | frozenset):
        return all(_is_part(each) for each in content)
    if isinstance(content, FunctionType):
        return "<locals>" not in content.__qualname__
    return content is None or isinstance(content, bool | str | Part | peewee.Table)


def _place(build: Any) -> str:
    code = code_of(build)
    return f"the builder at {code.co_filename}:{code.co_firstlineno}"


def unhashable(build: Builder) -> NoShape:
    """The error of a builder whose shape cannot be looked for."""
    return NoShape(f"{_place(build)} closes over what has no hash: {ADVICE}")
