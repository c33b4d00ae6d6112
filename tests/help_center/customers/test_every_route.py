"""Every route of the help center with what identifies another customer's tickets, messages, files, forms, ratings and
sign-in: nothing of theirs is in a response, and nothing of theirs changes.

The routes are those of the site, so that a new one fails here until CASES says how it is tried."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from string import Formatter
from typing import Any

import pytest
import requests

from console.help_center import rating_pages
from console.help_center.help_center_site import ROUTES
from tests.help_center.customers.conftest import HOST, Customer, Desk, customer_desk, mail

SECRET = "zanzibar"  # in all texts, names and addresses of Ann
ANN, EVE = f"ann.{SECRET}@kite.example", "eve@evil.example"
CONFIRMATION = re.compile(rf"https://{HOST}/contact-confirm/([0-9.a-z-]+)")
RATING = re.compile(r"/rate/([a-z2-7-]+)/good")
UNKNOWN = {"mask": "ABC-12345-678", "id": "987654321", "file": "987654322"}

PICTURE = f"""Content-Type: text/html; charset=utf-8

<table><tr><td style="color:red">{SECRET} in a table</td></tr></table><img src="data:image/png;base64,iVBORw0KGgo=">
"""


@dataclass(frozen=True)
class Case:
    """How a route is tried. path: with names of World.names in place of its groups. forms: submitted fields, which may
    have such names, too. query: of the address. is_known: whether something that everybody may know is at one of the
    paths, so that they are not all like paths of nothing."""

    path: str
    forms: tuple[dict[str, str], ...] = ({},)
    query: str = ""
    is_known: bool = False


OWN = {"token": "{token}"}
# {name of the page: how it is tried}
CASES: dict[str, Case] = {
    "article_pages.home": Case("/"),
    "article_pages.category": Case("/c/{id}"),
    "article_pages.article": Case("/a/{id}"),
    "article_pages.vote": Case("/a/{id}/vote", ({"helpful": "yes", "comment": "x"},)),
    "contact_pages.show": Case("/contact/{slug}", query="?subject=x&sent=no"),
    "contact_pages.send": Case(
        "/contact/{slug}",
        (
            {"token": "{form_token}", "remove[]": "{upload}", "email": EVE, "subject": "x"},  # no message: shown again
            {"token": "{forged_form_token}", "remove[]": "{upload}", "email": EVE, "subject": "x", "message": "x"},
            {"token": "{form_token}", "remove[]": "{upload}", "email": EVE, "subject": "x", "message": "x"},
        ),
    ),
    "contact_pages.upload": Case(
        "/contact-files/{id}", ({"token": "{form_token}", "remove[]": "{upload}"},), is_known=True
    ),
    "contact_pages.confirm": Case("/contact-confirm/{code}"),
    "search_pages.search": Case("/search", query=f"?q={SECRET[:-2]}*"),
    "search_pages.suggest": Case("/suggest", query=f"?q={SECRET}"),
    "feed_pages.feed": Case("/articles.atom"),
    "feed_pages.sitemap": Case("/sitemap.xml"),
    "feed_pages.robots": Case("/robots.txt"),
    "asset_pages.look": Case("/look-plain.css"),
    "asset_pages.logo": Case("/logo-{id}.png"),
    "asset_pages.file": Case("/files/{id}/{file}"),
    "sign_in_pages.show": Case("/sign-in", query="?next=/requests/{mask}"),
    "sign_in_pages.send": Case(
        "/sign-in", ({"email": "{mask}@evil.example", "next": "/requests/{mask}"},), is_known=True
    ),
    "sign_in_pages.show_code": Case("/sign-in/code"),
    "sign_in_pages.enter_code": Case("/sign-in/code", ({"code": "{sign_in_code}"},)),
    # Whoever has a link is shown its code, which only the browser of Ann accepts.
    "sign_in_pages.open_link": Case("/sign-in/link/{link}", is_known=True),
    "sign_in_pages.use_link": Case("/sign-in/link/{link}", is_known=True),
    "sign_in_pages.sign_out": Case("/sign-out", ({"token": "{token_of_other}"},)),
    "request_pages.show_list": Case("/requests", query=f"?q={SECRET}&of=organization&state=open"),
    "request_pages.show_request": Case("/requests/{mask}"),
    "request_pages.document": Case("/requests/{mask}/messages/{id}"),
    "request_pages.file": Case("/requests/{mask}/files/{file}"),
    "request_pages.reply": Case(
        "/requests/{mask}/reply", (OWN | {"text": "x", "form": "f"}, {"token": "", "text": "x"})
    ),
    "request_pages.close": Case("/requests/{mask}/close", (OWN, {"token": "{token_of_other}"})),
    "request_pages.reopen": Case("/requests/{mask}/reopen", (OWN, {"token": "{token_of_other}"})),
    "request_pages.add_colleague": Case("/requests/{mask}/colleague", (OWN | {"email": "bob@evil.example"},)),
    "request_pages.show_data": Case("/your-data"),
    "request_pages.download_data": Case("/your-data/download", (OWN, {"token": "{token_of_other}"})),
    "request_pages.ask_for_erasure": Case("/your-data/erasure", ({"token": "{token_of_other}"}, OWN)),
    "rating_pages.RatingPages": Case("/rate/{code}/{score}", ({"score": "bad", "comment": "x"},)),
}
EVERY_ROUTE = [
    (method, pattern, f"{show.__module__.rpartition('.')[2]}.{show.__name__}") for method, pattern, show in ROUTES
]
EVERY_ROUTE += [(method, rating_pages.LINK, "rating_pages.RatingPages") for method in ("GET", "POST")]


@dataclass
class World:
    """Ann, who has something of everything, and Eve, who tries it. names: {name in a path or form: its values}."""

    desk: Desk
    ann: Customer
    asking: Customer  # the browser in which Ann has asked for a second link
    eve: Customer
    eve_asking: Customer  # a browser in which Eve has asked for a link
    names: dict[str, list[str]] = field(default_factory=dict)
    own_pages: dict[str, str] = field(default_factory=dict)  # pages of Ann that must stay as they are

    def state(self) -> dict[str, Any]:
        """Everything of Ann: her pages, her links, and her records."""
        api, ticket = self.desk.api, self.desk.ids["ann"]
        pages = {name: _stable(self.ann.texts(path)) for name, path in self.own_pages.items()}
        pages["link"] = self.asking.texts(self.names["own link"][0])
        records = {
            "ticket": api.record("ticket", ticket["id"], expand="requester_emails").ok().json,
            "messages": api.search("message", f"ticket.id:{ticket['id']}").ok().json["results"],
            "rating": api.search("rating", f"ticket.id:{self.desk.ids['rated']['id']}").ok().json["results"],
            "address": api.search("address", f"email:{ANN}").ok().json["results"],
        }
        return pages | records


def _stable(page: str) -> str:
    """A page without what differs each time."""
    return re.sub(r'name="form" value="[^"]*"', "", page)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    env = {"HELPDESK_RATINGS": "all", "HELPDESK_RATING_DELAY_HOURS": "0", "HELPDESK_CONTACT_FORM_SECONDS": "0"}
    with customer_desk(tmp_path_factory.mktemp("routes"), **env) as desk:
        yield _filled(desk)


def _filled(desk: Desk) -> World:
    api, ids = desk.api, desk.ids
    form = {"name": "Write", "brand_id": ids["brand"], "group_id": api.ids["support"], "is_on": 1, "slug": "write"}
    form_id = api.create("contact_form", confirms_address=1, has_files=1, **form).ok()["id"]
    ids["ann"] = desk.ticket(f"Ann {SECRET} <{ANN}>", subject=f"Pump {SECRET}", text=f"It leaks {SECRET}.")
    message = api.record("ticket", ids["ann"]["id"]).ok()["latest_message_id"]
    head = {"In_Reply_To": api.record("message", message, expand="headers").ok()["headers"]["message-id"]}
    with_file = mail(f"Ann {SECRET} <{ANN}>", **head, MIME_Version="1.0", Content_Type='multipart/mixed; boundary="b"')
    head_lines, _, _text = with_file.partition(b"\r\n\r\n")
    parts = (PICTURE, f'Content-Type: text/plain; name="{SECRET}.txt"\n\n{SECRET} file\n')
    body = "".join(f"--b\n{part}\n" for part in parts) + "--b--\n"
    api.parse(head_lines + b"\r\n\r\n" + body.replace("\n", "\r\n").encode()).ok()
    ids["rated"] = desk.ticket(f"Ann {SECRET} <{ANN}>", subject=f"Other {SECRET}")
    api.update("ticket", ids["rated"]["id"], status="closed", owner_id=api.ids["milo"]).ok()
    rating = _sought(desk, RATING)
    ids["eve"] = desk.ticket(f"Eve <{EVE}>", subject="Pump of Eve")
    ann, eve, asking = desk.signed_in(ANN), desk.signed_in(EVE), desk.browser()
    assert desk.ask(asking, ANN).status_code == 303
    link = desk.link()
    [sign_in_code] = re.findall(r"<strong>([A-Z2-9]{6})</strong>", desk.browser().texts(link))
    eve_asking = desk.browser()
    assert desk.ask(eve_asking, EVE).status_code == 303
    world = World(desk, ann, asking, eve, eve_asking)

    typed = {"name": f"Ann {SECRET}", "email": ANN, "subject": f"Form {SECRET}", "message": f"Typed {SECRET}"}
    page = ann.texts("/contact/write")
    file = [("files[]", (f"{SECRET}.png", b"x", "image/png"))]
    sent = ann.send("POST", "/contact/write", {"token": _hidden(page, "token"), **typed}, file)
    assert sent.headers["Location"] == "/contact/write?sent=mail"
    confirmation = _sought(desk, CONFIRMATION)
    second = {"token": _hidden(ann.texts("/contact/write"), "token"), **typed, "message": ""}
    refused = ann.send("POST", "/contact/write", second, file)
    upload = re.search(r'name="remove\[\]" value="([0-9a-f]+)"', refused.text)
    assert refused.status_code == 422 and upload is not None, refused.text

    mask, own = ids["ann"]["mask"], f"/requests/{ids['ann']['mask']}"
    shown = ann.texts(own)
    files = re.findall(rf"{own}/files/(\d+)/", shown)
    documents = re.findall(rf"{own}/messages/(\d+)", shown)
    assert files and documents and SECRET in ann.texts(f"{own}/messages/{documents[0]}")
    form_token = _hidden(eve.texts("/contact/write"), "token")
    numbers = {message, *documents, *files, ids["ann"]["id"], ids["rated"]["id"], api.found("rating", "")[0], 1, 2}
    world.names = {
        "mask": [mask, ids["rated"]["mask"]],
        "id": sorted(map(str, numbers | {form_id})),
        "file": [*files, str(ids["ann"]["id"])],
        "slug": ["write"],
        "code": [
            _forged(confirmation),
            _forged(rating),
            f"{rating.partition('-')[0]}-{confirmation.rpartition('-')[2]}",
        ],
        "score": ["good", "bad"],
        "link": [link.rpartition("/")[2], _forged(link.rpartition("/")[2])],
        "own link": [link],
        "token": [eve.token()],
        "token_of_other": [ann.token()],
        "form_token": [form_token],
        "forged_form_token": [_forged(second["token"])],
        "upload": [upload[1]],
        "sign_in_code": [sign_in_code],
    }
    world.own_pages = {
        "requests": "/requests",
        "request": own,
        "file": f"{own}/files/{files[0]}",
        "confirmation": f"/contact-confirm/{confirmation}",
        "rating": f"/rate/{rating}/good",
        "data": "/your-data",
    }
    return world


def _sought(desk: Desk, pattern: re.Pattern[str]) -> str:
    """The code in the next email that has one."""
    while True:
        part = desk.mail().get_body(("plain",))
        match = pattern.search(str(part.get_content())) if part is not None else None
        if match is not None:
            return match[1]


def _hidden(page: str, name: str) -> str:
    match = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert match is not None, page
    return match[1]


def _forged(code: str) -> str:
    return code[:-1] + ("b" if code.endswith("a") else "a")


def attempts(world: World, method: str, pattern: re.Pattern[str], case: Case) -> Iterator[tuple[dict[str, str], Any]]:
    """The names of each attempt, and its form."""
    for form in case.forms if method == "POST" else ({},):
        texts = (case.path, case.query, *form.values())
        used = sorted({name for text in texts for _, name, _, _ in Formatter().parse(text) if name})
        values_by_name = dict(world.names)
        if len(pattern.groupindex) > 1 and "mask" in used:  # what is Ann's, below a ticket of Eve
            values_by_name["mask"] = [*world.names["mask"], world.desk.ids["eve"]["mask"]]
        for values in product(*(values_by_name[name] for name in used)):
            names = dict(zip(used, values, strict=True))
            if pattern.match(case.path.format_map(names)):
                yield names, form


@pytest.mark.parametrize(("method", "pattern", "name"), EVERY_ROUTE, ids=lambda each: getattr(each, "pattern", each))
def test_nothing_of_another_customer_is_revealed_or_changed(world, method, pattern, name):
    assert name in CASES, f"say in CASES how {name} is tried"
    case = CASES[name]
    assert all(f"{{{group}}}" in case.path for group in pattern.groupindex), "each group is tried"
    before, tried = world.state(), 0
    for names, form in attempts(world, method, pattern, case):
        for cookies in (world.eve.cookies, world.eve_asking.cookies, {}):
            browser = Customer(world.eve.url, HOST, dict(cookies))
            page = request(browser, method, case, names, form)
            revealed = f"{page.text} {page.headers}"
            for typed in (f"q={SECRET}", f'value="{SECRET}"', f'value="{form.get("email")}"'):
                revealed = revealed.replace(typed, "")
            assert SECRET not in revealed, names
            if not case.is_known:
                other = request(browser, method, case, names | unknown(names), form)
                assert page.status_code == other.status_code, names
                assert plain(page, case, names) == plain(other, case, names | unknown(names)), names
            tried += 1
    assert tried, "a path of the case has the form of the route"
    assert world.state() == before
    assert world.eve.get("/requests").status_code == 200, "Eve is still signed in"


def request(
    browser: Customer, method: str, case: Case, names: dict[str, str], form: dict[str, str]
) -> requests.Response:
    address = case.path.format_map(names) + case.query.format_map(names)
    data = {key: text.format_map(names) for key, text in form.items()}
    return browser.send(method, address, data if method == "POST" else None)


def unknown(names: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in UNKNOWN.items() if name in names}


def plain(page: requests.Response, case: Case, names: dict[str, str]) -> str:
    """A page and where it leads, without the path of its request and without what differs each time."""
    text = f"{page.headers.get('Location')}\n{page.text}".replace(case.path.format_map(names), "")
    for name in ("mask", "code"):
        text = text.replace(names.get(name, "\0"), "")
    return re.sub(r'name="(?:form|token)" value="[^"]*"', "", text)


def test_no_case_is_left_over():
    assert set(CASES) == {name for _method, _pattern, name in EVERY_ROUTE}
