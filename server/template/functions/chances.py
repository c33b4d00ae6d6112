"""Functions with random results."""

import secrets
from typing import Any

from server.errors import TemplateFailed
from server.template.registry import function
from server.template.run import Rendering
from server.template.values import is_numeric, items, whole

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ123456789"  # without letters and digits that look alike
EVEN_BYTES = 256 // len(LETTERS) * len(LETTERS)  # bytes below this number give each letter the same chance
MAX_LETTERS = 255  # length of a random text
MAX_NUMBER = 2**31 - 1  # if no bound is passed
_CHANCE = secrets.SystemRandom()


@function("random", charges_itself=True)
def random(run: Rendering, values: Any = None, max: Any = None) -> Any:
    """An element of a list, a character of a text, or a whole number from 0 to this one; with two numbers one from the
    first to the second. Raises TemplateFailed for an empty list, and if the first number is above the second."""
    if max is not None:
        return _between(values, max)
    if isinstance(values, str):
        return _CHANCE.choice(values) if values else ""
    if isinstance(values, (list, dict)):
        if not values:
            raise TemplateFailed("random takes a list with something in it")
        run.budget.entries(len(values) if isinstance(values, dict) else 1)
        return _CHANCE.choice(items(values))
    bound = MAX_NUMBER if values is None else whole(values)
    return _CHANCE.randint(bound, 0) if bound < 0 else _CHANCE.randint(0, bound)


def _between(low: Any, high: Any) -> int:
    if not all(value is None or is_numeric(value) for value in (low, high)):
        raise TemplateFailed("random takes two numbers, the lowest and the highest, or one value")
    least, most = whole(low), whole(high)
    if least > most:
        raise TemplateFailed(f"random takes the lowest number first, not {least} before {most}")
    return _CHANCE.randint(least, most)


@function("random_string")
def random_string(run: Rendering, length: Any = 8) -> str:
    """Random capital letters and digits, at least one and at most MAX_LETTERS."""
    count = max(1, min(whole(length), MAX_LETTERS))
    run.budget.step(count)
    letters = ""
    while len(letters) < count:
        letters += "".join(LETTERS[byte % len(LETTERS)] for byte in secrets.token_bytes(count) if byte < EVEN_BYTES)
    return letters[:count]


@function("shuffle")
def shuffle(run: Rendering, values: Any) -> list[Any]:
    """The values in random order; [] if the value is not a list or a map."""
    shuffled = list(items(values))
    run.budget.step(len(shuffled))  # one random number per element
    _CHANCE.shuffle(shuffled)
    return shuffled
