"""Help in the console: every page that ships with the program, by its parts, with links that lead somewhere."""

import html
import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from console.pages.help import articles, read
from server import resources
from tests.console.browser import Browser
from tests.console.visitor import Visitor
from tests.service import Api, Server

NAMES = sorted(path.stem for path in resources.path("help").glob("*.md"))


@pytest.mark.parametrize("name", NAMES)
def test_every_page_shows_all_of_its_text(name: str, signed_in: Visitor) -> None:
    page = signed_in.get(f"/help/{name}")
    text = resources.path("help", f"{name}.md").read_text("utf-8")
    fenceless = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^## (.+)$", fenceless, re.MULTILINE)
    assert page.status_code == 200 and len(re.findall('<section id="', page.text)) == len(headings)
    assert len(re.findall(r'<li><a href="#', page.text)) == len(headings)
    assert "&lt;!--" not in page.text and "## " not in re.sub(r"<pre>.*?</pre>", "", page.text, flags=re.DOTALL)
    assert page.text.count("<table>") == len(re.findall(r"^\|[-| :]+\|$", fenceless, re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str, signed_in: Visitor) -> None:
    for link in re.findall(rf'href="{re.escape(signed_in.url)}([^"]*)"', signed_in.get(f"/help/{name}").text):
        parts = urlsplit(link)
        answer = signed_in.get(parts.path)
        assert answer.status_code == 200, link
        assert not parts.fragment or f'id="{parts.fragment}"' in answer.text, link


def test_links_between_pages_stay_in_their_tab(signed_in: Visitor) -> None:
    page = signed_in.get("/help/automations").text
    assert f'href="{signed_in.url}/help/kata"' in page and 'target="_blank"' not in page


def test_the_contents_name_every_page(signed_in: Visitor) -> None:
    page = signed_in.get("/help").text
    assert re.findall(r'<li><a href="/help/([a-z-]+)">', page) == [each.name for each in articles(signed_in.url)]
    assert sorted(re.findall(r'<li><a href="/help/([a-z-]+)">', page)) == NAMES


@pytest.mark.parametrize(("text", "parts"), [
    ("# A\n\nText.\n", [("", "")]),
    ("# A\n\n```sh\n## no heading\n```\n\n## B\n\nc\n", [("", ""), ("b", "B")]),
    ("No title.\n\n## `x`: what & why\n", [("", ""), ("x-what--why", "x: what & why")]),
    ("# A\n\n## <script>x</script>\n", [("", ""), ("scriptxscript", "<script>x</script>")]),
])  # fmt: skip
def test_pages_are_cut_at_their_headings(text: str, parts: list[tuple[str, str]]) -> None:
    article = read("name", text)
    assert [(each.id, each.title) for each in article.parts] == parts
    assert all("<script" not in each.html for each in article.parts)


def test_there_is_no_page_of_another_name(signed_in: Visitor) -> None:
    answer = signed_in.get("/help/automation")
    assert answer.status_code == 404 and "did you mean 'automations'" in html.unescape(answer.text)
    for path in ("/help/..%2fpackages", "/help/../packages", "/help/automations.md"):
        assert signed_in.get(path).status_code == 404


def test_every_worker_may_read_it(visitor: Visitor, nora: Api) -> None:
    assert visitor.get("/help").status_code == 303
    visitor.sign_in("milo@desk.example")
    assert visitor.get("/help").status_code == visitor.get("/help/kata").status_code == 200


def test_reading_by_keyboard(chromium: Browser, server: Server, signed_in: Visitor) -> None:
    with chromium.page(server.url, cookies=signed_in.cookies) as page:
        page.goto("/help")
        page.get_by_role("link", name="Automations").last.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/help/automations")
        page.get_by_role("navigation", name="On this page").get_by_role("link", name="Policies").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Policies")).to_be_in_viewport()
        assert page.url.endswith("#policies")
