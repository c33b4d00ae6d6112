"""The words of one ticket: the values of {product} or {thank you|thanks} in its story, the same throughout."""

import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random

from server import resources

_INNERMOST = re.compile(r"\{([^{}]*)\}")


class Words:
    """Draws words and remembers them, so that the same choice has the same result throughout a ticket."""

    def __init__(self, rand: Random, values: Mapping[str, str]) -> None:
        self._rand = rand
        self._values = {**drawn(rand), **values}
        self._chosen: dict[str, str] = {}

    def say(self, template: str, **more: str) -> str:
        """Returns a text with its {words} replaced, from the inside out. more: words with a new meaning in each call.

        >>> words = Words(Random(1), {"qty": "3"})
        >>> words.say("{a chain|{qty} chains}") == words.say("{a chain|{qty} chains}")
        True
        >>> words.say("{qty} of {what}", what="these")
        '3 of these'"""
        values, text = self._values | more, template
        while (match := _INNERMOST.search(text)) is not None:
            meant = self._choose(match[1]) if "|" in match[1] else values[match[1]]
            text = text[: match.start()] + meant + text[match.end() :]
        return text

    def one_of(self, name: str, **more: str) -> str:
        """Returns a random value of a name, independent of former draws."""
        return self.say(self._rand.choice(_lists()[name]), **more)

    def _choose(self, choices: str) -> str:
        if choices not in self._chosen:
            self._chosen[choices] = self._rand.choice(choices.split("|"))
        return self._chosen[choices]


@cache
def _lists() -> dict[str, list[str]]:
    return tomllib.loads(resources.path("demo", "values.toml").read_text("utf-8"))


def drawn(rand: Random) -> dict[str, str]:
    """Draws one value of each kind: articles, places, numbers, amounts of money."""
    return {name: rand.choice(values) for name, values in _lists().items()} | {
        "qty": str(rand.randint(6, 40)),
        "days": str(rand.randint(2, 9)),
        "row": str(rand.randint(300, 4200)),
        "number": str(rand.randint(4000, 9999)),
        "version": f"{rand.randint(4, 6)}.{rand.randint(0, 9)}",
        "order": f"SO-{rand.randint(21000, 48000)}",
        "invoice": f"IN-{rand.randint(3000, 8000)}",
        "quote": f"Q-{rand.randint(1000, 2900)}",
        "rma": f"R-{rand.randint(400, 1900)}",
        "serial": f"{''.join(rand.choices('ABCDEFGHKLMNPRSTUVWX', k=3))}{rand.randint(100000, 999999)}",
        "amount": _money(rand, 900, 2500),
        "amount2": _money(rand, 300, 880),
        "amount3": _money(rand, 110, 290),
        "amount4": _money(rand, 19, 95),
        **{f"n{place}": str(rand.randint(2, 9)) for place in range(1, 5)},
    }


def days_around(at: int, rand: Random) -> dict[str, str]:
    """Returns three days near a time: in the week before, in the two weeks after it, and later. at: Unix seconds."""
    day = datetime.fromtimestamp(at, UTC)
    return {
        "day1": _day(day - timedelta(days=rand.randint(1, 6))),
        "day2": _day(day + timedelta(days=rand.randint(4, 14))),
        "day3": _day(day + timedelta(days=rand.randint(16, 28))),
    }


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B}"


def _money(rand: Random, low: int, high: int) -> str:
    """
    >>> _money(Random(2), 1000, 1000)
    '€ 1,000.00'
    """
    return f"€ {rand.randint(low, high):,}.{rand.choice(('00', '50', '90'))}"
