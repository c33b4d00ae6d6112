"""Groups as SCIM groups. Follows RFC 7643, section 4.2.

A provider creates groups, names them and fills them with workers. A group that it deletes loses its members and is
hidden from it, but remains here, because its tickets belong to it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from server import contexts
from server.context import Context
from server.errors import Conflict, Invalid, NotFound
from server.people import rosters
from server.people.types.group import MAX_MEMBERS
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.sign_in.provisioned_tables import (
    PROVISIONED_GROUP,
    id_in_path,
    id_list,
    removed_groups,
    removed_workers,
    rows_of,
    timestamp,
    visible_ids,
)
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

GROUP = "group"
SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group"
MAX_EXTERNAL_ID_CHARS = 255
NAME, EXTERNAL_ID, MEMBER, ID = "displayName", "externalId", "members.value", "id"  # attributes with a lookup
Group = dict[str, Any]
Change = Callable[[Group], Group]


def get(ctx: Context, id: int, *, with_members: bool = True) -> Group:
    """Returns a group. Raises NotFound, also for one that the provider deleted."""
    return ctx.service.store.read(lambda tx: _shown(RecordReader(ctx, tx), id, with_members=with_members))


def page(ctx: Context, offset: int, limit: int, *, with_members: bool = True) -> tuple[list[Group], int]:
    """Returns a page of all groups by id, and the number of all."""

    def read(tx: Transaction) -> tuple[list[Group], int]:
        ids = visible_ids(tx, GROUP)
        return _groups(RecordReader(ctx, tx), ids[offset : offset + limit], with_members), len(ids)

    return ctx.service.store.read(read)


def matching(ctx: Context, known: Mapping[str, str], fulfills: Callable[[Group], bool]) -> list[Group]:
    """Returns the groups that fulfill a condition. known: values that they must have, for a lookup by index."""

    def read(tx: Transaction) -> list[Group]:
        ids = _indexed_ids(tx, known)
        groups = _groups(RecordReader(ctx, tx), visible_ids(tx, GROUP, ids))
        return [each for each in groups if fulfills(each)]

    return ctx.service.store.read(read)


def create(ctx: Context, group: Group) -> Group:
    """Creates a group, or takes up one that the provider deleted. Raises Invalid, Conflict."""
    name, external_id = _name(group), _external_id(group)

    def write(tx: Transaction) -> Group:
        writing = RecordWriter(ctx, tx)
        same = _named(tx, name)
        removed = same & removed_groups(tx)
        if same - removed:
            raise Conflict(f"there is a group {name[:80]} already")
        id = min(removed) if removed else writing.create_sent(writing.registry.type(GROUP), {"name": name})
        row = {"group_id": id, "external_id": external_id, "created_at": ctx.now, "is_removed": 0}
        tx.put(PROVISIONED_GROUP, row)
        _change_members(writing, id, _member_ids(group.get("members", [])))
        return _shown(writing, id)

    return ctx.service.store.write(write)


def update(ctx: Context, id: int, change: Change) -> Group:
    """Changes a group: `change` returns the new attributes from the present ones; without `members`, these stay. Raises
    NotFound, Invalid, Conflict."""

    def write(tx: Transaction) -> Group:
        writing = RecordWriter(ctx, tx)
        before = _shown(writing, id)
        after = change(before)
        name, external_id = _name(after), _external_id(after)
        if name != before["displayName"]:
            if _named(tx, name) - {id}:
                raise Conflict(f"there is a group {name[:80]} already")
            writing.update_sent(writing.registry.type(GROUP), id, {"name": name})
        _note(writing, id, external_id)
        if "members" in after:
            _change_members(writing, id, _member_ids(after["members"]))
        return _shown(writing, id)

    return ctx.service.store.write(write)


def remove(ctx: Context, id: int, check: Callable[[Group], object]) -> None:
    """Removes all members of a group and hides it from the provider. check: raises an error if the group is not as
    expected. Raises NotFound."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        check(_shown(writing, id))
        members = {row[GROUP_MEMBER.position["worker_id"]] for row in tx.find(GROUP_MEMBER, group_id=id)}
        rosters.change_members(writing, id, dict.fromkeys(sorted(members), rosters.REMOVE))
        _note(writing, id, "", is_removed=1)
        writing.log("provisioning.group.released", contexts.GROUP, id, {"target": writing.label(GROUP, id)})

    ctx.service.store.write(write)


def _name(group: Group) -> str:
    name = str(group.get("displayName") or "").strip()
    if not name:
        raise Invalid("displayName must not be empty", field="displayName")
    return name


def _external_id(group: Group) -> str:
    external_id = str(group.get("externalId") or "").strip()
    if len(external_id) > MAX_EXTERNAL_ID_CHARS:
        raise Invalid(f"externalId has at most {MAX_EXTERNAL_ID_CHARS} characters")
    return external_id


def _member_ids(members: list[dict[str, Any]]) -> set[int]:
    """Returns the ids of the submitted members. Raises Invalid for another value."""
    ids: set[int] = set()
    for each in members:
        value = str(each.get("value") or "")
        id = id_in_path(value)
        if not id or str(each.get("type") or "User").lower() != "user":
            raise Invalid(f"members: '{value[:40]}' is not the id of a user; a group cannot be a member")
        ids.update(id)
    return ids


def _named(tx: Transaction, name: str) -> set[int]:
    """Returns the groups with a name, without regard to case."""
    table = table_named("group").alias("its")
    rows = tx.rows(lambda: table.select(table.c.id, table.c.name))
    return {id for id, each in rows if each.casefold() == name.casefold()}


def _note(writing: RecordWriter, id: int, external_id: str, is_removed: int = 0) -> None:
    row = writing.tx.first(PROVISIONED_GROUP, group_id=id)
    created_at = row[PROVISIONED_GROUP.position["created_at"]] if row is not None else 0
    values = {"group_id": id, "external_id": external_id, "created_at": created_at, "is_removed": is_removed}
    writing.tx.put(PROVISIONED_GROUP, values)


def _change_members(writing: RecordWriter, id: int, wanted: set[int]) -> None:
    """Adds and removes members. Managers who are still wanted stay managers; workers whom the provider does not see
    stay as they are. Raises Invalid for an unknown worker, and for too many changes at once."""
    present = {row[GROUP_MEMBER.position["worker_id"]] for row in writing.tx.find(GROUP_MEMBER, group_id=id)}
    present -= removed_workers(writing.tx)
    added, dropped = wanted - present, present - wanted
    unknown = added - set(visible_ids(writing.tx, "worker", added))
    if unknown:
        raise Invalid(f"members: there is no user {min(unknown)}")
    if len(added) + len(dropped) > MAX_MEMBERS:
        raise Invalid(f"at most {MAX_MEMBERS} members change at once", scim_type="tooMany")
    changes = dict.fromkeys(sorted(added), rosters.MEMBER) | dict.fromkeys(sorted(dropped), rosters.REMOVE)
    rosters.change_members(writing, id, changes)


def _indexed_ids(tx: Transaction, known: Mapping[str, str]) -> list[int] | None:
    """The ids that a lookup finds, None if no attribute has one."""
    if ID in known:
        return id_in_path(known[ID])
    if NAME in known:
        return sorted(_named(tx, known[NAME]))
    if EXTERNAL_ID in known:
        return [row[0] for row in tx.find(PROVISIONED_GROUP, external_id=known[EXTERNAL_ID])]
    if MEMBER in known:
        ids = id_in_path(known[MEMBER])
        return [row[0] for id in ids for row in tx.find(GROUP_MEMBER, worker_id=id)]
    return None


def _shown(reading: RecordReader, id: int, *, with_members: bool = True) -> Group:
    if not visible_ids(reading.tx, GROUP, (id,)):
        raise NotFound(f"there is no group {id}")
    return _groups(reading, [id], with_members)[0]


def _groups(reading: RecordReader, ids: list[int], with_members: bool = True) -> list[Group]:
    tx, record_type = reading.tx, reading.registry.type(GROUP)
    groups = [record_type.record(row) for row in tx.get_many(record_type.table, ids)]
    known = {
        row[0]: dict(zip(PROVISIONED_GROUP.names, row, strict=True)) for row in rows_of(tx, PROVISIONED_GROUP, ids)
    }
    members = _members(tx, ids) if with_members else {}
    return [_group(each, known.get(each["id"], {}), members.get(each["id"], [])) for each in groups]


def _group(record: dict[str, Any], known: dict[str, Any], members: list[dict[str, str]]) -> Group:
    """The attributes of a group, without blank ones."""
    created = known.get("created_at") or record["created"]
    group: Group = {
        "schemas": [SCHEMA],
        "id": str(record["id"]),
        "externalId": known.get("external_id", ""),
        "displayName": record["name"],
        "members": members,
        "meta": {
            "resourceType": "Group",
            "created": timestamp(created),
            "lastModified": timestamp(record["updated"]),
        },
    }
    return {name: value for name, value in group.items() if value not in ("", [], None)}


def _members(tx: Transaction, ids: Iterable[int]) -> dict[int, list[dict[str, str]]]:
    """{group id: its members that a provider sees}."""
    member, worker = GROUP_MEMBER.sql, table_named("worker")
    removed = removed_workers(tx)
    rows = tx.rows(
        lambda: (
            member.select(member.group_id, worker.c.id, worker.c.first_name, worker.c.last_name)
            .join(worker, on=(worker.c.id == member.worker_id))
            .where(in_list(member.group_id, slot(0)))
            .order_by(member.group_id, worker.c.id)
        ),
        (id_list(ids),),
    )
    members: dict[int, list[dict[str, str]]] = {}
    for group_id, id, first, last in rows:
        if id not in removed:
            one = {"value": str(id), "display": f"{first} {last}".strip(), "type": "User"}
            members.setdefault(group_id, []).append(one)
    return members
