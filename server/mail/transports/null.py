"""Accepts every mail and delivers none: for trying the service out, and for installations that only receive."""

from collections.abc import Mapping, Sequence

from server.mail.transports import DeliveryReport, Sign, unsigned


def settings_from(params: Mapping[str, object]) -> None:
    """There is nothing to set; what is stored is not looked at."""


def send(
    settings: None, envelope_from: str, recipients: Sequence[str], raw: bytes, sign: Sign = unsigned
) -> DeliveryReport:
    """Do nothing, successfully."""
    return DeliveryReport()


def probe(settings: None) -> None:
    """There is nothing to reach."""
