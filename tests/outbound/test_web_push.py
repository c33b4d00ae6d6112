"""Encryption and identification of push messages, by the examples of their standards."""

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec

from server.errors import Invalid
from server.outbound import web_push
from server.outbound.web_push import MAX_PAYLOAD_BYTES, PushIdentity, Subscription
from tests.push_service import FakeBrowser, claims_of, decoded, encoded, point_of

NOW = 1_795_187_045
# RFC 8291, appendix A.
PLAIN = b"When I grow up, I want to be a watermelon"
SENDER, BROWSER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
BROWSER_POINT = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH, SALT = "BTBZMqHH6r4Tts7J_aSIgg", "DGv6ra1nlYgDCS1FRnbzlw"
MESSAGE = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
    "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def private(text: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(decoded(text), "big"), ec.SECP256R1())


def test_the_example_of_the_standard() -> None:
    to = Subscription("https://push.example/x", decoded(BROWSER_POINT), decoded(AUTH))
    assert encoded(web_push.encrypted(PLAIN, to, 0, decoded(SALT), private(SENDER))) == MESSAGE
    browser = FakeBrowser("https://push.example/x", private(BROWSER), decoded(AUTH))
    assert encoded(point_of(browser.key)) == BROWSER_POINT
    assert browser.decrypt(decoded(MESSAGE)) == (PLAIN, 0)  # so the tests' browser decrypts correctly, too


@pytest.mark.parametrize("length", [0, 1, 1_024, 1_025, MAX_PAYLOAD_BYTES])
def test_lengths_are_hidden(length: int) -> None:
    browser, payload = FakeBrowser("https://push.example/x"), b"x" * length
    to = Subscription(browser.endpoint, point_of(browser.key), browser.auth)
    body = web_push.encrypted(payload, to, web_push.padding(payload))
    text, zeros = browser.decrypt(body)
    assert text == payload and len(body) <= 4_096
    assert (length + zeros) % web_push.PADDED_BYTES == 0 or length + zeros == MAX_PAYLOAD_BYTES
    assert web_push.encrypted(payload, to)[:16] != web_push.encrypted(payload, to)[:16]  # a new salt each time


def test_a_payload_that_is_too_large_is_refused() -> None:
    browser = FakeBrowser("https://push.example/x")
    with pytest.raises(Invalid, match="3,993"):
        to = Subscription(browser.endpoint, point_of(browser.key), browser.auth)
        web_push.encrypted(b"x" * (MAX_PAYLOAD_BYTES + 1), to)


@pytest.mark.parametrize("secret", [b"\0" * 32, b"\xff" * 32, bytes(range(32))])
def test_the_token_is_for_the_origin_and_signed_by_the_shown_key(secret: bytes) -> None:
    header = web_push.authorization(
        "https://push.example:8443/a/b?c=d", PushIdentity(secret, "mailto:a@b.example"), NOW
    )
    claims, key = claims_of(header)
    assert claims == {
        "aud": "https://push.example:8443",
        "exp": NOW + web_push.TOKEN_SECONDS,
        "sub": "mailto:a@b.example",
    }
    assert key == web_push.public_key(secret)
    with pytest.raises(InvalidSignature):
        claims_of(header.replace("vapid t=", "vapid t=", 1).replace(key, web_push.public_key(b"other".ljust(32))))
