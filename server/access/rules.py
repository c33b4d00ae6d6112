"""Decides who may read, create, change and delete which records, in the same way for every interface.

Record types refer to the rules by name (record_types/parts.py, Access); rules that follow a parent record are rows of
parents.py. Reading is a condition on rows, so that searches, totals, expands and single records agree; writing is
checked for one record."""

import functools
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import peewee

from server.access.actor import APP, WORKER, Actor
from server.access.parents import PARENTS, Parent
from server.contexts import BOT, GROUP, ROLE
from server.errors import AdminOnly, Forbidden
from server.record_types.record_type import Change, Record, RecordType
from server.record_types.registry import Registry
from server.record_types.shared import record_owners
from server.search import readable as readables
from server.search.conditions import (
    ALWAYS,
    NEVER,
    Condition,
    Shape,
    all_of,
    any_of,
    equals,
    negated,
    one_of,
    slots_from,
)
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import lazy_gettext

NOTHING = ("",)  # the context of a pair that points nowhere
ME = object()  # the id of the worker, in conditions that workers with the same rights share
MAX_DEPTH = 3  # files on comments on files: deeper ones are readable only by administrators
# Cached sets of conditions; each takes up to a megabyte. That for attachments takes 2.5 milliseconds to compose.
MAX_CACHED = 32
Conditions = dict[tuple[RecordType, int], Condition]


class Rules:
    """The rules for one actor."""

    def __init__(self, registry: Registry, actor: Actor) -> None:
        self.registry = registry
        self.actor = actor
        self._shared = _shared_conditions(registry, actor)
        self._readable: dict[RecordType, Condition] = {}

    # -- reading ----------------------------------------------------------------------------------------------------

    def readable(self, record_type: RecordType) -> Condition:
        """Returns the condition for the records of this type that the actor may read."""
        if self.actor.is_admin:
            return ALWAYS
        condition = self._readable.get(record_type)
        if condition is None:
            condition = self._readable[record_type] = _of_worker(
                self._readable_by_me(record_type), self.actor.worker_id
            )
        return condition

    def _readable_by_me(self, record_type: RecordType, depth: int = 0) -> Condition:
        """Returns the same condition with ME for the worker."""
        condition = self._shared.get((record_type, depth))
        if condition is None:
            rule = READ_RULES[record_type.access.read]
            condition = NEVER if depth >= MAX_DEPTH else rule(self, record_type, depth)
            if self.actor.own_only:
                condition = all_of([condition, self._own(record_type)])
            if condition is not ALWAYS and condition is not NEVER:
                condition = replace(condition, key=Shape(condition.key))
            self._shared[record_type, depth] = condition
        return condition

    def readers(self, record_type: RecordType) -> tuple[Hashable, ...]:
        """Returns a key that the actor shares with all who may read the same records of this type."""
        is_personal = not self.actor.is_admin and ME in self._readable_by_me(record_type).values
        return self.actor.reading if is_personal else self.actor.read_rights

    def may_read(self, tx: Transaction, record_type: RecordType, id: int) -> bool:
        """Returns whether the actor may read this record."""
        condition = self.readable(record_type)
        if condition is ALWAYS:
            return True
        if condition is NEVER:
            return False
        table = record_type.table.sql
        return bool(
            tx.value(
                lambda: table.select(table.id).where(
                    condition.build(slots_from(0)), table.id == slot(len(condition.values))
                ),
                (*condition.values, id),
            )
        )

    def _own(self, record_type: RecordType) -> Condition:
        """Returns the condition for records of the actor. Types that follow another record are restricted by their rule
        alone."""
        if record_type.access.read in HANGING:
            return ALWAYS
        own, column = own_column(record_type), record_type.column
        if not own:
            return NEVER
        conditions = [equals(column(own), ME)]
        if "owner__context" in record_type.initial:
            conditions.append(equals(column("owner__context"), WORKER))
        return all_of(conditions)

    def _any_worker(self, record_type: RecordType, depth: int) -> Condition:
        return ALWAYS

    def _admins(self, record_type: RecordType, depth: int) -> Condition:
        return NEVER

    def _group(self, record_type: RecordType, depth: int) -> Condition:
        groups = self.actor.reads_groups
        return ALWAYS if groups is None else one_of(record_type.column("group_id"), sorted(groups))

    def _worker(self, record_type: RecordType, depth: int) -> Condition:
        return equals(record_type.column("worker_id"), ME)

    def _owner(self, record_type: RecordType, depth: int) -> Condition:
        owner, id = record_type.column("owner__context"), record_type.column("owner_id")
        rules = self._owners(owner, id)
        if BOT in getattr(record_type.fields["owner__context"], "allowed", ()):
            rules.append(all_of([equals(owner, BOT), self._follows(PARENTS["bot"], id, depth)]))
        if record_type.ownerless_is_open:
            rules.append(equals(owner, ""))
        return any_of(rules)

    def _macro_owner(self, record_type: RecordType, depth: int) -> Condition:
        """Automations that belong to nobody, and the macros of owners whose records the actor may read."""
        owner, id = record_type.column("available_context"), record_type.column("available_id")
        return any_of([equals(owner, ""), *self._owners(owner, id)])

    def _owners(self, owner: Any, id: Any) -> list[Condition]:
        """Returns the conditions of the owners whose records the actor may read, besides bots."""
        actor = self.actor
        groups = (
            equals(owner, GROUP)
            if actor.reads_groups is None
            else all_of([equals(owner, GROUP), one_of(id, sorted(actor.reads_groups))])
        )
        return [
            equals(owner, APP),
            groups,
            all_of([equals(owner, ROLE), one_of(id, sorted(actor.reads_roles))]),
            all_of([equals(owner, WORKER), equals(id, ME)]),
        ]

    def _parent(self, record_type: RecordType, depth: int) -> Condition:
        parent = PARENTS[record_type.access.read]
        return self._follows(parent, record_type.column(parent.column), depth)

    def _rating(self, record_type: RecordType, depth: int) -> Condition:
        """Ratings of readable tickets: of the worker's own ones, of groups that the worker manages, and of all with the
        privilege."""
        ticket = self._follows(PARENTS["ticket"], record_type.column("ticket_id"), depth)
        groups = self.actor.rated_groups
        if groups is None:
            return ticket
        managed = one_of(record_type.column("group_id"), sorted(groups))
        return all_of([ticket, any_of([self._worker(record_type, depth), managed])])

    def _worker_or_ticket(self, record_type: RecordType, depth: int) -> Condition:
        """Records of a worker on a ticket are visible to readers of the ticket; those without a ticket are private."""
        on_ticket = negated(equals(record_type.column("ticket_id"), 0))
        ticket = self._follows(PARENTS["ticket"], record_type.column("ticket_id"), depth)
        shared = on_ticket if ticket is ALWAYS else ticket
        return any_of([self._worker(record_type, depth), shared])

    def _follows(self, parent: Parent, id: Any, depth: int) -> Condition:
        record_type = self.registry.type(parent.type)
        condition = self._readable_by_me(record_type, depth)
        if condition is ALWAYS or condition is NEVER:
            return condition
        return readables.behind(id, record_type, condition)

    def _target(self, record_type: RecordType, depth: int) -> Condition:
        """A record with a second reference (about) besides its target is readable only if both are."""
        if depth and "about_id" in record_type.initial:
            return NEVER  # no record follows entries, and to follow them would double the condition at each level
        column = record_type.column
        target = self._points_to_readable(column("target__context"), column("target_id"), depth + 1)
        if "is_administrative" in record_type.initial:
            target = all_of([target, self._is_no_act_of_others(column)])
        if "about_id" not in record_type.initial:
            return target
        about = self._points_to_readable(column("about__context"), column("about_id"), depth + 1, NOTHING)
        return all_of([target, about])

    def _is_no_act_of_others(self, column: Callable[[str], Any]) -> Condition:
        """Administrative acts are visible to administrators, to the worker who performed them and to the worker
        affected."""
        sides = [
            all_of([equals(column(f"{side}__context"), WORKER), equals(column(f"{side}_id"), ME)])
            for side in ("actor", "target")
        ]
        return any_of([equals(column("is_administrative"), 0), *sides])

    def _attached(self, record_type: RecordType, depth: int) -> Condition:
        attached = table_named("attached").alias(f"attached{depth}")
        own = record_type.column("id")
        inner = self._points_to_readable(
            peewee.Column(attached, "context"), peewee.Column(attached, "record_id"), depth + 1
        )

        def build(at: Any) -> Any:
            somewhere = attached.select(attached.c.attachment_id).where(inner.build(at))
            anywhere = attached.select(attached.c.attachment_id)
            mine = (record_type.column("uploader_id") == at(len(inner.values))) & own.not_in(anywhere)
            return own.in_(somewhere) | mine

        return Condition(("attached", depth, inner.key), (*inner.values, ME), build)

    def _points_to_readable(self, context: Any, id: Any, depth: int, further: tuple[str, ...] = ()) -> Condition:
        """Returns the condition that a pair of context and id refers to a record that the actor may read."""
        readable = functools.partial(self._readable_by_me, depth=depth)
        return readables.points_to_readable(self.registry, readable, context, id, (APP, *further))

    # -- writing ----------------------------------------------------------------------------------------------------

    def require_same_person(self, change: Change) -> None:
        """Raises Forbidden if a change hands over a record to another worker, for types that the actor may change but
        create only as their own."""
        access = change.type.access
        for rule, columns in WHOSE.items():
            if rule not in access.create or rule in access.update or self.actor.is_admin:
                continue
            changed = next((column for column in columns if change.changes(column)), None)
            if changed is not None:
                name = change.type.label_names[0].lower()
                raise Forbidden(f"{changed}: only administrators may hand over a {name}", field=changed)

    def require_create(self, record_type: RecordType) -> None:
        """Raises Forbidden if the actor may never create records of this type. `require` checks the rules that depend
        on the values of the finished record."""
        for rule in record_type.access.create:
            if rule in ("privilege", "admins", "nobody"):
                self._require_rule(rule, record_type, "create", {}, None)

    def require(self, tx: Transaction, operation: str, record_type: RecordType, record: Record) -> None:
        """Raises Forbidden unless the actor may perform this operation on this record: read, create, update or
        delete."""
        if operation == "read":
            if not self.may_read(tx, record_type, record["id"]):
                raise Forbidden(lazy_gettext("you may not read {type} {id}", type=record_type.uri, id=record["id"]))
            return
        if operation != "create":
            self.require_own(tx, record_type, record["id"])
        for rule in getattr(record_type.access, operation):
            self._require_rule(rule, record_type, operation, record, tx)

    def claim(self, change: Change) -> None:
        """Assigns a new ticket or task without an owner to the actor, if the actor reaches only their own records."""
        columns = change.type.initial
        if self.actor.own_only and change.is_create and "owner_id" in columns and "owner__context" not in columns:
            change.new["owner_id"] = change.value("owner_id") or self.actor.worker_id

    def require_own(self, tx: Transaction, record_type: RecordType, id: int) -> None:
        """Raises Forbidden for a record of others if the actor reaches only their own."""
        if self.actor.own_only and not self.may_read(tx, record_type, id):
            raise Forbidden(
                f"{record_type.uri} {id} is not one of your own records, and this app can access only those"
            )

    def _require_rule(
        self, rule: str, record_type: RecordType, operation: str, record: Record, tx: Transaction | None
    ) -> None:
        name = record_type.label_names[1].lower()
        if rule == "nobody":
            raise Forbidden(f"{name} cannot be {operation}d through the API")
        if self.actor.is_admin:
            return
        if rule == "admins":
            raise AdminOnly(lazy_gettext("only administrators may {act} {what}", act=operation, what=name))
        if rule == "privilege":
            privilege = f"contexts.{record_type.context}.{operation}"
            if not self.actor.may(privilege):
                raise Forbidden(
                    lazy_gettext(
                        "you may not {act} {what}; ask for a role with the privilege {privilege}",
                        act=operation,
                        what=name,
                        privilege=privilege,
                    )
                )
            return
        assert tx is not None
        if not self._holds(rule, record_type, record, tx):
            reason = PARENTS[rule].reason if rule in PARENTS else REASONS[rule]
            raise Forbidden(
                lazy_gettext(
                    "you may not {act} this {type}: {reason}",
                    act=operation,
                    type=record_type.label_names[0].lower(),
                    reason=reason,
                )
            )

    def _holds(self, rule: str, record_type: RecordType, record: Record, tx: Transaction) -> bool:
        if rule in PARENTS:
            return self._may_change(PARENTS[rule], record[PARENTS[rule].column], tx)
        return WRITE_RULES[rule](self, record_type, record, tx)

    def _may_change(self, parent: Parent, id: int, tx: Transaction) -> bool:
        record_type = self.registry.type(parent.type)
        row = tx.get(record_type.table, id)
        return row is not None and self._holds(parent.rule, record_type, record_type.record(row), tx)

    def _is_group_member(self, record_type: RecordType, record: Record, tx: Transaction) -> bool:
        return record["group_id"] in self.actor.member_of

    def _manages_its_group(self, record_type: RecordType, record: Record, tx: Transaction) -> bool:
        return record["group_id"] in self.actor.manages

    def _manages_this_group(self, record_type: RecordType, record: Record, tx: Transaction) -> bool:
        return record["id"] in self.actor.manages

    def _is_owner(self, record_type: RecordType, record: Record, tx: Transaction) -> bool:
        context, id = record["owner__context"], record["owner_id"]
        if context == "" and record_type.ownerless_is_open:
            return True
        return record_owners.may_own_as(tx, self.actor, context, id)

    def _is_its_worker(self, record_type: RecordType, record: Record, tx: Transaction) -> bool:
        return bool(record["worker_id"] == self.actor.worker_id)

    def _is_author(self, record_type: RecordType, record: Record, tx: Transaction) -> bool:
        return bool(record["author__context"] == WORKER and record["author_id"] == self.actor.worker_id)


def own_column(record_type: RecordType) -> str:
    """Returns the column that names the worker who owns a record; "" for a type whose records have no owner."""
    return "id" if record_type.uri == "worker" else next((n for n in OWNING if n in record_type.initial), "")


def may_be_own(record_type: RecordType) -> bool:
    """Returns whether records of a type can belong to a worker, directly or through another record."""
    return record_type.access.read in HANGING or bool(own_column(record_type))


def _of_worker(condition: Condition, worker_id: int) -> Condition:
    """Returns a shared condition with the id of a worker in place of ME."""
    if ME not in condition.values:
        return condition
    values = tuple(worker_id if each is ME else each for each in condition.values)
    return replace(condition, values=values, parts=tuple(_of_worker(each, worker_id) for each in condition.parts))


def _shared_conditions(registry: Registry, actor: Actor) -> Conditions:
    """Returns the conditions that all actors with the same rights share, cached as long as the types stay the same. The
    type itself is part of the key: a custom type whose transaction failed leaves its name to another one."""
    cache: dict[Any, Conditions] = registry.cache.setdefault(Rules, {})
    rights = actor.read_rights
    conditions = cache.get(rights)
    if conditions is None:
        if len(cache) >= MAX_CACHED:
            cache.clear()
        conditions = cache[rights] = {}
    return conditions


READ_RULES: dict[str, Callable[[Rules, RecordType, int], Condition]] = {
    **dict.fromkeys(PARENTS, Rules._parent),
    "any worker": Rules._any_worker,
    "admins": Rules._admins,
    "group": Rules._group,
    "macro owner": Rules._macro_owner,
    "owner": Rules._owner,
    "rating": Rules._rating,
    "worker": Rules._worker,
    "worker or ticket": Rules._worker_or_ticket,
    "attached": Rules._attached,
    "target": Rules._target,
}
WRITE_RULES: dict[str, Callable[[Rules, RecordType, Record, Transaction], bool]] = {
    "group members": Rules._is_group_member,
    "group managers": Rules._manages_its_group,
    "group manager": Rules._manages_this_group,
    "owner": Rules._is_owner,
    "worker": Rules._is_its_worker,
    "author": Rules._is_author,
}
HANGING = frozenset((*PARENTS, "attached", "target", "worker", "worker or ticket"))  # rules that follow another record
OWNING = ("owner_id", "worker_id")  # columns that name the owner of a record
WHOSE = {"worker": ("worker_id",), "author": ("author__context", "author_id")}  # the columns that a rule reads
REASONS = {
    "group members": "only members of its group and administrators may",
    "group managers": "only managers of its group and administrators may",
    "group manager": "only its managers and administrators may",
    "owner": "only those who may act for its owner may",
    "worker": "only its worker and administrators may",
    "author": "only its author and administrators may",
}
