"""The tags of a template, compiled to functions of a Rendering."""

from collections.abc import Callable
from typing import Any

from server.errors import nearest
from server.template.expression_parser import Expressions, NamesUsed, whole_expression
from server.template.run import Act, Eval, Rendering
from server.template.template_tokens import SCRIPT, Delimiters, Piece, TemplateToken, error, pieces
from server.template.values import items, looped, pairs, printed, truthy

MAX_DEPTH = 100  # nested tags
Closers = tuple[str, ...]


def parsed(source: str, delimiters: Delimiters = SCRIPT) -> tuple[Act, NamesUsed]:
    """Returns the compiled template and the names that it uses. Raises TemplateFailed with the line of the first
    mistake."""
    reader = _TemplateParser(pieces(source, delimiters))
    try:
        act, _, _ = reader.body(())
    except RecursionError:
        raise error("too much inside each other", reader.line) from None
    return act, reader.names


class _TemplateParser:
    def __init__(self, source_pieces: list[Piece]) -> None:
        self._pieces = source_pieces
        self._place = 0
        self._depth = 0
        self.line = 1
        self.names = NamesUsed()

    def body(self, closers: Closers, opener: str = "", line: int = 0) -> tuple[Act, str, Expressions]:
        """Parses everything up to one of the tags `closers`. Returns the compiled part, the name of the closing tag,
        and its tokens."""
        acts: list[Act] = []
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise error(f"at most {MAX_DEPTH} tags inside each other", line)
        while self._place < len(self._pieces):
            piece = self._pieces[self._place]
            self._place += 1
            self.line = piece.line
            if piece.kind == "text":
                acts.append(_write(piece.value))
            elif piece.kind == "output":
                acts.append(_print(whole_expression(piece.value, self.names), piece.line))
            else:
                reader = Expressions(piece.value, self.names)
                name = reader.name()
                if name in closers:
                    self._depth -= 1
                    return _sequence(acts), name, reader
                acts.append(_on_line(self._tag(name, reader, piece.line), piece.line))
        if closers:
            raise error(f"'{opener}' has no '{closers[-1]}'", line)
        self._depth -= 1
        return _sequence(acts), "", Expressions([])

    def _closed(self, closers: Closers, opener: str, line: int) -> Act:
        """Parses everything up to the tag that closes `opener`, which has no arguments."""
        act, _, tokens = self.body(closers, opener, line)
        tokens.end()
        return act

    def _tag(self, name: str, reader: Expressions, line: int) -> Act:
        if name in PARTS:
            raise error(f"'{name}' stands here without the tag that it belongs to", line)
        handler = TAGS.get(name)
        if handler is None:
            raise error(f"there is no tag '{name[:50]}'{nearest(name, (*TAGS, *PARTS, 'verbatim'))}", line)
        return handler(self, reader, line)

    # -- tags -------------------------------------------------------------------------------------------------------

    def if_(self, reader: Expressions, line: int) -> Act:
        branches: list[tuple[Eval, Act]] = []
        otherwise: Act | None = None
        condition = _last(reader)
        while True:
            act, closer, tokens = self.body(("elseif", "else", "endif"), "if", line)
            branches.append((condition, act))
            if closer == "elseif":
                condition = _last(tokens)
                continue
            tokens.end()
            if closer == "else":
                otherwise = self._closed(("endif",), "if", line)
            break

        def act_on(run: Rendering) -> None:
            for condition, act in branches:
                if truthy(condition(run)):
                    act(run)
                    return
            if otherwise is not None:
                otherwise(run)

        return act_on

    def for_(self, reader: Expressions, line: int) -> Act:
        names = [reader.name()]
        if reader.accept(","):
            names.append(reader.name())
        self.names.own.update(names, ("loop",))
        reader.expect("in")
        sequence = _last(reader)
        each, closer, tokens = self.body(("else", "endfor"), "for", line)
        tokens.end()
        otherwise = self._closed(("endfor",), "for", line) if closer == "else" else None
        return _loop(tuple(names), sequence, each, otherwise)

    def set_(self, reader: Expressions, line: int) -> Act:
        names = [reader.name()]
        while reader.accept(","):
            names.append(reader.name())
        self.names.own.update(names)
        if reader.accept("="):
            values = [reader.expression()]
            while reader.accept(","):
                values.append(reader.expression())
            reader.end()
            if len(names) != len(values):
                raise error("set needs as many values as names", line)
            return _assign(names, values)
        reader.end()
        if len(names) > 1:
            raise error("set with a body takes one name", line)
        body = self._closed(("endset",), "set", line)
        return lambda run: run.assign(names[0], run.captured(body))

    def with_(self, reader: Expressions, line: int) -> Act:
        variables: Eval | None = None
        only = False
        if reader.token.kind != "end":
            if not (reader.token.kind == "name" and reader.token.value == "only" and reader.ahead(1).kind == "end"):
                variables = reader.expression()
                self.names.has_others = True
            if reader.token.kind == "name" and reader.token.value == "only":
                reader.next()
                only = True
            reader.end()
        body = self._closed(("endwith",), "with", line)
        return _within(variables, only, body, line)

    def apply(self, reader: Expressions, line: int) -> Act:
        chain = Expressions([TemplateToken("symbol", "|", line), *reader.rest()], self.names)
        filtered = chain.filters(lambda run: run.scopes[-1][_APPLIED])
        chain.end()
        body = self._closed(("endapply",), "apply", line)

        def act(run: Rendering) -> None:
            run.push({_APPLIED: run.captured(body)})
            try:
                text = printed(filtered(run))
            finally:
                run.pop()
            run.write(text)

        return act

    def do(self, reader: Expressions, line: int) -> Act:
        value = _last(reader)

        def act(run: Rendering) -> None:
            value(run)

        return act

    def sandbox(self, reader: Expressions, line: int) -> Act:
        reader.end()
        return self._closed(("endsandbox",), "sandbox", line)


TAGS: dict[str, Callable[[_TemplateParser, Expressions, int], Act]] = {
    "if": _TemplateParser.if_,
    "for": _TemplateParser.for_,
    "set": _TemplateParser.set_,
    "with": _TemplateParser.with_,
    "apply": _TemplateParser.apply,
    "do": _TemplateParser.do,
    "sandbox": _TemplateParser.sandbox,
}
PARTS = ("elseif", "else", *(f"end{name}" for name in (*TAGS, "verbatim")))
_APPLIED = " applied"  # has a space, so no variable can have this name


def _last(reader: Expressions) -> Eval:
    """Parses the expression that ends a tag."""
    expression = reader.expression()
    reader.end()
    return expression


def _sequence(acts: list[Act]) -> Act:
    if len(acts) == 1:
        return acts[0]

    def act(run: Rendering) -> None:
        for each in acts:
            each(run)

    return act


def _write(text: str) -> Act:
    return lambda run: run.write(text)


def _print(value: Eval, line: int) -> Act:
    def act(run: Rendering) -> None:
        run.line = line
        run.budget.step()
        run.write(printed(value(run)))

    return act


def _on_line(tag: Act, line: int) -> Act:
    def act(run: Rendering) -> None:
        run.line = line
        run.budget.step()
        tag(run)

    return act


def _assign(names: list[str], values: list[Eval]) -> Act:
    if len(names) == 1:
        name, value = names[0], values[0]
        return lambda run: run.assign(name, value(run))

    def act(run: Rendering) -> None:
        for name, result in zip(names, [value(run) for value in values], strict=True):
            run.assign(name, result)

    return act


def _within(variables: Eval | None, only: bool, body: Act, line: int) -> Act:
    def act(run: Rendering) -> None:
        assigned = variables(run) if variables is not None else {}
        if not isinstance(assigned, dict) and assigned != []:
            raise error("with takes a map", line)
        run.budget.entries(len(assigned))
        outer = run.scopes, run.closed
        if only:
            run.scopes, run.closed = [{}], [True]
        run.push(dict(assigned) if assigned else {}, closed=True)
        try:
            body(run)
        finally:
            run.pop()
            run.scopes, run.closed = outer

    return act


def _loop(names: tuple[str, ...], sequence: Eval, each: Act, otherwise: Act | None) -> Act:
    def act(run: Rendering) -> None:
        value = looped(sequence(run))
        run.budget.entries(len(value) if isinstance(value, (list, dict)) else 0)
        entries = pairs(value) if len(names) == 2 else list(enumerate(items(value)))
        if not entries:
            if otherwise is not None:
                otherwise(run)
            return
        outer = run.lookup("loop")
        length = len(entries)
        budget = run.budget
        for place, (key, item) in enumerate(entries):
            budget.step()
            variables: dict[str, Any] = {names[-1]: item}
            if len(names) == 2:
                variables[names[0]] = key
            variables["loop"] = {
                "index": place + 1,
                "index0": place,
                "revindex": length - place,
                "revindex0": length - place - 1,
                "first": place == 0,
                "last": place == length - 1,
                "length": length,
                "parent": {"loop": outer} if outer is not None else {},
            }
            run.push(variables)
            try:
                each(run)
            finally:
                run.pop()

    return act
