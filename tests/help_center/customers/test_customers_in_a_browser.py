"""The walk of a customer in a browser, on a phone and on a desk: sign-in, list, reply with a file, close."""

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

import pytest

from tests.api.post import transport
from tests.console.browser import PHONE, WIDE, is_sideways, violations
from tests.help_center.customers.conftest import mail
from tests.service import Api, Server, people
from tests.smtp_server import SmtpServer

pytestmark = pytest.mark.exhaustive("a walk through pages that have tests of their own")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Api, SmtpServer]]:
    """The address of a help center below /help-center, its API, and the mail server."""
    with SmtpServer() as smtp:
        server = Server(tmp_path_factory.mktemp("walk") / "data")
        api = server.set_up()
        people(api)
        transport(api, smtp.port)
        api.create("brand", name="Kite Pumps", languages="en, de", is_public=1, has_requests=1).ok()
        for subject in ("Leaking pump", "A" * 60):
            api.parse(
                mail("Ann Kite <ann@kite.example>", subject=subject, text="See https://kite.example/a\n> Old")
            ).ok()
        yield f"{server.url}/help-center", api, smtp
        assert server.stop() == 0


def link_in(smtp: SmtpServer, address: str) -> str:
    """Returns the address of the link in the next email."""
    parsed = message_from_bytes(smtp.take().raw, policy=default)
    assert isinstance(parsed, EmailMessage)
    part = parsed.get_body(("plain",))
    assert part is not None
    found = re.search(rf"{re.escape(address)}/sign-in/link/\S+", str(part.get_content()))
    assert found is not None
    return found[0]


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), (WIDE, "light")], ids=["phone", "desk"])
def test_a_customer_signs_in_reads_replies_and_closes(chromium, trial, tmp_path: Path, size, scheme):
    address, _api, smtp = trial
    note = tmp_path / "note.txt"
    note.write_text("A note")
    with chromium.page(address, size, color_scheme=scheme, is_journey=True) as page:

        def check() -> None:
            assert violations(page) == [], page.url
            assert not is_sideways(page), page.url

        page.goto(f"{address}/")
        page.get_by_role("link", name="Your requests").click()
        check()
        page.get_by_label("Email address").fill("ann@kite.example")
        page.get_by_role("button", name="Send link").click()
        page.get_by_label("Code of six characters").wait_for()
        check()
        page.goto(link_in(smtp, address))
        check()
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Your requests").wait_for()
        check()
        page.get_by_role("link", name="Leaking pump").click()
        page.get_by_role("heading", name="Leaking pump").wait_for()
        check()
        page.get_by_label("Your message").fill("It still leaks.")
        page.get_by_label("Files").set_input_files(str(note))
        page.get_by_role("button", name="Send message").click()
        page.get_by_text("Your message was sent.").wait_for()
        assert page.get_by_role("link", name="note.txt").count() >= 1
        page.get_by_role("button", name="Close request").click()
        page.get_by_text("The request is closed.").wait_for()
        check()
        page.get_by_role("button", name="Open again").click()
        page.get_by_text("The request is open again.").wait_for()
        page.goto(f"{address}/your-data")
        check()
        page.goto(f"{address}/requests")
        page.get_by_role("button", name="Sign out").click()
        page.goto(f"{address}/requests")
        page.get_by_label("Email address").wait_for()
