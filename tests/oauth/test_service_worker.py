"""Client credentials: an app that acts by itself, as the worker that an administrator chose (RFC 6749, 4.4)."""

from typing import Any

import pytest

from server.access import provider
from server.errors import Invalid
from tests.oauth.apps import App, Apps, error_of
from tests.records.desk import NOW, Desk

HOUR = 3600


@pytest.fixture(scope="module")
def sync(apps: Apps, ids: dict[str, int]) -> App:
    """An app with olga as its service worker."""
    return apps.new(name="Nightly sync", service_worker_id=ids["olga"])


def credentials(apps: Apps, app: App, now: int = NOW, /, **changes: str | None) -> Any:
    return apps.send(now, **{"grant_type": "client_credentials", "scope": "read", **app.login} | changes)


def test_an_app_gets_tokens_of_its_service_worker(apps: Apps, sync: App, ids: dict[str, int]) -> None:
    pair = credentials(apps, sync).payload
    assert pair.keys() == {"access_token", "expires_in", "scope", "token_type"}
    assert (pair["expires_in"], pair["scope"]) == (HOUR, "read")
    assert apps.is_good(pair["access_token"]) and not apps.is_good(pair["access_token"], NOW + HOUR)
    token = apps.form(provider.introspect, sync, token=pair["access_token"]).payload
    assert token is not None and (token["sub"], token["scope"]) == (str(ids["olga"]), "read")
    other = credentials(apps, sync, scope=None, authorization=sync.basic, client_id=None, client_secret=None).payload
    assert other["scope"] == "api"
    assert apps.form(provider.revoke, sync, token=pair["access_token"]).status == 200
    assert not apps.is_good(pair["access_token"]) and apps.is_good(other["access_token"])


REFUSED = [
    ({"scope": "nosuch"}, 400, "invalid_scope"),
    ({"client_secret": "wrong"}, 401, "invalid_client"),
    ({"client_secret": None}, 401, "invalid_client"),
    ({"client_id": None, "client_secret": None}, 401, "invalid_client"),
]


@pytest.mark.parametrize(("changes", "status", "error"), REFUSED)
def test_refused_requests(changes, status: int, error: str, apps: Apps, sync: App) -> None:
    assert error_of(credentials(apps, sync, client="192.0.2.77", **changes)) == (status, error)


def test_other_apps_get_no_tokens(apps: Apps, ids: dict[str, int]) -> None:
    assert error_of(credentials(apps, apps.stock)) == (400, "unauthorized_client")
    assert error_of(credentials(apps, apps.phone, client="192.0.2.78")) == (401, "invalid_client")
    with pytest.raises(Invalid, match="public app"):
        apps.new(name="Phone with a worker", is_public=1, service_worker_id=ids["olga"])
    with pytest.raises(Invalid, match="no worker 999"):
        apps.new(name="No such worker", service_worker_id=999)


def test_tokens_end_when_the_service_worker_changes(apps: Apps, desk: Desk, ids: dict[str, int]) -> None:
    app = apps.new(name="Moved", service_worker_id=ids["olga"])
    first = credentials(apps, app).payload["access_token"]
    desk.update("oauth_app", app.id, name="Moved again", service_worker_id=ids["olga"])
    assert apps.is_good(first)
    desk.update("oauth_app", app.id, service_worker_id=ids["milo"])
    second = credentials(apps, app).payload["access_token"]
    assert not apps.is_good(first) and apps.is_good(second)
    desk.update("oauth_app", app.id, is_public=1)
    assert not apps.is_good(second)
    desk.update("oauth_app", app.id, is_public=0, client_secret=app.secret)
    assert error_of(credentials(apps, app)) == (400, "unauthorized_client")


def test_a_disabled_worker_has_no_app(apps: Apps, desk: Desk) -> None:
    worker = desk.worker("vera")
    app = apps.new(name="Disabled", service_worker_id=worker)
    token = credentials(apps, app).payload["access_token"]
    desk.update("worker", worker, is_disabled=1)
    assert not apps.is_good(token)
    assert error_of(credentials(apps, app)) == (400, "unauthorized_client")
    desk.update("worker", worker, is_disabled=0)
    assert not apps.is_good(token) and credentials(apps, app).status == 200
