"""A whole login by openid-client, a client for Node.js that follows the RFCs strictly; `make` installs it."""

import pytest

from tests.oauth.apps import register
from tests.oauth.browser import Browser
from tests.oauth.node import running, send, value_of
from tests.service import Api

PUBLIC = {"is_public": 1, "callback_url": "http://127.0.0.1/back"}


@pytest.mark.parametrize(
    ("fields", "callback"), [({}, "https://stock.example/back"), (PUBLIC, "http://127.0.0.1:49153/back")]
)
def test_openid_client_logs_in_renews_and_logs_out(fields, callback: str, nora: Api) -> None:
    app = register(nora, **fields)
    with running("login.mjs", nora.url, app.client_id, app.secret, callback) as node:
        browser = Browser(nora.url)
        browser.open(value_of(node))
        browser.sign_in()
        send(node, browser.send(answer="allow"))
        results = value_of(node)
    assert results == {
        "statuses": ["invalid_token", 200, "invalid_token"], "active": True, "scope": "read", "expires_in": 3600
    }  # fmt: skip
