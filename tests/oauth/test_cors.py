"""Requests of web apps from another origin: allowed for the origins of public apps, with a token and without
cookies."""

import pytest
import requests

from server.web import cors
from tests.oauth.apps import App, register
from tests.service import Api

ORIGIN = "https://spa.example"
ASKS = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture
def spa(api: Api) -> App:
    """An app in the browser, with a callback for development on any port."""
    return register(
        api, name="Board", is_public=1, callback_url=f"{ORIGIN}/back\nhttp://localhost/back\ncom.example:/x"
    )


@pytest.fixture
def confidential(api: Api) -> App:
    return register(api, name="Server side", callback_url="https://server.example/back")


ORIGINS = [
    (ORIGIN, True), ("http://localhost", True), ("http://localhost:5173", True),
    ("https://server.example", False), ("https://other.example", False), ("http://spa.example", False),
    ("https://spa.example:8443", False), ("https://spa.example.evil.example", False), ("https://spa.example/", False),
    ("http://localhost.evil.example", False), ("http://localhost:5173@evil.example", False),
    ("http://[::1]", False),
    ("null", False), ("com.example:", False), ("*", False), ("https://SPA.example", False),
]  # fmt: skip
PATHS = ["/rest/workers/me.json", "/rest/records/org/1.json", "/oauth/access_token", "/oauth/revoke"]


@pytest.mark.parametrize(("origin", "is_allowed"), ORIGINS)
@pytest.mark.usefixtures("spa", "confidential")
def test_origins_of_public_apps_are_allowed(origin: str, is_allowed: bool, api: Api) -> None:
    for path in PATHS:
        response = requests.options(api.url + path, headers={"Origin": origin, **ASKS}, timeout=60)
        names = {name for name in response.headers if name.startswith("Access-Control")}
        if is_allowed:
            assert response.status_code == 204 and response.headers["Access-Control-Allow-Origin"] == origin
            assert response.headers["Access-Control-Allow-Methods"] == cors.METHODS
            assert "Authorization" in response.headers["Access-Control-Allow-Headers"]
            assert response.headers["Vary"] == "Origin" and "Access-Control-Allow-Credentials" not in names
        else:
            assert not names
    header = {"Origin": origin, "Authorization": f"Bearer {api.token}"}
    response = requests.get(f"{api.url}/rest/workers/me.json", headers=header, timeout=60)
    assert response.status_code == 200
    assert response.headers.get("Access-Control-Allow-Origin") == (origin if is_allowed else None)


@pytest.mark.usefixtures("spa")
def test_errors_and_writes_can_be_read(api: Api) -> None:
    header = {"Origin": ORIGIN, "Authorization": f"Bearer {api.token}"}
    url = f"{api.url}/rest/records/org"
    made = requests.post(f"{url}/create.json", {"fields[name]": "Kite"}, headers=header, timeout=60)
    refused = requests.post(f"{url}/create.json", {"fields[nam]": "Kite"}, headers=header, timeout=60)
    missing = requests.get(f"{api.url}/rest/nothing.json", headers=header, timeout=60)
    anonymous = requests.get(f"{api.url}/rest/workers/me.json", headers={"Origin": ORIGIN}, timeout=60)
    wrong = requests.post(f"{api.url}/oauth/token", {"grant_type": "x"}, headers={"Origin": ORIGIN}, timeout=60)
    for response, status in ((made, 200), (refused, 422), (missing, 404), (anonymous, 401), (wrong, 400)):
        assert response.status_code == status, response.text
        assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert "X-Request-Id" in response.headers["Access-Control-Expose-Headers"]


def test_deleting_an_app_removes_its_origin(api: Api) -> None:
    app = register(api, name="Short-lived", is_public=1, callback_url="https://gone.example/back")
    header = {"Origin": "https://gone.example", **ASKS}
    assert requests.options(api.url + PATHS[0], headers=header, timeout=60).status_code == 204
    api.update("oauth_app", app.id, is_public=0).ok()
    assert requests.options(api.url + PATHS[0], headers=header, timeout=60).status_code == 401
    api.update("oauth_app", app.id, is_public=1).ok()
    assert requests.options(api.url + PATHS[0], headers=header, timeout=60).status_code == 204
    api.delete(f"/rest/records/oauth_app/{app.id}.json").ok()
    assert requests.options(api.url + PATHS[0], headers=header, timeout=60).status_code == 401


def test_metadata_are_readable_from_every_origin(api: Api) -> None:
    for path in ("oauth-authorization-server", "oauth-protected-resource"):
        response = requests.get(f"{api.url}/.well-known/{path}", headers={"Origin": "https://any.example"}, timeout=60)
        assert response.headers["Access-Control-Allow-Origin"] == "*"
