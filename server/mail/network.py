"""Error texts for mail servers that cannot be reached: the cause, and what to choose instead. They are safe to show."""

import smtplib
import socket
import ssl
from typing import Literal

from server.dataclass import dataclass
from server.printable import printable
from server.translation import N_, lazy_gettext

MAX_ANSWER_CHARACTERS = 500
PROBE_SECONDS = 5.0  # timeout of the test whether a port speaks TLS
GREETING_CHARACTERS = 100  # length of a greeting in a message
Protocol = Literal["SMTP", "IMAP", "POP3"]
Encryption = Literal["none", "starttls", "tls"]
# Usual ports: with TLS from the start, and with STARTTLS or none.
PORTS: dict[Protocol, tuple[str, str]] = {"SMTP": ("465", "587"), "IMAP": ("993", "143"), "POP3": ("995", "110")}
_NOT_TLS = frozenset(
    (
        "WRONG_VERSION_NUMBER",
        "UNKNOWN_PROTOCOL",
        "HTTP_REQUEST",
        "PACKET_LENGTH_TOO_LONG",
        "RECORD_LAYER_FAILURE",
        "UNEXPECTED_MESSAGE",
    )
)
_OLD_TLS = frozenset(
    (
        "UNSUPPORTED_PROTOCOL",
        "TLSV1_ALERT_PROTOCOL_VERSION",
        "VERSION_TOO_LOW",
        "DH_KEY_TOO_SMALL",
        "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "NO_PROTOCOLS_AVAILABLE",
    )
)
# X509_V_ERR_... of OpenSSL.
_EXPIRED, _NOT_YET, _SELF_SIGNED, _SELF_SIGNED_IN_CHAIN, _NO_ISSUER, _UNVERIFIED = 10, 9, 18, 19, 20, 21
_WRONG_HOST, _WRONG_ADDRESS = 62, 64
_UNKNOWN_AUTHORITY = N_(
    "the certificate of {host} is signed by an authority that this machine does not trust, or "
    "its intermediate certificates are missing"
)
_CERTIFICATES = {
    _EXPIRED: N_("the certificate of {host} has expired; its operators must renew it"),
    _NOT_YET: N_("the certificate of {host} is not valid yet; check the clock of this machine"),
    _SELF_SIGNED: N_("the certificate of {host} is self-signed; ask its operators for a trusted one"),
    _SELF_SIGNED_IN_CHAIN: N_("the certificate of {host} is signed by an authority that this machine does not trust"),
    _NO_ISSUER: _UNKNOWN_AUTHORITY,
    _UNVERIFIED: _UNKNOWN_AUTHORITY,
}


@dataclass(frozen=True, slots=True)
class MailPort:
    """Connection settings of a mail server."""

    protocol: Protocol
    host: str
    port: int
    encryption: Encryption
    timeout_seconds: float

    @property
    def name(self) -> str:
        return f"{self.host} port {self.port}"


def reason(error: BaseException) -> str:
    """The cause of a failed connection in a few words."""
    # By the words as well, since smtplib makes its own exception of a timeout.
    if isinstance(error, TimeoutError) or "timed out" in str(error):
        return N_("no response in time")
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:MAX_ANSWER_CHARACTERS]


def wrong_certificate(host: str, error: ssl.SSLCertVerificationError) -> str:
    """The problem of a server's certificate."""
    if error.verify_code in (_WRONG_HOST, _WRONG_ADDRESS):
        return lazy_gettext(
            "the certificate is not valid for {host}: enter the host name that it was issued for", host=host
        )
    message = _CERTIFICATES.get(error.verify_code, N_("the certificate of {host} is not valid: {reason}"))
    return lazy_gettext(message, host=host, reason=error.verify_message)


def connection_failure(at: MailPort, error: Exception) -> str:
    """Why a session with a mail server failed, and what to choose instead. May test whether the port speaks TLS."""
    tls_port, plain_port = PORTS[at.protocol]
    if isinstance(error, ssl.SSLCertVerificationError):
        return wrong_certificate(at.host, error)
    if isinstance(error, ssl.SSLError):
        return _tls_failure(at, error)
    if isinstance(error, socket.gaierror):
        return lazy_gettext("the host name {host} cannot be resolved: check its spelling", host=at.host)
    if isinstance(error, ConnectionRefusedError):
        return lazy_gettext(
            "no mail server at {name}: nothing responds there; check host and port, usually {tls} with "
            "TLS and {plain} with STARTTLS",
            name=at.name,
            tls=tls_port,
            plain=plain_port,
        )
    if isinstance(error, smtplib.SMTPConnectError) and error.smtp_code == -1:
        said = error.smtp_error if isinstance(error.smtp_error, bytes) else error.smtp_error.encode()
        return wrong_protocol(at, said)
    if isinstance(error, UnicodeError):
        return lazy_gettext("{host} is not a host name", host=at.host)
    if at.encryption != "tls" and _has_said_nothing(error) and speaks_tls(at):
        return lazy_gettext("{name} expects TLS from the start: choose TLS as the encryption", name=at.name)
    if _has_said_nothing(error):
        return lazy_gettext(
            "no mail server at {name}: {reason}; check host, port and encryption", name=at.name, reason=reason(error)
        )
    return lazy_gettext("no mail server at {name}: {reason}", name=at.name, reason=reason(error))


def wrong_protocol(at: MailPort, said: bytes) -> str:
    """Advice for a server with the greeting of another protocol."""
    tls_port, plain_port = PORTS[at.protocol]
    text = printable(said.decode("utf-8", "replace").strip())
    message = N_("{name} does not speak {protocol}; usual ports are {tls} with TLS and {plain} with STARTTLS")
    if text:
        message = N_(
            "{name} does not speak {protocol}: it says '{text}'; usual ports are {tls} with TLS and {plain} with "
            "STARTTLS"
        )
    return lazy_gettext(
        message, name=at.name, protocol=at.protocol, text=text[:GREETING_CHARACTERS], tls=tls_port, plain=plain_port
    )


def no_starttls(at: MailPort) -> str:
    """Advice for a server without STARTTLS."""
    return lazy_gettext(
        "{name} does not offer STARTTLS: choose TLS, usually on port {port}, or no encryption within "
        "a network that you trust",
        name=at.name,
        port=PORTS[at.protocol][0],
    )


def speaks_tls(at: MailPort) -> bool:
    """Whether a TLS handshake succeeds at the start of a connection; ignores the certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    seconds = min(at.timeout_seconds, PROBE_SECONDS)
    try:
        with socket.create_connection((at.host, at.port), seconds) as plain, context.wrap_socket(plain):
            return True
    except (OSError, ValueError):
        return False


def _tls_failure(at: MailPort, error: ssl.SSLError) -> str:
    tls_port, _ = PORTS[at.protocol]
    code = (error.reason or "").upper()
    if code in _OLD_TLS:
        return lazy_gettext(
            "{name} supports no TLS version that is still safe: its operators have to update it", name=at.name
        )
    if at.encryption == "tls" and (code in _NOT_TLS or isinstance(error, ssl.SSLEOFError)):
        return lazy_gettext(
            "{name} does not speak TLS from the start: choose STARTTLS, or the TLS port, usually {port}",
            name=at.name,
            port=tls_port,
        )
    if at.encryption == "starttls" and code in _NOT_TLS:
        return lazy_gettext(
            "{name} does not speak TLS after STARTTLS: choose TLS, usually on port {port}, or another server",
            name=at.name,
            port=tls_port,
        )
    return f"TLS with {at.name} failed: {reason(error)}"


def _has_said_nothing(error: Exception) -> bool:
    return isinstance(error, (TimeoutError, ConnectionResetError, smtplib.SMTPServerDisconnected, EOFError)) or any(
        words in str(error) for words in ("timed out", "EOF")
    )
