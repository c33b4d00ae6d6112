"""The author's name of a message."""

from server.mail import display_names
from server.mail.addresses import NamedAddress, parse_list
from server.mail.headers import header_value
from server.record_types.record_type import Record
from server.records.reading import RecordReader
from server.tickets.types.message_parts import stored_headers


def writer_name(reading: RecordReader, message: Record) -> str:
    """Returns the author's name: of the worker, of the contact of the address, or as given in the mail; else the
    address."""
    author = writer(reading, message)
    return author.name or author.address


def writer(reading: RecordReader, message: Record) -> NamedAddress:
    """Returns the sender address of a message with the author's name, "" for none."""
    address = reading.record("address", message["sender_id"])
    email = address["email"] if address else ""
    if message["is_outgoing"] and message["worker_id"]:
        return NamedAddress(reading.label("worker", message["worker_id"]), email)
    contact = reading.label("contact", address["contact_id"]) if address and address["contact_id"] else ""
    display_name = message["from_name"] or (address["display_name"] if address else "")
    return NamedAddress(contact.strip() or display_name or _name_in_header(message, email), email)


def _name_in_header(message: Record, email: str) -> str:
    """The name in the headers, for messages stored before names were."""
    fields = stored_headers.head(message["headers"])
    for field in ("reply-to", "from"):
        for each in parse_list(fields.first(field)):
            if each.address.lower() == email.lower() and each.name.strip():
                return display_names.clean(header_value(each.name), email)
    return ""
