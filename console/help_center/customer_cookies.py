"""Cookies of customers: the session, and the browser that has asked for a sign-in link.

They are of one host, and below /help-center of the path too, so that the console never gets them; the console's are not
read. Nobody who only reads has one."""

from console.help_center.visitor import Visitor
from console.http import cookies
from server.record_types.shared import brands

SESSION, BROWSER = "customer", "customer_asks"


def is_secure(visitor: Visitor) -> bool:
    """Whether the help center is at an https address."""
    return brands.address(visitor.service, visitor.brand).startswith("https://")


def read(visitor: Visitor, name: str) -> str:
    """The value of a cookie; "" if it is missing or sent twice with different values."""
    return cookies.value_of(visitor.request.headers.get("Cookie", ""), _full_name(visitor, name))


def write(visitor: Visitor, name: str, value: str, seconds: int) -> str:
    """A Set-Cookie header. seconds: its Max-Age, 0 to remove it."""
    full_name, path = _full_name(visitor, name), f"{visitor.prefix}/"
    return cookies.header_of(full_name, value, is_secure(visitor), seconds, path)


def _full_name(visitor: Visitor, name: str) -> str:
    """The name of a cookie, with the prefix by which browsers reject it from other hosts."""
    if visitor.prefix and is_secure(visitor):
        return f"__Secure-{name}"  # __Host- requires the path /
    return cookies.name_of(name, is_secure(visitor))
