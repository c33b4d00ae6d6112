"""Dependent records are deleted with their record: many of them in portions, between which others may write."""

from itertools import pairwise

import pytest

from server.record_types.shared.relation_tables import ATTACHED, REMAINS
from server.records import deferred_deletion, records, writing
from server.store.transaction import Transaction
from tests.desk.conftest import Post

COMMENTS, FILES, PORTION = 23, 12, 5
ORG = "svc.contexts.org"


@pytest.fixture
def org(desk: Post, monkeypatch: pytest.MonkeyPatch) -> int:
    """An organization with many comments and files; another one has a comment and one of the files as well."""
    monkeypatch.setattr(writing, "PORTION", PORTION)
    monkeypatch.setattr(deferred_deletion, "TURN_PORTIONS", 2)
    ids = [desk.create("org", name=name) for name in ("Larch", "Kite")]
    for number in range(COMMENTS):
        desk.create("comment", target__context=ORG, target_id=ids[0], comment=f"Word{number}")
    desk.create("comment", target__context=ORG, target_id=ids[1], comment="Stays")
    for number in range(FILES):
        file = desk.create("attachment", name=f"{number}.txt", mime_type="text/plain", content=b"%d" % number)
        for id in ids[: 2 if number == FILES - 1 else 1]:
            row = {"attachment_id": file, "context": ORG, "record_id": id}
            desk.service.store.write(lambda tx, row=row: tx.insert(ATTACHED, row))
    return ids[0]


def counts(desk: Post) -> tuple[int, int, int]:
    """Returns the numbers of comments, files and attachments."""
    return len(desk.all("comment")), len(desk.all("attachment")), len(desk.read(lambda tx: tx.find(ATTACHED)))


def delete(desk: Post, id: int) -> None:
    records.delete(desk.context(desk.nora), "org", id)


def test_many_are_deleted_in_portions_and_the_record_at_once(desk: Post, org: int) -> None:
    before = counts(desk)
    delete(desk, org)
    assert desk.all("org", id=org) == [] and counts(desk)[0] == before[0] - PORTION
    sizes = [sum(counts(desk))]
    while deferred_deletion.clear_remains(desk.service, desk.now) is not None:
        assert "results" in records.search(desk.context(desk.milo), "comment", records.SearchRequest(expand="target_"))
        sizes.append(sum(counts(desk)))
    assert len(sizes) > 3 and all(a - b <= 2 * PORTION * 2 for a, b in pairwise(sizes))
    assert counts(desk) == (1, 1, 1) and desk.read(lambda tx: tx.find(REMAINS)) == []
    assert desk.all("comment")[0]["comment"] == "Stays"


def test_after_a_kill_the_rest_is_deleted(desk: Post, org: int) -> None:
    delete(desk, org)
    deferred_deletion.clear_remains(desk.service, desk.now)
    left = desk.read(lambda tx: tx.find(REMAINS))
    assert left == [(ORG, org)]  # stored, so that the next scan of any process finds it
    while deferred_deletion.clear_remains(desk.service, desk.now) is not None:
        pass
    assert counts(desk) == (1, 1, 1)


def test_few_are_deleted_with_their_record(desk: Post) -> None:
    org = desk.create("org", name="Larch")
    desk.create("comment", target__context=ORG, target_id=org, comment="Word")
    delete(desk, org)
    assert desk.all("comment") == [] and desk.read(lambda tx: tx.find(REMAINS)) == []


def test_a_rolled_back_deletion_leaves_nothing_to_do(desk: Post, org: int) -> None:
    before = counts(desk)

    def fails(tx: Transaction) -> None:
        writing.RecordWriter(desk.context(), tx).delete("org", org)
        raise ValueError("for the test")

    with pytest.raises(ValueError, match="for the test"):
        desk.service.store.write(fails)
    assert counts(desk) == before and desk.read(lambda tx: tx.find(REMAINS)) == []


def test_a_purged_ticket_is_deleted_before_its_many_messages(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "PORTION", PORTION)
    ticket, kept = desk.ticket_id(), desk.ticket_id(subject="Kept")
    for _ in range(3 * PORTION):
        desk.received(ticket)
    desk.write(lambda writer: writer.delete("ticket", ticket))
    assert [each["id"] for each in desk.all("ticket")] == [kept]
    assert len(desk.all("message", ticket_id=ticket)) == 2 * PORTION + 1
    while deferred_deletion.clear_remains(desk.service, desk.now) is not None:
        pass
    assert desk.all("message", ticket_id=ticket) == [] and len(desk.all("message")) == 1
