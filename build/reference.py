"""Writes the tables of the help pages from the code, and whole pages for endpoints and record types.

Run by `make reference`; with --check it writes nothing and exits with 1 if a page differs from the code. A table is
between `<!-- NAME -->` and `<!-- end -->`, on one of the PAGES or on several. limits.py has the meaning of each limit,
the code its number. The pages in the folders MADE come from endpoint_pages.py and
type_pages.py.
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
MADE = ("api", "types")  # folders of HELP whose pages are made from the code as a whole
PLACE = re.compile(r"(<!-- (\w+(?:-\w+)*) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Write the pages, or with --check only compare."""
    options = argparse.ArgumentParser(description="Write the reference tables of the help pages.")
    options.add_argument("--check", action="store_true", help="write nothing; exit code 1 when a table is stale")
    is_check = options.parse_args().check
    require_places()
    written = {page: rendered(page.read_text("utf-8")) for page in PAGES}
    written |= {HELP / path: text for path, text in {**endpoint_pages.pages(), **type_pages.pages()}.items()}
    old = {page for folder in MADE for page in (HELP / folder).glob("*.md")} - written.keys()
    stale = [page for page, text in written.items() if not page.exists() or page.read_text("utf-8") != text]
    if is_check and (stale or old):
        names = ", ".join(str(page.relative_to(ROOT)) for page in sorted([*stale, *old]))
        raise SystemExit(f"{names}: not what the code says; run: make reference")
    for page in stale:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(written[page], "utf-8")
        print(f"{page.relative_to(ROOT)}: written")
    for page in old:
        page.unlink()
        print(f"{page.relative_to(ROOT)}: removed, since the code has it no more")


def require_places() -> None:
    """Raises SystemExit when a table has no place, two on one page, or a place no table."""
    listed = [[found[2] for found in PLACE.finditer(page.read_text("utf-8"))] for page in PAGES]
    twice = {name for names in listed for name in names if names.count(name) > 1}
    wrong = {name for names in listed for name in names} ^ TABLES.keys() | twice
    if wrong:
        raise SystemExit(f"each table needs a place, <!-- NAME --> ... <!-- end -->: {', '.join(sorted(wrong))}")


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
        meaning = f"{each['help']} In the console, too." if each["name"] in LIVE else each["help"]
        yield row(code(each["name"]), code(each["default"]) if each["default"] else "", each["unit"], meaning)


# -- limits -----------------------------------------------------------------------------------------------------------


def limits() -> Iterator[str]:
    """One row for each limit, grouped by the part of the service that it belongs to."""
    yield from head("Maximum", "Applies to")
    for heading, found in LIMITS.items():
        yield row(f"**{heading}**", "")
        for place, unit, meaning in found:
            yield row(f"{shown(_number(place))}{' ' + unit if unit else ''}", meaning)


def _number(place: str) -> float:
    module, _, name = (place if place.startswith("console.") else f"server.{place}").rpartition(".")
    found: float = getattr(importlib.import_module(module), name)
    return found


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


def _commands(found: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """(usage, help) of every command below a parser."""
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, below in action.choices.items():
                inner = list(_commands(below))
                yield from inner or [(_usage(below), told[name])]


def _usage(command: argparse.ArgumentParser) -> str:
    """The usage text of argparse, the same in every version of Python."""
    return " ".join([command.prog, *(_argument(each) for each in command._actions if each.dest != "help")])


def _argument(action: argparse.Action) -> str:
    value = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return {"+": f"{value}...", "*": f"[{value}...]", "?": f"[{value}]"}.get(str(action.nargs), value)
    listed = action.option_strings[-1] + ("" if action.nargs == 0 else f" {value}")
    return listed if action.required else f"[{listed}]"


if __name__ == "__main__":
    main()
