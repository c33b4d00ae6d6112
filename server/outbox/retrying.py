"""When a mail that failed temporarily is tried again, and when it is given up (RFC 5321, 4.5.4.1)."""

from server.settings import Settings

DOUBLINGS = 30  # enough for any longest wait, and keeps the power small


def retry_wait(settings: Settings, fails: int) -> int:
    """Seconds until the next attempt after a number of failed ones: doubles each time, up to
    `mail_retry_max_seconds`."""
    doublings = min(max(fails - 1, 0), DOUBLINGS)
    first, longest = int(settings.mail_retry_seconds), int(settings.mail_retry_max_seconds)
    return max(min(first * 2**doublings, longest), min(first, longest))


def is_over(settings: Settings, fails: int, since: int, now: int) -> bool:
    """Whether to give up a mail after so many failures, the first of them at `since`."""
    most = int(settings.mail_attempts)
    return now - since >= int(settings.mail_give_up_seconds) or (most > 0 and fails >= most)
