"""Hostile providers and browsers: tables of responses that are refused."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import ECKey, OKPKey, RSAKey

from server.access import openid_client, sessions, sign_in_providers
from server.errors import Conflict, Forbidden, HelpdeskError, Invalid, NotAuthenticated, Rejected
from server.sign_in import provider_sign_in, sign_in_provider_setup
from server.sign_in.provider_sign_in import Arrival
from server.sign_in.sign_in import Peer
from server.sign_in.sign_in_provider_setup import ProviderForm
from tests.records.desk import NOW, Desk
from tests.sign_in.stand_in import (
    CLIENT_ID,
    SECRET,
    StandIn,
    at_hash,
    critical,
    second_key,
    signed_with_the_public_key,
    unsigned,
)

PEER = Peer("203.0.113.7", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
BROWSER = "the secret of the browser"
FORM = ProviderForm("Acme", CLIENT_ID, SECRET, "openid email", "", (), (), links_by_email=True)
HOUR = 3600


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    made = Desk(tmp_path_factory.mktemp("attacks"))
    made.service.settings.__dict__["outbound_allow"] = ("127.0.0.1",)
    made.people()
    yield made
    made.close()


@pytest.fixture
def stand_in(desk: Desk) -> Iterator[StandIn]:
    """A provider of one test, added and turned on as `acme`."""
    made = StandIn()
    id = sign_in_provider_setup.create(desk.context(), "acme", "other", made.issuer, FORM)
    turn_on(desk, id)
    yield made
    sign_in_provider_setup.delete(desk.context(), id)
    made.stop()


def turn_on(desk: Desk, id: int) -> None:
    desk.store.write(lambda tx: tx.update(sign_in_providers.SIGN_IN_PROVIDER, id, {"trial_at": NOW}))
    sign_in_provider_setup.enable(desk.context(), id)


def begin(desk: Desk, name: str = "acme", browser: str = BROWSER) -> dict[str, str]:
    """Starts a sign-in; returns the parameters of the authorization request."""
    provider = provider_sign_in.enabled_provider(desk.service, name)
    address = provider_sign_in.begin(desk.context(), provider, browser, provider_sign_in.SIGN_IN, "/")
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def come_back(
    desk: Desk, response: dict[str, str], name: str = "acme", browser: str = BROWSER, now: int = NOW
) -> Arrival:
    back = provider_sign_in.returned(desk.service, name, browser, response.get("state", ""), now)
    return provider_sign_in.verified(desk.service, back, response, now)


def arrive(desk: Desk, stand_in: StandIn, now: int = NOW, **claims: Any) -> Arrival:
    """Signs in with an ID token of these claims."""
    sent = begin(desk)
    stand_in.grant(stand_in.token(stand_in.claims(sent["nonce"], **claims)))
    return come_back(desk, {"state": sent["state"], "code": "c"}, now=now)


def test_a_right_token_arrives_with_its_secrets_at_the_token_endpoint(desk: Desk, stand_in: StandIn) -> None:
    sent = begin(desk)
    assert sent["code_challenge_method"] == "S256" and sent["scope"] == "openid email"
    assert sent["redirect_uri"] == "https://desk.example/sign-in/callback/acme"
    stand_in.grant(stand_in.token(stand_in.claims(sent["nonce"], at_hash=at_hash("access"))))
    arrival = come_back(desk, {"state": sent["state"], "code": "c"})
    assert arrival.identity.subject == "1"
    [(_, form, headers)] = [each for each in stand_in.requests if each[0] == "/token"]
    assert headers["authorization"].startswith("Basic ") and "client_secret" not in form
    assert form["redirect_uri"] == sent["redirect_uri"] and len(form["code_verifier"]) >= 43


GOOD: list[dict[str, Any]] = [
    {"exp": NOW - 119}, {"iat": NOW + 119}, {"nbf": NOW + 119}, {"aud": [CLIENT_ID]}, {"azp": CLIENT_ID},
    {"aud": [CLIENT_ID, "other"], "azp": CLIENT_ID},
]  # fmt: skip
BAD: list[tuple[dict[str, Any], str]] = [
    ({"iss": "https://evil.example"}, "another provider"),
    ({"iss": None}, "another provider"),
    ({"aud": "other"}, "another program"),
    ({"aud": None}, "another program"),
    ({"aud": ["other"]}, "another program"),
    ({"aud": [CLIENT_ID, "other"]}, "another program"),
    ({"aud": {CLIENT_ID: 1}}, "another program"),
    ({"azp": "other"}, "another program"),
    ({"exp": NOW - 120}, "has expired"),
    ({"exp": None}, "when it holds"),
    ({"exp": "soon"}, "when it holds"),
    ({"exp": True}, "when it holds"),
    ({"exp": 1e300}, "when it holds"),
    ({"iat": None}, "when it holds"),
    ({"iat": NOW + 121}, "from the future"),
    ({"nbf": NOW + 121}, "from the future"),
    ({"nonce": "another"}, "another sign-in"),
    ({"nonce": None}, "another sign-in"),
    ({"nonce": ["x"]}, "another sign-in"),
    ({"sub": None}, "names nobody"),
    ({"sub": ""}, "names nobody"),
    ({"sub": 7}, "names nobody"),
    ({"sub": "x" * 256}, "names nobody"),
    ({"sub": "a\x00"}, "names nobody"),
    ({"at_hash": at_hash("another")}, "another ID token"),
]


@pytest.mark.parametrize("claims", GOOD, ids=str)
def test_clocks_may_differ_by_two_minutes(claims: dict[str, Any], desk: Desk, stand_in: StandIn) -> None:
    assert arrive(desk, stand_in, **claims).identity.subject == "1"


@pytest.mark.parametrize(("claims", "reason"), BAD, ids=str)
def test_a_wrong_claim_signs_nobody_in(claims: dict[str, Any], reason: str, desk: Desk, stand_in: StandIn) -> None:
    with pytest.raises(NotAuthenticated, match=reason):
        arrive(desk, stand_in, **claims)


FORGERIES = (
    "none", "None", "no signature", "HS256 pem", "HS256 jwk", "another key", "a key in the header", "a critical header",
    "a changed claim", "encrypted", "a list", "too large", "of the wrong type", "deep",
)  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_token_signs_nobody_in(forgery: str, desk: Desk, stand_in: StandIn) -> None:
    sent = begin(desk)
    claims = stand_in.claims(sent["nonce"])
    other = second_key()
    head, payload, signature = stand_in.token(claims).split(".")
    changed = stand_in.token(claims | {"sub": "2"}).split(".")[1]
    token: Any = {
        "none": lambda: unsigned(claims),
        "None": lambda: unsigned(claims, "None"),
        "no signature": lambda: f"{head}.{payload}.",
        "HS256 pem": lambda: signed_with_the_public_key(stand_in, claims, "pem"),
        "HS256 jwk": lambda: signed_with_the_public_key(stand_in, claims, "jwk"),
        "another key": lambda: stand_in.token(claims, key=other),
        "a key in the header": lambda: stand_in.token(claims, {"jwk": other.as_dict(private=False)}, other),
        "a critical header": lambda: critical(stand_in, claims),
        "a changed claim": lambda: f"{head}.{changed}.{signature}",
        "encrypted": lambda: f"{head}.{payload}.{payload}.{payload}.{signature}",
        "a list": lambda: ["x"],
        "too large": lambda: stand_in.token(claims | {"more": "x" * 40_000}),
        "of the wrong type": lambda: f"WzFd.{payload}.{signature}",
        "deep": lambda: f"{'W' * 8000}.{payload}.{signature}",
    }[forgery]()
    stand_in.grant(token)
    with pytest.raises(HelpdeskError) as told:
        come_back(desk, {"state": sent["state"], "code": "c"})
    assert isinstance(told.value, NotAuthenticated), told.value


KEYS: list[tuple[dict[str, Any], bool]] = [
    ({}, True), ({"kid": "two"}, False), ({"use": "enc"}, False), ({"alg": "PS256"}, False), ({"alg": "RS256"}, True),
    ({"kty": "oct", "k": "eHg"}, False), ({"n": 7}, False), ({"n": ""}, False),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "is_right"), KEYS, ids=str)
def test_only_a_key_for_this_signature_verifies_it(
    changes: dict[str, Any], is_right: bool, desk: Desk, stand_in: StandIn
) -> None:
    stand_in.keys = ["x", None, {"kty": "EC", "kid": "one"}, stand_in.public(**changes)]
    if is_right:
        assert arrive(desk, stand_in)
    else:
        with pytest.raises(NotAuthenticated):
            arrive(desk, stand_in)


def test_short_keys_verify_nothing(desk: Desk, stand_in: StandIn) -> None:
    stand_in.key = RSAKey.generate_key(1024, {"kid": "one"})
    stand_in.keys = [stand_in.public()]
    with pytest.raises(NotAuthenticated, match="signature"):
        arrive(desk, stand_in)


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(ECKey.generate_key("P-256"), "ES256"), (OKPKey.generate_key("Ed25519"), "EdDSA")],
    ids=["ES256", "EdDSA"],
)
def test_keys_of_other_kinds_without_names_verify(key: Any, algorithm: str, desk: Desk, stand_in: StandIn) -> None:
    stand_in.keys = [stand_in.public(), key.as_dict(private=False)]
    sent = begin(desk)
    stand_in.grant(stand_in.token(stand_in.claims(sent["nonce"]), {"alg": algorithm, "kid": None}, key))
    assert come_back(desk, {"state": sent["state"], "code": "c"})


def test_rotated_keys_are_read_anew_and_unknown_ones_only_so_often(desk: Desk, stand_in: StandIn) -> None:
    assert arrive(desk, stand_in)
    stand_in.key = second_key()
    stand_in.keys = [stand_in.public()]
    sent = begin(desk)
    stand_in.grant(stand_in.token(stand_in.claims(sent["nonce"]), {"kid": "two"}))
    assert come_back(desk, {"state": sent["state"], "code": "c"})
    for _ in range(20):
        with pytest.raises(NotAuthenticated):
            arrive(desk, stand_in)  # a token that names the former key
    assert len([each for each in stand_in.requests if each[0] == "/keys"]) <= 1 + openid_client.MAX_KEY_REFRESHES


RESPONSES: list[tuple[dict[str, str | None], str]] = [
    ({"state": "another"}, "began in another browser"),
    ({"state": None}, "began in another browser"),
    ({"code": None}, "has no code"),
    ({"iss": "https://evil.example"}, "another provider"),
    ({"error": "access_denied"}, "You cancelled at Acme"),
    ({"error": "<script>alert(1)</script>"}, r"refused the sign-in \(scriptalert1script\)"),
]


@pytest.mark.parametrize(("changes", "reason"), RESPONSES, ids=str)
def test_a_wrong_response_signs_nobody_in(
    changes: dict[str, str | None], reason: str, desk: Desk, stand_in: StandIn
) -> None:
    sent = begin(desk)
    stand_in.grant(stand_in.token(stand_in.claims(sent["nonce"])))
    response = {"state": sent["state"], "code": "c", **changes}
    with pytest.raises(NotAuthenticated, match=reason):
        come_back(desk, {name: value for name, value in response.items() if value is not None})


def test_a_provider_that_names_itself_in_responses_must_do_so(desk: Desk, stand_in: StandIn) -> None:
    stand_in.metadata["authorization_response_iss_parameter_supported"] = True
    openid_client.discover(desk.service, stand_in.issuer, NOW)
    sent = begin(desk)
    stand_in.grant(stand_in.token(stand_in.claims(sent["nonce"])))
    with pytest.raises(NotAuthenticated, match="does not name its issuer"):
        come_back(desk, {"state": sent["state"], "code": "c"})
    sent = begin(desk)
    stand_in.grant(stand_in.token(stand_in.claims(sent["nonce"])))
    assert come_back(desk, {"state": sent["state"], "code": "c", "iss": stand_in.issuer})


def test_a_state_holds_once_for_ten_minutes_in_one_browser_at_one_provider(desk: Desk, stand_in: StandIn) -> None:
    sent = begin(desk)
    response = {"state": sent["state"], "code": "c"}
    stand_in.grant(stand_in.token(stand_in.claims(sent["nonce"])))
    evil = StandIn()
    id = sign_in_provider_setup.create(desk.context(), "evil", "other", evil.issuer, FORM)
    turn_on(desk, id)
    # A mix-up: the response to a sign-in at one provider arrives at the callback of the other (RFC 9700, 4.4).
    for name, browser, now in (
        ("evil", BROWSER, NOW),
        ("acme", "x", NOW),
        ("acme", "", NOW),
        ("acme", BROWSER, NOW + 600),
    ):
        with pytest.raises(NotAuthenticated, match="Start again"):
            come_back(desk, response, name, browser, now)
    assert not [each for each in evil.requests if each[0] == "/token"]
    assert come_back(desk, response, now=NOW + 599 - 300)
    with pytest.raises(NotAuthenticated, match="was used"):
        come_back(desk, response)
    sign_in_provider_setup.delete(desk.context(), id)
    evil.stop()


def test_expired_sign_ins_are_removed(desk: Desk, stand_in: StandIn) -> None:
    begin(desk)
    assert desk.read(lambda tx: sign_in_providers.has_over(tx, NOW + 600))
    desk.store.write(lambda tx: sign_in_providers.forget_over(tx, NOW + 600))
    assert desk.read(lambda tx: tx.find(sign_in_providers.STARTED_SIGN_IN)) == []


REPLIES: list[tuple[tuple[int, Any], str]] = [
    ((400, {"error": "invalid_grant"}), "the code was used"),
    ((401, {"error": "invalid_client"}), "client secret"),
    ((200, {"error": "x"}), "the code was used"),
    ((200, {}), "has no ID token"),
    ((500, {}), "has a problem|cannot be reached"),
    ((200, b"<html>"), "cannot be reached"),
    ((200, b"[" * 100_000), "cannot be reached"),
    ((200, b"x" * 300_000), "cannot be reached"),
    ((302, b"http://127.0.0.1:1/"), "cannot be reached"),
]


@pytest.mark.parametrize(("reply", "reason"), REPLIES, ids=lambda each: str(each)[:40])
def test_a_bad_reply_of_the_token_endpoint_is_a_sentence(
    reply: tuple[int, Any], reason: str, desk: Desk, stand_in: StandIn
) -> None:
    sent = begin(desk)
    stand_in.reply = reply
    with pytest.raises(HelpdeskError, match=reason):
        come_back(desk, {"state": sent["state"], "code": "c"})


def test_a_provider_that_is_down_is_a_sentence_and_its_documents_last_a_day(desk: Desk, stand_in: StandIn) -> None:
    stand_in.is_down = True
    sent = begin(desk)
    with pytest.raises(HelpdeskError, match=r"^Acme cannot be reached right now\. Try again in a moment"):
        come_back(desk, {"state": sent["state"], "code": "c"})
    assert openid_client.metadata_of(desk.service, stand_in.issuer, NOW + 23 * HOUR)
    with pytest.raises(HelpdeskError):
        openid_client.metadata_of(desk.service, stand_in.issuer, NOW + 25 * HOUR)


def test_userinfo_about_somebody_else_signs_nobody_in(desk: Desk, stand_in: StandIn) -> None:
    stand_in.userinfo = 200, {"sub": "2", "email": "milo@desk.example", "email_verified": True}
    with pytest.raises(NotAuthenticated, match="somebody else"):
        arrive(desk, stand_in, email=None)
    stand_in.userinfo = 200, {"sub": "1", "email": "olga@desk.example", "iss": "x"}
    claims = arrive(desk, stand_in, email=None).identity.claims
    assert claims["email"] == "olga@desk.example" and claims["iss"] == stand_in.issuer


METADATA: list[tuple[dict[str, Any], str]] = [
    ({"issuer": "https://evil.example"}, "names the issuer 'https://evil.example'"),
    ({"issuer": "https://login.microsoftonline.com/{tenantid}/v2.0"}, "your own tenant"),
    ({"issuer": None}, "names the issuer"),
    ({"token_endpoint": None}, "has no token_endpoint"),
    ({"jwks_uri": 7}, "is not an address"),
    ({"authorization_endpoint": "javascript:alert(1)"}, "http"),
    ({"authorization_endpoint": "//evil.example"}, "http"),
]


@pytest.mark.parametrize(("changes", "reason"), METADATA, ids=str)
def test_wrong_metadata_adds_no_provider(changes: dict[str, Any], reason: str, desk: Desk, stand_in: StandIn) -> None:
    stand_in.metadata |= changes
    with pytest.raises(Invalid, match=reason):
        sign_in_provider_setup.create(desk.context(), "more", "other", stand_in.issuer, FORM)


ISSUERS = [
    ("http://idp.example", "https"), ("ftp://idp.example", "http"), ("https://idp.example/?x=1", "no query"),
    ("https://{host}/", "placeholder"), ("javascript:alert(1)", "http"), ("", "http"),
    ("https://u:p@idp.example", "password|name"),
]  # fmt: skip


@pytest.mark.parametrize(("issuer", "reason"), ISSUERS)
def test_a_wrong_issuer_adds_no_provider(issuer: str, reason: str, desk: Desk) -> None:
    with pytest.raises(Invalid, match=reason):
        sign_in_provider_setup.create(desk.context(), "more", "other", issuer, FORM)


def test_a_private_network_is_reached_only_if_the_setting_allows_it(desk: Desk, stand_in: StandIn) -> None:
    stand_in.metadata |= {"jwks_uri": stand_in.issuer.replace("127.0.0.1", "127.0.0.2") + "/keys"}
    openid_client.discover(desk.service, stand_in.issuer, NOW)
    with pytest.raises(HelpdeskError, match="cannot be reached"):
        arrive(desk, stand_in)
    with pytest.raises(Rejected):
        openid_client.discover(desk.service, "https://169.254.169.254", NOW)


LOGOUT = {"events": {openid_client.LOGOUT_EVENT: {}}, "jti": "1", "sid": "s", "nonce": None, "exp": NOW + 120}
BAD_LOGOUTS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"events": None}, {}, "not about a sign-out"),
    ({"events": {"x": {}}}, {}, "not about a sign-out"),
    ({"events": [openid_client.LOGOUT_EVENT]}, {}, "not about a sign-out"),
    ({"nonce": "n"}, {}, "is an ID token"),
    ({"sid": None, "sub": None}, {}, "neither a person nor a session"),
    ({"jti": None}, {}, "has no jti"),
    ({"iat": NOW - 721, "exp": NOW + 100}, {}, "too old"),
    ({"exp": NOW - 121}, {}, "has expired"),
    ({"aud": "other"}, {}, "another program"),
    ({"iss": "https://evil.example"}, {}, "another provider"),
    ({}, {"typ": "at+jwt"}, "type"),
]


@pytest.mark.parametrize(("changes", "header", "reason"), BAD_LOGOUTS, ids=str)
def test_a_wrong_logout_token_ends_nothing(
    changes: dict[str, Any], header: dict[str, Any], reason: str, desk: Desk, stand_in: StandIn
) -> None:
    token = stand_in.token(stand_in.claims("", **{**LOGOUT, **changes}), {"typ": "logout+jwt", **header})
    with pytest.raises(NotAuthenticated, match=reason):
        provider_sign_in.end_by_provider(desk.context(), "acme", token)


def test_a_logout_token_ends_the_sessions_of_its_sid_or_subject_once(desk: Desk, stand_in: StandIn) -> None:
    def session(sid: str | None) -> str:
        return provider_sign_in.sign_in_by(desk.context(), arrive(desk, stand_in, sid=sid), PEER).session_id

    def is_good(id: str) -> bool:
        return desk.read(lambda tx: sessions.check(tx, id, NOW)) is not None

    def end(**changes: Any) -> None:
        token = stand_in.token(stand_in.claims("", **{**LOGOUT, **changes}), {"typ": "logout+jwt"})
        provider_sign_in.end_by_provider(desk.context(), "acme", token)

    one, two, three = session("s1"), session("s2"), session(None)
    end(sid="s1", sub=None)
    assert (is_good(one), is_good(two), is_good(three)) == (False, True, True)
    with pytest.raises(NotAuthenticated, match="was used"):
        end(sid="s2", sub=None)
    end(sid="s2", sub="2", jti="2")
    assert is_good(two)
    end(sid=None, sub="1", jti="3")
    assert not is_good(two) and not is_good(three)
    assert "Acme signed Milo out of 2 devices" in desk.acts()[-1]


def test_secrets_of_a_sign_in_are_in_no_row(desk: Desk, stand_in: StandIn) -> None:
    sent = begin(desk)
    rows = desk.read(lambda tx: tx.find(sign_in_providers.STARTED_SIGN_IN))
    assert rows and sent["state"] not in json.dumps(rows) and BROWSER not in json.dumps(rows)


def test_only_administrators_change_providers(desk: Desk, stand_in: StandIn) -> None:
    milo = desk.found("worker", "firstName:Milo")[0]
    ctx, id = desk.context(milo), sign_in_provider_setup.overview(desk.context()).providers[0].id
    for act in (sign_in_provider_setup.one, sign_in_provider_setup.enable, sign_in_provider_setup.delete):
        with pytest.raises(Forbidden):
            act(ctx, id)
    for call in (
        lambda: sign_in_provider_setup.create(ctx, "x", "other", stand_in.issuer, FORM),
        lambda: sign_in_provider_setup.change(ctx, id, FORM),
        lambda: sign_in_provider_setup.set_only(ctx, True),
        lambda: sign_in_provider_setup.overview(ctx),
        lambda: provider_sign_in.create_link(ctx, milo),
    ):
        with pytest.raises(Forbidden):
            call()
    with pytest.raises(Conflict, match="administrator must have signed in"):
        sign_in_provider_setup.set_only(desk.context(), True)
