"""A push service and the browsers that subscribe at it: checks who sends, and decrypts as a browser does.

Written from RFC 8291, section 3.4, and RFC 8292, section 2, without the code that is tested."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.outbound.peer import Asked, Peer, answer

AGENT = (
    "Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0 Mobile Safari/537.36"
)


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def point_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


@dataclass
class Received:
    """A message as the browser has it after decryption. zeros: bytes of padding."""

    headers: dict[str, str]
    claims: dict[str, Any]
    payload: bytes
    zeros: int

    @property
    def shown(self) -> dict[str, Any]:
        """The notification in the payload."""
        return dict(json.loads(self.payload)["notification"])

    @property
    def badge(self) -> str:
        return str(json.loads(self.payload).get("app_badge"))


@dataclass
class FakeBrowser:
    """A browser with a subscription."""

    endpoint: str
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = b"0123456789abcdef"

    @property
    def p256dh(self) -> str:
        return encoded(point_of(self.key))

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the form that turns on notifications."""
        return {"endpoint": self.endpoint, "p256dh": self.p256dh, "auth": encoded(self.auth)}

    def decrypt(self, body: bytes) -> tuple[bytes, int]:
        """(payload, bytes of padding) of a message."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, record = body[21 : 21 + length], body[21 + length :]
        assert length == 65 and len(record) <= size and len(body) <= 4096
        shared = self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        own = point_of(self.key)
        secret = _expand(_extract(self.auth, shared), b"WebPush: info\0" + own + sender, 32)
        random_key = _extract(salt, secret)
        key = _expand(random_key, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _expand(random_key, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, record, None)
        text = plain.rstrip(b"\0")
        assert text.endswith(b"\2")
        return text[:-1], len(plain) - len(text)


def _extract(salt: bytes, secret: bytes) -> bytes:
    return hmac.digest(salt, secret, hashlib.sha256)


def _expand(key: bytes, info: bytes, length: int) -> bytes:
    return hmac.digest(key, info + b"\1", hashlib.sha256)[:length]


def claims_of(authorization: str) -> tuple[dict[str, Any], str]:
    """(claims of the token, key that signed it). Checks the signature."""
    scheme, _, rest = authorization.partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert scheme == "vapid" and parts.keys() == {"t", "k"}
    head, body, signature = parts["t"].split(".")
    assert json.loads(decoded(head)) == {"typ": "JWT", "alg": "ES256"}
    raw = decoded(signature)
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(parts["k"]))
    both = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key.verify(both, f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256()))
    return json.loads(decoded(body)), parts["k"]


class PushService:
    """A push service over https. Every message is checked as it arrives; `received` has them by browser."""

    def __init__(self, peer: Peer, host: str = "localhost") -> None:
        self.peer, self.host = peer, host
        self.browsers: dict[str, FakeBrowser] = {}
        self.status, self.headers = 201, dict[str, str]()
        self.wrong: list[str] = []
        self.messages: list[tuple[str, Received]] = []

    def browser(self, name: str = "phone") -> FakeBrowser:
        """A browser that subscribes."""
        path = f"/push/{name}"
        made = FakeBrowser(self.peer.url(path, self.host))
        self.browsers[path] = made
        self.peer.answers[path] = self._accept
        return made

    def take(self) -> list[Received]:
        """Removes and returns the messages since the last call."""
        assert self.wrong == []
        taken, self.messages = [each for _, each in self.messages], []
        return taken

    def _accept(self, asked: Asked) -> bytes:
        try:
            self.messages.append((asked.target, self._read(asked)))
        except Exception as error:
            self.wrong.append(f"{type(error).__name__}: {error}")
        return answer("", self.status, **{name.replace("-", "_"): text for name, text in self.headers.items()})

    def _read(self, asked: Asked) -> Received:
        headers = {name.lower(): value for name, value in asked.headers}
        claims, _key = claims_of(headers["authorization"])
        assert claims["aud"] == f"https://{self.host}:{self.peer.port}", claims
        assert (asked.method, headers["content-encoding"]) == ("POST", "aes128gcm")
        payload, zeros = self.browsers[asked.target].decrypt(asked.body)
        return Received(headers, claims, payload, zeros)


@contextmanager
def push_service() -> Iterator[PushService]:
    with Peer(is_tls=True) as peer:
        yield PushService(peer)
