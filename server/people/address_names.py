"""The name of an address, as workers see it: of its contact, else the one in its mails."""

from server.record_types.base import Record
from server.record_types.parts import Reading


def name_of(reading: Reading, address: Record) -> str:
    """The name of an address, "" where it has none."""
    contact = reading.record("contact", address["contact_id"]) if address["contact_id"] else None
    return str((contact["full_name"] if contact is not None else "") or address["display_name"])


def named_address(reading: Reading, address_id: int) -> str:
    """`<name> <email>`, the address alone where it has no name; "" where there is no such address."""
    address = reading.record("address", address_id)
    if address is None:
        return ""
    name = name_of(reading, address)
    return f"{name} <{address['email']}>" if name else str(address["email"])
