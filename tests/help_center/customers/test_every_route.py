"""Every route of the help center with what identifies another customer's tickets, messages, files, forms, ratings and
sign-in: nothing of theirs is in a response, and nothing of theirs changes.

The routes are those of the site, so that a new one fails here until CASES says how it is tried."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from string import Formatter
from typing import Any
from zipfile import ZipFile

import pytest
import requests

from console.help_center import rating_pages
from console.help_center.help_center_site import ROUTES
from tests.help_center.customers.conftest import HOST, Customer
from tests.help_center.customers.two_customers import EVE, SECRET, World, two_customers
from tests.telling import telling

UNKNOWN = {"mask": "ABC-12345-678", "id": "987654321", "file": "987654322"}


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


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with two_customers(tmp_path_factory.mktemp("routes")) as made:
        yield made


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


ROUTES = {f"{method} {pattern.pattern}": (method, pattern, name) for method, pattern, name in EVERY_ROUTE}


@pytest.mark.parametrize("route", telling(ROUTES, [*ROUTES][::3], "every route"))
def test_nothing_of_another_customer_is_revealed_or_changed(world, route):
    method, pattern, name = route
    assert name in CASES, f"say in CASES how {name} is tried"
    case = CASES[name]
    assert all(f"{{{group}}}" in case.path for group in pattern.groupindex), "each group is tried"
    before, tried = world.state(), 0
    for names, form in attempts(world, method, pattern, case):
        for cookies in (world.eve.cookies, world.eve_asking.cookies, {}):
            browser = Customer(world.eve.url, HOST, dict(cookies))
            page = request(browser, method, case, names, form)
            revealed = f"{words(page)} {page.headers}"
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


def words(page: requests.Response) -> str:
    """The text of a page, or that of the files of an archive, without the time at which it was created."""
    if page.headers["Content-Type"] != "application/zip":
        return page.text
    with ZipFile(BytesIO(page.content)) as archive:
        text = "\n".join(f"{name}\n{archive.read(name).decode()}" for name in archive.namelist())
    return re.sub(r'"created": "[^"]*"', "", text)


def plain(page: requests.Response, case: Case, names: dict[str, str]) -> str:
    """A page and where it leads, without the path of its request and without what differs each time."""
    text = f"{page.headers.get('Location')}\n{words(page)}".replace(case.path.format_map(names), "")
    for name in ("mask", "code"):
        text = text.replace(names.get(name, "\0"), "")
    return re.sub(r'name="(?:form|token)" value="[^"]*"', "", text)


def test_no_case_is_left_over():
    assert set(CASES) == {name for _method, _pattern, name in EVERY_ROUTE}
