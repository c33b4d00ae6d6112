"""The commands and the parser of the command line.

A command is declared by the module that runs it, which is imported only for that command, so that `--version` and
`--help` respond before the service is imported."""

import argparse
import importlib
import platform
from collections.abc import Sequence
from typing import Any, NoReturn

from server.errors import nearest
from server.settings import BUILD, VERSION

PARTS: dict[str, dict[str, str]] = {
    "serve": {"serve": "Start the server."},
    "accounts": {"worker": "Workers.", "token": "Access tokens."},
    "mail": {"mail": "Mail."},
    "imports": {"import": "Records in CSV files."},
    "export": {"export": "Export everything to a new folder or zip file, even while a server runs."},
    "kata": {"kata": "Print a KATA text as a JSON tree, or its first error."},
    "script": {"script": "Render a template and print the result."},
    "automation": {"automation": "Automations."},
    "packages": {"package": "Packages."},
    "backup": {
        "backup": "Copy the database to a new file, even while a server runs.",
        "restore": "Replace the database with a backup; no server may be running.",
    },
    "moving": {"migrate-database": "Copy the database to PostgreSQL, or back to a file; no server may be running."},
    "doctor": {"doctor": "Find problems, and say how to fix them."},
    "alerts": {"alerts": "Print alert rules for Prometheus."},
    "completion": {"completion": "Print a completion script for your shell, or the man page."},
    "api": {"api": "Send a request to a running server, and print the response."},
    "describe": {"describe": "Describe record types, kinds of field and endpoints."},
    "licenses": {"licenses": "Print the licenses of everything that this program contains."},
    "demo": {"demo": "Add demo data, or remove it; no server may be running."},
    "setup_link": {"setup-link": "Print a new setup link, for a service without an administrator."},
    "checking": {
        "check": "Check the database: integrity, indexes, schema, stored counts; correct wrong counts.",
        "settings": "List the settings, their defaults and their meaning.",
    },
}  # {module in this package: {command: description}}, in the order of the help
ABOUT = {name: about for commands in PARTS.values() for name, about in commands.items()}


class _Version(argparse.Action):
    """Prints the versions, which are read only when needed."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help="show program's version number and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        import apsw
        import tornado

        made_of = f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, Tornado {tornado.version}"
        print(f"helpdesk {VERSION} ({BUILD}), {made_of}")
        parser.exit()


class CommandParser(argparse.ArgumentParser):
    """A parser that suggests the command or flag that was probably meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            names = list(action.choices)
            near = nearest(str(value), names) or f"; choose from {', '.join(names)}"
            raise argparse.ArgumentError(None, f"there is no command '{str(value)[:60]}'{near}")
        super()._check_value(action, value)

    def refuse_unknown(self, arguments: Sequence[str]) -> NoReturn:
        """Ends the program with an error for arguments that the command does not have."""
        options = [name for name in self._option_string_actions if name.startswith("--")]
        meant = (nearest(each.partition("=")[0], options) for each in arguments if each.startswith("--"))
        near = next((each for each in meant if each), "")
        self.error(f"unrecognized arguments: {' '.join(arguments)}{near}")


def parser(only: str | None = None) -> CommandParser:
    """Returns the parser of the command line. only: the command to run; other commands have only their names."""
    top = CommandParser(
        prog="helpdesk",
        description="Turns support email into tickets, with a REST API. All data is in one file in one folder.",
        epilog="Without a command, the server starts. Settings come from flags, then HELPDESK_* "
        "variables, then helpdesk.toml in the data folder, then the console. `helpdesk settings` "
        "lists them.",
    )
    top.add_argument("--version", action=_Version)
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for module, names in PARTS.items():
        if only is None or only in names:
            importlib.import_module(f"server.cli.{module}").declare(commands)
        else:
            for name, about in names.items():
                commands.add_parser(name, help=about)
    return top
