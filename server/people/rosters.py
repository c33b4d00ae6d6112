"""Who belongs to which group, and whom the worker queries of roles find. Both are rows, so that asking is cheap."""

from typing import Any

from server.contexts import GROUP
from server.errors import BadQuery, Invalid
from server.record_types.parts import Record, Writing
from server.record_types.shared.tables import GROUP_MEMBER, ROLE_WORKER
from server.store.tables import table_named

MANAGER, MEMBER, REMOVE = "manager", "member", "remove"
GROUP_PARTS = (MANAGER, MEMBER, REMOVE)
MAX_TOLD = 50  # workers, in an entry about a roster
ROLE_QUERIES = {"member": "member_query_worker", "editor": "editor_query_worker", "reader": "reader_query_worker"}


# -- groups ------------------------------------------------------------------------------------------------------------


def change_members(writing: Writing, group_id: int, changes: dict[int, str]) -> None:
    """Change a group's roster: {worker id: manager, member or remove}. Roles that look at groups follow.

    For checked ids; who may is asked before."""
    change_rosters(writing, {group_id: changes})


def change_rosters(writing: Writing, changes: dict[int, dict[int, str]]) -> None:
    """Changes the rosters of several groups, as change_members: {group id: {worker id: part}}. Roles are updated
    once."""
    for group_id, parts in changes.items():
        told = [_change(writing, group_id, worker_id, part) for worker_id, part in parts.items()]
        if any(told):
            writing.touch(GROUP, id=group_id)
            _log(writing, group_id, [each for each in told if each])
    if any(changes.values()):
        refresh_roles(writing, "group")


def _change(writing: Writing, group_id: int, worker_id: int, part: str) -> str:
    """Sets the part of a worker in a group; returns the activity to record, "" if nothing changed."""
    row = writing.tx.first(GROUP_MEMBER, group_id=group_id, worker_id=worker_id)
    before = REMOVE if row is None else MANAGER if row[GROUP_MEMBER.position["is_manager"]] else MEMBER
    if part == before:
        return ""
    if part == REMOVE:
        writing.tx.delete(GROUP_MEMBER, group_id=group_id, worker_id=worker_id)
    else:
        of_group = {"group_id": group_id, "worker_id": worker_id, "is_manager": int(part == MANAGER)}
        writing.tx.put(GROUP_MEMBER, of_group)
    return f"{writing.label('worker', worker_id)} ({'out' if part == REMOVE else part})"


def _log(writing: Writing, group_id: int, told: list[str]) -> None:
    more = len(told) - MAX_TOLD
    changes = ", ".join(told[:MAX_TOLD]) + (f" and {more} more" if more > 0 else "")
    target = {"target": writing.label("group", group_id), "changes": changes}
    writing.log("group.roster.changed", GROUP, group_id, target)


def forget_group(writing: Writing, group_id: int) -> None:
    """The roster of a group that is gone."""
    writing.tx.delete(GROUP_MEMBER, group_id=group_id)
    refresh_roles(writing, "group")


def forget_worker(writing: Writing, worker_id: int) -> None:
    """A worker who is gone belongs nowhere."""
    writing.tx.delete(GROUP_MEMBER, worker_id=worker_id)
    writing.tx.delete(ROLE_WORKER, worker_id=worker_id)


# -- roles -------------------------------------------------------------------------------------------------------------


def fill_role(writing: Writing, role: Record) -> None:
    """Find a role's workers again, for each of its queries. Raises Invalid that names the field of a bad query."""
    for part, field in ROLE_QUERIES.items():
        try:
            found = _found(writing, role[field])
        except BadQuery as error:
            raise Invalid(f"{field}: {error.message}", field=field) from error
        _replace(writing, role["id"], part, found)


def refresh_roles(writing: Writing, mention: str = "", without: int = 0) -> None:
    """Find the workers of every role again, or of those whose queries hold the word `mention`; not of role `without`.

    A query that has become bad since it was written, such as by a custom field that is gone, finds nobody."""
    for role in _roles(writing):
        queries = {part: role[field] for part, field in ROLE_QUERIES.items()}
        if role["id"] == without or not any(mention in query for query in queries.values()):
            continue
        for part, query in queries.items():
            try:
                found = _found(writing, query)
            except BadQuery:
                found = []
            _replace(writing, role["id"], part, found)


def forget_role(writing: Writing, role_id: int) -> None:
    """The workers of a role that is gone."""
    writing.tx.delete(ROLE_WORKER, role_id=role_id)
    refresh_roles(writing, "role")


def _roles(writing: Writing) -> list[dict[str, Any]]:
    """Id and queries of every role; there are tens of them."""
    names = ("id", *ROLE_QUERIES.values())
    table: Any = table_named("role")
    rows = writing.tx.rows(lambda: table.select(*(getattr(table.c, name) for name in names)).order_by(table.c.id))
    return [dict(zip(names, row, strict=True)) for row in rows]


def _found(writing: Writing, query: str) -> list[int]:
    """A blank query matches nobody, not everybody."""
    return writing.search_ids("worker", query) if query.strip() else []


def _replace(writing: Writing, role_id: int, part: str, worker_ids: list[int]) -> None:
    """Writes only rows that differ: each written row invalidates all cached actors."""
    wanted = set(worker_ids)
    place = ROLE_WORKER.position["worker_id"]
    present = {row[place] for row in writing.tx.find(ROLE_WORKER, role_id=role_id, part=part)}
    for worker_id in present - wanted:
        writing.tx.delete(ROLE_WORKER, role_id=role_id, part=part, worker_id=worker_id)
    for worker_id in sorted(wanted - present):
        writing.tx.insert(ROLE_WORKER, {"role_id": role_id, "part": part, "worker_id": worker_id})
