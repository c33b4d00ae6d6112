"""The formulas of `metric:`: `x` with + - * / **, parentheses, and filters after a pipe. Nothing else is allowed.

    (x/60)|round        x*100        (x ** 2 - 1)|number_format(2)

A filter applies to the whole formula before it. Template expressions are unsuitable: there a filter applies to the last
operand, division by zero is an error, texts and lists are values, and errors have no position in the query."""

import math
import re
from collections.abc import Callable

from server.counting.measures import plain
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import BadDataQuery, nearest

MAX_FORMULA_CHARS = 255
MAX_FORMULA_DEPTH = 20  # nested parentheses
MAX_POWER = 1_000  # larger powers take too long and overflow anyway
MAX_DECIMALS = 10
EXACT = 2**53  # larger whole numbers become floats
FILTERS = ("abs", "round", "number_format")
_TOKEN = re.compile(r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<name>[A-Za-z_]+)|(?P<sign>\*\*|[-+*/()|,]))")
Number = float
Node = Callable[[Number], Number]


@dataclass(frozen=True)
class Formula:
    """A parsed formula, called with a number."""

    node: Node

    def __call__(self, x: float | None) -> float | None:
        """Returns the value for x; None for None, a division by zero, or a result that is not a finite real number."""
        if x is None:
            return None
        try:
            result = self.node(x)
            if isinstance(result, complex) or not math.isfinite(result):
                return None
            return plain(result if abs(result) < EXACT else float(result))
        except (ArithmeticError, ValueError):
            return None


def formula(text: str, position: int) -> Formula:
    """Parses a formula. Raises BadDataQuery at the position of the error. position: where the text begins.

    >>> formula("(x/60)|round", 0)(150), formula("-x**2 + 1", 0)(3)
    (3, -8)
    """
    if len(text) > MAX_FORMULA_CHARS:
        raise BadDataQuery(
            f"metric: has {len(text)} characters; {MAX_FORMULA_CHARS} are allowed", position=position, field="metric"
        )
    return Formula(_FormulaParser(text, position).whole())


class _FormulaParser:
    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.start = position
        self.tokens = self._cut()
        self.at = 0
        self.depth = 0

    def whole(self) -> Node:
        node = self._sum()
        while self._take("|"):
            node = self._filtered(node)
        if self.at < len(self.tokens):
            raise self._bad(f"'{self.tokens[self.at][0]}' is not expected here")
        return node

    def _cut(self) -> list[tuple[str, int]]:
        tokens, at, end = [], 0, len(self.text.rstrip())
        while at < end:
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise BadDataQuery(
                    f"metric: '{self.text[at:].strip()[:1]}' is not known; a formula has x, numbers, + - * / ** ( ) "
                    "and filters behind |",
                    position=self.start + at,
                    field="metric",
                )
            tokens.append((match[match.lastgroup or ""], match.start(match.lastgroup or "")))
            at = match.end()
        return tokens

    def _take(self, *signs: str) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at][0] in signs:
            self.at += 1
            return self.tokens[self.at - 1][0]
        return ""

    def _sum(self) -> Node:
        node = self._product()
        while sign := self._take("+", "-"):
            node = _add(node, self._product()) if sign == "+" else _subtract(node, self._product())
        return node

    def _product(self) -> Node:
        node = self._signed()
        while sign := self._take("*", "/"):
            node = _multiply(node, self._signed()) if sign == "*" else _divide(node, self._signed())
        return node

    def _signed(self) -> Node:
        if not self._take("-"):
            return self._power()
        self._deeper()
        inner = self._signed()
        self.depth -= 1
        return lambda x: -inner(x)

    def _power(self) -> Node:
        base = self._atom()
        if not self._take("**"):
            return base
        self._deeper()
        exponent = self._signed()  # right-associative, and allows `2 ** -1`
        self.depth -= 1
        return _raised(base, exponent)

    def _atom(self) -> Node:
        if self.at >= len(self.tokens):
            raise self._bad("the formula ends too early")
        word = self.tokens[self.at][0]
        if self._take("("):
            self._deeper()
            inner = self._sum()
            while self._take("|"):
                inner = self._filtered(inner)
            if not self._take(")"):
                raise self._bad("a ')' is missing")
            self.depth -= 1
            return inner
        if word == "x":
            self.at += 1
            return lambda x: x
        if word[0].isdigit():
            self.at += 1
            number = float(word) if "." in word else int(word)
            return lambda x: number
        raise self._bad(f"'{word}' is not expected here; write x, a number or a '('")

    def _filtered(self, node: Node) -> Node:
        word = self.tokens[self.at][0] if self.at < len(self.tokens) else ""
        if word not in FILTERS:
            raise self._bad(f"'{word}' is not a filter; there are {', '.join(FILTERS)}{nearest(word, FILTERS)}")
        self.at += 1
        decimals = 0
        if word != "abs" and self._take("("):
            decimals = self._decimals()
        if word == "abs":
            return lambda x: abs(node(x))
        return lambda x: _rounded(node(x), decimals)

    def _decimals(self) -> int:
        digits = self.tokens[self.at][0] if self.at < len(self.tokens) else ""
        if not is_whole(digits, 2) or int(digits) > MAX_DECIMALS:
            raise self._bad(f"a filter takes the number of decimals, 0 to {MAX_DECIMALS}")
        self.at += 1
        if not self._take(")"):
            raise self._bad("a ')' is missing")
        return int(digits)

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_FORMULA_DEPTH:
            raise self._bad(f"the formula is nested deeper than {MAX_FORMULA_DEPTH}")

    def _bad(self, reason: str) -> BadDataQuery:
        place = self.tokens[self.at][1] if self.at < len(self.tokens) else len(self.text)
        return BadDataQuery(f"metric: {reason}", position=self.start + place, field="metric")


def _add(first: Node, second: Node) -> Node:
    return lambda x: first(x) + second(x)


def _subtract(first: Node, second: Node) -> Node:
    return lambda x: first(x) - second(x)


def _multiply(first: Node, second: Node) -> Node:
    return lambda x: first(x) * second(x)


def _divide(first: Node, second: Node) -> Node:
    return lambda x: first(x) / second(x)


def _raised(base: Node, exponent: Node) -> Node:
    def raised(x: Number) -> Number:
        power = exponent(x)
        if abs(power) > MAX_POWER:
            raise ArithmeticError(power)
        return float(base(x)) ** power  # float arithmetic is bounded, integer arithmetic is not

    return raised


def _rounded(value: Number, decimals: int) -> Number:
    """Rounds half away from zero, as people do."""
    shift = 10**decimals
    return math.copysign(math.floor(abs(value) * shift + 0.5), value) / shift
