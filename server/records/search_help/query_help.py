"""Help with a search as it is typed: completions at the caret, the first mistake, and the terms as chips."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from server.context import Context
from server.record_types.record_type import RecordType
from server.record_types.shared import custom
from server.records import search_suggestions
from server.records.search_help.caret import Typed, typed_at
from server.records.search_help.chips import MAX_CHIPS, Chip, chips, ids_in
from server.records.search_help.mistakes import NO_FILTERS, QueryMistake, mistake_in
from server.records.search_help.options import MAX_RECORDS, Offer, QueryOption, offered, record_options
from server.search.compile import SearchScope
from server.search.filters import Filter
from server.search.query_parser import MAX_QUERY_CHARS

MAX_LABELS = 20  # records of one type that chips show by their labels


class QueryHelp:
    """Help with searches of one record type, limited to the rights of one caller."""

    def __init__(self, ctx: Context, record_type: RecordType) -> None:
        self.ctx, self.type = ctx, record_type
        self.registry = ctx.service.registry
        self._known: dict[tuple[str, str], Filter | None] = {}

    def while_typing(self, q: str, at: int) -> dict[str, Any]:
        """Returns help for a text with the caret after `at` characters: {options: [{label, note, insert, start, end}],
        takes_first, mistake: {message, start, end, instead} or None, chips: [{text, words, start, end, without}]}.

        Positions count characters from 0. For a text that is too long, only that mistake is returned."""
        if len(q) > MAX_QUERY_CHARS:
            return _while_typing(Offer([], None, False), self.mistake(q), [])
        typed = self.typed(q, at)
        offer = self.offer(typed)
        mistake = self.mistake_while_typing(q, at, typed, offer.options)
        takes_first = offer.takes_first and bool(typed.text)
        return _while_typing(Offer(offer.options, None, takes_first), mistake, self.chips(q))

    def mistake(self, q: str) -> QueryMistake | None:
        """The first mistake in a search, None if there is none."""
        return mistake_in(q, self.type.uri, self.registry, self.named, self._check)

    def chips(self, q: str) -> list[Chip]:
        """The top-level terms of a search; records are shown by their labels rather than ids."""
        terms = chips(q, self._own)
        ids: dict[str, list[str]] = {}
        for each in terms[:MAX_CHIPS]:
            uri, named_ids = ids_in(each.text, self._own)
            if named_ids:
                ids.setdefault(uri, []).extend(named_ids)
        return chips(q, self._own, self._labels(ids)) if ids else terms

    def typed(self, q: str, at: int) -> Typed:
        """The word at a caret. at: its offset, from 0."""
        return typed_at(q, min(max(at, 0), len(q)), self.type.uri, self.named)

    def offer(self, typed: Typed) -> Offer:
        """Completions for a word, with at most MAX_RECORDS records that the caller may read."""
        record_type = self.registry.find(typed.uri) if typed.uri else None
        named_filter = self.named(typed.uri, typed.field) if typed.field and record_type is not None else None
        offer = offered(typed, record_type, named_filter, self._customs(record_type), self.registry)
        if offer.wanted is None:
            return offer
        suggestions = search_suggestions.records_by_name(self.ctx, offer.wanted.record_type, typed.text, MAX_RECORDS)
        return Offer([*offer.options, *record_options(typed, offer.wanted, suggestions)], None, offer.takes_first)

    def mistake_while_typing(self, q: str, at: int, typed: Typed, options: list[QueryOption]) -> QueryMistake | None:
        """The first mistake, apart from the search being unfinished: open brackets and quotes count as closed, and a
        value that is the beginning of an option is not a mistake."""
        is_at_end = at >= len(q.rstrip())
        mistake = self.mistake(q + typed.closers if is_at_end else q)
        if mistake is None or mistake.start >= len(q) > 0:
            return None
        is_known = bool(typed.field) and (typed.field in NO_FILTERS or self.named(typed.uri, typed.field) is not None)
        is_here = mistake.start <= at <= mistake.end + 1 and (bool(options) or not typed.text)
        return None if is_here and is_known else mistake

    def named(self, uri: str, name: str) -> Filter | None:
        """Finds a filter of a record type by its name, including custom fields and patterns."""
        if (uri, name) not in self._known:
            self._known[uri, name] = self._filter(uri, name)
        return self._known[uri, name]

    def _filter(self, uri: str, name: str) -> Filter | None:
        record_type = self.registry.find(uri)
        if record_type is None:
            return None
        plain = record_type.filter_by_name.get(name)

        def look(scope: SearchScope) -> Filter | None:
            return record_type.filter_named(name, scope)

        return plain if plain is not None else search_suggestions.run_in_scope(self.ctx, look)

    def _own(self, name: str) -> Filter | None:
        return self.named(self.type.uri, name)

    def _check(self, q: str) -> None:
        search_suggestions.check(self.ctx, self.type, q)

    def _customs(self, record_type: RecordType | None) -> Iterable[custom.FieldDefinition]:
        if record_type is None or "custom_" not in record_type.expand_by_name:
            return ()
        return search_suggestions.run_in_scope(
            self.ctx, lambda scope: custom.definitions(scope.tx).fields_of(record_type.context)
        )

    def _labels(self, ids: dict[str, list[str]]) -> dict[tuple[str, str], str]:
        all_labels: dict[tuple[str, str], str] = {}
        for uri, texts in ids.items():
            record_type = self.registry.find(uri)
            if record_type is not None:
                type_ids = [int(each) for each in dict.fromkeys(texts)][:MAX_LABELS]
                labels = search_suggestions.labels(self.ctx, record_type, type_ids)
                all_labels |= {(uri, str(id)): label for id, label in labels.items()}
        return all_labels


def _while_typing(offer: Offer, mistake: QueryMistake | None, chips: list[Chip]) -> dict[str, Any]:
    return {
        "options": [asdict(each) for each in offer.options],
        "takes_first": offer.takes_first,
        "mistake": asdict(mistake) if mistake is not None else None,
        "chips": [asdict(each) for each in chips],
    }
