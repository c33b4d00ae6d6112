"""How the statements that rooms compose become texts for PostgreSQL, with the meaning that they have in SQLite.

Texts are compared as there: those whose case does not count are of the type citext, LIKE ignores case, nothing sorts
before all else. Lists of values are bound as one array."""

import json
from collections.abc import Callable
from typing import Any

import peewee

from server.store.fulltext import TextIndex
from server.store.peewee_parts import order_of, sorted_by
from server.store.postgresql.texts import as_tsquery
from server.store.statements import MARK, POSTGRESQL, Composer, ComposingContext, StatementCache, converted
from server.store.tables import may_be_null

# What rooms call by a name that PostgreSQL has for something else, and what they write that it does not know.
FUNCTIONS = {"date_part": "svc_date_part", "fold": "svc_fold", "TOTAL": "SUM"}
WORDS = {"LIKE": "ILIKE", "COLLATE NOCASE": ""}


class PostgresqlContext(ComposingContext):
    """Composes for PostgreSQL."""

    dialect = POSTGRESQL

    def sql(self, obj: Any) -> Any:
        """Write a node, with what differs put right on the way."""
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
        """A list of values as PostgreSQL reads an array; text: as a JSON array. Its type is that of what it is compared
        with."""
        return "{{{}}}".format(",".join(map(_element, json.loads(text))))

    def words(self, text: TextIndex, value: Any) -> peewee.Node:
        """The slot of a full-text query."""
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
    """In SQLite nothing is less than anything else. It is only said where it may occur: else no index would fit."""
    node = ordering.node
    source: Any = getattr(node, "source", None)
    is_column = isinstance(node, peewee.Column) and isinstance(source, peewee.Table)
    if is_column and not may_be_null(source.__name__, node.name):
        return ordering
    found: peewee.Ordering = ordering.clone()
    found.nulls = "FIRST" if ordering.direction == "ASC" else "LAST"
    return found


_OPTIONS = {**peewee.PostgresqlDatabase(None).get_context_options(), "param": MARK}
COMPOSER = Composer(POSTGRESQL, lambda: PostgresqlContext(**_OPTIONS))
PostgresqlContext.fragments = StatementCache(COMPOSER.fragment)
