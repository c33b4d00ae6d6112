"""Writes the tables of README.md and of the help pages from the code.

Run by `make reference`; with --check it writes nothing and ends with code 1 when a table is not what the code says. A
table stands between `<!-- NAME -->` and `<!-- end -->`, once, on one of the PAGES. What a limit means to a user is told
in limits.py, its number comes from the code. Not for the descriptions of record types: `helpdesk describe --json` has
those.
"""

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "build")]

import languages  # noqa: E402, found by the line above
from cells import code, head, row, shown  # noqa: E402
from limits import LIMITS  # noqa: E402

from server import app  # noqa: E402
from server.__main__ import description, parser  # noqa: E402
from server.settings import help_rows  # noqa: E402
from server.web.rest import legacy  # noqa: E402
from server.web.rest.legacy.families import FAMILIES, Family  # noqa: E402
from server.web.routes import ENDPOINTS, Endpoint  # noqa: E402

PAGES = (ROOT / "README.md", *sorted((ROOT / "resources" / "help").glob("*.md")))
FIRST = ("records", "tickets", "parser")  # families of endpoints that everybody needs
PLACE = re.compile(r"(<!-- (\w+(?:-\w+)*) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Write the pages, or with --check only compare."""
    options = argparse.ArgumentParser(description="Write the reference tables of README.md and of the help pages.")
    options.add_argument("--check", action="store_true", help="write nothing; exit code 1 when a table is stale")
    is_check = options.parse_args().check
    require_places()
    for page in PAGES:
        before = page.read_text("utf-8")
        after = rendered(before)
        if before == after:
            continue
        if is_check:
            raise SystemExit(f"{page.name} does not say what the code does; run: make reference")
        page.write_text(after, "utf-8")
        print(f"{page.name}: tables written anew")


def require_places() -> None:
    """Raises SystemExit when a table has no place, two places, or a place no table."""
    places = [found[2] for page in PAGES for found in PLACE.finditer(page.read_text("utf-8"))]
    wrong = {name for name in {*places, *TABLES} if places.count(name) != 1 or name not in TABLES}
    if wrong:
        raise SystemExit(f"each table needs one place, <!-- NAME --> ... <!-- end -->: {', '.join(sorted(wrong))}")


def rendered(text: str) -> str:
    """`text` with every table in it made from the code."""
    return PLACE.sub(lambda found: "\n".join([found[1], *TABLES[found[2]](), "", found[3]]), text)


def command_rows() -> Iterator[str]:
    """One row a command, with its flags."""
    yield from head("Command", "What it does")
    for usage, told in _commands(parser()):
        yield row(code(usage), told)


def settings() -> Iterator[str]:
    """One row a setting."""
    yield from head("Setting", "Default", "Unit", "Meaning")
    for each in help_rows():
        yield row(code(each["name"]), code(each["default"]) if each["default"] else "", each["unit"], each["help"])


# -- endpoints --------------------------------------------------------------------------------------------------------


def endpoints() -> Iterator[str]:
    """One row an endpoint, by the file that declares it; required parameters are bold."""
    app.endpoints()
    yield from head("Endpoint", "What it does", "Parameters")
    family = ""
    for each in sorted(ENDPOINTS, key=_place):
        if not _is_legacy(each):
            if each.function.__module__ != family:
                family = each.function.__module__
                yield row(f"**{_subject(sys.modules[family])}**", "", "")
            yield _endpoint(each)
    yield row("**This interface, for programs**", "", "")
    for one in description()["endpoints"]:
        if not one["path"].startswith("/rest/"):
            yield row(f"`{one['method']} {one['path']}`", one["note"], "")


def legacy_endpoints() -> Iterator[str]:
    """What endpoints of one type do, which types have them, and what only some have."""
    app.endpoints()
    yield _docstring(legacy).replace("\n", " ").partition(" Thin:")[0]
    yield ""
    found = [each for each in ENDPOINTS if _is_legacy(each)]
    common: dict[str, str] = {}
    names: dict[Family, set[str]] = {}
    rest: list[Endpoint] = []
    for each in sorted(found, key=lambda each: (each.path, each.method)):
        family = _family(each)
        if family is None:
            rest.append(each)
            continue
        word = each.function.__name__.rpartition("_")[2].replace("listed", "list")
        names.setdefault(family, set()).add(word)
        note = each.note.replace(f": {family.name}", " records of the type")
        note = note.replace(f"{family.name}.", "record of the type.")
        path = f"`{each.method} /rest/{each.path.replace(family.path, '{path}', 1)}.json`"
        common.setdefault(word, row(word, path, note, _parameters(each)))
    yield from head("Name", "Endpoint", "What it does", "Parameters")
    yield from (common[word] for word in sorted(common))
    yield ""
    yield from head("`{path}`", "Record type", "Has")
    for family in FAMILIES:
        yield row(code(family.path), family.name, ", ".join(sorted(names.get(family, ()))))
    yield ""
    yield from head("Beside these", "What it does", "Parameters")
    for each in rest:
        yield _endpoint(each)


def _place(each: Endpoint) -> tuple[int, str, str, str]:
    """Families in the order of FIRST, then of their names."""
    module = each.function.__module__
    name = module.rpartition(".")[2]
    return FIRST.index(name) if name in FIRST else len(FIRST), module, each.path, each.method


def _is_legacy(each: Endpoint) -> bool:
    return each.function.__module__.startswith(legacy.__name__)


def _family(each: Endpoint) -> Family | None:
    """The family that a legacy endpoint was made for."""
    if each.function.__module__.endswith(".further"):
        return None
    below = [one for one in FAMILIES if each.path.startswith(f"{one.path}/")]
    return max(below, key=lambda one: len(one.path))


def _endpoint(each: Endpoint) -> str:
    return row(f"`{each.method} /rest/{each.path}.json`", each.note, _parameters(each))


def _parameters(each: Endpoint) -> str:
    return ", ".join(f"**{code(one.name)}**" if one.required else code(one.name) for one in each.parameters)


def _subject(module: ModuleType) -> str:
    """The first sentence of a module's docstring, without its end."""
    return _docstring(module).replace("\n", " ").partition(". ")[0].rstrip(".")


def _docstring(module: ModuleType) -> str:
    return (module.__doc__ or "").partition("\n\n")[0]


# -- limits -----------------------------------------------------------------------------------------------------------


def limits() -> Iterator[str]:
    """One row a limit, below where users meet it."""
    yield from head("At most", "Of")
    for heading, found in LIMITS.items():
        yield row(f"**{heading}**", "")
        for place, unit, meaning in found:
            yield row(f"{shown(_number(place))}{' ' + unit if unit else ''}", meaning)


def _number(place: str) -> float:
    module, _, name = f"server.{place}".rpartition(".")
    found: float = getattr(importlib.import_module(module), name)
    return found


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "commands": command_rows,
    "settings": settings,
    "endpoints": endpoints,
    "legacy": legacy_endpoints,
    "limits": limits,
    "flow": languages.flow,
    "automation-commands": languages.automation_commands,
    "automation-inputs": languages.automation_inputs,
    "triggers": languages.trigger_rows,
    "events": languages.events,
    "annotations": languages.kata_annotations,
    "filters": languages.filters,
    "functions": languages.functions,
    "tests": languages.template_tests,
    "data-queries": languages.query_keys,
    "behaviors": languages.behavior_actions,
}


# -- commands ---------------------------------------------------------------------------------------------------------


def _commands(found: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """(usage, help) of every command below a parser."""
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, below in action.choices.items():
                inner = list(_commands(below))
                yield from inner or [(_usage(below), told[name])]


def _usage(command: argparse.ArgumentParser) -> str:
    """As argparse writes it, but the same in every version of Python."""
    return " ".join([command.prog, *(_argument(each) for each in command._actions if each.dest != "help")])


def _argument(action: argparse.Action) -> str:
    value = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return {"+": f"{value}...", "*": f"[{value}...]", "?": f"[{value}]"}.get(str(action.nargs), value)
    listed = action.option_strings[-1] + ("" if action.nargs == 0 else f" {value}")
    return listed if action.required else f"[{listed}]"


if __name__ == "__main__":
    main()
