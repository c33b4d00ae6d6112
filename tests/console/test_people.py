"""Workers, groups and rosters in the console: tasks of administrators, and refusals for others."""

import html
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, place, text_of, value
from tests.service import PASSWORD, Api

BASE = "/admin/people"
INES = {
    "first_name": "Ines", "last_name": "Moor", "email": "ines@desk.example", "timezone": "Europe/Zurich",
    "language": "de_CH", "invite": "link",
}  # fmt: skip


def made(nora: Api, name: str, **fields: Any) -> int:
    """Creates a worker with a password; returns the id."""
    created = nora.create(
        "worker", first_name=name, email=f"{name.lower()}@desk.example", language="en_US", timezone="UTC",
        password=PASSWORD, **fields,
    ).ok()  # fmt: skip
    return int(created["id"])


def test_a_worker_is_created_and_chooses_a_password_by_a_link(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    response = signed_in.send(f"{BASE}/new", INES)
    assert response.status_code == 200 and "shown only once" in response.text
    link = re.search(r"http://[^<\"]*(/reset/[\w-]+)", response.text)
    assert link is not None
    [id] = nora.found("worker", "email:(email:ines@desk.example)")
    assert nora.record("worker", id)["timezone"] == "Europe/Zurich" and not nora.record("worker", id)["is_superuser"]
    assert "no password yet" in signed_in.get(f"{BASE}?q=ines").text
    assert link[1] not in signed_in.get(f"{BASE}/{id}").text
    chosen = {"password": "a new pass phrase", "password_again": "a new pass phrase"}
    assert place(visitor.send(link[1], chosen)) == "/login?new=1"
    assert visitor.sign_in("ines@desk.example", "a new pass phrase").status_code == 303
    assert visitor.is_in and visitor.get(link[1]).status_code == 404
    page = signed_in.get(f"{BASE}/{id}").text
    assert "none yet" not in page and "127.0.0.1" in page
    assert place(signed_in.send(f"{BASE}/{id}/sign-out", page=f"{BASE}/{id}")) == f"{BASE}/{id}"
    assert not visitor.is_in


def test_an_invitation_by_mail_says_whether_it_is_sent(signed_in: Visitor, nora: Api) -> None:
    others = [each["id"] for each in nora.search("mail_transport", limit=250)["results"]]
    for id in others:
        nora.remove("mail_transport", id).ok()
    chosen = re.compile(r'<option value="(\w*)" selected>(?:Email a link|Show me)')
    for email, way, told in (("waits", "link", "is in the outbox"), ("leaves", "mail", "is on its way")):
        assert chosen.findall(signed_in.get(f"{BASE}/new").text) == [way]
        response = signed_in.send(f"{BASE}/new", INES | {"email": f"{email}@desk.example", "invite": "mail"})
        [id] = nora.found("worker", f"email:(email:{email}@desk.example)")
        assert place(response) == f"{BASE}/{id}"
        assert told in signed_in.get(f"{BASE}/{id}").text
        nora.create("mail_transport", name="None", extension_id="core.mail.transport.null").ok()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"first_name": ""}, "First name"),
        ({"email": "nora@desk.example"}, "belongs to worker"),
        ({"email": "nowhere"}, "Email address"),
        ({"timezone": "Europe/Nowhere"}, "Time zone"),
        ({"at_mention_name": "a b"}, "Nickname"),
        ({"invite": "pigeon"}, "Choose one from the list"),
        ({"phone": "0" * 100}, "Phone"),
    ],
)
def test_mistakes_are_reported_and_the_input_stays(
    signed_in: Visitor, nora: Api, changes: dict[str, str], told: str
) -> None:
    before = nora.search("worker")["total"]
    form = INES | {"email": "wrong@desk.example", "title": HOSTILE} | changes
    response = signed_in.send(f"{BASE}/new", form)
    assert response.status_code == 422 and told in text_of(response.text) and 'id="summary"' in response.text
    assert HOSTILE not in response.text and value(response.text, "title") == HOSTILE
    assert value(response.text, "last_name") == "Moor" and nora.search("worker")["total"] == before


def test_a_worker_is_changed(signed_in: Visitor, nora: Api) -> None:
    id = made(nora, "Change", is_superuser=1)
    page = signed_in.get(f"{BASE}/{id}").text
    assert value(page, "email") == "change@desk.example"
    names = ("first_name", "email", "timezone", "language")
    form = {name: value(page, name) for name in names} | {"title": "Clerk", "is_mfa_required": "1"}
    assert place(signed_in.send(f"{BASE}/{id}", form)) == BASE
    worker = nora.record("worker", id).json
    assert (worker["title"], worker["is_superuser"]) == ("Clerk", 0)
    wrong = signed_in.send(f"{BASE}/{id}", form | {"language": ""})
    assert wrong.status_code == 422 and value(wrong.text, "title") == "Clerk"


def test_disabling_hands_tickets_over_and_locks_the_worker_out(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    id = made(nora, "Leaver")
    visitor.sign_in("leaver@desk.example")
    nora.update("group", nora.ids["support"], members={"member": str(id)}).ok()
    tickets = [
        nora.create("ticket", subject=f"Printer {status}", group_id=nora.ids["support"], owner_id=id, status=status,
                    participants="ana@customer.example").ok()["id"]
        for status in ("open", "waiting", "closed")
    ]  # fmt: skip
    page = signed_in.get(f"{BASE}/{id}/disable").text
    assert "2 open or waiting tickets" in page
    for wrong in ({"to_id": "soon"}, {"tickets": "give"}, {"tickets": "burn"}, {"tickets": "give", "to_id": str(id)},
                  {"tickets": "free", "to_id": str(nora.ids["milo"])}, {"to_id": "999999"}):  # fmt: skip
        refused = signed_in.send(f"{BASE}/{id}/disable", wrong)
        assert refused.status_code in (404, 422) and not nora.record("worker", id)["is_disabled"], wrong
    response = signed_in.send(f"{BASE}/{id}/disable", {"tickets": "give", "to_id": str(nora.ids["milo"])})
    assert place(response) == f"{BASE}/{id}" and "2 tickets handed over" in signed_in.get(f"{BASE}/{id}").text
    owners = [nora.record("ticket", each)["owner_id"] for each in tickets]
    assert owners == [nora.ids["milo"], nora.ids["milo"], id]
    assert not visitor.is_in and visitor.sign_in("leaver@desk.example").status_code != 303
    assert signed_in.send(f"{BASE}/{id}/invite", page=f"{BASE}/{id}").status_code == 303
    nora.update("ticket", tickets[0], owner_id=id)  # left over, as with many tickets
    assert "Hand over the tickets of Leaver" in signed_in.get(f"{BASE}/{id}/disable").text
    signed_in.send(f"{BASE}/{id}/disable", {"tickets": "free"})
    assert nora.record("ticket", tickets[0])["owner_id"] == 0 and nora.record("worker", id)["is_disabled"] == 1
    signed_in.send(f"{BASE}/{id}/enable", page=f"{BASE}/{id}")
    assert visitor.sign_in("leaver@desk.example").status_code == 303


@pytest.mark.parametrize(("by", "sent", "still_good"), [
    ("mail", {"end_tokens": "1"}, False), ("link", {"end_tokens": "1"}, False), ("mail", {}, True), ("link", {}, True),
])  # fmt: skip
def test_a_reset_asks_whether_to_end_the_tokens_too(
    by: str, sent: dict[str, str], still_good: bool, signed_in: Visitor, nora: Api
) -> None:
    id = made(nora, f"Reset{by}{len(sent)}")
    page = signed_in.get(f"{BASE}/{id}").text
    assert re.search(r'name="end_tokens" value="1" checked', page)
    token = nora.post("/rest/oauth/tokens/create.json", worker_id=id, expires="1 day").ok()["access_token"]
    signed_in.send(f"{BASE}/{id}/invite", {"by": by, **sent}, page=f"{BASE}/{id}")
    assert (Api(nora.url, token).get("/rest/workers/me.json").status == 200) is still_good


def test_the_last_administrator_stays_one(signed_in: Visitor, nora: Api) -> None:
    for each in nora.found("worker", "isAdmin:yes"):
        if each != nora.ids["nora"]:
            nora.update("worker", each, is_superuser=0).ok()
    own = f"{BASE}/{nora.ids['nora']}"
    response = signed_in.send(f"{own}/disable", {"tickets": "keep"})
    assert response.status_code == 422 and "last administrator" in response.text
    page = signed_in.get(own).text
    form = {name: value(page, name) for name in ("first_name", "email", "timezone", "language")}
    response = signed_in.send(own, form)
    assert response.status_code == 422 and "last administrator" in response.text


def test_a_group_with_buckets_is_created_changed_and_deleted(signed_in: Visitor, nora: Api) -> None:
    groups = f"{BASE}/groups"
    response = signed_in.send(f"{groups}/new", {"name": HOSTILE, "is_private": "1"})
    id = nora.found("group", "sort:-id")[0]
    assert place(response) == f"{BASE}/rosters?group={id}"
    assert nora.record("group", id)["is_private"] == 1
    assert signed_in.send(f"{groups}/new", {"name": " "}).status_code == 422
    for path in (groups, f"{groups}/{id}", f"{groups}/{id}/delete", f"{BASE}/rosters?group={id}", f"{BASE}/rosters"):
        page = signed_in.get(path)
        assert page.status_code == 200 and HOSTILE not in page.text and "&lt;script&gt;" in page.text, path
    assert place(signed_in.send(f"{groups}/{id}", {"name": "Returns", "reply_personal": "Returns desk"})) == groups
    assert (nora.record("group", id)["name"], nora.record("group", id)["is_private"]) == ("Returns", 0)
    response = signed_in.send(f"{groups}/{id}/buckets", {"bucket": "Refunds"}, page=f"{groups}/{id}")
    assert place(response) == f"{groups}/{id}#buckets"
    assert signed_in.send(f"{groups}/{id}/buckets", {"bucket": ""}, page=f"{groups}/{id}").status_code == 422
    [inbox, refunds] = nora.found("bucket", f"group.id:{id} sort:id")
    bucket = f"{BASE}/buckets/{refunds}"
    assert place(signed_in.send(bucket, {"name": "Money back", "is_default": "1"})) == f"{groups}/{id}#buckets"
    assert nora.record("bucket", inbox)["is_default"] == 0
    assert signed_in.send(bucket, {"name": "Money back"}).status_code == 422
    refused = signed_in.send(f"{bucket}/delete", page=bucket)
    assert refused.status_code == 422 and "default" in refused.text
    other = f"{BASE}/buckets/{inbox}"
    assert place(signed_in.send(f"{other}/delete", page=other)) == f"{groups}/{id}#buckets"
    nora.create("ticket", subject="Left", group_id=id, participants="ana@customer.example").ok()
    assert "1 ticket moves" in text_of(signed_in.get(f"{groups}/{id}/delete").text)
    assert place(signed_in.send(f"{groups}/{id}/delete")) == groups
    assert nora.record("group", id).status == 404
    support = f"{groups}/{nora.ids['support']}"
    assert signed_in.send(f"{support}/delete").status_code == 422
    assert signed_in.send(support, {"name": "Support"}).status_code == 422


def test_absences_are_shown_wherever_workers_are_chosen(signed_in: Visitor, nora: Api) -> None:
    vera, gil = made(nora, "Vera"), made(nora, "Gil")
    person = f"{BASE}/{vera}"
    page = signed_in.get(person).text
    own = {name: value(page, name) for name in ("first_name", "email", "timezone", "language")}
    response = signed_in.send(person, own | {"away_until": "yesterday", "away_from": "tomorrow"})
    assert response.status_code == 422 and 'id="away_until-error"' in response.text
    away = {"away_from": "2020-01-01 08:00", "away_until": "2090-01-02 08:00", "away_stand_in_id": str(gil)}
    assert place(signed_in.send(person, own | away)) == BASE
    nora.update("group", nora.ids["support"], members=f'{{"member": "{vera}"}}').ok()
    ticket = nora.create("ticket", subject="Boat", group_id=nora.ids["support"], owner_id=vera).ok()
    shown = [person, BASE, f"{BASE}/rosters?q=id:{vera}", f"/tickets/{ticket['mask']}"]
    for path in shown:
        assert "away until Mon, Jan 2, 2090" in text_of(signed_in.get(path).text), path
    assert "Gil is standing in." in text_of(signed_in.get(shown[-1]).text)
    chosen = signed_in.get("/-/choose/worker", params={"q": "vera"}).json()["results"]
    assert chosen[0]["label"].startswith("Vera (away until ")
    assert nora.found("worker", "isAway:yes") == [vera]
    assert nora.found("ticket", "owner:(isAway:yes)") == [ticket["id"]]
    nora.update("worker", vera, away_until=0).ok()
    assert "Away until further notice" in text_of(signed_in.get(person).text).replace("away until", "Away until")
    for id in (vera, gil):
        nora.remove("worker", id).ok()


def test_a_group_acknowledges_the_first_mail_automatically(signed_in: Visitor, nora: Api) -> None:
    made = nora.create("group", name="Echo").ok()["id"]
    group, preview = f"{BASE}/groups/{made}", f"{BASE}/acknowledgements/{made}"
    response = signed_in.send(group, {"name": "Echo", "ack_enabled": "1", "ack_text": "We have {{maks}}."})
    assert response.status_code == 422 and "There is no placeholder {{maks}}" in text_of(response.text)
    assert "We have {{maks}}." in response.text
    response = signed_in.send(group, {"name": "Echo", "ack_enabled": "1", "ack_text": "x", "ack_hours": "inside"})
    assert response.status_code == 422 and "choose a calendar" in text_of(response.text)
    sent = {"name": "Echo", "ack_enabled": "1", "ack_text": "We have {{mask}}.", "ack_hours": "always"}
    assert place(signed_in.send(group, sent)) == f"{BASE}/groups"
    page = signed_in.get(group).text
    assert "Placeholders of tickets: {{mask}}, {{subject}}" in text_of(page)
    assert f'src="{preview}"' in page and "We have {{mask}}." in page
    shown = signed_in.get(preview)
    assert "no ticket has arrived in group" in shown.text and "sandbox" in shown.headers["Content-Security-Policy"]
    id = nora.create("ticket", subject="Boat", group_id=made).ok()["id"]
    nora.create("message", ticket_id=id, sender="ana@kite.example", content="It leaks", headers="X-A: b").ok()
    assert nora.record("ticket", id)["mask"] in signed_in.get(preview).text


def test_the_matrix_changes_only_edited_cells(signed_in: Visitor, nora: Api) -> None:
    group = nora.create("group", name="Matrix").ok()["id"]
    milo, olga = nora.ids["milo"], nora.ids["olga"]
    path = f"{BASE}/rosters?group={group}"
    page = signed_in.get(path).text
    before = html.unescape(value(page, "before"))
    nora.update("group", group, members={"member": str(olga)}).ok()  # a simultaneous change
    cells = {f"part[g{group}][w{milo}]": "manager", f"part[g{group}][w{olga}]": "remove"}
    response = signed_in.send(path, {**cells, "before": before})
    assert place(response) == f"{BASE}/rosters?group={group}"
    members = nora.record("group", group, "members")["members"]
    assert {id: each["is_manager"] for id, each in members.items()} == {str(milo): True, str(olga): False}
    for cell, part in ((f"part[g{group}][w{milo}]", "king"), ("part[g999999][w1]", "member"), ("part[gx]", "member"),
                       (f"part[g{group}][w999999]", "member")):  # fmt: skip
        wrong = signed_in.send(path, {cell: part, "before": before})
        assert wrong.status_code == 422 and 'id="summary"' in wrong.text, cell
    assert signed_in.send(path, {**cells, "before": "[1]"}).status_code == 422
    assert signed_in.get(f"{BASE}/rosters?q=colour:red").status_code == 200
    nora.remove("group", group).ok()


def test_many_groups_and_buckets_are_shown_page_by_page(signed_in: Visitor, nora: Api) -> None:
    named = [f"Many {number:02}" for number in range(10)]
    ids = {name: nora.create("group", name=name).ok()["id"] for name in named}
    seen: list[str] = []
    path: str | None = f"{BASE}/rosters?q=milo"
    while path:
        shown = signed_in.get(path).text
        seen += [html.unescape(each) for each in re.findall(r'<th scope="col">([^<]*?)\s*(?:<span|</th>)', shown)[1:]]
        pages = re.search(r'aria-label="Pages of groups".*?</nav>', shown, re.DOTALL)
        following = re.search(r'href="([^"]*)" rel="next"', pages[0]) if pages else None
        path = html.unescape(following[1]) if following else None
    assert len(seen) == len(set(seen)) == nora.search("group")["total"] and set(named) <= set(seen)
    last = ids[named[-1]]
    saved = signed_in.send(f"{BASE}/rosters?groups=2", {f"part[g{last}][w{nora.ids['milo']}]": "member"})
    assert place(saved) == f"{BASE}/rosters?groups=2"
    wrong = signed_in.get(f"{BASE}/rosters?group=nowhere")
    assert wrong.status_code == 200 and "no record has exactly that name" in wrong.text.lower()
    for number in range(27):
        nora.create("bucket", name=f"Bucket {number:02}", group_id=last).ok()
    page = signed_in.get(f"{BASE}/groups/{last}").text
    assert "Bucket 00" in page and "Bucket 26" not in page and f"{BASE}/groups/{last}?page=2#buckets" in page
    assert "Bucket 26" in signed_in.get(f"{BASE}/groups/{last}?page=2").text
    for id in ids.values():
        nora.remove("group", id).ok()


def test_managers_change_only_their_own_rosters(visitor: Visitor, nora: Api) -> None:
    visitor.sign_in("milo@desk.example")
    assert visitor.get(f"{BASE}/rosters").status_code == 403
    group = nora.create("group", name="Milos own", members={"manager": str(nora.ids["milo"])}).ok()["id"]
    page = visitor.get(f"{BASE}/rosters")
    assert page.status_code == 200 and "Milos own" in page.text and "Management" not in page.text
    assert f"{BASE}/rosters" in visitor.get("/settings").text and f'"{BASE}"' not in page.text
    olga = nora.ids["olga"]
    assert visitor.send(f"{BASE}/rosters", {f"part[g{group}][w{olga}]": "member"}).status_code == 303
    assert str(olga) in nora.record("group", group, "members")["members"]
    foreign = visitor.send(f"{BASE}/rosters", {f"part[g{nora.ids['private']}][w{olga}]": "member"})
    assert foreign.status_code == 422 and "only administrators and managers" in foreign.text.lower()
    assert nora.record("group", nora.ids["private"], "members")["members"] == {}
    assert visitor.get(BASE).status_code == 403
    nora.remove("group", group).ok()


def test_names_with_markup_stay_text(signed_in: Visitor, nora: Api) -> None:
    for path in (BASE, f"{BASE}/{nora.ids['olga']}", f"{BASE}/{nora.ids['olga']}/disable", f"{BASE}/rosters",
                 f"{BASE}?q={HOSTILE}", f"{BASE}/rosters?q={HOSTILE}", f"{BASE}/groups?q={HOSTILE}"):  # fmt: skip
        page = signed_in.get(path)
        assert page.status_code in (200, 422), path
        assert HOSTILE not in page.text and "<script>" not in page.text, path


def test_a_role_grants_the_ticked_privileges(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    roles = f"{BASE}/roles"
    everyone = {each["id"]: each["privs_mode"] for each in nora.search("role").ok()["results"]}
    for each in everyone:
        nora.update("role", each, privs_mode="").ok()
    ticked = ["contexts.svc.contexts.task.create", "contexts.svc.contexts.org.update"]
    form = {"name": HOSTILE, "member_query_worker": "firstName:milo", "privs_mode": "itemized", "privs[]": ticked}
    assert place(signed_in.send(f"{roles}/new", form)) == roles
    id = nora.found("role", "sort:-id")[0]
    assert nora.record("role", id, "privs")["privs"] == sorted(ticked)
    page = signed_in.get(f"{roles}/{id}").text
    assert page.count(" checked>") == 2 and "1 worker now: Milo Test" in page and HOSTILE not in page
    assert HOSTILE not in signed_in.get(roles).text
    nora.update("role", id, privs=[*ticked, "contexts.svc.contexts.ticket.merge"]).ok()
    assert "contexts.svc.contexts.ticket.merge" in signed_in.get(f"{roles}/{id}").text
    assert nora.as_("milo").create("task", title="Count").status == 200
    for changes, told in (({"member_query_worker": "colour:red"}, "Who has it"), ({"name": ""}, "Name"),
                          ({"privs_mode": "some"}, "Grants"), ({"privs[]": ["fly"]}, "Privileges")):  # fmt: skip
        wrong = signed_in.send(f"{roles}/{id}", form | changes)
        assert wrong.status_code == 422 and f">{told}: " in wrong.text, changes
    asked = f"{roles}?worker_id="
    for who, operation, uri, told in (
        ("milo", "create", "task", "Milo Test can create tasks: granted by <script>"),
        ("milo", "delete", "task", "none of their roles grants contexts.svc.contexts.task.delete"),
        ("olga", "create", "task", "cannot create tasks"),
        ("nora", "delete", "ticket", "administrators can do everything"),
        ("milo", "create", "ticket", "none of their roles"),
        ("dora", "create", "task", "is deactivated"),
        ("milo", "create", "worker", "only administrators can"),
    ):
        response = text_of(signed_in.get(f"{asked}{nora.ids[who]}&operation={operation}&type={uri}").text)
        assert told in response or told.replace("<script>", "") in response, (who, operation, uri)
    for query in ("worker_id=999&type=task&operation=create", "worker_id=1&type=tusk&operation=create",
                  "worker_id=1&type=task&operation=fly", "worker_id=x&type=task&operation=create"):  # fmt: skip
        assert 'id="summary"' in signed_in.get(f"{roles}?{query}").text, query
    signed_in.send(f"{roles}/{id}/delete", page=f"{roles}/{id}")
    assert nora.record("role", id).status == 404 and nora.as_("milo").create("task", title="Count").status == 403
    for each, mode in everyone.items():
        nora.update("role", each, privs_mode=mode).ok()


@pytest.mark.exhaustive("a page by keyboard alone")
def test_people_by_keyboard(page: Page, nora: Api) -> None:
    group = nora.create("group", name="By keyboard").ok()["id"]
    page.goto(f"{BASE}/invite")
    page.get_by_role("link", name="new worker").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{BASE}/new")
    page.locator("#first_name").focus()
    page.keyboard.type("Kelda")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("kelda@desk.example")
    page.locator("#invite").focus()
    page.keyboard.press("End")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"/admin/people/\d+$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Kelda")
    page.goto(f"{BASE}/rosters?group={group}")
    cell = page.get_by_label("Kelda in By keyboard")
    cell.focus()
    page.keyboard.type("mem")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#toasts")).to_contain_text("1 membership changed")
    expect(page.get_by_label("Kelda in By keyboard")).to_have_value("member")
    nora.remove("group", group).ok()


def test_a_list_describes_its_search_and_shows_the_last_page_for_one_too_far(signed_in: Visitor) -> None:
    wrong = text_of(signed_in.get(f"{BASE}?q=stauts:x").text)
    assert "'stauts' is not a filter of worker" in wrong and "The search was not run." in wrong and "fits" not in wrong
    (help_path,) = re.findall(r'href="(/help/types/[^"]*)"', signed_in.get(f"{BASE}?q=stauts:x").text)
    page, _, place = help_path.partition("#")
    assert f'id="{place}"' in signed_in.get(page).text
    assert "Nora Berg" in signed_in.get(f"{BASE}?q=nora&page=99").text


def test_a_group_says_who_gets_the_next_ticket_and_why_others_are_skipped(signed_in: Visitor, nora: Api) -> None:
    lena, paul = made(nora, "Lena"), made(nora, "Paul")
    id = nora.create("group", name="Turns", members=f'{{"member": "{lena},{paul}"}}').ok()["id"]
    group = f"{BASE}/groups/{id}"
    assert "stay without an owner until somebody takes them" in text_of(signed_in.get(group).text)
    nora.create("ticket", subject="Before", group_id=id).ok()
    chosen = {"assign_way": "round_robin", "assign_max_open": "1", "assign_presence": "anybody", "assign_managers": "1"}
    assert place(signed_in.send(group, chosen)) == f"{BASE}/groups"
    stored = nora.record("group", id)
    assert (stored["assign_way"], stored["assign_max_open"]) == ("round_robin", 1)
    assert "Lena is next and has waited longest" in text_of(signed_in.get(group).text)
    ticket = nora.create("ticket", subject="Boat", group_id=id).ok()
    assert ticket["owner_id"] == lena
    path = f"/tickets/{ticket['mask']}"
    page = signed_in.get(path).text
    assert "Assigned to Lena (round robin)" in text_of(page) and "Assign to whoever is next" in text_of(page)
    handed_on = {"name": "owner", "value": "next", "was_owner_id": str(lena)}
    signed_in.send(f"{path}/set", handed_on, page=path)
    assert nora.record("ticket", ticket["id"])["owner_id"] == paul
    signed_in.send(f"{path}/set", handed_on | {"was_owner_id": str(paul)}, page=path)
    assert nora.record("ticket", ticket["id"])["owner_id"] == lena
    nora.update("worker", paul, away_until="+1 day").ok()
    page = text_of(signed_in.get(group).text)
    assert "Nobody is available" in page and "1 of 1 open in this group" in page and "Paul away until" in page
    assert place(signed_in.send(f"{group}/assign", page=group)) == f"{group}#assignment"
    assert "1 ticket is waiting and comes first" in text_of(signed_in.get(group).text)


def test_managers_set_the_absence_of_members_of_their_groups(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    rosa, ugo = made(nora, "Rosa"), made(nora, "Ugo")
    group = nora.create("group", name="Ferry", members=f'{{"manager": "{rosa}", "member": "{ugo}"}}').ok()["id"]
    visitor.sign_in("rosa@desk.example")
    path = f"{BASE}/absences/{ugo}"
    assert f'href="{path}"' in visitor.get(f"{BASE}/rosters?group={group}&q=ugo").text
    assert visitor.send(path, {"away_until": "blurb"}, page=path).status_code == 422
    assert place(visitor.send(path, {"away_until": "+3 days"}, page=path)) == path
    assert nora.record("worker", ugo)["is_away"] == 1 and "No stand-in." in text_of(visitor.get(path).text)
    assert place(visitor.send(f"{path}/end", page=path)) == path
    assert nora.record("worker", ugo)["is_away"] == 0
    assert place(visitor.send(f"{path}/begin", page=path)) == path
    assert nora.record("worker", ugo)["is_away"] == 1
    assert visitor.get(f"{BASE}/absences/{nora.ids['nora']}").status_code == 403
