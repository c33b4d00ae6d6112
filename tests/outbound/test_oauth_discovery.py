"""Metadata of providers, read where both standards put it, and refused where it is about another issuer."""

import json

import pytest

from server.errors import HelpdeskError, Invalid, TimedOut, TooLarge, Unavailable
from server.outbound import RequestLimits
from server.outbound.allowlist import allowed
from server.outbound.oauth_discovery import MAX_METADATA_BYTES, fetch_metadata
from tests.outbound.peer import HOST, answer, redirect

OPENID, OAUTH = "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"


def document(issuer, **more):
    return answer(json.dumps({"issuer": issuer, "token_endpoint": f"{issuer}/token", **more}))


@pytest.mark.parametrize(
    ("path", "place"),
    [("", OPENID), ("/realms/desk", f"/realms/desk{OPENID}"), ("", OAUTH), ("/realms/desk", f"{OAUTH}/realms/desk")],
)
def test_the_document_is_found_where_both_standards_put_it(peer, bounds, path, place):
    issuer = peer.url(path)
    peer.answers[place] = document(issuer)
    assert fetch_metadata(issuer, bounds)["token_endpoint"] == f"{issuer}/token"
    assert fetch_metadata(f" {issuer}/ ", bounds)["issuer"] == issuer, "a slash at the end makes no other issuer"


@pytest.mark.parametrize(
    ("response", "error", "words"),
    [
        (document("https://evil.example"), Invalid, "names another issuer than the one you entered: https://evil"),
        (document("http://127.0.0.1"), Invalid, "another issuer"),
        (answer("{}"), Invalid, "nothing"),
        (answer(json.dumps({"issuer": ["x"]})), Invalid, "nothing"),
        (answer("<html>"), Unavailable, "something else than JSON"),
        (answer("[1]"), Unavailable, "something else than JSON"),
        (answer(b"[" * 200_000), Unavailable, "something else than JSON"),
        (answer("busy", 503), Unavailable, "responded with 503"),
        (redirect("https://evil.example/"), Unavailable, "responded with 302"),
        (answer(b" " * (MAX_METADATA_BYTES + 1)), TooLarge, "bytes"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(peer, bounds, response, error, words):
    peer.answers[OPENID] = response
    with pytest.raises(error, match=words):
        fetch_metadata(peer.url()[:-1], bounds)


def test_a_provider_that_sends_nothing_ends_both_attempts(peer):
    def silent(asked):
        asked.hung_up.wait(30)

    peer.answers |= {OPENID: silent, OAUTH: silent}
    with pytest.raises(TimedOut):
        fetch_metadata(peer.url()[:-1], RequestLimits(0.2, 1_000_000, allowed([HOST])))


@pytest.mark.parametrize(
    "issuer", ["http://login.example", "ftp://x", "login.example", "https://a@b.example", "https://login.example?a=1"]
)
def test_an_address_that_secrets_must_not_be_sent_to_is_refused(bounds, issuer):
    with pytest.raises(HelpdeskError) as error:
        fetch_metadata(issuer, bounds)
    assert isinstance(error.value, Invalid)


def test_a_private_network_needs_the_setting(peer):
    with pytest.raises(HelpdeskError, match="outbound_allow"):
        fetch_metadata(peer.url()[:-1], RequestLimits(5, 1_000_000, allowed([])))
