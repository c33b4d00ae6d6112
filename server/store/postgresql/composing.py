"""Composes statements as texts for PostgreSQL, with the meaning that they have in SQLite.

Texts compare as in SQLite: columns that ignore case have the type citext, LIKE ignores case, and NULL sorts first. A
list of values is bound as one array."""

import json
from collections.abc import Callable
from typing import Any

import peewee

from server.store.fulltext import TextIndex
from server.store.peewee_parts import order_of, sorted_by
from server.store.postgresql.tsvectors import as_tsquery
from server.store.statements import MARK, POSTGRESQL, Composer, ComposingContext, StatementCache, converted
from server.store.tables import may_be_null

# Names of functions that mean something else in PostgreSQL, and keywords that it lacks.
FUNCTIONS = {"date_part": "svc_date_part", "fold": "svc_fold", "TOTAL": "SUM"}
WORDS = {"LIKE": "ILIKE", "COLLATE NOCASE": ""}


class PostgresqlContext(ComposingContext):
    dialect = POSTGRESQL

    def sql(self, obj: Any) -> Any:
        """Writes a node, after replacing the parts that PostgreSQL writes differently."""
        kind = type(obj)
        if kind is peewee.SQL and obj.sql in WORDS:
            return self.literal(WORDS[obj.sql])
        if kind is peewee.Function and obj.name in FUNCTIONS:
            obj = obj.clone()
            obj.name = FUNCTIONS[obj.name]
        elif kind is peewee.Ordering and not obj.nulls:
            obj = _ordered(obj)
        elif isinstance(obj, peewee.SelectBase) and order_of(obj):
            obj = sorted_by(obj, tuple(map(_directed, order_of(obj))))
        elif kind is peewee.Window and obj.order_by:
            obj = obj.clone()
            obj.order_by = tuple(map(_directed, obj.order_by))
        return super().sql(obj)

    @staticmethod
    def array(text: str) -> str:
        """Converts a JSON array to the text of a PostgreSQL array. Its type follows from the expression that it is
        compared with."""
        return "{{{}}}".format(",".join(map(_element, json.loads(text))))

    def words(self, text: TextIndex, value: Any) -> peewee.Node:
        """Returns the slot of a full-text query."""
        return converted(value, _tsquery_of(text))


def _element(value: Any) -> str:
    if isinstance(value, str):
        return '"{}"'.format(value.replace("\0", "\ufffd").replace("\\", "\\\\").replace('"', '\\"'))
    if value is None:
        return "NULL"
    return str(int(value)) if isinstance(value, bool) else str(value)


def _tsquery_of(text: TextIndex) -> Callable[[str], str]:
    columns = text.columns
    return lambda query: as_tsquery(query, columns)


def _directed(node: Any) -> Any:
    return node if isinstance(node, peewee.Ordering) else _ordered(peewee.Ordering(node, "ASC"))


def _ordered(ordering: peewee.Ordering) -> peewee.Ordering:
    """Adds NULLS FIRST or LAST, since NULL is the smallest value in SQLite. Only for expressions that may be NULL:
    otherwise no index would fit."""
    node = ordering.node
    source: Any = getattr(node, "source", None)
    is_column = isinstance(node, peewee.Column) and isinstance(source, peewee.Table)
    if is_column and not may_be_null(source.__name__, node.name):
        return ordering
    clone: peewee.Ordering = ordering.clone()
    clone.nulls = "FIRST" if ordering.direction == "ASC" else "LAST"
    return clone


_OPTIONS = {**peewee.PostgresqlDatabase(None).get_context_options(), "param": MARK}
COMPOSER = Composer(POSTGRESQL, lambda: PostgresqlContext(**_OPTIONS))
PostgresqlContext.fragments = StatementCache(COMPOSER.fragment)
