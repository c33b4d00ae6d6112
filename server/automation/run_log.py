"""The log entries of one run."""

from server.automation.host import LogEntry

MAX_MESSAGE = 1024  # characters per entry
MAX_ENTRIES = 1000  # per run; one more entry says that the rest is omitted


def note(entries: list[LogEntry], level: int, node: str, message: str, *, is_own: bool = True) -> None:
    """Adds an entry to the log of a run. is_own: False for an entry of a called automation."""
    if len(entries) > MAX_ENTRIES:
        return
    if len(entries) == MAX_ENTRIES:
        level, message = 4, f"this run has more than {MAX_ENTRIES:,} entries; the rest is left out"
    if len(message) > MAX_MESSAGE:
        message = message[: MAX_MESSAGE - 1] + "…"
    entries.append(LogEntry(level, node, message, is_own))
