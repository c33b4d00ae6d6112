"""Names for counting but not for searching."""

from typing import TYPE_CHECKING, Any

from server.search.ast import Term
from server.search.conditions import Condition
from server.search.filters.filter import Filter

if TYPE_CHECKING:
    from server.search.compile import SearchScope


class HiddenFilter(Filter):
    """Grouping only; any value is an error. instead: the filter to search with."""

    type = "hidden"

    def __init__(self, name: str, note: str, target: str, instead: str, **options: Any) -> None:
        super().__init__(name, note, target=target, sortable=False, **options)
        self.instead = instead

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        raise self.bad(term, f"can only be used for counting; search with {self.instead}:")
