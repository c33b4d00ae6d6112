"""`helpdesk api METHOD PATH NAME=VALUE...`: one request to a running server, from a shell or a script.

It is an ordinary HTTP client: it needs no data folder and has no access besides the API."""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from server.cli import texts
from server.cli.arguments import command
from server.dataclass import dataclass
from server.errors import Invalid, Unavailable
from server.settings import ADDRESS_VARIABLE, TOKEN_VARIABLE, load
from server.store import lock
from server.web import json_text
from server.web.form_data import MAX_BRACKETS

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
IN_QUERY = ("GET", "DELETE")  # requests without a body
TIMEOUT_SECONDS = 300  # wait for the next chunk of a response; the server has its own limits
PIECE_BYTES = 64 * 1024
ARGUMENT = re.compile(r"(?P<name>[^=]+?)(?P<kind>[:@]?)=(?P<value>.*)", re.DOTALL)
DONE, FAILED = 0, 1
ABOUT = f"""\
Send a request to a running server and print the response: JSON indented, everything else as it came.

The server is the one at --url, else at {ADDRESS_VARIABLE}, else the one that runs on the data folder, else the one that
its settings name. {TOKEN_VARIABLE} holds the token of the request; `helpdesk token create` creates one.
REQUESTS_CA_BUNDLE names a file with the certificates of your own authority."""
EPILOG = """\
parameters:
  NAME=VALUE   a text; NAME may be nested as in a form: fields[name], fields[links][], prompts[key]
  NAME:=JSON   a value as JSON; maps and lists become nested names, empty ones a blank:
               fields:='{"name": "Acme", "links": ["svc.contexts.ticket:1"]}'
  NAME@=FILE   the bytes of a file, or of standard input for -
They go into the query of GET and DELETE, and into the body of other requests, as a form.

exit codes:
  0  success: 2xx             3  a redirect, which is not followed
  1  no response              4  refused: 4xx, or a response whose __status is error
  2  wrong command line       5  failed: 5xx

examples:
  export HELPDESK_TOKEN=$(helpdesk token create --worker nora@desk.example)
  helpdesk api GET workers/me.json
  helpdesk api GET records/ticket/search.json q='status:open sort:-updated' limit=25
  helpdesk api POST records/org/create.json 'fields[name]=Acme' 'fields[links][]=svc.contexts.ticket:1'
  helpdesk api PUT records/org/1.json fields:='{"website": "https://acme.example", "custom_2": ["red", "blue"]}'
  helpdesk api POST parser/parse.json message@=letter.eml
  helpdesk api POST /webhooks/TOKEN event=paid
"""


@dataclass(frozen=True)
class ApiArgument:
    """A parameter of the command line. kind: "" for a text, ":" for JSON, "@" for a file.

    >>> ApiArgument("f", ":", '{"a": [1, null], "b": {"c": true}}').pairs()
    [('f[a][]', '1'), ('f[a][]', ''), ('f[b][c]', '1')]"""

    name: str
    kind: str
    value: str

    def pairs(self) -> list[tuple[str, str | bytes]]:
        """Returns the parameters of a form. Raises Malformed, and Invalid for a file that cannot be read."""
        if self.kind == "@":
            return [(self.name, texts.read_bytes(self.value))]
        if self.kind == ":":
            return list(_nested(self.name, json_text.loads(self.value, self.name, depth=MAX_BRACKETS)))
        return [(self.name, self.value)]


def declare(commands: Any) -> None:
    api = command(commands, "api", _run, ABOUT)
    api.formatter_class = argparse.RawDescriptionHelpFormatter
    api.epilog = EPILOG
    api.add_argument("--url", metavar="URL", help="address of the server, such as https://desk.example")
    api.add_argument("method", metavar="METHOD", type=str.upper, choices=METHODS, help=", ".join(METHODS))
    api.add_argument(
        "path", metavar="PATH", type=_path, help="path on the server; without a leading /, it is below /rest/"
    )
    api.add_argument(
        "parameters", nargs="*", metavar="NAME=VALUE", type=_parameter, help="parameters, as described below"
    )


def _path(text: str) -> str:
    if re.match(r"[a-z]+://|//", text):
        raise argparse.ArgumentTypeError(f"enter a path, such as workers/me.json; {ADDRESS_VARIABLE} sets the server")
    if re.search(r"[\s?#]", text):
        raise argparse.ArgumentTypeError(f"'{text[:80]}' is not a path; parameters follow it, as NAME=VALUE")
    return text if text.startswith("/") else f"/rest/{text}"


def _parameter(text: str) -> ApiArgument:
    match = ARGUMENT.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"it is NAME=VALUE, NAME:=JSON or NAME@=FILE, not '{text[:80]}'")
    return ApiArgument(match["name"], match["kind"], match["value"])


def _run(options: argparse.Namespace) -> int:
    import requests  # imported late: slow, and no other command needs it

    address = _server(options) + options.path
    pairs = [pair for each in options.parameters for pair in each.pairs()]
    query, form = (pairs, None) if options.method in IN_QUERY else (None, pairs)
    try:
        with requests.request(
            options.method,
            address,
            params=query,
            data=form,
            auth=authorize,
            timeout=TIMEOUT_SECONDS,
            stream=True,
            allow_redirects=False,
        ) as response:
            return _print_response(response)
    except requests.RequestException as error:
        raise Unavailable(f"no response from {address}: {cause(error)}") from error


def _nested(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Flattens a JSON value into the names of a form. An empty list or map becomes a blank, which clears a field."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _nested(f"{name}[{key}]", each)
    elif isinstance(value, list) and value:
        # Maps in a list need numbers, otherwise their parts would be merged.
        is_flat = not any(isinstance(each, dict | list) for each in value)
        for number, each in enumerate(value):
            yield from _nested(f"{name}[]" if is_flat else f"{name}[{number}]", each)
    elif isinstance(value, bool):
        yield name, "1" if value else "0"
    else:
        yield name, "" if value in (None, [], {}) else str(value)


def _server(options: argparse.Namespace) -> str:
    """Returns the address of the server, without a slash at its end. Raises Invalid."""
    address = options.url or os.environ.get(ADDRESS_VARIABLE)
    if not address:
        settings = load({"data": options.data}, os.environ)
        return lock.address(Path(settings.data)) or str(settings.base_url)
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise Invalid(f"the address of a server must look like https://desk.example, not '{address[:80]}'")
    return str(address).rstrip("/")


def authorize(request: "PreparedRequest") -> "PreparedRequest":
    """Adds the token, if there is one; passing this function prevents requests from using the user's netrc file."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if token:
        if not token.isascii() or not token.isprintable() or " " in token:
            raise Invalid(f"{TOKEN_VARIABLE} is not a token; `helpdesk token create` prints one")
        request.headers["Authorization"] = f"Bearer {token}"
    return request


def cause(error: BaseException) -> str:
    """Returns the innermost cause of an error, such as "Connection refused"."""
    below = error.__cause__ or error.__context__
    if below is not None:
        return cause(below)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _print_response(response: "Response") -> int:
    """Prints a response and returns the exit code."""
    if "json" in response.headers.get("Content-Type", ""):
        try:
            body = json.loads(response.content)
        except ValueError as error:
            raise Unavailable(f"the server responded with {response.status_code} and invalid JSON: {error}") from error
        texts.put(texts.as_json(body, indent=2) + "\n")
        is_refused = isinstance(body, dict) and body.get("__status") == "error"
    else:
        is_refused = False
        for piece in response.iter_content(PIECE_BYTES):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    code = DONE if response.ok and response.status_code < 300 else response.status_code // 100
    code = 4 if code == DONE and is_refused else code
    if code != DONE:
        print(f"helpdesk: the server responded with {response.status_code} {response.reason}", file=sys.stderr)
    if response.status_code == 401:
        print(
            f"helpdesk: {TOKEN_VARIABLE} has no valid token; create one with: helpdesk token create --worker EMAIL",
            file=sys.stderr,
        )
    return code
