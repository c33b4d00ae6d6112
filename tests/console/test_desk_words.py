"""The wording of the desk: what it says about an action, who owns a ticket, and which list contains it."""

from typing import Any

import pytest

from console import pages
from console.lists import worklist
from console.pages import start, worklists
from server.discovery import load_all
from tests.console.visitor import Visitor, place, text_of
from tests.service import PASSWORD, Api


@pytest.fixture
def ticket(nora: Api, request: pytest.FixtureRequest) -> dict[str, Any]:
    name = request.node.name[:60]
    raw = f"From: ana@kite.example\nTo: support@desk.example\nSubject: Desk words {name}\n\nIt leaks. {name}\n"
    made = nora.parse(raw).ok().json
    return {**made, "page": f"/tickets/{made['mask']}"}


def test_a_composed_ticket_belongs_to_its_author_unless_they_choose_no_one(signed_in: Visitor, nora: Api) -> None:
    page = signed_in.get("/compose").text
    assert f'<option value="{nora.ids["nora"]}" selected' in page and "No change" not in page
    form = {"to": "ben@kite.example", "subject": "Owned by me", "content": "Hello.", "status": "1", "do": "save"}
    bucket = nora.found("bucket", f"group.id:{nora.ids['support']}")[0]
    for owner in (str(nora.ids["nora"]), ""):
        response = signed_in.send("/compose", {**form, "bucket": str(bucket), "owner": owner}, page="/compose")
        assert response.status_code == 303, text_of(response.text)
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
    told = {
        "message": "{{actor}} wrote on ticket {{target}}",
        "variables": {"actor": "Ana Kite <ana@kite.example>", "target": "[#ABC-1] Boat"},
    }
    for name in ("nora", "milo", "milo"):
        nora.create("notification", activity_point="custom.other", params=told, worker_id=nora.ids[name]).ok()
    mine = len(nora.found("notification", f"isRead:no worker.id:{nora.ids['nora']}"))
    page = signed_in.get("/").text
    news = page.partition('id="news"')[2].partition("</ul>")[0]
    assert news.count('href="/notifications/') == min(mine, start.MAX_NEW)
    assert "Ana Kite wrote on ticket Boat" in text_of(news) and "[#" not in news and "@" not in text_of(news)


def test_every_action_on_a_list_reports_its_result() -> None:
    load_all(pages.__name__, pages.__path__, is_deep=True)
    silent = [f"{path}: {each.name}" for path, listed in worklist.DECLARED.items() for each in listed.actions
              if not each.page and not all(each.says)]  # fmt: skip
    assert silent == [] and worklists.DELETE.says[0] and len(worklist.DECLARED) > 10


@pytest.mark.parametrize(
    ("form", "one", "two"),
    [
        ({"do": "close"}, "Ticket closed.", "2 tickets closed."),
        ({"do": "take"}, "Assigned to you.", "2 tickets assigned to you."),
        ({"do": "assign", "value_assign": "0"}, "Unassigned.", "2 tickets unassigned."),
        ({"do": "assign", "value_assign": "milo"}, "Assigned to Milo Test.", "2 tickets assigned to Milo Test."),
        ({"do": "next"}, "Ticket goes to whoever is next.", "2 tickets go to whoever is next."),
        ({"do": "wait", "value_wait": "2031-03-04 09:00"}, "Snoozed until Tue 4 Mar 2031 09:00",
         "2 tickets snoozed until Tue 4 Mar 2031 09:00"),
        ({"do": "spam"}, "Marked as spam and deleted.", "2 tickets marked as spam and deleted."),
    ],
    ids=lambda each: each.get("value_assign", each["do"]) if isinstance(each, dict) else "",
)  # fmt: skip
def test_an_action_on_tickets_is_described_in_its_own_words(
    signed_in: Visitor, nora: Api, form: dict[str, str], one: str, two: str
) -> None:
    if form.get("value_assign") == "milo":
        form = {**form, "value_assign": str(nora.ids["milo"])}
    made = [nora.create("ticket", subject=f"Act {n}", group_id=nora.ids["support"]).ok()["id"] for n in range(3)]
    nora.update("worker", nora.ids["nora"], language="en_GB").ok()
    for ids, words in ((made[:1], one), (made[1:], two)):
        sent = {"list": "/inbox", "back": "/inbox", **form, "ids[]": [str(id) for id in ids]}
        assert signed_in.send("/-/bulk", sent, page="/inbox").status_code == 303
        assert words in text_of(signed_in.get("/inbox").text)
    nora.update("worker", nora.ids["nora"], language="en_US").ok()


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"name": "owner", "value": "me", "was_owner_id": "0"}, "Assigned to you."),
        (
            {"name": "status", "value": "waiting", "reopen_at": "2031-03-04 09:00"},
            "Snoozed until Tue, Mar 4, 2031, 9:00 AM",
        ),
        ({"name": "status", "value": "waiting"}, "Ticket set to waiting."),
        ({"name": "status", "value": "closed"}, "Ticket closed."),
    ],
)
def test_an_act_on_the_page_of_a_ticket_says_the_same(
    signed_in: Visitor, ticket: dict[str, Any], form: dict[str, str], words: str
) -> None:
    seen = {"was_status_id": "0", "was_reopen_date": "0"}
    assert signed_in.send(f"{ticket['page']}/set", {**seen, **form}, page=ticket["page"]).status_code == 303
    assert words in text_of(signed_in.get(ticket["page"]).text)


def test_merging_finds_tickets_by_words(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    other = nora.create("ticket", subject="Xylophone repair", group_id=nora.ids["support"]).ok().json
    page = f"{ticket['page']}/merge"
    shown = signed_in.get(page, params={"other": "xylophone"})
    assert shown.status_code == 200 and "Xylophone repair" in shown.text
    assert signed_in.get(page, params={"other": "zzqq words of none"}).status_code == 422
    assert signed_in.send(page, {"other": str(other["id"])}, page=page).status_code == 303
    assert "Merged into" in text_of(signed_in.get(ticket["page"]).text)


def test_a_new_worker_is_in_the_groups_of_the_invitation_and_can_reply(signed_in: Visitor, nora: Api) -> None:
    path = "/admin/people/new"
    assert "Groups" in signed_in.get(path).text
    form = {"first_name": "Inka", "email": "inka@desk.example", "timezone": "UTC", "language": "en_US", "invite": ""}
    response = signed_in.send(path, {**form, "groups": [str(nora.ids["support"])]}, page=path)
    assert response.status_code == 303, text_of(response.text)
    [inka] = nora.found("worker", "firstName:Inka")
    assert list(nora.record("worker", inka, "groups").ok()["groups"]) == [str(nora.ids["support"])]
    response = signed_in.send(path, {**form, "first_name": "Jon", "email": "jon@desk.example"}, page=path)
    assert "They are not in any group yet" in text_of(signed_in.get(place(response)).text)
    response = signed_in.send(path, {**form, "email": "kim@desk.example", "groups": ["999999"]}, page=path)
    assert response.status_code == 422 and nora.found("worker", "email:kim@desk.example") == []


def test_a_worker_who_may_not_reply_reads_why(visitor: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    outsider = nora.create("worker", first_name="Ola", email="ola@desk.example", language="en_US", timezone="UTC").ok()[
        "id"
    ]
    nora.update("worker", outsider, password=PASSWORD).ok()
    assert visitor.sign_in("ola@desk.example").status_code == 303
    page = visitor.get(ticket["page"])
    assert page.status_code == 200 and "you are not a member of the group" in text_of(page.text)
    assert 'id="answer"' not in page.text


@pytest.mark.parametrize("path", ["/snippets", "/admin/targets", "/search/calendar", "/search/email_signature",
                                  "/search/html_template"])  # fmt: skip
def test_each_kind_of_setting_has_a_link(signed_in: Visitor, path: str) -> None:
    assert f'href="{path}"' in signed_in.get("/settings").text and signed_in.get(path).status_code == 200


def test_a_saved_absence_stays_valid_once_it_has_begun(signed_in: Visitor) -> None:
    typed = {"text": "2020-01-02 09:00", "ahead": "1"}
    page = "/account"
    assert "wrong" in signed_in.send("/-/time", {**typed, "stored": "0"}, page=page).json()
    assert "Jan 2, 2020" in signed_in.send("/-/time", {**typed, "stored": "1"}, page=page).json()["understood"]


def test_every_draft_of_a_new_ticket_can_be_reached(signed_in: Visitor, nora: Api) -> None:
    made = [nora.create("draft", type="mail.compose", name=name, worker_id=nora.ids["nora"], to="ana@kite.example",
                        params={"subject": name, "content": f"Text of {name}"}).ok()["id"]
            for name in ("Draft one", "Draft two", "Draft three")]  # fmt: skip
    try:
        page = signed_in.get("/compose").text
        shown = [name for name in ("one", "two", "three") if f"Text of Draft {name}" in page]
        assert len(shown) == 1
        for id, name in zip(made, ("one", "two", "three"), strict=True):
            if name not in shown:
                assert f'href="/compose?draft={id}"' in page and f"Draft {name}" in page
            assert f"Text of Draft {name}" in signed_in.get(f"/compose?draft={id}").text
        assert "Text of Draft" not in signed_in.get("/compose?draft=new").text
        assert "Text of Draft" not in signed_in.get("/compose?draft=999999").text
    finally:
        for id in made:
            nora.remove("draft", id).ok()


def test_a_second_draft_of_a_reply_can_be_continued(signed_in: Visitor, nora: Api, ticket: dict[str, Any]) -> None:
    made = [nora.create("draft", type="ticket.reply", name="Re", ticket_id=ticket["id"], worker_id=nora.ids["nora"],
                        params={"content": f"Reply {number}"}).ok()["id"] for number in range(2)]  # fmt: skip
    pages = [signed_in.get(f"{ticket['page']}?answer=reply&resume={id}").text for id in made]
    areas = [page.partition('name="content"')[2].partition("</textarea>")[0] for page in pages]
    assert "Reply 0" in areas[0] and "Reply 1" in areas[1]
    page = signed_in.get(ticket["page"]).text
    links = [id for id in made if f"resume={id}#answer" in page]
    assert len(links) == 1


GERMAN = {
    "/compose": ["An<", "Nachricht<"],
    "/automations/log": [">Meldung<", ">Stelle<"],
    "/search/ticket?q=status:open": ["Wieder öffnen", ">Suchen</button>", ">Suche</label>"],
    "/reminders": [">Offen<", ">Erledigt<"],
    "/admin/system/settings": [">Herkunft<"],
}


@pytest.mark.parametrize("path", GERMAN)
def test_german_has_a_word_for_each_meaning(signed_in: Visitor, nora: Api, ticket: dict[str, Any], path: str) -> None:
    assert ticket["mask"]
    nora.update("worker", nora.ids["nora"], language="de_DE").ok()
    try:
        page = signed_in.get(path).text
    finally:
        nora.update("worker", nora.ids["nora"], language="en_US").ok()
    assert [each for each in GERMAN[path] if each not in page] == []
