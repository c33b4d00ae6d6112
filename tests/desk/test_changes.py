"""The change log without a server: expiry, and the validity of cursors."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.errors import Gone
from server.records import changes, records
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.upkeep import restoring
from tests.desk.conftest import Post

DAY = 86400


def page(desk: Post, cursor: int, limit: int = 100) -> changes.ChangePage:
    ctx = desk.context()
    return desk.read(lambda tx: changes.page(ctx, tx, cursor, limit, desk.service.registry.uris()))


def orgs(desk: Post, number: int) -> list[int]:
    return [int(records.create(desk.context(), "org", {"name": f"Org {each}"})["id"]) for each in range(number)]


def test_old_changes_expire_and_an_older_cursor_is_refused(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "BATCH", 2)
    orgs(desk, 5)
    old = desk.read(changes.now)
    desk.now += 7 * DAY
    young = orgs(desk, 3)
    changes.forget_old(desk.service, desk.now)
    assert len(page(desk, 0 if old == 0 else old).changes) == 3
    changes.forget_old(desk.service, desk.now + 1)
    assert [each.id for each in page(desk, old).changes] == young
    with pytest.raises(Gone, match="search for the records again"):
        page(desk, old - 2)
    changes.forget_old(desk.service, desk.now + 8 * DAY)
    assert page(desk, old + 3) == changes.ChangePage([], old + 3, False)
    for cursor in (old + 1, old + 4):  # the second was never issued: it comes from another database
        with pytest.raises(Gone):
            page(desk, cursor)


def test_the_number_of_stored_changes_is_limited(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_RETAINED", 2)
    kept = orgs(desk, 5)[-2:]
    changes.forget_old(desk.service, desk.now)
    assert [each.id for each in page(desk, desk.read(changes.now) - 2).changes] == kept
    with pytest.raises(Gone):
        page(desk, desk.read(changes.now) - 4)


def test_a_time_leads_to_the_first_change_after_it(desk: Post) -> None:
    start, made = desk.now, {}
    for second in (0, 0, 100, 70, 200):  # 70: of a transaction that waited for the previous one
        desk.now = start + second
        made.setdefault(second, []).extend(orgs(desk, 2))
    everything = [id for each in made.values() for id in each]

    def since(second: int) -> list[int]:
        cursor = desk.read(lambda tx: changes.cursor_at(tx, start + second))
        return [each.id for each in page(desk, cursor).changes if each.type == "org"][-len(everything) :]

    assert since(0) == since(-1000) == everything
    assert since(1) == since(100) == made[100] + made[70] + made[200]
    assert since(101) == since(200) == made[200]
    assert since(201) == since(10**9) == []
    desk.now = start + 7 * DAY + 10
    changes.forget_old(desk.service, desk.now)
    assert since(1) == since(100) == made[100] + made[70] + made[200]
    with pytest.raises(Gone, match="search for the records again"):
        since(0)


def test_no_time_before_a_restore_leads_to_a_cursor(desk: Post) -> None:
    orgs(desk, 2)
    before = desk.now
    desk.now += 1000
    restoring.log_restored(desk.context(), "helpdesk.db", "")
    for _ in range(2):
        with pytest.raises(Gone):
            desk.read(lambda tx: changes.cursor_at(tx, before))
        orgs(desk, 1)


def test_followers_are_notified_once_per_committed_transaction(desk: Post) -> None:
    told: list[str] = []
    desk.service.followers.append(told.append)
    orgs(desk, 1)
    assert told == [changes.CHANNEL]
    with pytest.raises(Exception, match="name"):
        records.create(desk.context(), "org", {"name": ""})
    assert told == [changes.CHANNEL]


def test_a_reader_of_few_changes_among_many_does_not_wait(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page scans a limited number of changes; the next one continues after them."""
    monkeypatch.setattr(changes, "SCANNED_ROWS", 3)
    before = desk.read(changes.now)
    orgs(desk, 7)
    task = int(records.create(desk.context(), "task", {"title": "Order a valve"})["id"])
    ctx, cursor, pages = desk.context(), before, []
    for _ in range(3):
        found = desk.read(lambda tx, cursor=cursor: changes.page(ctx, tx, cursor, 100, {"task"}))
        cursor = found.cursor
        pages.append(([each.id for each in found.changes], found.cursor - before, found.has_more))
    assert pages == [([], 3, True), ([], 6, True), ([task], 8, False)]


def test_no_cursor_from_before_is_valid_after_a_restore(desk: Post) -> None:
    orgs(desk, 2)
    backed_up = desk.read(changes.now)
    later = [backed_up + 1, backed_up + 5000]  # issued after the backup was taken
    restoring.log_restored(desk.context(), "helpdesk.db", "")
    cursor = desk.read(changes.now)
    made = orgs(desk, 1)
    assert [each.id for each in page(desk, cursor).changes] == made
    for old in (0, backed_up - 1, backed_up, *later):
        with pytest.raises(Gone):
            page(desk, old)


def test_an_uncommitted_change_is_not_skipped(desk: Post) -> None:
    orgs(desk, 1)
    written, go = threading.Event(), threading.Event()

    def write(tx: Transaction) -> int:
        writing = RecordWriter(desk.context(), tx)
        id = writing.create("org", {"name": "Larch"})
        writing.record("org", id)  # every statement is done, but not committed
        written.set()
        assert go.wait(60)
        return id

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(desk.service.store.write, write)
        assert written.wait(60)
        seen = desk.read(changes.now)
        assert page(desk, seen) == changes.ChangePage([], seen, False)
        go.set()
        id = writing.result(60)
    assert [each.id for each in page(desk, seen).changes] == [id]
