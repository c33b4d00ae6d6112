"""Filters for things that belong to the service itself, which is not a searchable record."""

from typing import TYPE_CHECKING

import peewee

from server.contexts import APP
from server.search.ast import Term
from server.search.conditions import Condition, equals
from server.search.filters.filter import Filter

if TYPE_CHECKING:
    from server.search.compile import SearchScope


class AppFilter(Filter):
    """`owner.app:`: the pair `<prefix>__context`, `<prefix>_id` points to the service; the value does not matter."""

    type = "deep"

    def __init__(self, name: str, note: str, prefix: str) -> None:
        super().__init__(name, note, sortable=False, target="app")
        self.prefix = prefix

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        return equals(peewee.Column(self.table.sql, f"{self.prefix}__context"), APP)
