"""Fields with plain values: words, texts, numbers, booleans."""

from collections import Counter
from collections.abc import Hashable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from server.counting.dimensions.bin_options import Options
from server.counting.dimensions.dimension import NONE, Dimension, Member, Raw
from server.counting.dimensions.sources import Source
from server.search.filters import ChoiceFilter

TEXT_CHARS = 255  # longer texts with the same start count as equal


class ChoiceDimension(Dimension):
    """A column with few values, each with a word."""

    def __init__(self, options: Options, choice_filter: ChoiceFilter, source: Source) -> None:
        super().__init__(options, choice_filter.name, source)
        self.choice_filter = choice_filter
        self.words: dict[Any, str] = {}
        for word, value in choice_filter.choices.items():
            self.words.setdefault(value, word)

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None]:
        return {raw: self._member(raw[0]) for raw in hits}

    def _member(self, value: Any) -> Member:
        word = self.words.get(value)
        label = word.capitalize() if word else NONE if value in ("", None) else str(value)
        return Member(value, label, value, lambda: f"{self.name}:{self._shortest(word, value)}")

    def _shortest(self, word: str | None, value: Any) -> str:
        """Returns the first letter of a word if it is unambiguous, else the word."""
        if word is None:
            return f'"{value}"'
        try:
            is_enough = self.choice_filter.stored(word[0]) == value
        except ValueError:
            is_enough = False
        return word[0] if is_enough else f'"{word}"'


class FlagDimension(Dimension):
    """A boolean; no value counts as no."""

    scale = 1

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None]:
        yes = Member(1, "Yes", 1, lambda: f"{self.name}:yes")
        no = Member(0, "No", 0, lambda: f"{self.name}:no")
        return {raw: yes if raw[0] else no for raw in hits}


class CheckboxDimension(FlagDimension):
    """A custom boolean field, for which a search for no also matches unset values."""

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None]:
        unset = Member(None, self.nothing, None, lambda: f"{self.name}:null")
        no = Member(0, "No", 0, lambda: f"{self.name}:no {self.name}:!null")
        return super().members(hits) | {raw: unset if raw[0] is None else no for raw in hits if not raw[0]}


class NumberDimension(Dimension):
    """Numbers. decimals: the decimal places of a stored integer; the scale follows from it."""

    def __init__(
        self, options: Options, name: str, source: Source, decimals: int = 0, measured_type: str = "number"
    ) -> None:
        super().__init__(options, name, source)
        self.decimals = decimals
        self.scale = 10**decimals
        self._type = measured_type

    @property
    def measured_type(self) -> str:
        return self._type

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None]:
        return dict.fromkeys(hits) | {raw: self._member(raw[0]) for raw in self.most(hits)}

    def identities(self, hits: Mapping[Raw, int]) -> dict[Raw, Hashable]:
        return {raw: raw[0] for raw in hits}

    def _member(self, stored: Any) -> Member:
        if stored is None:
            return Member(None, self.nothing, None, lambda: f"{self.name}:null")
        value = float(Decimal(stored).scaleb(-self.decimals)) if self.decimals else stored
        text = str(Decimal(stored).scaleb(-self.decimals)) if self.decimals else f"{stored!r}"
        return Member(stored, text, value, lambda: f'{self.name}:"{text}"' if "e" in text else f"{self.name}:{text}")


class LevelDimension(NumberDimension):
    """Levels, with 0 hidden, which searches never match either."""

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None]:
        return {raw: self._member(raw[0]) if raw[0] else None for raw in hits}


class TextDimension(Dimension):
    """Texts, compared as by their filter: ignoring case if the column does."""

    def __init__(self, options: Options, name: str, source: Source, *, ignores_case: bool) -> None:
        super().__init__(options, name, source)
        self.ignores_case = ignores_case

    def members(self, hits: Mapping[Raw, int]) -> dict[Raw, Member | None]:
        keys = {raw: self._key(raw) for raw in hits}
        totals: Counter[str] = Counter()
        spellings: dict[str, list[Raw]] = {}
        for raw, key in keys.items():
            totals[key] += hits[raw]
            spellings.setdefault(key, []).append(raw)
        member_of_key = {key: self._member(key, self._texts(spellings[key], hits)) for key in self.most(totals)}
        return {raw: member_of_key.get(key) for raw, key in keys.items()}

    def identities(self, hits: Mapping[Raw, int]) -> dict[Raw, Hashable]:
        return {raw: self._key(raw) or None for raw in hits}

    def _texts(self, raws: list[Raw], hits: Mapping[Raw, int]) -> list[str]:
        return [_text(raw) for raw in sorted(raws, key=lambda each: (-hits[each], _text(each)))]

    def _key(self, raw: Raw) -> str:
        start = _text(raw)[:TEXT_CHARS]
        # Text beyond ASCII is always compared casefolded, as in the text filter.
        return start.casefold() if self.ignores_case or not start.isascii() else start

    def _member(self, key: str, texts: list[str]) -> Member:
        """texts: its spellings, the most frequent first. A search for a spelling beyond ASCII matches the plain ones
        too."""
        searched = next((text for text in texts if not text.isascii()), texts[0])
        label = texts[0][:TEXT_CHARS] or self.nothing
        return Member(key, label, texts[0][:TEXT_CHARS], lambda: f"{self.name}:{text_value(searched)}")


def _text(raw: Raw) -> str:
    return "" if raw[0] is None else str(raw[0])


def text_value(text: str) -> str:
    """Returns the value of a text filter that matches exactly this text; `null` for an empty one.

    >>> text_value("Pump house"), text_value('the "big" one'), text_value("")
    ('"Pump house"', '(exact:"the %22big%22 one")', 'null')
    """
    if not text:
        return "null"
    if len(text) >= TEXT_CHARS:
        return f'(begins:"{_encoded(text[:TEXT_CHARS])}")'
    return f'(exact:"{_encoded(text)}")' if '"' in text or "*" in text else f'"{text}"'


def _encoded(text: str) -> str:
    return "".join(quote(char) if char in '"*%' else char for char in text)
