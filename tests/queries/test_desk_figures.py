"""The figures of the start page."""

from dataclasses import replace
from datetime import UTC, datetime
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


@pytest.fixture
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a count take as long as a busy machine needs."""
    monkeypatch.setattr(desk_figures, "_PER_DAY", desk_figures._PER_DAY.replace("timeout:300", "timeout:60000"))


@pytest.mark.usefixtures("no_hurry")
def test_today_is_compared_with_the_same_weekday_until_the_same_time(desk: Desk) -> None:
    people = desk.people()
    ctx = desk.context(people["nora"])
    week, hour = 7 * 86400, 3600
    for weeks, counts in ((4, 2), (3, 3), (2, 1), (1, 4), (0, 5)):
        for number in range(counts):
            at = NOW - weeks * week - number
            ticket = desk.create("ticket", subject="Counted", group_id=people["support"], created=at)
            desk.update("ticket", ticket["id"], closed=at)
    for at in (NOW - week + hour, NOW - 2 * week + hour, NOW - 86400):  # later on these days, and another weekday
        desk.create("ticket", subject="Not counted", group_id=people["support"], created=at)
    new, closed = desk_figures.today(ctx, desk_figures.TODAY)
    assert (new.value, new.usual) == (closed.value, closed.usual) == (5, 2)
    assert len(desk.found("ticket", new.query)) == len(desk.found("ticket", closed.query)) == 5
    assert f"{datetime.fromtimestamp(NOW, UTC):%H:%M:%S}" in new.query
    olga = desk.context(people["olga"])
    assert [each.value for each in desk_figures.today(olga, desk_figures.OWN_TODAY)] == [0, 0]


@pytest.mark.usefixtures("no_hurry")
def test_a_day_is_compared_only_if_three_earlier_ones_had_records(desk: Desk) -> None:
    people = desk.people()
    for weeks in (2, 1, 0):
        desk.create("ticket", subject="New", group_id=people["support"], created=NOW - weeks * 7 * 86400)
    new, _closed = desk_figures.today(desk.context(people["nora"]), desk_figures.TODAY)
    assert (new.value, new.usual) == (1, None)


@pytest.mark.usefixtures("no_hurry")
def test_replies_and_closed_tickets_count_for_the_worker_who_wrote_them(desk: Desk) -> None:
    people = desk.people()
    ticket = desk.create("ticket", subject="Own", group_id=people["support"])
    desk.update("ticket", ticket["id"], by=people["milo"], status="closed")
    own = {name: desk_figures.today(desk.context(people[name]), desk_figures.OWN_TODAY) for name in ("milo", "nora")}
    assert [each.value for each in own["milo"]] == [0, 1] and [each.value for each in own["nora"]] == [0, 0]
    assert [(each.value, each.label) for each in desk_figures.owners(desk.context(people["nora"]))] == []
    desk.create("ticket", subject="Open", group_id=people["support"], owner_id=people["milo"])
    [owner] = desk_figures.owners(desk.context(people["nora"]))
    assert (owner.value, owner.query) == (1, f"status:open owner.id:{people['milo']}")


def test_the_first_response_is_that_of_the_replies_of_today(desk: Desk) -> None:
    people = desk.people()
    address = desk.create("address", email="ana@customer.example")["id"]
    for began, replied in ((NOW - 7200, NOW - 3600), (NOW - 3 * 86400, NOW - 60), (NOW - 3 * 86400, NOW - 2 * 86400)):
        ticket = desk.create("ticket", subject="Replied", group_id=people["support"], created=began)
        mail = {"ticket_id": ticket["id"], "sender_id": address, "content": "Hello.", "headers": "Subject: Hello"}
        desk.create("message", **mail, created=began)
        desk.create("message", **mail, created=replied, is_outgoing=1, worker_id=people["milo"])
    found = desk_figures.first_response(desk.context(people["nora"]))
    assert found is not None and len(desk.found("ticket", found.query)) == 2
    assert found.value == 3600
