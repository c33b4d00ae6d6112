"""The page of a record: fields by fieldset, its tickets, a new comment, its activity, its raw data."""

import json
import re
from html import unescape

from tests.api.minimal import made
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, place, text_of
from tests.service import Api


def test_custom_fields_are_listed_under_their_fieldset(signed_in: Visitor, nora: Api) -> None:
    owner = {"owner__context": "app", "owner_id": 0}
    fieldset = nora.create("custom_fieldset", name="Billing & more", context="task", **owner).ok()["id"]
    values = {"context": "task", "type": "S", "custom_fieldset_id": fieldset}
    field = nora.create("custom_field", name="Account", uri="billing_account", **values).ok()["id"]
    task = nora.create("task", title="Grouped", fieldsets=[fieldset], **{f"custom_{field}": "K-77"}).ok()["id"]
    page = signed_in.get(f"/records/task/{task}").text
    assert re.search(r"<h2>Billing &amp; more</h2>\s*<dl[^>]*><dt>Account</dt><dd><bdi[^>]*>K-77</bdi></dd></dl>", page)


def test_organizations_contacts_and_addresses_list_their_tickets(signed_in: Visitor, nora: Api) -> None:
    mail = "From: zoe@larch-tickets.example\nTo: support@desk.example\nSubject: Larch {}\n\nText"
    tickets = [nora.parse(mail.format(number)).ok()["id"] for number in range(12)]
    (address,) = nora.found("address", "email:zoe@larch-tickets.example")
    group = nora.record("ticket", tickets[0], expand="group_")["group__label"]
    org = nora.create("org", name="Larch tickets").ok()["id"]
    contact = nora.create("contact", first_name="Zoe", email="zoe@larch-tickets.example").ok()["id"]
    for id in tickets:
        nora.update("ticket", id, org_id=org).ok()
    for uri, id in (("org", org), ("address", address), ("contact", contact)):
        page = signed_in.get(f"/records/{uri}/{id}").text
        assert len(re.findall(r'href="/records/ticket/\d+">[^<]*Larch', page)) == 10, uri
        assert group and "All 12 tickets" in text_of(page) and text_of(page).count(group) >= 10
        listed = re.search(r'href="(/search/ticket\?[^"]*)"', page)
        assert listed is not None and "12" in text_of(signed_in.get(unescape(listed[1])).text)
    assert ">Tickets</h2>" not in signed_in.get(f"/records/task/{made(nora, 'task')}").text


def said_on(nora: Api, org: int) -> list[int]:
    return [int(id) for id in nora.record("org", org, expand="comments").ok()["comments"]]


def test_a_comment_is_written_on_the_page(signed_in: Visitor, nora: Api) -> None:
    org = nora.create("org", name="Commented").ok()["id"]
    page = f"/records/org/{org}"
    path = place(signed_in.send(f"{page}/comment", {"comment": HOSTILE}, page=page))
    (id,) = said_on(nora, org)
    assert path == f"{page}?comment={id}#comment{id}"
    shown = signed_in.get(path).text
    assert f'id="comment{id}"' in shown and HOSTILE not in shown and HOSTILE in unescape(shown)
    blank = signed_in.send(f"{page}/comment", {"comment": "  "}, page=page)
    assert blank.status_code == 422 and "New comment" in text_of(blank.text)
    assert said_on(nora, org) == [id]


def test_a_comment_on_another_page_has_its_own_page(signed_in: Visitor, nora: Api) -> None:
    org = nora.create("org", name="Much said").ok()["id"]
    about = {"target__context": "org", "target_id": org}
    ids = [nora.create("comment", comment=f"Said {number}", **about).ok()["id"] for number in range(30)]
    page = signed_in.get(f"/records/org/{org}").text
    missing = [id for id in ids if f'id="comment{id}"' not in page]
    assert missing
    assert place(signed_in.get(f"/records/org/{org}?comment={missing[0]}")) == f"/records/comment/{missing[0]}"


def test_comments_are_only_where_they_are_supported(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    metric = made(nora, "metric")
    assert "Add comment" not in signed_in.get(f"/records/metric/{metric}").text
    path = f"/records/metric/{metric}/comment"
    assert signed_in.send(path, {"comment": "x"}, page="/account").status_code == 422
    assert signed_in.send("/records/org/999999/comment", {"comment": "x"}, page="/account").status_code == 404
    calendar = made(nora, "calendar", owner__context="worker", owner_id=nora.ids["nora"])
    visitor.sign_in("milo@desk.example")
    for path in (f"/records/calendar/{calendar}/activity", f"/records/calendar/{calendar}/raw"):
        assert visitor.get(path).status_code == 403
    refused = visitor.send(f"/records/calendar/{calendar}/comment", {"comment": "x"}, page="/account")
    assert refused.status_code in (403, 422)


def test_a_task_is_completed_and_reopened(signed_in: Visitor, nora: Api) -> None:
    task = nora.create("task", title="Water the larch").ok()["id"]
    page = f"/records/task/{task}"
    assert "Mark as done" in signed_in.get(page).text
    assert place(signed_in.send(f"{page}/done", {"done": "1"}, page=page)) == page
    assert nora.record("task", task)["status"] == "closed" and "Reopen" in signed_in.get(page).text
    signed_in.send(f"{page}/done", {"done": "0"}, page=page)
    assert nora.record("task", task)["status"] == "open"
    signed_in.get(page)  # shows the message, once
    assert "/done" not in signed_in.get(f"/records/org/{made(nora, 'org')}").text


def test_the_activity_of_a_record_is_its_own(signed_in: Visitor, nora: Api) -> None:
    task, other = (nora.create("task", title=title).ok()["id"] for title in ("Mine to tell", "Other to tell"))
    nora.update("task", task, status="closed").ok()
    page = text_of(signed_in.get(f"/records/task/{task}/activity").text)
    assert page.index("completed") < page.index("created") and "Other to tell" not in page
    assert "No activity yet." in text_of(signed_in.get(f"/records/address/{made(nora, 'address')}/activity").text)
    assert signed_in.get(f"/records/task/{other + 1000}/activity").status_code == 404


def test_raw_data_equals_the_response_of_the_api(signed_in: Visitor, nora: Api) -> None:
    org = nora.create("org", name=HOSTILE).ok()["id"]
    page = signed_in.get(f"/records/org/{org}/raw", params={"expand": "comments"}).text
    told = nora.record("org", org, expand="comments").ok().json
    told = {key: value for key, value in told.items() if not key.startswith("__")}
    raw = re.search(r"<pre [^>]*>(.*?)</pre>", page, re.DOTALL)
    assert raw is not None and json.loads(unescape(raw[1])) == told
    assert HOSTILE not in page


def test_two_contacts_are_merged_side_by_side(signed_in: Visitor, nora: Api) -> None:
    kept = nora.create("contact", first_name="Zita", email="zita@merge.example", location="Bern").ok()["id"]
    other = nora.create("contact", first_name=HOSTILE[:60], email="zita2@merge.example", location="Basel").ok()["id"]
    page = f"/records/contact/{kept}"
    assert f'href="{page}/merge"' in signed_in.get(page).text
    chosen = signed_in.get(f"{page}/merge", params={"other": str(other)}).text
    assert "Bern" in chosen and "Basel" in chosen and HOSTILE[:60] not in chosen and "Addresses" in text_of(chosen)
    form = {"other": str(other), "take_location": "other"}
    assert place(signed_in.send(f"{page}/merge", form, page=page)) == page
    found = nora.record("contact", kept, expand="emails").ok()
    assert found["location"] == "Basel" and found["first_name"] == "Zita"
    assert sorted(found["emails"].values()) == ["zita2@merge.example", "zita@merge.example"]
    assert nora.record("contact", other).status == 404
    for wrong in ("", "0", str(kept), str(other), "nobody at all"):
        assert signed_in.send(f"{page}/merge", {"other": wrong}, page=page).status_code == 422, wrong
    assert signed_in.get(f"/records/task/{made(nora, 'task')}/merge").status_code == 404


def test_organizations_are_merged_by_the_api(nora: Api) -> None:
    kept, one, two = (nora.create("org", name=f"Merged {name}").ok()["id"] for name in ("A", "B", "C"))
    ticket = nora.create("ticket", subject="Of C", group="Support", org_id=two).ok()["id"]
    sent = {"target_id": kept, "source_ids[]": [one, two], "fields[city]": "Bern"}
    response = nora.post("/rest/orgs/merge.json", **sent).ok()
    assert (response["id"], response["city"]) == (kept, "Bern") and nora.record("ticket", ticket).ok()["org_id"] == kept
    assert nora.post("/rest/orgs/merge.json", **sent).status == 404
    assert nora.post("/rest/contacts/merge.json", target_id=kept).status == 422
    assert nora.as_("milo").post("/rest/orgs/merge.json", **{"target_id": kept, "source_ids[]": [kept]}).status == 422
