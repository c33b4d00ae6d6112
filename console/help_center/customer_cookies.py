"""Cookies of customers: the session, and the browser that has asked for a sign-in link.

They are of one host, and below /help-center of the path too, so that the console never gets them; the console's are not
read. Nobody who only reads has one."""

from urllib.parse import quote, unquote

from console.help_center.visitor import Visitor
from server.record_types.shared import brands

SESSION, BROWSER = "customer", "customer_asks"
HOST_PREFIX, SECURE_PREFIX = "__Host-", "__Secure-"


def is_secure(visitor: Visitor) -> bool:
    """Whether the help center is at an https address."""
    return brands.address(visitor.service, visitor.brand).startswith("https://")


def full_name(visitor: Visitor, name: str) -> str:
    """The name of a cookie, with the prefix by which browsers reject it from other hosts."""
    if not is_secure(visitor):
        return name
    return f"{SECURE_PREFIX if visitor.prefix else HOST_PREFIX}{name}"


def read(visitor: Visitor, name: str) -> str:
    """The value of a cookie; "" if it is missing or sent twice with different values."""
    wanted, values = full_name(visitor, name), set()
    for part in visitor.request.headers.get("Cookie", "").split(";"):
        sent, _, value = part.strip().partition("=")
        if sent == wanted:
            values.add(value.strip())
    return unquote(values.pop()) if len(values) == 1 else ""


def write(visitor: Visitor, name: str, value: str, seconds: int) -> str:
    """A Set-Cookie header. seconds: its Max-Age, 0 to remove it."""
    path = f"{visitor.prefix}/"
    parts = [f"{full_name(visitor, name)}={quote(value, safe='')}", f"Path={path}", "HttpOnly", "SameSite=Lax"]
    if is_secure(visitor):
        parts.append("Secure")
    return "; ".join([*parts, f"Max-Age={seconds}"])
