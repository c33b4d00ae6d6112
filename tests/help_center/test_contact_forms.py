"""Contact forms for visitors: pages, mistakes, conditional fields, files, tickets, confirmations and what attackers
try."""

import http.client
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.help_center.form_tokens import MAX_HOURLY_OF_ADDRESS
from tests.help_center.contact_office import KITE, LARCH, Office, contact_office, errors, file, hidden

AT_ONCE = 40


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with contact_office(tmp_path_factory.mktemp("contact")) as running:
        api = running.api
        for name, kind, params in (
            ("kind", "D", {"options": ["Order", "Question"]}),
            ("number", "S", {}),
            ("wishes", "X", {"options": ["Call", "Visit"]}),
            ("day", "E", {}),
            ("urgent", "C", {}),
        ):
            values = {"name": name.title(), "context": "ticket", "type": kind, "uri": f"form_{name}"}
            running.ids[name] = api.create("custom_field", params=params, **values).ok()["id"]
        ids = running.ids
        ids["form"] = running.form(intro="Read [this](https://kite.example/first) first.")
        fields = [
            {"field_id": ids["kind"], "is_required": 1},
            {"field_id": ids["number"], "is_required": 1, "if_field_id": ids["kind"], "if_value": "Order"},
            {"field_id": ids["wishes"]},
            {"field_id": ids["day"]},
            {"field_id": ids["urgent"]},
        ]
        ids["full"] = running.form(
            name="Orders",
            slug="orders",
            consent_text="I agree to the **terms**.",
            is_name_required=1,
            form_fields=json.dumps(fields),
            frame_origins="https://kite.example\nhttps://shop.kite.example:8443",
        )
        ids["off"] = running.form(name="Off", slug="off", is_on=0)
        ids["checked"] = running.form(name="Checked", slug="checked", confirms_address=1)
        ids["proof"] = running.form(name="Proof", slug="proof", has_proof=1)
        ids["of larch"] = running.form(name="Larch form", brand_id=ids["larch"], slug="larch")
        ids["deutsch"] = running.form(name="Schreiben Sie uns", language="de")
        yield running


def forged(name: str) -> str:
    """A signed name with another last letter."""
    return name[:-1] + ("b" if name.endswith("a") else "a")


def custom(office: Office, name: str) -> str:
    return f"custom_{office.ids[name]}"


# -- pages -------------------------------------------------------------------------------------------------------------


def test_a_form_is_a_page_of_its_brand_in_the_language_of_the_visitor(office):
    page = office.get("/contact")
    assert page.status_code == 200 and "Write to us" in page.text and page.headers["Cache-Control"] == "no-store"
    assert 'href="https://kite.example/first"' in page.text and "Set-Cookie" not in page.headers
    assert "Schreiben Sie uns" in office.get("/de/contact").text and 'lang="de"' in office.get("/de/contact").text
    assert "Orders" in office.get("/de/contact/orders").text, "a form for all languages"


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("/contact/off", KITE),
        ("/contact/larch", KITE),
        ("/contact/orders", LARCH),
        ("/contact", LARCH),
        ("/contact/nothing", KITE),
        ("/contact-confirm/1.99999999999-aaaaaaaaaaaaaaaaaaaaaaaa", KITE),
        ("/contact-files/1", KITE),
    ],
)
def test_what_is_off_or_of_another_brand_does_not_exist(office, path, host):
    assert office.get(path, host).status_code in (404, 405)


def test_only_listed_websites_may_frame_a_form(office):
    listed, other = office.get("/contact/orders"), office.get("/contact")
    policy = listed.headers["Content-Security-Policy"]
    assert "frame-ancestors https://kite.example https://shop.kite.example:8443" in policy
    assert listed.headers["X-Frame-Options"] != "DENY", "browsers follow the policy"
    assert "frame-ancestors 'none'" in other.headers["Content-Security-Policy"]
    assert other.headers["X-Frame-Options"] == "DENY"
    framed = office.get("/contact/orders?embed=1").text
    assert 'class="embedded"' in framed and "<footer" not in framed and "embed=1" in framed


def test_pages_lead_to_the_form_and_a_search_without_results_keeps_its_words(office):
    assert 'href="/contact"' in office.get("/").text
    assert 'href="/contact?subject=zzz+qqq"' in office.get("/search?q=zzz+qqq").text
    assert 'value="zzz &lt;b&gt;"' in office.get("/contact?subject=zzz+%3Cb%3E").text
    assert 'href="/contact/larch"' in office.get("/", LARCH).text, "its only form"


# -- tickets -----------------------------------------------------------------------------------------------------------


def test_a_form_becomes_a_ticket_by_the_way_of_an_email(office):
    response = office.open().send(
        email="ann@kite.example", subject="Leaking pump Ü", message="It drips.\r\n\r\nGruß & <b>Ann</b>"
    )
    assert response.status_code == 303 and response.headers["Location"] == "/contact?sent=ticket"
    assert "Thank you" in office.get("/contact?sent=ticket").text
    message = office.newest()
    assert message["content"].strip() == "It drips.\n\nGruß & <b>Ann</b>"
    assert message["ticket_subject"] == "Leaking pump Ü" and message["sender_email"] == "ann@kite.example"
    assert message["form_id"] == office.ids["form"] and message["consent_version"] == 0
    assert "contact form 'Write to us'" in message["notes"][0] and "nothing proves" in message["notes"][0]
    found = office.api.found("message", f"form.id:{office.ids['form']}")
    assert message["id"] in found
    contact = office.api.search("contact", "email:(email:ann@kite.example)").ok()["results"][0]
    assert contact["_label"] == "Ann Kite"


def test_custom_fields_and_consent_are_stored(office):
    form = office.open("/contact/orders")
    values = {
        custom(office, "kind"): "Order",
        custom(office, "number"): "K-17",
        f"{custom(office, 'wishes')}[]": ["Call", "Visit"],
        custom(office, "day"): "2026-05-31",
        custom(office, "urgent"): "1",
        "consent": "1",
    }
    assert form.send(**values).status_code == 303
    message = office.newest()
    assert message["consent_version"] == 1 and "version 1 of the consent text" in message["notes"][1]
    ticket = office.api.record("ticket", message["ticket_id"], expand="custom_").ok().json
    stored = {name: value for name, value in ticket.items() if name.startswith(("form_", "custom_"))}
    assert "K-17" in str(stored) and "Order" in str(stored) and "Visit" in str(stored)


def test_conditions_hold_on_the_server(office):
    form, kind, number = office.open("/contact/orders"), custom(office, "kind"), custom(office, "number")
    assert "Only if Kind is Order." in form.html
    refused = form.send(consent="1", **{kind: "Order"})
    assert refused.status_code == 422 and errors(refused) == ["Number: Fill this in"]
    assert 'value="Leaking pump"' in refused.text and "It drips." in refused.text
    assert form.send(consent="1", **{kind: "Question", number: "smuggled"}).status_code == 303
    ticket = office.api.record("ticket", office.newest()["ticket_id"], expand="custom_").ok()
    assert "smuggled" not in str(ticket.json)


@pytest.mark.parametrize(
    ("values", "mistakes"),
    [
        ({"email": ""}, ["Your email address: Fill this in"]),
        ({"email": "ann"}, ["Your email address: Enter an email address, such as ann@example.com"]),
        (
            {"email": "a@x.example, b@x.example"},
            ["Your email address: Enter an email address, such as ann@example.com"],
        ),
        ({"email": "Ann <a@x.example>"}, ["Your email address: Enter an email address, such as ann@example.com"]),
        ({"email": "a@x.example\r\nBcc: b@x.example"}, ["Your email address: Write this on one line"]),
        ({"subject": "A\r\nBcc: b@x.example"}, ["Subject: Write this on one line"]),
        ({"subject": "A\nB"}, ["Subject: Write this on one line"]),
        ({"subject": "A\u2028B"}, ["Subject: Write this on one line"]),
        ({"name": "Ann\r\nReply-To: b@x.example"}, ["Your name: Write this on one line"]),
        ({"name": "x" * 101}, ["Your name: At most 100 characters, this has 101"]),
        ({"subject": "x" * 201}, ["Subject: At most 200 characters, this has 201"]),
        ({"message": "x" * 20001}, ["Message: At most 20000 characters, this has 20001"]),
        ({"message": " \n "}, ["Message: Write your message"]),
        ({"subject": "", "message": ""}, ["Subject: Fill this in", "Message: Write your message"]),
    ],
)
def test_mistakes_are_named_at_their_fields_and_nothing_is_stored(office, values, mistakes):
    before = office.count()
    refused = office.open().send(**values)
    assert refused.status_code == 422 and errors(refused) == mistakes
    assert "<title>Error: Write to us" in refused.text and refused.text.count('aria-invalid="true"') == len(mistakes)
    assert office.count() == before


@pytest.mark.parametrize(
    ("name", "text", "mistake"),
    [
        ("kind", "Other", "Kind: "),
        ("kind", "", "Kind: Fill this in"),
        ("wishes", ["Call", "<script>"], "Wishes: "),
        ("day", "tomorrow", "Day: Enter a day"),
        ("day", "2026-02-30", "Day: Enter a day"),
        ("number", "x" * 300, "Number: "),
        ("number", "a\r\nb", "Number: Write this on one line"),
    ],
)
def test_hostile_custom_values_are_refused(office, name, text, mistake):
    values = {custom(office, "kind"): "Order", custom(office, "number"): "1", "consent": "1"}
    key = custom(office, name)
    refused = office.open("/contact/orders").send(**(values | {f"{key}[]" if name == "wishes" else key: text}))
    assert refused.status_code == 422 and [each for each in errors(refused) if each.startswith(mistake)]
    assert "<script>" not in refused.text


def test_consent_and_name_are_needed_where_the_form_asks_for_them(office):
    refused = office.open("/contact/orders").send(name="", **{custom(office, "kind"): "Question"})
    assert errors(refused) == ["Your name: Fill this in", "Consent: Agree to this, or write to us another way"]


def test_a_form_that_arrives_again_creates_no_second_ticket(office):
    form, before = office.open(), office.count()
    first, again, changed = form.send(), form.send(), form.send(subject="Another subject")
    assert {each.headers["Location"] for each in (first, again, changed)} == {"/contact?sent=ticket"}
    assert office.count() == before + 1


def test_nobody_becomes_a_worker_or_the_service_by_an_address(office):
    refused = office.open().send(email="support@kite.example")
    assert errors(refused) == ["Your email address: This is our address; enter your own"]
    assert office.open().send(email="milo@desk.example").status_code == 303
    message = office.newest()
    assert message["worker_id"] == 0 and not message["is_outgoing"]
    assert any("nothing proves that the worker wrote this" in each for each in message["notes"])


def test_nothing_is_shown_of_a_contact_and_a_banned_sender_learns_nothing(office):
    address = office.api.create("address", email="banned@kite.example").ok()["id"]
    office.api.update("address", address, is_banned=1).ok()
    before = office.count()
    responses = [office.open().send(email=each) for each in ("banned@kite.example", "new@kite.example")]
    assert {(each.status_code, each.headers["Location"]) for each in responses} == {(303, "/contact?sent=ticket")}
    assert office.count() == before + 1


def test_a_name_in_a_form_renames_no_contact(office):
    office.open().send(email="cleo@kite.example", name="Cleo Kite")
    office.open().send(email="cleo@kite.example", name="Mallory")
    contact = office.api.search("contact", "email:(email:cleo@kite.example)").ok()["results"]
    assert [each["_label"] for each in contact] == ["Cleo Kite"]


def test_a_subject_joins_no_existing_ticket(office):
    office.open().send(email="dan@kite.example")
    mask = office.api.record("ticket", office.newest()["ticket_id"]).ok()["mask"]
    before = office.newest()["ticket_id"]
    office.open().send(email="dan@kite.example", subject=f"Re: [#{mask}] Leaking pump")
    assert office.newest()["ticket_id"] != before


# -- tokens ------------------------------------------------------------------------------------------------------------


def test_a_form_without_a_valid_token_is_shown_again_with_what_was_typed(office):
    other = office.open("/contact/orders")
    good = office.open()
    for token in ("", "x", forged(good.token), good.token.replace(".", ":"), other.token, "9" * 500):
        refused = office.open()
        refused.token = token
        response = refused.send()
        assert response.status_code == 422 and "open for too long" in errors(response)[0]
        assert "It drips." in response.text and hidden(response.text, "token") != token


def test_programs_that_fill_in_the_hidden_field_are_thanked(office):
    before = office.count()
    assert office.open().send(website="https://spam.example").headers["Location"] == "/contact?sent=ticket"
    assert office.count() == before


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_form_of_another_site_is_refused(office, site):
    form = office.open()
    response = office.send(
        "POST", "/contact", data={"token": form.token}, headers={"Sec-Fetch-Site": site, "Origin": "https://x.example"}
    )
    assert response.status_code == 403


# -- files -------------------------------------------------------------------------------------------------------------


def test_files_become_attachments_with_safe_names(office):
    sent = [
        file("../../etc/passwd", b"a"),
        file("invoice\u202efdp.exe", b"<script>alert(1)</script>", "text/html"),
        file("CON.txt", b"b", "bad type\r\nX-Y: z"),
        file("two words.txt", b"c", ""),
    ]
    assert office.open().send(files=sent).status_code == 303
    message = office.newest()
    files = office.api.search("attachment", f"on.message:(id:{message['id']}) sort:id").ok()["results"]
    assert {each["name"] for each in files} == {"passwd", "invoicefdp.exe", "_CON.txt", "two words.txt"}
    assert all("\r" not in each["mime_type"] for each in files)


def test_a_refused_form_keeps_its_files(office):
    form = office.open()
    refused = form.send(files=[file("plan.txt", b"plan"), file("old.txt", b"old")], message="")
    assert refused.status_code == 422 and "plan.txt" in refused.text
    codes = re.findall(r'name="remove\[\]" value="([0-9a-f]+)"', refused.text)
    old = codes[[*re.findall(r"<span dir=\"auto\">([^<]*)</span>", refused.text)].index("old.txt")]
    assert form.send(**{"remove[]": old}).status_code == 303
    files = office.api.search("attachment", f"on.message:(id:{office.newest()['id']})").ok()["results"]
    assert [each["name"] for each in files] == ["plan.txt"]


def test_files_have_limits(office):
    form = office.open()
    refused = form.send(files=[file(f"{each}.txt", b"%d" % each) for each in range(12)])
    assert errors(refused)[0].endswith("At most 10 files")
    assert errors(office.open().send(files=[file("empty.txt", b"")]))[0].endswith("The file is empty")
    large = office.open().send(files=[file("large.bin", b"x" * (25 * 1024 * 1024 + 1))])
    assert "all files together can have 25 MB" in errors(large)[0].lower() or "25 MB" in errors(large)[0]


def test_a_huge_body_is_refused_before_it_is_read(office):
    connection = http.client.HTTPConnection(office.server.url.removeprefix("http://"), timeout=60)
    connection.putrequest("POST", "/contact", skip_host=True)
    for name, text in (("Host", KITE), ("Content-Length", str(10**9)), ("Expect", "100-continue")):
        connection.putheader(name, text)
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    assert office.send("POST", "/a/1-x/vote", data=b"x" * 20_000).status_code == 413, "other forms stay small"


def test_a_file_that_is_sent_ahead_belongs_to_its_form(office):
    form, other = office.open(), office.open()

    def ahead(token, form_id=office.ids["form"], host=KITE):
        sent = {"token": (None, token), "file": ("ahead.txt", b"ahead", "text/plain")}
        return office.send("POST", f"/contact-files/{form_id}", host, files=sent)

    stored = ahead(form.token)
    assert stored.status_code == 200 and stored.json()["name"] == "ahead.txt"
    assert ahead("x").status_code == 422 and "too long" in ahead("x").json()["error"]
    assert ahead(form.token, office.ids["off"]).status_code == 404
    assert ahead(form.token, office.ids["full"]).status_code == 422, "the token of another form"
    assert ahead(form.token, host=LARCH).status_code == 404
    other.send(**{"remove[]": stored.json()["code"]})
    assert form.send().status_code == 303
    files = office.api.search("attachment", f"on.message:(id:{office.newest()['id']})").ok()["results"]
    assert [each["name"] for each in files] == ["ahead.txt"], "another form could not remove it"


# -- confirmations -----------------------------------------------------------------------------------------------------

LINK = re.compile(rb"https://help\.kite\.example((?:/de)?/contact-confirm/[0-9.a-z-]+)")


def link(office: Office) -> str:
    """The path in the newest confirmation."""
    sent = office.smtp.take()
    raw = sent.raw.replace(b"=\r\n", b"")
    match = LINK.search(raw)
    assert match is not None, raw
    return match[1].decode()


def test_an_address_is_confirmed_by_a_link_that_a_scanner_may_follow(office):
    before = office.count()
    response = office.open("/contact/checked").send(email="eve@kite.example", subject="Secret plan")
    assert response.headers["Location"] == "/contact/checked?sent=mail" and office.count() == before
    assert "Confirm your address" in office.get("/contact/checked?sent=mail").text
    path = link(office)
    shown = office.get(path)
    assert "Secret plan" in shown.text and shown.headers["Referrer-Policy"] == "no-referrer"
    office.send("HEAD", path)
    assert office.count() == before, "to open it sends nothing"
    assert office.get(path, LARCH).status_code == 404
    sent = office.send("POST", path)
    assert sent.headers["Location"] == "/contact/checked?sent=ticket" and office.count() == before + 1
    message = office.newest()
    assert message["sender_email"] == "eve@kite.example" and "confirmed the email address" in message["notes"][0]
    assert office.get(path).status_code == 404 and office.send("POST", path).status_code == 404
    assert office.count() == before + 1


def test_a_confirmation_repeats_nothing_that_was_typed_and_marks_itself_as_automatic(office):
    office.open("/contact/checked").send(email="fay@kite.example", name="BUY NOW", subject="Win https://x.example")
    sent = office.smtp.take()
    assert sent.recipients == ("fay@kite.example",) and b"\r\nAuto-Submitted: auto-generated" in sent.raw
    assert b"BUY NOW" not in sent.raw and b"x.example" not in sent.raw and b"It drips" not in sent.raw
    assert b"From: " in sent.raw and b"support@kite.example" in sent.raw


def test_a_forged_link_opens_nothing(office):
    office.open("/contact/checked").send(email="gil@kite.example")
    path = link(office)
    start, signature = path.rsplit("-", 1)
    id, until = start.rsplit("/", 1)[1].split(".")
    for name in (f"{int(id) + 1}.{until}", f"{id}.{int(until) + 9}", f"{id}.0"):
        assert office.get(f"/contact-confirm/{name}-{signature}").status_code == 404


def test_a_browser_without_scripts_confirms_by_email_and_others_by_work(office):
    import hashlib

    form = office.open("/contact/proof")
    assert form.send(email="hal@kite.example").headers["Location"] == "/contact/proof?sent=mail"
    office.smtp.take()
    form = office.open("/contact/proof")
    for wrong in ("0", "x" * 30, "ä"):
        assert (
            office.open("/contact/proof")
            .send(email=f"h{len(wrong)}@kite.example", proof=wrong)
            .headers["Location"]
            .endswith("sent=mail")
        )
        office.smtp.take()
    bits, number = int(hidden_bits(form.html)), 0
    while int.from_bytes(hashlib.sha256(f"{form.token}:{number}".encode()).digest()[:4], "big") >> (32 - bits):
        number += 1
    assert form.send(proof=str(number)).headers["Location"] == "/contact/proof?sent=ticket"
    other = office.open("/contact/proof")
    assert other.send(email="ida@kite.example", proof=str(number)).headers["Location"].endswith("sent=mail")
    office.smtp.take()


def hidden_bits(html: str) -> str:
    match = re.search(r'data-bits="(\d+)"', html)
    assert match is not None
    return match[1]


def test_a_ticket_of_a_form_is_acknowledged_once_by_its_group(office):
    group = office.api.ids["support"]
    office.api.update("group", group, ack_enabled=1, ack_subject="We have it", ack_text="Thanks for {{mask}}.").ok()
    office.open().send(email="jo@kite.example")
    sent = office.smtp.take()
    assert sent.recipients == ("jo@kite.example",) and b"Auto-Submitted: auto-replied" in sent.raw
    office.api.update("group", group, ack_enabled=0).ok()


# -- many at once ------------------------------------------------------------------------------------------------------


def test_many_forms_at_once_become_tickets_while_others_read(office):
    forms, before = [office.open() for _ in range(AT_ONCE)], office.count()
    with ThreadPoolExecutor(AT_ONCE) as visitors:
        sending = [visitors.submit(form.send) for form in forms]
        pages = [office.get("/").status_code for _ in range(10)]
        desk = [office.api.create("task", title=f"Call {number}").status for number in range(10)]
        responses = [each.result() for each in sending]
    assert {(each.status_code, each.headers["Location"]) for each in responses} == {(303, "/contact?sent=ticket")}
    assert office.count() == before + AT_ONCE
    assert set(pages) == set(desk) == {200}


def test_a_form_that_arrives_twice_at_once_creates_one_ticket(office):
    form, before = office.open(), office.count()
    with ThreadPoolExecutor(4) as visitors:
        responses = [each.result() for each in [visitors.submit(form.send) for _ in range(4)]]
    assert {(each.status_code, each.headers["Location"]) for each in responses} == {(303, "/contact?sent=ticket")}
    assert office.count() == before + 1


def test_a_form_above_the_limit_of_its_address_is_shown_again_with_what_was_typed(office):
    before = office.count()
    responses = [office.open().send(email="often@kite.example") for _ in range(MAX_HOURLY_OF_ADDRESS + 1)]
    assert [each.status_code for each in responses] == [303] * MAX_HOURLY_OF_ADDRESS + [429]
    refused = responses[-1]
    assert "Too many messages" in errors(refused)[0] and "It drips." in refused.text
    assert int(refused.headers["Retry-After"]) > 0 and office.count() == before + MAX_HOURLY_OF_ADDRESS


# -- programs ----------------------------------------------------------------------------------------------------------


def test_the_change_feed_and_the_api_see_forms(office):
    office.open().send(email="kim@kite.example")
    message = office.newest()
    assert office.api.record("message", message["id"]).ok()["form_id"] == office.ids["form"]
    form = office.api.record("contact_form", office.ids["full"]).ok().json
    assert form["slug"] == "orders" and len(form["form_fields"]) == 5
