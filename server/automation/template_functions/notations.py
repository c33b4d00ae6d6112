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
