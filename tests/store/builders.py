"""Finds every statement builder of the program in its source text, and the names that each closes over."""

import ast
import builtins
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNS = {"rows", "row", "value", "run", "run_many", "each"}
RUN = re.compile(rf"\.({'|'.join(RUNS)})\(")
Scope = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class Closure:
    """A name that a builder closes over. meaning: the annotation of the argument, or the assigned expression."""

    place: str
    name: str
    meaning: str


def sources() -> Iterator[tuple[str, str]]:
    """(path, text) of each module of the program."""
    for folder in ("server", "console"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path.read_text()


def closures() -> Iterator[Closure]:
    """The closures of all builders."""
    for path, text in sources():
        if RUN.search(text):
            yield from _of_module(path, ast.parse(text))


def _of_module(path: str, tree: ast.Module) -> Iterator[Closure]:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RUNS and node.args:
            scopes = list(_around(node, parents))
            builder = _builder(node.args[0], scopes)
            if builder is None:
                continue
            for name in sorted(_free(builder)):
                meaning = next((found for each in scopes if (found := _meaning(each, name))), None)
                if meaning is not None:
                    yield Closure(f"{path}:{node.lineno}", name, meaning)


def _around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[Scope]:
    while node in parents:
        node = parents[node]
        if isinstance(node, Scope):
            yield node


def _builder(argument: ast.expr, scopes: list[Scope]) -> Scope | None:
    if isinstance(argument, ast.Lambda):
        return argument
    if isinstance(argument, ast.Name):
        for scope in scopes:
            for each in ast.walk(scope):
                if isinstance(each, ast.FunctionDef) and each.name == argument.id and each is not scope:
                    return each
    return None


def _free(builder: Scope) -> set[str]:
    """The names that the function reads and does not bind."""
    text = ast.unparse(builder)
    table = symtable.symtable(text, "builder", "exec").get_children()[0]
    return set(_unbound(table)) - set(dir(builtins))


def _unbound(table: symtable.SymbolTable) -> Iterator[str]:
    yield from (each.get_name() for each in table.get_symbols() if each.is_global())
    for child in table.get_children():
        yield from _unbound(child)


def _meaning(scope: Scope, name: str) -> str | None:
    """The meaning of the name in this function; None if the function does not bind it."""
    arguments = scope.args
    for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
        if each is not None and each.arg == name:
            return f"argument {ast.unparse(each.annotation) if each.annotation else ''}".strip()
    if isinstance(scope, ast.Lambda):
        return None
    for node in ast.walk(scope):
        if isinstance(node, ast.FunctionDef) and node.name == name and node is not scope:
            return "function"
        if isinstance(node, ast.For | ast.comprehension) and name in _names(node.target):
            return f"each of {ast.unparse(node.iter)}"
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for part, value in zip(target.elts, node.value.elts, strict=False):
                        if name in _names(part):
                            return ast.unparse(value)
                elif name in _names(target):
                    return ast.unparse(node.value)
    return None


def _names(target: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
