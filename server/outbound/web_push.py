"""Web push: encrypts a message for a browser, identifies this service, and sends it to the push service.

Follows RFC 8030 (delivery), RFC 8291 (encryption) and RFC 8292 (VAPID). The endpoint comes from a browser, so it is as
little trusted as any other address: requests go through the outbound guard, follow no redirect, and read a small
response."""

import base64
import binascii
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from server.base64url import base64url
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, Rejected
from server.outbound import client, urls
from server.outbound.client import OutboundRequest, RequestLimits
from server.printable import printable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

MAX_ENDPOINT_CHARS = 1_000
MAX_PAYLOAD_BYTES = 3_993  # 4,096 bytes of a push service, without the header, the padding mark and the tag
PADDED_BYTES = 1_024  # lengths are rounded up to a multiple, so that they reveal little
AUTH_BYTES, KEY_BYTES, SALT_BYTES = 16, 65, 16
RECORD_BYTES = 4_096
TOKEN_SECONDS = 12 * 3_600  # lifetime of a token; RFC 8292, section 2, allows a day
SECONDS = 10.0  # the time limit of a request
MAX_RESPONSE_BYTES = 4 * 1024
MAX_RETRY_SECONDS = 86_400  # the longest Retry-After that is honored
MAX_REASON_CHARS = 200
GONE = frozenset((404, 410))
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # number of points of P-256
_WRONG_KEYS = "the keys of this browser cannot be read; reload the page and try again"


@dataclass(frozen=True, slots=True)
class Subscription:
    """The subscription of a browser. endpoint: its address at the push service. key: its public key, an
    uncompressed point of P-256. auth: its authentication secret."""

    endpoint: str
    key: bytes
    auth: bytes


@dataclass(frozen=True, slots=True)
class PushMessage:
    """A message. payload: text for the browser. topic: replaces a waiting message with the same one; "" for none.
    urgency: `low`, `normal` or `high`. ttl: seconds that the push service stores it."""

    payload: bytes
    topic: str = ""
    urgency: str = "normal"
    ttl: int = 86_400


@dataclass(frozen=True, slots=True)
class PushIdentity:
    """The identity of this service. secret: 32 bytes that the key pair is derived from. subject: a URL for contact with
    the operator."""

    secret: bytes
    subject: str


@dataclass(frozen=True, slots=True)
class PushResult:
    """The result of an attempt. status: 0 without a response. error: "" if the message was accepted. wait: seconds of
    Retry-After. is_gone: the subscription has ended. may_pass: whether the same message may be accepted later."""

    status: int
    error: str = ""
    wait: int = 0
    is_gone: bool = False
    may_pass: bool = False


def subscription(endpoint: str, key: str, auth: str, bounds: RequestLimits) -> Subscription:
    """Checks the subscription that a browser sent. key, auth: base64url. Raises Invalid."""
    if len(endpoint) > MAX_ENDPOINT_CHARS:
        raise Invalid(f"the address of a push service has at most {MAX_ENDPOINT_CHARS:,} characters", field="endpoint")
    url = urls.parsed(endpoint)
    if url.scheme != "https":
        raise Invalid("the address of a push service must be https", field="endpoint")
    if _is_address(url.host) and not bounds.permitted.lets(url.host, url.host):
        raise Rejected(f"{url.host} is not on the public internet", field="endpoint")
    point, secret = _decoded(key, "p256dh"), _decoded(auth, "auth")
    if len(secret) != AUTH_BYTES:
        raise Invalid(_WRONG_KEYS, field="auth")
    _public_key(point)
    return Subscription(str(url), point, secret)


def public_key(identity_secret: bytes) -> str:
    """Returns the public key of a secret as browsers want it (`applicationServerKey`): base64url of its point."""
    return base64url(_point(_private_key(identity_secret)))


def send(to: Subscription, message: PushMessage, identity: PushIdentity, bounds: RequestLimits, now: int) -> PushResult:
    """Sends a message. now: Unix seconds. Network errors and refusals are results; only a payload that is too large
    raises Invalid."""
    body = encrypted(message.payload, to, padding(message.payload))
    try:
        outgoing = _request(to, message, identity, body, now)
        small = RequestLimits(min(bounds.seconds, SECONDS), MAX_RESPONSE_BYTES, bounds.permitted)
        response = client.send(outgoing, small)
    except Rejected as error:
        return PushResult(0, error.message[:MAX_REASON_CHARS])
    except HelpdeskError as error:
        return PushResult(0, error.message[:MAX_REASON_CHARS], may_pass=True)
    if 200 <= response.status < 300:
        return PushResult(response.status)
    text = " ".join(printable(response.body.decode("utf-8", "replace")).split())[:MAX_REASON_CHARS]
    return PushResult(
        response.status,
        f"{response.status} {response.reason}".strip()[:MAX_REASON_CHARS] + (f": {text}" if text else ""),
        min(client.retry_after(response.headers) or 0, MAX_RETRY_SECONDS),
        response.status in GONE,
        client.may_pass(response.status),
    )


def encrypted(
    payload: bytes,
    to: Subscription,
    zeros: int = 0,
    salt: bytes = b"",
    sender: "EllipticCurvePrivateKey | None" = None,
) -> bytes:
    """Returns the body of a message: one record of aes128gcm (RFC 8188) under a key that only the browser can derive
    (RFC 8291, section 3.4). zeros: padding after the payload. salt, sender: random by default. Raises Invalid for a
    payload that is too large."""
    from cryptography.hazmat.primitives.asymmetric import ec  # 20 ms to import, and few processes send messages
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(payload) + zeros > MAX_PAYLOAD_BYTES:
        raise Invalid(f"the payload of a push message has at most {MAX_PAYLOAD_BYTES:,} bytes", field="payload")
    sender = sender or ec.generate_private_key(ec.SECP256R1())
    salt, point = salt or secrets.token_bytes(SALT_BYTES), _point(sender)
    shared = sender.exchange(ec.ECDH(), _public_key(to.key))
    secret = _derived(shared, to.auth, b"WebPush: info\0" + to.key + point, 32)
    key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_BYTES.to_bytes(4, "big") + bytes((len(point),)) + point
    return head + AESGCM(key).encrypt(nonce, payload + b"\2" + bytes(zeros), None)


def padding(payload: bytes) -> int:
    """Returns the number of zeros that hide the length of a payload: it is rounded up.

    >>> padding(b"x" * 24), padding(b"x" * 1024), padding(b"x" * 3990)
    (1000, 0, 3)
    """
    most = min(-(-max(len(payload), 1) // PADDED_BYTES) * PADDED_BYTES, MAX_PAYLOAD_BYTES)
    return most - len(payload)


def authorization(endpoint: str, identity: PushIdentity, now: int) -> str:
    """Returns the Authorization header for a push service: a token that it accepts for its own origin only, and the
    public key (RFC 8292, section 3)."""
    from joserfc import jwk, jwt

    url = urls.parsed(endpoint)
    claims = {"aud": f"{url.scheme}://{url.authority}", "exp": now + TOKEN_SECONDS, "sub": identity.subject}
    key = _private_key(identity.secret)
    token = jwt.encode({"typ": "JWT", "alg": "ES256"}, claims, jwk.ECKey.import_key(_pem(key)))
    return f"vapid t={token}, k={base64url(_point(key))}"


def _request(to: Subscription, message: PushMessage, identity: PushIdentity, body: bytes, now: int) -> OutboundRequest:
    headers = {
        "authorization": authorization(to.endpoint, identity, now),
        "content-encoding": "aes128gcm",
        "content-type": "application/octet-stream",
        "ttl": str(message.ttl),
        "urgency": message.urgency,
    }
    if message.topic:
        headers["topic"] = message.topic
    return replace(client.request(to.endpoint, "POST", headers, body), follow=False, is_cut=True)


def _private_key(secret: bytes) -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.derive_private_key(int.from_bytes(secret, "big") % (_ORDER - 1) + 1, ec.SECP256R1())


def _pem(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _point(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _public_key(point: bytes) -> Any:
    """Raises Invalid for bytes that are not a point of the curve."""
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        if len(point) != KEY_BYTES:
            raise ValueError
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        raise Invalid(_WRONG_KEYS, field="p256dh") from None


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), length, salt, info).derive(secret)


def _decoded(text: str, field: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Invalid(_WRONG_KEYS, field=field) from None


def _is_address(host: str) -> bool:
    return ":" in host or host.rpartition(".")[2].isdecimal()
