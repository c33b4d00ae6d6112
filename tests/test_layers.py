"""The layers of the program: every import against the table of permitted imports."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from server import contexts
from server.record_types import registry

ROOT = Path(__file__).resolve().parent.parent

# From the top down. A unit is a module or a folder directly under server/, or the console. It may import units of rows
# above its own, and itself; never a neighbour in its row.
LAYERS: tuple[frozenset[str], ...] = tuple(
    frozenset(row.split())
    for row in (
        "dataclass late_files late_pattern",
        "translation",
        "errors",
        (
            "clock settings log context events memory resources discovery times wildcards digits host_names "
            "cells file_names contexts locales quantities base64url printable"
        ),
        "warming",
        "passwords markup",
        "kata template outbound help",
        "store mail",
        "search",
        "fields",
        "record_types",
        "access jobs",
        "counting",
        "records",
        "people",
        "apps",
        "sign_in",
        "connections",
        "outbox",
        "tickets",
        "notifying",
        "mailroom",
        "help_center",
        "writing_assistant",
        "queries",
        "outgoing",
        "packages",
        "imports",
        "rules",
        "automation",
        "export",
        "upkeep",
        "first_start",
        "web",
        "console",
        "app",
        "cli",
        "__main__",
    )
)
# The wings of the console from the bottom up: a wing imports itself and earlier wings. console/site.py is above all of
# them.
WINGS = ("http", "html", "help_center", "lists", "forms", "tickets", "pages")
# The types that comments, files, entries, custom fields, events and actors consist of; `message` is a key of responses.
ANY_RECORD_HAS = {
    "activity_log", "attachment", "automation_event", "comment", "custom_field", "custom_fieldset", "message",
    "notification", "worker",
    "svc.contexts.activity_log", "svc.contexts.attachment", "svc.contexts.comment", "svc.contexts.worker",
}  # fmt: skip
COUNTED = {"builtin.py", "metric_bins.py", "usage_flush.py"}  # metrics are named after the records that they count
OF_NO_TYPE = ("APP", "BEHAVIOR_NODE", "GPG_PRIVATE_KEY")  # contexts without record types
CLASS = re.compile(r"^ *class (\w+)[(:]", re.MULTILINE)  # found without parsing, on which most of the time is spent
ROW = {unit: number for number, row in enumerate(LAYERS) for unit in row}


def modules(root: Path) -> dict[str, Path]:
    """{dotted name: file} of everything under server/ and console/; a package's name stands for its __init__.py."""
    found = {}
    for path in sorted([*root.glob("server/**/*.py"), *root.glob("console/**/*.py")]):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def unit_of(module: str) -> str | None:
    """The unit of the table that a module belongs to; None for the bare package `server`.

    >>> unit_of("server.mail.transports.smtp"), unit_of("console.html.form"), unit_of("server")
    ('mail', 'console', None)
    """
    parts = module.split(".")
    if parts[0] == "console":
        return "console"
    return parts[1] if len(parts) > 1 else None


def imports(source: str, module: str, *, is_package: bool, known: set[str]) -> set[str]:
    """The project's modules that a source text imports, anywhere except under `if TYPE_CHECKING`."""
    package = module if is_package else module.rpartition(".")[0]
    found: set[str] = set()
    for node in _run_time_nodes(ast.parse(source)):
        found.update(_named_by(node, package, known))
    return {name for name in found if name.split(".")[0] in ("server", "console")} - {module}


def _run_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    waiting = [node]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            is_for_types = isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")
            nodes = child.orelse if is_for_types else [child]  # type: ignore[attr-defined]
            yield from nodes
            waiting += nodes


def _named_by(node: ast.AST, package: str, known: set[str]) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=origin, names=names, level=level):
            base = package.split(".")[: len(package.split(".")) - level + 1] if level else []
            stem = ".".join([*base, *([origin] if origin else [])])
            for alias in names:
                submodule = f"{stem}.{alias.name}"
                yield submodule if submodule in known else stem
        case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"), args=[first, *_]):
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def wrong_imports(graph: dict[str, set[str]]) -> list[str]:
    """A sentence for each forbidden import."""
    complaints = []
    for module, targets in sorted(graph.items()):
        for target in sorted(targets):
            unit, other = unit_of(module), unit_of(target)
            if unit == other or (other is not None and unit is not None and ROW.get(other, 99) < ROW.get(unit, -1)):
                continue
            complaints.append(
                f"{module} imports {target}: '{unit}' stands in row {ROW.get(unit or '', '?')}, "
                f"'{other}' in row {ROW.get(other or '', '?')}"
            )
    return complaints


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of an import cycle, in order; empty without a cycle."""
    finished: set[str] = set()
    for start in sorted(graph):
        trail = [start]
        left = {start: sorted(graph[start])}
        while trail and start not in finished:
            targets = left[trail[-1]]
            if not targets:
                finished.add(trail.pop())
                continue
            target = targets.pop(0)
            if target in trail:
                return [*trail[trail.index(target) :], target]
            if target in graph and target not in finished:
                trail.append(target)
                left[target] = sorted(graph[target])
    return []


@cache
def project_graph() -> dict[str, set[str]]:
    files = modules(ROOT)
    return {
        module: imports(path.read_text("utf-8"), module, is_package=path.name == "__init__.py", known=set(files))
        for module, path in files.items()
    }


def project_files(root: Path) -> list[Path]:
    """All files of the project: without git's files and without paths in .gitignore, at the top ("/x/") or anywhere
    ("x/")."""
    lines = [".git", *(root / ".gitignore").read_text("utf-8").split()]
    anywhere = [line.strip("/") for line in lines if not line.startswith("/")]
    at_top = {root / line.strip("/") for line in lines if line.startswith("/")}
    found: list[Path] = []
    folders = [root]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if path in at_top or any(path.match(pattern) for pattern in anywhere):
                continue
            (folders if path.is_dir() else found).append(path)
    return found


def test_no_module_imports_what_stands_beside_or_below_it():
    assert wrong_imports(project_graph()) == []


def test_imports_run_in_no_circle():
    assert circle(project_graph()) == []


def upward_imports(graph: dict[str, set[str]]) -> list[str]:
    """The imports of the console that lead to a higher wing, as `module -> target`."""
    floors = {f"console.{wing}": floor for floor, wing in enumerate(WINGS)}

    def floor(module: str) -> int:
        return floors.get(".".join(module.split(".")[:2]), len(WINGS))

    return [
        f"{module} -> {target}"
        for module, targets in sorted(graph.items())
        for target in sorted(targets)
        if module.startswith("console.") and target.startswith("console.") and floor(target) > floor(module)
    ]


def test_wings_of_the_console_import_only_wings_below():
    graph = project_graph()
    assert upward_imports(graph) == []
    wings = {module.split(".")[1] for module in graph if module.startswith("console.")}
    assert wings == {*WINGS, "site"}


@pytest.mark.parametrize(
    ("module", "target", "is_upward"),
    [
        ("console.html.form", "console.http.visit", False),
        ("console.html.form", "console.html.ui", False),
        ("console.http.visit", "console.html.form", True),
        ("console.tickets.show", "console.pages.record.show", True),
        ("console.pages.start", "console.site", True),
        ("console.site", "console.pages.start", False),
    ],
)
def test_an_upward_import_is_found(module, target, is_upward):
    assert bool(upward_imports({module: {target}})) is is_upward


def test_every_module_under_server_has_a_row():
    homeless = [module for module in modules(ROOT) if unit_of(module) not in (None, *ROW)]
    assert homeless == [], "add the module to a folder of the table, or the folder to the table"


def test_folders_below_a_room_import_each_other_in_no_circle():
    """Files of a folder may import its subfolders, and these may import their folder; two subfolders may not import
    each other."""
    below: dict[str, set[str]] = {}
    for module, targets in project_graph().items():
        for target in targets:
            one, other = beside(module, target)
            if one != other:
                below.setdefault(one, set()).add(other)
                below.setdefault(other, set())
    assert circle(below) == []


def beside(module: str, target: str) -> tuple[str, str]:
    """The two sibling folders of one room that hold two modules; two empty texts without any.

    >>> beside("server.a.b.c", "server.a.d.e.f"), beside("server.a.b.c", "server.a.d")
    (('server.a.b', 'server.a.d'), ('', ''))"""
    ours, theirs = module.split("."), target.split(".")
    place = next((at for at, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other), 0)
    is_inside = place >= (1 if ours[0] == "console" else 2) and len(ours) > place + 1 and len(theirs) > place + 1
    return (".".join(ours[: place + 1]), ".".join(theirs[: place + 1])) if is_inside else ("", "")


def nodes_of(path: Path, text: str) -> Iterator[ast.AST]:
    """The syntax nodes of a file that contains a text; none of others, since most of the time is spent on parsing."""
    source = path.read_text("utf-8")
    return ast.walk(ast.parse(source)) if text in source else iter(())


def shared_names(root: Path) -> dict[str, list[str]]:
    """{name of a class: modules with such a class} for names that occur twice or more."""
    found: dict[str, list[str]] = {}
    for module, path in modules(root).items():
        for name in CLASS.findall(path.read_text("utf-8")):
            found.setdefault(name, []).append(module)
    return {name: places for name, places in found.items() if len(places) > 1}


def test_no_two_classes_have_one_name():
    """An ambiguous name has to be looked up each time it is read, and a search for it finds both classes."""
    assert shared_names(ROOT) == {}


def test_a_second_class_of_a_name_is_seen_wherever_it_stands(tmp_path):
    (tmp_path / "server").mkdir()
    (tmp_path / "console").mkdir()
    (tmp_path / "server/mail.py").write_text("class Mail:\n    pass\n\nclass Limits:\n    pass\n")
    (tmp_path / "console/pages.py").write_text("def build():\n    class Mail:\n        pass\n")
    assert shared_names(tmp_path) == {"Mail": ["console.pages", "server.mail"]}


def test_no_page_and_no_endpoint_reads_the_store():
    """Permission checks belong to the read: in a function of a room, which pages, endpoints and scripts share."""
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("console/help_center", "console/pages", "console/tickets", "server/web/rest")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("read", "write") and _is_store(node.value)
    }
    assert found == set()


def _is_store(node: ast.AST) -> bool:
    """Whether an expression is called `store`."""
    return getattr(node, "attr", getattr(node, "id", "")) == "store"


def test_what_only_reads_makes_no_writer():
    """A reader cannot write; a writer created inside a read is intended to write, or is the wrong object."""
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in ROOT.glob("server/**/*.py")
        for node in nodes_of(path, "RecordWriter")
        if _is_read(node)
        for below in ast.walk(node)
        if isinstance(below, ast.Name) and below.id == "RecordWriter"
    }
    assert found == set()


def _is_read(node: ast.AST) -> bool:
    """Whether a function is called `read`, or is passed to a call of that name."""
    if isinstance(node, ast.FunctionDef):
        return node.name == "read"
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "read"


def test_the_record_engine_names_only_the_types_that_any_record_has():
    """Additions of a type live with the type: a name in server/records/ would burden every record with one type."""
    types = registry.load()
    names = {name for each in types for name in (each.uri, each.context)} - {""} - ANY_RECORD_HAS
    found = {
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}: {name}"
        for path in (ROOT / "server/records").rglob("*.py")
        if path.name not in COUNTED
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (name := _type_named_by(node)) in names
    }
    assert found == set()


def _type_named_by(node: ast.AST) -> str:
    """The text of a literal, or the context in `contexts.TICKET` and `from server.contexts import TICKET`."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Attribute(value=ast.Name(id="contexts"), attr=name) | ast.alias(name=name):
            return str(getattr(contexts, name, ""))
    return ""


def test_a_context_is_written_down_once():
    """A search for contexts.TICKET finds all code for tickets. Examples inside sentences do not count."""
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in modules(ROOT).values()
        if path != ROOT / "server/contexts.py"
        for node in nodes_of(path, contexts.PREFIX)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if contexts.PREFIX in node.value and " " not in node.value
    }
    assert found == set()


def test_every_context_is_that_of_a_type():
    named = {name: value for name, value in vars(contexts).items() if name.isupper()}
    named = {name: value for name, value in named.items() if name not in ("PREFIX", *OF_NO_TYPE)}
    types = {each.uri.upper(): each.context for each in registry.load()}
    assert named == {name: types.get(name) for name in named}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import server.store.writer", {"server.store.writer"}),
        ("from server import errors", {"server.errors"}),
        ("from server.errors import Invalid", {"server.errors"}),
        ("def later():\n    from server.tickets import reply", {"server.tickets.reply"}),
        ("from . import parse", {"server.mail.parse"}),
        ("from ..errors import Invalid", {"server.errors"}),
        ("from .. import errors", {"server.errors"}),
        ("import importlib\nimportlib.import_module('server.web')", {"server.web"}),
        ("import json, tornado", set()),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from server.tickets import reply", set()),
        ("import typing\nif typing.TYPE_CHECKING:\n    import json\nelse:\n    import server.app", {"server.app"}),
    ],
)
def test_imports_are_seen_in_every_form(source, found):
    known = {"server", "server.errors", "server.mail", "server.mail.parse", "server.tickets.reply"}
    assert imports(source, "server.mail.mail_bytes", is_package=False, known=known) == found


@pytest.mark.parametrize(
    ("module", "target", "allowed"),
    [
        ("server.log", "server.errors", True),
        ("server.log", "server.settings", False),
        ("server.errors", "server.log", False),
        ("server.store.writer", "server.store.database", True),
        ("server.mail.parse", "server.store.blobs", False),
        ("server.fields.text", "server.search.ast", True),
        ("server.search.ast", "server.fields.text", False),
        ("server.tickets.reply", "server.record_types.record_type", True),
        ("server.web.rest.tickets", "console.html.form", False),
        ("console.html.form", "server.web.handler", True),
        ("server.app", "console.html.form", True),
        ("server.__main__", "server.app", True),
        ("server.elsewhere", "server.errors", False),
        ("server.tickets.reply", "server.elsewhere", False),
        ("server", "server.errors", False),
    ],
)
def test_the_table_decides(module, target, allowed):
    assert (wrong_imports({module: {target}}) == []) is allowed


def feature_tests(source: str) -> list[int]:
    """The lines that test for a name in the `features` of a type."""
    compared = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Compare))
    return [
        node.lineno
        for node in compared
        for operator, other in zip(node.ops, node.comparators, strict=True)
        if isinstance(operator, ast.In | ast.NotIn) and isinstance(other, ast.Attribute) and other.attr == "features"
    ]


def test_what_a_type_has_is_asked_by_its_traits() -> None:
    """A feature is a class: a type checker cannot check a name, and a reader cannot find its uses."""
    found = {
        str(path): lines
        for name, path in modules(ROOT).items()
        if not name.startswith("server.record_types.traits")
        and "features" in (source := path.read_text("utf-8"))
        and (lines := feature_tests(source))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('if "links" in each.features:\n    pass', [1]),
        ('a = 1\nb = [x for x in y if "links" not in x.features]', [2]),
        ('a = each.has(Links)\nb = "links" in features', []),
    ],
)
def test_a_feature_by_name_is_found(source, lines):
    assert feature_tests(source) == lines


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b", "c"}, "b": {"c"}, "c": {"elsewhere"}}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, ["b", "c", "b"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}}, ["a", "b", "c", "a"]),
    ],
)
def test_circles_are_found(graph, found):
    assert circle(graph) == found
