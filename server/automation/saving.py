"""Registers with rooms above: the checks of scripts, policies and bindings, and what they grant in a package."""

from collections.abc import Iterable

from server.automation import bindings, checker
from server.packages import grants
from server.record_types.base import Record
from server.record_types.shared import checks
from server.records.writing import RecordWriter

GRANTING = ("automation", "automation_event", "automation_timer", "behavior", "resource", "webhook_listener")


def register() -> None:
    """From now on records with a mistaken text are refused."""
    checks.register("script", lambda text: [(each.line, each.message) for each in checker.check(text)])
    checks.register("policy", lambda text: [(each.line, each.message) for each in checker.check_policy(text)])
    checks.register("event", bindings.problems)
    grants.register(GRANTING, _describe_grants)


def _describe_grants(writing: RecordWriter, uri: str, record: Record) -> Iterable[str]:
    from server.automation import package_grants  # which loads every command; only imports of packages need it

    return package_grants.describe(writing, uri, record)
