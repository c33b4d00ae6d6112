"""Computes the shape of a statement, the key of its cached text: equal shapes must mean equal texts.

A builder is a function without arguments that composes a query. Its shape is its code and the names, tables and
conditions in its closure. Values belong in slots, since each would make another statement. A builder with anything else
in its closure is rejected at its first use. `keyed` gives an explicit shape to a builder whose parts cannot be
compared; the tests compose every statement again and compare (tests/composed_anew.py)."""

from collections.abc import Callable, Hashable
from types import CodeType, FunctionType
from typing import Any

import peewee

ADVICE = "give it by a slot, or compose it inside"


class NoShape(TypeError):
    """A builder without a computable shape; a bug in the program."""


class Part:
    """A value that a builder may have in its closure: equal ones compose equal texts."""

    __slots__ = ()

    def bare(self) -> "Part":
        """Returns an equal part for the cache, without the data of a single run."""
        return self


class KeyedBuilder:
    """A builder whose shape is its code and `parts`, whatever its closure."""

    __slots__ = ("build", "shape")

    def __init__(self, build: FunctionType, parts: tuple[Hashable, ...]) -> None:
        self.build = build
        self.shape = (id(build.__code__), *parts)

    def __call__(self) -> Any:
        return self.build()


Builder = Callable[[], Any]


def keyed(build: Any, *parts: Hashable) -> KeyedBuilder:
    """Returns the builder with an explicit shape, for one whose text depends on objects that cannot be compared."""
    return KeyedBuilder(build, parts)


def shape_of(build: Builder) -> Hashable:
    """Returns the shape. Code is identified by its address, which is unique while the statement holds the code
    (code_of): `==` considers two equal lambdas on the same line of two files equal."""
    if type(build) is FunctionType:
        cells = build.__closure__
        if cells is None:
            return id(build.__code__)
        return (id(build.__code__), *[cell.cell_contents for cell in cells])
    if type(build) is KeyedBuilder:
        return build.shape
    raise NoShape(f"{build!r} is no plain function: no bound method, partial or class can be told apart")


def code_of(build: Builder) -> CodeType:
    """Returns the code of a builder. The statement holds it, so that its address is not reused."""
    code: CodeType = build.build.__code__ if isinstance(build, KeyedBuilder) else build.__code__
    return code


def bare_shape(shape: Hashable) -> Hashable:
    """Returns an equal shape for the cache, without values of the run that created it."""
    if not isinstance(shape, tuple):
        return shape
    return tuple(each.bare() if isinstance(each, Part) else each for each in shape)


def require_shaped(build: Builder) -> None:
    """Raises NoShape if a builder closes over something that cannot be part of a shape."""
    if isinstance(build, KeyedBuilder):
        return
    function: Any = build
    if function.__defaults__ or function.__kwdefaults__:
        raise NoShape(f"{_place(build)}: what an argument starts as is not a part of a shape")
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
    """Returns the error for a builder whose shape cannot be hashed."""
    return NoShape(f"{_place(build)} closes over what has no hash: {ADVICE}")
