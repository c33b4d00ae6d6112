"""The pages of help articles: the list by category, the editor, versions, order, deletion and undo."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import violations
from tests.console.test_tickets import undo
from tests.console.visitor import Visitor, place, text_of
from tests.service import Api

PAGE, CATEGORIES = "/articles", "/articles/categories"
ARTICLE = "contexts.svc.contexts.kb_article"


@pytest.fixture
def word(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return f"a{abs(hash(request.node.name)) % 10**9}"


@pytest.fixture(autouse=True)
def cleared(nora: Api) -> Iterator[None]:
    """Leaves no articles to other tests, which find theirs in short lists."""
    yield
    for uri in ("kb_article", "kb_category"):
        for id in nora.found(uri, "parent.id:null" if uri == "kb_category" else ""):
            nora.remove(uri, id).ok()


@pytest.fixture
def writer(nora: Api) -> Iterator[None]:
    """Workers may write articles, and not publish them."""
    [everyone] = nora.found("role", "name:Everyone")
    privileges = [f"{ARTICLE}.{each}" for each in ("create", "update", "delete")]
    nora.update("role", everyone, privs_mode="itemized", privs=privileges).ok()
    yield
    nora.update("role", everyone, privs_mode="all", privs=[]).ok()


def article(nora: Api, title: str, **more: Any) -> dict[str, Any]:
    [found] = nora.search("kb_article", f'title:"{title}"', **more).ok()["results"]
    return dict(found)


def written(visitor: Visitor, title: str, button: str = "draft", **more: Any) -> Any:
    form = {"title": title, "content": "Press *start*.", "format": "2", "do": button}
    return visitor.send(f"{PAGE}/new", form | more)


def test_an_article_is_written_published_and_unpublished(signed_in: Visitor, nora: Api, word: str) -> None:
    money = nora.create("kb_category", name=f"Money {word}").ok()["id"]
    answer = written(signed_in, word, **{"categories[]": [str(money)], "summary": "About it"})
    assert answer.status_code == 303, text_of(answer.text)
    made = article(nora, word, expand="source,categories")
    assert (made["status"], made["source"], made["format"]) == ("draft", "Press *start*.", 2)
    assert list(made["categories"]) == [str(money)]
    page = f"{PAGE}/{made['id']}"
    assert place(answer) == page and f'href="{page}">{word}</a>' in signed_in.get(PAGE).text
    assert word in signed_in.get("/jump", params={"q": word}).text
    for button, status in (("publish", "published"), ("unpublish", "internal"), ("draft", "draft")):
        assert signed_in.send(page, {"title": word, "do": button}).status_code == 303
        assert article(nora, word)["status"] == status
    assert list(article(nora, word, expand="categories")["categories"]) == [], "none was ticked"
    wrong = written(signed_in, "", content="Kept text")
    assert wrong.status_code == 422 and "Kept text" in wrong.text and 'id="title-error"' in wrong.text


def test_without_the_right_nothing_published_is_offered_or_changed(
    signed_in: Visitor, visitor: Visitor, nora: Api, writer: None, word: str
) -> None:
    public = nora.create("kb_article", title="Before", status="published").ok()["id"]
    nora.update("kb_article", public, title=word).ok()
    visitor.sign_in("olga@desk.example")
    page = visitor.get(f"{PAGE}/new").text
    assert 'value="draft"' in page and 'value="publish"' not in page
    refused = written(visitor, f"{word} b", "publish")
    assert refused.status_code == 403 or "publish" in text_of(refused.text)
    assert not nora.found("kb_article", f'title:"{word} b"')
    assert place(visitor.get(f"{PAGE}/{public}")) == f"/records/kb_article/{public}"
    assert visitor.send(f"{PAGE}/{public}", {"title": "x"}, page=PAGE).status_code in (403, 422)
    for act in ("delete", "history/restore"):
        assert visitor.send(f"{PAGE}/{public}/{act}", {"version": "1"}, page=PAGE).status_code in (403, 422), act
    assert article(nora, word)["id"] == public
    written(visitor, f"{word} c")
    assert visitor.send(f"{PAGE}/{article(nora, f'{word} c')['id']}/delete", page=PAGE).status_code == 303


def test_two_editors_who_change_one_text_are_told(signed_in: Visitor, visitor: Visitor, nora: Api, word: str) -> None:
    id = nora.create("kb_article", title=word, content="First").ok()["id"]
    shown = re.findall(r'name="_shown\[\]" value="([^"]+)"', signed_in.get(f"{PAGE}/{id}").text)
    nora.update("kb_article", id, content="Second").ok()
    sent = {"title": word, "content": "Third", "do": "save", "_shown[]": shown}
    clash = signed_in.send(f"{PAGE}/{id}", sent)
    assert clash.status_code == 409 and "Somebody changed this to “Second”" in text_of(clash.text)
    assert "Third" in clash.text
    untouched = signed_in.send(f"{PAGE}/{id}", sent | {"content": "First", "summary": "Other"})
    assert untouched.status_code == 303
    assert article(nora, word, expand="source")["source"] == "Second"


def test_versions_are_compared_and_restored(signed_in: Visitor, nora: Api, word: str) -> None:
    id = nora.create("kb_article", title=word, content="First").ok()["id"]
    nora.update("kb_article", id, content="<script>Second").ok()
    history = f"{PAGE}/{id}/history"
    page = signed_in.get(history, params={"version": "2"}).text
    assert "&lt;script&gt;Second" in page and "<script>Second" not in page and "First" in page
    assert place(signed_in.send(f"{history}/restore", {"version": "1"}, page=history)) == history
    assert article(nora, word, expand="source")["source"] == "First"
    undo(signed_in, history)
    assert article(nora, word, expand="source")["source"] == "<script>Second"
    assert signed_in.send(f"{history}/restore", {"version": "77"}, page=history).status_code in (404, 422)


def test_articles_and_categories_are_put_in_order(signed_in: Visitor, nora: Api, word: str) -> None:
    one, two = (nora.create("kb_category", name=f"{word} {name}").ok()["id"] for name in ("one", "two"))
    ids = [nora.create("kb_article", title=f"{word} {at}", categories=str(one)).ok()["id"] for at in range(3)]
    q = f"category.id:{one} sort:position"
    signed_in.send(f"{PAGE}/in/{one}/{ids[2]}/move", {"by": "-2"}, page=PAGE)
    assert nora.found("kb_article", q) == [ids[2], ids[0], ids[1]]
    undo(signed_in, PAGE)
    assert nora.found("kb_article", q) == ids
    assert signed_in.send(f"{PAGE}/in/{two}/{ids[0]}/move", {"to": "up"}, page=PAGE).status_code == 303
    assert signed_in.send(f"{PAGE}/in/x/{ids[0]}/move", {"to": "up"}, page=PAGE).status_code == 404
    signed_in.send(f"{CATEGORIES}/{two}/move", {"to": "up"}, page=CATEGORIES)
    assert nora.found("kb_category", f"id:[{one},{two}] sort:position") == [two, one]


def test_the_list_is_filtered_by_words_status_language_and_missing_translation(
    signed_in: Visitor, nora: Api, word: str
) -> None:
    first = nora.create("kb_article", title=f"{word} Refunds", status="draft").ok()["id"]
    german = {"language": "de", "translation_of_id": first}
    nora.create("kb_article", title=f"{word} Erstattung", status="published", **german).ok()
    nora.create("kb_article", title=f"{word} Hours").ok()

    def titles(**params: str) -> list[str]:
        page = signed_in.get(PAGE, params={"q": word} | params).text
        return re.findall(rf'href="/articles/\d+">{word} (\w+)</a>', page)

    assert titles() == ["Refunds", "Hours"]
    assert titles(status="draft") == ["Refunds"] and titles(status="published") == ["Erstattung"]
    assert titles(language="de") == ["Erstattung"] and titles(missing="de") == ["Hours"]
    assert titles(status="nothing OR id:>0") == ["Refunds", "Hours"]
    bad = signed_in.get(PAGE, params={"q": "nosuch:1"})
    assert bad.status_code == 422 and 'id="q-error"' in bad.text
    form = signed_in.get(f"{PAGE}/new", params={"translation_of": str(first), "language": "fr"}).text
    assert f'name="translation_of_id" value="{first}"' in form and f'value="{word} Refunds"' in form


def test_a_deleted_article_is_restored(signed_in: Visitor, visitor: Visitor, nora: Api, word: str) -> None:
    id = nora.create("kb_article", title=word, content="First", status="published").ok()["id"]
    assert place(signed_in.send(f"{PAGE}/{id}/delete", page=f"{PAGE}/{id}")) == PAGE
    assert not nora.found("kb_article", f'title:"{word}"')
    visitor.sign_in("milo@desk.example")
    assert visitor.send(f"{PAGE}/{id}/restore", page=PAGE).status_code == 404
    undo(signed_in, PAGE)
    assert article(nora, word)["id"] == id


def test_filters_apply_to_all_alternatives_of_a_search(signed_in: Visitor, nora: Api, word: str) -> None:
    for title, fields in (("Red", {}), ("Blue", {"status": "published"}), ("Rot", {"language": "de"})):
        nora.create("kb_article", title=f"{title} {word}", **{"status": "draft"} | fields).ok()

    def titles(**query: str) -> set[str]:
        return set(re.findall(rf">(\w+) {word}</a>", signed_in.get(PAGE, params=query).text))

    alternatives = "title:Red OR title:Blue OR title:Rot"
    assert titles(q=alternatives) == {"Red", "Blue", "Rot"}
    assert titles(q=alternatives, status="draft") == {"Red", "Rot"}
    assert titles(q=alternatives, status="draft", language="de") == {"Rot"}
    assert titles(q=word, status="published") == titles(status="published") == {"Blue"}
    assert titles(q="title:Red) OR (title:Blue", status="draft") == set(), "brackets of the search alone"


def test_the_preview_shows_safe_html(signed_in: Visitor, nora: Api) -> None:
    sent = {"content": "**Hi** <script>x</script>\n\n[a](javascript:x)", "format": "2"}
    shown = signed_in.send("/-/article-preview", sent, page=f"{PAGE}/new")
    assert "<strong>Hi</strong>" in shown.text and "<script>x" not in shown.text and "javascript:" not in shown.text


def test_a_category_is_created_changed_and_deleted(signed_in: Visitor, nora: Api, word: str) -> None:
    assert signed_in.send(f"{CATEGORIES}/new", {"name": word, "language": "xx"}).status_code == 422
    assert place(signed_in.send(f"{CATEGORIES}/new", {"name": word})) == CATEGORIES
    [id] = nora.found("kb_category", f"name:{word}")
    signed_in.send(f"{CATEGORIES}/{id}", {"name": f"{word} b", "description": "Shelf"})
    assert nora.record("kb_category", id).ok()["description"] == "Shelf"
    assert f"{word} b" in signed_in.get(CATEGORIES).text
    deleted = signed_in.send(f"{CATEGORIES}/{id}/delete", {"_sure": "1"}, page=f"{CATEGORIES}/{id}")
    assert deleted.status_code == 303 and not nora.found("kb_category", f"id:{id}")


@pytest.mark.exhaustive("pictures are tested in test_pasting.py")
def test_a_picture_is_dropped_into_the_text_and_belongs_to_the_article(page: Page, nora: Api, word: str) -> None:
    page.goto(f"{PAGE}/new")
    page.get_by_label("Title", exact=True).fill(word)
    text = page.locator("textarea[name=content]")
    text.click()
    page.keyboard.press("Control+b")
    page.keyboard.type("Press")
    page.keyboard.press("End")
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array([137, 80, 78, 71])], "knob.png", { type: "image/png" }));
          document.querySelector(".write").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true,
            cancelable: true }));
        }"""
    )
    expect(text).to_have_value(re.compile(r"\*\*Press\*\*.*!\[knob\]\(http.*/files/\d+\)", re.DOTALL))
    page.get_by_role("button", name="Show preview").click()
    expect(page.frame_locator("iframe[name=article-preview]").locator("strong")).to_have_text("Press")
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text(f"{word} is published.")
    found = article(nora, word, expand="attachments")
    assert [each["name"] for each in found["attachments"]] == ["knob.png"]


@pytest.fixture
def brand(nora: Api) -> Iterator[str]:
    """The host name of a help center that is switched on."""
    id = nora.create("brand", name="Kite", host="help.kite.example", is_public=1, languages="en, de").ok()["id"]
    yield "help.kite.example"
    nora.remove("brand", id).ok()


def test_a_link_is_inserted_only_of_what_visitors_can_read(
    signed_in: Visitor, nora: Api, brand: str, word: str
) -> None:
    def create(title: str, **more: Any) -> int:
        return int(nora.create("kb_article", title=f"{word} {title}", content="So.", **more).ok()["id"])

    public, german = create("[Refunds]", status="published"), create("Geld", status="published", language="de")
    internal, french = create("Internal"), create("Argent", status="published", language="fr")
    create("Draft", status="draft")
    found = signed_in.get("/-/articles", params={"q": word}).json()["results"]
    assert {each["id"]: each["is_public"] for each in found} == {
        public: True,
        german: True,
        internal: False,
        french: False,
    }
    link = signed_in.get(f"/-/articles/{public}", params={"link": "1"}).json()["text"]
    assert re.fullmatch(rf"\[{word} \\\[Refunds\\\]\]\(http://{brand}:\d+/a/{public}-{word}-refunds\)", link)
    assert f"{brand}:" in (text := signed_in.get(f"/-/articles/{german}", params={"link": "1"}).json()["text"])
    assert f"/de/a/{german}-" in text
    for id in (internal, french):
        assert signed_in.get(f"/-/articles/{id}", params={"link": "1"}).status_code == 409


@pytest.mark.exhaustive("the menu is tested in test_hand.py")
def test_a_link_is_inserted_into_a_reply(page: Page, nora: Api, brand: str, word: str) -> None:
    id = nora.create("kb_article", title=word, status="published").ok()["id"]
    page.goto("/compose")
    expect(page.locator("[data-tools]:not([inert])")).to_be_visible()
    page.locator("[data-pick=articles] summary").click()
    page.get_by_role("searchbox", name="Search articles").fill(word)
    page.get_by_role("button", name=f"Insert a link to {word}").click()
    expect(page.locator("#content")).to_have_value(re.compile(rf"\[{word}\]\(http://{brand}:\d+/a/{id}-{word}\)"))


def test_a_search_without_results_becomes_an_article(
    signed_in: Visitor, visitor: Visitor, nora: Api, brand: str
) -> None:
    nora.create("kb_article", title="Refunds", status="published").ok()
    missed, path = "Lost Zorblax", "/reports/help-center/missed"
    for _ in range(2):
        assert visitor.get("/search", params={"q": missed}, headers={"Host": brand}).status_code == 200
    page = signed_in.get(path).text
    assert f"<bdi>{missed.lower()}</bdi>" in page
    link = re.search(r'href="(/articles/new\?title=lost[^"]+zorblax[^"]*)"', page)
    assert link and 'value="lost zorblax"' in signed_in.get(link[1].replace("&amp;", "&")).text
    rows = signed_in.get(path, params={"format": "csv"}).text.splitlines()
    assert rows[0].lstrip("\ufeff") == "day,brand,language,words,count" and ",Kite,en,lost zorblax,2" in "\n".join(rows)
    assert signed_in.get(path, params={"format": "xml"}).status_code == 404
    visitor.sign_in("olga@desk.example")
    assert visitor.get(path).status_code == 403


def test_the_page_and_the_list_show_what_visitors_said(
    signed_in: Visitor, visitor: Visitor, nora: Api, brand: str, word: str
) -> None:
    id = nora.create("kb_article", title=word, status="published").ok()["id"]
    for browser, vote in (("One", {"helpful": "yes"}), ("Two", {"helpful": "no", "comment": "<b>Which lever?"})):
        sent = visitor.post(f"/a/{id}-{word}/vote", vote, headers={"Host": brand, "User-Agent": browser})
        assert sent.status_code == 303, sent.text
    page = signed_in.get(f"/records/kb_article/{id}").text
    assert "Helpful: 1 of 2" in text_of(page) and "&lt;b&gt;Which lever?" in page
    assert "1 of 2" in text_of(signed_in.get(PAGE).text)
    shown = nora.record("kb_article", id, "helpful,unhelpful").ok()
    assert (shown["helpful"], shown["unhelpful"]) == (1, 1)


@pytest.mark.exhaustive("every page of articles on a phone")
def test_the_pages_work_for_everybody_on_a_phone(page: Page, nora: Api, brand: str, word: str) -> None:
    place = nora.create("kb_category", name=f"Money {word}").ok()["id"]
    fields = {"title": word, "content": "# One\n\nText", "format": "m", "status": "published", "categories": str(place)}
    id = nora.create("kb_article", **fields).ok()["id"]
    nora.create("kb_article", title=f"{word} b", categories=str(place)).ok()
    nora.update("kb_article", id, content="# Two").ok()
    page.set_viewport_size({"width": 390, "height": 844})
    editor = (f"{PAGE}/new", f"{PAGE}/{id}", f"{PAGE}/{id}/history?version=2")
    for path in (PAGE, *editor, CATEGORIES, f"{CATEGORIES}/{place}", "/reports/help-center/missed"):
        page.goto(path)
        assert violations(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
