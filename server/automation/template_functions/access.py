"""Privileges and access to records, for the actor who started the script or for another worker."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.access import actor as actors
from server.access.actor import Actor
from server.access.rules import Rules
from server.automation.template_functions import template_function
from server.errors import Forbidden, Invalid
from server.store.transaction import Transaction
from server.template.values import printed, whole

if TYPE_CHECKING:
    from server.automation.automation_service import ServiceHost

APP_NAMES = frozenset(("app", "application", actors.APP))


@template_function("svc_has_priv")
def svc_has_priv(host: "ServiceHost") -> Callable[..., bool]:
    """Returns whether the actor has a privilege; false for an unknown actor."""

    def answer(privilege: Any, actor_type: Any, actor_id: Any) -> bool:
        actor = host.ctx.service.store.read(lambda tx: _actor(host, tx, actor_type, actor_id))
        return actor is not None and actor.may(printed(privilege))

    return answer


@template_function("svc_record_readable")
def svc_record_readable(host: "ServiceHost") -> Callable[..., bool]:
    """Returns whether the actor may read a record. Raises NotFound for an unknown type."""
    return lambda *args: _may(host, "read", *args)


@template_function("svc_record_writeable")
def svc_record_writeable(host: "ServiceHost") -> Callable[..., bool]:
    """Returns whether the actor may change a record. Raises NotFound for an unknown type."""
    return lambda *args: _may(host, "update", *args)


def _may(host: "ServiceHost", operation: str, type: Any, id: Any, actor_type: Any, actor_id: Any) -> bool:
    registry = host.ctx.service.registry
    record_type = registry.type(printed(type))

    def read(tx: Transaction) -> bool:
        actor = _actor(host, tx, actor_type, actor_id)
        row = tx.get(record_type.table, whole(id))
        if actor is None or row is None:
            return False
        rules = Rules(registry, actor)
        try:
            rules.require(tx, "read", record_type, record_type.record(row))
            rules.require(tx, operation, record_type, record_type.record(row))
        except Forbidden:
            return False
        return True

    return host.ctx.service.store.read(read)


def _actor(host: "ServiceHost", tx: Transaction, type: Any, id: Any) -> Actor | None:
    """Returns the actor of a type and id; the one who started the script for null. Raises Invalid for other types."""
    name = printed(type)
    if not name:
        return host.caller
    if name in APP_NAMES:
        return actors.system(host.zone)
    record_type = host.ctx.service.registry.find(name)
    if record_type is None or record_type.context != actors.WORKER:
        raise Invalid(f"'{name[:80]}' cannot act; use a worker or the application")
    return actors.worker(tx, whole(id))
