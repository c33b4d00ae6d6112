"""Ways for composed mail to leave, by the extension id that a mail transport record carries.

A transport is a module with `settings_from(params)`, which checks what is stored, `send(settings, envelope_from,
recipients, raw, sign)`, and `probe(settings)`. Which transport, when, and what follows from a failure is decided in
desk.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any, Protocol, cast

from server.dataclass import dataclass
from server.errors import Invalid, Unavailable, nearest

SMTP, NULL = "core.mail.transport.smtp", "core.mail.transport.null"
_MODULES = {NULL: "null", SMTP: "smtp"}
TRANSPORTS = tuple(_MODULES)


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """The recipients who did not get a mail, each with the server's response. `refused`: for good, `deferred`: for now
    (RFC 5321, 4.2.1)."""

    refused: Mapping[str, str] = field(default_factory=dict)
    deferred: Mapping[str, str] = field(default_factory=dict)


class TransportFailed(Unavailable):
    """No recipient got the mail. The message is safe to show.

    is_permanent: another attempt fails, too. is_unreachable: no mail gets through the transport at present, whatever
    it says, such as when the server is down or refuses the login. report: the recipients that the server refused."""

    def __init__(
        self,
        message: str,
        is_permanent: bool,
        *,
        is_unreachable: bool = False,
        report: DeliveryReport | None = None,
        **details: object,
    ) -> None:
        super().__init__(message, **details)
        self.is_permanent = is_permanent
        self.is_unreachable = is_unreachable
        self.report = report or DeliveryReport()


class TokenRefused(TransportFailed):
    """The mail server takes no login by the token of a connected account; another token may be better."""

    def __init__(self, message: str) -> None:
        super().__init__(message, is_permanent=False, is_unreachable=True)


Sign = Callable[[bytes], bytes]  # the last to see a mail: nothing of it may change afterwards


def unsigned(raw: bytes) -> bytes:
    """Signs nothing."""
    return raw


class Transport(Protocol):
    """What each module of this folder offers. `Any` is the module's own type of settings."""

    def settings_from(self, params: Mapping[str, object]) -> Any:
        """The settings in `params`, checked. Raises Invalid that names the key."""

    def send(
        self, settings: Any, envelope_from: str, recipients: Sequence[str], raw: bytes, sign: Sign = unsigned
    ) -> DeliveryReport:
        """Deliver `raw`, once `sign` has signed what will be sent. Raises TransportFailed when no recipient gets it."""

    def probe(self, settings: Any) -> None:
        """Go as far as a mail would, and send none. Raises TransportFailed."""


def transport(extension_id: str) -> Transport:
    """The transport of that id. Raises Invalid for one that is not in TRANSPORTS."""
    name = _MODULES.get(extension_id)
    if name is None:
        raise Invalid(
            f"'{extension_id[:100]}' is not a mail transport{nearest(extension_id[:100], TRANSPORTS)}; "
            f"use one of {', '.join(TRANSPORTS)}",
            field="extension_id",
        )
    return cast(Transport, import_module(f"{__name__}.{name}"))
