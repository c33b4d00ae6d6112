"""The HTML of every page of the help center: nested and closed, each id once, and each reference leads to an id."""

import json
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
import requests

from tests.help_center.customers.conftest import Customer
from tests.help_center.customers.two_customers import ANN, World, hidden, two_customers

VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
BLOCKS = frozenset("address article aside blockquote details div dl fieldset footer form h1 h2 h3 h4 h5 h6".split())
BLOCKS |= frozenset("header hr main nav ol p pre section table ul".split())
INTERACTIVE = frozenset("a button details iframe input label select textarea".split())
REFERENCES = ("for", "aria-describedby", "aria-labelledby", "aria-controls", "list", "form")
TEXT = """# Before

See [this](#s-tools), `code` and ![a picture](data:image/png;base64,iVBORw0KGgo=)

## Tools

| Tool | Size |
|---|---|
| Wrench | 13 mm |

## Steps

1. Turn.

> Wait.
"""


class Page(HTMLParser):
    """A page with its mistakes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.mistakes: list[str] = []
        self.open: list[str] = []
        self.count: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.named: list[str] = []  # ids that something refers to
        self.title = ""
        self.feed(text)
        self.close()
        self.mistakes += [f"<{each}> is not closed" for each in self.open]
        self.mistakes += [f"id {each} is used again" for each, number in self.ids.items() if number > 1]
        self.mistakes += [f"there is no id {each}" for each in self.named if each not in self.ids]
        self.mistakes += [f"{self.count[each]} <{each}>" for each in ("title", "h1", "main") if self.count[each] != 1]
        if not text.lower().lstrip().startswith("<!doctype html>\n<html lang="):
            self.mistakes.append("no doctype, or no language")
        if not self.title.strip():
            self.mistakes.append("no title")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = Counter(name for name, _ in attrs)
        self.mistakes += [f"<{tag}> has two attributes {name}" for name, number in names.items() if number > 1]
        values = {name: text or "" for name, text in attrs}
        self.count[tag] += 1
        if "id" in values:
            self.ids[values["id"]] += 1
            if not values["id"] or " " in values["id"]:
                self.mistakes.append(f"id '{values['id']}'")
        for name in REFERENCES:
            self.named += values.get(name, "").split()
        if values.get("href", "").startswith("#"):
            self.named.append(values["href"][1:])
        if tag in BLOCKS and "p" in self.open:
            self.mistakes.append(f"<{tag}> in <p>")
        if tag in INTERACTIVE and {"a", "button"} & set(self.open):
            self.mistakes.append(f"<{tag}> in a link or button")
        if tag == "img" and "alt" not in values:
            self.mistakes.append("an image without alt")
        if tag == "li" and self.open[-1:] not in (["ul"], ["ol"]):
            self.mistakes.append("<li> outside a list")
        if self.open[-1:] in (["ul"], ["ol"]) and tag != "li":
            self.mistakes.append(f"<{tag}> directly in a list")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1:] == [tag]:
            self.open.pop()
        else:
            self.mistakes.append(f"</{tag}> closes <{''.join(self.open[-1:])}>")

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["title"]:
            self.title += data


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("<p id=a><p>x</p></p><b id=a></b>", "<p> in <p>"),
        ("<p id=a></p><b id=a></b>", "id a is used again"),
        ("<label for=b></label>", "there is no id b"),
        ("<div><b></div></b>", "</div> closes <b>"),
        ("<ul><b>x</b></ul>", "<b> directly in a list"),
        ("<img src=x>", "an image without alt"),
        ("<a href=/><button>x</button></a>", "<button> in a link or button"),
        ("<div>", "<div> is not closed"),
    ],
)
def test_mistakes_are_found(text, mistake):
    frame = "<!doctype html>\n<html lang=en><head><title>x</title></head><body><main><h1>x</h1>{}</main></body></html>"
    assert Page(frame.format("")).mistakes == []
    assert mistake in Page(frame.format(text)).mistakes


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with two_customers(tmp_path_factory.mktemp("markup")) as made:
        _write(made)
        yield made


def _write(world: World) -> None:
    """Creates articles in two directions of writing, and a form with a field of each kind."""
    api, ids = world.desk.api, world.desk.ids
    links = "Imprint https://kite.example/imprint\nMail mailto:help@kite.example"
    api.update("brand", ids["brand"], languages="en, de, ar", footer_links=links).ok()
    top = api.create("kb_category", name="Pumps & more", description="Everything.").ok()["id"]
    below = api.create("kb_category", name="Below", parent_id=top).ok()["id"]
    published = {"status": "published", "format": "markdown", "content": TEXT, "categories": str(top)}
    ids["article"] = api.create("kb_article", title='The "A" pump', summary="Short.", **published).ok()["id"]
    api.create("kb_article", title="مضخة", language="ar", translation_of_id=ids["article"], **published).ok()
    api.create("kb_article", title="Deep pump", **published | {"categories": str(below)}).ok()
    for number in range(20):
        api.create("kb_article", title=f"Pump {number}", **published | {"categories": ""}).ok()
    fields = []
    for kind in "CSTNEDXU":
        params = {"options": ["a", "b & c"]} if kind in "DX" else {}
        values = {"name": f"Field {kind}", "uri": f"markup_{kind.lower()}", "type": kind, "params": params}
        fields.append({"field_id": api.create("custom_field", context="ticket", **values).ok()["id"]})
    fields[1] |= {"is_required": 1, "if_field_id": fields[0]["field_id"], "if_value": "1"}
    form = {"brand_id": ids["brand"], "group_id": api.ids["support"], "is_on": 1, "slug": "full", "name": "Full"}
    texts = {"intro": "Hello *you*", "consent_text": "I **agree**", "frame_origins": "https://kite.example"}
    flags = {"has_files": 1, "has_proof": 1, "is_name_required": 1}
    api.create("contact_form", **form, **texts, **flags, form_fields=json.dumps(fields)).ok()
    ids["top"] = top


def pages(world: World) -> Iterator[tuple[str, requests.Response]]:
    """Every page, with what was done. Some change what the next ones show."""
    visitor, ann, own, asking = world.desk.browser(), world.ann, world.own_pages, world.asking
    ids = world.desk.ids
    article, category = f"/a/{ids['article']}-the-a-pump", f"/c/{ids['top']}-pumps-more"
    for path in ("/", "/de/", "/ar/", category, f"/ar{category}", "/search?q=pump", "/search?q=pump&page=2", "/search"):
        yield path, visitor.get(path)
    for path in ("/search?q=zzz", "/nothing", "/contact/full", "/contact/full?embed=1", "/contact/write", "/sign-in"):
        yield path, visitor.get(path)
    for helpful in ("", "yes", "no", "sent"):
        yield f"article {helpful}", visitor.get(f"{article}?helpful={helpful}")
    yield "in Arabic", visitor.get(visitor.get(f"/ar{article}").headers["Location"])
    for sent in ("ticket", "mail"):
        yield f"form {sent}", visitor.get(f"/contact/full?sent={sent}")
    token = hidden(visitor.texts("/contact/full"), "token")
    upload = [("files[]", ("a&b.txt", b"x", "text/plain"))]
    wrong = {"token": token, "subject": "x" * 300, "email": "nobody", "message": "</textarea>"}
    yield "form with mistakes", visitor.send("POST", "/contact/full", wrong, upload)
    yield "form too old", visitor.send("POST", "/contact/full", {"token": "x", "subject": "x"})
    yield "other method", visitor.send("POST", "/search", {})
    yield "other site", visitor.send("POST", "/sign-in", {}, Origin="https://evil.example")
    yield from _sign_in_pages(world, visitor)
    yield "code of Ann", asking.get("/sign-in/code")
    yield "confirmation", visitor.get(own["confirmation"])
    yield "no confirmation", visitor.get("/contact-confirm/1.99999999999-aaaaaaaaaaaaaaaaaaaaaaaa")
    for path in ("/requests", "/requests?q=nothing", "/requests?state=closed", "/your-data", "/your-data?done=asked"):
        yield path, ann.get(path)
    for done in ("", "sent", "closed", "opened", "added"):
        yield f"request {done}", ann.get(f"{own['request']}?done={done}")
    yield "empty reply", ann.reply(own["request"].rpartition("/")[2])
    yield "no token", ann.send("POST", f"{own['request']}/close", {})
    yield "no colleague", ann.post(f"{own['request']}/colleague", email="bob@evil.example")
    yield "session over", visitor.send("POST", f"{own['request']}/reply", {"text": "<b>"})
    yield from _rating_pages(world, visitor)


def _sign_in_pages(world: World, visitor: Customer) -> Iterator[tuple[str, requests.Response]]:
    [link] = world.names["own link"]
    yield "no address", visitor.send("POST", "/sign-in", {"email": "nobody"})
    visitor.send("POST", "/sign-in", {"email": "bob@kite.example"})
    yield "code", visitor.get("/sign-in/code")
    yield "wrong code", visitor.send("POST", "/sign-in/code", {"code": "AAAAAA"})
    yield "link", world.asking.get(link)
    yield "link elsewhere", visitor.get(link)
    yield "no link", visitor.get(f"{link[:-3]}aaa")


def _rating_pages(world: World, visitor: Customer) -> Iterator[tuple[str, requests.Response]]:
    rating, api = world.own_pages["rating"], world.desk.api
    yield "rating", visitor.get(rating)
    yield "wrong rating", visitor.send("POST", rating, {"score": "x"})
    yield "no rating", visitor.get("/rate/aaaaaaaaaaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaa/good")
    assert visitor.send("POST", rating, {"score": "good", "comment": ANN}).status_code == 303
    yield "rated", visitor.get(f"{rating}?done=1")
    yield "rated before", visitor.get(rating)
    api.update("brand", world.desk.ids["brand"], is_public=0).ok()
    yield "not public", visitor.get("/")
    yield "rating without a help center", visitor.get(rating)


def test_every_page_is_valid(world):
    mistakes, number = {}, 0
    for name, response in pages(world):
        assert response.status_code not in (301, 302, 303) and response.headers["Content-Type"].startswith("text/html")
        number += 1
        if found := Page(response.text).mistakes:
            mistakes[name] = found
    assert mistakes == {} and number >= 55
