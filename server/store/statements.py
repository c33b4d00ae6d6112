"""Statements compiled once per shape: peewee composes them; their text and the order of their parameters are cached.

Building a peewee query costs far more than running its SQL. So callers pass a function that builds the query, which
runs once for each shape (see statement_shapes.py). A builder marks the places of its values: `slot(0)`, `slot(1)`...
Transaction runs the statements (store/transaction.py)."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, ClassVar, Generic, TypeVar, cast

import apsw
import peewee

from server.dataclass import dataclass
from server.store.statement_shapes import Builder, bare_shape, code_of, require_shaped, shape_of, unhashable

# Limits of the cache. A full cache is emptied: to build a statement again takes half a millisecond.
MAX_STATEMENTS = 4096  # shapes
MAX_CHARS = 32 * 1024 * 1024  # characters of all texts; most statements have a few hundred, some searches far more

LOGS: set[str] = set()  # tables to which rows are only appended; tables.py adds them
BUMPING = {"version"}  # tables whose changes bump a version, and the table of versions; tables.py adds the others

SQLITE, POSTGRESQL = "sqlite", "postgresql"  # dialects; a node reads its own from the context
MARK = "\0"  # placeholder of a value during composition, since the text itself may contain question marks

Convert = Callable[[Any], Any]


class Slot:
    """The place of one value in a statement. `index`: the position among the values of a run. `convert`: applied to the
    value before it is bound."""

    __slots__ = ("index", "convert")

    def __init__(self, index: int, convert: Convert | None = None) -> None:
        self.index = index
        self.convert = convert


def slot(index: int) -> peewee.Node:
    """Returns a parameter that is bound to the value at `index` when the statement runs."""
    return peewee.Value(Slot(index), converter=False, unpack=False)


def converted(value: Any, convert: Convert | None) -> peewee.Node:
    """Returns the slot `value` with a conversion that is applied to its value before it is bound."""
    if convert is None:
        return cast("peewee.Node", value)
    return peewee.Value(Slot(value.value.index, convert), converter=False, unpack=False)


class InList(peewee.ColumnBase):
    def __init__(self, column: Any, value: peewee.Node) -> None:
        self.column, self.value = column, value

    def __sql__(self, ctx: Any) -> Any:
        if ctx.dialect == SQLITE:
            with ctx(parentheses=True, in_expr=True):
                return ctx.sql(self.column).literal(" IN ((SELECT value FROM json_each(").sql(self.value).literal(")))")
        with ctx(parentheses=True, in_expr=True):
            return ctx.sql(self.column).literal(" = ANY(").sql(converted(self.value, ctx.array)).literal(")")


def in_list(column: Any, value: peewee.Node) -> InList:
    """Returns `column IN (values)`, where `value` is one slot that takes a JSON array: one shape for any number of
    values."""
    return InList(column, value)


class JsonArray(peewee.ColumnBase):
    def __init__(self, column: Any) -> None:
        self.column = column

    def __sql__(self, ctx: Any) -> Any:
        if ctx.dialect == SQLITE:
            return ctx.literal("json_group_array(").sql(self.column).literal(")")
        return ctx.literal("coalesce(json_agg(").sql(self.column).literal("), '[]')::text")


def json_array(column: Any) -> JsonArray:
    """Returns the values of a column in all rows as one JSON array, which is read in half the time of many rows:
    SQLite's driver gives up the interpreter for each row."""
    return JsonArray(column)


def ordering(columns: Mapping[str, Any], sort: str) -> list[Any]:
    """Returns the ORDER BY terms for a sort that a caller chose: the name of a column, with "-" before it to sort
    descending. Returns [] for "". Raises KeyError if the column is unknown."""
    if not sort:
        return []
    column = columns[sort.removeprefix("-")]
    return [column.desc() if sort.startswith("-") else column]


class Statement:
    """SQL text with the order of its parameters.

    is_plain: the values of a run are bound unchanged and in their order. changes: the only table that it changes; "" if
    it may change several, since deletions cascade. may_bump: it may change versions. names_log: it may read a log,
    whose rows are written late. searched: the full-text indexes of SQLite that it searches."""

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
        self.code: CodeType | None = (
            None  # code of the builder, so that its address stays in use; see statement_shapes.py
        )
        self.sql = sql
        self.changes = _changed(sql)
        self.names_log = any(f'"{name}"' in sql for name in LOGS)
        self.searched = tuple(dict.fromkeys(_SEARCHED.findall(sql)))
        self.may_bump = not self.changes or self.changes in BUMPING
        self._order = tuple((True, item.index) if isinstance(item, Slot) else (False, item) for item in parameters)
        self._converts = [
            (place, item.convert) for place, item in enumerate(parameters) if isinstance(item, Slot) and item.convert
        ]
        # True for most statements: the slots are in order and nothing else is bound.
        self.is_plain = not self._converts and self._order == tuple((True, index) for index in range(len(self._order)))

    def bind(self, values: Sequence[Any]) -> Sequence[Any]:
        """Returns the parameters in the order of the text."""
        if self.is_plain:
            return values
        bound = [values[item] if is_slot else item for is_slot, item in self._order]
        for place, convert in self._converts:
            bound[place] = convert(bound[place])
        return bound


_SEARCHED = re.compile(r'"(\w+)" MATCH ')  # the form that fulltext.Match composes
_CHANGED = re.compile(r'(?:INSERT (?:OR IGNORE )?INTO|UPDATE) "(\w+)"')


def _changed(sql: str) -> str:
    """Returns the table that an insert or update of peewee changes; "" for statements that delete or replace rows."""
    match = _CHANGED.match(sql)
    return match[1] if match is not None else ""


class ComposingContext(peewee.Context):
    """A context that composes the right side of `IN (...)` only once. peewee composes it a second time to see whether
    it is empty. Ours never is, and in nested selects the work would double at each level: seconds for a query from
    outside."""

    dialect: ClassVar[str]
    fragments: ClassVar["StatementCache[Fragment]"]  # those of the same dialect

    def as_new(self) -> "ComposingContext":
        return self

    def parse(self, node: Any) -> tuple[str, None]:
        return "never empty", None


class SqliteContext(ComposingContext):
    """Composes for SQLite."""

    dialect = SQLITE


@dataclass(frozen=True)
class Composer:
    """Composes queries as texts of one dialect. context: creates the context of one text."""

    dialect: str
    context: Callable[[], peewee.Context]

    def compose(self, query: Any) -> tuple[str, list[Any]]:
        """Returns the SQL with MARK in the place of each value, and the values."""
        sql, values = self.context().sql(query).query()
        return sql, values

    def statement(self, query: Any) -> Statement:
        """Returns the statement of a peewee query or expression."""
        sql, values = self.compose(query)
        return Statement(marked(sql, self.dialect), values)

    def fragment(self, query: Any) -> "Fragment":
        """Returns the query as a select in brackets, for use inside other statements."""
        return Fragment(*self.compose(query))


def marked(sql: str, dialect: str) -> str:
    """Replaces each MARK by the parameter mark of the dialect."""
    if dialect == SQLITE:
        return sql.replace(MARK, "?")
    first, *rest = sql.split(MARK)
    return first + "".join(f"${place}{text}" for place, text in enumerate(rest, 1))


class _SqliteDialect(peewee.SqliteDatabase):
    """SQLite in the version of apsw. peewee itself reads the version of Python's sqlite3, which the executable
    lacks."""

    server_version = tuple(map(int, apsw.sqlite_lib_version().split(".")))


_OPTIONS = {**_SqliteDialect(None).get_context_options(), "param": MARK}
SQLITE_COMPOSER = Composer(SQLITE, lambda: SqliteContext(**_OPTIONS))


class Fragment:
    """A select in brackets, composed once for use inside other statements. It must not refer to tables outside itself,
    since its table aliases hide those of the surrounding statement."""

    __slots__ = ("sql", "code", "_pieces")

    def __init__(self, sql: str, values: Sequence[Any]) -> None:
        self.sql = sql
        first, *rest = f"({sql})".split(MARK)
        self._pieces = (first, tuple(zip(values, rest, strict=True)))
        self.code: CodeType | None = None

    def node(self, at: Callable[[int], peewee.Node]) -> peewee.Node:
        """Returns a node for a statement in which `at(i)` is the slot of the i-th value."""
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
    """A select in brackets that is composed once for each shape, regardless of the statement around it."""

    def __init__(self, build: Builder, at: Callable[[int], peewee.Node]) -> None:
        self.build, self.at = build, at

    def __sql__(self, ctx: Any) -> peewee.Context:
        return ctx.sql(ctx.fragments.get(self.build).node(self.at))


Composed = TypeVar("Composed", Statement, Fragment)


class StatementCache(Generic[Composed]):
    """A cache of statements or fragments by shape, shared by all threads. Two threads that need a new shape at the same
    time both build it."""

    def __init__(self, compose: Callable[[Any], Composed], limit: int = MAX_STATEMENTS) -> None:
        self._statements: dict[Hashable, Composed] = {}
        self._compose: Callable[[Any], Composed] = compose
        self._limit = limit
        self._chars = 0

    def get(self, build: Builder) -> Composed:
        """Returns the statement that `build` composes; `build` runs only for a new shape. Raises NoShape."""
        # shape_of inlined: it runs with every statement, and this saves a call and a list.
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
        self._statements[bare_shape(key)] = statement
        self._chars += len(statement.sql)
        return statement

    def all(self) -> list[Composed]:
        """Returns the cached statements."""
        return list(self._statements.values())

    def forget(self) -> None:
        """Empties the cache, after a table got new columns."""
        self._statements.clear()
        self._chars = 0


SqliteContext.fragments = StatementCache(SQLITE_COMPOSER.fragment)
