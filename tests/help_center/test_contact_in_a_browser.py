"""The contact form in a browser: its scripts, accessibility, and the dialog on another website."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.console.browser import PHONE, WIDE, is_sideways, violations
from tests.service import Api, Server, people
from tests.telling import telling


@dataclass
class Trial:
    """A help center with a form, and a website that links to it."""

    url: str
    api: Api
    site: str


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    server = Server(tmp_path_factory.mktemp("trial") / "data", env={"HELPDESK_CONTACT_FORM_SECONDS": "0"})
    api = server.set_up()
    people(api)
    place = f"{server.url}/help-center"
    page = (
        f'<!doctype html><title>Shop</title><script src="{place}/static/contact_embed.js" defer></script>'
        f'<a href="{place}/contact" data-contact-form>Write to us</a>'
    ).encode()

    class Website(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 204)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page if self.path == "/" else b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    website = ThreadingHTTPServer(("127.0.0.1", 0), Website)
    threading.Thread(target=website.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{website.server_address[1]}"
    brand = api.create("brand", name="Kite Pumps", accent="#ffcc00", is_public=1).ok()["id"]
    api.create("kb_article", title="Starting a pump", status="published", content="Turn.").ok()
    ids = {}
    for name, kind, params in (
        ("Kind", "D", {"options": ["Order", "Question"]}),
        ("Number", "S", {}),
        ("Wishes", "X", {"options": ["Call", "Visit"]}),
        ("Day", "E", {}),
        ("Urgent", "C", {}),
        ("Story", "T", {}),
    ):
        fields = {"name": name, "context": "ticket", "type": kind, "uri": f"shown_{name.lower()}", "params": params}
        ids[name] = api.create("custom_field", **fields).ok()["id"]
    shown = [{"field_id": ids[name]} for name in ids]
    shown[1] |= {"is_required": 1, "if_field_id": ids["Kind"], "if_value": "Order"}
    api.create(
        "contact_form",
        name="Write to us",
        brand_id=brand,
        group_id=api.ids["support"],
        is_on=1,
        intro="Read *this* first.",
        consent_text="I agree to the [terms](https://kite.example/terms).",
        has_proof=1,
        frame_origins=site,
        form_fields=json.dumps(shown),
    ).ok()
    yield Trial(f"{server.url}/help-center", api, site)
    website.shutdown()
    website.server_close()
    assert server.stop() == 0


@pytest.mark.parametrize("size", telling({"phone": PHONE, "desk": WIDE}, ("phone",), "every size"))
@pytest.mark.parametrize("scheme", telling(("light", "dark"), (), "accessibility of a single page"))
def test_axe_finds_nothing_and_nothing_is_wider_than_the_page(chromium, trial, size, scheme):
    with chromium.page(trial.url, size, color_scheme=scheme, refused="422") as page:
        for path in ("/contact", "/contact?embed=1", "/contact?sent=ticket", "/contact?sent=mail"):
            page.goto(trial.url + path)
            assert violations(page) == [], path
            assert not is_sideways(page), path
        page.goto(f"{trial.url}/contact")
        page.evaluate("document.querySelector('form[data-contact]').noValidate = true")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("alert")).to_contain_text("Your message was not sent.")
        expect(page.locator("#problems")).to_be_focused()
        assert violations(page) == [] and not is_sideways(page)


def test_a_visitor_writes_with_scripts(chromium, trial):
    with chromium.page(trial.url, PHONE, is_journey=True) as page:
        page.goto(f"{trial.url}/search?q=unheard")
        page.get_by_role("link", name="Write to us about this").click()
        expect(page.get_by_label("Subject")).to_have_value("unheard")
        expect(page.get_by_label("Number")).to_be_hidden()
        page.get_by_label("Kind").select_option("Order")
        expect(page.get_by_label("Number")).to_be_visible()
        page.get_by_label("Number").fill("K-17")
        page.get_by_label("Subject").fill("Starting")
        expect(page.get_by_role("link", name="Starting a pump")).to_be_visible()
        page.get_by_label("Your email address").fill("ann@kite.example")
        page.get_by_label("Message").fill("It drips.")
        page.get_by_label("Files").set_input_files(
            [
                {"name": "plan.txt", "mimeType": "text/plain", "buffer": b"plan"},
                {"name": "old.txt", "mimeType": "text/plain", "buffer": b"old"},
            ]
        )
        page.get_by_role("button", name="Remove old.txt").click()
        expect(page.get_by_role("button", name="Remove plan.txt")).to_be_visible()
        page.get_by_label("I agree to this:").check()
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("heading", name="Thank you for your message.")).to_be_visible()
    messages = trial.api.search("message", "form.id:>0", expand="content").ok()["results"]
    assert len(messages) == 1 and messages[0]["content"].strip() == "It drips."
    files = trial.api.search("attachment", f"on.message:(id:{messages[0]['id']})").ok()["results"]
    assert [each["name"] for each in files] == ["plan.txt"]
    ticket = trial.api.record("ticket", messages[0]["ticket_id"], expand="custom_").ok()
    assert "K-17" in str(ticket.json)


def test_a_website_opens_the_form_in_a_dialog(chromium, trial):
    with chromium.page(trial.site, elsewhere=trial.url.removesuffix("/help-center")) as page:
        page.goto(f"{trial.site}/")
        link = page.get_by_role("link", name="Write to us")
        link.press("Enter")
        frame = page.frame_locator("iframe")
        expect(frame.get_by_label("Message")).to_be_visible()
        frame.get_by_label("Message").press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(link).to_be_focused()
        link.click()
        page.get_by_role("button", name="Close").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
