"""Sign-in of a program without a browser, by a code that a worker enters on another device (RFC 8628)."""

from typing import Any

import pytest

from server.access import consents, device_codes, device_flow, provider
from server.access.validator import DEVICE_GRANT
from server.errors import Invalid, TooMany
from tests.oauth.apps import App, Apps, error_of
from tests.records.desk import NOW, Desk

END = NOW + device_codes.DEVICE_CODE_SECONDS


@pytest.fixture(scope="module")
def terminal(apps: Apps) -> App:
    """A command-line app: public, with device codes."""
    return apps.new(name="Terminal", is_public=1, is_device_flow=1, callback_url="none")


def begin(apps: Apps, app: App, now: int = NOW, **changes: str | None) -> dict[str, Any]:
    form = {"scope": "read", **app.login} | changes
    pairs = tuple((name, value) for name, value in form.items() if value is not None)
    response = provider.authorize_device(apps.desk.service, provider.OAuthRequest(pairs, None, "192.0.2.9"), now)
    assert response.status == 200 and response.payload, response
    return response.payload


def poll(apps: Apps, app: App, codes: dict[str, Any], now: int, **changes: str | None) -> provider.OAuthResponse:
    return apps.send(now, **{"grant_type": DEVICE_GRANT, "device_code": codes["device_code"], **app.login} | changes)


def decide(apps: Apps, codes: dict[str, Any], is_allowed: bool = True, now: int = NOW) -> None:
    device_flow.decide(apps.desk.service, apps.worker_id, codes["user_code"], is_allowed, now)


def waiting(apps: Apps, user_code: str, now: int = NOW, client: str = "198.51.100.1") -> device_flow.DeviceRequest:
    return device_flow.waiting_request(apps.desk.service, apps.worker_id, client, user_code, now)


def test_a_program_polls_until_the_worker_allows(apps: Apps, desk: Desk, terminal: App) -> None:
    codes = begin(apps, terminal)
    page = f"{desk.service.base_url}/oauth/device"
    assert codes["verification_uri"] == page
    assert codes["verification_uri_complete"] == f"{page}?user_code={codes['user_code']}"
    assert (codes["expires_in"], codes["interval"]) == (900, 5)
    assert error_of(poll(apps, terminal, codes, NOW + 5)) == (400, "authorization_pending")
    request = waiting(apps, codes["user_code"])
    assert (request.consent.app_name, [each.id for each in request.consent.scopes]) == ("Terminal", ["read"])
    assert request.client == "192.0.2.9"
    decide(apps, codes)
    pair = poll(apps, terminal, codes, NOW + 10).payload
    assert pair and pair["scope"] == "read" and apps.is_good(pair["access_token"])
    assert apps.refresh(terminal, pair["refresh_token"]).status == 200
    assert desk.read(lambda tx: consents.scopes(tx, apps.worker_id, terminal.id)) == {"read"}
    assert error_of(poll(apps, terminal, codes, NOW + 20)) == (400, "invalid_grant")
    with pytest.raises(Invalid, match="unknown or has expired"):
        waiting(apps, codes["user_code"])


def test_a_denied_request_ends(apps: Apps, terminal: App) -> None:
    codes = begin(apps, terminal)
    decide(apps, codes, is_allowed=False)
    assert error_of(poll(apps, terminal, codes, NOW + 5)) == (400, "access_denied")
    with pytest.raises(Invalid):
        decide(apps, codes)


def test_polling_too_often_makes_the_interval_longer(apps: Apps, terminal: App) -> None:
    codes = begin(apps, terminal)
    assert error_of(poll(apps, terminal, codes, NOW + 1)) == (400, "authorization_pending")
    for now, error in ((3, "slow_down"), (12, "slow_down"), (26, "slow_down"), (60, "authorization_pending")):
        assert error_of(poll(apps, terminal, codes, NOW + now)) == (400, error)
    decide(apps, codes)
    assert error_of(poll(apps, terminal, codes, NOW + 61)) == (400, "slow_down")
    assert poll(apps, terminal, codes, NOW + 200).status == 200


def test_codes_expire(apps: Apps, desk: Desk, terminal: App) -> None:
    codes = begin(apps, terminal)
    assert error_of(poll(apps, terminal, codes, END - 1)) == (400, "authorization_pending")
    assert error_of(poll(apps, terminal, codes, END)) == (400, "expired_token")
    for act in (lambda: decide(apps, codes, now=END), lambda: waiting(apps, codes["user_code"], END)):
        with pytest.raises(Invalid, match="start again in the program"):
            act()
    allowed = begin(apps, terminal)
    decide(apps, allowed)
    assert error_of(poll(apps, terminal, allowed, END)) == (400, "expired_token")
    desk.store.write(lambda tx: provider.forget_useless(tx, END + 1))
    assert error_of(poll(apps, terminal, codes, END + 9)) == (400, "invalid_grant")


def test_a_code_is_accepted_however_it_is_typed(apps: Apps, terminal: App) -> None:
    code = begin(apps, terminal)["user_code"]
    assert len(code) == 9 and set(code) <= {*device_codes.ALPHABET, "-"}
    for typed in (code, code.lower(), code.replace("-", ""), f" {code[:2]} {code[2:]} ", code.replace("-", "–")):
        assert waiting(apps, typed).consent.app_id == terminal.id


REFUSED = [
    ({"client_id": "nobody"}, "stock", (401, "invalid_client")),
    ({"client_secret": "wrong"}, "stock", (401, "invalid_client")),
    ({"scope": "nosuch"}, "terminal", (400, "invalid_scope")),
    ({}, "stock", (400, "unauthorized_client")),
    ({}, "phone", (400, "unauthorized_client")),
]


@pytest.mark.parametrize(("changes", "name", "expected"), REFUSED)
def test_requests_for_codes_that_are_refused(changes, name, expected, apps: Apps, terminal: App) -> None:
    app = terminal if name == "terminal" else getattr(apps, name)
    pairs = tuple(({"scope": "read", **app.login} | changes).items())
    sent = provider.OAuthRequest(pairs, None, f"192.0.2.{100 + REFUSED.index((changes, name, expected))}")
    assert error_of(provider.authorize_device(apps.desk.service, sent, NOW)) == expected


def test_a_code_works_only_for_its_app(apps: Apps, terminal: App) -> None:
    thief = apps.new(name="Thief", is_public=1, is_device_flow=1, callback_url="none")
    codes = begin(apps, terminal)
    decide(apps, codes)
    assert error_of(poll(apps, thief, codes, NOW + 5, client="192.0.2.55")) == (400, "invalid_grant")
    assert poll(apps, terminal, codes, NOW + 10).status == 200


def test_an_app_whose_device_flow_was_disabled_gets_nothing(apps: Apps, desk: Desk) -> None:
    app = apps.new(name="Once a terminal", is_public=1, is_device_flow=1, callback_url="none")
    codes = begin(apps, app)
    desk.update("oauth_app", app.id, is_device_flow=0)
    with pytest.raises(Invalid):
        waiting(apps, codes["user_code"])
    assert error_of(poll(apps, app, codes, NOW + 5)) == (400, "unauthorized_client")


def test_codes_cannot_be_guessed(apps: Apps, desk: Desk, terminal: App) -> None:
    worker_id = desk.worker("guesser")
    code = begin(apps, terminal)["user_code"]
    guess = lambda text: device_flow.waiting_request(desk.service, worker_id, "203.0.113.5", text, NOW)  # noqa: E731
    for number in range(10):
        with pytest.raises(Invalid):
            guess("BBBB-BBB" + device_codes.ALPHABET[number])
    with pytest.raises(TooMany):
        guess(code)
    assert waiting(apps, code).consent.app_id == terminal.id


def test_one_app_cannot_fill_the_table(apps: Apps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_codes, "MAX_OPEN_DEVICE_CODES", 2)
    app = apps.new(name="Flood", is_public=1, is_device_flow=1, callback_url="none")
    begin(apps, app)
    begin(apps, app)
    sent = provider.OAuthRequest(tuple(app.login.items()), None, "192.0.2.200")
    assert error_of(provider.authorize_device(apps.desk.service, sent, NOW))[1] == "temporarily_unavailable"
    begin(apps, app, END)
