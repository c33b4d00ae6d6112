"""The token endpoint: codes and refresh tokens for tokens, each of its errors, and everything that is used twice."""

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.access import codes, consents, families, lockout, provider, tokens
from server.apps import app_tokens
from server.errors import Invalid, TooMany
from tests import databases
from tests.oauth.apps import CALLBACK, VERIFIER, App, Apps, challenge, error_of
from tests.records.desk import NOW, Desk

HOUR, DAY, YEAR = 3600, 86400, 365 * 86400


def test_a_code_is_exchanged_for_a_pair(apps: Apps) -> None:
    found = apps.pair(apps.stock, scope="read write")
    assert found.keys() == {"access_token", "refresh_token", "token_type", "expires_in", "scope"}
    assert (found["token_type"], found["expires_in"], found["scope"]) == ("Bearer", HOUR, "read write")
    assert found["access_token"].startswith("svc_at_") and len(found["access_token"]) == 50
    assert found["refresh_token"].startswith("svc_rt_") and len(found["refresh_token"]) == 50
    assert apps.is_good(found["access_token"]) and not apps.is_good(found["refresh_token"])
    assert apps.is_good(found["access_token"], NOW + HOUR - 1) and not apps.is_good(found["access_token"], NOW + HOUR)


# replaced parameters, status and error
WRONG = [
    ({"grant_type": None}, 400, "invalid_request"),
    ({"grant_type": ""}, 400, "invalid_request"),
    ({"grant_type": "client_credentials"}, 400, "unauthorized_client"),
    ({"grant_type": "password", "username": "nora", "password": "x"}, 400, "unsupported_grant_type"),
    ({"grant_type": "implicit"}, 400, "unsupported_grant_type"),
    ({"grant_type": "openid"}, 400, "unsupported_grant_type"),
    ({"grant_type": "Authorization_code"}, 400, "unsupported_grant_type"),
    ({"grant_type": "urn:ietf:params:oauth:grant-type:device_code"}, 400, "unauthorized_client"),
    ({"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}, 400, "unsupported_grant_type"),
    ({"grant_type": "refresh_token"}, 400, "invalid_request"),
    ({"client_id": None}, 401, "invalid_client"),
    ({"client_id": "nobody"}, 401, "invalid_client"),
    ({"client_secret": None}, 401, "invalid_client"),
    ({"client_secret": "wrong"}, 401, "invalid_client"),
    ({"client_secret": "wrong\x00é"}, 401, "invalid_client"),
    ({"client_id": None, "client_secret": None}, 401, "invalid_client"),
    ({"code": None}, 400, "invalid_request"),
    ({"code": "nosuch"}, 400, "invalid_grant"),
    ({"code": "x" * 4000}, 400, "invalid_grant"),
    ({"redirect_uri": None}, 400, "invalid_grant"),
    ({"redirect_uri": CALLBACK + "/"}, 400, "invalid_grant"),
    ({"redirect_uri": "https://other.example/back"}, 400, "invalid_grant"),
    ({"code_verifier": None}, 400, "invalid_request"),
    ({"code_verifier": VERIFIER + "x"}, 400, "invalid_grant"),
    ({"code_verifier": "short"}, 400, "invalid_grant"),
    ({"code_verifier": challenge()}, 400, "invalid_grant"),
    ({"code_verifier": "é" * 50}, 400, "invalid_grant"),
]


@pytest.mark.parametrize(("changes", "status", "error"), WRONG)
def test_errors_of_an_exchange_leave_the_code_valid(changes, status: int, error: str, apps: Apps, desk: Desk) -> None:
    code = apps.code(apps.stock, redirect_uri=CALLBACK)
    forgive(desk)
    assert error_of(apps.exchange(apps.stock, code, **{"redirect_uri": CALLBACK} | changes)) == (status, error)
    assert apps.exchange(apps.stock, code, redirect_uri=CALLBACK).status == 200


def forgive(desk: Desk) -> None:
    """Removes all recorded failures."""
    desk.store.write(lambda tx: lockout.forget_over(tx, NOW + YEAR * 10))


def test_a_repeated_parameter_is_refused(apps: Apps, desk: Desk) -> None:
    code = apps.code(apps.stock)
    sent = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, **apps.stock.login}
    for name in ("grant_type", "code", "client_id", "client_secret", "code_verifier", "scope"):
        pairs = (*sent.items(), (name, "x"), *([(name, "y")] if name == "scope" else []))
        with pytest.raises(Invalid, match=f"{name} is sent more than once"):
            provider.exchange(desk.service, provider.OAuthRequest(pairs, None, ""), NOW)
    with pytest.raises(Invalid, match="more than 4096"):
        apps.exchange(apps.stock, "x" * 5000)
    assert apps.exchange(apps.stock, code, scope="", user="1", client="x", scopes="api").status == 200


def test_a_callback_that_was_not_named_need_not_be_repeated(apps: Apps) -> None:
    assert apps.exchange(apps.stock, apps.code(apps.stock)).status == 200
    assert apps.exchange(apps.stock, apps.code(apps.stock), redirect_uri=CALLBACK).status == 200
    assert error_of(apps.exchange(apps.stock, apps.code(apps.stock), redirect_uri="https://x.example/")) == (
        400,
        "invalid_grant",
    )


@pytest.mark.parametrize(("after", "status"), [(codes.CODE_SECONDS - 1, 200), (codes.CODE_SECONDS, 400), (DAY, 400)])
def test_a_code_lasts_a_minute(after: int, status: int, apps: Apps) -> None:
    assert apps.exchange(apps.stock, apps.code(apps.stock), NOW + after).status == status


def test_a_code_works_only_for_the_app_that_requested_it(apps: Apps) -> None:
    code = apps.code(apps.stock)
    for thief in (apps.other, apps.phone):
        assert error_of(apps.exchange(thief, code)) == (400, "invalid_grant")
    assert error_of(apps.exchange(apps.stock, code, client_id=apps.other.client_id)) == (401, "invalid_client")
    assert apps.exchange(apps.stock, code).status == 200


def test_a_code_that_is_used_again_revokes_its_tokens(apps: Apps) -> None:
    code = apps.code(apps.stock)
    first = apps.exchange(apps.stock, code).payload
    second = apps.refresh(apps.stock, first["refresh_token"]).payload
    bystander = apps.pair(apps.stock)
    assert error_of(apps.exchange(apps.stock, code, NOW + DAY)) == (400, "invalid_grant")
    assert not apps.is_good(second["access_token"])
    assert error_of(apps.refresh(apps.stock, second["refresh_token"])) == (400, "invalid_grant")
    assert apps.is_good(bystander["access_token"])


def test_a_second_use_by_another_app_revokes_nothing(apps: Apps) -> None:
    code = apps.code(apps.stock)
    first = apps.exchange(apps.stock, code).payload
    assert error_of(apps.exchange(apps.other, code)) == (400, "invalid_grant")
    assert apps.is_good(first["access_token"])


def test_of_many_simultaneous_uses_one_gets_tokens_which_are_then_revoked(apps: Apps) -> None:
    code = apps.code(apps.stock)
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda _: apps.exchange(apps.stock, code), range(16)))
    good = [each.payload for each in replies if each.status == 200]
    assert len(good) == 1 and not apps.is_good(good[0]["access_token"])


# -- proof of possession


def test_a_challenge_cannot_be_removed_in_transit(apps: Apps) -> None:
    """The attack: the challenge is removed from the request, so that the app's verifier is not checked."""
    without = {"code_challenge": None, "code_challenge_method": None}
    code = apps.code(apps.stock, **without)
    assert error_of(apps.exchange(apps.stock, code)) == (400, "invalid_grant")
    assert apps.exchange(apps.stock, code, code_verifier=None).status == 200


def test_an_app_that_now_requires_a_challenge_gets_nothing_without_one(apps: Apps, desk: Desk) -> None:
    app = apps.new()
    code = apps.code(app, code_challenge=None, code_challenge_method=None)
    desk.update("oauth_app", app.id, is_pkce_required=1)
    assert error_of(apps.exchange(app, code, code_verifier=None)) == (400, "invalid_request")
    assert error_of(apps.exchange(app, code)) == (400, "invalid_grant")


# -- authentication of the client


def test_a_public_app_sends_its_id_and_no_secret(apps: Apps, desk: Desk) -> None:
    first = apps.pair(apps.phone)
    second = apps.refresh(apps.phone, first["refresh_token"]).payload
    assert apps.is_good(second["access_token"])
    for form in ({"client_secret": "x"}, {"client_secret": "da39a3ee"}):
        assert error_of(apps.refresh(apps.phone, second["refresh_token"], **form)) == (401, "invalid_client")
    basic = f"Basic {base64.b64encode(apps.phone.client_id.encode() + b':').decode()}"
    reply = apps.send(authorization=basic, grant_type="refresh_token", refresh_token=second["refresh_token"])
    assert error_of(reply) == (401, "invalid_client")


def basic(text: str | bytes) -> str:
    raw = text if isinstance(text, bytes) else text.encode()
    return "Basic " + base64.b64encode(raw).decode()


def headers(app: App) -> Iterator[tuple[str, int, str]]:
    """Yields Authorization headers with the status and error of each."""
    good = f"{app.client_id}:{app.secret}"
    yield app.basic, 200, ""
    yield app.basic.replace("Basic", "bAsIc"), 200, ""
    yield basic(good.replace("a", "%61")), 200, ""
    yield basic(good + "x"), 401, "invalid_client"
    yield basic(good.upper()), 401, "invalid_client"
    yield basic(app.client_id), 401, "invalid_client"
    yield basic(app.client_id + ":"), 401, "invalid_client"
    yield basic(":" + app.secret), 401, "invalid_client"
    yield basic(b"\xff\xfe:x"), 401, "invalid_client"
    yield basic("%ff:x"), 401, "invalid_client"
    yield "Basic", 401, "invalid_client"
    yield "Basic ", 401, "invalid_client"
    yield "Basic !!!", 401, "invalid_client"
    yield "", 401, "invalid_client"
    yield f"Bearer {app.secret}", 401, "invalid_client"
    yield f"Digest username={app.client_id}", 401, "invalid_client"


@pytest.mark.parametrize("place", range(16))
def test_forms_of_the_authorization_header(place: int, apps: Apps, desk: Desk) -> None:
    header, status, error = list(headers(apps.stock))[place]
    forgive(desk)
    reply = apps.send(
        authorization=header, grant_type="authorization_code", code=apps.code(apps.stock), code_verifier=VERIFIER
    )
    assert reply.status == status and (status == 200 or error_of(reply) == (status, error))


def test_a_client_authenticates_in_one_way(apps: Apps) -> None:
    form = {"grant_type": "authorization_code", "code": apps.code(apps.stock), "code_verifier": VERIFIER}
    stock, other = apps.stock, apps.other
    for twice in ({"client_secret": stock.secret}, stock.login, {"client_id": other.client_id}):
        assert error_of(apps.send(authorization=stock.basic, **form, **twice)) == (400, "invalid_request")
    assert apps.send(authorization=stock.basic, client_id=stock.client_id, **form).status == 200


def test_special_characters_of_a_secret_are_encoded_in_the_header(apps: Apps, desk: Desk) -> None:
    odd = App(0, "od:d+1", "p%4 +:é")
    desk.create("oauth_app", name="Odd", callback_url=CALLBACK, **odd.login)
    form = {"grant_type": "refresh_token", "refresh_token": "x"}
    assert error_of(apps.send(authorization=basic("od%3Ad%2B1:p%254+%2B%3A%C3%A9"), **form)) == (400, "invalid_grant")
    assert error_of(apps.send(**form, **odd.login)) == (400, "invalid_grant")


def test_two_secrets_work_during_a_replacement(apps: Apps, desk: Desk) -> None:
    app = apps.new()
    second = desk.update("oauth_app", app.id, client_secret="")["client_secret"]
    secrets = [app.secret, second]
    for secret in secrets:
        assert apps.exchange(app, apps.code(app), client_secret=secret).status == 200
    secrets.append(desk.update("oauth_app", app.id, client_secret="")["client_secret"])
    found = [apps.exchange(app, apps.code(app), client_secret=secret).status for secret in secrets]
    assert found == [401, 200, 200]
    desk.update("oauth_app", app.id, is_public=1)
    assert apps.exchange(app, apps.code(app), client_secret=secrets[-1]).status == 401


def test_a_client_id_is_case_sensitive(apps: Apps) -> None:
    code = apps.code(apps.stock)
    assert apps.exchange(apps.stock, code, client_id=apps.stock.client_id.upper()).status == 401


# -- refresh tokens


def test_a_renewal_replaces_the_old_pair(apps: Apps) -> None:
    first = apps.pair(apps.stock, scope="read write")
    second = apps.refresh(apps.stock, first["refresh_token"]).payload
    assert second.keys() == first.keys() and second["scope"] == "read write"
    assert not {first["access_token"], first["refresh_token"]} & {second["access_token"], second["refresh_token"]}
    assert not apps.is_good(first["access_token"]) and apps.is_good(second["access_token"])


def test_a_renewal_may_narrow_the_scopes_and_later_restore_them(apps: Apps) -> None:
    first = apps.pair(apps.stock, scope="read write")
    less = apps.refresh(apps.stock, first["refresh_token"], scope="write").payload
    assert less["scope"] == "write"
    assert error_of(apps.refresh(apps.stock, less["refresh_token"], scope="write api")) == (400, "invalid_scope")
    assert error_of(apps.refresh(apps.stock, less["refresh_token"], scope="nosuch")) == (400, "invalid_scope")
    assert apps.refresh(apps.stock, less["refresh_token"]).payload["scope"] == "read write"


def test_a_retry_gets_the_same_pair_again(apps: Apps) -> None:
    first = apps.pair(apps.stock)
    second = apps.refresh(apps.stock, first["refresh_token"])
    later = NOW + families.RETRY_SECONDS
    again = apps.refresh(apps.stock, first["refresh_token"], later)
    assert again.payload == second.payload | {"expires_in": HOUR - families.RETRY_SECONDS}
    assert apps.is_good(second.payload["access_token"])
    assert apps.refresh(apps.stock, second.payload["refresh_token"], later).status == 200


def test_many_simultaneous_renewals_count_as_one(apps: Apps) -> None:
    first = apps.pair(apps.stock)
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda _: apps.refresh(apps.stock, first["refresh_token"]), range(16)))
    assert {each.status for each in replies} == {200}
    assert len({each.payload["refresh_token"] for each in replies}) == 1
    assert apps.is_good(replies[0].payload["access_token"])


def test_a_request_that_differs_is_not_a_retry(apps: Apps) -> None:
    first = apps.pair(apps.stock, scope="read write")
    second = apps.refresh(apps.stock, first["refresh_token"], scope="read").payload
    assert error_of(apps.refresh(apps.stock, first["refresh_token"], scope="write")) == (400, "invalid_grant")
    assert apps.is_good(second["access_token"])


@pytest.mark.parametrize("after", [families.RETRY_SECONDS + 1, DAY, 40 * DAY])
def test_reuse_of_an_old_refresh_token_ends_the_family(after: int, apps: Apps) -> None:
    first = apps.pair(apps.stock)
    second = apps.refresh(apps.stock, first["refresh_token"]).payload
    bystander = apps.pair(apps.stock)
    assert error_of(apps.refresh(apps.stock, first["refresh_token"], NOW + after)) == (400, "invalid_grant")
    assert not apps.is_good(second["access_token"]) and apps.is_good(bystander["access_token"])
    assert error_of(apps.refresh(apps.stock, second["refresh_token"])) == (400, "invalid_grant")


def test_a_retry_after_the_next_renewal_ends_the_family(apps: Apps) -> None:
    first = apps.pair(apps.stock)
    second = apps.refresh(apps.stock, first["refresh_token"]).payload
    third = apps.refresh(apps.stock, second["refresh_token"]).payload
    assert error_of(apps.refresh(apps.stock, first["refresh_token"])) == (400, "invalid_grant")
    assert not apps.is_good(third["access_token"])


def test_a_refresh_token_works_only_for_its_app(apps: Apps) -> None:
    first = apps.pair(apps.stock)
    for thief in (apps.other, apps.phone):
        assert error_of(apps.refresh(thief, first["refresh_token"])) == (400, "invalid_grant")
    second = apps.refresh(apps.stock, first["refresh_token"]).payload
    assert error_of(apps.refresh(apps.other, first["refresh_token"], NOW + DAY)) == (400, "invalid_grant")
    assert apps.is_good(second["access_token"])


@pytest.mark.parametrize("kind", ["access_token", "nothing", "a letter more", "empty"])
def test_invalid_refresh_tokens_are_refused(kind: str, apps: Apps, desk: Desk) -> None:
    found = apps.pair(apps.stock)
    sent = {"access_token": found["access_token"], "a letter more": found["refresh_token"] + "x", "empty": ""}
    forgive(desk)
    error = "invalid_request" if kind == "empty" else "invalid_grant"
    assert error_of(apps.refresh(apps.stock, sent.get(kind, "svc_rt_nothing"))) == (400, error)
    assert apps.is_good(found["access_token"])


def test_how_long_a_login_can_be_renewed(apps: Apps) -> None:
    """Thirty days from one renewal to the next, a year in all."""
    token, at = apps.pair(apps.stock)["refresh_token"], NOW
    assert error_of(apps.refresh(apps.stock, token, NOW + 30 * DAY)) == (400, "invalid_grant")
    while at + 29 * DAY < NOW + YEAR:
        at += 29 * DAY
        reply = apps.refresh(apps.stock, token, at)
        token = reply.payload["refresh_token"]
    assert error_of(apps.refresh(apps.stock, token, NOW + YEAR)) == (400, "invalid_grant")
    last = apps.refresh(apps.stock, token, NOW + YEAR - 60)
    assert last.payload["expires_in"] == 60


@pytest.mark.parametrize("what", ["worker", "app"])
def test_tokens_end_with_their_worker_or_app(what: str, apps: Apps, desk: Desk, remembering) -> None:
    worker, app = desk.worker(f"Rosa{what}"), apps.new()
    waiting = apps.code(app, worker_id=worker)
    found = apps.exchange(app, apps.code(app, worker_id=worker)).payload
    if what == "worker":
        desk.update("worker", worker, is_disabled=1)
        expected = (400, "invalid_grant")
    else:
        desk.delete("oauth_app", app.id)
        expected = (401, "invalid_client")
    forgive(desk)
    assert not apps.is_good(found["access_token"])
    assert error_of(apps.refresh(app, found["refresh_token"])) == expected
    assert error_of(apps.exchange(app, waiting)) == expected
    if what == "worker":
        desk.update("worker", worker, is_disabled=0)
        assert error_of(apps.refresh(app, found["refresh_token"])) == expected
        assert provider.needs_consent(desk.service, apps.asked(app), worker)


def test_generated_tokens_are_renewed_by_the_app(apps: Apps, desk: Desk) -> None:
    """As documented for the generator: client id, client secret and refresh token, hourly."""
    made = app_tokens.create(desk.context(), apps.worker_id, apps.stock.id, "read write", "2 years", "nightly")
    assert apps.is_good(made.access_token, NOW + YEAR)
    second = apps.refresh(apps.stock, made.refresh_token, NOW + DAY).payload
    assert (second["expires_in"], second["scope"]) == (HOUR, "read write")
    assert not apps.is_good(made.access_token) and apps.is_good(second["access_token"], NOW + DAY)
    assert error_of(apps.refresh(apps.stock, made.refresh_token, NOW + 2 * DAY)) == (400, "invalid_grant")


# -- revocation and introspection


def test_revoking_a_refresh_token_ends_its_login(apps: Apps) -> None:
    found, bystander = apps.pair(apps.stock), apps.pair(apps.stock)
    reply = apps.form(provider.revoke, apps.stock, token=found["refresh_token"])
    assert (reply.status, reply.payload) == (200, None)
    assert not apps.is_good(found["access_token"]) and apps.is_good(bystander["access_token"])
    assert error_of(apps.refresh(apps.stock, found["refresh_token"])) == (400, "invalid_grant")


def test_revoking_an_access_token_ends_only_this_token(apps: Apps) -> None:
    found = apps.pair(apps.stock)
    for hint in ("access_token", "refresh_token", "pigeon"):
        assert apps.form(provider.revoke, apps.stock, token=found["access_token"], token_type_hint=hint).status == 200
    assert not apps.is_good(found["access_token"])
    assert apps.refresh(apps.stock, found["refresh_token"]).status == 200


def test_revoking_an_unknown_or_foreign_token_succeeds_silently(apps: Apps) -> None:
    found = apps.pair(apps.stock)
    for app, token in ((apps.other, found["refresh_token"]), (apps.phone, found["access_token"]), (apps.stock, "x")):
        reply = apps.form(provider.revoke, app, token=token)
        assert (reply.status, reply.payload) == (200, None)
    assert apps.is_good(found["access_token"])


def test_a_public_app_revokes_its_tokens(apps: Apps) -> None:
    found = apps.pair(apps.phone)
    assert apps.form(provider.revoke, apps.phone, token=found["refresh_token"]).status == 200
    assert not apps.is_good(found["access_token"])


@pytest.mark.parametrize("call", [provider.revoke, provider.introspect])
def test_errors_of_the_other_endpoints(call, apps: Apps, desk: Desk) -> None:
    forgive(desk)
    assert error_of(apps.form(call, apps.stock)) == (400, "invalid_request")
    stranger = App(0, apps.stock.client_id, "wrong")
    assert error_of(apps.form(call, stranger, token="x")) == (401, "invalid_client")
    assert error_of(apps.form(call, App(0, "nobody", ""), token="x")) == (401, "invalid_client")


def test_introspection_of_a_valid_token(apps: Apps, desk: Desk) -> None:
    found = apps.pair(apps.stock, scope="read write")
    shown = apps.form(provider.introspect, apps.stock, token=found["access_token"]).payload
    common = {"active": True, "scope": "read write", "client_id": apps.stock.client_id, "sub": str(apps.worker_id),
              "iat": NOW, "iss": desk.service.base_url}  # fmt: skip
    assert shown == common | {"exp": NOW + HOUR, "token_type": "Bearer"}
    shown = apps.form(provider.introspect, apps.stock, token=found["refresh_token"]).payload
    assert shown == common | {"exp": NOW + 30 * DAY}


def test_invalid_and_foreign_tokens_are_not_active(apps: Apps) -> None:
    found = apps.pair(apps.stock)
    later = apps.refresh(apps.stock, found["refresh_token"]).payload
    for app, token, now in (
        (apps.stock, "nosuch", NOW), (apps.stock, found["access_token"], NOW),
        (apps.stock, found["refresh_token"], NOW), (apps.other, later["access_token"], NOW),
        (apps.stock, later["access_token"], NOW + HOUR),
    ):  # fmt: skip
        assert apps.form(provider.introspect, app, now, token=token).payload == {"active": False}
    assert apps.form(provider.introspect, apps.stock, token=later["access_token"]).payload["active"] is True


# -- guessing


def test_a_client_with_too_many_failures_waits_and_others_do_not(apps: Apps, desk: Desk) -> None:
    app = apps.new()
    form = {"grant_type": "refresh_token", "refresh_token": "x", "client_id": app.client_id}
    for number in range(lockout.MAX_WRONG_OF_ACCOUNT):
        assert apps.send(client="203.0.113.7", client_secret=f"guess{number}", **form).status == 401
    for secret in ("guess", app.secret):
        with pytest.raises(TooMany) as caught:
            apps.send(client="203.0.113.7", client_secret=secret, **form)
        assert caught.value.details["retry_after"] == lockout.WINDOW_SECONDS
    # The same client works from another address, and other clients work from this one.
    assert apps.send(client="198.51.100.1", client_secret=app.secret, **form).status == 400
    assert apps.send(client="203.0.113.7", **form | apps.stock.login).status == 400
    later = NOW + lockout.WINDOW_SECONDS
    assert apps.send(later, client="203.0.113.7", client_secret=app.secret, **form).status == 400


def test_an_address_that_tries_many_clients_waits(apps: Apps, desk: Desk) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": "x", "client_secret": "guess"}
    for number in range(lockout.MAX_WRONG_OF_ADDRESS):
        assert apps.send(client=f"2001:db8::{number:x}", client_id=f"client{number}", **form).status == 401
    with pytest.raises(TooMany):
        apps.send(client="2001:db8::ffff", client_id="client", **form)
    assert apps.send(client="2001:db8:0:1::1", client_id="client", **form).status == 401


def test_old_tokens_of_an_authenticated_client_are_not_guesses(apps: Apps) -> None:
    for _ in range(lockout.MAX_WRONG_OF_ADDRESS + 1):
        assert apps.send(
            client="203.0.113.8", grant_type="refresh_token", refresh_token="svc_rt_old", **apps.stock.login
        ).status == 400  # fmt: skip


def test_tokens_cannot_be_guessed_for_long_without_a_secret(apps: Apps) -> None:
    form = {"client": "203.0.113.9", "grant_type": "refresh_token", **apps.phone.login}
    for number in range(lockout.MAX_WRONG_OF_ADDRESS):
        assert apps.send(refresh_token=f"svc_rt_{number}", **form).status == 400
    with pytest.raises(TooMany):
        apps.send(refresh_token="svc_rt_x", **form)


# -- storage


def test_no_code_and_no_token_is_stored(apps: Apps, desk: Desk) -> None:
    code = apps.code(apps.stock)
    first = apps.exchange(apps.stock, code).payload
    second = apps.refresh(apps.stock, first["refresh_token"]).payload
    pairs = [each[name] for each in (first, second) for name in ("access_token", "refresh_token")]
    texts = [code, apps.stock.secret, *(each.removeprefix("svc_at_").removeprefix("svc_rt_") for each in pairs)]
    found = databases.everything(desk.service.settings.data)
    assert any(b"http://" in content for content in found.values())
    for name, content in found.items():
        assert not [text for text in texts if text[8:40].encode() in content], name


def test_expired_rows_are_removed(apps: Apps, desk: Desk) -> None:
    app = apps.new()
    apps.pair(app)
    apps.code(app)
    desk.delete("oauth_app", app.id)

    def kept() -> list[int]:
        tables = (codes.CODE, consents.CONSENT, tokens.TOKEN)
        return desk.read(lambda tx: [len(tx.find(table, app_id=app.id)) for table in tables])

    assert kept() == [2, 1, 2]
    desk.store.write(lambda tx: provider.forget_useless(tx, NOW + codes.CODE_SECONDS + 1))
    assert kept() == [0, 0, 0]
