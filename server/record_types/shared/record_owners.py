"""Owners of records: the service, a group, a role, a worker or a bot. Validates owners, and declares the fields and
filters.

The rule "owner" in access/rules.py decides who may read and change owned records."""

import re
from typing import TYPE_CHECKING, Any

from server.contexts import BOT, GROUP, ROLE, WORKER, context_of, short_context
from server.errors import Forbidden, Invalid, Required
from server.fields import ContextName, Field, Id
from server.fields.link import APP
from server.record_types.parts import Caller, Change, Writing
from server.record_types.shared.relation_tables import GROUP_MEMBER, ROLE_WORKER
from server.search.filters import AppFilter, BelongsToContext, DeepFilter, Filter, TypeFilter
from server.store.statements import slot
from server.store.tables import Table, table_named
from server.store.transaction import Transaction
from server.translation import _, about_field, in_sentence, lazy_gettext

if TYPE_CHECKING:
    from server.record_types.registry import Registry

TYPES = ("group", "role", "worker")  # owners that people choose, besides the service
EVERYBODY_LABEL = "Everybody: the service"
_STORED = re.compile(r"([a-z._]{1,80}):([0-9]{1,18})\Z")
_NAMED = re.compile(r"(\w+)\s*:.*?#?([0-9]{1,18})\s*\Z", re.DOTALL)
OWNERS = (APP, GROUP, ROLE, WORKER)
OWNERS_AND_BOTS = (*OWNERS, BOT)


class OwnerId(Id):
    """The field `owner_id`, with the nested owner and the filters; 0 is a valid owner: the service."""

    def filters(self) -> list[Filter]:
        return [] if self.filter is None else list(filters("app", "bot", "group", "role", "worker"))


def fields(**options: Any) -> dict[str, Field]:
    """The fields of a type whose records any kind of owner can own. options: as for id_field."""
    note = "Record type of the owner: app, bot, group, role or worker."
    return {"owner__context": context_field(note), "owner_id": id_field(**options)}


def context_field(note: str, owners: tuple[str, ...] = OWNERS_AND_BOTS, *, required: bool = True) -> ContextName:
    """The field `owner__context`."""
    return ContextName(note, allowed=owners, required=required, blank_ok=not required, shown=False)


def id_field(note: str = "Id of the owner; 0 for the app.", *, required: bool = True, **options: Any) -> OwnerId:
    """The field `owner_id`. filter None: without the filters."""
    return OwnerId(note, target_from="owner__context", zero_ok=True, nested_note="Owner.", required=required, **options)


def filters(*deep: str) -> tuple[Filter, ...]:
    """`owner`, and `owner.<type>` for each of these types: app, bot, group, role, worker."""
    return (
        TypeFilter("owner", "Owned by one of these record types; any, none.", "owner"),
        *(_deep(uri) for uri in deep),
    )


def _deep(uri: str) -> Filter:
    if uri == "app":
        return AppFilter("owner.app", "Owned by the service; any word.", "owner")
    way = BelongsToContext("owner", context_of(uri))
    return DeepFilter(f"owner.{uri}", f"Owned by a matching {uri}.", uri, way)


def check(change: Change, writing: Writing) -> None:
    """Raises Required or Invalid unless the owner exists. Called in `prepare`."""
    if not _is_new(change):
        return
    context, id = change.value("owner__context"), change.value("owner_id")
    if context in (APP, ""):
        if id:
            owner = "the service" if context else "no owner"
            raise Invalid(f"owner_id: must be 0 for {owner}; name the type in owner__context", field="owner_id")
        return
    uri = short_context(context)
    if not id:
        raise Required(
            lazy_gettext("{field} is required: the id of a {type}", field="owner_id", type=uri), field="owner_id"
        )
    if writing.record(uri, id) is None:
        raise Invalid(
            about_field("owner_id", lazy_gettext("there is no {type} {id}", type=uri, id=id)), field="owner_id"
        )


def require(change: Change, writing: Writing) -> None:
    """Raises Forbidden unless the caller may name this owner: themselves, a group they manage, a role they edit, or a
    bot of one of these. Administrators may name any. Called in `privileged`.

    Anyone who may write the record may leave it without an owner."""
    if not _is_new(change) or writing.actor.is_admin:
        return
    context, id = change.value("owner__context"), change.value("owner_id")
    if context and not may_own_as(writing.tx, writing.actor, context, id):
        raise Forbidden(
            "owner: you can choose yourself, a group that you manage, a role that you edit or a bot "
            "of one of these; only administrators can choose others",
            field="owner__context",
        )


def may_own_as(tx: Transaction, actor: Caller, context: str, id: int) -> bool:
    """Whether the caller may name this owner and change its records, by the rosters in this transaction. For a bot, its
    owner decides."""
    if actor.is_admin:
        return True
    if actor.context != WORKER:
        return False
    if context == GROUP:
        return tx.first(GROUP_MEMBER, group_id=id, worker_id=actor.id, is_manager=1) is not None
    if context == ROLE:
        return tx.first(ROLE_WORKER, role_id=id, part="editor", worker_id=actor.id) is not None
    if context == BOT:
        owner = tx.row(_owner_of_bot, (id,))
        return owner is not None and may_own_as(tx, actor, *owner)
    return context == WORKER and id == actor.id


def _owner_of_bot() -> Any:
    bot: Any = table_named("bot")
    return bot.select(bot.c.owner__context, bot.c.owner_id).where(bot.c.id == slot(0))


def forget(writing: Writing, context: str, id: int) -> None:
    """Removes a deleted owner from its records: they keep the type of the owner, and only administrators may change
    them."""
    for each in writing.registry:
        if "owner__context" in each.initial:
            writing.touch(each.uri, owner__context=context, owner_id=id)
            _disown(writing.tx, each.table, context, id)


def _disown(tx: Transaction, table: Table, context: str, id: int) -> None:
    tx.run(lambda: _ownerless(table.sql), (0, context, id))


def _ownerless(owned: Any) -> Any:
    changed = owned.update({owned.owner_id: slot(0)})
    return changed.where(owned.owner__context == slot(1), owned.owner_id == slot(2))


def _is_new(change: Change) -> bool:
    return change.is_create or change.changes("owner__context") or change.changes("owner_id")


# -- as people type them -----------------------------------------------------------------------------------------------


def stored_owner(text: str) -> tuple[str, int] | None:
    """Parses CONTEXT:ID; None for anything else.

    >>> stored_owner("svc.contexts.group:3"), stored_owner("Group: Support #3")
    (('svc.contexts.group', 3), None)
    """
    match = _STORED.match(text)
    return (match[1], int(match[2])) if match else None


def typed_owner(registry: "Registry", text: str, field: str) -> tuple[str, int]:
    """Parses an owner into context and id: `svc.contexts.group:3`, `Group: Support #3`, or `everybody`. Raises Invalid
    for anything else. field: of the form, for the error."""
    text = text.strip()
    stored, match = stored_owner(text), _NAMED.match(text)
    if stored is not None:
        return stored
    if text.lower() in ("everybody", f"{EVERYBODY_LABEL} #0".lower()):
        return APP, 0
    for uri in TYPES:
        record_type = registry.type(uri)
        if match and match[1].lower() == in_sentence(record_type.label_names[0]):
            return record_type.context, int(match[2])
    raise Invalid(_("choose from the list, or enter Group: 3, Role: 3, Worker: 3 or Everybody"), field=field)
