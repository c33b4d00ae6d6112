"""Filters on words: looked up in a full-text index, at once or by way of another table."""

from typing import TYPE_CHECKING, Any

from server.search.ast import BareWord, BooleanGroup, Items, SearchValue, Subquery, Term
from server.search.conditions import NEVER, At, Condition, Turned, all_of, any_of, negated
from server.search.filters.base import Filter
from server.search.filters.relations import Relation, SameRecord
from server.store import fulltext

if TYPE_CHECKING:
    from server.search.compile import SearchScope


class WordsFilter(Filter):
    """All words must occur, in any order. index: the full-text index; column: one of its parts, "" for all.

    way: how the index's records lead to the filtered ones; Own() when they are the same."""

    type = "fulltext"

    def __init__(
        self,
        name: str,
        note: str,
        index: fulltext.TextIndex,
        part: str = "",
        way: Relation | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name, note, sortable=False, **options)
        self.index = index
        self.part = part
        self.way = way or SameRecord()

    @property
    def indexes(self) -> tuple[fulltext.TextIndex, ...]:
        """Those that words are looked up in."""
        return (self.index,)

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        value = term.value
        if isinstance(value, Subquery):
            return self._group(value.root, term)
        if isinstance(value, Items):
            return any_of([self.words([item]) for item in self.items(value, term)])
        return self.words([value])

    def words(self, texts: list[SearchValue]) -> Condition:
        """The condition that all these words and phrases occur in one text."""
        queries = [fulltext.words_query(text.value, text.quoted, self.part) for text in texts]
        found = [query for query in queries if query]
        if not found:
            return NEVER
        index, way, table = self.index, self.way, self.table

        def hits(at: At) -> Any:
            return index.sql.select(index.sql.rowid).where(fulltext.match(index, at(0)))

        return Condition(
            ("words", index.name, way.key, table.name),
            (" AND ".join(found) if len(found) > 1 else found[0],),
            lambda at: way.build(table, hits(at)),
            ids=hits if isinstance(way, SameRecord) else None,
            turned=Turned(lambda at: way.build_turned(table, hits(at)), hits) if way.turns else None,
            makes_list=True,
        )

    def _group(self, group: BooleanGroup, term: Term) -> Condition:
        parts: list[Condition] = []
        plain: list[SearchValue] = []
        for child in group.children:
            if isinstance(child, BooleanGroup):
                parts.append(self._group(child, term))
            elif not isinstance(child, BareWord):
                raise self.bad(term, "takes words, not other filters")
            elif child.negated:
                parts.append(negated(self.words([child.text])))
            elif group.op == "or":
                parts.append(self.words([child.text]))
            else:
                plain.append(child.text)
        if plain:
            parts.insert(0, self.words(plain))
        found = any_of(parts) if group.op == "or" else all_of(parts)
        return negated(found) if group.negated else found
