"""A contact form before it is public: its initial values, its preview, and the warnings on its page."""

import html
import re
from collections.abc import Iterator

import pytest

from tests.console.visitor import Visitor, text_of
from tests.help_center.contact_office import KITE, LARCH, Office, contact_office

BASE = "/admin/help-center/contact-forms"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with contact_office(tmp_path_factory.mktemp("new-forms")) as running:
        yield running


@pytest.fixture(scope="module")
def nora(office: Office) -> Visitor:
    visitor = Visitor(office.server.url)
    visitor.sign_in("nora@desk.example")
    return visitor


def chosen(page: str, name: str) -> str:
    """The chosen value of a select, or of the box of a chooser."""
    select = re.search(rf'<select[^>]*name="{name}"[^>]*>(.*?)</select>', page, re.DOTALL)
    assert select is not None, page
    option = re.search(r'<option value="([^"]*)"[^>]* selected', select[1])
    return option[1] if option else ""


def test_a_new_form_begins_with_the_only_brand_and_the_obvious_group(office, nora):
    api, (kite, larch) = office.api, (office.ids["kite"], office.ids["larch"])
    support, private = str(api.ids["support"]), str(api.ids["private"])
    page = nora.get(f"{BASE}/new").text
    assert (chosen(page, "brand_id"), chosen(page, "group_id")) == ("", support), "two brands, one default group"
    image = api.record("brand", larch).ok()
    api.remove("brand", larch).ok()
    try:
        page = nora.get(f"{BASE}/new").text
        assert (chosen(page, "brand_id"), chosen(page, "group_id")) == (str(kite), support)
        api.update("brand", kite, group_ids=[int(private)]).ok()
        assert chosen(nora.get(f"{BASE}/new").text, "group_id") == private, "the only group of the only brand"
        third = api.create("group", name="Sales").ok()["id"]
        api.update("brand", kite, group_ids=[int(private), third]).ok()
        assert chosen(nora.get(f"{BASE}/new").text, "group_id") == "", "the default group works for no brand"
        api.update("brand", kite, group_ids=[f"-{private}", f"-{third}"]).ok()
        api.remove("group", third).ok()
        sent = {"name": "As offered", "brand_id": str(kite), "group_id": support}
        assert nora.send(f"{BASE}/new", sent, page=f"{BASE}/new").status_code == 303
        (id,) = api.found("contact_form", 'name:"As offered"')
        assert chosen(nora.get(f"{BASE}/{id}").text, "group_id") == support
        api.remove("contact_form", id).ok()
    finally:
        office.ids["larch"] = api.create("brand", name=image["name"], host=LARCH, is_public=1).ok()["id"]
        while office.get("/", LARCH).status_code == 404:  # the site reads the new host a moment later
            pass


def test_a_form_says_that_visitors_get_no_email_until_its_group_acknowledges(office, nora):
    api, support = office.api, office.api.ids["support"]
    form = office.form(slug="quiet")
    nothing = "Visitors get no email after they have sent it."
    plain = "No other email confirms that it has arrived."
    page = nora.get(f"{BASE}/{form}").text
    assert nothing in text_of(page) and f'href="/admin/people/groups/{support}#acknowledgement"' in page
    assert 'id="acknowledgement"' in nora.get(f"/admin/people/groups/{support}").text
    opened = office.open("/contact/quiet")
    sent = opened.send()
    assert sent.status_code == 303 and plain in office.get(sent.headers["Location"]).text
    api.update("group", support, ack_enabled=1, ack_text="We have {{mask}}.").ok()
    assert nothing not in text_of(nora.get(f"{BASE}/{form}").text)
    assert plain not in office.get("/contact/quiet?sent=ticket").text
    for id in api.found("address", "support@kite.example"):
        api.update("address", id, mail_transport_id=0).ok()
    for id in api.found("mail_transport", ""):
        api.remove("mail_transport", id).ok()
    assert nothing in text_of(nora.get(f"{BASE}/{form}").text), "nothing sends it"
    api.update("group", support, ack_enabled=0).ok()


def test_administrators_preview_a_form_of_a_brand_that_is_not_public(office, nora):
    api, larch = office.api, office.ids["larch"]
    api.update("brand", larch, is_public=0, accent="#884400").ok()
    article = api.create("kb_article", title="Hidden", status="published", brand_id=larch, content="x").ok()["id"]
    form = office.form(name="Ask Larch", slug="ask", brand_id=larch, intro="Before *launch*.", is_on=0)
    page = nora.get(f"{BASE}/{form}").text
    assert "the help center of Larch is not public" in text_of(page)
    address = re.search(r'href="([^"]*/contact/ask\?preview=[^"]*)"', page)
    assert address is not None, page
    path = html.unescape(address[1]).partition(LARCH)[2]
    shown = office.get(path, LARCH)
    assert shown.status_code == 200 and "Before <em>launch</em>" in shown.text and "This is a preview" in shown.text
    assert shown.headers["Cache-Control"] == "no-store" and "Set-Cookie" not in shown.headers
    look = re.search(r'href="([^"]*/look-[^"]*)"', shown.text)
    assert look is not None
    style = office.get(html.unescape(look[1]), LARCH)
    assert style.status_code == 200 and style.headers["Cache-Control"] == "no-store"

    # The code opens this one form only.
    code = path.partition("?")[2]
    for other in ("/", "/search?q=Hidden", f"/a/{article}", "/contact/ask", "/look-884400.css", "/sitemap.xml"):
        assert office.get(other, LARCH).status_code == 404, other
        if "?" not in other and "contact" not in other and "look" not in other:
            assert office.get(f"{other}?{code}", LARCH).status_code == 404, other
    forged = code[:-1] + ("b" if code.endswith("a") else "a")
    for wrong in (f"/contact/ask?{forged}", "/contact/ask?preview=", "/contact/ask?preview=%FF", "/contact/ask?x[=1"):
        assert office.get(wrong, LARCH).status_code == 404, wrong
    assert office.get(path, KITE).status_code == 404, "a code of another brand"
    assert office.send("POST", path, LARCH, data={"token": "x"}).status_code == 404

    api.update("brand", larch, is_public=1).ok()
    assert office.get(path, LARCH).status_code == 200 and office.get("/contact/ask", LARCH).status_code == 404
