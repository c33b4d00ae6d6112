"""Passkeys by Web Authentication: options for the browser, and the verification of its responses. passkeys.py stores
the rows.

Follows Web Authentication Level 3, sections 7.1 and 7.2; signatures, CBOR and COSE keys are those of the library.
Attestation is not requested: which device made a passkey does not matter here."""

import ipaddress
import json
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from server import log
from server.dataclass import dataclass
from server.errors import HelpdeskError, NotAuthenticated
from server.translation import N_

if TYPE_CHECKING:
    from fido2.server import Fido2Server

RP_NAME = "Helpdesk"
ALGORITHMS = (-7, -8, -257)  # ES256, EdDSA, RS256: COSE numbers, the preferred first
CHALLENGE_BYTES = 32
TIMEOUT_SECONDS = 300  # lifetime of a challenge, and of the dialog of the browser
MAX_RESPONSE_CHARS = 12_000  # characters of JSON; the largest responses of browsers have 3,000
MAX_KEY_CHARS = 2_000  # characters of a public key; RSA with 4,096 bits needs 720
TRANSPORTS = ("usb", "nfc", "ble", "hybrid", "internal")
REQUIRED, PREFERRED, DISCOURAGED = "required", "preferred", "discouraged"  # user verification: PIN, finger, face
NO_DOMAIN, NO_HTTPS = "domain", "https"  # what the address of the service lacks
REFUSED = N_("The passkey was not accepted.")
_DEFAULT_PORTS = {"http": 80, "https": 443}  # which origins leave out
Result = TypeVar("Result")
_log = log.get("passkeys")


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """This service for browsers. id: the domain that passkeys belong to. origin: of the console, compared exactly."""

    id: str
    origin: str


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A new credential of a browser. id, public_key: Base64url.

    is_verified: whether the device checked a PIN, a finger or a face. is_discoverable: whether it can sign in without
    an address; by what the browser reports, so only to be shown. is_synced: whether a copy is stored elsewhere."""

    id: str
    public_key: str
    sign_count: int
    aaguid: str
    transports: tuple[str, ...]
    is_verified: bool
    is_discoverable: bool
    is_syncable: bool
    is_synced: bool


@dataclass(frozen=True, slots=True)
class Assertion:
    """The response of a browser to a challenge, not verified yet. user_handle: "" if the device left it out."""

    credential_id: str
    user_handle: str
    challenge: bytes
    response: Any


@dataclass(frozen=True, slots=True)
class Proof:
    """The present state of a device, from a verified assertion."""

    sign_count: int
    is_verified: bool
    is_synced: bool


def relying_party(base_url: str) -> RelyingParty:
    """Returns the relying party at an address of the service."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    is_default = parts.port in (None, _DEFAULT_PORTS.get(parts.scheme))
    return RelyingParty(host, f"{parts.scheme}://{host}" + ("" if is_default else f":{parts.port}"))


def obstacle(base_url: str) -> str:
    """Returns why browsers offer no passkeys at an address of the service: NO_DOMAIN, NO_HTTPS or "".

    An IP address is not a valid relying party id, and only localhost is a secure context without https."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if _is_ip(host) or not host:
        return NO_DOMAIN
    is_local = host == "localhost" or host.endswith(".localhost")
    return "" if parts.scheme == "https" or is_local else NO_HTTPS


def creation_options(
    party: RelyingParty, challenge: bytes, handle: str, name: str, others: Sequence[tuple[str, tuple[str, ...]]]
) -> dict[str, Any]:
    """Returns the options with which a browser creates a passkey, as JSON. handle: of the worker. others: (id,
    transports) of their passkeys, which a device must not replace."""
    from fido2.utils import websafe_decode
    from fido2.webauthn import PublicKeyCredentialUserEntity

    options, _state = _server(party).register_begin(
        PublicKeyCredentialUserEntity(id=websafe_decode(handle), name=name, display_name=name),
        _descriptors(others),
        resident_key_requirement=_enum("ResidentKeyRequirement", PREFERRED),
        user_verification=_enum("UserVerificationRequirement", PREFERRED),
        challenge=challenge,
        extensions={"credProps": True},
    )
    return _plain(options.public_key)


def request_options(
    party: RelyingParty,
    challenge: bytes,
    verification: str,
    passkeys: Sequence[tuple[str, tuple[str, ...]]] = (),
) -> dict[str, Any]:
    """Returns the options with which a browser uses a passkey, as JSON. passkeys: (id, transports) of usable
    passkeys; by default every passkey of the device."""
    options, _state = _server(party).authenticate_begin(
        _descriptors(passkeys) or None,
        user_verification=_enum("UserVerificationRequirement", verification),
        challenge=challenge,
    )
    return _plain(options.public_key)


def new_credential(party: RelyingParty, text: str, use_challenge: Callable[[bytes], None]) -> NewCredential:
    """Returns the credential in a response of navigator.credentials.create(). use_challenge: uses up a challenge, or
    raises NotAuthenticated. Raises NotAuthenticated."""
    sent = _json(text)

    def verify() -> NewCredential:
        from fido2 import cbor
        from fido2.utils import websafe_encode
        from fido2.webauthn import RegistrationResponse

        response = RegistrationResponse.from_dict(sent)
        client_data = response.response.client_data
        if client_data.cross_origin:
            raise ValueError("Created in a frame of another site.")
        use_challenge(client_data.challenge)
        state = {"challenge": websafe_encode(client_data.challenge), "user_verification": None}
        data = _server(party).register_complete(state, response)
        credential = data.credential_data
        if credential is None or credential.credential_id != response.raw_id:
            raise ValueError("The credential has another id.")
        if credential.public_key.ALGORITHM not in ALGORITHMS:
            raise ValueError("The algorithm of the key was not offered.")
        key = websafe_encode(cbor.encode(dict(credential.public_key)))
        if len(key) > MAX_KEY_CHARS:
            raise ValueError("The key is too long.")
        properties = response.client_extension_results.get("credProps")
        reported = sent["response"].get("transports")
        return NewCredential(
            id=websafe_encode(credential.credential_id),
            public_key=key,
            sign_count=data.counter,
            aaguid=credential.aaguid.hex(),
            transports=tuple(each for each in TRANSPORTS if isinstance(reported, list) and each in reported),
            is_verified=data.is_user_verified(),
            is_discoverable=not (isinstance(properties, dict) and properties.get("rk") is False),
            is_syncable=data.is_backup_eligible(),
            is_synced=data.is_backed_up(),
        )

    return _or_refused(verify)


def assertion(text: str) -> Assertion:
    """Parses a response of navigator.credentials.get(). Raises NotAuthenticated."""
    sent = _json(text)

    def parse() -> Assertion:
        from fido2.utils import websafe_encode
        from fido2.webauthn import AuthenticationResponse

        response = AuthenticationResponse.from_dict(sent)
        client_data, handle = response.response.client_data, response.response.user_handle
        if client_data.cross_origin:
            raise ValueError("Used in a frame of another site.")
        return Assertion(
            websafe_encode(response.raw_id), websafe_encode(handle) if handle else "", client_data.challenge, response
        )

    return _or_refused(parse)


def verify(party: RelyingParty, assertion: Assertion, aaguid: str, public_key: str, *, must_be_verified: bool) -> Proof:
    """Verifies the signature, origin, relying party and flags of an assertion. The caller has used up its challenge,
    and compares the sign count. Raises NotAuthenticated."""

    def verified() -> Proof:
        from fido2 import cbor
        from fido2.cose import CoseKey
        from fido2.utils import websafe_decode, websafe_encode
        from fido2.webauthn import AttestedCredentialData

        key = CoseKey.parse(cbor.decode(websafe_decode(public_key)))  # type: ignore[arg-type]
        id = websafe_decode(assertion.credential_id)
        credential = AttestedCredentialData.create(bytes.fromhex(aaguid), id, key)
        verification = REQUIRED if must_be_verified else DISCOURAGED
        state = {
            "challenge": websafe_encode(assertion.challenge),
            "user_verification": _enum("UserVerificationRequirement", verification),
        }
        _server(party).authenticate_complete(state, [credential], assertion.response)
        data = assertion.response.response.authenticator_data
        return Proof(data.counter, data.is_user_verified(), data.is_backed_up())

    return _or_refused(verified)


def _server(party: RelyingParty) -> "Fido2Server":
    from fido2.server import Fido2Server
    from fido2.webauthn import (
        PublicKeyCredentialParameters,
        PublicKeyCredentialRpEntity,
        PublicKeyCredentialType,
    )

    logging.getLogger("fido2").setLevel(logging.WARNING)  # its lines name credentials
    server = Fido2Server(
        PublicKeyCredentialRpEntity(name=RP_NAME, id=party.id),
        _enum("AttestationConveyancePreference", "none"),
        verify_origin=lambda origin: origin == party.origin,
    )
    server.timeout = TIMEOUT_SECONDS * 1000  # type: ignore[assignment]
    server.allowed_algorithms = [
        PublicKeyCredentialParameters(type=PublicKeyCredentialType.PUBLIC_KEY, alg=each) for each in ALGORITHMS
    ]
    return server


def _enum(name: str, value: str) -> Any:
    from fido2 import webauthn

    return getattr(webauthn, name)(value)


def _descriptors(passkeys: Sequence[tuple[str, tuple[str, ...]]]) -> list[Any]:
    from fido2.utils import websafe_decode
    from fido2.webauthn import AuthenticatorTransport, PublicKeyCredentialDescriptor, PublicKeyCredentialType

    return [
        PublicKeyCredentialDescriptor(
            type=PublicKeyCredentialType.PUBLIC_KEY,
            id=websafe_decode(id),
            transports=list(map(AuthenticatorTransport, transports)) or None,
        )
        for id, transports in passkeys
    ]


def _plain(options: Any) -> dict[str, Any]:
    """Returns options of the library as JSON values."""
    return dict(json.loads(json.dumps(dict(options), default=dict)))


def _json(text: str) -> dict[str, Any]:
    """Raises NotAuthenticated unless the text is a JSON object of a credible size."""
    if len(text) <= MAX_RESPONSE_CHARS:
        sent = _or_refused(lambda: json.loads(text))
        if isinstance(sent, dict) and isinstance(sent.get("response"), dict):
            return sent
    raise NotAuthenticated(REFUSED)


def _or_refused(work: Callable[[], Result]) -> Result:
    """Returns the result of a function. Raises NotAuthenticated for every error: hostile bytes make the library raise a
    dozen kinds of errors, and each must end in a refusal."""
    try:
        return work()
    except HelpdeskError:
        raise
    except Exception as error:
        _log.info("passkey.refused", reason=f"{type(error).__name__}: {error}"[:200])
        raise NotAuthenticated(REFUSED) from error


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
