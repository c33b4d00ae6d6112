"""Adds or removes one requester of a ticket by mail address.

tickets/requesters.py writes the rows and the activity entries."""

from server.context import Context
from server.errors import Invalid, Required
from server.record_types.shared.named_records import address_in, address_of
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets import requesters
from server.translation import N_, lazy_gettext


def add(ctx: Context, ticket_id: int, email: str) -> None:
    """Makes an address a requester, so that it gets replies; creates an unknown address. Does nothing if it is one
    already.

    Raises NotFound, Forbidden, Required, and Invalid for an invalid address or a sender address of the service."""
    email = _checked(email)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        writing.require("update", "ticket", ticket_id)
        address = writing.record("address", address_of(writing, email, "email"))
        if address is None or not requesters.may_request(address, writing.setting("mail_exclude_patterns")):
            raise Invalid(f"email: '{email[:80]}' may not be a requester", field="email")
        requesters.add(writing, ticket_id, [address["id"]])

    ctx.service.store.write(write)


def remove(ctx: Context, ticket_id: int, email: str) -> None:
    """Removes a requester; does nothing if the address is not one. Raises NotFound, Forbidden, Required."""
    email = _checked(email)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        writing.require("update", "ticket", ticket_id)
        address = writing.find("address", email=email)
        if address is not None:
            requesters.remove(writing, ticket_id, [address["id"]])

    ctx.service.store.write(write)


def _checked(email: str) -> str:
    if not email.strip():
        raise Required(
            lazy_gettext("{field} is required: {what}", field="email", what=N_("the address of the requester")),
            field="email",
        )
    return address_in(email, "email")
