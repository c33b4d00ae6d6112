"""One word of a few, identified by its first letter."""

from typing import Any

from server.digits import whole_in
from server.fields.field import Intake, as_text
from server.fields.text import Text
from server.translation import lazy_gettext


class Word(Text):
    """One of the `allowed` words. Its first letter is enough, in any case, so each must begin with another letter; the
    rest is ignored. numbers: whether the position of a word, from 0, is accepted too."""

    def __init__(self, note: str, allowed: tuple[str, ...], *, numbers: bool = False, **options: Any) -> None:
        super().__init__(note, allowed=allowed, **options)
        self.numbers = numbers

    def read(self, raw: Any, intake: Intake) -> str:
        text = as_text(raw).strip()
        if self.numbers and (number := whole_in(text, 0, len(self.allowed) - 1)) is not None:
            return self.allowed[number]
        for word in self.allowed:
            if text[:1].lower() == word[0]:
                return word
        raise self.bad(lazy_gettext("'{value}' is not one of {known}", value=text[:50], known=", ".join(self.allowed)))
