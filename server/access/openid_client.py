"""The protocol of sign-in providers: OpenID Connect Core 1.0, Discovery 1.0 and Back-Channel Logout 1.0, with PKCE (RFC
7636) and `iss` in responses (RFC 9207).

Knows no database. Documents of providers are cached in memory: each process reads them at most once an hour, and keys
also when a token names an unknown one, so that providers can rotate them."""

import hashlib
import hmac
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urlsplit

from server import outbound
from server.base64url import base64url
from server.context import Service
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import HelpdeskError, Invalid, NotAuthenticated, TooMany, Unavailable
from server.outbound import (
    OutboundRequest,
    OutboundResponse,
    RequestLimits,
    client_tokens,
    oauth_discovery,
    pkce,
)
from server.outbound.allowlist import is_public
from server.outbound.urls import parsed
from server.store.store_local import StoreLocal
from server.translation import N_, lazy_gettext

# Signatures that only the owner of a private key can create: never HS*, whose key the client shares, and never none.
ALGORITHMS = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "PS256": "RSA",
    "PS384": "RSA",
    "PS512": "RSA",
    "ES256": "EC",
    "ES384": "EC",
    "ES512": "EC",
    "EdDSA": "OKP",
    "Ed25519": "OKP",
}
SKEW_SECONDS = 120  # tolerated difference of clocks
DOCUMENT_SECONDS = 3600  # how long metadata and keys are used without being read again
STALE_SECONDS = 86400  # how long they are used while the provider cannot be reached
KEY_REFRESH_SECONDS = 60  # seconds that MAX_KEY_REFRESHES applies to
MAX_KEY_REFRESHES = 5  # keys are read anew because of unknown ones, which any token can name
CALL_SECONDS = 10.0  # a person waits for each request to a provider
MAX_DOCUMENT_BYTES = 256 * 1024  # response of a provider
MAX_TOKEN_CHARS = 32 * 1024  # ID token or logout token
MAX_KEYS = 100  # published keys that are read
MAX_TRIED_KEYS = 5  # keys tried for a token without a key id
MIN_RSA_BITS = 2048
MAX_SUBJECT_CHARS = 255  # OpenID Connect Core 1.0, section 2
MAX_CALLS = 4  # at once to all providers; the console has eight threads
LOGOUT_SECONDS = 600  # age of an accepted logout token, besides the skew
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
MICROSOFT = "https://login.microsoftonline.com/"

NO_JSON = N_("{host} returned no JSON document")
FORGED = N_(
    "The response of {provider} is not valid: {reason}. Start again; if it happens again, ask an administrator."
)
DENIALS = {
    "access_denied": N_("You cancelled at {provider}, or it does not allow you to use this helpdesk."),
    "consent_required": N_("{provider} needs your consent. Start again, and allow it."),
    "interaction_required": N_("{provider} needs you to do something there. Start again."),
    "login_required": N_("You are not signed in at {provider}. Start again."),
    "temporarily_unavailable": N_("{provider} is busy. Try again in a moment."),
    "server_error": N_("{provider} has a problem. Try again in a moment."),
    "invalid_scope": N_("{provider} does not offer a scope that the helpdesk requests. Ask an administrator."),
    "unauthorized_client": N_("{provider} does not accept the client ID of the helpdesk. Ask an administrator."),
}
OTHER_DENIAL = N_("{provider} refused the sign-in ({code}). Ask an administrator.")

_CALLS = threading.BoundedSemaphore(MAX_CALLS)


@dataclass(frozen=True, slots=True)
class Client:
    """The helpdesk as a client of a provider. label: the provider's name, for messages. secret: "" for a public
    client."""

    label: str
    issuer: str
    client_id: str
    secret: str
    scopes: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """The published metadata of a provider (OpenID Connect Discovery 1.0, section 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""
    client_authentication: str = "basic"
    has_issuer_parameter: bool = False
    has_backchannel_logout: bool = False


@dataclass(frozen=True, slots=True)
class FlowSecrets:
    """The secrets of one sign-in. state and nonce return from the provider; the verifier of PKCE never leaves before
    the code is exchanged."""

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class Identity:
    """A verified account at a provider. id_token: as received. access_token: for the userinfo endpoint, "" without."""

    claims: Mapping[str, Any]
    id_token: str
    access_token: str

    @property
    def subject(self) -> str:
        return str(self.claims["sub"])


@dataclass(frozen=True, slots=True)
class Logout:
    """A verified logout token. subject, session_id: at least one of them is not blank. id: its `jti`. expires_at: until
    when a second one with the same id is a replay."""

    subject: str
    session_id: str
    id: str
    expires_at: int


@dataclass
class Documents:
    """The cached documents of a provider. Times in Unix seconds. refreshes: their number since refreshes_at."""

    metadata: Metadata | None = None
    metadata_at: int = 0
    keys: tuple[dict[str, Any], ...] = ()
    keys_at: int = 0
    refreshes_at: int = 0
    refreshes: int = 0

    def may_refresh(self, now: int) -> bool:
        """Counts a read of the keys because of an unknown one; returns whether it is allowed."""
        if now - self.refreshes_at >= KEY_REFRESH_SECONDS:
            self.refreshes_at, self.refreshes = now, 0
        self.refreshes += 1
        return self.refreshes <= MAX_KEY_REFRESHES


_DOCUMENTS: StoreLocal[dict[str, Documents]] = StoreLocal()


def new_flow_secrets() -> FlowSecrets:
    """Returns new secrets of at least 256 random bits each."""
    return FlowSecrets(secrets.token_urlsafe(32), secrets.token_urlsafe(32), pkce.new_verifier())


def issuer_of(service: Service, text: str) -> str:
    """Returns an issuer as an administrator enters it, without the path of its discovery document. Raises Invalid."""
    issuer = text.strip().removesuffix("/.well-known/openid-configuration")
    if "{" in issuer or "<" in issuer:
        raise Invalid(N_("issuer: replace the placeholder by the value of your provider"), field="issuer")
    url = parsed(issuer)
    if url.query or "#" in issuer:
        raise Invalid(N_("issuer: it has no query and no fragment"), field="issuer")
    if url.scheme != "https" and not _is_private(service, url.host):
        raise Invalid(
            N_("issuer: it must begin with https:, unless it is a host in outbound_allow"),
            field="issuer",
        )
    return issuer


def _is_private(service: Service, host: str) -> bool:
    """Whether the setting `outbound_allow` names a host: only then may a provider do without https."""
    permitted = outbound.limits(service.settings).permitted
    return not is_public(host) and permitted.lets(host, host)


def discover(service: Service, issuer: str, now: int) -> Metadata:
    """Reads and checks the metadata of a provider anew. Raises Invalid with the field `issuer`, Unavailable."""
    response = _call(service, outbound.request(discovery_address(issuer), headers={"accept": "application/json"}))
    if response.status != 200:
        raise Invalid(
            lazy_gettext(
                "issuer: {url} responds with {status}; compare the issuer with the one that the provider shows",
                url=discovery_address(issuer),
                status=response.status,
            ),
            field="issuer",
        )
    metadata = _metadata(issuer, _json(response))
    documents = _documents(service, issuer)
    documents.metadata, documents.metadata_at = metadata, now
    return metadata


def discovery_address(issuer: str) -> str:
    """Returns the address of the metadata (OpenID Connect Discovery 1.0, section 4)."""
    return f"{issuer.removesuffix('/')}/.well-known/openid-configuration"


def metadata_of(service: Service, issuer: str, now: int) -> Metadata:
    """Returns the metadata of a provider, cached for an hour, and for a day while it cannot be reached. Raises
    Invalid, Unavailable."""
    documents = _documents(service, issuer)
    present = documents.metadata
    if present is not None and now - documents.metadata_at < DOCUMENT_SECONDS:
        return present
    try:
        return discover(service, issuer, now)
    except HelpdeskError:
        if present is None or now - documents.metadata_at >= STALE_SECONDS:
            raise
        return present


def authorization_url(
    service: Service,
    client: Client,
    flow_secrets: FlowSecrets,
    callback: str,
    now: int,
    more: Mapping[str, str] | None = None,
) -> str:
    """Returns the address at the provider that the browser is sent to. more: further parameters, such as `prompt`.
    Raises Invalid, Unavailable."""
    metadata = metadata_of(service, client.issuer, now)
    query = urlencode(
        {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": callback,
            "scope": client.scopes,
            "state": flow_secrets.state,
            "nonce": flow_secrets.nonce,
            "code_challenge": pkce.challenge(flow_secrets.verifier),
            "code_challenge_method": pkce.METHOD,
            **(more or {}),
        }
    )
    address = metadata.authorization_endpoint
    return f"{address}{'&' if '?' in address else '?'}{query}"


def code_of(service: Service, client: Client, response: Mapping[str, str], now: int) -> str:
    """Returns the code in an authorization response, whose `state` the caller has verified. Raises NotAuthenticated for
    an error, and for a response of another provider (RFC 9207, 2.4)."""
    metadata = metadata_of(service, client.issuer, now)
    issuer = response.get("iss")
    if issuer is None and metadata.has_issuer_parameter:
        raise _forged(client, N_("it does not name its issuer"))
    if issuer is not None and issuer != client.issuer:
        raise _forged(client, N_("it was issued by another provider"))
    if response.get("error"):
        raise NotAuthenticated(denial(client, response["error"]))
    code = response.get("code", "")
    if not code:
        raise _forged(client, N_("it has no code"))
    return code


def denial(client: Client, code: str) -> str:
    """Returns a sentence for an error of an authorization response. The description in the response is not shown,
    since it is not authenticated."""
    plain = "".join(char for char in code[:60] if char.isascii() and (char.isalnum() or char in "_-"))
    return lazy_gettext(DENIALS.get(code, OTHER_DENIAL), provider=client.label, code=plain or "-")


def exchange(
    service: Service, client: Client, flow_secrets: FlowSecrets, code: str, callback: str, now: int
) -> Identity:
    """Exchanges a code for a verified identity: one request to the provider, and one more if its keys are not cached.
    Raises NotAuthenticated, Unavailable."""
    metadata = metadata_of(service, client.issuer, now)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": callback,
        "code_verifier": flow_secrets.verifier,
    }
    values = {
        "token_url": metadata.token_endpoint,
        "client_id": client.client_id,
        "client_secret": client.secret,
        "client_authentication": metadata.client_authentication if client.secret else "body",
    }
    response = _call(service, client_tokens.token_request(values, form))
    payload = _json(response)
    if response.status != 200 or payload.get("error"):
        error = str(payload.get("error") or response.status)
        if response.status >= 500:
            raise Unavailable(lazy_gettext("{provider} has a problem. Try again in a moment.", provider=client.label))
        if error in ("invalid_client", "unauthorized_client"):
            raise NotAuthenticated(
                lazy_gettext(
                    "{provider} does not accept the client secret of the helpdesk. Ask an administrator.",
                    provider=client.label,
                )
            )
        raise _forged(client, N_("the code was used, has expired, or belongs to another sign-in"))
    token, access_token = payload.get("id_token"), payload.get("access_token")
    if not isinstance(token, str) or not token:
        raise _forged(client, N_("it has no ID token; the scopes must contain openid"))
    header, claims = _verified(service, client, metadata, token, now)
    _check_id_token(client, claims, flow_secrets.nonce, now)
    access = access_token if isinstance(access_token, str) else ""
    if "at_hash" in claims and claims["at_hash"] != _half_hash(header["alg"], access):
        raise _forged(client, N_("its access token belongs to another ID token"))
    return Identity(claims, token, access)


def with_userinfo(service: Service, client: Client, identity: Identity, now: int) -> Identity:
    """Adds the claims of the userinfo endpoint (OpenID Connect Core 1.0, section 5.3), with one request; those of the
    ID token count first. Raises NotAuthenticated, Unavailable."""
    metadata = metadata_of(service, client.issuer, now)
    if not metadata.userinfo_endpoint or not identity.access_token:
        return identity
    headers = {"accept": "application/json", "authorization": f"Bearer {identity.access_token}"}
    response = _call(service, replace(outbound.request(metadata.userinfo_endpoint, headers=headers), follow=False))
    if response.status != 200 or not response.headers.get("content-type", "").startswith("application/json"):
        return identity
    claims = _json(response)
    if claims.get("sub") != identity.subject:
        raise _forged(client, N_("its userinfo is about somebody else"))
    return replace(identity, claims={**claims, **identity.claims})


def end_session_url(service: Service, client: Client, id_token: str, return_to: str, state: str, now: int) -> str:
    """Returns the address that signs the browser out at the provider (OpenID Connect RP-Initiated Logout 1.0), "" if it
    offers none. Raises Invalid, Unavailable."""
    metadata = metadata_of(service, client.issuer, now)
    if not metadata.end_session_endpoint:
        return ""
    query = {"client_id": client.client_id, "post_logout_redirect_uri": return_to, "state": state}
    address, hint = metadata.end_session_endpoint, {"id_token_hint": id_token} if id_token else {}
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query | hint)}"


def verified_logout(service: Service, client: Client, token: str, now: int) -> Logout:
    """Returns the content of a logout token. Raises NotAuthenticated. Follows OpenID Connect Back-Channel Logout 1.0,
    section 2.6."""
    metadata = metadata_of(service, client.issuer, now)
    header, claims = _verified(service, client, metadata, token, now)
    if str(header.get("typ", "")).lower() not in ("logout+jwt", "jwt", ""):
        raise _forged(client, N_("its type is another one"))
    _check_issued(client, claims, now)
    events = claims.get("events")
    if not isinstance(events, dict) or not isinstance(events.get(LOGOUT_EVENT), dict):
        raise _forged(client, N_("it is not about a sign-out"))
    if "nonce" in claims:
        raise _forged(client, N_("it is an ID token"))
    if claims["iat"] < now - LOGOUT_SECONDS - SKEW_SECONDS:
        raise _forged(client, N_("it is too old"))
    subject, session_id, id = (_short_text(claims.get(name)) for name in ("sub", "sid", "jti"))
    if not subject and not session_id:
        raise _forged(client, N_("it names neither a person nor a session"))
    if not id:
        raise _forged(client, N_("it has no jti"))
    expires_at = max(int(claims.get("exp", 0)), int(claims["iat"]) + LOGOUT_SECONDS) + SKEW_SECONDS
    return Logout(subject, session_id, id, min(expires_at, now + STALE_SECONDS))


# -- documents ---------------------------------------------------------------------------------------------------------


def _documents(service: Service, issuer: str) -> Documents:
    return _DOCUMENTS.made(service.store, dict).setdefault(issuer, Documents())


def _metadata(issuer: str, document: Mapping[str, Any]) -> Metadata:
    """Returns the checked metadata. Raises Invalid."""
    stated = document.get("issuer")
    if stated != issuer:
        raise Invalid(_other_issuer(issuer, str(stated or "")[:200]), field="issuer")
    addresses = {
        name: _endpoint(issuer, document, name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
    }
    missing = [name for name, address in addresses.items() if not address]
    if missing:
        raise Invalid(lazy_gettext("issuer: its metadata has no {name}", name=missing[0]), field="issuer")
    methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return Metadata(
        issuer,
        **addresses,
        userinfo_endpoint=_endpoint(issuer, document, "userinfo_endpoint"),
        end_session_endpoint=_endpoint(issuer, document, "end_session_endpoint"),
        client_authentication="basic" if "client_secret_basic" in methods else "body",
        has_issuer_parameter=document.get("authorization_response_iss_parameter_supported") is True,
        has_backchannel_logout=document.get("backchannel_logout_supported") is True,
    )


def _other_issuer(issuer: str, stated: str) -> str:
    if stated.startswith(MICROSOFT) and "{tenantid}" in stated:
        return lazy_gettext(
            "issuer: enter the ID of your own tenant in place of common, organizations or consumers: other tenants can "
            "write any address into their accounts"
        )
    return lazy_gettext(
        "issuer: its metadata names the issuer '{stated}', and you entered '{issuer}'; both must be equal, character "
        "by character",
        stated=stated,
        issuer=issuer,
    )


def _endpoint(issuer: str, document: Mapping[str, Any], name: str) -> str:
    """Returns an address of the metadata, "" if it is missing. Raises Invalid for one that others could read on the
    way."""
    address = document.get(name)
    if address is None:
        return ""
    if not isinstance(address, str):
        raise Invalid(lazy_gettext("issuer: the {name} of its metadata is not an address", name=name), field="issuer")
    url = parsed(address)
    if url.scheme != "https" and urlsplit(issuer).scheme == "https":
        raise Invalid(lazy_gettext("issuer: the {name} of its metadata is not https", name=name), field="issuer")
    return str(url)


def _keys(
    service: Service, client: Client, metadata: Metadata, now: int, is_refresh: bool
) -> tuple[dict[str, Any], ...]:
    """Returns the published keys. is_refresh: whether a token names a key that is not among the cached ones."""
    documents = _documents(service, client.issuer)
    age = now - documents.keys_at
    if age < DOCUMENT_SECONDS and not (is_refresh and documents.may_refresh(now)):
        return documents.keys
    try:
        response = _call(service, outbound.request(metadata.jwks_uri, headers={"accept": "application/json"}))
        keys = _json(response).get("keys") if response.status == 200 else None
        if not isinstance(keys, list):
            raise Unavailable(lazy_gettext("{provider} publishes no keys", provider=client.label))
    except HelpdeskError:
        if not documents.keys or age >= STALE_SECONDS:
            raise
        return documents.keys
    documents.keys = tuple(key for key in keys[:MAX_KEYS] if isinstance(key, dict))
    documents.keys_at = now
    return documents.keys


# -- tokens ------------------------------------------------------------------------------------------------------------


def _verified(
    service: Service, client: Client, metadata: Metadata, token: str, now: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns header and claims of a signed token. Raises NotAuthenticated."""
    header = _header(client, token)
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise _forged(client, N_("it is not signed with a public key"))
    if "crit" in header or "b64" in header:
        raise _forged(client, N_("it needs an extension that is not known here"))
    for is_refresh in (False, True):
        published = _keys(service, client, metadata, now, is_refresh)
        candidates = [key for key in published if _fits(key, algorithm, kid)][:MAX_TRIED_KEYS]
        claims = _signed_claims(token, algorithm, candidates)
        if claims is not None:
            return header, claims
        if candidates and kid is not None:
            break  # a bad signature; new keys would not help
    raise _forged(client, N_("its signature is wrong"))


def _header(client: Client, token: str) -> dict[str, Any]:
    """Returns the header of a token, which is not verified yet. Raises NotAuthenticated."""
    if len(token) > MAX_TOKEN_CHARS or token.count(".") != 2:
        raise _forged(client, N_("it is not a signed token, or too large"))
    header = oauth_discovery.unverified_part(token, 0, MAX_TOKEN_CHARS)
    if header is None:
        raise _forged(client, N_("it cannot be read"))
    return header


def _fits(key: Mapping[str, Any], algorithm: str, kid: object) -> bool:
    """Whether a published key may have signed with an algorithm (RFC 7517, section 4)."""
    is_named = kid is None or key.get("kid") == kid
    has_use = key.get("use", "sig") == "sig" and key.get("alg", algorithm) in (algorithm, _OTHER_NAMES.get(algorithm))
    return is_named and has_use and key.get("kty") == ALGORITHMS[algorithm] and not _is_short(key)


def _is_short(key: Mapping[str, Any]) -> bool:
    """Whether an RSA key can be broken."""
    modulus = key.get("n")
    return key.get("kty") == "RSA" and (not isinstance(modulus, str) or len(modulus) * 6 < MIN_RSA_BITS)


_OTHER_NAMES = {"EdDSA": "Ed25519", "Ed25519": "EdDSA"}


def _signed_claims(token: str, algorithm: str, candidates: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Returns the claims of a token that one of these keys has signed, None if none has."""
    jose = _jose()
    for each in candidates:
        public = {name: value for name, value in each.items() if name in ("kty", "crv", "n", "e", "x", "y")}
        try:
            key = jose.import_key(public)
            return dict(jose.decode(token, key, algorithms=[algorithm]).claims)
        except (jose.JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
    return None


@cache
def _jose() -> Any:
    """The library of signatures, which is slow to import. It warns of EdDSA, which providers still use."""
    import warnings

    from joserfc import errors, jwk, jwt

    warnings.filterwarnings("ignore", category=errors.SecurityWarning)
    return SimpleNamespace(import_key=jwk.import_key, decode=jwt.decode, JoseError=errors.JoseError)


def _check_id_token(client: Client, claims: Mapping[str, Any], nonce: str, now: int) -> None:
    """Raises NotAuthenticated for an ID token of another client or sign-in (OpenID Connect Core 1.0, 3.1.3.7)."""
    _check_issued(client, claims, now, needs_end=True)
    if not _is_equal(claims.get("nonce"), nonce):
        raise _forged(client, N_("it belongs to another sign-in"))
    if not _short_text(claims.get("sub")):
        raise _forged(client, N_("it names nobody"))


def _check_issued(client: Client, claims: Mapping[str, Any], now: int, needs_end: bool = False) -> None:
    """Raises NotAuthenticated unless a token comes from this provider, is for this client, and holds now."""
    if claims.get("iss") != client.issuer:
        raise _forged(client, N_("it was issued by another provider"))
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if client.client_id not in audiences or (len(audiences) > 1 and "azp" not in claims):
        raise _forged(client, N_("it is for another program"))
    if claims.get("azp", client.client_id) != client.client_id:
        raise _forged(client, N_("it is for another program"))
    issued, ends, begins = (_time(client, claims, name) for name in ("iat", "exp", "nbf"))
    if issued is None or (needs_end and ends is None):
        raise _forged(client, N_("it does not say when it holds"))
    if ends is not None and ends <= now - SKEW_SECONDS:
        raise _forged(client, N_("it has expired; the clocks may differ"))
    if max(issued, begins or 0) > now + SKEW_SECONDS:
        raise _forged(client, N_("it is from the future; the clocks may differ"))


def _time(client: Client, claims: Mapping[str, Any], name: str) -> float | None:
    """Returns a time of a token in Unix seconds, None if it has none. Raises NotAuthenticated for other values."""
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise _forged(client, N_("it does not say when it holds"))
    return value


def _is_equal(value: object, expected: str) -> bool:
    return isinstance(value, str) and hmac.compare_digest(value.encode(), expected.encode())


def _short_text(value: object) -> str:
    return value if isinstance(value, str) and 0 < len(value) <= MAX_SUBJECT_CHARS and value.isprintable() else ""


def _half_hash(algorithm: str, access_token: str) -> str:
    """Returns the expected `at_hash`: the left half of a digest (OpenID Connect Core 1.0, 3.1.3.6)."""
    digits = algorithm[-3:]
    name = f"sha{digits}" if is_whole(digits) else "sha512"  # Ed25519 hashes with SHA-512
    digest = hashlib.new(name, access_token.encode()).digest()
    return base64url(digest[: len(digest) // 2])


def _forged(client: Client, reason: str) -> NotAuthenticated:
    return NotAuthenticated(lazy_gettext(FORGED, provider=client.label, reason=lazy_gettext(reason)))


# -- requests ----------------------------------------------------------------------------------------------------------


def _call(service: Service, outgoing: OutboundRequest) -> OutboundResponse:
    """Sends a request to a provider, within narrow limits. Raises Rejected, TimedOut, TooLarge, Unavailable."""
    bounds = outbound.limits(service.settings)
    seconds, size = min(bounds.seconds, CALL_SECONDS), min(bounds.max_bytes, MAX_DOCUMENT_BYTES)
    limits = RequestLimits(seconds, size, bounds.permitted)
    with _turn():
        return outbound.send(outgoing, limits)


@contextmanager
def _turn() -> Iterator[None]:
    """Limits the calls at once, so that a slow provider leaves threads for other pages. Raises TooMany."""
    if not _CALLS.acquire(timeout=CALL_SECONDS / 2):
        raise TooMany(N_("Too many people sign in right now. Try again in a moment."), retry_after=5)
    try:
        yield
    finally:
        _CALLS.release()


def _json(response: OutboundResponse) -> dict[str, Any]:
    """Returns a JSON object. Raises Unavailable for anything else."""
    document = oauth_discovery.json_object(response.body)
    if document is None:
        raise Unavailable(lazy_gettext(NO_JSON, host=response.url.host))
    return document
