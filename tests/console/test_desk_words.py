"""What the desk says of an act, who owns what, and which list holds it."""

from typing import Any

import pytest

from tests.console.visitor import Visitor, text_of
from tests.service import Api


@pytest.fixture
def ticket(nora: Api, request: pytest.FixtureRequest) -> dict[str, Any]:
    name = request.node.name[:60]
    raw = f"From: ana@kite.example\nTo: support@desk.example\nSubject: Desk words {name}\n\nIt leaks. {name}\n"
    made = nora.parse(raw).ok().json
    return {**made, "page": f"/tickets/{made['mask']}"}


def test_a_composed_ticket_belongs_to_its_author_unless_they_choose_nobody(signed_in: Visitor, nora: Api) -> None:
    page = signed_in.get("/compose").text
    assert f'<option value="{nora.ids["nora"]}" selected' in page and "No change" not in page
    form = {"to": "ben@kite.example", "subject": "Owned by me", "content": "Hello.", "status": "1", "do": "save"}
    bucket = nora.found("bucket", f"group.id:{nora.ids['support']}")[0]
    for owner in (str(nora.ids["nora"]), ""):
        answer = signed_in.send("/compose", {**form, "bucket": str(bucket), "owner": owner}, page="/compose")
        assert answer.status_code == 303, text_of(answer.text)
    owners = [
        nora.record("ticket", id).ok()["owner_id"] for id in nora.found("ticket", 'subject:"Owned by me" sort:id')
    ]
    assert owners == [nora.ids["nora"], 0]
    listed = text_of(signed_in.get("/inbox?v=all-waiting").text)
    assert listed.count("Owned by me") == 2
    assert text_of(signed_in.get("/inbox?v=waiting").text).count("Owned by me") == 1


def test_the_thread_says_who_took_and_who_unassigned_a_ticket(
    signed_in: Visitor, nora: Api, ticket: dict[str, Any]
) -> None:
    for owner in (nora.ids["nora"], nora.ids["milo"], 0):
        nora.update("ticket", ticket["id"], owner_id=owner).ok()
    nora.update("ticket", ticket["id"], status="closed").ok()
    thread = text_of(signed_in.get(ticket["page"]).text.partition('id="thread"')[2].partition("</section>")[0])
    told = ("took the ticket", "assigned the ticket to Milo Test", "unassigned the ticket", "closed the ticket")
    assert all(each in thread for each in told) and "took the ticket from" not in thread, thread


def test_activity_lines_are_short_in_german(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    nora.update("ticket", ticket["id"], owner_id=nora.ids["milo"]).ok()
    nora.update("worker", nora.ids["nora"], language="de_DE").ok()
    try:
        page = signed_in.get(ticket["page"]).text
    finally:
        nora.update("worker", nora.ids["nora"], language="en_US").ok()
    thread = text_of(page.partition('class="event"')[2].partition("</li>")[0])
    assert "hat das Ticket Milo Test zugewiesen" in thread and "Desk words" not in thread


def test_unread_notifications_are_those_of_the_administrator(signed_in: Visitor, nora: Api) -> None:
    told = {"message": "{{actor}} said hello", "variables": {"actor": "Ana"}}
    for name in ("nora", "milo", "milo"):
        nora.create("notification", activity_point="custom.other", params=told, worker_id=nora.ids[name]).ok()
    mine = len(nora.found("notification", f"isRead:no worker.id:{nora.ids['nora']}"))
    page = signed_in.get("/").text
    work = page.partition('aria-label="Your work"')[2].partition("Unread notifications")[0]
    count = work.rpartition('class="count">')[2].partition("<")[0]
    assert count == str(mine)
