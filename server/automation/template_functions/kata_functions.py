"""Notations that the template language does not support: KATA and mail addresses."""

from typing import Any

from server.automation.template_functions import plain_function
from server.errors import KataSyntax
from server.kata import encode, parse
from server.mail import addresses


@plain_function("kata_parse")
def kata_parse(text: str) -> Any:
    """Parses KATA into a tree with annotated keys; returns false for invalid text."""
    try:
        return parse(text).tree
    except KataSyntax:
        return False


@plain_function("kata_encode")
def kata_encode(values: Any) -> str:
    """Returns a map as KATA."""
    return encode(values)


@plain_function("validate_email")
def validate_email(text: str) -> bool:
    """Returns whether the text is exactly one deliverable mail address."""
    return addresses.valid(text.strip())


@plain_function("parse_emails")
def parse_emails(text: str) -> list[dict[str, str]]:
    """Returns the addresses in a list: [{full_email, email, mailbox, host, personal}], with the address in lower
    case."""
    mailboxes = []
    for name, address in addresses.parse_list(text):
        mailbox, _, host = address.lower().rpartition("@")
        mailboxes.append(
            {
                "full_email": addresses.format_address(name, address),
                "email": address.lower(),
                "mailbox": mailbox,
                "host": host,
                "personal": name,
            }
        )
    return mailboxes
