"""An authenticator in software, which also lies: what a browser and a device send for the options of the service."""

import json
import secrets
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

PRESENT, VERIFIED = AuthenticatorData.FLAG.UP, AuthenticatorData.FLAG.UV
ATTESTED = AuthenticatorData.FLAG.AT


class Authenticator:
    """A device with one passkey, and the browser around it. count: of signatures; None for a device without a counter.
    Its responses are JSON, as the pages send it."""

    def __init__(self, origin: str, *, is_verifying: bool = True, count: int | None = 0) -> None:
        self.origin, self.count = origin, count
        self.flags = PRESENT | VERIFIED if is_verifying else PRESENT
        self.id, self.handle = secrets.token_bytes(32), ""
        self._key = ec.generate_private_key(ec.SECP256R1())

    def create(self, options: dict[str, Any], **lies: Any) -> str:
        """Returns the response to creation options. lies: `origin`, `rp_id`, `algorithm`, `id`, and values of the
        response, in place of the true ones."""
        self.handle = options["user"]["id"]
        key = ES256.from_cryptography_key(self._key.public_key())
        if "algorithm" in lies:
            key[3] = lies["algorithm"]
        credential = AttestedCredentialData.create(bytes(16), self.id, key)
        rp_id = lies.get("rp_id", options["rp"]["id"])
        data = AuthenticatorData.create(_hash(rp_id), self.flags | ATTESTED, self.count or 0, credential)
        response = {
            "clientDataJSON": websafe_encode(self._client_data("webauthn.create", options, lies)),
            "attestationObject": websafe_encode(AttestationObject.create("none", data, {})),
            "transports": ["internal", "hybrid", "telepathy"],
        }
        return self._sent(lies.get("id", self.id), response)

    def sign(self, options: dict[str, Any], **lies: Any) -> str:
        """Returns the response to request options. lies: as in create, and `flags`, `count`, `handle`, `signature`."""
        if self.count is not None:
            self.count = lies.get("count", self.count + 1)
        rp_id = lies.get("rp_id", options["rpId"])
        data = AuthenticatorData.create(_hash(rp_id), lies.get("flags", self.flags), self.count or 0)
        client_data = self._client_data("webauthn.get", options, lies)
        signature = self._key.sign(bytes(data) + client_data.hash, ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": websafe_encode(client_data),
            "authenticatorData": websafe_encode(data),
            "signature": websafe_encode(lies.get("signature", signature)),
            "userHandle": lies.get("handle", self.handle),
        }
        return self._sent(lies.get("id", self.id), response)

    def _client_data(self, kind: str, options: dict[str, Any], lies: dict[str, Any]) -> CollectedClientData:
        return CollectedClientData.create(
            lies.get("type", kind),
            websafe_decode(lies.get("challenge", options["challenge"])),
            lies.get("origin", self.origin),
            lies.get("cross_origin", False),
        )

    def _sent(self, id: bytes, response: dict[str, Any]) -> str:
        text = websafe_encode(id)
        return json.dumps({"id": text, "rawId": text, "type": "public-key", "response": response})


def _hash(rp_id: str) -> bytes:
    return sha256(rp_id.encode()).digest()


def with_garbage(text: str) -> list[str]:
    """Returns damaged responses: not JSON, not an object, without parts, with parts of other types and sizes."""
    sent = json.loads(text)
    damaged: list[Any] = [None, [], 7, "x", {}, {**sent, "response": []}, {**sent, "rawId": 7}, {**sent, "id": "AAAA"}]
    for name in sent["response"].keys() - {"transports", "userHandle"}:  # which may be anything, or left out
        rest = {each: value for each, value in sent["response"].items() if each != name}
        damaged.append({**sent, "response": rest})
        nested = websafe_encode(b"\x81" * 3000)
        for value in (7, {}, "", "!", "AAAA", nested, websafe_encode(b"[]"), websafe_encode(cbor.encode({}))):
            damaged.append({**sent, "response": {**rest, name: value}})
    return ["", "{", "[" * 10_000, "x" * 20_000, *map(json.dumps, damaged)]
