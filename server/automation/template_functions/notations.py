"""Other notations: KATA and mail addresses, which the template language does not know."""

from typing import Any

from server.automation.template_functions import plain_function
from server.errors import KataSyntax
from server.kata import encode, parse
from server.mail import addresses


@plain_function("kata_parse")
def kata_parse(text: str) -> Any:
    """The tree of a text, keys with their annotations; false for a text with a mistake."""
    try:
        return parse(text).tree
    except KataSyntax:
        return False


@plain_function("kata_encode")
def kata_encode(values: Any) -> str:
    """The text of a map."""
    return encode(values)


@plain_function("validate_email")
def validate_email(text: str) -> bool:
    """Whether this is exactly one address that mail can be sent to."""
    return addresses.valid(text.strip())


@plain_function("parse_emails")
def parse_emails(text: str) -> list[dict[str, str]]:
    """The addresses in a list of them: [{full_email, email, mailbox, host, personal}], the address in small letters."""
    found = []
    for name, address in addresses.parse_list(text):
        mailbox, _, host = address.lower().rpartition("@")
        found.append(
            {
                "full_email": addresses.format_address(name, address),
                "email": address.lower(),
                "mailbox": mailbox,
                "host": host,
                "personal": name,
            }
        )
    return found
