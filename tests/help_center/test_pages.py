"""Pages of the help center: what visitors see, in which language, at which address, and how it is cached."""

import re
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from markupsafe import escape

from tests.help_center.conftest import KITE, LARCH, Visitors

ATOM = "{http://www.w3.org/2005/Atom}"
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
LONG = """# Unpacking

Cut the *tape*.

## What is in the box

A pump.

## What is in the box

A hose. See <https://kite.example/parts>.
"""


@pytest.fixture(scope="module", autouse=True)
def shelves(visitors: Visitors) -> None:
    """Categories with articles in several languages."""
    api, ids = visitors.api, visitors.ids
    ids["pumps"] = api.create("kb_category", name="Pumps", description="Water moves.").ok()["id"]
    ids["hand pumps"] = api.create("kb_category", name="Hand pumps", parent_id=ids["pumps"]).ok()["id"]
    ids["empty"] = api.create("kb_category", name="Nothing published").ok()["id"]
    ids["pumpen"] = api.create("kb_category", name="Pumpen", language="de", translation_of_id=ids["pumps"]).ok()["id"]
    visitors.article("First pump", categories=str(ids["pumps"]), content=LONG, summary="Before you begin.")
    visitors.article("Second pump", categories=str(ids["hand pumps"]))
    visitors.article("Größe & Gewicht", categories=str(ids["pumps"]), content="Die Größe 返品について der Pumpe.")
    visitors.article("Erste Pumpe", language="de", translation_of_id=ids["First pump"], content="Klebeband schneiden.")
    visitors.article("Loose article")


def links(html: str) -> set[str]:
    return set(re.findall(r'href="([^"]*)"', html))


def test_the_home_page_has_categories_with_the_numbers_of_their_articles(visitors):
    page = visitors.get("/")
    assert page.status_code == 200 and "Set-Cookie" not in page.headers
    assert f"/c/{visitors.ids['pumps']}-pumps" in links(page.text) and "3 help articles" in page.text
    assert "Hand pumps" not in page.text and "Nothing published" not in page.text
    assert "Loose article" in page.text and "Kite Pumps" in page.text
    assert "https://kite.example/imprint" in links(page.text)


def test_a_category_has_its_articles_in_order_and_the_categories_below(visitors):
    visitors.api.update("kb_article", visitors.ids["First pump"], position=99).ok()
    page = visitors.get(f"/c/{visitors.ids['pumps']}-pumps")
    assert page.status_code == 200 and "Hand pumps" in page.text and "1 help article" in page.text
    assert page.text.index("Größe &amp; Gewicht") < page.text.index("First pump")
    below = visitors.get(f"/c/{visitors.ids['hand pumps']}-hand-pumps")
    assert f"/c/{visitors.ids['pumps']}-pumps" in links(below.text), "the way back"


def test_an_article_has_sections_related_articles_and_a_question(visitors):
    page = visitors.page("First pump")
    assert page.status_code == 200 and '<h2 id="s-unpacking">Unpacking</h2>' in page.text
    assert {"#s-what-is-in-the-box", "#s-what-is-in-the-box-2"} <= links(page.text)
    assert "Größe &amp; Gewicht" in page.text, "an article of the same category"
    assert "Was this helpful?" in page.text and "Updated <time" in page.text
    assert '<meta property="og:title" content="First pump">' in page.text
    assert '<meta name="description" content="Before you begin.">' in page.text
    assert f'<link rel="canonical" href="https://{KITE}/a/{visitors.ids["First pump"]}-first-pump">' in page.text


@pytest.mark.parametrize(
    ("path", "status", "target"),
    [
        ("/a/{First pump}", 301, "/a/{First pump}-first-pump"),
        ("/a/{First pump}-other-words", 301, "/a/{First pump}-first-pump"),
        ("/c/{pumps}", 301, "/c/{pumps}-pumps"),
        ("/en/", 301, "/"),
        ("/DE/", 301, "/de/"),
        ("/en/a/{First pump}-first-pump", 301, "/a/{First pump}-first-pump"),
        ("/de/a/{First pump}-first-pump", 302, "/de/a/{Erste Pumpe}-erste-pumpe"),
        ("/a/{Erste Pumpe}-erste-pumpe", 302, "/a/{First pump}-first-pump"),
        ("/pt-BR/a/{Erste Pumpe}-erste-pumpe", 302, "/pt-BR/a/{First pump}-first-pump"),
        ("/de/c/{pumps}-pumps", 302, "/de/c/{pumpen}-pumpen"),
    ],
)
def test_addresses_lead_to_the_one_address_of_a_page(visitors, path, status, target):
    page = visitors.get(path.format_map(visitors.ids))
    assert (page.status_code, page.headers.get("Location")) == (status, target.format_map(visitors.ids))


def test_a_former_slug_leads_to_the_present_one(visitors):
    id = visitors.article("Old name")
    visitors.api.update("kb_article", id, slug="new-name").ok()
    assert visitors.get(f"/a/{id}-old-name").headers["Location"] == f"/a/{id}-new-name"
    assert visitors.get(f"/a/{id}-new-name").status_code == 200


@pytest.mark.parametrize(
    ("path", "header", "language", "words"),
    [
        ("/de/", "", "de", "Erste Pumpe|Größe"),
        ("/de/c/{pumpen}-pumpen", "", "de", "Größe &amp; Gewicht|Pumpen|Erste Pumpe"),
        ("/de/a/{Second pump}-second-pump", "fr", "de", "Second pump"),
        ("/", "xx, fr;q=0.9", "en", "Pumps"),
    ],
)
def test_a_page_is_in_the_language_of_its_address(visitors, path, header, language, words):
    page = visitors.get(path.format_map(visitors.ids), Accept_Language=header)
    assert page.status_code == 200 and f'<html lang="{language}"' in page.text
    if path == "/de/":
        assert "Pumpen" in page.text, "a category in German"
    else:
        assert all(each in page.text for each in words.split("|"))


def test_an_article_without_a_translation_is_shown_in_the_first_language(visitors):
    id = visitors.ids["Second pump"]
    page = visitors.get(f"/de/a/{id}-second-pump")
    assert 'class="note"' in page.text
    assert f'<link rel="canonical" href="https://{KITE}/a/{id}-second-pump">' in page.text


def test_translations_name_each_other(visitors):
    page = visitors.page("First pump")
    first, other = (visitors.ids[name] for name in ("First pump", "Erste Pumpe"))
    assert f'hreflang="de" href="https://{KITE}/de/a/{other}-erste-pumpe"' in page.text
    assert f'hreflang="en" href="https://{KITE}/a/{first}-first-pump"' in page.text


@pytest.mark.parametrize(
    ("headers", "target"),
    [
        ({"Accept_Language": "de-AT, en;q=0.5"}, "/de/"),
        ({"Accept_Language": "en, de;q=0.9"}, None),
        ({"Accept_Language": "pt-BR, fr"}, None),
        ({"Accept_Language": "de", "Sec_Fetch_Site": "same-origin"}, None),
        ({"Accept_Language": "de", "Referer": f"https://{KITE}/de/"}, None),
        ({"Accept_Language": "de;q=0, en;q=0.1"}, None),
        ({"Accept_Language": "d" * 5000}, None),
    ],
)
def test_the_home_page_opens_in_the_language_of_a_browser_from_elsewhere(visitors, headers, target):
    page = visitors.get("/", **headers)
    assert page.headers.get("Location") == target and page.status_code == (302 if target else 200)
    assert "Accept-Language" in page.headers["Vary"]


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/search?q=tape", ["First pump"]),
        ("/search?q=pump", ["First pump", "Second pump"]),
        ("/search?q=unpack", ["First pump"]),
        ("/search?q=GROSSE", ["Größe &amp; Gewicht"]),
        ("/search?q=%E8%BF%94%E5%93%81", ["Größe &amp; Gewicht"]),
        ("/search?q=first+pump", ["First pump"]),
        ("/de/search?q=klebeband", ["Erste Pumpe"]),
        ("/de/search?q=gewicht", ["Größe &amp; Gewicht"]),
        ("/search?q=klebeband", []),
        ("/search?q=", []),
        ("/search?q=the", []),
        ("/search", []),
    ],
)
def test_a_search_finds_words_beginnings_accents_and_scripts_without_spaces(visitors, path, names):
    page = visitors.get(path)
    assert page.status_code == 200 and set(results(page.text)) == {*names}


def results(html: str) -> list[str]:
    """Returns the titles of the articles that a search has found, in their order."""
    return re.findall(
        r'dir="auto">([^<]*)</a>', html.partition('<ol class="articles results">')[2].partition("</ol>")[0]
    )


@pytest.mark.parametrize(
    ("title", "query"),
    [
        ("Ladder", "ladder"),
        ("Scaffold of steel", "steel SCAFFOLD"),
        ("Überlaufventil", "uberl*"),
        ("Überdruck", "ÜBERDRUCK"),
        ("交換部品について", "交換"),
        ("Gasket KX-77", "kx-77"),
    ],
)
def test_articles_with_the_words_in_their_title_come_first(visitors, title, query):
    visitors.article("Glossary", content=f"This is about {title}.")
    visitors.article(title)
    assert results(visitors.get(f"/search?q={quote(query)}").text) == [title, "Glossary"]


def test_words_that_were_searched_before_are_searched_together(visitors):
    visitors.article("Copper float", content="Hollow.")
    visitors.article("Copper wire", content="Without a float.")
    for word in ("copper", "float", "hollow"):
        assert results(visitors.get(f"/search?q={word}").text)
    assert results(visitors.get("/search?q=float+copper").text) == ["Copper float", "Copper wire"]
    assert results(visitors.get("/search?q=copper+hollow").text) == ["Copper float"]
    assert results(visitors.get("/search?q=copper+float+tin").text) == []


def test_words_that_were_searched_before_follow_a_change_of_an_article(visitors):
    id = visitors.article("Zinc plate", content="It bends.")
    assert (
        results(visitors.get("/search?q=zinc").text) == results(visitors.get("/search?q=bends").text) == ["Zinc plate"]
    )
    visitors.api.update("kb_article", id, content="It breaks.").ok()
    assert results(visitors.get("/search?q=zinc+bends").text) == []
    assert results(visitors.get("/search?q=zinc+breaks").text) == ["Zinc plate"]


def test_results_follow_a_change_of_their_article(visitors):
    id = visitors.article("Valve", content="Opens slowly.")
    assert "Opens slowly." in visitors.get("/search?q=valve").text
    visitors.api.update("kb_article", id, content="Opens at once.").ok()
    page = visitors.get("/search?q=valve&again=1")
    assert "Opens at once." in page.text and "Opens slowly." not in page.text


def test_a_search_shows_its_words_as_text(visitors):
    for words in ("<b id=x>&amp;", "Pump"):
        page = visitors.get(f"/search?q={quote(words)}").text
        shown = escape(words)
        assert f"<title>{shown} · Kite Pumps</title>" in page and f'type="search" value="{shown}"' in page


def test_suggestions_find_unfinished_words(visitors):
    page = visitors.get("/suggest?q=fir")
    id = visitors.ids["First pump"]
    assert page.json() == [{"title": "First pump", "path": f"/a/{id}-first-pump"}]
    assert page.headers["Content-Type"] == "application/json"


def test_the_site_map_and_the_feed_name_what_is_public(visitors):
    sitemap = ElementTree.fromstring(visitors.get("/sitemap.xml").content)
    addresses = [each.text for each in sitemap.iter(f"{SITEMAP}loc")]
    assert f"https://{KITE}/a/{visitors.ids['First pump']}-first-pump" in addresses
    assert f"https://{KITE}/de/a/{visitors.ids['Erste Pumpe']}-erste-pumpe" in addresses
    assert len(addresses) == len(set(addresses))
    feed = ElementTree.fromstring(visitors.get("/articles.atom").content)
    titles = [each.text for each in feed.iter(f"{ATOM}title")]
    assert "First pump" in titles and "Erste Pumpe" not in titles
    assert f"Sitemap: https://{KITE}/sitemap.xml" in visitors.get("/robots.txt").text


def test_an_unchanged_page_is_not_sent_again(visitors):
    id = visitors.article("Cached")
    page = visitors.page("Cached")
    assert page.headers["Cache-Control"] == "public, no-cache"
    assert visitors.page("Cached", If_None_Match=page.headers["ETag"]).status_code == 304
    assert visitors.page("Cached", If_Modified_Since=page.headers["Last-Modified"]).status_code == 304
    assert visitors.page("Cached", If_Modified_Since="yesterday").status_code == 200
    visitors.api.update("kb_article", id, content="Other text.").ok()
    again = visitors.page("Cached", If_None_Match=page.headers["ETag"])
    assert again.status_code == 200 and "Other text." in again.text


def test_head_has_the_headers_alone_and_gzip_the_same_page(visitors):
    page = visitors.page("First pump")
    path = f"/a/{visitors.ids['First pump']}-first-pump"
    head = visitors.send("HEAD", path)
    assert head.content == b"" and head.headers["Content-Length"] == str(len(page.content))
    packed = visitors.get(path, Accept_Encoding="gzip")
    assert packed.headers["Content-Encoding"] == "gzip" and packed.text == page.text
    same = visitors.get(path, Accept_Encoding="gzip", If_None_Match=packed.headers["ETag"])
    assert same.status_code == 304 and "Content-Encoding" not in same.headers
    assert "Accept-Encoding" in packed.headers["Vary"]


def test_what_is_not_there_has_a_search_field(visitors):
    page = visitors.get("/nothing")
    assert page.status_code == 404 and 'name="q"' in page.text and page.headers["Cache-Control"] == "no-store"


def test_a_page_is_small(visitors):
    style = re.search(r'href="([^"]*help_center\.css)"', visitors.get("/").text)
    script = re.search(r'src="([^"]*help_center\.js)"', visitors.get("/").text)
    parts = [
        visitors.page("First pump"),
        visitors.get(style[1]),
        visitors.get(script[1]),
        visitors.get("/look-ffee00.css"),
    ]
    assert all(each.status_code == 200 for each in parts)
    assert sum(len(each.content) for each in parts) < 60_000


def test_files_of_the_console_are_not_at_the_help_center(visitors):
    console = visitors.get("/login", "127.0.0.1").text
    path = re.search(r'href="(/static/[^"]*console\.css)"', console)[1]
    assert visitors.get(path, "127.0.0.1").status_code == 200 and visitors.get(path).status_code == 404


def test_each_brand_has_its_own_articles(visitors):
    visitors.article("Only Larch", brand_id=visitors.ids["larch"])
    visitors.article("Only Kite", brand_id=visitors.ids["kite"])
    assert visitors.page("Only Larch", LARCH).status_code == 200 and visitors.page("Only Larch").status_code == 404
    assert visitors.page("Only Kite").status_code == 200 and visitors.page("Only Kite", LARCH).status_code == 404
    assert "Larch Foods" in visitors.get("/", LARCH).text and "Kite" not in visitors.get("/", LARCH).text


def test_a_saved_brand_responds_to_the_next_request_and_a_deleted_one_no_longer(visitors):
    for number in range(20):
        host = f"help{number}.maple.example"
        brand = visitors.api.create("brand", name=f"Maple {number}", host=host, is_public=1).ok()["id"]
        assert f"Maple {number}" in visitors.get("/", host).text
        visitors.api.update("brand", brand, host=f"new-{host}").ok()
        assert visitors.get("/", host).status_code == 400
        assert f"Maple {number}" in visitors.get("/", f"new-{host}").text
        visitors.api.remove("brand", brand).ok()
        assert visitors.get("/", f"new-{host}").status_code == 400


def test_a_search_finds_words_with_invisible_characters_between_letters(visitors):
    title = "می\u200cخواهم"
    id = visitors.article(title)
    page = visitors.get(f"/search?q={quote(title)}")
    assert page.status_code == 200 and f"/a/{id}-" in page.text
    assert title in visitors.get("/articles.atom").text
