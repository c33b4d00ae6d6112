"""Authorization requests: which are refused, where the refusal goes, and the result of consent."""

from urllib.parse import urlsplit

import pytest

from server.access import consents, provider
from server.access.provider import AuthorizationRefusal, AuthorizationRequest
from server.errors import Forbidden, Invalid
from tests.oauth.apps import CALLBACK, READING, SCOPES, Apps, answer_of, challenge, changed
from tests.oauth.test_callbacks import REGISTERED, VARIANTS
from tests.records.desk import BASE_URL, NOW, Desk

# replaced parameters, message on the page
PAGES = [
    ({"client_id": None}, "has no client_id"),
    ({"client_id": ""}, "has no client_id"),
    ({"client_id": "nobody"}, "No app has this client_id"),
    ({"client_id": "x" * 300}, "No app has this client_id"),
    ({"client_id": "' OR 1=1 --"}, "No app has this client_id"),
    ({"client_id": "nobody\x00"}, "No app has this client_id"),
    ({"redirect_uri": "https://evil.example/back"}, "not a callback address"),
    ({"redirect_uri": CALLBACK + "/"}, "not a callback address"),
    ({"redirect_uri": CALLBACK + "?next=https://evil.example"}, "not a callback address"),
    ({"redirect_uri": "javascript:alert(1)"}, "not a callback address"),
    ({"redirect_uri": "/back"}, "not an address"),
    ({"redirect_uri": "back"}, "not an address"),
    ({"redirect_uri": "https://evil.example/\r\nLocation: x"}, "not an address"),
    ({"redirect_uri": "https://stock.example/" + "a" * 5000}, "more than 4096"),
    ({"state": "x" * 5000}, "more than 4096"),
]


@pytest.mark.parametrize(("changes", "says"), PAGES)
def test_an_unknown_app_or_callback_gets_a_page_and_no_redirect(changes, says: str, apps: Apps) -> None:
    found = apps.ask(apps.stock, **changes)
    assert isinstance(found, AuthorizationRefusal) and found.url == "" and says in found.message


@pytest.mark.parametrize("mistake", [{}, {"scope": "nosuch"}, {"response_type": "token"}, {"code_challenge": None}])
def test_a_callback_that_is_almost_registered_is_never_redirected_to(mistake, apps: Apps) -> None:
    app = apps.new(callback_url=REGISTERED)
    for sent in VARIANTS:
        found = apps.ask(app, redirect_uri=sent, **mistake)
        if sent:  # without one, the only registered callback is used
            assert isinstance(found, AuthorizationRefusal) and found.url == "", sent
    found = apps.ask(app, redirect_uri=REGISTERED, **mistake)
    assert (
        isinstance(found, AuthorizationRequest)
        if not mistake
        else isinstance(found, AuthorizationRefusal) and found.url.startswith(REGISTERED)
    )


# replaced parameters, error that the app gets
REDIRECTS = [
    ({"response_type": None}, "invalid_request"),
    ({"response_type": "token"}, "unsupported_response_type"),
    ({"response_type": "id_token"}, "unsupported_response_type"),
    ({"response_type": "code token"}, "unsupported_response_type"),
    ({"response_type": "code id_token"}, "unsupported_response_type"),
    ({"response_type": "none"}, "unsupported_response_type"),
    ({"response_type": "CODE"}, "unsupported_response_type"),
    ({"response_type": "xcode"}, "unsupported_response_type"),
    ({"scope": "nosuch"}, "invalid_scope"),
    ({"scope": "read nosuch"}, "invalid_scope"),
    ({"scope": "READ"}, "invalid_scope"),
    ({"scope": "read,write"}, "invalid_scope"),
    ({"scope": "*"}, "invalid_scope"),
    ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"code_challenge_method": None}, "invalid_request"),
    ({"code_challenge_method": "s256"}, "invalid_request"),
    ({"code_challenge_method": "S512"}, "invalid_request"),
    ({"code_challenge": None}, "invalid_request"),
    ({"code_challenge": "short"}, "invalid_request"),
    ({"code_challenge": "!" * 43}, "invalid_request"),
    ({"code_challenge": "x" * 44}, "invalid_request"),
    ({"response_mode": "fragment"}, "invalid_request"),
    ({"response_mode": "form_post"}, "invalid_request"),
]


@pytest.mark.parametrize("sent", [None, "", "  "])
@pytest.mark.parametrize(
    ("scopes", "asked"),
    [
        (SCOPES, ["api"]),
        ('"me": {label: Know who you are, endpoints: ["workers/me": GET]}', ["me"]),
        (READING, []),
    ],
    ids=["api", "the only one", "neither"],
)
def test_an_app_that_names_no_scope_gets_its_default(
    scopes: str, asked: list[str], sent: str | None, apps: Apps
) -> None:
    found = apps.ask(apps.new(scopes=scopes), scope=sent)
    if asked:
        assert isinstance(found, AuthorizationRequest) and [each.id for each in found.scopes] == asked
    else:
        assert isinstance(found, AuthorizationRefusal) and answer_of(found.url)["error"] == "invalid_scope"


@pytest.mark.parametrize("state", ["s1", "a&b=c d#é\r\n<x>", None])
@pytest.mark.parametrize(("changes", "error"), REDIRECTS)
def test_other_mistakes_are_reported_to_the_app(changes, error: str, state: str | None, apps: Apps) -> None:
    found = apps.ask(apps.stock, state=state, **changes)
    assert isinstance(found, AuthorizationRefusal) and found.url.startswith(f"{CALLBACK}?error=")
    assert "#" not in found.url and "\n" not in found.url and found.url.isascii()
    response = answer_of(found.url)
    assert response.pop("error") == error
    assert response.pop("error_description")
    assert response == {"iss": BASE_URL, **({"state": state} if state else {})}


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "scope", "state", "response_type", "code_challenge"])
def test_a_repeated_parameter_is_refused(name: str, apps: Apps, desk: Desk) -> None:
    pairs = [*apps.asked(apps.stock, redirect_uri=CALLBACK).parameters, (name, "x")]
    found = provider.begin(desk.service, pairs, NOW)
    assert isinstance(found, AuthorizationRefusal) and found.url == "" and "more than once" in found.message
    assert isinstance(
        provider.begin(desk.service, [*pairs[:-1], ("nonce", "1"), ("nonce", "2")], NOW), AuthorizationRequest
    )


def test_unknown_parameters_have_no_effect(apps: Apps, desk: Desk) -> None:
    odd = [("user", "1"), ("scopes", "api"), ("client", "x"), ("credentials", "x"), ("request", "x"), ("nonce", "1")]
    plain = apps.asked(apps.stock)
    assert provider.begin(desk.service, [*odd, *plain.parameters], NOW) == plain


def test_the_contents_of_the_consent_page(apps: Apps) -> None:
    asked = apps.asked(apps.stock, scope="write read write")
    assert [(each.id, each.label) for each in asked.scopes] == [("write", "Change orders"), ("read", "Look at orders")]
    assert (asked.app_name, asked.redirect_uri, asked.origin) == ("Stock", CALLBACK, "https://stock.example")
    assert not asked.is_consent_forced and apps.asked(apps.stock, prompt="login consent").is_consent_forced


@pytest.mark.parametrize(
    ("callback", "redirect_uri", "leads_to"),
    [
        (CALLBACK, None, CALLBACK),
        (CALLBACK, CALLBACK, CALLBACK),
        (f"{CALLBACK}\nhttps://b.example/", None, ""),
        (f"{CALLBACK}\nhttps://b.example/", "https://b.example/", "https://b.example/"),
        (f"{CALLBACK}\nnot an address", None, CALLBACK),
        ("whatever", None, ""),
        ("whatever", "whatever", ""),
        ("http://127.0.0.1/back", "http://127.0.0.1:50123/back", "http://127.0.0.1:50123/back"),
        ("com.example.app:/back?x=1", None, "com.example.app:/back?x=1"),
    ],
)
def test_which_callback_the_response_goes_to(
    callback: str, redirect_uri: str | None, leads_to: str, apps: Apps, desk: Desk
) -> None:
    app = apps.new(callback_url=callback)
    found = apps.ask(app, redirect_uri=redirect_uri)
    if not leads_to:
        assert isinstance(found, AuthorizationRefusal) and not found.url
        return
    assert isinstance(found, AuthorizationRequest) and found.redirect_uri == leads_to
    for url in (provider.allow(desk.service, found, apps.worker_id, NOW), provider.deny(desk.service, found)):
        assert url.startswith(leads_to + ("&" if "?" in leads_to else "?"))


def test_after_consent_the_app_gets_code_state_and_issuer(apps: Apps, desk: Desk) -> None:
    response = answer_of(provider.allow(desk.service, apps.asked(apps.stock), apps.worker_id, NOW))
    assert response.keys() == {"code", "state", "iss"} and (response["state"], response["iss"]) == ("s1", BASE_URL)
    assert len(response["code"]) == 43


def test_after_a_refusal_the_app_gets_an_error(apps: Apps, desk: Desk) -> None:
    url = provider.deny(desk.service, apps.asked(apps.stock))
    assert urlsplit(url).netloc == "stock.example"
    assert answer_of(url) == {
        "error": "access_denied", "error_description": "The worker refused.", "state": "s1", "iss": BASE_URL
    }  # fmt: skip


def test_a_worker_may_allow_less_and_never_more(apps: Apps, desk: Desk) -> None:
    asked = apps.asked(apps.stock, scope="read write")
    url = provider.allow(desk.service, asked, apps.worker_id, NOW, ["write"])
    reply = apps.exchange(apps.stock, answer_of(url)["code"])
    assert reply.payload is not None and reply.payload["scope"] == "write"
    for scopes in (["api"], ["read", "api"], []):
        with pytest.raises(Invalid, match="at least one of the requested scopes"):
            provider.allow(desk.service, asked, apps.worker_id, NOW, scopes)


def test_a_disabled_worker_allows_nothing(apps: Apps, desk: Desk) -> None:
    gone = desk.worker("Gus", is_disabled=1)
    for worker in (gone, 999):
        with pytest.raises(Forbidden):
            provider.allow(desk.service, apps.asked(apps.stock), worker, NOW)


@pytest.mark.parametrize(
    "fields",
    [{"callback_url": "https://new.example/"}, {"client_id": "renamed"}, {"scopes": '"x": {endpoints: ["*"]}'}],
)
def test_an_app_that_changed_while_the_page_was_open_gets_nothing(fields, apps: Apps, desk: Desk) -> None:
    app = apps.new()
    asked = apps.asked(app, redirect_uri=CALLBACK)
    desk.update("oauth_app", app.id, **fields)
    with pytest.raises(Invalid):
        provider.allow(desk.service, asked, apps.worker_id, NOW)
    assert desk.read(lambda tx: consents.scopes(tx, apps.worker_id, app.id)) == frozenset()


# -- the form of the page


def test_a_form_must_match_the_page_that_was_shown(apps: Apps, desk: Desk, ids) -> None:
    asked = apps.asked(apps.stock)
    given = provider.seal(desk.service, asked, ids["milo"], NOW)
    provider.require_seal(desk.service, asked, ids["milo"], given, NOW)
    provider.require_seal(desk.service, asked, ids["milo"], given, NOW + provider.SEAL_SECONDS)
    others = [
        (apps.asked(apps.stock, scope="api"), ids["milo"], given, NOW),
        (apps.asked(apps.stock, state="s2"), ids["milo"], given, NOW),
        (apps.asked(apps.other), ids["milo"], given, NOW),
        (changed(asked, app_id=99), ids["milo"], given, NOW),
        (asked, ids["nora"], given, NOW),
        (asked, ids["milo"], given, NOW + provider.SEAL_SECONDS + 1),
        (asked, ids["milo"], given, NOW - 1),
        (asked, ids["milo"], given.replace(str(NOW), str(NOW + 1)), NOW + 1),
        (asked, ids["milo"], given[:-1], NOW),
        (asked, ids["milo"], "", NOW),
        (asked, ids["milo"], "x.y", NOW),
        (asked, ids["milo"], "٣.é", NOW),
        (asked, ids["milo"], "9" * 5000, NOW),
    ]
    for other in others:
        with pytest.raises(Invalid, match="this page has expired"):
            provider.require_seal(desk.service, *other)


# -- consent, and where it is remembered


def test_a_worker_consents_every_time(apps: Apps, desk: Desk, ids) -> None:
    app = apps.new()
    provider.allow(desk.service, apps.asked(app), ids["milo"], NOW)
    assert provider.needs_consent(desk.service, apps.asked(app), ids["milo"])


def test_a_service_may_remember_consent_and_ask_again_for_more(apps: Apps, desk: Desk, ids, remembering) -> None:
    app, milo = apps.new(), ids["milo"]
    assert provider.needs_consent(desk.service, apps.asked(app), milo)
    provider.allow(desk.service, apps.asked(app), milo, NOW)
    assert not provider.needs_consent(desk.service, apps.asked(app), milo)
    assert provider.needs_consent(desk.service, apps.asked(app, scope="read write"), milo)
    assert provider.needs_consent(desk.service, apps.asked(app, prompt="consent"), milo)
    assert provider.needs_consent(desk.service, apps.asked(app), ids["olga"])
    assert provider.needs_consent(desk.service, apps.asked(apps.other), milo)
    provider.allow(desk.service, apps.asked(app, scope="write"), milo, NOW)
    assert not provider.needs_consent(desk.service, apps.asked(app, scope="read write"), milo)


@pytest.mark.parametrize("callback", ["http://127.0.0.1/back", "com.example.app:/back", "http://localhost/back"])
def test_consent_is_always_requested_if_another_program_may_own_the_callback(
    callback: str, apps: Apps, desk: Desk, ids, remembering
) -> None:
    app = apps.new(callback_url=callback)
    provider.allow(desk.service, apps.asked(app), ids["milo"], NOW)
    assert provider.needs_consent(desk.service, apps.asked(app), ids["milo"])


def test_connected_apps_are_listed_and_can_be_disconnected(apps: Apps, desk: Desk, ids) -> None:
    olga = desk.worker("Ola")
    app, other = apps.new(name="Abacus", url="https://abacus.example"), apps.new(name="Zebra")
    codes = [apps.code(each, worker_id=olga, scope=scope) for each, scope in ((app, "read"), (other, "api"))]
    tokens = [apps.exchange(each, code).payload for each, code in zip((app, other), codes, strict=True)]
    waiting = apps.code(app, worker_id=olga, scope="write")

    def listed() -> list[tuple[str, tuple[str, ...], int]]:
        found = desk.read(lambda tx: consents.of_worker(tx, olga, NOW + 1))
        return [(each.app_name, each.scopes, each.live_tokens) for each in found]

    assert listed() == [("Abacus", ("read", "write"), 2), ("Zebra", ("api",), 2)]
    assert desk.store.write(lambda tx: consents.withdraw(tx, olga, app.id, NOW + 1))
    assert listed() == [("Zebra", ("api",), 2)]
    assert [apps.is_good(each["access_token"]) for each in tokens] == [False, True]
    assert apps.refresh(app, tokens[0]["refresh_token"]).status == 400
    assert apps.exchange(app, waiting).status == 400
    assert provider.needs_consent(desk.service, apps.asked(app), olga)
    assert not desk.store.write(lambda tx: consents.withdraw(tx, olga, app.id, NOW + 1))


def test_a_challenge_is_required_of_public_apps_and_of_apps_that_demand_it(apps: Apps) -> None:
    without = {"code_challenge": None, "code_challenge_method": None}
    for app in (apps.phone, apps.strict):
        redirect = "com.example.phone:/back" if app == apps.phone else None
        found = apps.ask(app, redirect_uri=redirect, **without)
        assert isinstance(found, AuthorizationRefusal) and answer_of(found.url)["error"] == "invalid_request"
        assert isinstance(apps.ask(app, redirect_uri=redirect), AuthorizationRequest)
    assert isinstance(apps.ask(apps.stock, **without), AuthorizationRequest)


def test_the_current_scopes_of_an_app_count(apps: Apps, desk: Desk) -> None:
    app = apps.new()
    code = apps.code(app, scope="read write")
    desk.update("oauth_app", app.id, scopes=SCOPES.replace('"write"', '"change"'))
    assert isinstance(apps.ask(app, scope="write"), AuthorizationRefusal)
    reply = apps.exchange(app, code)
    assert reply.payload is not None and reply.payload["scope"] == "read"
    desk.update("oauth_app", app.id, scopes='"none": {endpoints: ["*"]}')
    assert apps.refresh(app, reply.payload["refresh_token"]).status == 400


def test_the_challenge_of_the_tests_is_that_of_the_rfc() -> None:
    """Follows RFC 7636, appendix B."""
    assert challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
