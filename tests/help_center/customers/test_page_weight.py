"""Pages on a phone: their bytes, requests to other servers, layout shifts, font sizes, and sizes of buttons."""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.api.post import transport
from tests.console.browser import PHONE
from tests.help_center.customers.conftest import mail
from tests.help_center.customers.test_customers_in_a_browser import link_in
from tests.service import Server, people
from tests.smtp_server import SmtpServer
from tests.telling import telling

MAX_BYTES = 60_000  # HTML and style sheets, uncompressed
MAX_SENT_BYTES = 20_000  # HTML, style sheets and scripts, compressed
SECTION = "## Step {number}\n\n" + "Turn the valve slowly until the pressure has gone, and wait. " * 12
SENTENCE = "It still drips when the other pump is running, and the valve is warm. " * 6
FACTS = """() => ({
  language: document.documentElement.lang,
  title: document.title,
  viewport: document.querySelector("meta[name=viewport]").content,
  headings: document.querySelectorAll("h1").length,
  description: document.querySelector("meta[name=description]")?.content ?? "",
  sized: [...document.images].every(each => each.width && each.height),
  small: [...document.querySelectorAll("main *, footer *")].filter(each => [...each.childNodes].some(node =>
    node.nodeType === Node.TEXT_NODE && node.data.trim()) && each.checkVisibility() &&
    parseFloat(getComputedStyle(each).fontSize) < 12).map(each => each.outerHTML.slice(0, 80)),
  narrow: [...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, summary")].filter(each => {
    const box = each.getBoundingClientRect();
    return each.checkVisibility() && !each.closest(".trap") && Math.min(box.width, box.height) < 24 &&
      !each.labels?.length;
  }).map(each => each.outerHTML.slice(0, 80)),
  shift: globalThis.shifts,
  nodes: document.querySelectorAll("*").length,
})"""
WATCH = """globalThis.shifts = 0;
new PerformanceObserver(list => {
  for (const each of list.getEntries()) if (!each.hadRecentInput) globalThis.shifts += each.value;
}).observe({ type: "layout-shift", buffered: true });"""


@dataclass
class Trial:
    """A help center. pages: their paths by name. link: signs the customer in."""

    url: str
    pages: dict[str, str]
    smtp: SmtpServer


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """A help center with pages of a usual length."""
    with SmtpServer() as smtp:
        server = Server(tmp_path_factory.mktemp("weight") / "data")
        api = server.set_up()
        people(api)
        transport(api, smtp.port)
        links = "Imprint https://kite.example/imprint"
        values = {"languages": "en, de", "is_public": 1, "has_requests": 1, "footer_links": links}
        brand = api.create("brand", name="Kite Pumps", **values).ok()["id"]
        text = (
            "\n\n".join(SECTION.format(number=number) for number in range(12))
            + "\n\n| a | b |\n|---|---|\n"
            + "| 1 | 2 |\n" * 20
        )
        published = {"status": "published", "format": "markdown", "content": text}
        article = 0
        for number in range(25):
            fields = {"title": f"Repairing pump {number}", "summary": SENTENCE[:150]}
            article = api.create("kb_article", **fields, **published).ok()["id"]
        kinds = (("Kind", "D", {"options": [f"Kind {number}" for number in range(20)]}), ("Number", "S", {}))
        kinds += (("Wishes", "X", {"options": ["Call", "Visit", "Offer"]}), ("Day", "E", {}), ("Story", "T", {}))
        shown = [
            {
                "field_id": api.create(
                    "custom_field", name=name, context="ticket", type=kind, uri=f"weight_{name.lower()}", params=params
                ).ok()["id"]
            }
            for name, kind, params in kinds
        ]
        form = {
            "brand_id": brand,
            "group_id": api.ids["support"],
            "is_on": 1,
            "consent_text": SENTENCE,
            "intro": SENTENCE,
        }
        api.create("contact_form", name="Write to us", has_proof=1, form_fields=json.dumps(shown), **form).ok()
        ticket = api.record("ticket", api.parse(mail("ann@kite.example", text=SENTENCE)).ok()["id"]).ok()
        for _ in range(15):
            api.parse(mail("ann@kite.example", subject=f"Re: [#{ticket['mask']}] Leaking pump", text=SENTENCE)).ok()
            latest = api.record("ticket", ticket["id"]).ok()["latest_message_id"]
            api.reply(message_id=latest, content=SENTENCE, dont_send=0).ok()
        smtp.messages.clear()
        pages = {
            "article": f"/a/{article}-repairing-pump-24",
            "search": "/search?q=pump",
            "form": "/contact",
            "request": f"/requests/{ticket['mask']}",
        }
        yield Trial(f"{server.url}/help-center", pages, smtp)
        assert server.stop() == 0


@pytest.mark.parametrize("name", telling(("article", "search", "form", "request"), ("article",), "every kind of page"))
def test_a_page_is_light_calm_and_large_enough_on_a_phone(chromium, trial: Trial, name: str) -> None:
    with chromium.page(trial.url, PHONE, is_journey=True) as page:
        if name == "request":
            page.goto(f"{trial.url}/requests")
            page.get_by_label("Email address").fill("ann@kite.example")
            page.get_by_role("button", name="Send link").click()
            page.get_by_label("Code of six characters").wait_for()
            page.goto(link_in(trial.smtp, trial.url))
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("heading", name="Your requests").wait_for()
        page.add_init_script(WATCH)
        loaded: list[Any] = []
        page.on("response", lambda response: loaded.append(response))
        page.goto(trial.url + trial.pages[name], wait_until="networkidle")
        facts = page.evaluate(FACTS)
        bodies = {each.url: (each.request.resource_type, each.body()) for each in loaded}
        hosts = {urlsplit(url).netloc for url in bodies if not url.startswith("data:")}
    read = sum(len(body) for kind, body in bodies.values() if kind in ("document", "stylesheet"))
    sent = sum(len(gzip.compress(body)) for _kind, body in bodies.values())
    assert read <= MAX_BYTES, {url: len(body) for url, (_kind, body) in bodies.items()}
    assert sent <= MAX_SENT_BYTES, sent
    assert hosts == {urlsplit(trial.url).netloc}, "nothing loads from other servers"
    assert facts["language"] == "en" and facts["title"].endswith("Kite Pumps") and facts["headings"] == 1
    assert re.fullmatch(r"width=device-width, initial-scale=1", facts["viewport"]), "people can zoom"
    assert facts["description"] or name != "article"
    assert facts["sized"] and facts["small"] == [] and facts["narrow"] == [] and facts["shift"] < 0.1, facts
    assert facts["nodes"] < 800
