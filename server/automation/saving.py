"""Joins the checks of scripts, policies and bindings to the records that hold such texts, which lie a layer below."""

from server.automation import bindings, checker
from server.records.shared import checks


def register() -> None:
    """From now on records with a mistaken text are refused."""
    checks.register("script", lambda text: [(each.line, each.message) for each in checker.check(text)])
    checks.register("policy", lambda text: [(each.line, each.message) for each in checker.check_policy(text)])
    checks.register("event", bindings.problems)
