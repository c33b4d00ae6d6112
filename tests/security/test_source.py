"""Forbidden constructs in the source: execution of submitted text, and patterns whose running time grows faster than
their input.

The syntax tree is checked, so that comments and texts do not count."""

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sqlite("the same with any store")

names, patterns = (importlib.import_module(f"re.{name}") for name in ("_constants", "_parser"))
INSIDE = (names.SUBPATTERN, names.ASSERT, names.ASSERT_NOT)
ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for folder in ("server", "console") for path in (ROOT / folder).rglob("*.py"))
MANY = 20  # repetitions from which a pattern counts as repeating
# Modules that run code, programs or serialized objects, and a second library for the database.
UNWANTED = {
    "code", "codeop", "commands", "ctypes", "dill", "imp", "jinja2", "marshal", "pickle", "pty", "runpy", "shelve",
    "sqlite3", "subprocess", "telnetlib", "tarfile",
}  # fmt: skip
WANTED = {
    "server/dataclass.py": ["exec"],  # creates __init__ like the standard library, from names of our fields alone
    "console/html/environment.py": ["jinja2"],  # renders only the templates of its folder
    "server/memory.py": ["ctypes"],  # one constant call to the C library's allocator
}
# Functions that compile text, or run a program from words.
CALLS = {"eval", "exec", "compile", "__import__", "execfile", "input", "breakpoint"}
ATTRIBUTES = {
    ("os", "system"), ("os", "popen"), ("os", "execv"), ("os", "spawnv"), ("os", "fork"), ("tempfile", "mktemp"),
    ("yaml", "load"), ("yaml", "load_all"), ("yaml", "full_load"), ("yaml", "unsafe_load"),
    ("yaml", "unsafe_load_all"), ("yaml", "add_constructor"),
}  # fmt: skip
# Modules that use random numbers; none of them creates a secret.
DRAW_LOTS = {
    "server/automation/behaviors/actions/setting.py",
    "server/first_start/demo/demo_files.py",
    "server/first_start/demo/plan.py",
    "server/first_start/demo/story_words.py",
    "server/notifying/pushing.py",
    "server/outgoing/retry_schedule.py",
    "server/queries/sample_numbers.py",
}
# Nested repetitions with only one way to match.
HARMLESS = {
    r"[a-z]{2}(-[a-z]+)+-[0-9]+\Z",
    rb"^(?:content-[a-z-]+|mime-version)[ \t]*:.*\n?(?:[ \t].*\n?)*",
    r"""(//?)|(\|)|(\[(?:[^\]"']|"[^"]*"|'[^']*')*\])|([^/|\[\]]+)""",
    r";\s*(?:\([^()]*\)\s*)*dmarc\s*(?:/\s*\d+\s*)?=\s*(?:\([^()]*\)\s*)*([A-Za-z]+)",  # comments end at a parenthesis
    r"([^\[]+)((?:\[[^\[\]]*\])*)",
    r"[a-z][a-z0-9]+(_[a-z][a-z0-9]+)*",  # an underscore between two repetitions
    r"""<body((?:\s[^\s="<>/]+="[^"]*")*)>""",  # each attribute begins with a blank and ends with a quote
}


CHECKED = (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute, ast.keyword)


@cache
def nodes() -> dict[str, list[ast.AST]]:
    """The syntax nodes of each file that a check reads."""
    return {
        str(path.relative_to(ROOT)): [
            node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, CHECKED)
        ]
        for path in FILES
    }


def imported(node: ast.AST) -> list[str]:
    """The top-level modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [each.name.partition(".")[0] for each in node.names]
    return [node.module.partition(".")[0]] if isinstance(node, ast.ImportFrom) and node.module else []


def unwanted(parts: list[ast.AST]) -> Iterator[str]:
    for node in parts:
        yield from (name for name in imported(node) if name in UNWANTED)
        is_of_module = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if is_of_module and (node.value.id, node.attr) in ATTRIBUTES:  # type: ignore[attr-defined]
            yield ast.unparse(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            yield node.func.id
        if isinstance(node, ast.keyword) and node.arg == "shell":
            yield "shell="


def test_nothing_runs_what_is_data() -> None:
    found = {file: sorted(set(unwanted(parts))) for file, parts in nodes().items()}
    assert len(found) > 500
    assert {file: each for file, each in found.items() if each} == WANTED


def test_secrets_are_not_drawn_by_lot() -> None:
    found = {file for file, parts in nodes().items() for node in parts if "random" in imported(node)}
    assert found == DRAW_LOTS


def written(parts: list[ast.AST]) -> Iterator[str | bytes]:
    """The patterns passed to re and to late_pattern as literals."""
    for node in parts:
        if isinstance(node, ast.Call) and node.args:
            function, first = ast.unparse(node.func), node.args[0]
            is_pattern = function == "late_pattern" or (function.startswith("re.") and function != "re.escape")
            if is_pattern and isinstance(first, ast.Constant) and isinstance(first.value, str | bytes):
                yield first.value


def repeats_what_repeats(parsed: Any, inside: bool = False) -> bool:
    """Whether an unbounded repetition is nested inside another one."""
    for what, value in parsed:
        if what in (names.MAX_REPEAT, names.MIN_REPEAT):
            is_long = value[1] == names.MAXREPEAT or value[1] > MANY
            if (is_long and inside) or repeats_what_repeats(value[2], inside or is_long):
                return True
        elif what is names.BRANCH:
            if any(repeats_what_repeats(each, inside) for each in value[1]):
                return True
        elif what in INSIDE and repeats_what_repeats(value[-1], inside):
            return True
    return False


def test_no_pattern_repeats_what_repeats() -> None:
    """Such a pattern may try all ways to divide its text."""
    found = [(file, text) for file, parts in nodes().items() for text in written(parts)]
    assert len(found) > 200
    assert repeats_what_repeats(patterns.parse(r"(?:a+b?)+c")) and not repeats_what_repeats(patterns.parse(r"(a|b)+c*"))
    greedy = {text: file for file, text in found if repeats_what_repeats(patterns.parse(text))}
    assert {file: text for text, file in greedy.items() if text not in HARMLESS} == {}
