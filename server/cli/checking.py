"""`helpdesk check` and `helpdesk settings`."""

import argparse
from typing import Any

from server import app
from server.cli.arguments import command
from server.cli.opening import settings_of
from server.settings import help_rows


def declare(commands: Any) -> None:
    command(commands, "check", _check)
    command(commands, "settings", _settings)


def _check(options: argparse.Namespace) -> int:
    """Returns 1 if there is a problem."""
    problems = app.check(settings_of(options))
    print("\n".join(problems or ["the database is intact"]))
    return int(bool(problems))


def _settings(options: argparse.Namespace) -> None:
    for row in help_rows():
        print(f"{row['name']} = {row['default']}")
        print(f"    {row['help']}")
