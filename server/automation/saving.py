"""Registers the checks of scripts, policies and bindings, and their grants in packages, with the rooms above."""

from collections.abc import Iterable

from server.automation import bindings, checker
from server.automation.interactions import toolbar_schema
from server.packages import grants
from server.record_types.record_type import Record
from server.record_types.shared import checks
from server.records.writing import RecordWriter

GRANTING = (
    "automation",
    "automation_event",
    "automation_timer",
    "behavior",
    "project_board_column",
    "resource",
    "webhook_listener",
)


def register() -> None:
    """Registers the checks: from then on, records with mistakes are refused."""
    checks.register("script", lambda text: [(each.line, each.message) for each in checker.check(text)])
    checks.register("policy", lambda text: [(each.line, each.message) for each in checker.check_policy(text)])
    checks.register("event", bindings.problems)
    checks.register("toolbar", toolbar_schema.problems)
    grants.register(GRANTING, _describe_grants)


def _describe_grants(writing: RecordWriter, uri: str, record: Record) -> Iterable[str]:
    from server.automation import package_grants  # loads every command; needed only for imports of packages

    return package_grants.describe(writing, uri, record)
