"""What every reader of this package refuses, and how a refused text is shown in its error."""

MAX_TEXT = 255  # characters
MAX_SECOND = 253_402_300_799  # 9999-12-31 23:59:59 UTC
MAX_SHOWN = 60


def excerpt(text: str) -> str:
    """`text`, cut to what fits in an error message."""
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."
