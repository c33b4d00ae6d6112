"""The hourly counts of lists, and the comparison with a normal hour."""

from dataclasses import replace

from server.tickets import hourly_counts
from tests.records.desk import NOW, Desk

HOUR, WEEK = 3600, 7 * 86400
NEXT_HOUR = NOW - NOW % HOUR + HOUR


def count_at(desk: Desk, at: int) -> int:
    return hourly_counts.count_lists(desk.service, at)


def test_a_list_is_compared_with_the_same_hour_of_earlier_weeks(desk: Desk) -> None:
    people, tickets = desk.people(), desk.registry.type("ticket").table
    secret = desk.create("group", name="Secret", is_private=1)["id"]
    nora, olga = (replace(desk.context(people[name]), now=NEXT_HOUR + 1800) for name in ("nora", "olga"))
    desk.create("ticket", subject="Counted", group_id=people["support"], owner_id=people["milo"])
    desk.create("ticket", subject="Counted", group_id=people["support"])
    late = desk.create("ticket", subject="Counted", group_id=secret)["id"]
    desk.store.write(lambda tx: tx.update(tickets, late, {"due_at": NEXT_HOUR - 2 * WEEK}))
    assert count_at(desk, NEXT_HOUR - WEEK) == NEXT_HOUR - WEEK + HOUR
    assert hourly_counts.usual(nora) == {}
    count_at(desk, NEXT_HOUR - 2 * WEEK)
    desk.create("ticket", subject="Counted", group_id=people["support"])
    count_at(desk, NEXT_HOUR - WEEK + 60)  # an hour is counted once
    count_at(desk, NEXT_HOUR - WEEK + HOUR)  # another hour
    count_at(desk, NEXT_HOUR - 3 * WEEK + 1200)  # too late for its hour
    assert hourly_counts.usual(nora) == {"unassigned": 2, "open": 3, "late": 1}
    assert hourly_counts.usual(olga) == {"unassigned": 1, "open": 2, "late": 0}


def test_old_counts_are_removed(desk: Desk) -> None:
    for weeks in (10, 9, 0):
        count_at(desk, NEXT_HOUR - weeks * WEEK)
    rows = desk.store.read(lambda tx: tx.find(hourly_counts.HOURLY_COUNT))
    assert {row[0] for row in rows} == {NEXT_HOUR - 9 * WEEK, NEXT_HOUR}
