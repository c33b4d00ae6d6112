"""Cookies of the console: the session, the visit of somebody who is not signed in, a message for the next page, a
device that somebody has signed in from, and a browser that is signing in at a provider.

Under https their names begin with __Host-, so that no other host of the domain can set them."""

from urllib.parse import quote, unquote

SESSION, VISIT, TOAST, DEVICE, SIGN_IN = "sid", "visit", "toast", "device", "signin"
PANES = "panes"  # "ticket" hides the list beside a ticket; set by scripts, like RAIL
RAIL = "rail"  # which groups of the rail are closed, with dots between; scripts set it, so it has one name everywhere


def name_of(kind: str, is_secure: bool) -> str:
    """The name of a cookie, with the prefix __Host- under https."""
    return f"__Host-{kind}" if is_secure else kind


def read(header: str, kind: str, is_secure: bool) -> str:
    """The value of a cookie in a Cookie header; "" if it is missing or sent twice with different values."""
    return value_of(header, name_of(kind, is_secure))


def value_of(header: str, full_name: str) -> str:
    """The value of the cookie with a name in a Cookie header, as read()."""
    values = set()
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == full_name:
            values.add(value.strip())
    return unquote(values.pop()) if len(values) == 1 else ""


def write(kind: str, value: str, is_secure: bool, seconds: int | None = None) -> str:
    """A Set-Cookie header. seconds: its Max-Age; None for a cookie of the browser session, 0 to remove it."""
    return header_of(name_of(kind, is_secure), value, is_secure, seconds)


def header_of(full_name: str, value: str, is_secure: bool, seconds: int | None, path: str = "/") -> str:
    """A Set-Cookie header for a cookie with a name, as write()."""
    parts = [f"{full_name}={quote(value, safe='')}", f"Path={path}", "HttpOnly", "SameSite=Lax"]
    if is_secure:
        parts.append("Secure")
    if seconds is not None:
        parts.append(f"Max-Age={seconds}")
    return "; ".join(parts)
