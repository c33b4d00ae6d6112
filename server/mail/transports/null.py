"""Accepts every mail and discards it: for trials, and for installations that only receive."""

from collections.abc import Mapping, Sequence

from server.mail.transports import DeliveryReport, Sign, unsigned


def settings_from(params: Mapping[str, object]) -> None:
    """Has no settings and ignores stored ones."""


def send(
    settings: None, envelope_from: str, recipients: Sequence[str], raw: bytes, sign: Sign = unsigned
) -> DeliveryReport:
    """Discards the mail."""
    return DeliveryReport()


def probe(settings: None) -> None:
    """Always succeeds."""
