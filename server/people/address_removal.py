"""Deletes mail addresses: reports the uses of an address first, and detaches them once the deletion is confirmed."""

from typing import Any

from server.errors import Conflict, TooLarge
from server.record_types.record_type import Record, Writing
from server.record_types.shared.dangling_references import redirect
from server.record_types.shared.relation_tables import REQUESTER
from server.records.service_settings import DEFAULT_SENDER
from server.store.statements import slot
from server.store.tables import table_named

MAX_USERS = 20_000  # records of one type that lose an address at once; more would hold up the one writer
# {table: (column, name of its records)} of the records that stay without the address.
USERS = {
    "message": ("sender_id", "messages"),
    "requester": ("address_id", "tickets as requester"),
    "contact": ("email_id", "contacts"),
    "org": ("email_id", "organizations"),
}
_POINTING = (
    *((table, column) for table, (column, _) in USERS.items() if table != "requester"),
    ("ticket", "first_wrote_address_id"),
    ("ticket", "last_wrote_address_id"),
)


def check(writing: Writing, address: Record) -> None:
    """Raises Conflict for an address that a worker signs in with or that sends email, and for an address in use unless
    the deletion is confirmed; TooLarge if too many records use it."""
    id, email = address["id"], address["email"]
    if address["worker_id"]:
        raise Conflict(f"{email} belongs to worker {address['worker_id']}; remove it from them first")
    is_sender = any(writing.find(uri, reply_address_id=id) is not None for uri in ("group", "bucket"))
    if address["mail_transport_id"] or is_sender or writing.setting(DEFAULT_SENDER) == id:
        raise Conflict(f"{email} is a sender address of the helpdesk; choose another sender first")
    counts = _counts(writing, id)
    too_many = next((name for name, count in counts.items() if count > MAX_USERS), "")
    if too_many:
        raise TooLarge(f"more than {MAX_USERS:,} {too_many} use {email}; it cannot be deleted", limit=MAX_USERS)
    if counts and not writing.is_confirmed:
        uses = ", ".join(f"{name} ({count})" for name, count in counts.items())
        raise Conflict(
            f"{email} is used by {uses}. Send confirm=1 to delete it: they are kept, without the address", confirm=True
        )


def detach(writing: Writing, id: int) -> None:
    """Removes an address from all records that use it."""
    for table, column in _POINTING:
        redirect(writing, table, column, id)
    writing.tx.delete(REQUESTER, address_id=id)
    automatic: Any = table_named("mail_automatic")  # counts of its automatic mail, which refer to the row
    writing.tx.run(lambda: automatic.delete().where(automatic.c.address_id == slot(0)), (id,))


def _counts(writing: Writing, id: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, (column, called) in USERS.items():
        table: Any = REQUESTER if name == "requester" else writing.registry.type(name).table
        count = len(writing.tx.some(table, MAX_USERS + 1, **{column: id}))
        if count:
            counts[called] = count
    return counts
