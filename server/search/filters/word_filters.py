"""Filters on words, looked up in a full-text index of the type or of a related table."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from server.errors import BadQuery
from server.search.ast import BareWord, BooleanGroup, Items, SearchValue, Subquery, Term
from server.search.conditions import NEVER, At, Condition, Turned, all_of, any_of, negated
from server.search.filters.filter import Filter
from server.search.filters.relations import Relation, SameRecord
from server.store import fulltext

if TYPE_CHECKING:
    from server.search.compile import SearchScope

CACHED_CONDITIONS = 512  # composing one takes 20 microseconds, 3.5 % of a full-text search
MAX_KEPT_WORDS, MAX_KEPT_CHARS = 8, 64  # limits for a cached condition: longer ones are rare and use much memory


class WordsFilter(Filter):
    """Matches if all words occur, in any order. index: the full-text index. part: one of its columns, "" for all.

    way: the relation from the index's records to the filtered ones; SameRecord() if they are the same."""

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
        """The indexes searched."""
        return (self.index,)

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        value = term.value
        if isinstance(value, Subquery):
            return self._group(value.root, term)
        if isinstance(value, Items):
            return any_of([self._condition_of((item,)) for item in self.items(value, term)])
        return self._condition_of((value,))

    def words(self, texts: list[SearchValue]) -> Condition:
        """Returns the condition that all these words and phrases occur in one text."""
        queries = [fulltext.words_query(text.value, text.quoted, self.part) for text in texts]
        usable = [query for query in queries if query]
        if not usable:
            return NEVER
        index, way, table = self.index, self.way, self.table

        def hits(at: At) -> Any:
            return index.sql.select(index.sql.rowid).where(fulltext.match(index, at(0)))

        return Condition(
            ("words", index.name, way.key, table.name),
            (" AND ".join(usable) if len(usable) > 1 else usable[0],),
            lambda at: way.build(table, hits(at)),
            ids=hits if isinstance(way, SameRecord) else None,
            turned=Turned(lambda at: way.build_turned(table, hits(at)), hits) if way.turns else None,
            makes_list=True,
        )

    def _condition_of(self, texts: Sequence[SearchValue]) -> Condition:
        """Returns the condition of words(), cached for short texts."""
        for text in texts:
            _require_star_at_end(text)
        key = tuple([(text.value, text.quoted) for text in texts])
        is_short = len(texts) <= MAX_KEPT_WORDS and all(len(value) <= MAX_KEPT_CHARS for value, _ in key)
        return _cached_words(self, key) if is_short else self.words(list(texts))

    def _group(self, group: BooleanGroup, term: Term) -> Condition:
        parts: list[Condition] = []
        plain: list[SearchValue] = []
        for child in group.children:
            if isinstance(child, BooleanGroup):
                parts.append(self._group(child, term))
            elif not isinstance(child, BareWord):
                raise self.bad(term, "takes words, not other filters")
            elif child.negated:
                parts.append(negated(self._condition_of((child.text,))))
            elif group.op == "or":
                parts.append(self._condition_of((child.text,)))
            else:
                plain.append(child.text)
        if plain:
            parts.insert(0, self._condition_of(plain))
        condition = any_of(parts) if group.op == "or" else all_of(parts)
        return negated(condition) if group.negated else condition


def _require_star_at_end(text: SearchValue) -> None:
    """Raises BadQuery for a `*` that a word index does not support."""
    if text.quoted or ("*" not in text.value[:-1] and text.value != "*"):
        return
    advice = "a * stands at the end of a word" if text.value.strip("*") else "a * needs the beginning of a word"
    raise BadQuery(
        f"'{text.value[:60]}' at position {text.position}: {advice}; for its middle or its end use a filter of texts, "
        "such as subject:*mark*, or put quotes round it",
        position=text.position,
    )


@lru_cache(maxsize=CACHED_CONDITIONS)
def _cached_words(words_filter: WordsFilter, texts: tuple[tuple[str, bool], ...]) -> Condition:
    """Caches the condition, which does not depend on the caller or the time."""
    return words_filter.words([SearchValue(value, quoted, 0) for value, quoted in texts])
