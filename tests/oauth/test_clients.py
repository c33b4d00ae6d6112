"""Whole logins by third-party client libraries, as users of the API would use them."""

from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from requests_oauthlib import OAuth2Session

from tests.oauth.apps import CALLBACK, VERIFIER, challenge, register
from tests.oauth.browser import Browser
from tests.service import Api

ME = "/rest/workers/me.json"


@pytest.fixture(autouse=True)
def plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allows plain HTTP: without these variables the libraries refuse URLs that are not https."""
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")


@pytest.fixture(scope="module")
def metadata(nora: Api) -> dict[str, str]:
    """The metadata of the authorization server, which clients read to find the endpoints."""
    return requests.get(f"{nora.url}/.well-known/oauth-authorization-server", timeout=60).json()


def consented(server: str, url: str) -> str:
    """Opens a client's URL in nora's browser, signs in and allows; returns the final URL."""
    browser = Browser(server)
    browser.open(url)
    browser.sign_in()
    return browser.send(answer="allow")


def test_requests_oauthlib_with_a_secret(nora: Api, metadata: dict[str, str]) -> None:
    app = register(nora)
    client = OAuth2Session(app.client_id, redirect_uri=CALLBACK, scope=["read"], pkce="S256")
    url, state = client.authorization_url(metadata["authorization_endpoint"])
    back = consented(nora.url, url)
    assert parse_qs(urlsplit(back).query)["state"] == [state]
    first = client.fetch_token(metadata["token_endpoint"], authorization_response=back, client_secret=app.secret)
    assert first["scope"] == ["read"] and client.get(nora.url + ME).status_code == 200
    second = client.refresh_token(metadata["token_endpoint"], auth=(app.client_id, app.secret))
    assert second["refresh_token"] != first["refresh_token"]
    assert client.get(nora.url + ME).status_code == 200
    assert Api(nora.url, first["access_token"]).get(ME).status == 401


def test_requests_oauthlib_refused(nora: Api, metadata: dict[str, str]) -> None:
    app = register(nora)
    client = OAuth2Session(app.client_id, redirect_uri=CALLBACK, scope=["read"], pkce="S256")
    browser = Browser(nora.url)
    browser.open(client.authorization_url(metadata["authorization_endpoint"])[0])
    browser.sign_in()
    back = browser.send(answer="deny")
    with pytest.raises(Exception, match="access_denied"):
        client.fetch_token(metadata["token_endpoint"], authorization_response=back, client_secret=app.secret)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_authlib_with_a_secret(method: str, nora: Api, metadata: dict[str, str]) -> None:
    app = register(nora)
    client = AuthlibSession(
        app.client_id, app.secret, scope="read write", redirect_uri=CALLBACK, code_challenge_method="S256",
        token_endpoint_auth_method=method, revocation_endpoint_auth_method=method,
    )  # fmt: skip
    url, state = client.create_authorization_url(metadata["authorization_endpoint"], code_verifier=VERIFIER)
    assert f"code_challenge={challenge()}" in url
    back = consented(nora.url, url)
    first = client.fetch_token(
        metadata["token_endpoint"], authorization_response=back, code_verifier=VERIFIER, state=state
    )
    assert first["scope"] == "read write" and client.get(nora.url + ME).status_code == 200
    second = client.refresh_token(metadata["token_endpoint"], refresh_token=first["refresh_token"])
    assert client.get(nora.url + ME).status_code == 200
    shown = client.introspect_token(metadata["introspection_endpoint"], token=second["access_token"])
    assert shown.json()["active"] is True
    assert client.revoke_token(metadata["revocation_endpoint"], token=second["refresh_token"]).status_code == 200
    assert Api(nora.url, second["access_token"]).get(ME).status == 401


def test_authlib_without_a_secret_on_a_free_port(nora: Api, metadata: dict[str, str]) -> None:
    app = register(nora, is_public=1, callback_url="http://127.0.0.1/back")
    client = AuthlibSession(
        app.client_id, scope="read", redirect_uri="http://127.0.0.1:49152/back", code_challenge_method="S256",
        token_endpoint_auth_method="none",
    )  # fmt: skip
    url, _ = client.create_authorization_url(metadata["authorization_endpoint"], code_verifier=VERIFIER)
    back = consented(nora.url, url)
    assert back.startswith("http://127.0.0.1:49152/back?")
    found = client.fetch_token(metadata["token_endpoint"], authorization_response=back, code_verifier=VERIFIER)
    assert found["scope"] == "read" and client.get(nora.url + ME).status_code == 200
    assert client.refresh_token(metadata["token_endpoint"], refresh_token=found["refresh_token"])["access_token"]
