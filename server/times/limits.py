"""The limits of all readers of this package, and the excerpt of a rejected text in an error."""

MAX_TEXT = 255  # characters
MAX_SECOND = 253_402_300_799  # 9999-12-31 23:59:59 UTC
MAX_SHOWN = 60


def excerpt(text: str) -> str:
    """Returns `text`, truncated for an error message."""
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."
