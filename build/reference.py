"""Generates the tables of the help pages from the code, and the pages of endpoints and record types.

`make reference` runs it. With --check it writes nothing, and exits with 1 if a page differs from the code. A table
stands between `<!-- NAME -->` and `<!-- end -->`, on one of PAGES or on several. limits.py describes the limits, and
the code has their numbers. endpoint_pages.py and type_pages.py generate the pages in GENERATED.
"""

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "build")]

import endpoint_pages  # noqa: E402, found by the line above
import languages  # noqa: E402
import type_pages  # noqa: E402
from cells import code, head, row, shown  # noqa: E402
from limits import LIMITS  # noqa: E402

from server.cli.commands import parser  # noqa: E402
from server.settings import LIVE, help_rows  # noqa: E402

HELP = ROOT / "resources" / "help"
PAGES = tuple(sorted(HELP.glob("*.md")))
GENERATED = ("api", "types")  # folders of HELP whose pages are generated entirely
PLACE = re.compile(r"(<!-- (\w+(?:-\w+)*) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Writes the pages, or with --check only compares them."""
    options = argparse.ArgumentParser(description="Generate the reference tables and pages of the help.")
    options.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is out of date")
    is_check = options.parse_args().check
    require_places()
    written = {page: rendered(page.read_text("utf-8")) for page in PAGES}
    written |= {HELP / path: text for path, text in {**endpoint_pages.pages(), **type_pages.pages()}.items()}
    old = {page for folder in GENERATED for page in (HELP / folder).glob("*.md")} - written.keys()
    stale = [page for page, text in written.items() if not page.exists() or page.read_text("utf-8") != text]
    if is_check and (stale or old):
        names = ", ".join(str(page.relative_to(ROOT)) for page in sorted([*stale, *old]))
        raise SystemExit(f"{names}: out of date; run: make reference")
    for page in stale:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(written[page], "utf-8")
        print(f"{page.relative_to(ROOT)}: written")
    for page in old:
        page.unlink()
        print(f"{page.relative_to(ROOT)}: removed, because it is no longer generated")


def require_places() -> None:
    """Raises SystemExit if a table has no place, or two on one page, or if a place has no table."""
    listed = [[found[2] for found in PLACE.finditer(page.read_text("utf-8"))] for page in PAGES]
    twice = {name for names in listed for name in names if names.count(name) > 1}
    wrong = {name for names in listed for name in names} ^ TABLES.keys() | twice
    if wrong:
        raise SystemExit(f"each table needs one place, <!-- NAME --> ... <!-- end -->: {', '.join(sorted(wrong))}")


def rendered(text: str) -> str:
    """Returns the text of a page with its tables generated from the code."""
    return PLACE.sub(lambda found: "\n".join([found[1], *TABLES[found[2]](), "", found[3]]), text)


def command_rows() -> Iterator[str]:
    """One row for each command, with its flags."""
    yield from head("Command", "Description")
    for usage, description in _commands(parser()):
        yield row(code(usage), description)


def settings() -> Iterator[str]:
    """One row for each setting."""
    yield from head("Setting", "Default", "Unit", "Description")
    for each in help_rows():
        description = f"{each['help']} Also in the console." if each["name"] in LIVE else each["help"]
        yield row(code(each["name"]), code(each["default"]) if each["default"] else "", each["unit"], description)


# -- limits -----------------------------------------------------------------------------------------------------------


def limits() -> Iterator[str]:
    """One row for each limit, grouped by the part of the service that it belongs to."""
    yield from head("Maximum", "Applies to")
    for heading, limits_of_part in LIMITS.items():
        yield row(f"**{heading}**", "")
        for constant, unit, description in limits_of_part:
            yield row(f"{shown(_number(constant))}{' ' + unit if unit else ''}", description)


def _number(constant: str) -> float:
    module, _, name = (constant if constant.startswith("console.") else f"server.{constant}").rpartition(".")
    number: float = getattr(importlib.import_module(module), name)
    return number


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "commands": command_rows,
    "settings": settings,
    "families": endpoint_pages.family_rows,
    "errors": endpoint_pages.error_rows,
    "types": type_pages.type_rows,
    "activity": type_pages.activity_points,
    "limits": limits,
    "flow": languages.flow,
    "automation-commands": languages.automation_commands,
    "automation-outputs": languages.automation_outputs,
    "automation-inputs": languages.automation_inputs,
    "triggers": languages.trigger_rows,
    "trigger-keys": languages.trigger_keys,
    "events": languages.events,
    "annotations": languages.kata_annotations,
    "filters": languages.filters,
    "functions": languages.functions,
    "tests": languages.template_tests,
    "data-queries": languages.query_keys,
    "behaviors": languages.behavior_actions,
}


# -- commands ---------------------------------------------------------------------------------------------------------


def _commands(parent: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yields (usage, help) of every command of a parser."""
    for action in parent._actions:
        if isinstance(action, argparse._SubParsersAction):
            descriptions = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, subparser in action.choices.items():
                yield from list(_commands(subparser)) or [(_usage(subparser), descriptions[name])]


def _usage(command: argparse.ArgumentParser) -> str:
    """Returns the usage of a command. argparse formats it differently in each version of Python."""
    return " ".join([command.prog, *(_argument(each) for each in command._actions if each.dest != "help")])


def _argument(action: argparse.Action) -> str:
    value = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return {"+": f"{value}...", "*": f"[{value}...]", "?": f"[{value}]"}.get(str(action.nargs), value)
    listed = action.option_strings[-1] + ("" if action.nargs == 0 else f" {value}")
    return listed if action.required else f"[{listed}]"


if __name__ == "__main__":
    main()
