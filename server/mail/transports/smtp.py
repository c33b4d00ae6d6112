"""Delivers mail to an SMTP server, one connection a mail. Not for retrying, and not for logging: messages of its errors
hold what the server said, and neither user name nor password.
"""

import re
import smtplib
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from enum import Enum
from typing import Any

from server.dataclass import dataclass
from server.digits import whole_in
from server.errors import Invalid, Required, nearest
from server.mail import dialogue
from server.mail.compose import ascii_address, ascii_head
from server.mail.network import MAX_ANSWER_CHARACTERS, reason, wrong_certificate
from server.mail.transports import DeliveryReport, Sign, TokenRefused, TransportFailed, unsigned

DEFAULT_TIMEOUT_SECONDS = 30
MAX_TIMEOUT_SECONDS = 300
NO_UTF8 = "takes no addresses with letters beyond ASCII"

_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?|\[?[0-9a-fA-F:.]{2,45}\]?")
_KEYS = ("host", "port", "encryption", "username", "password", "connected_account", "timeout", "verify")
_YES_NO = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class Encryption(Enum):
    NONE = "none"
    STARTTLS = "starttls"
    TLS = "tls"


_PORTS = {Encryption.NONE: 25, Encryption.STARTTLS: 587, Encryption.TLS: 465}


@dataclass(frozen=True, slots=True)
class SmtpSettings:
    """How to reach a mail server. `username` empty: no login. `account`: the connected account whose token takes the
    place of the password; whoever sends puts it into `token`. `verify`: the certificate must be valid for `host`."""

    host: str
    port: int
    encryption: Encryption = Encryption.NONE
    username: str = ""
    password: str = field(default="", repr=False)
    account: str = ""
    token: str = field(default="", repr=False)
    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS
    verify: bool = True


def settings_from(params: Mapping[str, object]) -> SmtpSettings:
    """The settings in a transport's `params`: host, port, encryption (none, starttls, tls), username, password,
    connected_account (its id or uri; "0" for none), timeout (seconds), verify. Numbers and yes/no may be text, as forms
    send them; blank is as if it was left out.

    Raises Required or Invalid, with the key in `field`. Source: records, mail_transport. Ours: the defaults.
    """
    for key in params:
        if key not in _KEYS:
            raise Invalid(f"'{key[:100]}' is not a setting of SMTP{nearest(key[:100], _KEYS)}", field=key[:100])
    encryption = _encryption(_text(params, "encryption"))
    settings = SmtpSettings(
        host=_host(_text(params, "host")),
        port=_number(params, "port", _PORTS[encryption], 65_535),
        encryption=encryption,
        username=_text(params, "username"),
        password=_text(params, "password"),
        account=_account(params),
        timeout_seconds=_number(params, "timeout", DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS),
        verify=_yes_or_no(params, "verify"),
    )
    if settings.password and not settings.username:
        raise Required("a password needs a username; give both or none", field="username")
    if settings.account and (settings.password or not settings.username):
        field = "password" if settings.password else "username"
        raise Invalid("a connected account takes a username and no password", field=field)
    for key, value in (("username", settings.username), ("password", settings.password)):
        if not value.isascii():
            raise Invalid(f"{key} has letters beyond ASCII, which mail servers do not take", field=key)
    return settings


def send(
    settings: SmtpSettings, envelope_from: str, recipients: Sequence[str], raw: bytes, sign: Sign = unsigned
) -> DeliveryReport:
    """Deliver `raw` to `recipients`; `envelope_from` may be empty. Waits at most `timeout_seconds` for each answer.

    Returns who was refused while others were not. Raises TransportFailed: permanent for answers 5xx and when all are
    refused for good, temporary for answers 4xx and when the server cannot be reached; Invalid for line breaks in an
    address. Source: Queue and delivery states, Permanent SMTP answers.
    """
    _check_envelope(envelope_from, recipients)
    written = {ascii_address(address): address for address in recipients}
    with _told(settings), _connected(settings) as server:
        refused = _refused(server, ascii_address(envelope_from), list(written), raw, sign)
        return DeliveryReport({written[address]: _answer(*answer) for address, answer in refused.items()})


def probe(settings: SmtpSettings) -> None:
    """Connect and sign in as for a mail, and send none. Raises TransportFailed. Source: ours."""
    with _told(settings), _connected(settings) as server:
        server.ehlo_or_helo_if_needed()
        server.noop()


@contextmanager
def _told(settings: SmtpSettings) -> Iterator[None]:
    """What goes wrong inside, as TransportFailed."""
    try:
        yield
    except smtplib.SMTPRecipientsRefused as error:
        raise _all_refused(error.recipients) from error
    except smtplib.SMTPResponseException as error:
        failure = _failed(_what(error), error.smtp_code, error.smtp_error)
        if settings.token and isinstance(error, smtplib.SMTPAuthenticationError):
            told = _answer(error.smtp_code, error.smtp_error)
            failure = TokenRefused(f"the mail server does not accept the token: {told}")
        raise failure from error
    except smtplib.SMTPNotSupportedError as error:
        raise TransportFailed(f"the mail server cannot do what is asked: {error}", is_permanent=False) from error
    except ssl.SSLCertVerificationError as error:
        raise TransportFailed(
            f"{wrong_certificate(settings.host, error)}; correct the host, or switch off verify", is_permanent=False
        ) from error
    except (smtplib.SMTPException, OSError) as error:
        raise TransportFailed(
            f"no mail server at {settings.host} port {settings.port}: {reason(error)}", is_permanent=False
        ) from error


class _Connection(smtplib.SMTP):
    """A connection whose end does not hide how the delivery ended: `with` would raise for a QUIT that goes wrong. What
    is said can be recorded."""

    _is_logging_in = False

    def send(self, s: Any) -> None:
        if (recording := dialogue.current()) is not None:
            recording.sent(bytes(s) if not isinstance(s, str) else s, self._is_logging_in)
        super().send(s)

    def getreply(self) -> tuple[int, bytes]:
        code, text = super().getreply()
        if (recording := dialogue.current()) is not None:
            for line in text.splitlines() or [b""]:
                recording.heard(b"%d %s" % (code, line))
        return code, text

    def auth(self, *given: Any, **named: Any) -> tuple[int, bytes]:
        self._is_logging_in = True
        try:
            return super().auth(*given, **named)
        finally:
            self._is_logging_in = False

    def __exit__(self, *_: object) -> None:
        try:
            self.quit()
        except (smtplib.SMTPException, OSError):
            self.close()


class _TlsConnection(_Connection, smtplib.SMTP_SSL):
    pass


def _connected(settings: SmtpSettings) -> smtplib.SMTP:
    context = _context(settings)
    host, timeout = settings.host.strip("[]"), settings.timeout_seconds
    server: smtplib.SMTP
    if settings.encryption is Encryption.TLS:
        server = _TlsConnection(host, settings.port, timeout=timeout, context=context)
    else:
        server = _Connection(host, settings.port, timeout=timeout)
    try:
        if settings.encryption is Encryption.STARTTLS:
            server.starttls(context=context)
        if settings.token:
            server.ehlo_or_helo_if_needed()
            server.auth("XOAUTH2", lambda challenge=None: "" if challenge else _proof(settings))
        elif settings.username:
            server.login(settings.username, settings.password)
    except BaseException:
        server.close()
        raise
    return server


def _proof(settings: SmtpSettings) -> str:
    return f"user={settings.username}\1auth=Bearer {settings.token}\1\1"


def _context(settings: SmtpSettings) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _refused(
    server: smtplib.SMTP, sender: str, recipients: list[str], raw: bytes, sign: Sign
) -> dict[str, tuple[int, bytes]]:
    server.ehlo_or_helo_if_needed()
    # Only where it is needed, since a server that offers it may know none to pass such mail on to.
    needs_it = not (_head(raw).isascii() and all(address.isascii() for address in (sender, *recipients)))
    left_out: list[str] = []
    options: list[str] = []
    if needs_it and server.has_extn("smtputf8"):
        options.append("SMTPUTF8")
    elif needs_it:
        left_out = [each for each in recipients if not each.isascii()]
        recipients = [each for each in recipients if each.isascii()]
        raw = ascii_head(raw)
        if not recipients or not sender.isascii() or not _head(raw).isascii():
            raise TransportFailed(f"the mail server {NO_UTF8}", is_permanent=True)
    if not raw.isascii() and server.has_extn("8bitmime"):
        options.append("BODY=8BITMIME")
    return server.sendmail(sender, recipients, sign(raw), options) | {
        each: (553, f"5.6.7 the mail server {NO_UTF8}".encode()) for each in left_out
    }


def _head(raw: bytes) -> bytes:
    return raw.partition(b"\r\n\r\n")[0]


def _check_envelope(envelope_from: str, recipients: Sequence[str]) -> None:
    if not recipients:
        raise Required("a mail needs a recipient", field="to")
    for address in (envelope_from, *recipients):
        if re.search(r"[\s<>\x00-\x1f\x7f]", address):
            raise Invalid(f"'{address[:100]!a}' is not a mail address; use name@host", field="to")


def _all_refused(recipients: Mapping[str, tuple[int, bytes]]) -> TransportFailed:
    """Permanent only when each of them is: one mailbox that is full for now is a reason to try again."""
    answers = {address: _answer(code, text) for address, (code, text) in recipients.items()}
    first = next(iter(answers.values()), "no answer")
    return TransportFailed(
        f"the mail server refused all recipients: {first}",
        is_permanent=all(code >= 500 for code, _ in recipients.values()),
        refused=answers,
    )


def _failed(what: str, code: int, answer: bytes | str) -> TransportFailed:
    return TransportFailed(f"{what}: {_answer(code, answer)}", is_permanent=500 <= code <= 599, code=code)


def _what(error: smtplib.SMTPResponseException) -> str:
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return "the mail server does not accept user name and password"
    if isinstance(error, smtplib.SMTPSenderRefused):
        return "the mail server refused the sender"
    if isinstance(error, smtplib.SMTPDataError):
        return "the mail server refused the mail"
    return "the mail server refused"


def _answer(code: int, text: bytes | str) -> str:
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    printable = "".join(c if c.isprintable() else " " for c in words)
    return f"{code} {printable}".strip()[:MAX_ANSWER_CHARACTERS]


def _text(params: Mapping[str, object], key: str) -> str:
    value = params.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(f"{key} must be text", field=key)
    if re.search(r"[\r\n\0]", value):
        raise Invalid(f"{key} must be one line; remove the line breaks", field=key)
    return value if key == "password" else value.strip()


def _account(params: Mapping[str, object]) -> str:
    value = params.get("connected_account")
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(params, "connected_account")
    return "" if text == "0" else text


def _host(host: str) -> str:
    if not host:
        raise Required("host is missing; give the name of the mail server", field="host")
    if not _HOST.fullmatch(host):
        raise Invalid(f"'{host[:100]}' is not a host name", field="host")
    return host


def _encryption(name: str) -> Encryption:
    try:
        return Encryption(name.lower() or "none")
    except ValueError:
        known = [encryption.value for encryption in Encryption]
        raise Invalid(
            f"'{name[:100]}' is not an encryption{nearest(name[:100], known)}; use one of {', '.join(known)}",
            field="encryption",
        ) from None


def _number(params: Mapping[str, object], key: str, default: int, most: int) -> int:
    value = params.get(key)
    if value is None or value == "":
        return default
    number = None if isinstance(value, bool) else whole_in(str(value), 1, most)
    if number is not None:
        return number
    raise Invalid(f"{key} must be a number from 1 to {most}", field=key)


def _yes_or_no(params: Mapping[str, object], key: str) -> bool:
    value = params.get(key)
    if value is None or value == "":
        return True
    answer = _YES_NO.get(str(value).lower())
    if answer is None:
        raise Invalid(f"{key} must be 1 or 0", field=key)
    return answer
