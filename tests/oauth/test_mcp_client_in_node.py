"""The official TypeScript SDK of the Model Context Protocol as an assistant, from the first refusal to a draft; `make`
installs it. Nothing of it is in the product."""

from urllib.parse import parse_qs, urlsplit

import pytest

from server.record_types.shared import assistant_scopes
from tests.oauth.apps import CALLBACK
from tests.oauth.browser import Browser
from tests.oauth.node import running, send, value_of
from tests.service import Api

pytestmark = [
    pytest.mark.sqlite("the same with any store"),
    pytest.mark.exhaustive("clients that others make"),
]

MAIL = "From: ana@example.com\nTo: h@desk.example\nSubject: Kettle\nMessage-Id: <1@x>\n\nIt leaks."


def test_the_typescript_sdk_signs_in_drafts_and_may_not_send(started: Api) -> None:
    ticket = started.parse(MAIL).ok()["id"]
    app = started.create("oauth_app", name="SDK", callback_url=CALLBACK, is_public=1).ok()
    with running("assistant.mjs", f"{started.url}/mcp", app["client_id"], CALLBACK, str(ticket)) as node:
        url = value_of(node)
        browser = Browser(started.url)
        browser.open(url)
        browser.sign_in()
        send(node, browser.send(answer="allow"))
        results = value_of(node)
    request = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert request["scope"].split() == list(assistant_scopes.DEFAULT), "what the first refusal named"
    assert request["resource"] == f"{started.url}/mcp" and request["code_challenge_method"] == "S256"
    assert {"search_tickets", "draft_reply", "send_reply"} <= set(results["tools"])
    assert results["found"] == [ticket] and results["text"].strip() == "It leaks."
    assert results["is_sent"] is False and results["scope"] == request["scope"]
    # It tried to get the missing scope by its refresh token, which adds none.
    assert results["status"] == 403 and results["asked"] == assistant_scopes.SEND
    assert started.search("message", "isOutgoing:yes").ok()["total"] == 0
