"""Names of senders: stores the display name on their address, and creates or completes their contact.

Strangers choose these names, so only empty names are filled in: mail cannot rename a person. Every worker may read
addresses and contacts, so names from mail to a private group are stored only on its messages."""

from server.context import Context
from server.contexts import CONTACT
from server.mail import display_names
from server.mail.parse import Mail
from server.mailroom.sender import Author
from server.record_types.record_type import Record
from server.records.writing import RecordWriter

CREATE_CONTACTS = f"contexts.{CONTACT}.create"


def store_name(ctx: Context, writing: RecordWriter, mail: Mail, author: Author, ticket_id: int) -> None:
    """Stores the display name of a sender on the address and the contact.

    ctx: of the actor who handed the mail in, whose rights apply. Programs get no contact; the names of workers and of
    our own addresses come from elsewhere."""
    address = author.address
    name = display_names.clean(mail.sender_name, address["email"])
    if not name or author.is_workers or author.is_forged or address.get("is_own") or mail.bounce is not None:
        return
    needs_contact = not mail.is_machine_written and not mail.is_notice
    contact = writing.record("contact", address["contact_id"]) if address["contact_id"] else None
    if address["display_name"] and (contact is not None or not needs_contact):
        if contact is not None and not contact["last_name"]:
            _complete(writing, contact, name, ticket_id)
        return
    if _is_private(writing, ticket_id):
        return
    service = writing.as_service()
    if not address["display_name"]:
        service.update("address", address["id"], {"display_name": name})
    if contact is not None:
        _complete(writing, contact, name, ticket_id)
    elif needs_contact and _may_create(ctx):
        first, last = display_names.first_and_last(name)
        service.create(
            "contact",
            {
                "first_name": first,
                "last_name": last,
                "email_id": address["id"],
                "org_id": address["org_id"],
            },
        )


def _complete(writing: RecordWriter, contact: Record, name: str, ticket_id: int) -> None:
    """Fills in the name of a contact without one, or a missing last name if the first names match."""
    first, last = display_names.first_and_last(name)
    is_same = contact["first_name"].casefold() == first.casefold()
    if contact["last_name"] or (contact["first_name"] and not (is_same and last)) or _is_private(writing, ticket_id):
        return
    writing.as_service().update(
        "contact", contact["id"], {"first_name": contact["first_name"] or first, "last_name": last}
    )


def _is_private(writing: RecordWriter, ticket_id: int) -> bool:
    ticket = writing.record("ticket", ticket_id)
    group = writing.record("group", ticket["group_id"]) if ticket is not None else None
    return group is None or bool(group["is_private"])


def _may_create(ctx: Context) -> bool:
    return not ctx.actor.worker_id or ctx.actor.may(CREATE_CONTACTS)
