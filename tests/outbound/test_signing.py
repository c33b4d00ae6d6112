"""Additions of the login methods to a request, and the tokens that they fetch."""

import base64
import json
from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from server import outbound
from server.errors import HelpdeskError, Invalid, Rejected, Required, TooLarge, Unavailable
from server.outbound import client_tokens, request_signing
from server.record_types.registry import load
from tests.outbound.peer import answer, redirect

NOW = 1_440_938_160  # 2015-08-30 12:36:00 UTC, the time in Amazon's examples
KEYS = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}


def signed(kind, service, account, url="https://shop.example/api/x?a=1", **more):
    values = request_signing.check_params(request_signing.PREFIX + kind, service, account)
    return request_signing.signer(request_signing.PREFIX + kind, values, NOW)(outbound.request(url, **more))


@pytest.mark.parametrize(
    ("kind", "service", "account", "name", "value"),
    [
        ("token.bearer", {}, {"token": "t0k"}, "authorization", "Bearer t0k"),
        ("token.bearer", {"token_type": "Token"}, {"token": "t0k"}, "authorization", "Token t0k"),
        ("http.basic", {}, {"username": "ann", "password": "pä:ss"}, "authorization",
         "Basic " + base64.b64encode("ann:pä:ss".encode()).decode()),
        ("http.basic", {}, {"username": "ann"}, "authorization", "Basic YW5uOg=="),
        ("api_key", {}, {"api_key": "k"}, "x-api-key", "k"),
        ("api_key", {"name": "X-Shop-Key", "location": "header"}, {"api_key": 12}, "x-shop-key", "12"),
        ("oauth2", {"token_url": "u", "client_id": "c"}, {"access_token": "t", "token_type": "bearer"},
         "authorization", "Bearer t"),
        ("oauth2", {"token_url": "u", "client_id": "c"}, {"access_token": "t", "token_type": "mac"},
         "authorization", "mac t"),
    ],
)  # fmt: skip
def test_each_kind_signs_in_its_way(kind, service, account, name, value):
    asked = signed(kind, service, account, headers={name: "from the script", "x-b": "1"})
    assert [each for each in asked.headers if each[0] == name] == [(name, value)]
    assert asked.header("x-b") == "1" and str(asked.url) == "https://shop.example/api/x?a=1"


def test_an_api_key_may_stand_in_the_query():
    asked = signed("api_key", {"location": "query", "name": "k y"}, {"api_key": "a&b=c"})
    assert str(asked.url) == "https://shop.example/api/x?a=1&k%20y=a%26b%3Dc"
    asked = signed("api_key", {"location": "query", "name": "key"}, {"api_key": "1"}, "https://shop.example/")
    assert str(asked.url) == "https://shop.example/?key=1"


def test_a_key_in_the_query_is_hidden_from_the_caller(peer, bounds):
    values = request_signing.check_params(
        request_signing.API_KEY, {"location": "query", "name": "key"}, {"api_key": "s3cret"}
    )
    peer.answers |= {"/a": redirect("b?c=1"), "/b": answer("hi")}
    asked = replace(outbound.request(peer.url("/a")), sign=request_signing.signer(request_signing.API_KEY, values, NOW))
    assert str(outbound.send(asked, bounds).url) == peer.url("/b?c=1")
    assert [each.target for each in peer.asked] == ["/a?key=s3cret", "/b?c=1&key=s3cret"]


def test_every_key_of_params_is_documented():
    service, account = (load().type(uri).fields["params"].note for uri in ("connected_service", "connected_account"))
    for kind in request_signing.KINDS.values():
        assert all(f"`{name}`" in service for name in ("base_url", *kind.service))
        assert all(f"`{name}`" in account for name in kind.account)


@pytest.mark.parametrize(
    ("kind", "service", "account", "error", "words"),
    [
        ("ldap", {}, {}, Invalid, "accounts of the kind ldap sign no requests"),
        ("oauth1", {}, {}, Invalid, "sign no requests"),
        ("saml.idp", {}, {}, Invalid, "token.bearer"),
        ("token.bearer", {}, {}, Required, "connected account have no 'token'"),
        ("token.bearer", {}, {"token": ""}, Required, "no 'token'"),
        ("token.bearer", {}, {"tokn": "x"}, Invalid, "did you mean 'token'?"),
        ("token.bearer", {}, {"token": ["x"]}, Invalid, "must be a text"),
        ("token.bearer", {}, {"token": "a\r\nX-B: 1"}, Invalid, "'token'"),
        ("token.bearer", {}, {"token": "two words"}, Invalid, "'token'"),
        ("token.bearer", {"token_type": "A B"}, {"token": "x"}, Invalid, "'token_type'"),
        ("http.basic", {}, {"password": "x"}, Required, "no 'username'"),
        ("http.basic", {}, {"username": "a:b"}, Invalid, "colon"),
        ("api_key", {"location": "cookie"}, {"api_key": "k"}, Invalid, "header or query"),
        ("api_key", {"name": "X\r\nY"}, {"api_key": "k"}, Invalid, "name"),
        ("api_key", {"name": "Host"}, {"api_key": "k"}, Invalid, "'host'"),
        ("api_key", {}, {"api_key": "k\n"}, Invalid, "'api_key'"),
        ("oauth2", {"client_id": "c"}, {}, Required, "connected service have no 'token_url'"),
        ("aws", {}, {"access_key_id": "x"}, Required, "no 'secret_access_key'"),
        ("aws", {}, KEYS, Invalid, "does not tell which service"),
    ],
)
def test_what_cannot_sign_says_why(kind, service, account, error, words):
    with pytest.raises(error) as failed:
        signed(kind, service, account)
    assert words in failed.value.message
    assert not any(str(value) in failed.value.message for value in account.values() if len(str(value)) > 3)


@pytest.mark.parametrize(
    ("base", "url", "is_below"),
    [
        ("https://shop.example/api", "https://shop.example/api/x", True),
        ("https://shop.example/api/", "https://shop.example/api/x", True),
        ("https://shop.example/api", "https://shop.example/api?x=1", True),
        ("https://shop.example", "https://SHOP.example:443/x", True),
        ("https://shop.example/api", "https://shop.example/apis", False),
        ("https://shop.example/api", "https://shop.example/api/../x", False),
        ("https://shop.example/api", "https://shop.example/api/%2e%2e/x", False),
        ("https://shop.example/api", "https://shop.example/api/..%2fx", False),
        ("https://shop.example/api", "http://shop.example/api", False),
        ("https://shop.example/api", "https://shop.example:8443/api", False),
        ("https://shop.example/api", "https://evil.example/api", False),
        ("https://shop.example/api", "https://shop.example.evil.example/api", False),
    ],
)
def test_an_account_is_for_its_service_only(base, url, is_below):
    if is_below:
        assert signed("token.bearer", {"base_url": base}, {"token": "t"}, url).header("authorization")
        return
    with pytest.raises(Rejected) as refused:
        signed("token.bearer", {"base_url": base}, {"token": "s3cret"}, url)
    assert "this account is for" in refused.value.message


# Computed with Amazon's examples: the first two and their signatures are published, as are those of its test suite.
@pytest.mark.parametrize(
    ("service", "url", "options", "scope", "headers", "signature"),
    [
        ({}, "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
         {"headers": {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}},
         "20150830/us-east-1/iam/aws4_request", "content-type;host;x-amz-date",
         "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"),
        ({"service": "service"}, "https://example.amazonaws.com/", {},
         "20150830/us-east-1/service/aws4_request", "host;x-amz-date",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ({"service": "service"}, "https://example.amazonaws.com/?Param2=value2&Param1=value1", {},
         "20150830/us-east-1/service/aws4_request", "host;x-amz-date",
         "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        ({"service": "service"}, "https://example.amazonaws.com/", {"method": "POST"},
         "20150830/us-east-1/service/aws4_request", "host;x-amz-date",
         "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    ],
)  # fmt: skip
def test_signatures_are_those_of_amazons_examples(service, url, options, scope, headers, signature):
    asked = signed("aws", service, KEYS, url, **options)
    assert asked.header("authorization") == (
        f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{scope}, SignedHeaders={headers}, Signature={signature}"
    )
    assert asked.header("x-amz-date") == "20150830T123600Z"


@pytest.mark.parametrize(
    ("url", "service", "place"),
    [
        ("https://sqs.eu-central-1.amazonaws.com/1/q", {}, "eu-central-1/sqs"),
        ("https://files.s3.eu-west-2.amazonaws.com/a", {}, "eu-west-2/s3"),
        ("https://s3.cn-north-1.amazonaws.com.cn/a", {}, "cn-north-1/s3"),
        ("https://x1.execute-api.us-gov-west-1.amazonaws.com/a", {}, "us-gov-west-1/execute-api"),
        ("https://email.eu-west-1.amazonaws.com/", {"service": "ses"}, "eu-west-1/ses"),
        ("https://iam.amazonaws.com/", {"region": "eu-west-3"}, "eu-west-3/iam"),
        ("https://minio.example/", {"service": "s3", "region": "here"}, "here/s3"),
    ],
)
def test_region_and_service_are_read_from_the_host(url, service, place):
    asked = signed("aws", service, KEYS | {"session_token": "tok"}, url)
    assert f"/20150830/{place}/aws4_request" in asked.header("authorization")
    assert asked.header("x-amz-security-token") == "tok"
    assert bool(asked.header("x-amz-content-sha256")) is place.endswith("s3")


# -- tokens ----------------------------------------------------------------------------------------------------------


def fetched(peer, bounds, told, status=200, **values):
    content = told if isinstance(told, (bytes, str)) else json.dumps(told)
    peer.answers["/token"] = answer(content, status)
    return client_tokens.fetched({"token_url": peer.url("/token"), "client_id": "me", **values}, bounds, NOW)


@pytest.mark.parametrize(
    ("values", "form", "authorization"),
    [
        ({}, {"grant_type": "client_credentials", "client_id": "me"}, None),
        ({"client_secret": "s/1"}, {"grant_type": "client_credentials"},
         "Basic " + base64.b64encode(b"me:s%2F1").decode()),
        ({"client_secret": "s/1", "client_authentication": "body", "scope": "a b"},
         {"grant_type": "client_credentials", "client_id": "me", "client_secret": "s/1", "scope": "a b"}, None),
        ({"refresh_token": "r&1"}, {"grant_type": "refresh_token", "refresh_token": "r&1", "client_id": "me"}, None),
    ],
)  # fmt: skip
def test_token_requests_follow_the_standard(values, form, authorization, peer, bounds):
    fetched(peer, bounds, {"access_token": "t"}, **values)
    asked = peer.take()
    assert {name: each[0] for name, each in parse_qs(asked.body.decode()).items()} == form
    assert asked.method == "POST" and asked.header("authorization") == authorization
    assert asked.header("content-type") == "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"access_token": "t", "expires_in": 60, "token_type": "bearer"},
         {"access_token": "t", "token_type": "bearer", "expires_at": NOW + 60, "refresh_token": "old"}),
        ({"access_token": "t", "expires_in": "60", "refresh_token": "new"},
         {"access_token": "t", "token_type": "Bearer", "expires_at": NOW + 60, "refresh_token": "new"}),
        ({"access_token": "t", "expires_in": "soon"},
         {"access_token": "t", "token_type": "Bearer", "expires_at": NOW + 3600, "refresh_token": "old"}),
    ],
)  # fmt: skip
def test_what_is_told_of_a_token_is_kept(told, kept, peer, bounds):
    assert fetched(peer, bounds, told, refresh_token="old") == kept


@pytest.mark.parametrize(
    ("told", "status", "error", "words"),
    [
        ({"error": "invalid_grant", "error_description": "gone"}, 400, Unavailable, "400 invalid_grant gone"),
        ({"access_token": "t"}, 500, Unavailable, "500"),
        ({"access_token": ""}, 200, Unavailable, "no access token"),
        ({"access_token": 5}, 200, Unavailable, "no access token"),
        ("[]", 200, Unavailable, "no JSON"),
        ("<html>", 200, Unavailable, "no JSON"),
        ("[" * 60_000, 200, Unavailable, "no JSON"),
        (b"\xff\xfe", 200, Unavailable, "no JSON"),
        (" " * 70_000, 200, TooLarge, "65,536"),
    ],
)
def test_responses_without_a_token_are_reported(told, status, error, words, peer, bounds):
    with pytest.raises(error) as failed:
        fetched(peer, bounds, told, status, client_secret="s3cret")
    assert words in failed.value.message and "s3cret" not in failed.value.message


def test_secrets_are_not_taken_along_by_a_redirect(peer, bounds):
    peer.answers |= {"/token": redirect("/elsewhere", 307), "/elsewhere": answer('{"access_token": "t"}')}
    with pytest.raises(HelpdeskError):
        client_tokens.fetched({"token_url": peer.url("/token"), "client_id": "me", "client_secret": "x"}, bounds, NOW)
    assert [each.target for each in peer.asked] == ["/token"]


def test_the_place_of_tokens_is_guarded_as_well(bounds):
    values = {"token_url": "http://127.0.0.2/token", "client_id": "me"}
    with pytest.raises(Rejected):
        client_tokens.fetched(values, bounds, NOW)


@pytest.mark.parametrize(
    ("values", "is_fresh"),
    [
        ({}, False),
        ({"access_token": "t"}, True),
        ({"access_token": "t", "expires_at": str(NOW + 31)}, True),
        ({"access_token": "t", "expires_at": str(NOW + 30)}, False),
        ({"access_token": "t", "expires_at": "tomorrow"}, True),
        ({"expires_at": str(NOW + 900)}, False),
    ],
)
def test_tokens_are_renewed_before_they_end(values, is_fresh):
    assert client_tokens.is_fresh(values, NOW) is is_fresh


def test_a_signature_covers_what_is_sent(peer, bounds):
    """A redirect is signed again for its target, and the signature includes the body."""

    def sign(asked):
        return request_signing.signer(request_signing.AWS, KEYS | {"service": "s3", "region": "here"}, NOW)(asked)

    peer.answers |= {"/a": redirect("/b"), "/b": answer("hi")}
    outbound.send(replace(outbound.request(peer.url("/a")), sign=sign), bounds)
    first, second = peer.asked
    assert first.header("authorization") != second.header("authorization")
    assert second.header("x-amz-date") == "20150830T123600Z"
