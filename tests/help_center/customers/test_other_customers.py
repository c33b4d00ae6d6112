"""Attacks of a customer on the tickets of others: guessed addresses, searches, files, parameters and forged forms. Also
tests that internal messages stay hidden."""

import re
from urllib.parse import urlencode

import pytest

from tests.api.post import upload
from tests.help_center.customers.conftest import HOST, Customer, Desk, mail
from tests.service import Server

SECRET = "zanzibar"


@pytest.fixture(scope="module")
def ann(desk: Desk) -> Customer:
    """Ann, whose ticket has everything that she must not see."""
    api, ids = desk.api, desk.ids
    ticket = ids["ann"] = desk.ticket("Ann Kite <ann@kite.example>", subject="Pump of Ann", text=f"Ann says {SECRET}1.")
    file = upload(api, f"{SECRET}.txt", b"secret file", "text/plain")
    desk.answer(ticket, f"Reply {SECRET}2", file_id=str(file))
    desk.mail()
    return desk.signed_in("ann@kite.example")


@pytest.fixture(scope="module")
def eve(desk: Desk, ann: Customer) -> Customer:
    desk.ids["eve"] = desk.ticket("Eve <eve@evil.example>", subject="Pump of Eve")
    return desk.signed_in("eve@evil.example")


def paths(desk: Desk, ann: Customer) -> list[str]:
    """Every address of Ann's ticket."""
    page = f"/requests/{desk.ids['ann']['mask']}"
    text = ann.texts(page)
    return [page, *re.findall(r'href="(/requests/[^"]+/(?:files|messages)/[^"]+)"', text)]


def test_the_addresses_of_another_customer_are_not_found(desk, ann, eve):
    addresses = paths(desk, ann)
    assert len(addresses) >= 2, "a file too"
    nothing = eve.get("/requests/ABC-12345-678").text
    for path in addresses:
        assert ann.get(path).status_code == 200
        page = eve.get(path)
        assert page.status_code == 404 and SECRET not in page.text and page.text == nothing
        own = path.replace(desk.ids["ann"]["mask"], desk.ids["eve"]["mask"])
        if own != path and path != addresses[0]:
            assert eve.get(own).status_code == 404, "a file of another ticket below an own one"


def test_nobody_learns_without_a_session_which_tickets_exist(desk, ann):
    for mask in (desk.ids["ann"]["mask"], "ABC-12345-678"):
        page = desk.browser().get(f"/requests/{mask}")
        assert (page.status_code, page.headers["Location"]) == (302, f"/sign-in?next=%2Frequests%2F{mask}")
        assert page.headers["Cache-Control"] == "no-store" and "Set-Cookie" not in page.headers


@pytest.mark.parametrize("act", ["reply", "close", "reopen", "colleague"])
def test_the_tickets_of_others_cannot_be_changed(desk, ann, eve, act):
    id, mask = desk.ids["ann"]["id"], desk.ids["ann"]["mask"]
    before = desk.api.record("ticket", id, expand="requester_emails").json
    page = eve.post(f"/requests/{mask}/{act}", text="Hello", email="eve@evil.example", form="f")
    assert page.status_code == 404
    assert desk.api.record("ticket", id, expand="requester_emails").json == before


@pytest.mark.parametrize(
    "query",
    [SECRET, f"{SECRET}1", f"{SECRET}2", "pump of ann", "{mask}", "ann@kite.example", "Support", "*", "a OR b"],
)
def test_the_search_finds_only_own_tickets(desk, ann, eve, query):
    page = eve.texts(f"/requests?{urlencode({'q': query.format(mask=desk.ids['ann']['mask'])})}")
    shown = re.sub(r'value="[^"]*"', "", page)
    assert desk.ids["ann"]["mask"] not in shown and SECRET not in shown
    assert eve.texts("/requests?of=organization").count("/requests/") == eve.texts("/requests").count("/requests/")


def test_notes_drafts_and_mail_to_others_stay_hidden(desk, ann):
    api, ticket = desk.api, desk.ids["ann"]
    api.create("comment", target__context="ticket", target_id=ticket["id"], comment=f"{SECRET}note").ok()
    api.create(
        "draft",
        type="ticket.reply",
        worker_id=1,
        ticket_id=ticket["id"],
        name="x",
        params={"content": f"{SECRET}draft"},
    ).ok()
    message = api.record("ticket", ticket["id"]).ok()["latest_message_id"]
    api.reply(message_id=message, content=f"{SECRET}forward", is_forward=1, to="supplier@larch.example").ok()
    api.reply(message_id=message, content=f"{SECRET}kept", dont_send=1).ok()
    api.reply(message_id=message, content=f"{SECRET}blind", bcc="boss@larch.example").ok()
    api.reply(message_id=message, content=f"{SECRET}later", send_at="+1 day").ok()
    head = {"In_Reply_To": api.record("message", message, expand="headers").ok()["headers"]["message-id"]}
    api.parse(mail("Stranger <stranger@larch.example>", text=f"{SECRET}stranger", **head)).ok()
    away = {"Auto_Submitted": "auto-replied", "X_Autoreply": "yes"}
    api.parse(mail("ann@kite.example", subject="Out of office", text=f"{SECRET}away", **head, **away)).ok()
    page = ann.texts(f"/requests/{ticket['mask']}")
    for word in ("note", "draft", "forward", "kept", "later", "stranger", "away"):
        assert SECRET + word not in page, word
        found = ann.texts(f"/requests?q={SECRET}{word}")
        assert ticket["mask"] not in found, word
    assert f"{SECRET}blind" in page and "boss@larch.example" not in page and "supplier@larch.example" not in page
    for word in ("svc", "Message-ID", "X-Mailer", "Nora", "Milo", "nora@desk.example", "spam"):
        assert word not in page, word


def test_the_addresses_of_other_requesters_are_shown_on_common_mail_only(desk, ann):
    api, ticket = desk.api, desk.ids["ann"]
    api.update("ticket", ticket["id"], participants="bea@kite.example").ok()
    bea = desk.signed_in("bea@kite.example")
    page = bea.texts(f"/requests/{ticket['mask']}")
    assert "ann@kite.example" not in page and f"Reply {SECRET}2" in page and "Ann Kite" in page
    message = api.record("ticket", ticket["id"]).ok()["initial_message_id"]
    api.reply(message_id=message, content="To both of you", to="ann@kite.example, bea@kite.example").ok()
    assert "ann@kite.example" in bea.texts(f"/requests/{ticket['mask']}")
    api.update("ticket", ticket["id"], participants="-bea@kite.example").ok()
    assert bea.get(f"/requests/{ticket['mask']}").status_code == 404, "no longer a requester"


def test_organizations_share_only_what_an_administrator_allows(desk, ann):
    api, mask = desk.api, desk.ids["ann"]["mask"]
    org = api.create("org", name="Kite Works").ok()["id"]
    for email in ("ann@kite.example", "gil@kite.example"):
        desk.ticket(email, subject=f"Of {email}")
        (address,) = api.found("address", f"email:{email}")
        api.update("address", address, org_id=org).ok()
        for contact in api.found("contact", f"email:(email:{email})"):
            api.update("contact", contact, org_id=org).ok()
    api.update("ticket", desk.ids["ann"]["id"], org_id=org).ok()
    gil = desk.signed_in("gil@kite.example")
    assert gil.get(f"/requests/{mask}").status_code == 404
    assert api.as_("milo").update("org", org, shares_requests=1).status == 403
    api.update("org", org, shares_requests=1).ok()
    assert mask in gil.texts("/requests?of=organization") and mask not in gil.texts("/requests")
    page = gil.texts(f"/requests/{mask}")
    assert "ann@kite.example" not in page and "<textarea" not in page
    for act in ("reply", "close", "reopen", "colleague"):
        assert gil.post(f"/requests/{mask}/{act}", text="x", email="gil@kite.example").status_code == 404
    api.update("org", org, shares_requests=0).ok()
    assert gil.get(f"/requests/{mask}").status_code == 404


def test_who_belongs_to_a_contact_opens_no_ticket_of_a_private_group(desk, ann):
    """Workers who may not read a private group can add an address to a contact."""
    api, ticket = desk.api, desk.ticket("Kim Test <kim@kite.example>", subject="Private matter")
    (kim,) = api.found("contact", "email:(email:kim@kite.example)")
    api.create("address", email="friend@evil.example", contact_id=kim).ok()
    friend = desk.signed_in("friend@evil.example")
    assert "Private matter" in friend.texts("/requests")
    api.update("ticket", ticket["id"], group_id=api.ids["private"]).ok()
    assert friend.get(f"/requests/{ticket['mask']}").status_code == 404
    assert "Private matter" not in friend.texts("/requests?q=private")
    assert "Private matter" in desk.signed_in("kim@kite.example").texts("/requests")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Origin": "https://x.kite.example"},
    ],
)
def test_forms_of_other_sites_are_ignored(desk, ann, headers):
    mask, token = desk.ids["ann"]["mask"], ann.token()
    for path in (f"/requests/{mask}/close", f"/requests/{mask}/reply", "/sign-in", "/sign-in/code", "/sign-out"):
        page = ann.send("POST", path, {"token": token, "text": "x", "email": "ann@kite.example"}, **headers)
        assert page.status_code == 403, path
    assert ann.get("/requests").status_code == 200


def test_a_form_needs_the_token_of_its_session(desk, ann, eve):
    mask = desk.ids["ann"]["mask"]
    for token in ("", "0" * 40, eve.token(), "\udc80".encode("utf-8", "surrogatepass")):
        for path in (f"/requests/{mask}/close", f"/requests/{mask}/colleague", "/your-data/erasure"):
            assert ann.send("POST", path, {"token": token, "email": "x@kite.example"}).status_code in (400, 403)
    assert desk.api.record("ticket", desk.ids["ann"]["id"]).ok()["status"] != "closed"


@pytest.mark.parametrize("host", ["evil.example", f"{HOST}.evil.example", "127.0.0.1", "localhost"])
def test_other_hosts_show_nothing(desk, ann, host):
    other = Customer(ann.url, host, dict(ann.cookies))
    for path in paths(desk, ann):
        page = other.get(path)
        assert page.status_code in (303, 400, 404) and SECRET not in page.text


def test_links_in_pages_never_follow_the_host_of_a_request(desk, ann):
    page = ann.send("GET", "/requests", X_Forwarded_Host="evil.example", Forwarded="host=evil.example")
    assert "evil.example" not in page.text
    browser = desk.browser()
    browser.send("POST", "/sign-in", {"email": "ann@kite.example"}, X_Forwarded_Host="evil.example")
    assert "/sign-in/link/" in desk.link()


def test_every_page_of_a_customer_is_stored_by_no_cache(desk, ann):
    for path in (*paths(desk, ann), "/requests", "/your-data", "/sign-in", "/requests/ABC-12345-678"):
        assert ann.get(path).headers["Cache-Control"] == "no-store", path
    assert "no-store" not in ann.get("/").headers["Cache-Control"] and "ann@kite.example" not in ann.get("/").text


def test_files_of_nobody_are_refused_before_they_arrive(desk, ann):
    path = f"/requests/{desk.ids['ann']['mask']}/reply"
    form = {"text": "x", "token": "y"}
    large = [("files[]", ("a.bin", bytes(600 * 1024), "application/zip"))]
    visitor = desk.browser()
    assert visitor.send("POST", path, form, large).status_code == 401
    visitor.cookies["__Host-customer"] = "x" * 43
    assert visitor.send("POST", path, form, large).status_code == 401
    assert desk.browser().send("POST", "/sign-in", {"email": "x" * 20_000}).status_code == 413


def test_a_brand_shows_only_tickets_of_its_groups(desk, ann):
    group = desk.api.create("group", name="Larch team").ok()["id"]
    other = desk.api.create(
        "brand", name="Larch", host="help.larch.example", is_public=1, has_requests=1, group_ids=[group]
    ).ok()["id"]
    mask = desk.ids["ann"]["mask"]
    try:
        assert ann.get(f"/requests/{mask}").status_code == 200
        desk.api.update("ticket", desk.ids["ann"]["id"], group_id=group).ok()
        assert ann.get(f"/requests/{mask}").status_code == 404 and mask not in ann.texts("/requests")
        elsewhere = Customer(ann.url, "help.larch.example", dict(ann.cookies))
        assert elsewhere.get("/requests").status_code == 302, "a session of another brand"
    finally:
        desk.api.update("ticket", desk.ids["ann"]["id"], group_id=desk.ids["ann"]["group_id"]).ok()
        desk.api.remove("brand", other).ok()


def test_below_the_console_the_cookie_never_reaches_it(tmp_path):
    server = Server(tmp_path / "data")
    api = server.set_up()
    api.create("brand", name="Trial", is_public=1, has_requests=1).ok()
    api.create("address", email="ann@kite.example").ok()
    browser = Customer(server.url, "127.0.0.1")
    asked = browser.send("POST", "/help-center/sign-in", {"email": "ann@kite.example"})
    (line,) = asked.raw.headers.getlist("Set-Cookie")
    assert line.startswith("customer_asks=") and "Path=/help-center/;" in line and "Secure" not in line
    assert asked.headers["Location"] == "/help-center/sign-in/code"
    assert server.stop() == 0
