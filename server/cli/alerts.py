"""`helpdesk alerts`: alert rules for Prometheus."""

import argparse
from typing import Any

from server import resources
from server.cli import texts
from server.cli.arguments import command

RULES = ("monitoring", "alerts.yaml")


def declare(commands: Any) -> None:
    command(commands, "alerts", _print_rules)


def _print_rules(options: argparse.Namespace) -> None:
    texts.put(resources.path(*RULES).read_text("utf-8"))
