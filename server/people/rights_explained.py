"""Why a worker may or may not do something to the records of a type, and the privileges that roles can grant."""

from typing import Literal

from server.access import actor
from server.access.actor import READ_RATINGS, Actor
from server.access.rules import REASONS
from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid
from server.record_types.record_type import RecordType
from server.records import records
from server.records.records import SearchRequest
from server.translation import N_, _, in_sentence, shown

# What an operation is called in a sentence.
VERBS = {"create": N_("create"), "update": N_("change"), "delete": N_("delete"), "publish": N_("publish")}
GRANTED = {"read": N_("see"), **VERBS}  # what roles grant
# The privilege to see all records of a type, and which ones a worker sees without it.
READS = {"rating": (READ_RATINGS, N_("without it, workers see those of their own tickets and of groups they manage"))}


@dataclass(frozen=True)
class TypePrivileges:
    """A record type with the privileges that a role can grant on it, {operation: privilege id}, and further
    conditions."""

    name: str
    uri: str
    privileges: dict[str, str]
    also: str


@dataclass(frozen=True)
class RightsReason:
    """The reason why a worker may, may not, or may sometimes perform an operation."""

    verdict: Literal["may", "may not", "sometimes"]
    text: str


def granted_privileges(ctx: Context) -> list[TypePrivileges]:
    """The record types that ask for a privilege, by name. Privileges that nothing asks for are left out."""
    rows = []
    for each in ctx.service.registry:
        operations = [name for name in VERBS if "privilege" in getattr(each.access, name)]
        if (operations or each.uri in READS) and each.context:
            privileges = {name: _privilege(each, name) for name in operations}
            if each.uri in READS:
                privileges["read"] = READS[each.uri][0]
            rows.append(TypePrivileges(shown(each.label_names[1]), each.uri, privileges, _also(each)))
    return sorted(rows, key=lambda each: each.name.lower())


def _privilege(record_type: RecordType, operation: str) -> str:
    return f"contexts.{record_type.context}.{operation}"


def _also(record_type: RecordType) -> str:
    """The further condition for changing a record, besides the privilege; or what it takes to read one without it."""
    if record_type.uri in READS:
        return shown(READS[record_type.uri][1])
    rules = {rule: None for name in VERBS for rule in getattr(record_type.access, name)}
    return "; ".join(shown(REASONS[rule]) for rule in rules if rule in REASONS)


def explain(ctx: Context, worker_id: int, uri: str, operation: str) -> list[RightsReason]:
    """Explains whether a worker may do something. operation: one of VERBS. Raises NotFound, Invalid."""
    worker = records.retrieve(ctx, "worker", worker_id, "roles")
    record_type = ctx.service.registry.type(uri)
    if operation not in VERBS:
        raise Invalid(_("Choose one from the list."), field="operation")
    does = _("{verb} {records}", verb=shown(VERBS[operation]), records=in_sentence(record_type.label_names[1]))
    values = {"name": worker["_label"], "do": does}
    who = rights_of(ctx, worker["id"])
    if who is None:
        return [RightsReason("may not", _("{name} is deactivated and cannot do anything.", **values))]
    rules = getattr(record_type.access, operation)
    if operation == "publish" and not rules:
        name = shown(record_type.label_names[1])
        raise Invalid(_("{name} are not published; choose another type.", name=name), field="type")
    if "nobody" in rules:
        return [RightsReason("may not", _("Nobody can {do}: only the service does that.", **values))]
    if who.is_admin:
        return [RightsReason("may", _("{name} can {do}: administrators can do everything.", **values))]
    if "admins" in rules:
        text = _("{name} cannot {do}: only administrators can, and no role grants it.", **values)
        return [RightsReason("may not", text)]
    reasons: list[RightsReason] = []
    if "privilege" in rules:
        privilege = _privilege(record_type, operation)
        roles = _granting(ctx, [each["id"] for each in worker["roles"].values()], privilege)
        if not roles:
            text = _("{name} cannot {do}: none of their roles grants {privilege}.", **values, privilege=privilege)
            return [RightsReason("may not", text)]
        reasons.append(RightsReason("may", _("{name} can {do}: granted by {roles}.", **values, roles=", ".join(roles))))
    reasons += [
        RightsReason("sometimes", _("Each record is also checked: {rule}.", rule=shown(REASONS[rule])))
        for rule in rules
        if rule in REASONS
    ]
    return reasons or [RightsReason("may", _("Every worker can {do}.", **values))]


def _granting(ctx: Context, role_ids: list[int], privilege: str) -> list[str]:
    """The names of the roles that grant a privilege."""
    if not role_ids:
        return []
    search = SearchRequest(f"id:[{','.join(map(str, role_ids))}] sort:name", len(role_ids), expand="privs")
    return [
        each["_label"]
        for each in records.search(ctx, "role", search)["results"]
        if each["privs_mode"] == "all" or (each["privs_mode"] == "itemized" and privilege in each["privs"])
    ]


def rights_of(ctx: Context, worker_id: int) -> Actor | None:
    """Returns a worker with all rights; None if they are disabled or deleted. Raises AdminOnly."""
    ctx.require_admin("see what others may do")
    return ctx.service.store.read(lambda tx: actor.worker(tx, worker_id))
