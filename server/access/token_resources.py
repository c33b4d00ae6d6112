"""The resources that a token may be bound to (RFC 8707): the REST API, the tools for assistants, or both.

A token stores the name, so that it stays valid when the service moves to another address."""

from urllib.parse import urlsplit

REST, MCP, ALL = "rest", "mcp", "all"
PATHS = {"": ALL, "/rest": REST, "/mcp": MCP}
MCP_PATH = "/mcp"


def name_of(address: str, base_url: str) -> str:
    """Returns the name of the resource at an address, "" for an address that is not one of this service.

    >>> name_of("HTTPS://Desk.example/mcp/", "https://desk.example"), name_of("https://other.example/mcp", "https://a")
    ('mcp', '')
    """
    try:
        sent, own = urlsplit(address), urlsplit(base_url)
        is_own = (sent.scheme, sent.netloc.lower()) == (own.scheme, own.netloc.lower())
    except ValueError:
        return ""
    if not is_own or "?" in address or "#" in address or not sent.path.startswith(own.path):
        return ""
    return PATHS.get(sent.path[len(own.path) :].rstrip("/"), "")


def address_of(name: str, base_url: str) -> str:
    """Returns the address of a resource."""
    return base_url + next((path for path, each in PATHS.items() if each == name), "")


def is_accepted(at: str, bound: str, *, is_login: bool) -> bool:
    """Returns whether a resource accepts a token. bound: the resource of the token, "" for none.

    Tokens without a resource are for the REST API; the tools for assistants accept them too if a person created them,
    but not if an app got them by a login.

    >>> is_accepted(REST, "", is_login=True), is_accepted(MCP, "", is_login=True), is_accepted(MCP, "", is_login=False)
    (True, False, True)
    >>> is_accepted(REST, MCP, is_login=True), is_accepted(MCP, ALL, is_login=True)
    (False, True)
    """
    if bound in (at, ALL):
        return True
    return not bound and (at == REST or not is_login)
