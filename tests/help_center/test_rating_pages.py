"""The page on which customers rate: from the email to the record, against mail scanners, floods and attackers."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from zlib import crc32

import pytest
import requests
from playwright.sync_api import expect

from server import clock
from server.records.writing import RecordWriter
from tests.console.browser import PHONE, WIDE, Browser, is_sideways, violations
from tests.records.desk import Desk
from tests.service import Api, Server, people
from tests.smtp_server import SmtpServer
from tests.telling import telling

LINK = re.compile(r"/rate/([a-z2-7-]+)/good")
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\n**bold** {{ticket_mask}}"
SECRET = "zanzibar"
NUMBERS = count(1)
DAY = 86400


@dataclass
class Customers:
    """A service that asks customers at once, and what they send."""

    server: Server
    api: Api
    smtp: SmtpServer
    desk: Desk
    subjects: dict[str, int] = field(default_factory=dict)

    def asked(self) -> tuple[int, str]:
        """Closes a new ticket. Returns its id, and the path of the link in the email without its score."""
        number = next(NUMBERS)
        raw = (
            f"From: Ann <ann{number}@kite.example>\r\nTo: support@localhost\r\nSubject: Boat {number}\r\n"
            f"Message-ID: <boat{number}@kite.example>\r\n\r\nThe {SECRET} leaks.\r\n"
        )
        ticket = self.api.post("/rest/parser/parse.json", message=raw).ok()
        self.api.update("ticket", ticket["id"], status="closed", owner_id=self.api.ids["milo"]).ok()
        while True:  # workers may get email, too
            _sender, recipients, mail = self.smtp.take()
            if recipients == (f"ann{number}@kite.example",):
                break
        text = mail.decode().replace("=\r\n", "")
        match = LINK.search(text)
        assert match is not None, text
        return int(ticket["id"]), f"/help-center/rate/{match[1]}"

    def send(self, method: str, path: str, **fields: str) -> requests.Response:
        """Sends a request as the customer of a link, each from an address of their own."""
        headers = {"X-Forwarded-For": f"2001:db8:0:{crc32(path.split('/')[3].encode()) % 0xFFFF:x}::1"}
        url, data = self.server.url + path, fields or None
        return requests.request(method, url, data=data, headers=headers, allow_redirects=False, timeout=60)

    def rating(self, ticket_id: int) -> dict[str, Any]:
        [found] = self.api.search("rating", f"ticket.id:{ticket_id}").ok()["results"]
        return dict(found)

    def set(self, id: int, **values: int) -> None:
        self.desk.store.write(lambda tx: RecordWriter(self.desk.context(), tx).set("rating", id, values))


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customers]:
    environment = {
        "HELPDESK_RATINGS": "all",
        "HELPDESK_RATING_DELAY_HOURS": "0",
        "HELPDESK_TRUSTED_PROXIES": "127.0.0.1",
    }
    server = Server(tmp_path_factory.mktemp("ratings") / "data", env=environment)
    with SmtpServer() as smtp:
        api = server.set_up()
        people(api)
        params = {"host": smtp.host, "port": str(smtp.port), "encryption": "none"}
        transport = api.create("mail_transport", name="Relay", extension_id="core.mail.transport.smtp", params=params)
        sender = api.search("address", "email:support@localhost").ok()["results"][0]["id"]
        api.update("address", sender, mail_transport_id=transport.ok()["id"]).ok()
        desk = Desk(server.data)
        yield Customers(server, api, smtp, desk)
        desk.close()
        assert server.stop() == 0


def test_opening_a_link_rates_nothing_and_a_form_does(customers: Customers) -> None:
    ticket, link = customers.asked()
    for method in ("GET", "HEAD", "GET"):
        for score in ("good", "bad"):
            page = customers.send(method, f"{link}/{score}")
            assert page.status_code == 200 and customers.rating(ticket)["score"] == ""
            assert "Set-Cookie" not in page.headers and page.headers["Cache-Control"] == "no-store"
            assert page.headers["Referrer-Policy"] == "no-referrer"
    page = customers.send("GET", f"{link}/bad")
    assert re.search(r'value="bad" required\s+checked', page.text) and "<script" not in page.text
    mask = customers.api.record("ticket", ticket)["mask"]
    assert f"<bdi>{mask}</bdi>" in page.text and "<bdi>Boat" in page.text
    for hidden in (SECRET, "kite.example", "Milo", "Support"):
        assert hidden not in page.text
    sent = customers.send("POST", f"{link}/bad", score="good", comment=HOSTILE)
    assert (sent.status_code, sent.headers["Location"]) == (303, f"{link}/good?done=1")
    page = customers.send("GET", sent.headers["Location"])
    assert "Thank you for your rating" in page.text and "You rated our help as good." in page.text
    assert "bold" not in page.text  # whoever got the email forwarded reads no comment
    stored = customers.rating(ticket)
    assert (stored["score"], stored["comment"]) == ("good", HOSTILE)


def test_two_tabs_and_double_clicks(customers: Customers) -> None:
    ticket, link = customers.asked()
    with ThreadPoolExecutor(4) as pool:
        sent = list(pool.map(lambda _: customers.send("POST", f"{link}/good", score="good", comment="Once"), range(4)))
    assert {each.status_code for each in sent} == {303}
    activity = [each["activity_point"] for each in customers.desk.log(target_id=ticket)]
    assert activity.count("ticket.rated") == 1 and customers.rating(ticket)["changed_at"] == 0
    page = customers.send("GET", f"{link}/bad")
    assert "You rated our help as good." in page.text and "You already wrote one." in page.text
    assert customers.send("POST", f"{link}/bad", score="bad").status_code == 303
    stored = customers.rating(ticket)
    assert (stored["score"], stored["comment"]) == ("bad", "Once") and stored["changed_at"] >= stored["rated_at"] > 0


def test_mistakes_keep_what_was_typed(customers: Customers) -> None:
    ticket, link = customers.asked()
    for fields in ({"comment": "a & b"}, {"score": "great", "comment": "a & b"}):
        page = customers.send("POST", f"{link}/good", **fields)
        assert page.status_code == 422 and "Choose one of the two." in page.text and "a &amp; b" in page.text
    page = customers.send("POST", f"{link}/good", score="good", comment="x" * 2001)
    assert page.status_code == 422 and "At most 2000 characters" in page.text and "x" * 2001 in page.text
    assert customers.send("POST", f"{link}/good", score="good", comment="🙂" * 2000).status_code == 303
    assert len(customers.rating(ticket)["comment"]) == 2000
    assert customers.send("POST", f"{link}/good", comment="x" * 50_000).status_code == 413
    assert customers.send("PUT", f"{link}/good").status_code == 405


def test_other_codes_are_alike(customers: Customers) -> None:
    ticket, link = customers.asked()
    other, _link = customers.asked()
    code = link.rpartition("/")[2]
    first = "b" if code[0] == "a" else "a"
    last = "b" if code[-1] == "a" else "a"
    tried = (f"{first}{code[1:]}", f"{code[:-1]}{last}", code.upper(), str(other), f"{code}x", "")
    pages = [customers.send(method, f"/help-center/rate/{each}/good") for each in tried for method in ("GET", "POST")]
    assert {each.status_code for each in pages} == {404} and len({each.text for each in pages}) == 1
    assert customers.send("GET", f"{link}/great").status_code == 404
    assert customers.rating(ticket)["score"] == customers.rating(other)["score"] == ""


def test_late_clicks(customers: Customers) -> None:
    ticket, link = customers.asked()
    customers.set(customers.rating(ticket)["id"], asked_at=clock.now() - 30 * DAY)
    for page in (customers.send("GET", f"{link}/good"), customers.send("POST", f"{link}/good", score="good")):
        assert page.status_code == 410 and "This link has expired" in page.text and "<form" not in page.text
    assert customers.rating(ticket)["score"] == ""
    customers.set(customers.rating(ticket)["id"], asked_at=clock.now())
    assert customers.send("POST", f"{link}/good", score="good").status_code == 303
    customers.set(customers.rating(ticket)["id"], rated_at=clock.now() - 7 * DAY)
    page = customers.send("POST", f"{link}/bad", score="bad")
    assert page.status_code == 410 and "You rated our help as good." in page.text
    customers.api.update("ticket", ticket, status="deleted").ok()
    page = customers.send("GET", f"{link}/good")
    assert page.status_code == 404 and "This link does not work" in page.text and "Boat" not in page.text


def test_a_brand_that_is_not_public_gives_its_name(customers: Customers) -> None:
    brand = customers.api.create("brand", name="Kite & Pumps").ok()["id"]
    _ticket, link = customers.asked()
    page = customers.send("GET", f"{link}/good")
    assert page.status_code == 200 and "Kite &amp; Pumps" in page.text
    assert customers.send("GET", "/help-center/c/1").status_code == 404
    customers.api.remove("brand", brand).ok()


def test_in_the_language_of_the_browser(customers: Customers) -> None:
    _ticket, link = customers.asked()
    page = requests.get(f"{customers.server.url}{link}/good", headers={"Accept-Language": "de"}, timeout=60)
    assert '<html lang="de" dir="ltr">' in page.text


def test_a_flood_is_slowed_down(customers: Customers) -> None:
    ticket, link = customers.asked()
    statuses = set[int]()
    for _ in range(70):  # the count begins anew with each minute
        page = customers.send("POST", f"{link}/good", score="good", comment="Again & again")
        statuses.add(page.status_code)
        if page.status_code == 429:
            break
    assert statuses == {303, 429} and 1 <= int(page.headers["Retry-After"]) <= 60
    assert "Too many ratings" in page.text and "Again &amp; again" in page.text
    assert customers.send("GET", f"{link}/good").status_code == 200
    assert customers.rating(ticket)["comment"] == "Again & again"


@pytest.mark.parametrize("size", telling({"phone": PHONE, "desk": WIDE}, ("phone",), "every size"))
@pytest.mark.parametrize("scheme", telling(("light", "dark"), ("light",), "every theme"))
def test_in_a_browser(customers: Customers, chromium: Browser, size: tuple[int, int], scheme: str) -> None:
    ticket, link = customers.asked()
    address = customers.server.url
    with chromium.page(address, size, color_scheme=scheme, refused="404") as page:
        page.goto(f"{address}{link}/bad")
        assert violations(page) == [] and not is_sideways(page)
        assert page.get_by_label("Bad, I am not satisfied").is_checked()
        page.get_by_label("Comment (optional)").fill("Too slow")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Thank you for your rating")).to_be_visible()
        page.locator("summary").click()
        assert violations(page) == [] and not is_sideways(page)
        page.get_by_label("Good, I am satisfied").check()
        page.get_by_role("button", name="Send rating").click()
        expect(page.get_by_text("You rated our help as good.")).to_be_visible()
        page.goto(f"{address}/help-center/rate/nothing/good")
        assert violations(page) == [] and not is_sideways(page)
    stored = customers.rating(ticket)
    assert (stored["score"], stored["comment"]) == ("good", "Too slow")
