"""The address of a webhook, and the parts of a request that are withheld from its script.

A webhook responds on the origin of the console unless webhook_base_url gives webhooks a host of their own. A browser
sends the console's cookies along either way."""

import re
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import urlsplit

from server.access.tokens import PREFIXES
from server.dataclass import dataclass
from server.errors import Invalid

MAX_COOKIE_CHARS = 4096
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}\Z")
_SECONDS = re.compile(r"-?[0-9]{1,10}\Z")
Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class WebhookLocation:
    """The location of a webhook. path: as seen by browsers. is_apart: whether its host is that of webhook_base_url,
    which serves only webhooks."""

    path: str
    is_secure: bool = False
    is_apart: bool = False

    @classmethod
    def from_url(cls, url: str, is_apart: bool = False) -> "WebhookLocation":
        """Returns the location of a webhook's address."""
        parts = urlsplit(url)
        return cls(parts.path, parts.scheme == "https", is_apart)


NOWHERE = WebhookLocation("/webhooks/-")  # the location of a replayed request: its response does not reach a browser


def prefix(listener_id: int) -> str:
    """Returns the prefix of the names of a webhook's cookies.

    >>> prefix(12)
    'webhook12_'"""
    return f"webhook{listener_id}_"


def for_script(headers: Headers, listener_id: int) -> Headers:
    """Returns the headers of a request without credentials for the console or the API: only the webhook's own cookies
    remain, and our tokens are removed."""
    remaining = []
    for name, value in headers:
        if name.lower() == "cookie":
            value = _own_cookies(value, listener_id)
            if not value:
                continue
        if not any(each in value for each in PREFIXES.values()):
            remaining.append((name, value))
    return remaining


def _own_cookies(header: str, listener_id: int) -> str:
    start = prefix(listener_id)
    return "; ".join(each for part in header.split(";") if (each := part.strip()).startswith(start))


def set_cookie(text: str, listener_id: int, place: WebhookLocation) -> str:
    """Returns a Set-Cookie header from the one of a script, restricted to the path of its webhook and HttpOnly. Of the
    script's attributes, Max-Age, Expires and SameSite=Strict are retained. Raises Invalid."""
    pair, *attributes = (part.strip() for part in text.split(";"))
    name, _, value = pair.partition("=")
    start = prefix(listener_id)
    if not name.startswith(start) or not _NAME.match(name.removeprefix(start)):
        raise Invalid(
            f"the name of a cookie of this webhook must be {start} followed by letters, digits, dashes or dots"
        )
    if len(text) > MAX_COOKIE_CHARS:
        raise Invalid(f"a cookie has at most {MAX_COOKIE_CHARS:,} characters")
    wishes = {key.strip().lower(): wish.strip() for key, _, wish in (each.partition("=") for each in attributes)}
    parts = [f"{name}={value}", f"Path={place.path}", "HttpOnly"]
    parts.append("SameSite=Strict" if wishes.get("samesite", "").lower() == "strict" else "SameSite=Lax")
    parts += ["Secure"] if place.is_secure else []
    return "; ".join(parts + _ends(wishes))


def _ends(wishes: dict[str, str]) -> list[str]:
    """Returns when a browser deletes a cookie. Raises Invalid."""
    attributes = []
    if "max-age" in wishes:
        if not _SECONDS.match(wishes["max-age"]):
            raise Invalid("Max-Age of a cookie is a number of seconds")
        attributes.append(f"Max-Age={wishes['max-age']}")
    if "expires" in wishes:
        try:
            attributes.append(f"Expires={format_datetime(parsedate_to_datetime(wishes['expires']), usegmt=True)}")
        except ValueError:
            raise Invalid("Expires of a cookie is a date as 'Thu, 31 Dec 2026 23:59:59 GMT'") from None
    return attributes
