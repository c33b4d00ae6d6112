"""The customer beside their ticket: what is shown, to whom, and what is changed in place."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from server.record_types.shared import paths
from server.records.sheet import Fact
from server.tickets import customer
from tests.console.test_tickets import undo
from tests.console.visitor import Visitor, place, text_of, value
from tests.records.desk import Desk
from tests.service import Api


def mailed(nora: Api, sender: str, subject: str, **fields: Any) -> dict[str, Any]:
    """Creates a ticket by mail; `page` is its path, `address` the id of the sender's address."""
    made = nora.parse(f"From: {sender}\nTo: support@desk.example\nSubject: {subject}\n\nHello.\n").ok().json
    if fields:
        nora.update("ticket", made["id"], **fields).ok()
    [address] = nora.found("address", f"email:{sender.rpartition('<')[2].rstrip('>')}")
    return {**made, "page": paths.ticket(made["mask"]), "address": address}


def panel(visitor: Visitor, path: str) -> str:
    """Returns the HTML of the panel."""
    return visitor.get(path).text.partition('<aside id="panel"')[2].partition("</aside>")[0]


@pytest.fixture
def word(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return f"c{abs(hash(request.node.name)) % 10**9}"


@pytest.fixture
def ida(nora: Api, word: str) -> dict[str, Any]:
    """A contact with an organization and a ticket by mail; `contact` and `org` are their ids."""
    org = nora.create("org", name=f"Harbour {word}", website=f"https://{word}.example").ok()["id"]
    contact = nora.create(
        "contact", first_name="Ida", last_name=word, email=f"ida@{word}.example", org_id=org, language="it_IT",
        timezone="Asia/Tokyo", phone="+39 055 1", mobile="+39 333 2",
    ).ok()["id"]  # fmt: skip
    return mailed(nora, f"ida@{word}.example", f"Pump {word}") | {"contact": contact, "org": org}


@pytest.fixture
def milo(visitor: Visitor) -> Visitor:
    """A member of Support."""
    assert visitor.sign_in("milo@desk.example").status_code == 303
    return visitor


def changed(ida: dict[str, Any], **values: str) -> dict[str, str]:
    """Returns the fields of the form that changes the contact."""
    return {"contact": str(ida["contact"]), "back": ida["page"], **values}


# -- what is shown ----------------------------------------------------------------------------------------------------


def test_the_customer_is_beside_the_ticket(signed_in: Visitor, nora: Api, ida: dict[str, Any], word: str) -> None:
    nora.create("comment", target__context="contact", target_id=ida["contact"], comment="Calls before ten").ok()
    nora.create("contact", first_name="Ben", last_name=word, email=f"ben@{word}.example", org_id=ida["org"]).ok()
    mailed(nora, f"ben@{word}.example", "Valve", org_id=ida["org"])
    html = panel(signed_in, ida["page"])
    told = text_of(html)
    assert f'href="/records/contact/{ida["contact"]}">Ida {word}</a>' in html
    assert re.search(rf"Harbour {word} · \d+:\d\d( [AP]M)? there", told), told
    assert "Mobile +39 333 2" in told and "Note Add a note about the customer Note Add Calls before ten" in told
    assert f"Others at Harbour {word} Ben {word} 1 open" in told
    assert f'href="https://{word}.example" rel="noopener noreferrer">Website ↗</a>' in html


def test_tags_of_the_customer_are_changed_on_the_card_and_on_their_page(
    signed_in: Visitor, nora: Api, ida: dict[str, Any], word: str
) -> None:
    record, page = str(ida["contact"]), f"/records/contact/{ida['contact']}"
    tags = f"{ida['page']}/customer/tags"
    signed_in.send(tags, {"record": record, "tags": f"{word}, {word} vip"}, page=ida["page"])
    assert f'href="/search/contact?q=tag%3A%22{word}+vip%22"' in panel(signed_in, ida["page"])
    signed_in.send(f"{page}/tags", {"tags": f"-{word}"}, page=page)
    assert nora.record("contact", ida["contact"], "tags").ok()["tags"] == [f"{word} vip"]
    undo(signed_in, page)
    assert nora.record("contact", ida["contact"], "tags").ok()["tags"] == [word, f"{word} vip"]
    assert nora.found("ticket", f'participant:(contact:(tag:"{word} vip"))') == [ida["id"]]
    assert nora.record("ticket", ida["id"], "tags").ok()["tags"] == []


def test_custom_fields_are_on_the_card_and_web_addresses_lead_elsewhere(
    signed_in: Visitor, nora: Api, ida: dict[str, Any], word: str
) -> None:
    fields = [
        nora.create(
            "custom_field", context=context, name=f"{name} {word}", uri=f"{name.lower()}_{word}", type=kind
        ).ok()
        for context, name, kind in (("contact", "Plan", "S"), ("contact", "Shop", "U"), ("org", "Crm", "U"))
    ]
    plan, shop, crm = (f"custom_{each['id']}" for each in fields)
    nora.update("contact", ida["contact"], **{plan: "Pro", shop: "https://shop.example/ida?a=1&b=2"}).ok()
    nora.update("org", ida["org"], **{crm: "https://crm.example/7"}).ok()
    html = panel(signed_in, ida["page"])
    assert value(html, plan) == "Pro"
    link = f'href="https://shop.example/ida?a=1&amp;b=2" rel="noopener noreferrer">Shop {word} ↗</a>'
    assert link in html and f'href="https://crm.example/7" rel="noopener noreferrer">Crm {word} ↗</a>' in html
    for each in fields:
        nora.delete(f"/rest/records/custom_field/{each['id']}.json").ok()


@pytest.mark.parametrize(
    ("kind", "value", "is_site"),
    [("url", "https://a.example", True), ("url", "javascript:alert(1)", False), ("text", "https://a.example", False)],
)
def test_only_web_addresses_lead_elsewhere(kind: str, value: str, is_site: bool) -> None:
    assert customer.is_site(Fact("custom_1", "Shop", kind, value)) is is_site


def test_other_tickets_are_the_newest_that_the_worker_may_read(
    signed_in: Visitor, milo: Visitor, nora: Api, ida: dict[str, Any], word: str
) -> None:
    sender = f"ida@{word}.example"
    for number in range(6):
        mailed(nora, sender, f"Other {number} {word}")
    mailed(nora, sender, f"Secret {word}", group_id=nora.ids["private"])
    mailed(nora, sender, f"Gone {word}", status="deleted")
    theirs, ours = (text_of(panel(each, ida["page"])) for each in (milo, signed_in))
    assert re.findall(rf"(open|closed): (\w+ ?\d?) {word}", ours) == [
        ("open", each) for each in ("Secret", "Other 5", "Other 4", "Other 3", "Other 2")
    ]
    assert "All 8 tickets" in ours and "All 7 tickets" in theirs and "Secret" not in theirs
    [path] = re.findall(r'<a href="(/search/ticket\?[^"]*)">All 8 tickets', panel(signed_in, ida["page"]))
    assert "Gone" not in signed_in.get(path).text and f"Secret {word}" in signed_in.get(path).text


def test_each_requester_can_be_shown(signed_in: Visitor, nora: Api, ida: dict[str, Any], word: str) -> None:
    other = mailed(nora, f"Ben Hill <ben@{word}.example>", f"Valve {word}")
    nora.update("ticket", ida["id"], participants=f"+ben@{word}.example").ok()
    html = panel(signed_in, ida["page"])
    assert f">Ida {word}</a>" in html.partition("</header>")[0]
    [path] = re.findall(r'<a dir="auto" href="([^"]*)">Ben Hill</a>', html)
    assert path == f"{ida['page']}?requester={other['address']}"
    shown = panel(signed_in, path)
    assert ">Ben Hill</a>" in shown.partition("</header>")[0] and 'aria-current="true">Ben Hill</a>' in shown
    assert f"Valve {word}" in text_of(shown)
    for wrong in ("999999999", "x", "-1"):
        assert f">Ida {word}</a>" in panel(signed_in, f"{ida['page']}?requester={wrong}").partition("</header>")[0]


# -- changes in place -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "before", "value"),
    [("first_name", "Ida", "Ada"), ("language", "it_IT", "de_DE"), ("timezone", "Asia/Tokyo", "Europe/Rome")],
)
def test_a_property_of_the_contact_is_saved_and_undone(
    signed_in: Visitor, nora: Api, ida: dict[str, Any], name: str, before: str, value: str
) -> None:
    form = changed(ida, **{name: value, f"was_{name}": before, "phone": "+39 055 1", "was_phone": "+39 055 1"})
    assert signed_in.send(f"{ida['page']}/customer", form, page=ida["page"]).status_code == 303
    assert nora.record("contact", ida["contact"]).ok()[name] == value
    undo(signed_in, ida["page"])
    assert nora.record("contact", ida["contact"]).ok()[name] == before


def test_the_organization_of_the_contact_is_chosen_by_name(
    signed_in: Visitor, nora: Api, ida: dict[str, Any], word: str
) -> None:
    other = nora.create("org", name=f"Quay {word}").ok()["id"]
    nora.create("org", name=f"Harbour {word}").ok()  # of the same name as the one that is shown
    same = {"org_id": f"Harbour {word}", "org_name": f"Harbour {word}", "was_org_id": str(ida["org"])}
    signed_in.send(f"{ida['page']}/customer", changed(ida, **same), page=ida["page"])
    assert nora.record("contact", ida["contact"]).ok()["org_id"] == ida["org"]
    signed_in.send(f"{ida['page']}/customer", changed(ida, **same | {"org_id": f"Quay {word}"}), page=ida["page"])
    assert nora.record("contact", ida["contact"]).ok()["org_id"] == other
    undo(signed_in, ida["page"])
    assert nora.record("contact", ida["contact"]).ok()["org_id"] == ida["org"]


@pytest.mark.parametrize("uri", ["ticket", "contact"])
def test_a_custom_field_is_changed_in_place_and_undone(
    signed_in: Visitor, nora: Api, ida: dict[str, Any], word: str, uri: str
) -> None:
    field = nora.create("custom_field", context=uri, name=f"Plan {word}", uri=f"plan_{word}", type="S").ok()["id"]
    name, id = f"custom_{field}", ida["contact"] if uri == "contact" else ida["id"]
    if uri == "contact":
        filled, _summary, blank = panel(signed_in, ida["page"]).partition("<summary>Show empty fields</summary>")
        assert f'name="{name}"' in blank and f'name="{name}"' not in filled
    nora.update(uri, id, **{name: "Basic"}).ok()
    html = panel(signed_in, ida["page"])
    assert value(html, name) == "Basic" and f'action="/records/{uri}/set"' in html
    form = {"ids[]": str(id), "field": name, name: "Pro", "back": ida["page"]}
    assert place(signed_in.send(f"/records/{uri}/set", form, page=ida["page"])) == ida["page"]
    assert nora.record(uri, id, "custom_").ok()[name] == "Pro"
    undo(signed_in, ida["page"])
    assert nora.record(uri, id, "custom_").ok()[name] == "Basic"
    nora.delete(f"/rest/records/custom_field/{field}.json").ok()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"phone": "2", "was_phone": "1"}, "Somebody changed this in the meantime, so nothing was saved."),
        ({"first_name": "", "was_first_name": "Ida"}, "first_name"),
        ({"timezone": "Mars", "was_timezone": "Asia/Tokyo"}, "not a time zone"),
        ({"org_id": "Nowhere", "was_org_id": "0"}, "no record has exactly that name"),
    ],
)
def test_what_cannot_be_saved_is_said(
    signed_in: Visitor, nora: Api, ida: dict[str, Any], fields: dict[str, str], told: str
) -> None:
    before = nora.record("contact", ida["contact"]).ok().json
    assert signed_in.send(f"{ida['page']}/customer", changed(ida, **fields), page=ida["page"]).status_code == 303
    assert told in text_of(signed_in.get(ida["page"]).text)
    assert nora.record("contact", ida["contact"]).ok().json == before


def test_an_address_becomes_a_contact(signed_in: Visitor, nora: Api, word: str) -> None:
    ticket = mailed(nora, f"mei@{word}.example", f"Light {word}")
    assert "Create a contact" in panel(signed_in, ticket["page"])
    form = {"address": str(ticket["address"]), "first_name": "Mei", "last_name": "van Dam", "back": ticket["page"]}
    assert signed_in.send(f"{ticket['page']}/customer/new", form, page=ticket["page"]).status_code == 303
    [contact] = nora.found("contact", f"email.id:{ticket['address']}")
    assert f'href="/records/contact/{contact}">Mei van Dam</a>' in panel(signed_in, ticket["page"])


def test_a_note_about_the_customer_is_a_comment_on_the_contact(
    signed_in: Visitor, nora: Api, ida: dict[str, Any]
) -> None:
    form = changed(ida, note="<b>Prefers</b> email")
    assert signed_in.send(f"{ida['page']}/customer/note", form, page=ida["page"]).status_code == 303
    [comment] = nora.found("comment", f"on.contact:(id:{ida['contact']})")
    html = panel(signed_in, ida["page"])
    assert "&lt;b&gt;Prefers&lt;/b&gt; email" in html and f"?comment={comment}#comment{comment}" in html


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/customer", {"contact": "{contact}", "phone": "2", "was_phone": ""}),
        ("/customer/new", {"address": "{address}", "first_name": "X"}),
        ("/customer/note", {"contact": "{contact}", "note": "X"}),
    ],
)
def test_only_requesters_are_changed(
    signed_in: Visitor, nora: Api, ida: dict[str, Any], word: str, path: str, fields: dict[str, str]
) -> None:
    other = nora.create("contact", first_name="Zoe", email=f"zoe@{word}.example").ok().json
    ids = {"contact": other["id"], "address": other["email_id"]}
    form = {name: value.format(**ids) for name, value in fields.items()}
    response = signed_in.send(f"{ida['page']}{path}", form, page=ida["page"])
    assert response.status_code == 422 and "This is not a requester of the ticket" in text_of(response.text)


def test_a_worker_without_the_right_reads_the_card(milo: Visitor, nora: Api, ida: dict[str, Any]) -> None:
    roles = {each["id"]: each["privs_mode"] for each in nora.search("role").ok()["results"]}
    for each in roles:
        nora.update("role", each, privs_mode="").ok()
    try:
        _reads_only(milo, nora, ida)
    finally:
        for each, mode in roles.items():
            nora.update("role", each, privs_mode=mode).ok()


def _reads_only(milo: Visitor, nora: Api, ida: dict[str, Any]) -> None:
    html = panel(milo, ida["page"])
    assert "Language it_IT Time zone Asia/Tokyo Phone +39 055 1" in text_of(html)
    assert f"{ida['page']}/customer" not in html
    form = changed(ida, phone="2", was_phone="+39 055 1")
    assert milo.send(f"{ida['page']}/customer", form, page=ida["page"]).status_code == 403
    assert nora.record("contact", ida["contact"]).ok()["phone"] == "+39 055 1"


# -- reads ------------------------------------------------------------------------------------------------------------


@pytest.mark.sqlite("plans of SQLite")
def test_every_read_of_the_card_uses_an_index(signed_in: Visitor, nora: Api, desk: Desk, ida: dict[str, Any]) -> None:
    nora.create("contact", first_name="Ben", org_id=ida["org"]).ok()
    for by in (nora.ids["nora"], nora.ids["milo"]):
        ticket = desk.record("ticket", ida["id"], by, "requesters,initial_message_")
        customer.customer_of_ticket(desk.context(by), ticket)
    statements = [
        each.sql for each in desk.service.store.statements.all()
        if each.code.co_filename.endswith("tickets/customer.py")
    ]  # fmt: skip
    assert len(statements) >= 7, statements
    for sql in statements:
        plan = desk.read(lambda tx, sql=sql: tx.connection.execute(f"EXPLAIN QUERY PLAN {sql}", _none(sql)).fetchall())
        scans = [each[3] for each in plan if re.match(r"SCAN (?!json_each|\(subquery)", each[3])]
        assert not scans, (sql, plan)


def _none(sql: str) -> list[int]:
    """Returns a value for each slot of a statement."""
    return [0] * max([sql.count("?"), *map(int, re.findall(r"\?(\d+)", sql))])


# -- in a browser -----------------------------------------------------------------------------------------------------


def test_a_quiet_value_becomes_a_control_when_it_is_focused(page: Page, nora: Api, ida: dict[str, Any]) -> None:
    page.goto(ida["page"])
    field = page.get_by_label("Language")
    border = "each => getComputedStyle(each).borderTopColor"
    assert field.evaluate(border) == "rgba(0, 0, 0, 0)"
    expect(field).to_have_value("Italian (Italy)")
    field.focus()
    expect(field).to_have_value("it_IT")
    assert field.evaluate(border) != "rgba(0, 0, 0, 0)"
    field.fill("de_DE")
    field.press("Enter")
    expect(page.locator("#toasts .toast")).to_contain_text("Language changed.")
    expect(page.get_by_label("Language")).to_have_value("de_DE")
    assert nora.record("contact", ida["contact"]).ok()["language"] == "de_DE"


@pytest.mark.exhaustive("every section of the card")
def test_a_plus_opens_what_a_section_has_room_for(page: Page, ida: dict[str, Any]) -> None:
    page.goto(ida["page"])
    page.locator("summary", has_text="Add a note about the customer").click()
    page.get_by_role("textbox", name="Note", exact=True).fill("Prefers email")
    page.locator("#panel form").filter(has=page.locator("#customer-note")).get_by_role("button", name="Add").click()
    expect(page.locator("#panel .about")).to_have_text("Prefers email")
