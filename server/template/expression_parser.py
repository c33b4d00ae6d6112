"""The expressions of a template, parsed by precedence and compiled to functions of a Rendering."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

from server.dataclass import dataclass
from server.errors import BudgetSpent, TemplateFailed, nearest
from server.template.budget import Budget
from server.template.operators import BINARY
from server.template.registry import FILTERS, FUNCTIONS, TESTS, Callee
from server.template.run import Arrow, Eval, Rendering
from server.template.template_tokens import TemplateToken, error, located
from server.template.values import (
    CHARS_A_STEP,
    child,
    has_child,
    key_text,
    keyed,
    number,
    printed,
    read_number,
    truthy,
    within,
)

MAX_DEPTH = 200  # nested parentheses, arguments and operators
CONSTANTS = {
    "true": True,
    "TRUE": True,
    "false": False,
    "FALSE": False,
    "null": None,
    "NULL": None,
    "none": None,
    "NONE": None,
}
LEVELS = {"or": 10, "and": 15, "is": 100, "is not": 100, "??": 300}
LEVELS |= {name: level for name, (level, _) in BINARY.items()}
RIGHT = frozenset(("**", "??"))
NOT_LEVEL, SIGN_LEVEL = 50, 200
TWO_WORDS = ("card number", "divisible by", "same as", "record type")
Arguments = tuple[list[Eval], dict[str, Eval]]


@dataclass
class NamesUsed:
    """The names that a template uses. read: {name: the line of its first use}. own: names that it assigns. has_others:
    whether it may assign names that are known only when it is rendered."""

    read: dict[str, int] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    has_others: bool = False


class Expressions:
    """Parses the tokens of one tag."""

    def __init__(self, tokens: list[TemplateToken], names: "NamesUsed | None" = None) -> None:
        self.names = names if names is not None else NamesUsed()
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    # -- tokens -----------------------------------------------------------------------------------------------------

    @property
    def token(self) -> TemplateToken:
        return self._tokens[self._place]

    def ahead(self, number: int) -> TemplateToken:
        return self._tokens[min(self._place + number, len(self._tokens) - 1)]

    def rest(self) -> list[TemplateToken]:
        """Returns the tokens that have not been read."""
        return self._tokens[self._place :]

    def next(self) -> TemplateToken:
        token = self._tokens[self._place]
        if token.kind != "end":
            self._place += 1
        return token

    def at(self, *values: str) -> bool:
        """Whether the next token is one of these symbols or operators."""
        return self.token.kind in ("symbol", "operator") and self.token.value in values

    def accept(self, value: str) -> bool:
        """Reads the next token if it is this one, and returns whether it was."""
        if self.at(value):
            self._place += 1
            return True
        return False

    def expect(self, value: str) -> None:
        if not self.accept(value):
            raise self.unexpected(f"'{value}'")

    def name(self) -> str:
        """Reads a name."""
        if self.token.kind != "name":
            raise self.unexpected("a name")
        return str(self.next().value)

    def end(self) -> None:
        """Raises TemplateFailed unless the tag ends here."""
        if self.token.kind != "end":
            raise self.unexpected("the end of the tag")

    def unexpected(self, expected: str) -> TemplateFailed:
        token = self.token
        actual = "the end of the tag" if token.kind == "end" else f"'{str(token.value)[:50]}'"
        return error(f"{actual} stands where {expected} is expected", token.line)

    # -- precedence -------------------------------------------------------------------------------------------------

    def expression(self, floor: int = 0) -> Eval:
        """Parses everything that binds at least as tightly as `floor`."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise error(f"at most {MAX_DEPTH} expressions inside each other", self.token.line)
        left = self._prefix()
        while self.token.kind in ("operator", "symbol"):
            name, line = str(self.token.value), self.token.line
            level = LEVELS.get(name)
            if level is None or level < floor:
                break
            self.next()
            left = self._combined(name, left, level, line)
        if floor == 0:
            left = self._conditional(left)
        self._depth -= 1
        return left

    def _combined(self, name: str, left: Eval, level: int, line: int) -> Eval:
        if name in ("is", "is not"):
            return self._test(left, name == "is not")
        if name in ("has some", "has every"):
            arrow = self._arrow_or(level + 1)
            if not is_arrow(arrow):
                raise error(f"'{name}' takes x => expression", line)
            return _binary(BINARY[name][1], left, arrow, line)
        right = self.expression(level if name in RIGHT else level + 1)
        if name == "and":
            return lambda run: truthy(left(run)) and truthy(right(run))
        if name == "or":
            return lambda run: truthy(left(run)) or truthy(right(run))
        if name == "??":
            return lambda run: right(run) if (value := left(run)) is None else value
        return _binary(BINARY[name][1], left, right, line)

    def _conditional(self, left: Eval) -> Eval:
        while True:
            if self.accept("?:"):
                otherwise = self.expression()
                left = _or_else(left, otherwise)
            elif self.accept("?"):
                then = self.expression()
                otherwise = self.expression() if self.accept(":") else _constant("")
                left = _if_else(left, then, otherwise)
            else:
                return left

    def _prefix(self) -> Eval:
        if self.accept("not"):
            operand = self.expression(NOT_LEVEL)
            return lambda run: not truthy(operand(run))
        if self.at("-", "+"):
            line, negative = self.token.line, self.next().value == "-"
            signed = self.expression(SIGN_LEVEL)
            if negative:
                return lambda run: _negated(signed(run), line)
            return lambda run: number(signed(run), line)
        return self._postfix(self._primary())

    # -- primaries --------------------------------------------------------------------------------------------------

    def _primary(self) -> Eval:
        token = self.token
        if token.kind == "name":
            return self._named()
        if token.kind == "number":
            self.next()
            return _constant(read_number(token.value))
        if token.kind == "text":
            self.next()
            return _constant(token.value)
        if token.kind == "parts":
            self.next()
            return self._interpolation(token.value)
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.accept("["):
            return self._list()
        if self.accept("{"):
            return self._map()
        raise self.unexpected("an expression")

    def _named(self) -> Eval:
        token = self.next()
        name = str(token.value)
        if self.at("("):
            callee = _known(FUNCTIONS, name, "function", token.line)
            return self._call(callee, [], token.line)
        if name in CONSTANTS:
            return _constant(CONSTANTS[name])
        if not self._expects_nothing():
            self.names.read.setdefault(name, token.line)
        return lambda run: run.lookup(name)

    def _expects_nothing(self) -> bool:
        """Whether the author has provided for an undefined name: `a ?? b`, `a|default(b)`, `a is defined`."""
        is_default = self.at("|") and self.ahead(1).value == "default"
        return is_default or self.at("??") or self.token.value in ("is", "is not")

    def _interpolation(self, parts: list[Any]) -> Eval:
        return _interpolated([each if isinstance(each, str) else whole_expression(each, self.names) for each in parts])

    def _list(self) -> Eval:
        parts: list[Eval] = []
        while not self.accept("]"):
            parts.append(self.expression())
            if not self.accept(","):
                self.expect("]")
                break

        def make(run: Rendering) -> list[Any]:
            run.budget.entries(len(parts))
            return [part(run) for part in parts]

        return make

    def _map(self) -> Eval:
        parts: list[tuple[Eval, Eval]] = []
        while not self.accept("}"):
            parts.append(self._entry())
            if not self.accept(","):
                self.expect("}")
                break

        def make(run: Rendering) -> Any:
            run.budget.entries(len(parts))
            entries = {key_text(key(run)): value(run) for key, value in parts}
            return keyed(entries.items()) if entries else {}

        return make

    def _entry(self) -> tuple[Eval, Eval]:
        token = self.token
        if token.kind == "name":
            self.next()
            name = str(token.value)
            if self.accept(":"):
                return _constant(name), self.expression()
            return _constant(name), lambda run: run.lookup(name)
        if self.accept("("):
            key = self.expression()
            self.expect(")")
        elif token.kind in ("text", "number", "parts"):
            key = self._primary()
        elif token.kind == "operator" and str(token.value).isidentifier():
            self.next()
            key = _constant(token.value)
        else:
            raise self.unexpected("the key of a map")
        self.expect(":")
        return key, self.expression()

    # -- postfix ----------------------------------------------------------------------------------------------------

    def _postfix(self, value: Eval) -> Eval:
        while True:
            if self.accept("."):
                value = self._member(value)
            elif self.accept("["):
                value = self._item(value)
            elif self.at("|"):
                value = self.filters(value)
            else:
                return value

    def _member(self, value: Eval) -> Eval:
        token = self.next()
        if token.kind not in ("name", "number", "operator"):
            self._place -= 1
            raise self.unexpected("the name of an entry")
        for part in str(token.value).split("."):
            value = _child(value, _constant(part))
        if self.at("("):
            self._arguments()  # values have no methods
            return _nothing(value)
        return value

    def _item(self, value: Eval) -> Eval:
        line = self.token.line
        start = _constant(0) if self.at(":") else self.expression()
        if not self.accept(":"):
            self.expect("]")
            return _child(value, start)
        length = _constant(None) if self.at("]") else self.expression()
        self.expect("]")
        return _called(_known(FILTERS, "slice", "filter", line), [value, start, length], {}, line)

    def filters(self, value: Eval) -> Eval:
        """Parses `|name(arguments)`, any number of times."""
        while self.accept("|"):
            token = self.token
            name = str(self.next().value) if token.kind == "operator" else self.name()
            value = self._call(_known(FILTERS, name, "filter", token.line), [value], token.line)
        return value

    def _test(self, value: Eval, negated: bool) -> Eval:
        token = self.token
        name = str(self.next().value) if token.kind == "operator" else self.name()
        if self.token.kind == "name" and f"{name} {self.token.value}" in TWO_WORDS:
            name = f"{name} {self.next().value}"
        callee = _known(TESTS, name, "test", token.line)
        if name == "defined":
            value = getattr(value, "exists", value)
        if self.at("(") or not callee.least:
            test = self._call(callee, [value], token.line)
        else:
            test = _called(callee, [value, self._postfix(self._primary())], {}, token.line)
        return (lambda run: not truthy(test(run))) if negated else (lambda run: truthy(test(run)))

    # -- calls ------------------------------------------------------------------------------------------------------

    def _call(self, callee: Callee, leading: list[Eval], line: int) -> Eval:
        positional, keywords = self._arguments(callee.takes_arrow) if self.at("(") else ([], {})
        _check_arguments(callee, len(positional), keywords, line)
        return _called(callee, [*leading, *positional], keywords, line)

    def _arguments(self, takes_arrow: bool = False) -> Arguments:
        self.expect("(")
        positional: list[Eval] = []
        keywords: dict[str, Eval] = {}
        while not self.accept(")"):
            behind = self.ahead(1)
            if self.token.kind in ("name", "operator") and behind.kind == "symbol" and behind.value == "=":
                name = str(self.next().value)  # an argument may be called `and`
                self.expect("=")
                if name in keywords:
                    raise error(f"the argument '{name[:50]}' appears here twice", self.token.line)
                keywords[name] = self._arrow_or(0) if takes_arrow else self.expression()
            elif keywords:
                raise error("an argument without a name stands behind one with a name", self.token.line)
            else:
                positional.append(self._arrow_or(0) if takes_arrow else self.expression())
            if not self.accept(","):
                self.expect(")")
                break
        return positional, keywords

    def _arrow_or(self, floor: int) -> Eval:
        """Parses `x => expression`, `(x, y) => expression`, or any other expression."""
        names = self._arrow_names()
        if names is None:
            return self.expression(floor)
        self.names.own.update(names)
        body = self.expression()

        def make(run: Rendering) -> Arrow:
            return Arrow(names, body, run)

        make.is_arrow = True  # type: ignore[attr-defined]
        return make

    def _arrow_names(self) -> tuple[str, ...] | None:
        if self.token.kind == "name" and self.ahead(1).value == "=>":
            name = self.name()
            self.next()
            return (name,)
        if not self.at("("):
            return None
        place, names = 1, []
        while self.ahead(place).kind == "name":
            names.append(str(self.ahead(place).value))
            place += 1
            if self.ahead(place).value != ",":
                break
            place += 1
        if not (self.ahead(place).value == ")" and self.ahead(place + 1).value == "=>"):
            return None
        self._place += place + 2
        return tuple(names)


def whole_expression(tokens: list[TemplateToken], names: "NamesUsed | None" = None) -> Eval:
    """Parses the single expression of a tag. names: collects the names that it uses."""
    reader = Expressions(tokens, names)
    value = reader.expression()
    reader.end()
    return value


def is_arrow(compiled: Eval) -> bool:
    """Whether an argument is `x => expression`."""
    return getattr(compiled, "is_arrow", False)


def _known(table: dict[str, Callee], name: str, kind: str, line: int) -> Callee:
    callee = table.get(name)
    if callee is None:
        raise error(f"there is no {kind} '{name[:50]}'{nearest(name, table)}", line)
    return callee


def _check_arguments(callee: Callee, count: int, keywords: dict[str, Eval], line: int) -> None:
    """Raises TemplateFailed for too few, too many or unknown arguments."""
    if callee.most is not None and count + len(keywords) > callee.most:
        raise error(f"'{callee.name}' takes at most {callee.most} arguments", line)
    for name in keywords:
        if name not in callee.names or name in callee.names[:count]:
            suggestion = nearest(name, callee.names)
            raise error(f"'{callee.name}' takes no argument '{name[:50]}' here{suggestion}", line)
    missing = [name for name in callee.names[count : callee.least] if name not in keywords]
    if missing:
        raise error(f"'{callee.name}' needs the argument '{missing[0]}'", line)


def _called(callee: Callee, arguments: list[Eval], by_name: dict[str, Eval], line: int) -> Eval:
    call, charges_itself = callee.call, callee.charges_itself
    keywords = {_python_name(callee, name): value for name, value in by_name.items()}

    def run_it(run: Rendering) -> Any:
        run.budget.step()
        values = [each(run) for each in arguments]
        more = {name: each(run) for name, each in keywords.items()}
        try:
            if not charges_itself:
                _charge(run.budget, (*values, *more.values()))
            result = call(run, *values, **more)
        except (TemplateFailed, BudgetSpent) as failed:
            raise located(failed, line) from failed
        if isinstance(result, str):
            run.budget.text(len(result), result)
        return result

    return run_it


def _charge(budget: Budget, values: Iterable[Any]) -> None:
    """Charges the cost of reading these values once. Raises BudgetSpent."""
    for each in values:
        if isinstance(each, str):
            budget.step(len(each) // CHARS_A_STEP)
        elif isinstance(each, (list, dict)):
            budget.entries(len(each))


def _python_name(callee: Callee, name: str) -> str:
    """Returns the name of the parameter. A keyword of Python has an underscore: the argument `and` is the parameter
    `and_`."""
    return name if name in inspect.signature(callee.call).parameters else f"{name}_"


def _binary(operation: Callable[[Rendering, Any, Any, int], Any], left: Eval, right: Eval, line: int) -> Eval:
    return lambda run: operation(run, left(run), right(run), line)


def _constant(value: Any) -> Eval:
    return lambda run: value


def _child(value: Eval, key: Eval) -> Eval:
    def find(run: Rendering) -> Any:
        return child(value(run), key(run))

    find.exists = lambda run: has_child(value(run), key(run)) or None  # type: ignore[attr-defined]
    return find


def _nothing(value: Eval) -> Eval:
    def find(run: Rendering) -> None:
        value(run)

    return find


def _or_else(left: Eval, otherwise: Eval) -> Eval:
    return lambda run: value if truthy(value := left(run)) else otherwise(run)


def _if_else(condition: Eval, then: Eval, otherwise: Eval) -> Eval:
    return lambda run: then(run) if truthy(condition(run)) else otherwise(run)


def _negated(value: Any, line: int) -> int | float:
    operand = number(value, line)
    return within(-operand) if isinstance(operand, int) else -operand


def _interpolated(parts: list[Any]) -> Eval:
    def make(run: Rendering) -> str:
        texts = [part if isinstance(part, str) else printed(part(run)) for part in parts]
        run.budget.text(sum(map(len, texts)), next((each for each in texts if not each.isascii()), ""))
        return "".join(texts)

    return make
