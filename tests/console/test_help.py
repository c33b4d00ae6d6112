"""Help in the console: every page that ships with the program, in its parts, with valid links, and a search over all
of them."""

import html
import re
from functools import cache
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from server import resources
from server.help.articles import CONTENTS, MAX_FOUND, Article, articles, found, read
from tests.console.browser import Browser
from tests.console.visitor import Visitor
from tests.service import Api, Server
from tests.telling import telling

pytestmark = pytest.mark.sqlite("the same with any store")

FOLDER = resources.path("help")
NAMES = sorted(path.relative_to(FOLDER).as_posix().removesuffix(".md") for path in FOLDER.rglob("*.md"))
OWN = "http://desk.example"  # links between pages begin with it
MAX_PAGE_BYTES = 110_000  # size of the HTML


@cache
def pages() -> dict[str, Article]:
    return {each.name: each for each in articles(OWN)}


def shown(article: Article) -> str:
    """Returns the text of a page as HTML."""
    return "".join(part.html for part in article.parts)


def source(name: str) -> str:
    """Returns the Markdown of a page without fenced blocks."""
    return re.sub(r"^```.*?^```$", "", (FOLDER / f"{name}.md").read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def test_every_file_is_a_page_and_each_has_a_line_in_the_contents() -> None:
    assert sorted(pages()) == NAMES
    assert all(5 < len(each.about) < 400 and each.title != each.name for each in pages().values())
    about = [each.about for each in pages().values()]
    assert [each for each in about if about.count(each) > 1] == []


@pytest.mark.parametrize("folder", telling(["", "api", "types"], ["api"], "every page of help"))
def test_every_page_shows_all_of_its_text(folder: str) -> None:
    for name, article in pages().items():
        if article.folder == folder:
            text, made = source(name), shown(article)
            headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
            assert [part.id for part in article.parts if part.id] and len(article.parts) == len(headings) + 1, name
            assert len({part.id for part in article.parts}) == len(article.parts), name
            outside = re.sub(r"<pre>.*?</pre>", "", made, flags=re.DOTALL)
            assert "&lt;!--" not in made and "\\|" not in made and "## " not in outside, name
            assert "<th></th>" not in made, name
            assert made.count("<table>") == len(re.findall(r"^\|[-| :]+\|$", text, re.MULTILINE)), name


def test_every_link_has_a_target() -> None:
    for name, article in pages().items():
        for link in re.findall(rf'href="{OWN}([^"]*)"', shown(article)):
            parts = urlsplit(link)
            target = pages().get(parts.path.removeprefix("/help/"))
            assert target is not None, f"{name}: {link}"
            assert not parts.fragment or parts.fragment in [part.id for part in target.parts], f"{name}: {link}"
        assert not re.search(r'href="(?!https?://|mailto:)', shown(article)), name


@pytest.mark.parametrize("name", ["automations", "api", "api/records", "types/ticket", "limits", "data-queries"])
def test_the_largest_pages_and_those_in_folders_are_shown(name: str, signed_in: Visitor) -> None:
    page, article = signed_in.get(f"/help/{name}"), pages()[name]
    assert page.status_code == 200 and len(page.content) < MAX_PAGE_BYTES
    assert len(re.findall('<section id="', page.text)) == len(re.findall(r'<li><a href="#', page.text))
    assert len(re.findall('<section id="', page.text)) == len(article.parts) - 1
    assert 'target="_blank"' not in page.text


def test_no_page_is_too_large() -> None:
    frame = 12_000  # bytes around the text
    assert [name for name, each in pages().items() if len(shown(each).encode()) > MAX_PAGE_BYTES - frame] == []


def test_the_contents_name_every_page_with_its_line(signed_in: Visitor) -> None:
    page = signed_in.get("/help")
    assert re.findall(r'<li><a href="/help/([a-z_/-]+)">', page.text) == list(pages())
    text = html.unescape(page.text)
    assert all(each.about in text for each in pages().values()) and len(page.content) < MAX_PAGE_BYTES


def test_pages_link_to_the_next_and_previous(signed_in: Visitor) -> None:
    names = list(pages())
    for place in (0, 1, names.index("types/ticket"), len(names) - 1):
        text = signed_in.get(f"/help/{names[place]}").text
        around = dict(re.findall(r'rel="(prev|next)" href="/help/([a-z_/-]+)"', text))
        following = names[place + 1] if place + 1 < len(names) else None
        assert around.get("prev") == (names[place - 1] if place else None) and around.get("next") == following


@pytest.mark.parametrize(("text", "parts"), [
    ("# A\n\nText.\n", [("", "")]),
    ("# A\n\n```sh\n## no heading\n```\n\n## B\n\nc\n", [("", ""), ("b", "B")]),
    ("No title.\n\n## `x`: what & why\n", [("", ""), ("x-what--why", "x: what & why")]),
    ("# A\n\n## <script>x</script>\n", [("", ""), ("scriptxscript", "<script>x</script>")]),
])  # fmt: skip
def test_pages_are_split_at_their_headings(text: str, parts: list[tuple[str, str]]) -> None:
    article = read("name", text)
    assert [(each.id, each.title) for each in article.parts] == parts
    assert all("<script" not in each.html for each in article.parts)


def test_a_search_finds_headings_first_and_then_text() -> None:
    some = (
        read("mail", "# Mail\n\nHow it goes.\n\n## Loops\n\nMail that goes round.\n\n## Queue\n\nLoops loops LOOPS.\n"),
        read("x/y", "# Y\n\nNothing.\n\n## Loops in folders\n\nNo.\n"),
    )
    assert [each.path for each in found(some, "loops")] == ["/help/mail#loops", "/help/x/y#loops-in-folders",
                                                            "/help/mail#queue"]  # fmt: skip
    assert [each.path for each in found(some, "ROUND goes")] == ["/help/mail#loops"]
    (hit,) = found(some, "round")
    assert (hit.before, hit.word, hit.after) == ("Mail that goes ", "round", ".")
    assert found(some, "") == found(some, "zeppelin") == found(some, "zeppelin propeller goes") == []
    assert [(each.path, each.missing) for each in found(some, "goes a round zeppelin")] == [
        ("/help/mail#loops", ("zeppelin",))
    ]


@pytest.mark.parametrize(("query", "path"), [
    ("backup", "/help/operating#backup"), ("reopen_at", "/help/api/tickets"), ("subject_prefix", "/help/settings"),
    ("pkce", "/help/oauth"), ("in-reply-to", "/help/mail"), ("record.upsert", "/help/automations"),
    ("how do I restore a backup", "/help/operating#restore"), ("token expired 401", "/help/oauth#renew-them"),
])  # fmt: skip
def test_common_searches_find_their_page(query: str, path: str) -> None:
    hits = found(tuple(pages().values()), query)
    assert any(each.path.startswith(path) for each in hits[:8]), [each.path for each in hits[:8]]
    assert len(hits) <= MAX_FOUND


def test_search_excerpts_are_literal() -> None:
    some = (read("mail", "# Mail\n\nSee [the other](x.md).\n\n```bash\ncurl -d 'fields[name]=Acme'\n```\n"),)
    (hit,) = found(some, "name")
    assert f"{hit.before}{hit.word}{hit.after}" == "See the other. curl -d 'fields[name]=Acme'"
    assert found(some, "how does the other?") == found(some, "other")  # words of a question do not count


def test_output_of_commands_is_distinct_from_input() -> None:
    made = read("x", "# X\n\nText.\n\n```bash run\nwc -l x\n```\n\n```text shows\n7\n```\n\nMore.\n").parts[0].html
    assert re.sub(r"\s*\n\s*", "", made) == (
        '<p>Text.</p><pre><code>wc -l x</code></pre><div class="shows"><pre><code>7</code></pre></div><p>More.</p>'
    )


def test_the_search_works_without_scripts(signed_in: Visitor) -> None:
    page = signed_in.get("/help?q=Restore+backup").text
    assert "<mark>" in page and 'value="Restore backup"' in page and re.search(r'href="/help/operating#[a-z-]+"', page)
    nothing = signed_in.get("/help", params={"q": "<script>alert(1)</script>"}).text
    assert "<script>alert" not in nothing and "No help page" in nothing


def test_an_unknown_page_is_not_found(signed_in: Visitor) -> None:
    response = signed_in.get("/help/automation")
    assert response.status_code == 404 and "did you mean 'automations'" in html.unescape(response.text)
    response = signed_in.get("/help/types/tickets")
    assert response.status_code == 404 and "did you mean 'types/ticket'" in html.unescape(response.text)
    for path in ("/help/..%2fpackages", "/help/../packages", "/help/automations.md", "/help/types/..", "/help/a/b/c"):
        assert signed_in.get(path).status_code == 404


def test_every_worker_may_read_it(visitor: Visitor, nora: Api) -> None:
    assert visitor.get("/help").status_code == 303
    visitor.sign_in("milo@desk.example")
    for path in ("/help", "/help/kata", "/help/types/org", "/help?q=mail"):
        assert visitor.get(path).status_code == 200


@pytest.mark.exhaustive("a page by keyboard alone")
def test_reading_by_keyboard(chromium: Browser, server: Server, signed_in: Visitor) -> None:
    assert ("Begin", ("start", "tour", "overview")) in CONTENTS
    with chromium.page(server.url, cookies=signed_in.cookies) as page:
        page.goto("/help")
        page.get_by_label("Search the help").fill("policies")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Automations › Policies").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Policies")).to_be_in_viewport()
        assert page.url.endswith("/help/automations#policies")
        page.get_by_role("navigation", name="On this page").get_by_role("link", name="Commands").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Commands", exact=True)).to_be_in_viewport()
        page.get_by_role("link", name="KATA →").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/help/kata")


def test_input_can_be_copied(chromium: Browser, server: Server, signed_in: Visitor) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    with chromium.page(server.url, cookies=signed_in.cookies, permissions=allowed) as page:
        page.goto("/help/operating")
        first = page.locator(".prose pre").filter(has_text="helpdesk backup copy.db")
        first.locator("..").get_by_role("button", name="Copy these lines").click()
        expect(page.get_by_text("Copied.")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == "helpdesk backup copy.db\nhelpdesk backup verify copy.db\n"
        assert page.locator(".shows pre").count() > 0 and page.locator(".shows button").count() == 0
