"""Webhooks to chat programs in the console: the choice of a program, the form, the preview, and secret addresses."""

import html
import re

import pytest

from server.outgoing.chat_programs import PROGRAMS
from tests.console.browser import Browser, is_sideways, violations
from tests.console.visitor import Visitor
from tests.service import Api, Server

NEW = "/automations/outgoing/chats/new"
SLACK = "https://hooks.slack.com/services/T1/B1/secretpart"


def new(program: str) -> str:
    return f"{NEW}?program={program}"


def created(visitor: Visitor, program: str, **fields: object) -> int:
    form = {"name": f"To {program}", "chosen[]": ["ticket.created"], "is_disabled": "1"} | fields
    response = visitor.send(new(program), form, new(program))
    assert response.status_code == 303, re.findall(r'class="wrong"[^>]*>[^<]*', response.text)
    return int(response.headers["Location"].rpartition("/")[2])


def test_the_programs_to_choose(signed_in: Visitor) -> None:
    page = signed_in.get(NEW).text
    assert all(f'href="{new(program)}"' in page for program in PROGRAMS)
    assert 'href="/automations/outgoing/new"' in page
    assert all(html.escape(f'placeholder="{each.example}"', quote=False) in signed_in.get(new(name)).text
               for name, each in PROGRAMS.items() if name != "matrix")  # fmt: skip


def test_a_form_creates_and_changes_a_webhook(signed_in: Visitor, nora: Api) -> None:
    group = nora.create("group", name="Pumps of chats").ok()["id"]
    saved = nora.create(
        "saved_search", name="Open pumps", context="ticket", query="status:open", owner__context="app", owner_id=0
    ).ok()["id"]
    chosen = {"chosen[]": ["ticket.created", "ticket.late"], "group_id": group, "saved_id": saved, "query": "Pump"}
    id = created(signed_in, "slack", url=SLACK, has_text="1", language="de_DE", **chosen)
    record = nora.record("outgoing_webhook", id).ok()
    assert (record["program"], record["events"], record["has_text"]) == ("slack", "ticket.created, ticket.late", 1)
    assert (
        record["query"] == f"(group.id:{group}) (status:open) (Pump)" and record["url"] == "https://hooks.slack.com/…"
    )
    path = f"/automations/outgoing/chats/{id}"
    page = signed_in.get(path).text
    assert "secretpart" not in page and page.count("checked") == 3
    assert signed_in.get(f"/automations/outgoing/{id}").headers["Location"] == path
    kept = {"name": "Renamed", "url": record["url"], "chosen[]": ["ticket.closed"], "query": ""}
    assert signed_in.send(path, kept, path).status_code == 303
    changed = nora.record("outgoing_webhook", id).ok()
    assert (changed["name"], changed["events"], changed["query"]) == ("Renamed", "ticket.closed", "")
    assert signed_in.send(f"/automations/outgoing/{id}/rotate", {}, path).status_code == 422
    for uri, made in (("outgoing_webhook", id), ("saved_search", saved), ("group", group)):
        nora.remove(uri, made).ok()


@pytest.mark.parametrize(
    ("program", "fields", "message"),
    [
        ("slack", {"url": "https://slack.com/x"}, "not an address of Slack, such as https://hooks.slack.com/services/"),
        ("slack", {"url": SLACK, "chosen[]": []}, "Events"),
        ("matrix", {"url": "https://m.example", "room": "#a:b", "token": "tk"}, "an id such as !abcdef:example.org"),
        ("matrix", {"url": "https://m.example", "room": "!a:b", "token": ""}, "needs an access token"),
        ("ntfy", {"url": "https://ntfy.sh/kite", "token": "tk\nX-Other: 1"}, "paste the access token alone"),
    ],
)
def test_mistakes_are_shown_in_the_form(
    signed_in: Visitor, program: str, fields: dict[str, object], message: str
) -> None:
    form = {"name": "x", "chosen[]": ["ticket.created"]} | fields
    response = signed_in.send(new(program), form, new(program))
    assert response.status_code == 422 and message.lower() in html.unescape(response.text).lower()
    assert 'role="alert"' in response.text


def test_a_token_and_a_room(signed_in: Visitor, nora: Api) -> None:
    id = created(signed_in, "matrix", url="https://m.example", room="!abc:m.example", token="secret-token")
    record = nora.record("outgoing_webhook", id).ok()
    assert record["url"] == "https://m.example/_matrix/client/v3/rooms/!abc:m.example/send/m.room.message"
    page = signed_in.get(f"/automations/outgoing/chats/{id}").text
    assert "secret-token" not in page and "headers" not in record.json
    nora.remove("outgoing_webhook", id).ok()


def test_the_preview_follows_the_form(signed_in: Visitor, nora: Api) -> None:
    form = {"name": "Only seen", "chosen[]": ["ticket.late"], "language": "de_DE", "do": "preview"}
    page = html.unescape(signed_in.send(new("teams"), form, new("teams")).text)
    assert '"type": "AdaptiveCard"' in page and "Gruppe: Support" in page
    spoken = form | {"chosen[]": ["ticket.created"], "has_text": "1", "language": "en_US"}
    page = html.unescape(signed_in.send(new("teams"), spoken, new("teams")).text)
    assert "<blockquote>The pump in hall 2 leaks" in page
    for language in ("../../de", "xx", "de_DE\x00"):
        assert signed_in.send(new("teams"), form | {"language": language}, new("teams")).status_code < 500
    assert nora.search("outgoing_webhook", "name:'Only seen'").ok()["total"] == 0


@pytest.mark.exhaustive("every program on a phone")
def test_the_pages_on_a_phone_and_for_everybody(server: Server, nora_in_a_browser: Visitor, chromium: Browser) -> None:
    with chromium.page(server.url, (390, 844), nora_in_a_browser.cookies) as page:
        for path in (NEW, new("discord"), new("matrix")):
            page.goto(server.url + path)
            assert not is_sideways(page) and not violations(page)
