"""The name of an address as workers see it: that of its contact, or else the one from its mails."""

from server.record_types.parts import Reading
from server.record_types.record_type import Record


def name_of(reading: Reading, address: Record) -> str:
    """Returns the name of an address, "" if it has none."""
    contact = reading.record("contact", address["contact_id"]) if address["contact_id"] else None
    return str((contact["full_name"] if contact is not None else "") or address["display_name"])


def named_address(reading: Reading, address_id: int) -> str:
    """Returns `<name> <email>`, only the address if it has no name; "" if the address does not exist."""
    address = reading.record("address", address_id)
    if address is None:
        return ""
    name = name_of(reading, address)
    return f"{name} <{address['email']}>" if name else str(address["email"])
