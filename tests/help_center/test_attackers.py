"""The help center against visitors who guess: what is not public does not exist, and nothing reaches the console."""

import base64
import json
import re
from urllib.parse import urlencode

import pytest

from tests.api.fields_by_kind import png
from tests.help_center.conftest import KITE, LARCH, Visitors

SECRET = "zanzibar"  # a word of what is not public
HOSTILE = (
    "# <img src=x onerror=alert(1)> \" id='a' onclick=alert(1)\n\n"
    '<h2 onclick="alert(1)" id="main">Half</h2><script>alert(1)</script>\n\n'
    '![a" onerror="alert(1)](https://evil.example/x.png)\n\n'
    "[link](javascript:alert(1)) <a href='data:text/html,x'>b</a> <iframe src='https://evil.example'></iframe>\n\n"
    "<form action='/vote'><input name=helpful></form> <style>body{display:none}</style>\n"
)


@pytest.fixture(scope="module", autouse=True)
def hidden(visitors: Visitors) -> None:
    """Articles that no visitor may see, each with a secret word, and one that everybody may see."""
    api, ids = visitors.api, visitors.ids
    ids["secret category"] = api.create("kb_category", name=f"Category {SECRET}").ok()["id"]
    ids["larch category"] = api.create("kb_category", name=f"Larch {SECRET}", brand_id=ids["larch"]).ok()["id"]
    below = api.create("kb_category", name=f"Below {SECRET}", parent_id=ids["larch category"]).ok()["id"]
    secret = {"content": SECRET, "summary": SECRET, "categories": str(ids["secret category"])}
    visitors.article("Draft", status="draft", **secret)
    visitors.article("Internal", status="internal", **secret)
    visitors.article("Withdrawn", **secret)
    api.update("kb_article", ids["Withdrawn"], status="draft").ok()
    visitors.article("Larch only", brand_id=ids["larch"], **secret)
    visitors.article("Finnish", language="fi", **secret)
    visitors.article("Public", categories=f"{ids['larch category']},{below}")


PRIVATE = ("Draft", "Internal", "Withdrawn", "Larch only", "Finnish")


@pytest.mark.parametrize("name", PRIVATE)
def test_what_is_not_public_is_answered_like_what_does_not_exist(visitors, name):
    page, other = visitors.page(name), visitors.get("/a/99999-x")
    assert page.status_code == other.status_code == 404 and page.text == other.text
    vote = visitors.send("POST", f"/a/{visitors.ids[name]}/vote", data={"helpful": "yes"})
    assert vote.status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/de/",
        "/search?q=zanzibar",
        "/search?q=zanz*",
        "/suggest?q=zanz",
        "/sitemap.xml",
        "/articles.atom",
        "/c/{id}",
    ],
)
def test_nothing_names_what_is_not_public(visitors, path):
    page = visitors.get(path.format(id=visitors.ids["secret category"]))
    shown = re.sub(r'value="[^"]*"|<title>.*</title>', "", page.text)
    assert SECRET not in shown.lower()


def test_categories_of_other_brands_and_below_them_stay_hidden(visitors):
    page = visitors.page("Public")
    assert page.status_code == 200 and SECRET not in page.text.lower()
    assert visitors.get(f"/c/{visitors.ids['larch category']}").status_code == 404


def test_a_withdrawn_article_disappears_from_every_cache(visitors):
    id = visitors.article("Soon gone", content="quicksilver")
    assert visitors.page("Soon gone").status_code == 200 == visitors.get("/search?q=quicksilver").status_code
    etag = visitors.page("Soon gone").headers["ETag"]
    visitors.api.update("kb_article", id, status="internal").ok()
    assert visitors.page("Soon gone", If_None_Match=etag).status_code == 404
    assert "Soon gone" not in visitors.get("/search?q=quicksilver").text
    visitors.api.update("kb_article", id, status="published").ok()
    visitors.api.delete(f"/rest/records/kb_article/{id}.json").ok()
    assert visitors.get(f"/a/{id}-soon-gone").status_code == 404


def upload(visitors: Visitors, on: str, name: str, mime_type: str, content: bytes) -> int:
    text = f"data:{mime_type};base64,{base64.b64encode(content).decode()}"
    attach = [f"kb_article:{visitors.ids[on]}"]
    return visitors.api.create("attachment", name=name, mime_type=mime_type, content=text, attach=attach).ok()["id"]


def test_files_are_downloads_of_published_articles_only(visitors):
    page = upload(visitors, "Public", "a b.html", "text/html", b"<script>alert(1)</script>")
    picture = upload(visitors, "Public", "p.png", "image/png", png(60, 60))
    private = upload(visitors, "Draft", "draft.txt", "text/plain", b"draft")
    public = visitors.ids["Public"]
    html = visitors.get(f"/files/{public}/{page}/a%20b.html")
    assert html.status_code == 200 and html.headers["Content-Type"] == "application/octet-stream"
    assert (
        html.headers["Content-Disposition"].startswith("attachment")
        and "sandbox" in html.headers["Content-Security-Policy"]
    )
    assert html.headers["X-Content-Type-Options"] == "nosniff" and "Set-Cookie" not in html.headers
    assert visitors.get(f"/files/{public}/{page}/x", If_None_Match=html.headers["ETag"]).status_code == 304
    assert visitors.get(f"/files/{public}/{picture}/p.png").headers["Content-Type"] == "image/png"
    for path in (
        f"/files/{public}/{private}/draft.txt",
        f"/files/{visitors.ids['Draft']}/{private}/draft.txt",
        f"/files/{public}/99999/x",
        f"/files/{page}",
    ):
        assert visitors.get(path).status_code == 404
    assert visitors.get(f"/files/{public}/{page}/x", LARCH).status_code == 200, "an article of all brands"


def test_pictures_and_files_in_a_text_have_public_addresses(visitors):
    ids = visitors.ids
    visitors.article("Illustrated")
    picture = upload(visitors, "Illustrated", "v 1.png", "image/png", png(60, 60))
    manual = upload(visitors, "Illustrated", "manual.pdf", "application/pdf", b"%PDF")
    loose = upload(visitors, "Illustrated", "loose.txt", "text/plain", b"text")
    private = upload(visitors, "Draft", "secret.png", "image/png", png(60, 60))
    text = (
        f"![Valve]({visitors.url}/files/{picture}/v.png) ![Old](https://former.example/files/{picture}/v.png)\n\n"
        f"[Manual]({visitors.url}/files/{manual}/manual.pdf) [Other](https://shop.example/files/{manual}/x)\n\n"
        f"![Secret]({visitors.url}/files/{private}/secret.png) ![Far](https://evil.example/x.png)"
        f" [Here](https://{KITE}/a/{ids['Public']}-public)"
    )
    visitors.api.update("kb_article", ids["Illustrated"], content=text, format="markdown").ok()
    page = visitors.page("Illustrated").text
    place = f"/files/{ids['Illustrated']}"
    assert page.count(f'<img src="{place}/{picture}/v%201.png"') == 2 and page.count("<img") == 2
    assert f'<a href="{place}/{manual}/manual.pdf" download="">Manual</a>' in page
    assert f'href="https://shop.example/files/{manual}/x" target="_blank"' in page
    assert f'<a href="https://{KITE}/a/{ids["Public"]}-public">Here</a>' in page
    assert "Secret" in page and f"/{private}/" not in page.replace(f"/files/{private}/secret", "")
    files = page.partition('<ul class="files">')[2].partition("</ul>")[0]
    assert f"{place}/{loose}/loose.txt" in files and "manual.pdf" not in files and "v%20" not in files
    assert visitors.get(f"{place}/{picture}/v%201.png").headers["Content-Type"] == "image/png"


def test_a_hostile_article_runs_nothing_and_asks_no_other_server(visitors):
    for format in ("markdown", "html"):
        name = f"Hostile {format}"
        visitors.article(name, format=format, content=HOSTILE, summary='"><script>alert(1)</script>')
        page = visitors.page(name)
        tags = re.findall(r"<[^>]*>", page.text)
        assert page.status_code == 200 and not [each for each in tags if re.search(r"\son\w+=", each)]
        assert page.text.count("<script") == 1 and "<iframe" not in page.text and "<style" not in page.text
        assert not re.search(r'(src|action)="https?:', page.text) and "javascript:" not in " ".join(tags)
        assert "".join(tags).count('id="main"') == 1
        policy = page.headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    "query",
    [
        "'; DROP TABLE kb_article --",
        '" OR "1"="1',
        "title : x",
        "NEAR(a b)",
        "a AND NOT b",
        "*",
        "**",
        "\x00",
        "%",
        "x" * 190,
        "a " * 90,
        "<script>alert(1)</script>",
        "{{7*7}}",
        "\u202e\ufeff",
        "🙂",
        "(((((",
        "-word",
        "col:word^2",
    ],
)
def test_hostile_queries_find_nothing_and_break_nothing(visitors, query):
    for path in ("/search", "/suggest"):
        page = visitors.get(f"{path}?{urlencode({'q': query})}")
        assert page.status_code == 200 and "<script>alert" not in page.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/search?q[]=a", 422),
        ("/search?q=%ff", 400),
        ("/search?page=999999999999999999999", 200),
        ("/a/0-x", 404),
        ("/a/99999999999999999999", 404),
        ("/a/9999999999999999999", 404),
        ("/a/-1", 404),
        ("/c/1;drop", 404),
        ("/files/1/../../etc/passwd", 404),
        ("//evil.example/", 404),
        ("/en//evil.example/", 404),
        ("/DE//evil.example/", 404),
        ("/en/\\evil.example/", 404),
        ("/en//evil.example/a/1", 404),
        ("/%2e%2e/", 404),
        ("/static/x/../console.css", 404),
        ("/look-<script>.css", 404),
        ("/de/de/", 404),
        ("/logo-1.png", 404),
        ("/a/" + "9" * 3000, 404),
    ],
)
def test_hostile_addresses(visitors, path, status):
    page = visitors.get(path)
    assert page.status_code == status and "evil.example" not in page.headers.get("Location", "")


@pytest.mark.parametrize(
    "path",
    [
        "/login",
        "/inbox",
        "/rest/workers/me.json",
        "/oauth/authorize",
        "/oauth/token",
        "/openapi.json",
        "/webhooks/x",
        "/health",
        "/metrics",
        "/scim/v2/Users",
        "/admin/help-center",
        "/records/kb_article/1",
        "/avatars/brand/1",
        "/help",
        "/help-center/",
        "/setup",
    ],
)
def test_nothing_else_responds_at_the_host_of_a_help_center(visitors, path):
    for host in (KITE, LARCH, KITE.upper(), f"{KITE}:443", f"{KITE}."):
        page = visitors.send("GET", path, host, Authorization=f"Bearer {visitors.api.token}")
        assert page.status_code == 404 and "Set-Cookie" not in page.headers
        assert page.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    "host", ["evil.example", f"{KITE}.evil.example", f"x.{KITE}", f"{KITE}@evil.example", f"{KITE}/x"]
)
def test_other_hosts_are_refused_and_never_named_in_a_page(visitors, host):
    page = visitors.get("/", host, X_Forwarded_Host="evil.example", Forwarded="host=evil.example")
    assert page.status_code == 400
    page = visitors.get("/", KITE, X_Forwarded_Host="evil.example", X_Forwarded_Proto="gopher")
    assert page.status_code == 200 and "evil.example" not in page.text


def test_the_console_is_not_a_help_center_and_its_cookies_are_not_read(visitors):
    assert visitors.get("/help-center/", "127.0.0.1").status_code == 404, "it has a host of its own"
    page = visitors.get("/", KITE, Cookie="session=x; helpdesk_session=y")
    assert page.status_code == 200 and page.text == visitors.get("/").text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_only_votes_are_sent(visitors, method):
    page = visitors.send(method, "/")
    assert page.status_code in (405, 501) and page.headers.get("Allow", "GET, HEAD") == "GET, HEAD"


def test_a_brand_that_is_not_public_does_not_exist(visitors):
    visitors.api.update("brand", visitors.ids["larch"], is_public=0).ok()
    page = visitors.page("Public", LARCH)
    assert page.status_code == 404 and "Larch" not in page.text
    assert visitors.get("/sitemap.xml", LARCH).status_code == 404
    visitors.api.update("brand", visitors.ids["larch"], is_public=1).ok()
    assert visitors.page("Public", LARCH).status_code == 200


def test_a_brand_cannot_take_the_host_of_the_console(visitors):
    reply = visitors.api.update("brand", visitors.ids["larch"], host="127.0.0.1")
    assert reply.status == 422
    assert visitors.get("/login", "127.0.0.1").status_code == 200


def test_workers_without_rights_do_not_write_brands(visitors):
    milo = visitors.api.as_("milo")
    assert milo.update("brand", visitors.ids["kite"], is_public=0).status == 403
    assert json.loads(visitors.api.record("brand", visitors.ids["kite"]).response.text)["is_public"] == 1
