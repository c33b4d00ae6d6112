"""When backups are made and which are kept, by the settings, in words; and where they are."""

from pathlib import Path

from server.settings import Settings
from server.translation import N_, _, listed, ngettext
from server.upkeep import backups

MAX_TIMES = 6  # times of a day that are listed
KEPT = (
    ("backup_keep_last", N_("the newest {count}")),
    ("backup_keep_days", N_("the last of each of {count} days")),
    ("backup_keep_weeks", N_("the last of each of {count} weeks")),
    ("backup_keep_months", N_("the last of each of {count} months")),
)


def schedule_text(settings: Settings) -> str:
    """When backups are made: at fixed times, whenever the last one was."""
    hours, at = settings.backup_hours, str(settings.backup_at)
    first, minutes = int(at[:2]), at[2:]
    if hours % 24 == 0:
        return ngettext("every day at {time} UTC", "every {count} days at {time} UTC", hours // 24, time=at)
    if 24 % hours == 0 and 24 // hours <= MAX_TIMES:
        times = [f"{each:02}{minutes}" for each in sorted((first + step) % 24 for step in range(0, 24, hours))]
        return _("every day at {times} UTC", times=listed(times))
    return ngettext(
        "every hour, counted from {time} UTC", "every {count} hours, counted from {time} UTC", hours, time=at
    )


def retention_text(settings: Settings) -> str:
    """The rules by which backups are kept."""
    rules = [_(message, count=getattr(settings, name)) for name, message in KEPT if getattr(settings, name)]
    return ", ".join(rules)


def next_at(settings: Settings, now: int) -> int:
    """When the next backup is made, in Unix seconds."""
    return backups.slot_of(now, settings) + settings.backup_hours * backups.HOUR_SECONDS


def is_on_same_disk(settings: Settings) -> bool:
    """Whether one disk holds the backups and the database."""
    try:
        return Path(settings.backup_folder).stat().st_dev == Path(settings.data).stat().st_dev
    except OSError:  # it is made with the first backup
        return False
