"""Dates and times as text in the current language."""

from datetime import datetime, tzinfo

from server.translation import N_, _

# Whole dates, since languages inflect months and order the parts differently.
_DATES = (
    N_("{day} January {year}"),
    N_("{day} February {year}"),
    N_("{day} March {year}"),
    N_("{day} April {year}"),
    N_("{day} May {year}"),
    N_("{day} June {year}"),
    N_("{day} July {year}"),
    N_("{day} August {year}"),
    N_("{day} September {year}"),
    N_("{day} October {year}"),
    N_("{day} November {year}"),
    N_("{day} December {year}"),
)


def date_and_time(second: int, zone: tzinfo) -> tuple[str, str]:
    """The date and the time of day of a Unix second in a zone, as people write them.

    >>> from datetime import UTC
    >>> date_and_time(1_795_647_788, UTC)
    ('25 November 2026', '23:03')
    """
    at = datetime.fromtimestamp(second, zone)
    return _(_DATES[at.month - 1], day=at.day, year=at.year), f"{at:%H:%M}"
