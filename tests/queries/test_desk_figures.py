"""The figures of the start page."""

from dataclasses import replace
from typing import Any

import pytest

from server.context import Context
from server.errors import BadDataQuery
from server.queries import desk_figures
from server.store.store_local import SLOW_SECONDS
from tests.records.desk import NOW, Desk


def test_daily_counts_that_take_too_long_are_omitted_for_a_while(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[str] = []

    def slow(ctx: Context, q: str) -> dict[str, Any]:
        queries.append(q)
        raise BadDataQuery("the query took longer than 300 ms")

    ctx = desk.context()
    with monkeypatch.context() as patched:
        patched.setattr(desk_figures.query_run, "evaluate", slow)
        assert not list(desk_figures.daily(ctx)) and len(queries) == len(desk_figures.DAILY)
        assert not list(desk_figures.daily(ctx)) and len(queries) == len(desk_figures.DAILY)  # not computed again
    later = replace(ctx, now=NOW + SLOW_SECONDS)
    assert len(list(desk_figures.daily(later))) == len(desk_figures.DAILY)
