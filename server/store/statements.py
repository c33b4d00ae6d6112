"""Statements compiled once per shape: peewee composes them, the text and the order of its parameters are kept.

Building a peewee query costs far more than running its SQL, so callers hand over a function that builds it, and it runs
once for each shape: shapes.py says which. A builder marks the places of its values with `slot(0)`, `slot(1)`...
Not for running anything: that is Transaction's part (store/transaction.py)."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, ClassVar, Generic, TypeVar, cast

import apsw
import peewee

from server.dataclass import dataclass
from server.store.shapes import Builder, code_of, kept, require_shaped, shape_of, unhashable

# Kept; a full cache is emptied, since a statement costs half a millisecond to build again.
MAX_STATEMENTS = 4096  # shapes
MAX_CHARS = 32 * 1024 * 1024  # characters of their texts together; most have a few hundred, some searches far more

LOGS: set[str] = set()  # the tables that rows are appended to; tables.py adds them
BUMPING = {"version"}  # the tables whose rows bump a version, and that of the versions; tables.py adds to them

SQLITE, POSTGRESQL = "sqlite", "postgresql"  # the dialects; a node of ours that differs asks its context for it
MARK = "\0"  # in the place of a value while a text is composed: a question mark may stand in the text itself

Convert = Callable[[Any], Any]


class Slot:
    """The place of one value in a statement. `index` counts in the values given when it runs; `convert` is done to the
    value before it is bound."""

    __slots__ = ("index", "convert")

    def __init__(self, index: int, convert: Convert | None = None) -> None:
        self.index = index
        self.convert = convert


def slot(index: int) -> peewee.Node:
    """A bound parameter, filled when the statement runs with the value at `index`."""
    return peewee.Value(Slot(index), converter=False, unpack=False)


def converted(value: Any, convert: Convert | None) -> peewee.Node:
    """The slot `value` with something to be done to what is bound there."""
    if convert is None:
        return cast("peewee.Node", value)
    return peewee.Value(Slot(value.value.index, convert), converter=False, unpack=False)


class InList(peewee.ColumnBase):
    """See in_list."""

    def __init__(self, column: Any, value: peewee.Node) -> None:
        self.column, self.value = column, value

    def __sql__(self, ctx: Any) -> Any:
        if ctx.dialect == SQLITE:
            with ctx(parentheses=True, in_expr=True):
                return ctx.sql(self.column).literal(" IN ((SELECT value FROM json_each(").sql(self.value).literal(")))")
        with ctx(parentheses=True, in_expr=True):
            return ctx.sql(self.column).literal(" = ANY(").sql(converted(self.value, ctx.array)).literal(")")


def in_list(column: Any, value: peewee.Node) -> InList:
    """`column IN (values)`, where `value` is one slot that takes a JSON array: one shape for any number of values."""
    return InList(column, value)


def ordering(columns: Mapping[str, Any], sort: str) -> list[Any]:
    """What a list is sorted by that somebody chose: one of the columns by its name, with "-" before it for the other
    direction; [] for "". Raises KeyError for a name that is none of them."""
    if not sort:
        return []
    column = columns[sort.removeprefix("-")]
    return [column.desc() if sort.startswith("-") else column]


class Statement:
    """SQL text with the order in which the values go into it.

    is_plain: the values are bound as they are given. changes: the one table whose rows may be others after it ran; ""
    for any, since rows go along with those that they hang on. may_bump: versions may be others, too. names_log: a log
    may be among its tables, whose rows are written late. searched: the full-text indexes of SQLite in which it looks
    for words."""

    __slots__ = (
        "sql",
        "code",
        "is_plain",
        "changes",
        "may_bump",
        "names_log",
        "searched",
        "_order",
        "_converts",
    )

    def __init__(self, sql: str, parameters: Sequence[Any]) -> None:
        self.code: CodeType | None = None  # of its builder; see shapes.py
        self.sql = sql
        self.changes = _changed(sql)
        self.names_log = any(f'"{name}"' in sql for name in LOGS)
        self.searched = tuple(dict.fromkeys(_SEARCHED.findall(sql)))
        self.may_bump = not self.changes or self.changes in BUMPING
        self._order = tuple((True, item.index) if isinstance(item, Slot) else (False, item) for item in parameters)
        self._converts = [
            (place, item.convert) for place, item in enumerate(parameters) if isinstance(item, Slot) and item.convert
        ]
        # In most statements the slots stand in their own order and nothing else is bound.
        self.is_plain = not self._converts and self._order == tuple((True, index) for index in range(len(self._order)))

    def bind(self, values: Sequence[Any]) -> Sequence[Any]:
        """The parameters in the order of the text."""
        if self.is_plain:
            return values
        bound = [values[item] if is_slot else item for is_slot, item in self._order]
        for place, convert in self._converts:
            bound[place] = convert(bound[place])
        return bound


_SEARCHED = re.compile(r'"(\w+)" MATCH ')  # as fulltext.Match writes it
_CHANGED = re.compile(r'(?:INSERT (?:OR IGNORE )?INTO|UPDATE) "(\w+)"')


def _changed(sql: str) -> str:
    """The table that an insert or update changes, as peewee writes them; "" for what removes or replaces rows."""
    found = _CHANGED.match(sql)
    return found[1] if found is not None else ""


class ComposingContext(peewee.Context):
    """Before `IN (...)` peewee writes the right side once more, to see whether it is empty. Ours never are, and with
    selects inside selects the work would double at each level: seconds for what an outsider may read."""

    dialect: ClassVar[str]
    fragments: ClassVar["StatementCache[Fragment]"]  # of this dialect

    def as_new(self) -> "ComposingContext":
        return self

    def parse(self, node: Any) -> tuple[str, None]:
        return "never empty", None


class SqliteContext(ComposingContext):
    """Composes for SQLite."""

    dialect = SQLITE


@dataclass(frozen=True)
class Composer:
    """How queries become texts of one dialect. context: a new one for each text."""

    dialect: str
    context: Callable[[], peewee.Context]

    def compose(self, query: Any) -> tuple[str, list[Any]]:
        """SQL with MARK in the place of each value, and the values."""
        sql, values = self.context().sql(query).query()
        return sql, values

    def statement(self, query: Any) -> Statement:
        """The statement of a peewee query or expression."""
        sql, values = self.compose(query)
        return Statement(marked(sql, self.dialect), values)

    def fragment(self, query: Any) -> "Fragment":
        """A select in brackets, to stand inside other statements."""
        return Fragment(*self.compose(query))


def marked(sql: str, dialect: str) -> str:
    """The text with the marks of the dialect in the places of its values."""
    if dialect == SQLITE:
        return sql.replace(MARK, "?")
    first, *rest = sql.split(MARK)
    return first + "".join(f"${place}{text}" for place, text in enumerate(rest, 1))


class _SqliteDialect(peewee.SqliteDatabase):
    """SQLite in the version of apsw; peewee knows that of Python's sqlite3, which the executable lacks."""

    server_version = tuple(map(int, apsw.sqlite_lib_version().split(".")))


_OPTIONS = {**_SqliteDialect(None).get_context_options(), "param": MARK}
SQLITE_COMPOSER = Composer(SQLITE, lambda: SqliteContext(**_OPTIONS))


class Fragment:
    """A select in brackets, composed once to stand inside other statements. It looks at no table outside itself, so
    that its names for tables hide those around it."""

    __slots__ = ("sql", "code", "_pieces")

    def __init__(self, sql: str, values: Sequence[Any]) -> None:
        self.sql = sql
        first, *rest = f"({sql})".split(MARK)
        self._pieces = (first, tuple(zip(values, rest, strict=True)))
        self.code: CodeType | None = None

    def node(self, at: Callable[[int], peewee.Node]) -> peewee.Node:
        """Itself for a statement in which `at(i)` is the slot of its i-th value."""
        first, rest = self._pieces
        return _Placed(first, rest, at)


class _Placed(peewee.Node):
    def __init__(self, first: str, rest: tuple[tuple[Any, str], ...], at: Callable[[int], peewee.Node]) -> None:
        self.first, self.rest, self.at = first, rest, at

    def __sql__(self, ctx: peewee.Context) -> peewee.Context:
        ctx.literal(self.first)
        for value, text in self.rest:
            if isinstance(value, Slot):
                ctx.sql(converted(self.at(value.index), value.convert))
            else:
                ctx.value(value, False)
            ctx.literal(text)
        return ctx


class InFragment(peewee.Node):
    """A select in brackets that is composed once for each shape, whatever statement it stands in."""

    def __init__(self, build: Builder, at: Callable[[int], peewee.Node]) -> None:
        self.build, self.at = build, at

    def __sql__(self, ctx: Any) -> peewee.Context:
        return ctx.sql(ctx.fragments.get(self.build).node(self.at))


Composed = TypeVar("Composed", Statement, Fragment)


class StatementCache(Generic[Composed]):
    """Statements by shape, or parts of them, shared by all threads. Two threads that build the same shape at once build
    it twice."""

    def __init__(self, compose: Callable[[Any], Composed], limit: int = MAX_STATEMENTS) -> None:
        self._statements: dict[Hashable, Composed] = {}
        self._compose: Callable[[Any], Composed] = compose
        self._limit = limit
        self._chars = 0

    def get(self, build: Builder) -> Composed:
        """The statement that `build` composes; it runs when the shape is new. Raises Unnamed."""
        # As shape_of, which takes a call and a list more, with every statement.
        cells = build.__closure__ if type(build) is FunctionType else None
        if cells is None or len(cells) > 2:
            key = shape_of(build)
        elif len(cells) == 1:
            key = (id(build.__code__), cells[0].cell_contents)
        else:
            key = (id(build.__code__), cells[0].cell_contents, cells[1].cell_contents)
        try:
            statement = self._statements.get(key)
        except TypeError:
            raise unhashable(build) from None
        return self._add(key, build) if statement is None else statement

    def _add(self, key: Hashable, build: Builder) -> Composed:
        statement = self._compose(build())
        require_shaped(build)
        statement.code = code_of(build)
        if len(self._statements) >= self._limit or self._chars >= MAX_CHARS:
            self.forget()
        self._statements[kept(key)] = statement
        self._chars += len(statement.sql)
        return statement

    def all(self) -> list[Composed]:
        """Those that are kept."""
        return list(self._statements.values())

    def forget(self) -> None:
        """Drop everything; after a table got new columns."""
        self._statements.clear()
        self._chars = 0


SqliteContext.fragments = StatementCache(SQLITE_COMPOSER.fragment)
