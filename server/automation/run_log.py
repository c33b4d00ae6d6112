"""The entries that one run writes."""

from server.automation.host import LogEntry

MAX_MESSAGE = 1024  # characters of an entry of the log
MAX_ENTRIES = 1000  # of one run; one more says that the rest is left out


def note(entries: list[LogEntry], level: int, node: str, message: str, *, is_own: bool = True) -> None:
    """Put an entry into the log of a run. is_own: False for one of an automation that it called."""
    if len(entries) > MAX_ENTRIES:
        return
    if len(entries) == MAX_ENTRIES:
        level, message = 4, f"this run has more than {MAX_ENTRIES:,} entries; the rest is left out"
    if len(message) > MAX_MESSAGE:
        message = message[: MAX_MESSAGE - 1] + "…"
    entries.append(LogEntry(level, node, message, is_own))
