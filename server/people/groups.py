"""Changes of group members through the API: all checks come before the first change."""

from collections.abc import Iterable, Mapping
from typing import Any

from server.context import Context
from server.digits import id_in
from server.errors import Forbidden, Invalid, NotFound
from server.people import rosters
from server.people.types.group import MAX_MEMBERS
from server.record_types.shared import record_owners
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.records import records
from server.records.records import SearchRequest
from server.records.writing import RecordWriter
from server.store.statements import in_list, slot
from server.translation import about_field, lazy_gettext

MAX_NAMED = 60  # members of a group
Changes = dict[int, dict[int, str]]  # {group id: {worker id: manager, member or remove}}


def change_members(ctx: Context, sent: Any) -> None:
    """Changes the members of groups by {"groups": {group id: {"workers": {worker id: role}}}}, all or none.

    Roles are manager, member and remove, in any case. For administrators, and for managers of every group in the
    request. Raises Invalid for another format and an unknown role, group or worker, Forbidden."""
    changes = _changes(sent)
    ctx.service.store.write(lambda tx: _write(RecordWriter(ctx, tx), changes))


def join(ctx: Context, worker_id: int, group_ids: Iterable[str]) -> None:
    """Makes a worker a member of groups. Raises the errors of change_members()."""
    change_members(ctx, {"groups": {id: {"workers": {str(worker_id): rosters.MEMBER}} for id in group_ids}})


def group_named(ctx: Context, name: str) -> int:
    """Returns the id of the group with this name. Raises NotFound."""
    type = ctx.service.registry.type("group")
    row = ctx.service.store.read(lambda tx: tx.first(type.table, name=name))
    if row is None:
        raise NotFound(f"there is no group '{name[:80]}'")
    return int(row[0])


def members(ctx: Context, group_ids: Iterable[int]) -> Changes:
    """Returns the members of groups: {group id: {worker id: manager or member}}."""
    ids = list(group_ids)
    table: Any = GROUP_MEMBER.sql
    rows = ctx.service.store.read(
        lambda tx: tx.rows(
            lambda: table.select(table.group_id, table.worker_id, table.is_manager).where(
                in_list(table.group_id, slot(0))
            ),
            ("[" + ",".join(map(str, ids)) + "]",),
        )
    )
    members_by_group: Changes = {id: {} for id in ids}
    for group_id, worker_id, is_manager in rows:
        members_by_group[group_id][worker_id] = rosters.MANAGER if is_manager else rosters.MEMBER
    return members_by_group


def named_members(ctx: Context, group_id: int, part: str) -> tuple[list[dict[str, Any]], int]:
    """Returns the managers or members of a group to be named, at most MAX_NAMED, and how many more there are."""
    ids = sorted(id for id, each in members(ctx, [group_id])[group_id].items() if each == part)
    q = f"id:[{','.join(map(str, ids[:MAX_NAMED]))}]"
    workers = records.search(ctx, "worker", SearchRequest(q, MAX_NAMED))["results"] if ids else []
    return workers, max(len(ids) - MAX_NAMED, 0)


def _write(writing: RecordWriter, changes: Changes) -> None:
    _require_all(writing, "group", changes)
    for group_id in changes:
        if not record_owners.may_own_as(writing.tx, writing.actor, record_owners.GROUP, group_id):
            raise Forbidden(
                lazy_gettext("only administrators and managers of group {id} may change its members", id=group_id)
            )
    _require_all(writing, "worker", (id for workers in changes.values() for id in workers))
    rosters.change_rosters(writing, changes)


def _require_all(writing: RecordWriter, uri: str, ids: Iterable[int]) -> None:
    ids = set(ids)
    existing = {row[0] for row in writing.tx.get_many(writing.registry.type(uri).table, ids)}
    if ids - existing:
        raise _bad(lazy_gettext("there is no {type} {id}", type=uri, id=min(ids - existing)))


def _changes(sent: Any) -> Changes:
    changes: Changes = {}
    for group, value in _map(_map(sent, "the whole").get("groups"), "groups").items():
        workers = _map(_map(value, f"group {group[:20]}").get("workers"), f"workers of group {group[:20]}")
        changes[_id(group, "group")] = {_id(worker, "worker"): _role(role) for worker, role in workers.items()}
    if sum(map(len, changes.values())) > MAX_MEMBERS:
        raise _bad(f"at most {MAX_MEMBERS} workers in one change")
    return changes


def _map(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _bad(f'{what} must be an object, as in {{"groups": {{"5": {{"workers": {{"7": "member"}}}}}}}}')
    return value


def _id(text: str, what: str) -> int:
    id = id_in(text)
    if id is None:
        raise _bad(f"'{text[:50]}' is not the id of a {what}")
    return id


def _role(value: Any) -> str:
    role = str(value).strip().lower()
    if role not in rosters.GROUP_PARTS:
        raise _bad(
            lazy_gettext("'{value}' is not one of {known}", value=str(value)[:50], known=", ".join(rosters.GROUP_PARTS))
        )
    return role


def _bad(reason: str) -> Invalid:
    return Invalid(about_field("json", reason), field="json")
