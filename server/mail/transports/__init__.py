"""Transports for composed mail, by the extension id in a mail transport record.

A transport is a module with `settings_from(params)`, which checks stored settings, `send(settings, envelope_from,
recipients, raw, sign)`, and `probe(settings)`. The outbox chooses the transport and handles failures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any, Protocol, cast

from server.dataclass import dataclass
from server.errors import Invalid, Unavailable, nearest

SMTP, NULL = "core.mail.transport.smtp", "core.mail.transport.null"
GRAPH = "svc.mail.transport.graph"  # Microsoft Graph
_MODULES = {NULL: "null", SMTP: "smtp", GRAPH: "graph"}
TRANSPORTS = tuple(_MODULES)


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """The recipients who did not get a mail, each with the server's response. `refused`: permanently, `deferred`:
    temporarily (RFC 5321, 4.2.1)."""

    refused: Mapping[str, str] = field(default_factory=dict)
    deferred: Mapping[str, str] = field(default_factory=dict)


class TransportFailed(Unavailable):
    """The mail reached no recipient. The message is safe to show.

    is_permanent: another attempt would fail, too. is_unreachable: the transport is unavailable for all mail at present,
    such as when the server is down or refuses the login. wait_seconds: how long the server asks to wait, 0 if it does
    not. report: the recipients that the server refused."""

    def __init__(
        self,
        message: str,
        is_permanent: bool,
        *,
        is_unreachable: bool = False,
        wait_seconds: int = 0,
        report: DeliveryReport | None = None,
        **details: object,
    ) -> None:
        super().__init__(message, **details)
        self.is_permanent = is_permanent
        self.is_unreachable = is_unreachable
        self.wait_seconds = wait_seconds
        self.report = report or DeliveryReport()


class TokenRefused(TransportFailed):
    """The mail server refuses the token of a connected account; a new token may work."""

    def __init__(self, message: str) -> None:
        super().__init__(message, is_permanent=False, is_unreachable=True)


Sign = Callable[[bytes], bytes]  # runs last: the mail must not change afterwards


def unsigned(raw: bytes) -> bytes:
    """Returns the mail unchanged."""
    return raw


class Transport(Protocol):
    """The interface of each module in this folder. `Any` is the module's own type of settings."""

    def settings_from(self, params: Mapping[str, object]) -> Any:
        """Checks the settings in `params`. Raises Invalid with the key."""

    def send(
        self, settings: Any, envelope_from: str, recipients: Sequence[str], raw: bytes, sign: Sign = unsigned
    ) -> DeliveryReport:
        """Delivers `raw` after `sign` has signed its final bytes. Raises TransportFailed if no recipient gets it."""

    def probe(self, settings: Any) -> None:
        """Connects and signs in without sending mail. Raises TransportFailed."""


def transport(extension_id: str) -> Transport:
    """The transport with that id. Raises Invalid if it is not in TRANSPORTS."""
    name = _MODULES.get(extension_id)
    if name is None:
        raise Invalid(
            f"'{extension_id[:100]}' is not a mail transport{nearest(extension_id[:100], TRANSPORTS)}; "
            f"use one of {', '.join(TRANSPORTS)}",
            field="extension_id",
        )
    return cast(Transport, import_module(f"{__name__}.{name}"))
