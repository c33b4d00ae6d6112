"""Mail addresses that identify a sender or a worker of this service: a worker signs in with one; a group, a bucket or
the service sends from one.

A change of such an address changes the identity of a worker or sender, and the destination of mail and one-time
links."""

from typing import Any

from server.errors import AdminOnly, Conflict, Forbidden
from server.people import login_changes
from server.record_types.parts import Reading, Record, Writing
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.store.statements import slot
from server.store.tables import table_named
from server.translation import about_field, lazy_gettext

SENDERS = ("group", "bucket")


def require_external(writing: Writing, address: Record) -> None:
    """Raises AdminOnly for an address of a worker or sender, unless the caller is an administrator."""
    if writing.actor.is_admin:
        return
    use = _internal_use(writing, address)
    if use:
        raise AdminOnly(f"email: {address['email']} is {use}; only administrators may change it", field="email")


def require_readable_mail(writing: Writing, address_id: int) -> None:
    """Raises Forbidden if replies on tickets that the caller may not read go to this address: a change would redirect
    them."""
    if writing.tx.value(_hidden_ticket, (address_id, writing.actor.id)) is not None:
        raise Forbidden(
            "email: this address gets replies of tickets that you may not read; ask an administrator to change it",
            field="email",
        )


def require_free(writing: Writing, field: str, email: str, address: Record | None, worker_id: int) -> None:
    """Raises Conflict for `field` if this worker cannot have an address: another worker signs in with it, or did so
    until a change is confirmed, or a group or bucket sends from it. address: its record, if it exists."""
    id = address["id"] if address is not None else 0
    holder = login_changes.holder(writing.tx, email)
    main = writing.find("worker", email_id=id) if id else None
    others = (holder, main["id"] if main else 0, address["worker_id"] if address is not None else 0)
    other = next((each for each in others if each and each != worker_id), 0)
    if other:
        raise Conflict(
            about_field(field, lazy_gettext("'{value}' already belongs to worker {id}", value=email, id=other)),
            field=field,
        )
    for uri in SENDERS if id else ():
        sender = writing.find(uri, reply_address_id=id)
        if sender is not None:
            raise Conflict(f"{field}: {uri} {sender['id']} sends from {email}; choose another one", field=field)


def is_sender(reading: Reading, address: Record) -> bool:
    """Returns whether mail is sent from an address: by a group, a bucket, the service, or through its own transport."""
    id = address["id"]
    is_own = bool(address["mail_transport_id"]) or id == int(reading.setting("default_sender_id") or 0)
    return is_own or any(reading.find(uri, reply_address_id=id) is not None for uri in SENDERS)


def _internal_use(writing: Writing, address: Record) -> str:
    """Returns the internal use of an address, "" if it has none."""
    if address["worker_id"] or writing.find("worker", email_id=address["id"]):
        return "the address of a worker"
    return "an address that mail is sent from" if is_sender(writing, address) else ""


def _hidden_ticket() -> Any:
    requester, ticket = table_named("requester"), table_named("ticket")
    group, member = table_named("group").alias("its_group"), GROUP_MEMBER.sql
    mine = member.select(member.group_id).where(member.worker_id == slot(1))
    return (
        requester.select(ticket.c.id)
        .join(ticket, on=(ticket.c.id == requester.c.ticket_id))
        .join(group, on=(group.c.id == ticket.c.group_id))
        .where(requester.c.address_id == slot(0), group.c.is_private == 1, group.c.id.not_in(mine))
        .limit(1)
    )
