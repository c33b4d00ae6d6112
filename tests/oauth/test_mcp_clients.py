"""The official Python SDK of the Model Context Protocol as an assistant: it finds out where to sign in, signs in by
consent, uses the tools, and learns which scope it lacks. Nothing of it is in the product."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from server.record_types.shared import assistant_scopes
from tests.oauth.apps import CALLBACK, answer_of
from tests.oauth.browser import Browser
from tests.service import Api
from tests.web.assistant_client import LEGACY, MODERN

pytestmark = [
    pytest.mark.sqlite("the same with any store"),
    pytest.mark.exhaustive("clients that others make"),
]

MAIL = "From: ana@example.com\nTo: h@desk.example\nSubject: Kettle {n}\nMessage-Id: <{n}@x>\n\nIt leaks {n}."
SECONDS = 60


@dataclass
class Person:
    """A worker who signs in in a browser, allows the first request and denies all others, and what the SDK stores.
    requests: the parameters of the requests for consent."""

    browser: Browser
    app: OAuthClientInformationFull
    tokens: OAuthToken | None = None
    requests: list[dict[str, str]] = field(default_factory=list)
    back: str = ""

    async def open(self, url: str) -> None:
        """Opens the page of consent and decides."""
        self.requests.append({name: values[0] for name, values in parse_qs(urlsplit(url).query).items()})
        self.browser.open(url)
        if "/login" in self.browser.url:
            self.browser.sign_in()
        self.back = self.browser.send(answer="allow" if len(self.requests) == 1 else "deny")

    async def come_back(self) -> AuthorizationCodeResult:
        """Returns what the browser brings back to the callback."""
        found = answer_of(self.back)
        return AuthorizationCodeResult(code=found.get("code", ""), state=found["state"], iss=found.get("iss"))

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.app

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.app = client_info


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_the_python_sdk_signs_in_drafts_and_may_not_send(started: Api, revision: str) -> None:
    number = 1 if revision == MODERN else 2
    ticket = started.parse(MAIL.format(n=number)).ok()["id"]
    app = started.create("oauth_app", name=f"SDK {number}", callback_url=CALLBACK, is_public=1).ok()
    who = {"client_id": app["client_id"], "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    person = Person(Browser(started.url), OAuthClientInformationFull.model_validate(who))
    with ThreadPoolExecutor(1) as thread:  # since the browser of other tests has an event loop in this one
        results = thread.submit(anyio.run, use, f"{started.url}/mcp", person, revision, ticket).result()
    assert results["revision"] == revision
    assert {"search_tickets", "draft_reply", "send_reply"} <= results["tools"]
    assert ticket in results["found"] and results["text"] == f"It leaks {number}."
    assert results["is_sent"] is False
    # It asked for what the first refusal named, for this resource; then for what it lacked, which the person denied.
    first, second = person.requests
    assert first["scope"].split() == list(assistant_scopes.DEFAULT)
    assert first["resource"] == f"{started.url}/mcp" and first["code_challenge_method"] == "S256"
    assert set(second["scope"].split()) == {*assistant_scopes.DEFAULT, assistant_scopes.SEND}
    assert person.tokens is not None and person.tokens.scope == first["scope"]
    assert started.search("message", "isOutgoing:yes").ok()["total"] == 0


async def use(address: str, person: Person, revision: str, ticket: int) -> dict[str, Any]:
    """Uses the tools; returns what they return."""
    metadata = OAuthClientMetadata.model_validate({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"})
    signing = OAuthClientProvider(address, metadata, person, person.open, person.come_back)
    mode = "legacy" if revision == LEGACY else "auto"
    results: dict[str, Any] = {}
    with pytest.RaisesGroup(OAuthFlowError, flatten_subgroups=True), anyio.fail_after(SECONDS):
        async with (
            httpx2.AsyncClient(auth=signing, timeout=SECONDS, trust_env=False) as http,
            Client(streamable_http_client(address, http_client=http), mode=mode) as client,
        ):
            results["revision"] = client.protocol_version
            results["tools"] = {each.name for each in (await client.list_tools()).tools}
            found = await call(client, "search_tickets", query="sort:id")
            results["found"] = [each["id"] for each in found["results"]]
            read = await call(client, "read_ticket", ticket_id=ticket)
            results["text"] = read["entries"][0]["text"].strip()
            results["is_sent"] = (await call(client, "draft_reply", ticket_id=ticket, content="Dear Ana"))["is_sent"]
            await call(client, "send_reply", ticket_id=ticket, content="Sent!")  # the person denies it the scope
    return results


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error and result.structured_content is not None, result
    return result.structured_content
