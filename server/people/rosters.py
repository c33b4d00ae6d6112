"""The members of groups, and the workers that the queries of roles match. Both are stored as rows, so that reads are
cheap."""

from typing import Any

from server.contexts import GROUP
from server.errors import BadQuery, Invalid
from server.record_types.parts import Record, Writing
from server.record_types.shared.relation_tables import GROUP_MEMBER, ROLE_GRANT, ROLE_WORKER
from server.store.tables import table_named

MANAGER, MEMBER, REMOVE = "manager", "member", "remove"
GROUP_PARTS = (MANAGER, MEMBER, REMOVE)
MAX_NAMED = 50  # workers in a log entry about a roster
ROLE_QUERIES = {"member": "member_query_worker", "editor": "editor_query_worker", "reader": "reader_query_worker"}


# -- groups ------------------------------------------------------------------------------------------------------------


def change_members(writing: Writing, group_id: int, changes: dict[int, str]) -> None:
    """Changes the members of a group: {worker id: manager, member or remove}. Updates roles whose queries use groups.
    The caller has checked the ids and the rights."""
    change_rosters(writing, {group_id: changes})


def change_rosters(writing: Writing, changes: dict[int, dict[int, str]]) -> None:
    """Changes the members of several groups: {group id: {worker id: part}}. Roles are updated once. See
    change_members."""
    for group_id, parts in changes.items():
        changed = [_change(writing, group_id, worker_id, part) for worker_id, part in parts.items()]
        if any(changed):
            writing.touch(GROUP, id=group_id)
            _log(writing, group_id, [each for each in changed if each])
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


def _log(writing: Writing, group_id: int, parts: list[str]) -> None:
    more = len(parts) - MAX_NAMED
    changes = ", ".join(parts[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
    target = {"target": writing.label("group", group_id), "changes": changes}
    writing.log("group.roster.changed", GROUP, group_id, target)


def forget_group(writing: Writing, group_id: int) -> None:
    """Deletes the members of a deleted group."""
    writing.tx.delete(GROUP_MEMBER, group_id=group_id)
    refresh_roles(writing, "group")


def forget_worker(writing: Writing, worker_id: int) -> None:
    """Removes a deleted worker from groups and roles."""
    writing.tx.delete(GROUP_MEMBER, worker_id=worker_id)
    writing.tx.delete(ROLE_WORKER, worker_id=worker_id)
    writing.tx.delete(ROLE_GRANT, worker_id=worker_id)


# -- roles -------------------------------------------------------------------------------------------------------------


def fill_role(writing: Writing, role: Record) -> None:
    """Runs the queries of a role and stores its workers. Raises Invalid with the field of an invalid query."""
    for part, field in ROLE_QUERIES.items():
        try:
            worker_ids = _matching_workers(writing, role[field])
        except BadQuery as error:
            raise Invalid(f"{field}: {error.message}", field=field) from error
        _replace(writing, role["id"], part, worker_ids)


def refresh_roles(writing: Writing, mention: str = "", without: int = 0) -> None:
    """Runs the queries of all roles that contain the word `mention`, except for role `without`.

    A query that has become invalid, for example by the deletion of a custom field, matches nothing."""
    for role in _roles(writing):
        queries = {part: role[field] for part, field in ROLE_QUERIES.items()}
        if role["id"] == without or not any(mention in query for query in queries.values()):
            continue
        for part, query in queries.items():
            try:
                worker_ids = _matching_workers(writing, query)
            except BadQuery:
                worker_ids = []
            _replace(writing, role["id"], part, worker_ids)


def grant_role(writing: Writing, role: Record, worker_id: int, is_granted: bool) -> bool:
    """Makes a worker a member of a role whatever its query matches, or ends that; returns whether this is a change."""
    is_present = writing.tx.first(ROLE_GRANT, role_id=role["id"], worker_id=worker_id) is not None
    if is_present == is_granted:
        return False
    if is_granted:
        writing.tx.put(ROLE_GRANT, {"role_id": role["id"], "worker_id": worker_id})
    else:
        writing.tx.delete(ROLE_GRANT, role_id=role["id"], worker_id=worker_id)
    fill_role(writing, role)
    return True


def forget_role(writing: Writing, role_id: int) -> None:
    """Deletes the workers of a deleted role."""
    writing.tx.delete(ROLE_WORKER, role_id=role_id)
    writing.tx.delete(ROLE_GRANT, role_id=role_id)
    refresh_roles(writing, "role")


def _roles(writing: Writing) -> list[dict[str, Any]]:
    """Returns id and queries of every role; there are tens of them."""
    names = ("id", *ROLE_QUERIES.values())
    table: Any = table_named("role")
    rows = writing.tx.rows(lambda: table.select(*(getattr(table.c, name) for name in names)).order_by(table.c.id))
    return [dict(zip(names, row, strict=True)) for row in rows]


def _matching_workers(writing: Writing, query: str) -> list[int]:
    """Returns the workers that match a query; a blank query matches none."""
    return writing.search_ids("worker", query) if query.strip() else []


def _replace(writing: Writing, role_id: int, part: str, worker_ids: list[int]) -> None:
    """Writes only rows that differ: each written row invalidates all cached actors."""
    granted = writing.tx.find(ROLE_GRANT, role_id=role_id) if part == MEMBER else []
    expected = set(worker_ids) | {row[ROLE_GRANT.position["worker_id"]] for row in granted}
    place = ROLE_WORKER.position["worker_id"]
    present = {row[place] for row in writing.tx.find(ROLE_WORKER, role_id=role_id, part=part)}
    for worker_id in present - expected:
        writing.tx.delete(ROLE_WORKER, role_id=role_id, part=part, worker_id=worker_id)
    for worker_id in sorted(expected - present):
        writing.tx.insert(ROLE_WORKER, {"role_id": role_id, "part": part, "worker_id": worker_id})
