"""What a package would give to people and programs: sign-ins, rights, memberships, access of apps. Whoever imports says
yes to each of it, or nothing is made.

Told of the records as they are after the import, so that no spelling of a field hides one. Source: ours."""

from collections.abc import Callable
from typing import Any

from server.desk.writing import RecordWriter
from server.errors import Invalid, Required
from server.records.base import Record
from server.records.shared import scopes
from server.records.shared.tables import GROUP_MEMBER

MAX_TOLD = 20  # in an error; the dry run tells all
EVERYTHING = "*"
PASSWORD = "password"  # chosen by the worker alone, behind a link


def of(writing: RecordWriter, uri: str, id: int) -> str:
    """What a record that was just made grants, in words; "" for nothing."""
    tell = _TELLERS.get(uri)
    record = writing.record(uri, id) if tell is not None else None
    return tell(writing, record) if tell is not None and record is not None else ""


def require_yes(granted: list[str], is_agreed: bool) -> None:
    """Raises Required, naming them, when a package grants something that nobody agreed to."""
    if not granted or is_agreed:
        return
    more = f"; and {len(granted) - MAX_TOLD} more" if len(granted) > MAX_TOLD else ""
    raise Required(
        f"the package {'; it '.join(granted[:MAX_TOLD])}{more}. Send grants=1 to agree; dry_run=1 tells all of it",
        field="grants",
    )


def _worker(writing: RecordWriter, worker: Record) -> str:
    address = writing.record("address", worker["email_id"])
    email = f" ({address['email']})" if address is not None else ""
    name = f"{writing.label('worker', worker['id'])}{email}"
    return f"makes {name} an administrator" if worker["is_superuser"] else f"lets {name} sign in as a worker"


def _role(writing: RecordWriter, role: Record) -> str:
    query = role["member_query_worker"].strip()
    whom = f"the workers that '{query}' finds" if query else "every worker"
    privileges = "all privileges" if role["privs_mode"] == "all" else "the privileges of its list"
    return f"gives {privileges} to {whom} by the role {role['name']}"


def _app(writing: RecordWriter, app: Record) -> str:
    try:
        found = scopes.parse(app["scopes"])
    except Invalid:
        found = {}
    is_wide = any(EVERYTHING in each.pattern for scope in found.values() for each in scope.endpoints)
    what = "everything that they may do" if is_wide else ", ".join(scope.label for scope in found.values()) or "nothing"
    return f"lets the app {app['name']} ask workers for {what}"


def _group(writing: RecordWriter, group: Record) -> str:
    rows: list[Any] = writing.tx.find(GROUP_MEMBER, group_id=group["id"])
    if not rows:
        return ""
    names = ", ".join(writing.label("worker", row[GROUP_MEMBER.position["worker_id"]]) for row in rows)
    return f"puts {names} into the group {group['name']}"


_TELLERS: dict[str, Callable[[RecordWriter, Record], str]] = {
    "worker": _worker, "role": _role, "oauth_app": _app, "group": _group,
}  # fmt: skip
