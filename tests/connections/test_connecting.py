"""Accounts that are connected by consent: the code flow, its attackers, and grants that end."""

import base64
import json
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from server.connections.connecting import ConnectionRefused
from server.errors import AdminOnly, HelpdeskError, Invalid, NotFound, Unavailable
from server.outbound.client_tokens import MAX_TOKEN_BYTES
from tests.connections.connecting import ConnectingDesk
from tests.oauth_provider import CLIENT, OAuthProvider
from tests.outbound.peer import answer
from tests.records.desk import BASE_URL

USER = "support@desk.example"
OUTLOOK = "https://outlook.office.com"
OF_GRAPH = " ".join(
    f"https://graph.microsoft.com/{name}"
    for name in ("Mail.ReadWrite", "Mail.ReadWrite.Shared", "Mail.Send", "Mail.Send.Shared")
)


def test_a_consent_becomes_an_account_with_tokens(desk: ConnectingDesk, provider: OAuthProvider) -> None:
    service = desk.connected_service(provider)
    provider.redirect_uris = {f"{BASE_URL}/connect/callback"}
    connection = desk.finish(provider.consent(desk.begin(service, next_page="/x", login=USER)))
    id = connection.account_id
    assert (connection.email, connection.next_page) == (USER, "/x")
    account, params = desk.row("connected_account", id), desk.params(id)
    assert (account["name"], account["owner_id"], account["service_id"]) == (USER, desk.nora, service)
    assert params["access_token"] == desk.token(id) in provider.tokens and params["refresh_token"] in provider.grants
    assert (desk.grant(id).email, desk.grant(id).purpose, desk.grant(id).connected_at) == (USER, "other", desk.now)
    assert desk.acts()[-1] == f"Nora connected {USER} as {USER}"
    shown = json.dumps([desk.record("connected_account", id, expand="params"), *desk.log()])
    assert params["access_token"] not in shown and params["refresh_token"] not in shown
    token_request = next(each for each in provider.asked if each.target == "/token")
    assert b"code_verifier=" in token_request.body and b"client_secret" not in token_request.body, "Basic has it"


@pytest.mark.parametrize(
    ("provider_name", "purpose", "scope", "more"),
    [
        ("google", "mail", "https://mail.google.com/ openid email", {"access_type": "offline", "prompt": "consent"}),
        (
            "microsoft",
            "mail",
            f"{OUTLOOK}/IMAP.AccessAsUser.All {OUTLOOK}/SMTP.Send offline_access openid email profile",
            {"prompt": "select_account"},
        ),
        (
            "microsoft",
            "graph",
            f"{OF_GRAPH} offline_access openid email profile",
            {},
        ),
        ("google", "other", "calendar", {"access_type": "offline"}),
        ("other", "mail", "calendar", {}),
    ],
)
def test_each_provider_is_asked_for_the_scopes_of_the_purpose(desk, provider, provider_name, purpose, scope, more):
    service = desk.connected_service(provider, provider=provider_name, scope="calendar")
    query = dict(parse_qsl(urlsplit(desk.begin(service, purpose)).query))
    assert query["scope"] == scope and more.items() <= query.items()
    assert query["redirect_uri"] == f"{BASE_URL}/connect/callback" and query["code_challenge_method"] == "S256"
    assert query["client_id"] == CLIENT and ("nonce" in query) == ("openid" in scope)


def test_endpoints_of_known_providers_need_not_be_entered(desk):
    for name, tenant, host, path in (
        ("google", "", "accounts.google.com", "/o/oauth2/v2/auth"),
        ("microsoft", "", "login.microsoftonline.com", "/common/oauth2/v2.0/authorize"),
        ("microsoft", "contoso.example", "login.microsoftonline.com", "/contoso.example/oauth2/v2.0/authorize"),
    ):
        params = {"provider": name, "client_id": "c", "client_secret": "s", "tenant": tenant}
        service = desk.create("connected_service", name="M", extension_id="svc.service.provider.oauth2", params=params)[
            "id"
        ]
        url = urlsplit(desk.begin(service, "mail"))
        assert (url.scheme, url.netloc, url.path) == ("https", host, path)
    desk.update("connected_service", service, params=params | {"tenant": "../evil"})
    with pytest.raises(Invalid, match="tenant"):
        desk.begin(service, "mail")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"client_id": ""}, "lacks its client_id"),
        ({"authorization_url": ""}, "lacks its authorization_url"),
        ({"authorization_url": "javascript:alert(1)"}, "is not http or https"),
        ({"authorization_url": "http://login.example/authorize"}, "must be reached by https"),
        ({"nonsense": "1"}, "unknown key 'nonsense'"),
    ],
)
def test_a_service_that_is_not_set_up_says_what_is_missing(desk, provider, params, words):
    service = desk.connected_service(provider, **params)
    with pytest.raises(Invalid, match=words):
        desk.begin(service)


# -- attackers ---------------------------------------------------------------------------------------------------------


def refused(desk, url, words, **changes):
    """Expects that a response is refused with these words and that nothing is stored."""
    with pytest.raises(ConnectionRefused, match=words):
        desk.finish(url, **changes)
    assert desk.found("connected_account", "") == []


def test_only_the_session_that_began_can_finish_and_only_once(desk, provider):
    service = desk.connected_service(provider)
    url = provider.consent(desk.begin(service))
    refused(desk, url, "begun in another browser", session=8)
    other = desk.worker("Olga", is_superuser=1)
    refused(desk, url, "begun in another browser", by=other)
    refused(desk, url, "begun in another browser", state="A" * 43)
    refused(desk, url, "did not return", state="")
    assert desk.finish(url).email == USER
    with pytest.raises(ConnectionRefused, match="used already"):
        desk.finish(url)
    late = provider.consent(desk.begin(service))
    desk.now += 601
    with pytest.raises(ConnectionRefused, match="has expired"):
        desk.finish(late)
    assert len(provider.grants) == 1, "no further code was exchanged"


def test_workers_connect_nothing(desk, provider):
    service, milo = desk.connected_service(provider), desk.worker("Milo")
    for act in (lambda: desk.begin(service, by=milo), lambda: desk.finish("x?state=1", by=milo)):
        with pytest.raises(AdminOnly):
            act()


def test_a_code_of_another_attempt_fails_at_the_provider(desk, provider):
    """The verifier of PKCE belongs to one attempt, so a stolen or injected code is worthless."""
    service = desk.connected_service(provider)
    mine, injected = (provider.consent(desk.begin(service)) for _ in range(2))
    code = parse_qs(urlsplit(injected).query)["code"][0]
    refused(desk, mine, "did not accept the sign-in", code=code)


@pytest.mark.parametrize(
    ("params", "iss", "words"),
    [
        ({}, "https://evil.example", "from another provider"),
        ({"issuer": ""}, "https://evil.example", "from another provider"),
        ({"requires_iss": "1"}, "", "does not say which provider"),
    ],
)
def test_a_response_of_another_provider_is_refused(desk, provider, params, iss, words):
    service = desk.connected_service(provider, **params)
    refused(desk, provider.consent(desk.begin(service)), words, **({"iss": iss} if iss else {}))
    assert not any(each.target == "/token" for each in provider.asked), "the code stays here"


def test_a_provider_that_names_itself_is_accepted(desk, provider):
    provider.sends_iss = True
    assert desk.connect(provider, desk.connected_service(provider, requires_iss="1"))
    assert desk.connect(provider, desk.connected_service(provider, issuer=""))


def test_a_code_goes_to_the_provider_that_it_was_requested_from(desk, provider):
    service = desk.connected_service(provider)
    url = provider.consent(desk.begin(service))
    desk.update("connected_service", service, params=provider.params(token_url="https://evil.example/token"))
    refused(desk, url, "was changed meanwhile")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"error": "access_denied", "code": ""}, "access was not granted"),
        ({"error": "server_error", "error_description": "a\x00b"}, "reports an error: server_error a b"),
        ({"code": ""}, "sent no code"),
        ({"code": "x" * 5000}, "sent no code"),
        ({"code": "wrong"}, "did not accept the sign-in: 127.0.0.1 returned no access token; it responded with 400"),
    ],
)
def test_an_error_of_the_provider_is_a_sentence(desk, provider, changes, words):
    refused(desk, provider.consent(desk.begin(desk.connected_service(provider))), words, **changes)


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"aud": "another-client"}, "for another program"),
        ({"aud": ["a", "b"]}, "for another program"),
        ({"nonce": "stolen"}, "of another sign-in"),
        ({"iss": "https://evil.example"}, "issued by another provider"),
    ],
)
def test_an_id_token_that_is_not_about_this_sign_in_is_refused(desk, provider, claims, words):
    provider.claims = claims
    refused(desk, provider.consent(desk.begin(desk.connected_service(provider))), words)


@pytest.mark.parametrize(
    ("claims", "email"),
    [
        ({"email": "Support@Desk.Example"}, "support@desk.example"),
        ({"email": None, "preferred_username": "ann@corp.example"}, "ann@corp.example"),
        ({"email": "no address"}, USER),  # from the endpoint about the user
    ],
)
def test_the_address_is_read_from_the_id_token_or_from_the_user(desk, provider, claims, email):
    provider.claims = claims
    id = desk.connect(provider, desk.connected_service(provider))
    assert desk.grant(id).email == email


def silent(asked):
    asked.hung_up.wait(30)


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (answer(b"x" * (MAX_TOKEN_BYTES + 1)), ""),
        (answer("<html>"), "no JSON"),
        (answer('{"access_token": ["x"]}'), "returned no access token"),
        (answer('{"access_token": "x", "id_token": "a.b"}', content_type="application/json"), "sent no refresh token"),
        (
            answer('{"access_token": "x", "refresh_token": "r", "id_token": "a.%%%.c"}'),
            "cannot be read",
        ),
        (answer("{}", 503), "503"),
        (silent, ""),
    ],
)
def test_a_provider_that_misbehaves_leaves_nothing(desk, provider, response, words):
    service = desk.connected_service(provider)
    url = provider.consent(desk.begin(service))
    provider.answers["/token"] = response
    desk.service = desk.service_with(outbound_seconds=1)
    with pytest.raises(HelpdeskError) as error:
        desk.finish(url)
    assert words in error.value.message and isinstance(error.value, ConnectionRefused)
    assert desk.found("connected_account", "") == []


def test_scopes_that_were_not_granted_are_named(desk, provider):
    provider.granted = "openid email"
    refused(desk, provider.consent(desk.begin(desk.connected_service(provider))), "did not grant mail; connect again")
    service = desk.connected_service(provider, provider="google")
    refused(desk, provider.consent(desk.begin(service, "mail")), "did not grant https://mail.google.com/")


def test_a_connection_that_would_end_within_the_hour_is_refused(desk, provider):
    provider.is_offline = False
    refused(desk, provider.consent(desk.begin(desk.connected_service(provider))), "sent no refresh token")


# -- the life of a grant -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rotates", [False, True])
def test_tokens_are_renewed_and_the_state_says_when(desk, provider, rotates):
    provider.rotates = rotates
    id = desk.connect(provider, desk.connected_service(provider))
    before = desk.params(id)
    desk.now += 3600
    assert desk.token(id) != before["access_token"]
    assert (desk.params(id)["refresh_token"] != before["refresh_token"]) == rotates
    assert (desk.grant(id).renewed_at, desk.grant(id).connected_at) == (desk.now, desk.now - 3600)


@pytest.mark.parametrize(("name", "scope"), [("microsoft", True), ("google", False)])
def test_only_microsoft_is_asked_for_the_scopes_again(desk, provider, name, scope):
    id = desk.connect(provider, desk.connected_service(provider, provider=name), purpose="mail")
    desk.now += 3600
    desk.token(id)
    assert (b"scope=" in provider.take().body) == scope


def test_a_grant_that_was_revoked_is_reported_once_and_not_tried_again(desk, provider):
    service = desk.connected_service(provider)
    id = desk.connect(provider, service)
    provider.revoke()
    desk.now += 3600
    requests = len(provider.asked)
    for _ in range(3):
        with pytest.raises(Unavailable, match=r"has ended; connect it again\. The provider says: .* invalid_grant"):
            desk.token(id)
    assert len(provider.asked) == requests + 1
    assert desk.grant(id).ended_at == desk.now
    assert len(desk.log("connected_account.ended")) == 1
    assert [each["worker_id"] for each in desk.notifications()] == [desk.nora]

    assert desk.connect(provider, service, account_id=id) == id
    assert desk.grant(id).ended_at == 0 and desk.token(id) in provider.tokens


def test_new_credentials_by_the_api_are_tried_again(desk, provider):
    id = desk.connect(provider, desk.connected_service(provider))
    refresh = desk.params(id)["refresh_token"]
    grant = provider.grants[refresh]
    provider.revoke()
    desk.now += 3600
    with pytest.raises(Unavailable, match="has ended"):
        desk.token(id)
    provider.grants["rt-new"] = grant
    desk.update("connected_account", id, params={"refresh_token": "rt-new"})
    assert desk.token(id) in provider.tokens


def test_a_provider_that_is_down_ends_no_grant(desk, provider):
    id = desk.connect(provider, desk.connected_service(provider))
    working = provider.answers["/token"]
    desk.now += 3600
    for response in (answer("", 503), answer('{"error": "temporarily_unavailable"}', 503),
                     answer('{"error": "invalid_client"}', 401)):  # fmt: skip
        provider.answers["/token"] = response
        with pytest.raises(Unavailable):
            desk.token(id)
    provider.answers["/token"] = working
    assert desk.token(id) in provider.tokens and desk.notifications() == []


def test_the_same_person_is_one_account_and_another_one_does_not_take_it_over(desk, provider):
    service = desk.connected_service(provider)
    id = desk.connect(provider, service)
    assert desk.connect(provider, service) == id
    assert desk.connect(provider, service, "sales@desk.example") != id
    with pytest.raises(ConnectionRefused, match="you signed in as sales@"):
        desk.connect(provider, service, "sales@desk.example", account_id=id)
    assert desk.grant(id).email == USER
    assert desk.connect(provider, service, purpose="mail") not in (id,), "another purpose has other scopes"


def test_a_deleted_account_leaves_no_grant(desk, provider):
    service = desk.connected_service(provider)
    id = desk.connect(provider, service)
    url = provider.consent(desk.begin(service, account_id=id))
    desk.delete("connected_account", id)
    with pytest.raises(ConnectionRefused):
        desk.finish(url)
    with pytest.raises(NotFound):
        desk.begin(service, account_id=id)
    with pytest.raises(AssertionError):
        desk.grant(id)


def test_no_secret_is_in_the_consent_address(desk, provider):
    url = desk.begin(desk.connected_service(provider))
    assert "s3cret" not in url and "code_verifier" not in url
    token = base64.b64encode(b"s3cret").decode().rstrip("=")
    assert token not in url
