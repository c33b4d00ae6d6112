"""Delivers mail to an SMTP server, one connection for each mail. Does not retry or log; error messages contain the
server's text, but neither user name nor password."""

import base64
import hmac
import re
import smtplib
import ssl
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from enum import Enum
from typing import Any

from server.dataclass import dataclass
from server.digits import whole_in
from server.errors import Invalid, Required, nearest
from server.mail import dialogue
from server.mail.mail_bytes import ascii_address, ascii_head
from server.mail.network import MAX_ANSWER_CHARACTERS, MailPort, connection_failure, no_starttls, reason
from server.mail.transports import DeliveryReport, Sign, TokenRefused, TransportFailed, unsigned
from server.mail.transports.transport_params import YES_NO, account_param, flag_param, number_param, text_param
from server.printable import printable
from server.translation import N_, lazy_gettext

DEFAULT_TIMEOUT_SECONDS = 30
MAX_TIMEOUT_SECONDS = 300
NO_UTF8 = "does not accept addresses with non-ASCII letters"
OK, FORWARDS, CLOSING, AUTHENTICATION_REQUIRED = 250, 251, 421, 530
AUTHENTICATED, ALREADY_AUTHENTICATED, CHALLENGE = 235, 503, 334
LOGINS = ("CRAM-MD5", "PLAIN", "LOGIN")  # methods that smtplib supports
MOST_CHALLENGES = 5  # challenges in one login
MOST_AT_ONCE = 10_000  # recipients of one transaction

Refusal = tuple[int, bytes]  # the code and text of a response

_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?|\[?[0-9a-fA-F:.]{2,45}\]?")
_KEYS = ("host", "port", "encryption", "username", "password", "connected_account", "timeout", "verify")
TYPED = tuple(key for key in _KEYS if key not in ("password", "verify"))  # settings that a form shows as typed


class Encryption(Enum):
    NONE = "none"
    STARTTLS = "starttls"
    TLS = "tls"


_PORTS = {Encryption.NONE: 25, Encryption.STARTTLS: 587, Encryption.TLS: 465}


@dataclass(frozen=True, slots=True)
class SmtpSettings:
    """Connection settings of a mail server. `username` empty: no login. `account`: connected account whose token
    replaces the password; the caller of send puts it into `token`. `verify`: the certificate must be valid for
    `host`."""

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

    Raises Required or Invalid, with the key in `field`. Ours: the defaults.
    """
    for key in params:
        if key not in _KEYS:
            raise Invalid(f"'{key[:100]}' is not a setting of SMTP{nearest(key[:100], _KEYS)}", field=key[:100])
    encryption = _encryption(text_param(params, "encryption"))
    settings = SmtpSettings(
        host=_host(text_param(params, "host")),
        port=number_param(params, "port", _PORTS[encryption], 65_535),
        encryption=encryption,
        username=text_param(params, "username"),
        password=text_param(params, "password"),
        account=account_param(params),
        timeout_seconds=number_param(params, "timeout", DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS),
        verify=flag_param(params, "verify"),
    )
    if settings.password and not settings.username:
        raise Required("a password needs a username; enter both or neither", field="username")
    if settings.account and (settings.password or not settings.username):
        field = "password" if settings.password else "username"
        raise Invalid("a connected account needs a username and no password", field=field)
    for key, value in (("username", settings.username), ("password", settings.password)):
        if "\0" in value:  # separates user name and password in a login (RFC 4616)
            raise Invalid(f"{key} contains a NUL character; remove it", field=key)
    return settings


def params_from(values: Mapping[str, str]) -> dict[str, str]:
    """The `params` of a transport from the fields of a form: without blank ones, and the password as it was typed."""
    params = {name: text for name in TYPED if (text := values.get(name, "").strip()) not in ("", "0")}
    params["verify"] = "1" if values.get("verify") == "1" else "0"
    return params | ({"password": values["password"]} if values.get("password") else {})


def typed_values(params: Mapping[str, object]) -> dict[str, str]:
    """The fields of a form for stored `params`, without the password."""
    values = {name: str(params.get(name) or "") for name in TYPED}
    is_verified = YES_NO.get(str(params.get("verify", "1")).lower(), True)
    return values | {"encryption": values["encryption"].lower(), "verify": "1" if is_verified else "0"}


def send(
    settings: SmtpSettings, envelope_from: str, recipients: Sequence[str], raw: bytes, sign: Sign = unsigned
) -> DeliveryReport:
    """Deliver `raw` to `recipients`; `envelope_from` may be empty. Waits at most `timeout_seconds` for each response.

    Returns who was refused while others got the mail. Raises TransportFailed when nobody got it: permanent when each
    recipient, or the mail itself, is refused with a code of 500 or more; Invalid for line breaks in an address.
    """
    _check_envelope(envelope_from, recipients)
    written = {ascii_address(address): address for address in recipients}
    with _Session(settings) as server:
        refusals = _deliver(server, ascii_address(envelope_from), list(written), raw, sign)
    report = _report({written[address]: refusal for address, refusal in refusals.items()})
    if len(refusals) == len(written):
        raise _all_refused(report)
    return report


def probe(settings: SmtpSettings) -> None:
    """Connects and signs in without sending mail. Raises TransportFailed."""
    with _Session(settings) as server:
        server.noop()


class _Session:
    """A connection that is signed in. Its errors become TransportFailed; errors before the first mail are
    `is_unreachable`."""

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings
        self._server: smtplib.SMTP | None = None

    def __enter__(self) -> smtplib.SMTP:
        try:
            self._server = _connected(self._settings)
            self._server.ehlo_or_helo_if_needed()
        except (smtplib.SMTPException, OSError) as error:
            raise self._failed(error, is_unreachable=True) from error
        return self._server

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        assert self._server is not None
        try:
            self._server.quit()
        except (smtplib.SMTPException, OSError):  # how the delivery ended is known already
            self._server.close()
        if isinstance(error, (smtplib.SMTPException, OSError)):
            raise self._failed(error, is_unreachable=False) from error

    def _failed(self, error: Exception, is_unreachable: bool) -> TransportFailed:
        settings = self._settings
        if isinstance(error, smtplib.SMTPAuthenticationError) and settings.token:
            reply = _reply(error.smtp_code, error.smtp_error)
            return TokenRefused(f"the mail server rejected the token: {reply}")
        if isinstance(error, smtplib.SMTPResponseException) and error.smtp_code > 0:
            reply = _reply(error.smtp_code, error.smtp_error)
            is_unreachable = is_unreachable or error.smtp_code == AUTHENTICATION_REQUIRED
            is_permanent = not is_unreachable and 500 <= error.smtp_code <= 599
            return TransportFailed(
                lazy_gettext(_what(error), answer=reply),
                is_permanent,
                is_unreachable=is_unreachable,
                code=error.smtp_code,
            )
        if not is_unreachable:
            return TransportFailed(f"the mail server disconnected: {reason(error)}", is_permanent=False)
        words = connection_failure(_port(settings), error)
        if isinstance(error, ssl.SSLCertVerificationError):
            words = lazy_gettext("{problem}; or turn off verify", problem=words)
        return TransportFailed(words, is_permanent=False, is_unreachable=True)


class _Connection(smtplib.SMTP):
    """A connection whose dialogue can be recorded, and that signs in with UTF-8 (RFC 4616)."""

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

    def auth(self, mechanism: str, authobject: Any, *, initial_response_ok: bool = True) -> tuple[int, bytes]:
        """Like smtplib's, which supports only ASCII."""
        self._is_logging_in = True
        try:
            first = authobject() if initial_response_ok else None
            words = mechanism if first is None else f"{mechanism} {_base64(first)}"
            code, text = self.docmd("AUTH", words)
            self._auth_challenge_count = int(first is not None)
            while code == CHALLENGE and self._auth_challenge_count < MOST_CHALLENGES:
                self._auth_challenge_count += 1
                code, text = self.docmd(_base64(authobject(base64.decodebytes(text))))
        finally:
            self._is_logging_in = False
        if code not in (AUTHENTICATED, ALREADY_AUTHENTICATED):
            raise smtplib.SMTPAuthenticationError(code, text)
        return code, text

    def auth_cram_md5(self, challenge: bytes | None = None) -> str | None:  # type: ignore[override]
        """Like smtplib's, with a password in UTF-8 (RFC 2195)."""
        if challenge is None:
            return None
        return f"{self.user} {hmac.new(self.password.encode(), challenge, 'md5').hexdigest()}"


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
        server.ehlo_or_helo_if_needed()
        if settings.encryption is Encryption.STARTTLS:
            if not server.has_extn("starttls"):
                raise TransportFailed(no_starttls(_port(settings)), is_permanent=False, is_unreachable=True)
            server.starttls(context=context)
            server.ehlo_or_helo_if_needed()
        if settings.username:
            _require_login(server, settings)
        if settings.token:
            server.auth("XOAUTH2", lambda challenge=None: "" if challenge else _proof(settings))
        elif settings.username:
            server.login(settings.username, settings.password)
    except BaseException:
        server.close()
        raise
    return server


def _require_login(server: smtplib.SMTP, settings: SmtpSettings) -> None:
    """Raises TransportFailed where the server offers no login that we speak."""
    offered = server.esmtp_features.get("auth", "").upper().split()
    methods = ("XOAUTH2",) if settings.token else LOGINS
    if not set(offered).isdisjoint(methods):
        return
    name = f"{settings.host} port {settings.port}"
    if offered:
        instead = "choose a user name and password" if settings.token else "allow one of these there, or choose a token"
        words = f"{name} offers the sign-in methods {', '.join(offered)}, but not {' or '.join(methods)}: {instead}"
    elif settings.encryption is Encryption.NONE and server.has_extn("starttls"):
        words = lazy_gettext("{name} does not offer sign-in without encryption: choose STARTTLS", name=name)
    else:
        words = (
            f"{name} does not offer sign-in: leave the user name blank, or choose a submission port, usually 587 or 465"
        )
    raise TransportFailed(words, is_permanent=False, is_unreachable=True)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")


def _port(settings: SmtpSettings) -> MailPort:
    return MailPort(
        "SMTP", settings.host.strip("[]"), settings.port, settings.encryption.value, settings.timeout_seconds
    )


def _proof(settings: SmtpSettings) -> str:
    return f"user={settings.username}\1auth=Bearer {settings.token}\1\1"


def _context(settings: SmtpSettings) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _deliver(server: smtplib.SMTP, sender: str, recipients: list[str], raw: bytes, sign: Sign) -> dict[str, Refusal]:
    """Delivers a mail in as many transactions as the server's limits require. Returns the refused recipients."""
    # Only where it is needed, since a server that offers it may know none to pass such mail on to.
    needs_utf8 = not (_head(raw).isascii() and all(address.isascii() for address in (sender, *recipients)))
    refusals: dict[str, Refusal] = {}
    options: list[str] = []
    if needs_utf8 and server.has_extn("smtputf8"):
        options.append("SMTPUTF8")
    elif needs_utf8:
        refusals = {
            each: (553, f"5.6.7 the mail server {NO_UTF8}".encode()) for each in recipients if not each.isascii()
        }
        recipients = [each for each in recipients if each.isascii()]
        raw = ascii_head(raw)
        if not recipients or not sender.isascii() or not _head(raw).isascii():
            raise TransportFailed(f"the mail server {NO_UTF8}", is_permanent=True)
    if not raw.isascii() and server.has_extn("8bitmime"):
        options.append("BODY=8BITMIME")
    raw = sign(raw)
    _require_size(server, len(raw))
    has_accepted = False
    while recipients:
        batch = _next_batch(recipients, *_limits(server))
        try:
            refused = _transact(server, sender, batch, raw, options)
        except (smtplib.SMTPException, OSError) as error:
            if not has_accepted:
                raise
            # Some have the mail already: those that are left wait for the next attempt.
            return refusals | dict.fromkeys(recipients, _as_deferral(error))
        recipients = recipients[len(batch) :]
        too_many = [each for each in batch if each in refused and _is_too_many(*refused[each])]
        if too_many and len(refused) < len(batch):  # RFC 5321, 4.5.3.1.10: the rest in another transaction
            recipients = too_many + recipients
            refused = {each: refusal for each, refusal in refused.items() if each not in too_many}
        has_accepted = has_accepted or len(refused) < len(batch)
        refusals |= refused
    return refusals


def _transact(
    server: smtplib.SMTP, sender: str, recipients: list[str], raw: bytes, options: list[str]
) -> dict[str, Refusal]:
    """One mail transaction (RFC 5321, 3.3). Returns the refused recipients; raises SMTPException when the sender or
    the mail is refused."""
    size = [f"SIZE={len(raw)}"] if server.has_extn("size") else []
    code, text = server.mail(sender, size + options if server.does_esmtp else [])
    if code != OK:
        _reset(server, code)
        raise smtplib.SMTPSenderRefused(code, text, sender)
    refused: dict[str, Refusal] = {}
    for place, each in enumerate(recipients):
        code, text = server.rcpt(each)
        if code not in (OK, FORWARDS):
            refused[each] = code, text
        if code == CLOSING:
            server.close()
            return (
                dict.fromkeys(recipients[:place], (code, text))
                | refused
                | dict.fromkeys(recipients[place:], (code, text))
            )
    if len(refused) == len(recipients):
        _reset(server, OK)
        return refused
    code, text = server.data(raw)
    if code != OK:
        _reset(server, code)
        raise smtplib.SMTPDataError(code, text)
    return refused


def _reset(server: smtplib.SMTP, code: int) -> None:
    """Leave a transaction, and the connection where the server closes it."""
    if code == CLOSING:
        server.close()
        return
    with suppress(smtplib.SMTPException, OSError):
        server.rset()


def _limits(server: smtplib.SMTP) -> tuple[int, int]:
    """The most recipients and the most domains of one transaction, as the server announces them (RFC 9422)."""
    announced = dict(
        pair.upper().partition("=")[::2] for pair in server.esmtp_features.get("limits", "").split() if "=" in pair
    )
    counts = (whole_in(announced.get(name, ""), 1, MOST_AT_ONCE) for name in ("RCPTMAX", "RCPTDOMAINMAX"))
    most_recipients, most_domains = (count or MOST_AT_ONCE for count in counts)
    return most_recipients, most_domains


def _next_batch(recipients: Sequence[str], most: int, most_domains: int) -> list[str]:
    """The first recipients that fit into one transaction.

    >>> _next_batch(["a@x.example", "b@y.example", "c@y.example"], 2, 5)
    ['a@x.example', 'b@y.example']
    >>> _next_batch(["a@x.example", "b@y.example", "c@y.example"], 5, 1)
    ['a@x.example']
    """
    batch: list[str] = []
    domains: set[str] = set()
    for each in recipients[:most]:
        domains.add(each.rpartition("@")[2].lower())
        if len(domains) > most_domains:
            break
        batch.append(each)
    return batch


def _is_too_many(code: int, text: bytes) -> bool:
    """Whether a recipient is refused because the transaction has too many: 452 4.5.3, and 552 of old servers."""
    words = text.lower()
    return code in (452, 552) and (b"4.5.3" in words or b"5.5.3" in words or b"too many" in words)


def _as_deferral(error: Exception) -> Refusal:
    if isinstance(error, smtplib.SMTPResponseException):
        text = error.smtp_error
        return min(error.smtp_code, 499), text if isinstance(text, bytes) else text.encode()
    return 451, reason(error).encode()


def _require_size(server: smtplib.SMTP, size: int) -> None:
    """Raises TransportFailed for a mail that is larger than the server accepts (RFC 1870)."""
    most = whole_in(server.esmtp_features.get("size", ""), 1, sys.maxsize)
    if most is not None and size > most:
        raise TransportFailed(
            f"the mail has {size:,} bytes, but the mail server accepts at most {most:,}; send fewer or smaller files",
            is_permanent=True,
        )


def _head(raw: bytes) -> bytes:
    return raw.partition(b"\r\n\r\n")[0]


def _check_envelope(envelope_from: str, recipients: Sequence[str]) -> None:
    if not recipients:
        raise Required("an email needs a recipient", field="to")
    for address in (envelope_from, *recipients):
        if re.search(r"[\s<>\x00-\x1f\x7f]", address):
            raise Invalid(f"'{address[:100]!a}' is not an email address; use name@host", field="to")


def _report(refusals: Mapping[str, Refusal]) -> DeliveryReport:
    replies = {address: _reply(*refusal) for address, refusal in refusals.items()}
    is_permanent = {address: code >= 500 for address, (code, _) in refusals.items()}
    return DeliveryReport(
        refused={address: text for address, text in replies.items() if is_permanent[address]},
        deferred={address: text for address, text in replies.items() if not is_permanent[address]},
    )


def _all_refused(report: DeliveryReport) -> TransportFailed:
    first = next(iter({**report.deferred, **report.refused}.values()))
    return TransportFailed(
        f"the mail server refused all recipients: {first}", is_permanent=not report.deferred, report=report
    )


def _what(error: smtplib.SMTPResponseException) -> str:
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return N_("the mail server rejected the user name and password: {answer}")
    if isinstance(error, smtplib.SMTPSenderRefused):
        return N_("the mail server refused the sender: {answer}")
    if isinstance(error, smtplib.SMTPDataError):
        return N_("the mail server refused the email: {answer}")
    return N_("the mail server refused: {answer}")


def _reply(code: int, text: bytes | str) -> str:
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"{code} {printable(words)}".strip()[:MAX_ANSWER_CHARACTERS]


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
        choices = [encryption.value for encryption in Encryption]
        raise Invalid(
            f"'{name[:100]}' is not an encryption{nearest(name[:100], choices)}; use one of {', '.join(choices)}",
            field="encryption",
        ) from None
