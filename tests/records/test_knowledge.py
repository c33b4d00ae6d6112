"""The knowledge base: formats and their HTML, the tree of categories and the articles in it."""

import pytest

from server.errors import Conflict, Invalid, TooLarge
from server.record_types.kb.article_addresses import find_by_slug
from server.records import records
from tests.records.desk import Desk


def category(desk: Desk, name: str, parent: int = 0) -> int:
    return int(desk.create("kb_category", name=name, parent_id=parent)["id"])


@pytest.mark.parametrize(
    ("format", "number", "content", "html"),
    [
        ("text", 0, "a < b\nsee https://x.example/", "a &lt; b<br>\nsee <a href="),
        ("plain", 0, "<b>a</b>", "&lt;b&gt;a&lt;/b&gt;"),
        ("P", 0, "*a*", "*a*"),
        ("html", 1, '<p onclick="x()">Hi<script>x()</script> <b>you</b></p>', "<p>Hi <b>you</b></p>"),
        ("h", 1, '<a href="javascript:x()">a</a>', '<a target="_blank" rel="noopener noreferrer nofollow">a</a>'),
        ("html", 1, '<img src="https://x.example/a.png">', '<img src="https://x.example/a.png">'),
        ("Markdown", 2, "# A\n\n*b* <script>", "<h1>A</h1>\n<p><em>b</em> &lt;script&gt;</p>\n"),
        ("2", 2, "[a](javascript:x)", "<p>"),
        ("", None, "*a*", "*a*"),
    ],
)
def test_the_text_is_returned_as_safe_html(desk, format, number, content, html):
    sent = {"format": format} if format else {}
    shown = desk.create("kb_article", title="Valve", content=content, **sent)
    assert (shown["format"], shown["content"].startswith(html)) == (number or 0, True), shown["content"]
    assert "javascript:" not in shown["content"] and "<script" not in shown["content"]
    assert desk.row("kb_article", shown["id"])["content"] == content


def test_html_follows_format_and_text(desk):
    id = desk.create("kb_article", title="Valve", content="*a*")["id"]
    assert desk.update("kb_article", id, format="markdown")["content"] == "<p><em>a</em></p>\n"
    assert desk.update("kb_article", id, content="**b**")["content"] == "<p><strong>b</strong></p>\n"
    assert desk.update("kb_article", id, content="<i>c</i>", format="html")["content"] == "<i>c</i>"
    assert desk.update("kb_article", id, title="Pump")["content"] == "<i>c</i>"
    assert desk.create("kb_article", title="Empty")["content"] == ""


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"title": ""}, Invalid, "title"),
        ({"format": "rtf"}, Invalid, "format"),
        ({"format": "3"}, Invalid, "format"),
        ({"format": ["text"]}, Invalid, "format"),
        ({"content": ["a"]}, Invalid, "content"),
        ({"categories": "one"}, Invalid, "categories"),
        ({"categories": "1-1"}, Invalid, "categories"),
        ({"categories": "1," * 128}, Invalid, "categories"),
        ({"views": -1}, Invalid, "views"),
        ({"format": "m", "content": "x" * (512 * 1024 + 1)}, TooLarge, "content"),
        ({"format": "h", "content": "x" * (1024 * 1024 + 1)}, TooLarge, "content"),
    ],
)
def test_invalid_articles_are_refused_by_name(desk, fields, error, field):
    with pytest.raises(error, match=field):
        desk.create("kb_article", **{"title": "Valve"} | fields)


def test_a_format_for_which_the_text_is_too_long_is_refused_later_too(desk):
    id = desk.create("kb_article", title="Long", content="x" * (1024 * 1024 + 1))["id"]
    with pytest.raises(TooLarge, match="content"):
        desk.update("kb_article", id, format="html")


def test_indexed_words_are_those_of_the_visible_text(desk):
    id = desk.create("kb_article", title="Pump", content='<p class="valve">Open <b>the</b> lid</p>', format="h")["id"]
    assert desk.found("kb_article", "lid") == desk.found("kb_article", "pump open") == [id]
    assert desk.found("kb_article", "valve") == desk.found("kb_article", "content:pump") == []
    desk.update("kb_article", id, content="Closed")
    assert desk.found("kb_article", "lid") == []


# -- categories -------------------------------------------------------------------------------------------------------


def test_an_article_is_in_the_categories_sent(desk):
    top, other = category(desk, "Devices"), category(desk, "Parts")
    pump = category(desk, "Pumps", top)
    id = desk.create("kb_article", title="Valve", categories=f" {pump}, 99,{other},{pump}")["id"]
    trails = {str(other): {str(other): "Parts"}, str(pump): {str(top): "Devices", str(pump): "Pumps"}}
    shown = desk.record("kb_article", id, expand="categories")["categories"]
    assert shown == trails
    assert list(shown[str(pump)].values()) == ["Devices", "Pumps"]
    desk.update("kb_article", id, title="Valves")
    assert desk.record("kb_article", id, expand="categories")["categories"] == trails
    desk.update("kb_article", id, categories=[other])
    assert desk.found("kb_article", f"category.id:{pump}") == []
    assert desk.found("kb_article", f"category.id:[{other},{top}]") == [id]
    desk.update("kb_article", id, categories="")
    assert desk.found("kb_article", "category.id:null") == [id]


def test_articles_are_sorted_and_counted_by_category(desk):
    first, second = category(desk, "First"), category(desk, "Second")
    in_both = desk.create("kb_article", title="Both", categories=f"{second},{first}")["id"]
    in_none = desk.create("kb_article", title="None")["id"]
    in_second = desk.create("kb_article", title="Second", categories=str(second))["id"]
    assert desk.found("kb_article", "sort:category.id") == [in_none, in_both, in_second]
    assert desk.found("kb_category", f"article.id:{in_second}") == [second]
    asked = records.SearchRequest("", subtotals=("category.id",))
    assert records.search(desk.context(), "kb_article", asked)["subtotals"] == {"category.id": [
        {"label": "Second", "hits": 2, "key": second}, {"label": "(none)", "hits": 1, "key": 0},
        {"label": "First", "hits": 1, "key": first},
    ]}  # fmt: skip
    desk.update("kb_article", in_both, categories=str(second))
    desk.update("kb_article", in_second, categories=f"{first},{second}")
    assert desk.found("kb_category", "sort:-article.id") == [first, second]


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_category_cannot_be_below_itself(desk, steps):
    chain = [category(desk, "Top")]
    for name in ("Middle", "Low"):
        chain.append(category(desk, name, chain[-1]))
    with pytest.raises(Invalid, match="parent_id"):
        desk.update("kb_category", chain[0], parent_id=chain[steps])
    desk.update("kb_category", chain[2], parent_id=0)
    desk.update("kb_category", chain[0], parent_id=chain[2])


@pytest.mark.parametrize(("fields", "field"), [({"name": "x" * 65}, "name"), ({"parent_id": 9}, "parent_id")])
def test_invalid_categories_are_refused_by_name(desk, fields, field):
    with pytest.raises(Invalid, match=field):
        desk.create("kb_category", **{"name": "Pumps"} | fields)


def test_deleting_a_category_deletes_those_below_it_and_articles_stay(desk):
    top, other = category(desk, "Top"), category(desk, "Other")
    low = category(desk, "Low", category(desk, "Middle", top))
    deep = low
    for place in range(40):
        deep = category(desk, f"Nr {place}", deep)
    article = desk.create("kb_article", title="Valve", categories=f"{low},{deep},{other}")["id"]
    desk.create("comment", comment="Old", target__context="kb_category", target_id=low)
    desk.delete("kb_category", top)
    assert desk.found("kb_category", "") == [other]
    assert desk.found("comment", "") == []
    shown = desk.record("kb_article", article, expand="categories")
    assert shown["categories"] == {str(other): {str(other): "Other"}}
    desk.delete("kb_article", article)
    assert desk.found("kb_category", "article.id:>0") == []


# -- addresses and languages ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Größe & Gewicht: 3 Fragen", "grosse-gewicht-3-fragen"),
        ("  Crème_brûlée -- 100 % ", "creme-brulee-100"),
        ("返品について", "返品について"),
        ("Ёлка и йод", "елка-и-иод"),
        ("\u202e../../<b>", "b"),
        ("?!", "article"),
        ("word " * 30, "-".join(["word"] * 16)),
        ("x" * 120, "x" * 80),
    ],
)
def test_the_slug_of_an_article_is_made_from_its_title(desk, title, slug):
    assert desk.create("kb_article", title=title)["slug"] == slug


def test_a_slug_stays_when_the_title_changes_and_a_former_one_still_leads_there(desk):
    def found(slug: str, language: str = "", uri: str = "kb_article") -> int:
        return desk.read(lambda tx: find_by_slug(tx, uri, slug, language))

    id = desk.create("kb_article", title="Refunds")["id"]
    assert desk.update("kb_article", id, title="Money back")["slug"] == "refunds"
    assert desk.update("kb_article", id, slug="Money BACK!")["slug"] == "money-back"
    other = desk.create("kb_article", title="Refunds")
    assert (other["slug"], found("refunds"), found("money-back"), found("refunds-2")) == (
        "refunds-2",
        id,
        id,
        other["id"],
    )
    assert desk.update("kb_article", id, slug="refunds")["slug"] == "refunds"
    assert (found("refunds"), found("money-back"), found("nothing")) == (id, id, 0)
    assert desk.update("kb_article", other["id"], slug="", title="Refunds")["slug"] == "refunds-2"
    german = desk.update("kb_article", other["id"], language="de_AT", slug="refunds")
    assert (german["language"], german["slug"]) == ("de-AT", "refunds")
    assert found("refunds", "de-AT") == found("refunds-2") == other["id"]
    assert category(desk, "Refunds") == found("refunds", uri="kb_category")
    desk.delete("kb_article", id)
    assert (found("refunds"), found("money-back")) == (0, 0)


def test_many_articles_with_one_title_have_different_slugs(desk):
    slugs = [desk.create("kb_article", title="Same")["slug"] for _ in range(12)]
    assert len(set(slugs)) == 12 and slugs[:3] == ["same", "same-2", "same-3"]


def test_an_article_is_internal_unless_it_says_otherwise(desk):
    plain = desk.create("kb_article", title="Plain")
    public = desk.create("kb_article", title="Public", status="P")
    draft = desk.create("kb_article", title="Draft", status="draft", summary="About the lever.")
    assert [each["status"] for each in (plain, public, draft)] == ["internal", "published", "draft"]
    assert [bool(each["published_at"]) for each in (plain, public, draft)] == [False, True, False]
    assert desk.found("kb_article", "status:p") == [public["id"]]
    assert desk.found("kb_article", "status:[draft,internal] sort:-position") == [draft["id"], plain["id"]]
    assert desk.found("kb_article", "lever") == [draft["id"]]
    assert desk.update("kb_article", public["id"], status="internal")["published_at"] == public["published_at"]
    with pytest.raises(Invalid, match="status"):
        desk.update("kb_article", public["id"], status="open")


@pytest.mark.parametrize(("uri", "label"), [("kb_article", "title"), ("kb_category", "name")])
def test_a_translation_names_the_original_and_has_another_language(desk, uri, label):
    first = desk.create(uri, **{label: "Valve"})["id"]
    german = desk.create(uri, **{label: "Ventil"}, language="de", translation_of_id=first)["id"]
    french = desk.create(uri, **{label: "Valve"}, language="fr", translation_of_id=german)
    assert french["translation_of_id"] == first
    for fields in ({"language": "de"}, {"language": ""}):
        with pytest.raises(Conflict, match="language"):
            desk.create(uri, **{label: "Again"}, translation_of_id=first, **fields)
        with pytest.raises(Conflict, match="language"):
            desk.update(uri, french["id"], **fields)
    with pytest.raises(Conflict, match="language"):
        desk.update(uri, first, language="fr")
    other = desk.create(uri, **{label: "Pump"}, language="it")["id"]
    for target in (first, german, other):
        with pytest.raises(Invalid, match="translation_of_id"):
            desk.update(uri, first, translation_of_id=target)
    with pytest.raises(Invalid, match="language"):
        desk.create(uri, **{label: "No"}, language="xx")
    assert desk.found(uri, "language:de") == [german]
    assert desk.found(uri, f"translationOf.id:{first}") == [german, french["id"]]
    desk.delete(uri, first)
    assert desk.found(uri, f"translationOf.id:{german}") == [french["id"]]


def test_the_source_of_an_article_is_returned_on_request(desk):
    id = desk.create("kb_article", title="Valve", content="*a*", format="m")["id"]
    assert desk.record("kb_article", id, expand="source")["source"] == "*a*"
    assert "source" not in desk.record("kb_article", id)
