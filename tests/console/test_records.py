"""The addresses that records show, and their targets: pages of records and tickets, files, notifications."""

import base64
import html
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import expect

from server.record_types import describe
from server.web.endpoint_call import SANDBOX
from tests.api.conftest import ITS_OWN
from tests.api.minimal import MINIMAL, made
from tests.console.browser import Browser, violations
from tests.console.visitor import Visitor, place, text_of
from tests.records.desk import Desk
from tests.service import Api

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP4z8CAB+GTG8HSALfKY52fTcuYAAAAAElFTkSuQmCC"
)
SCRIPT = "<script>alert(1)</script>"
MAIL = f"""From: Ana Lund <ana@kite.example>
To: support@desk.example
Subject: The pump leaks
MIME-Version: 1.0
Content-Type: multipart/related; boundary=b

--b
Content-Type: text/html; charset=utf-8

<p>See <b>this</b> &lt;i&gt; <img src="cid:pump@kite"></p>
--b
Content-Type: image/png; name="pump.png"
Content-Id: <pump@kite>
Content-Disposition: inline; filename="pump.png"
Content-Transfer-Encoding: base64

{base64.encodebytes(PICTURE).decode()}
--b--
"""
LISTED = "automation_log"  # its records are not retrieved individually
PROGRAMS = ("/webhooks/",)  # addresses that programs call with other methods
names = pytest.mark.parametrize


@pytest.fixture(scope="module")
def mailed(nora: Api) -> dict[str, Any]:
    """A ticket by mail, with an inline picture; `message` is its message."""
    ticket = nora.parse(MAIL).ok().json
    [message] = nora.found("message", f"ticket.id:{ticket['id']}")
    return ticket | {"message": message}


@pytest.fixture(scope="module")
def one_of_each(nora: Api, desk: Desk, mailed: dict[str, Any]) -> dict[str, int]:
    """A record of every type, built-in and custom."""
    for uri, values in ITS_OWN:
        desk.own(uri, **values)
    desk.own("rating", ticket_id=mailed["id"], score="good", asked_at=1, rated_at=2)
    uris = [each["alias"] for each in nora.get("/rest/contexts/list.json").ok()["results"]]
    found = {uri: made(nora, uri) for uri in uris}
    found |= {"message": mailed["message"], "ticket": mailed["id"]}
    found["draft"] = made(nora, "draft", ticket_id=mailed["id"], type="ticket.reply")
    found["comment"] = made(nora, "comment", target__context="ticket", target_id=mailed["id"])
    parcels = nora.record("custom_record", found["custom_record"]).ok()["uri"]
    return found | {parcels: nora.create(parcels, name="Box").ok()["id"]}


def addresses(value: Any, base: str) -> Iterator[str]:
    """Yields our addresses in a response of the API, including those inside HTML and JSON."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from addresses(each, base)
    elif isinstance(value, str):
        yield from (html.unescape(each) for each in re.findall(rf"{re.escape(base)}/[^\s\"'<>\\]*", value))


def opened(visitor: Visitor, address: str) -> int:
    """Returns the final status, after redirects."""
    response = visitor.session.get(address, timeout=60)
    assert response.url.startswith(visitor.url) and urlsplit(response.url).path != "/login", (address, response.url)
    return response.status_code


def expands(desk: Desk, uri: str) -> str:
    """Returns everything that records of the type can expand."""
    record_type = desk.registry.find(uri)
    return ",".join(each["key"] for each in describe.expand(record_type)) if record_type else ""


@pytest.mark.exhaustive("every link of every record type")
def test_every_address_that_a_record_shows_can_be_opened(
    signed_in: Visitor, nora: Api, desk: Desk, one_of_each: dict[str, int]
) -> None:
    """For every record type, fully expanded."""
    assert len(one_of_each) > len(MINIMAL)
    api = Api(nora.url, nora.token, is_checked=False)  # the shapes of the responses are checked elsewhere
    seen: dict[str, str] = {}
    for uri, id in one_of_each.items():
        asked = expands(desk, uri)
        found = api.search(uri, f"id:{id}", expand=asked).ok().json if uri == LISTED else None
        found = found or api.record(uri, id, asked).ok().json
        for address in addresses(found, nora.url):
            seen.setdefault(address, uri)
        has_page = not desk.registry.find(uri) or desk.registry.type(uri).has_url
        assert not has_page or nora.url in json.dumps(found), uri
    wanted = {each for each in seen if not urlsplit(each).path.startswith(PROGRAMS)}
    wrong = {each: status for each in wanted if (status := opened(signed_in, each)) != 200}
    assert wrong == {}
    kinds = {urlsplit(each).path.split("/")[1] for each in wanted}
    assert {"records", "tickets", "files", "avatars", "notifications"} <= kinds and "profiles" not in kinds


@pytest.mark.exhaustive("every record type and worker")
def test_a_page_opens_for_workers_who_can_read_the_record(
    visitor: Visitor, nora: Api, one_of_each: dict[str, int]
) -> None:
    """milo is a member of the group; olga is in no group."""
    private = nora.create("ticket", subject="Salaries", group_id=nora.ids["private"]).ok().json
    pages = {f"/records/{uri}/{id}": (uri, id) for uri, id in one_of_each.items()}
    pages[f"/tickets/{private['mask']}"] = pages[f"/records/ticket/{private['id']}"] = ("ticket", private["id"])
    statuses = set()
    for name in ("milo", "olga"):
        visitor.sign_in(f"{name}@desk.example")
        for path, (uri, id) in pages.items():
            status = nora.as_(name).record(uri, id).status
            assert opened(visitor, nora.url + path) == status, (name, path)
            statuses.add(status)
        visitor.send("/sign-out", page="/account")
    assert statuses == {200, 403, 405}
    for path in ("/records/org/999999", "/records/nosuch/1", "/tickets/NO-SUCH", "/files/999999",
                 "/notifications/999999", "/profiles/org/acme", "/profiles/nosuch/1"):  # fmt: skip
        visitor.sign_in()
        assert opened(visitor, nora.url + path) == 404, path
        visitor.send("/sign-out", page="/account")
        assert place(visitor.get(path)) == f"/login?next={quote(path, safe='')}", path


def test_addresses_of_older_scripts_redirect(signed_in: Visitor, nora: Api, mailed: dict[str, Any]) -> None:
    ticket, mask, worker = mailed["id"], mailed["mask"], nora.ids["milo"]
    numbered = nora.create("ticket", subject="By number", mask="2026-11-23", group_id=nora.ids["support"]).ok()["id"]
    for path, target in (
        (f"/profiles/ticket/{mask}", f"/tickets/{mask}"), (f"/profiles/ticket/{ticket}", f"/records/ticket/{ticket}"),
        (f"/profiles/ticket/{ticket}-the-pump-leaks", f"/records/ticket/{ticket}"),
        (f"/profiles/ticket/{mask}/conversation?message=1", f"/tickets/{mask}?message=1"),
        ("/profiles/ticket/2026-11-23", "/tickets/2026-11-23"), (f"/records/ticket/{numbered}", "/tickets/2026-11-23"),
        (f"/profiles/worker/{worker}", f"/records/worker/{worker}"),
        (f"/profiles/worker/{worker}-Milo-Test", f"/records/worker/{worker}"),
        (f"/profiles/workers/{worker}-M%C3%BCller/tab", f"/records/worker/{worker}"),
        (f"/profiles/svc.contexts.worker/{worker}", f"/records/worker/{worker}"),
        (f"/records/tickets/{ticket}?comment=2", f"/tickets/{mask}?comment=2"),
    ):  # fmt: skip
        response = signed_in.get(path)
        assert (response.status_code, place(response)) == (303, target), path
    for path in ("/records/org/9223372036854775808", "/profiles/worker/Milo", "/profiles/worker/",
                 "/profiles/worker/1Milo", "/profiles/worker/-1"):  # fmt: skip
        assert signed_in.get(path).status_code == 404, path


# -- a ticket ---------------------------------------------------------------------------------------------------------


def test_a_ticket_shows_its_messages(signed_in: Visitor, nora: Api, mailed: dict[str, Any]) -> None:
    ticket = mailed["id"]
    comment = nora.create("comment", comment=f"Ask {SCRIPT}", target__context="ticket", target_id=ticket).ok()["id"]
    org = nora.create("org", name="Kite & Sons").ok()["id"]
    nora.update("ticket", ticket, links=[f"org:{org}"], owner_id=nora.ids["milo"]).ok()
    page = signed_in.get(f"/tickets/{mailed['mask']}").text
    text = text_of(page)
    assert "See <b>this</b> &lt;i&gt;" in signed_in.get(f"/messages/{mailed['message']}/body").text
    for words in ("The pump leaks", "open", mailed["mask"], "ana@kite.example", f"Ask {SCRIPT}",
                  "Kite & Sons", "Milo Test", "pump.png"):  # fmt: skip
        assert words in text, words
    assert SCRIPT not in page and f'id="message{mailed["message"]}"' in page and f'id="comment{comment}"' in page
    assert f'href="/records/org/{org}"' in page


def test_a_long_ticket_has_pages_and_opens_at_the_requested_entry(signed_in: Visitor, nora: Api) -> None:
    ticket = nora.create("ticket", subject="Long", group_id=nora.ids["support"]).ok().json
    head = "From: ana@kite.example\r\n"
    made = [
        nora.create("message", ticket_id=ticket["id"], sender="ana@kite.example", headers=head, created=1000 + number,
                    content=f"Number {number}. " + "y" * (21_000 if number == 21 else 0)).ok()["id"]
        for number in range(22)
    ]  # fmt: skip
    page = f"/tickets/{ticket['mask']}"
    first = text_of(signed_in.get(page).text)
    assert first.index("Number 2.") < first.index("Number 20.") < first.index("Number 21.")
    assert "Show earlier messages (2 more)" in first and "Number 1." not in first
    earlier = text_of(signed_in.get(f"{page}?back=1").text)
    assert earlier.index("Number 0.") < earlier.index("Number 1.") and "Number 2." not in earlier
    assert "Show later messages (20 more)" in earlier and "Show earlier" not in earlier
    assert "Show the whole message" in first
    assert "more characters" not in signed_in.get(f"/records/message/{made[21]}").text
    assert signed_in.get(f"{page}?message={made[21]}").status_code == 200
    assert place(signed_in.get(f"{page}?message={made[0]}")) == f"{page}?back=1&message={made[0]}#message{made[0]}"
    assert place(signed_in.get(f"{page}?comment=999999")) == "/records/comment/999999"
    shown = nora.record("message", made[0]).ok()["ticket_url"]
    assert shown == f"{nora.url}/records/ticket/{ticket['id']}?message={made[0]}#message{made[0]}"


@names("mask", ["a/b #1 (x)", "Ünïcödé-?&=%25", "~.-_", "x" * 255])
def test_a_ticket_is_found_by_any_of_its_masks(signed_in: Visitor, nora: Api, mask: str) -> None:
    emails = ",".join(f"ana{number}@kite.example" for number in range(23))
    fields = {"subject": "Odd", "mask": mask, "group_id": nora.ids["support"], "participants": emails}
    ticket = nora.create("ticket", **fields).ok().json
    response = signed_in.get(ticket["url"].removeprefix(nora.url))
    assert response.status_code == 200 and ticket["mask"] in text_of(response.text)
    assert "and 3 more" in text_of(response.text)
    assert place(signed_in.get(f"/records/ticket/{ticket['id']}")) == ticket["url"].removeprefix(nora.url)


def test_a_merged_ticket_redirects_to_its_successor(signed_in: Visitor, nora: Api) -> None:
    old, new = (nora.create("ticket", subject=each, group_id=nora.ids["support"]).ok().json for each in ("Old", "New"))
    nora.post("/rest/tickets/merge.json", **{"ticket_ids[]": [new["id"], old["id"]]}).ok()
    assert nora.record("ticket", new["id"]).ok()["status"] == "deleted"
    assert place(signed_in.get(f"/tickets/{new['mask']}")) == f"/tickets/{old['mask']}"


def test_drafts_are_shown_to_readers_of_the_ticket(signed_in: Visitor, visitor: Visitor, nora: Api) -> None:
    ticket = nora.create("ticket", subject="Draft", group_id=nora.ids["support"]).ok().json
    params = {"content": "Dear Ana, not yet"}
    draft = nora.create(
        "draft", type="ticket.reply", ticket_id=ticket["id"], params=params, worker_id=nora.ids["milo"]
    ).ok()["id"]
    page, own = f"/tickets/{ticket['mask']}", "Dear Ana, not yet"
    shown = signed_in.get(page).text
    assert own in shown and f'id="draft{draft}"' in shown, "a colleague sees it"
    for name in ("milo", "olga"):
        visitor.sign_in(f"{name}@desk.example")
        response = visitor.get(page)
        assert response.status_code == nora.as_(name).record("ticket", ticket["id"]).status
        assert (own in response.text) is (response.status_code == 200)
        assert (f'id="draft{draft}"' in response.text) is (name == "olga" and own in response.text), (
            "its writer has a form"
        )
        visitor.send("/sign-out", page="/account")
    letter = nora.create("draft", type="mail.compose", worker_id=nora.ids["milo"], params=params).ok()["id"]
    assert nora.as_("olga").record("draft", letter).status == 403, "what is on no ticket is its writer's"


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive("with and without scripts; files have tests of their own")
def test_inline_pictures_of_messages_are_shown(
    chromium: Browser, signed_in: Visitor, nora: Api, mailed: dict[str, Any]
) -> None:
    shown = nora.record("message", mailed["message"], "content_html").ok()["content_html"]
    [source] = re.findall(r'src="([^"]*)"', shown)
    response = signed_in.get(source.removeprefix(nora.url))
    assert response.content == PICTURE and response.headers["Content-Type"] == "image/png"
    with chromium.page(nora.url, cookies=signed_in.cookies) as page:
        page.goto(f"/tickets/{mailed['mask']}")
        picture = page.frame_locator("#thread iframe.mail").locator("img")
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("each => each.naturalWidth") == 10
        assert violations(page) == []
    with chromium.page(nora.url, cookies=signed_in.cookies, java_script_enabled=False) as page:
        page.goto(f"/tickets/{mailed['mask']}")
        listed = page.locator("#thread .files").get_by_role("link", name="pump.png", exact=True).last
        expect(listed).to_have_attribute("href", re.compile(rf"^{urlsplit(source).path}(/|$)"))


@names(("name", "kind", "shown_as"), [
    ("pump.png", "image/png", "inline"), ("pump.jpg", "IMAGE/JPEG; name=x", "inline"),
    ("page.html", "text/html", "attachment"), ("page.html", "image/svg+xml", "attachment"),
    ("page.xhtml", "application/xhtml+xml", "attachment"), ("notes.txt", "text/plain", "attachment"),
    ("form.pdf", "application/pdf", "attachment"), ("odd.xyz", "no type at all", "attachment"),
])  # fmt: skip
def test_no_browser_mistakes_a_file_for_one_of_our_pages(
    signed_in: Visitor, nora: Api, name: str, kind: str, shown_as: str
) -> None:
    """HTML that claims to be a picture is served as a picture, with sniffing disabled."""
    form = {"file_name": name, "mime_type": kind, "encoding": "text", "content": SCRIPT}
    file = nora.post("/rest/attachments/upload.json", **form).ok()
    response = signed_in.get(file["url_download"].removeprefix(nora.url))
    assert response.text == SCRIPT and response.headers["Content-Disposition"].startswith(f"{shown_as}; filename=")
    assert response.headers["Content-Security-Policy"] == SANDBOX
    assert response.headers["X-Content-Type-Options"] == "nosniff" and "html" not in response.headers["Content-Type"]
    assert "svg" not in response.headers["Content-Type"]
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    api = nora.get(f"/rest/attachments/{file['id']}/download.json")
    same = ("Content-Type", "Content-Security-Policy", "X-Content-Type-Options", "ETag", "Accept-Ranges")
    assert [api.headers[each] for each in same] == [response.headers[each] for each in same]


def test_a_range_of_a_file_is_served_and_no_file_to_others(visitor: Visitor, signed_in: Visitor, nora: Api) -> None:
    ticket = nora.create("ticket", subject="Files", group_id=nora.ids["private"]).ok()["id"]
    file = nora.create("attachment", name="a.txt", content="abcdef", attach=[f"ticket:{ticket}"]).ok()["id"]
    part = signed_in.get(f"/files/{file}", headers={"Range": "bytes=2-3"})
    assert (part.status_code, part.text, part.headers["Content-Range"]) == (206, "cd", "bytes 2-3/6")
    assert signed_in.get(f"/files/{file}", headers={"Range": "bytes=9-"}).status_code == 416
    assert signed_in.session.head(f"{nora.url}/files/{file}/a.txt", timeout=60).headers["Content-Length"] == "6"
    assert place(visitor.get(f"/files/{file}/a.txt")) == f"/login?next=%2Ffiles%2F{file}%2Fa.txt"
    assert Api(nora.url, nora.token).session.get(f"{nora.url}/files/{file}", allow_redirects=False).status_code == 303
    visitor.sign_in("milo@desk.example")
    assert visitor.get(f"/files/{file}").status_code == 403


# -- notifications ----------------------------------------------------------------------------------------------------


def test_following_a_notification_marks_it_as_read(
    signed_in: Visitor, visitor: Visitor, nora: Api, mailed: dict[str, Any]
) -> None:
    def notification(worker: str, **more: Any) -> dict[str, Any]:
        fields = {"activity_point": "custom.other", "params": {"message": "Look"}, "worker_id": nora.ids[worker]}
        return nora.create("notification", **fields | more).ok().json

    about = {"target__context": "svc.contexts.ticket", "target_id": mailed["id"]}
    note = notification("milo", **about)
    path = note["url_markread"].removeprefix(nora.url)
    assert place(signed_in.get(path)) == f"/records/ticket/{mailed['id']}"
    assert nora.record("notification", note["id"]).ok()["is_read"] == 0, "somebody else looked at it"
    visitor.sign_in("milo@desk.example")
    assert place(visitor.get(path)) == f"/records/ticket/{mailed['id']}"
    assert nora.record("notification", note["id"]).ok()["is_read"] == 1
    visitor.send("/sign-out", page="/account")
    visitor.sign_in("olga@desk.example")
    assert visitor.get(path).status_code == 403
    elsewhere = notification("nora", params={"message": "Look", "urls": {"message": "https://evil.example/"}})
    for each in (elsewhere, notification("nora")):
        path = each["url_markread"].removeprefix(nora.url)
        assert place(signed_in.get(path)) == f"/records/notification/{each['id']}"
        assert nora.record("notification", each["id"]).ok()["is_read"] == 1
    assert (
        'href="https://evil.example/" rel="noreferrer"'
        in signed_in.get(f"/records/notification/{elsewhere['id']}").text
    )
