"""Addresses that a login may redirect to, and which registered address is meant: a table of addresses to refuse."""

import pytest

from server.record_types.shared import callbacks
from tests.service import Api

REGISTERED = "https://app.example:8443/oauth/back?tenant=a%20b"
# Each is an address that an attacker might send in place of REGISTERED in order to get a code.
VARIANTS = [
    "https://app.example:8443/oauth/back",
    "https://app.example:8443/oauth/back?tenant=a%20b&x=1",
    "https://app.example:8443/oauth/back?tenant=a+b",
    "https://app.example:8443/oauth/back/?tenant=a%20b",
    "https://app.example:8443/oauth/back?tenant=a%20b#",
    "https://app.example:8443/oauth/back?tenant=a%20b#x",
    "https://app.example:8443/OAUTH/back?tenant=a%20b",
    "HTTPS://app.example:8443/oauth/back?tenant=a%20b",
    "https://APP.example:8443/oauth/back?tenant=a%20b",
    "http://app.example:8443/oauth/back?tenant=a%20b",
    "https://app.example/oauth/back?tenant=a%20b",
    "https://app.example:443/oauth/back?tenant=a%20b",
    "https://app.example:8444/oauth/back?tenant=a%20b",
    "https://app.example.:8443/oauth/back?tenant=a%20b",
    "https://www.app.example:8443/oauth/back?tenant=a%20b",
    "https://app.example.evil.example:8443/oauth/back?tenant=a%20b",
    "https://evilapp.example:8443/oauth/back?tenant=a%20b",
    "https://app.example:8443@evil.example/oauth/back?tenant=a%20b",
    "https://app.example:8443%40evil.example/oauth/back?tenant=a%20b",
    "https://evil.example/https://app.example:8443/oauth/back?tenant=a%20b",
    "https://evil.example\\@app.example:8443/oauth/back?tenant=a%20b",
    "https://app.example:8443\\evil.example/oauth/back?tenant=a%20b",
    "https://app.example:8443/oauth/../evil?tenant=a%20b",
    "https://app.example:8443/oauth/back/../back?tenant=a%20b",
    "https://app.example:8443/oauth/%62ack?tenant=a%20b",
    "https://app.example:8443//oauth/back?tenant=a%20b",
    "https:/app.example:8443/oauth/back?tenant=a%20b",
    "https:app.example:8443/oauth/back?tenant=a%20b",
    "//app.example:8443/oauth/back?tenant=a%20b",
    "/oauth/back?tenant=a%20b",
    " https://app.example:8443/oauth/back?tenant=a%20b",
    "https://app.example:8443/oauth/back?tenant=a%20b\n",
    "https://app.example:8443/oauth/back?tenant=a%20b\r\nX: y",
    "https://app.example:8443/oauth/back?tenant=a%20b\x00",
    "https://app.example:8443/oauth/back?tenant=a%20b%",
    "https://аpp.example:8443/oauth/back?tenant=a%20b",
    "https://app.example:8443/oauth/back?tenant=a%20b" + "x" * 5000,
    "javascript:https://app.example:8443/oauth/back?tenant=a%20b",
    "",
    "*",
]


@pytest.mark.parametrize("sent", VARIANTS)
def test_only_the_exact_text_matches_the_registered_address(sent: str) -> None:
    assert callbacks.match((REGISTERED,), REGISTERED)
    assert not callbacks.match((REGISTERED,), sent)


LOOPBACK = "http://127.0.0.1/back?x=1"
PORTS = [
    ("http://127.0.0.1/back?x=1", True),
    ("http://127.0.0.1:1/back?x=1", True),
    ("http://127.0.0.1:65535/back?x=1", True),
    ("http://127.0.0.1:65536/back?x=1", False),
    ("http://127.0.0.1:0/back?x=1", False),
    ("http://127.0.0.1:/back?x=1", False),
    ("http://127.0.0.1:80a/back?x=1", False),
    ("https://127.0.0.1:8080/back?x=1", False),
    ("http://127.0.0.2:8080/back?x=1", False),
    ("http://127.1:8080/back?x=1", False),
    ("http://2130706433:8080/back?x=1", False),
    ("http://localhost:8080/back?x=1", False),
    ("http://[::1]:8080/back?x=1", False),
    ("http://127.0.0.1:8080/back", False),
    ("http://127.0.0.1:8080/back?x=2", False),
    ("http://127.0.0.1:8080/", False),
    ("http://127.0.0.1:80@evil.example/back?x=1", False),
    ("http://127.0.0.1.evil.example:8080/back?x=1", False),
    ("http://127.0.0.1:8080.evil.example/back?x=1", False),
    ("http://127.0.0.1:8080#@evil.example/back?x=1", False),
]


@pytest.mark.parametrize(("sent", "is_ours"), PORTS)
def test_only_the_port_of_a_loopback_address_is_free(sent: str, is_ours: bool) -> None:
    assert callbacks.match((LOOPBACK,), sent) is is_ours


@pytest.mark.parametrize(
    ("known", "sent", "is_ours"),
    [
        ("http://[::1]:3000/cb", "http://[::1]:49152/cb", True),
        ("http://[::1]/cb", "http://[::2]:49152/cb", False),
        ("http://127.0.0.1:3000", "http://127.0.0.1:4000", True),
        ("http://localhost/cb", "http://localhost:4000/cb", True),
        ("http://127.0.0.1", "http://127.0.0.1:4000/", True),
        ("http://127.0.0.1/", "http://127.0.0.1:4000", True),
        ("http://[::1]", "http://[::1]:4000/", True),
        ("http://localhost", "http://localhost:4000/", True),
        ("http://localhost?a=b", "http://localhost:4000/?a=b", True),
        ("http://localhost", "http://127.0.0.1:4000/", False),
        ("http://localhost/cb", "http://localhost:4000/cb/", False),
        ("http://localhost", "http://localhost.evil.example:4000/", False),
        ("https://a.example", "https://a.example/", False),
        ("http://localhost:4000/cb", "http://localhost:4000/cb", True),
        ("http://10.0.0.1/cb", "http://10.0.0.1:81/cb", False),
        ("com.example.app:/back", "com.example.app:/back", True),
        ("com.example.app:/back", "com.example.app:/back/", False),
        ("com.example.app://back", "com.example.app:/back", False),
        ("myapp:back", "myapp:back", True),
    ],
)
def test_other_kinds_of_addresses(known: str, sent: str, is_ours: bool) -> None:
    assert callbacks.match((known,), sent) is is_ours


UNFIT = [
    ("/back", "must begin with"), ("back", "must begin with"), ("//a.example/back", "must begin with"),
    ("1app:/back", "must begin with"),
    ("https://a.example/#x", "fragment"), ("com.example.app:/back#", "fragment"),
    ("https://a.example/a b", "characters"), ("https://a.example/é", "characters"),
    ("https://a.example/\\", "characters"),
    ("https://a.example/%2", "characters"), ("https://a.example/<x>", "characters"),
    ("javascript:alert(1)", "leads to no app"), ("JavaScript:alert(1)", "leads to no app"),
    ("data:text/html,x", "leads to no app"), ("file:///etc/passwd", "leads to no app"),
    ("vbscript:x", "leads to no app"), ("blob:https://a.example/1", "leads to no app"),
    ("https:///back", "must name a host"), ("https:back", "must name a host"), ("https://", "must name a host"),
    ("https://nora@a.example/", "must name a host"), ("https://a.example@b.example/", "must name a host"),
    ("https://[::1/back", "is not an address"), ("https://a.example:99999/", "is not an address"),
    ("https://a.example/" + "x" * 2000, "at most 2000 characters"),
]  # fmt: skip


@pytest.mark.parametrize(("address", "reason"), UNFIT)
def test_addresses_that_no_login_can_redirect_to_give_a_reason(address: str, reason: str) -> None:
    assert reason in callbacks.problem(address)
    assert callbacks.registered(f"{address}\nhttps://a.example/back") == ("https://a.example/back",)


@pytest.mark.parametrize(
    ("address", "origin", "is_only_its_own"),
    [
        ("https://a.example/back?x=1", "https://a.example", True),
        ("http://127.0.0.1:3000/back", "http://127.0.0.1:3000", False),
        ("com.example.app:/back", "com.example.app:", False),
    ],
)
def test_how_an_address_is_shown_to_people(address: str, origin: str, is_only_its_own: bool) -> None:
    assert callbacks.origin(address) == origin
    assert callbacks.is_only_its_own(address) is is_only_its_own


@pytest.mark.parametrize(
    ("address", "is_refused"),
    [
        ("https://a.example/back#f", True),
        ("https://a.example/back#", True),
        ("com.example.app:/back#f", True),
        ("javascript:alert(1)", True),
        ("JAVASCRIPT:alert(1)", True),
        ("data:text/html,x", True),
        ("file:///etc/passwd", True),
        ("http://a.example/back", True),
        ("https://a.example/back", False),
        ("http://localhost:3000/back", False),
        ("com.example.app:/back", False),
        ("none", False),  # an app that only uses the token generator
        ("none, see wiki #4", False),
    ],
)
def test_an_unusable_callback_is_refused_when_the_app_is_saved(address: str, is_refused: bool, nora: Api) -> None:
    made = nora.create("oauth_app", name="Stock", callback_url=address)
    assert made.status == (422 if is_refused else 200)
    kept = nora.create("oauth_app", name="Kept", callback_url="https://a.example/back").ok()["id"]
    changed = nora.update("oauth_app", kept, callback_url=f"https://a.example/back\n{address}")
    assert changed.status == (422 if is_refused else 200)
    if is_refused:
        assert made["message"].startswith("callback_url: line 1 must")
        assert changed["message"].startswith("callback_url: line 2 must")
