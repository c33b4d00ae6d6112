"""Declarations of commands: a name, a description, and the function that runs them."""

import argparse
from typing import Any

from server.cli.commands import ABOUT, CommandParser


def command(commands: Any, name: str, run: Any, description: str = "", about: str = "") -> argparse.ArgumentParser:
    """Declares a command with the option for a data folder; returns its parser for further arguments. about: its
    description in the help of the parent command."""
    about = about or ABOUT[name]
    parser: CommandParser = commands.add_parser(name, help=about, description=description or about)
    parser.set_defaults(run=run, refuse=parser.error, refuse_unknown=parser.refuse_unknown)
    parser.add_argument("--data", metavar="DIR", help="the data folder (helpdesk-data)")
    return parser


def group(commands: Any, name: str, description: str) -> Any:
    """Declares a command with subcommands; returns the object to declare these with."""
    parser = commands.add_parser(name, help=ABOUT[name], description=description)
    return parser.add_subparsers(metavar="ACTION", required=True)


def offline(commands: Any, name: str, run: Any, shapes: str, about: str = "") -> argparse.ArgumentParser:
    """Declares a command that reads one text, or requests from standard input. shapes: the format of a request and of
    its response. about: see `command`. The options of `run` contain `refuse`, which ends the command with a usage
    error."""
    about = about or ABOUT[name]
    parser: CommandParser = commands.add_parser(
        name,
        help=about,
        description=(f"{about} Without --data, this uses a temporary folder that is removed at the end."),
    )
    parser.set_defaults(run=run, refuse=parser.error, refuse_unknown=parser.refuse_unknown)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", metavar="FILE", help="the text; - reads standard input")
    source.add_argument(
        "--json-lines",
        action="store_true",
        help=f"read a request from each line of standard input, and write one line for each: {shapes}",
    )
    parser.add_argument(
        "--data", metavar="DIR", help="data folder whose database to use; no server may be running on it"
    )
    return parser


def only_for_files(options: argparse.Namespace, *names: str) -> None:
    """Refuses arguments that have no effect with --json-lines."""
    for name in names:
        if options.json_lines and getattr(options, name):
            options.refuse(f"--{name} cannot be used with --json-lines; each line has its own")
