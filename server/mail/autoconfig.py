"""Reads the settings of mail servers that a domain publishes, in the format that Thunderbird defined.

https://www.bucksch.org/1/projects/thunderbird/autoconfiguration/config-file-format.html. The file comes from the
network: it may have no DTD, so no entities, and its size and depth are bounded."""

from collections.abc import Sequence
from typing import Any
from xml.parsers import expat

from server.dataclass import dataclass
from server.digits import whole_in
from server.host_names import ascii_host
from server.late_pattern import late_pattern

MAX_CONFIG_BYTES = 64 * 1024
MAX_SERVERS = 20  # in one file
MAX_DEPTH = 20  # nested elements
MAX_USERNAME_CHARS = 128
_FIELDS = ("hostname", "port", "socketType", "username", "authentication")
_PROTOCOLS = {
    ("imap", "SSL"): "imap-ssl",
    ("imap", "STARTTLS"): "imap-starttls",
    ("pop3", "SSL"): "pop3-ssl",
    ("pop3", "STARTTLS"): "pop3-starttls",
}
_ENCRYPTIONS = {"SSL": "tls", "STARTTLS": "starttls"}
_PASSWORDS = ("password-cleartext", "plain", "password-encrypted", "secure")
OAUTH2 = "OAuth2"
_LABEL = late_pattern(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_NUMBER = late_pattern(r"\.[0-9]+\Z")  # an IP address, which no certificate names


class NotAutoconfig(ValueError):
    """The file is not in this format, or too large."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A mail server. protocol: of a mailbox, "" for one that sends. encryption: of SMTP, tls or starttls. username:
    for sign-in. takes_password: whether a password can be used."""

    protocol: str
    host: str
    port: int
    encryption: str
    username: str
    takes_password: bool = True


def parse_config(content: bytes, email: str) -> tuple[list[FoundServer], list[FoundServer]]:
    """Returns the servers that receive and those that send, in the order of the file, without unencrypted ones. email:
    the address that replaces the placeholders of user names. Raises NotAutoconfig."""
    if len(content) > MAX_CONFIG_BYTES:
        raise NotAutoconfig("the file is too large")
    reader = _ConfigReader()
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.EntityDeclHandler = reader.refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise NotAutoconfig(str(error)) from error
    servers = [
        (kind, server) for kind, fields, ways in reader.servers if (server := _server(kind, fields, ways, email))
    ]
    return (
        [server for kind, server in servers if kind != "smtp"],
        [server for kind, server in servers if kind == "smtp"],
    )


class _ConfigReader:
    """servers: (type, fields by name, ways to sign in) of each element of a server."""

    def __init__(self) -> None:
        self.servers: list[tuple[str, dict[str, str], list[str]]] = []
        self._path: list[str] = []
        self._text = ""
        self._type = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        if len(self._path) > MAX_DEPTH or len(self.servers) > MAX_SERVERS:
            raise NotAutoconfig("the file has too many elements")
        if len(self._path) == 1 and name != "clientConfig":
            raise NotAutoconfig("the file has another root element")
        if self._path[1:] in (["emailProvider", "incomingServer"], ["emailProvider", "outgoingServer"]):
            self.servers.append((attributes.get("type", ""), {}, []))
        self._text = ""

    def text(self, data: str) -> None:
        self._text += data

    def end(self, name: str) -> None:
        is_field = len(self._path) == 4 and self._path[2] in ("incomingServer", "outgoingServer") and self.servers
        if is_field and name in _FIELDS:
            _, fields, ways = self.servers[-1]
            fields.setdefault(name, self._text.strip())
            if name == "authentication":
                ways.append(self._text.strip())
        self._path.pop()
        self._text = ""

    def refuse(self, *_: Any) -> None:
        raise NotAutoconfig("the file has a document type")


def _server(kind: str, fields: dict[str, str], ways: Sequence[str], email: str) -> FoundServer | None:
    """The server of an element, None for one that cannot be used."""
    local, _, domain = email.rpartition("@")
    protocol = _PROTOCOLS.get((kind, fields.get("socketType", "")), "")
    encryption = _ENCRYPTIONS.get(fields.get("socketType", ""), "")
    port = whole_in(fields.get("port", ""), 1, 65_535)
    if not encryption or port is None or (kind != "smtp" and not protocol):
        return None
    try:
        host = ascii_host(fields.get("hostname", "").replace("%EMAILDOMAIN%", domain).lower())
    except UnicodeError:
        return None
    labels = host.split(".")
    if len(labels) < 2 or not all(map(_LABEL.fullmatch, labels)) or _NUMBER.search(host):
        return None
    username = fields.get("username", "%EMAILADDRESS%")
    for mark, text in (("%EMAILADDRESS%", email), ("%EMAILLOCALPART%", local), ("%EMAILDOMAIN%", domain)):
        username = username.replace(mark, text)
    takes_password = any(way in _PASSWORDS for way in ways) or not ways
    if not takes_password and OAUTH2 not in ways:
        return None
    return FoundServer(protocol, host, port, encryption, username[:MAX_USERNAME_CHARS], takes_password)


def usable(servers: Sequence[FoundServer]) -> FoundServer | None:
    """Returns the best server: one that accepts a password, IMAP before POP3, TLS before STARTTLS."""
    order = sorted(
        servers,
        key=lambda each: (not each.takes_password, each.protocol.startswith("pop3"), each.encryption != "tls"),
    )
    return order[0] if order else None
