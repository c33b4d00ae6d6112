"""Mail addresses that stand for one of us: a worker signs in with one, a group, a bucket or the service sends from one.

Who changes such an address changes who somebody is, and where mail and one-time links go."""

from typing import Any

from server.errors import AdminOnly, Conflict, Forbidden
from server.people import login_changes
from server.record_types.parts import Record, Writing
from server.record_types.shared.tables import GROUP_MEMBER
from server.store.statements import slot
from server.store.tables import table_named
from server.translation import about_field, lazy_gettext

SENDERS = ("group", "bucket")


def require_nobodys(writing: Writing, address: Record) -> None:
    """Raises AdminOnly for an address that stands for one of us, unless an administrator asks."""
    if writing.actor.is_admin:
        return
    whose = _whose(writing, address)
    if whose:
        raise AdminOnly(f"email: {address['email']} is {whose}; only administrators change it", field="email")


def require_readable_mail(writing: Writing, address_id: int) -> None:
    """Raises Forbidden where tickets that the caller may not read are answered to this address: another one would get
    their replies."""
    if writing.tx.value(_hidden_ticket, (address_id, writing.actor.id)) is not None:
        raise Forbidden(
            "email: this address gets the replies on tickets that you may not read; ask an administrator to change it",
            field="email",
        )


def require_free(writing: Writing, field: str, email: str, address: Record | None, worker_id: int) -> None:
    """Raises Conflict, naming `field`, where this worker cannot have an address: it is another worker's, or will be
    until they have confirmed another one, or a group or bucket sends from it. address: its record, None for none."""
    id = address["id"] if address is not None else 0
    holder = login_changes.holder(writing.tx, email)
    main = writing.find("worker", email_id=id) if id else None
    others = (holder, main["id"] if main else 0, address["worker_id"] if address is not None else 0)
    other = next((each for each in others if each and each != worker_id), 0)
    if other:
        raise Conflict(
            about_field(field, lazy_gettext("'{value}' belongs to worker {id} already", value=email, id=other)),
            field=field,
        )
    for uri in SENDERS if id else ():
        sender = writing.find(uri, reply_address_id=id)
        if sender is not None:
            raise Conflict(f"{field}: {uri} {sender['id']} sends from {email}; choose another one", field=field)


def _whose(writing: Writing, address: Record) -> str:
    """The record of ours that an address belongs to, "" for none."""
    id = address["id"]
    if address["worker_id"] or writing.find("worker", email_id=id):
        return "the address of a worker"
    sends = address["mail_transport_id"] or id == int(writing.setting("default_sender_id") or 0)
    if sends or any(writing.find(uri, reply_address_id=id) for uri in SENDERS):
        return "an address that mail is sent from"
    return ""


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
