"""Sign-in providers: OpenID providers at which workers sign in, the accounts linked to workers, and started sign-ins.

Rows apart from records, so that no dictionary, filter, package or export can reach the client secrets. people/ has the
rules and the pages' operations; openid_client.py the protocol."""

import json
import secrets
from typing import Any

from server.access.openid_client import Client, FlowSecrets
from server.access.sessions import SESSION
from server.dataclass import dataclass
from server.record_types.shared.secrets import digest
from server.store.schema import META
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

FLOW_SECONDS = 600  # time to sign in at the provider
LINK_SECONDS = 900  # lifetime of a sign-in link from the command line
MAX_LINK_CHARS = 200
ONLY = "sign_in_only_by_provider"  # row of META: "1" if passwords are off

SIGN_IN_PROVIDER = Table(
    "sign_in_provider",
    [
        Column("name", "TEXT"),
        Column("label", "TEXT"),
        Column("preset", "TEXT"),
        Column("issuer", "TEXT"),
        Column("client_id", "TEXT"),
        Column("client_secret", "TEXT"),
        Column("scopes", "TEXT"),
        Column("position"),
        Column("is_enabled"),
        Column("links_by_email"),
        Column("trusts_email"),
        Column("domains", "TEXT"),
        Column("group_ids", "TEXT"),
        Column("mapping", "TEXT"),
        Column("checks_second_factor"),
        Column("ends_at_provider"),
        Column("trial", "TEXT"),
        Column("trial_at"),
        Column("created_at"),
    ],
    [Index(("name",), "the provider of a callback", unique=True)],
)  # domains: workers with addresses there are created, blank for none. group_ids, mapping, trial: JSON
LINKED_ACCOUNT = Table(
    "linked_account",
    [
        Column("provider_id", references="sign_in_provider(id)"),
        Column("subject", "TEXT"),
        Column("worker_id", references="worker(id)"),
        Column("account", "TEXT"),
        Column("created_at"),
        Column("used_at"),
    ],
    [
        Index(("provider_id", "subject"), "the worker of an account", unique=True),
        Index(("worker_id", "provider_id"), "the accounts of a worker, one at each provider", unique=True),
    ],
)  # account: its name at the provider, for people
STARTED_SIGN_IN = Table(
    "started_sign_in",
    [
        Column("hash", "TEXT"),
        Column("browser", "TEXT"),
        Column("provider_id", references="sign_in_provider(id)"),
        Column("nonce", "TEXT"),
        Column("verifier", "TEXT"),
        Column("next", "TEXT"),
        Column("purpose", "TEXT"),
        Column("worker_id"),
        Column("expires_at"),
    ],
    [
        Index(("hash",), "the sign-in of a state", unique=True),
        Index(("expires_at",), "those that are over"),
    ],
)
PROVIDER_SESSION = Table(
    "provider_session",
    [
        Column("session_id", references="session(id)"),
        Column("provider_id", references="sign_in_provider(id)"),
        Column("subject", "TEXT"),
        Column("sid", "TEXT"),
        Column("id_token", "TEXT"),
    ],
    [Index(("provider_id", "subject"), "the sessions that a provider ends")],
    key=("session_id",),
)
ENDED_AT_PROVIDER = Table(
    "ended_at_provider",
    [Column("provider_id"), Column("hash", "TEXT"), Column("expires_at")],
    [Index(("expires_at",), "those that are over")],
    key=("provider_id", "hash"),
)  # logout tokens, each of which works once
SIGN_IN_LINK = Table(
    "sign_in_link",
    [Column("worker_id", references="worker(id)"), Column("hash", "TEXT"), Column("expires_at")],
    [Index(("hash",), "the worker of a link", unique=True)],
    key=("worker_id",),
)


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """A value of a claim, and its consequence. target: `administrator`, `group`, `group manager` or `role`; id: of the
    group or role, 0 for administrators."""

    claim: str
    value: str
    target: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class SignInProvider:
    """A provider, without its secret. name: part of its callback address, which never changes. domains: addresses
    there get a worker at the first sign-in. trial: the claims of the last trial sign-in; trial_at: its time, 0 if there
    was none since issuer, client or secret changed."""

    id: int
    name: str
    label: str
    preset: str
    issuer: str
    client_id: str
    has_secret: bool
    scopes: str
    position: int
    is_enabled: bool
    links_by_email: bool
    trusts_email: bool
    domains: tuple[str, ...]
    group_ids: tuple[int, ...]
    mapping: tuple[ClaimRule, ...]
    checks_second_factor: bool
    ends_at_provider: bool
    trial: dict[str, Any]
    trial_at: int


@dataclass(frozen=True, slots=True)
class LinkedAccount:
    """An account at a provider that signs a worker in. account: its name there. Times in Unix seconds, used_at 0 for
    never."""

    id: int
    provider_id: int
    subject: str
    worker_id: int
    account: str
    created_at: int
    used_at: int


@dataclass(frozen=True, slots=True)
class StartedSignIn:
    """A sign-in whose browser is at the provider. purpose: `sign in`, `link`, `confirm` or `trial`. next: the page
    after it. worker_id: of the worker who started it, 0 for a visitor."""

    provider_id: int
    nonce: str
    verifier: str
    next: str
    purpose: str
    worker_id: int


@dataclass(frozen=True, slots=True)
class ProviderSession:
    """The session at a provider from which a session of the console began. sid: "" if the provider sends none."""

    provider_id: int
    subject: str
    sid: str
    id_token: str


# -- providers ---------------------------------------------------------------------------------------------------------


def all_providers(tx: Transaction) -> list[SignInProvider]:
    """Returns all providers in the order of the sign-in page."""
    return sorted(map(_provider, tx.find(SIGN_IN_PROVIDER)), key=lambda each: (each.position, each.id))


def enabled(tx: Transaction) -> list[SignInProvider]:
    """Returns the providers that workers can use, in order."""
    return [each for each in all_providers(tx) if each.is_enabled]


def one(tx: Transaction, id: int) -> SignInProvider | None:
    row = tx.get(SIGN_IN_PROVIDER, id)
    return None if row is None else _provider(row)


def named(tx: Transaction, name: str) -> SignInProvider | None:
    row = tx.first(SIGN_IN_PROVIDER, name=name)
    return None if row is None else _provider(row)


def client(tx: Transaction, provider: SignInProvider) -> Client:
    """Returns the helpdesk as a client of a provider, with the secret."""
    row = tx.get(SIGN_IN_PROVIDER, provider.id)
    secret = str(row[SIGN_IN_PROVIDER.position["client_secret"]]) if row is not None else ""
    return Client(provider.label, provider.issuer, provider.client_id, secret, provider.scopes)


def rules_text(rules: tuple[ClaimRule, ...]) -> str:
    """Returns rules as they are stored."""
    return json.dumps([[each.claim, each.value, each.target, each.id] for each in rules])


def is_only_way(tx: Transaction) -> bool:
    """Whether passwords are off, so that workers sign in by a provider only."""
    row = tx.first(META, name=ONLY)
    return row is not None and row[1] == "1"


def set_only_way(tx: Transaction, is_only: bool) -> None:
    tx.put(META, {"name": ONLY, "value": "1" if is_only else ""})


def _provider(row: Any) -> SignInProvider:
    values = dict(zip(SIGN_IN_PROVIDER.names, row, strict=True))
    return SignInProvider(
        id=values["id"],
        name=values["name"],
        label=values["label"],
        preset=values["preset"],
        issuer=values["issuer"],
        client_id=values["client_id"],
        has_secret=bool(values["client_secret"]),
        scopes=values["scopes"],
        position=values["position"],
        is_enabled=bool(values["is_enabled"]),
        links_by_email=bool(values["links_by_email"]),
        trusts_email=bool(values["trusts_email"]),
        domains=tuple(values["domains"].split()),
        group_ids=tuple(json.loads(values["group_ids"] or "[]")),
        mapping=tuple(ClaimRule(*each) for each in json.loads(values["mapping"] or "[]")),
        checks_second_factor=bool(values["checks_second_factor"]),
        ends_at_provider=bool(values["ends_at_provider"]),
        trial=json.loads(values["trial"] or "{}"),
        trial_at=values["trial_at"],
    )


# -- linked accounts ---------------------------------------------------------------------------------------------------


def linked(tx: Transaction, provider_id: int, subject: str) -> LinkedAccount | None:
    """Returns the link of an account at a provider."""
    row = tx.first(LINKED_ACCOUNT, provider_id=provider_id, subject=subject)
    return None if row is None else LinkedAccount(*row)


def of_worker(tx: Transaction, worker_id: int) -> list[LinkedAccount]:
    """Returns the linked accounts of a worker."""
    return [LinkedAccount(*row) for row in tx.find(LINKED_ACCOUNT, worker_id=worker_id)]


def add_link(tx: Transaction, provider_id: int, subject: str, worker_id: int, account: str, now: int) -> None:
    """Links an account to a worker, neither of which has a link at this provider."""
    values = {"provider_id": provider_id, "subject": subject, "worker_id": worker_id, "account": account}
    tx.insert(LINKED_ACCOUNT, {**values, "created_at": now, "used_at": 0})


# -- started sign-ins --------------------------------------------------------------------------------------------------


def start(tx: Transaction, flow_secrets: FlowSecrets, browser: str, started: StartedSignIn, now: int) -> None:
    """Stores a started sign-in. browser: the secret of the browser's cookie."""
    tx.insert(
        STARTED_SIGN_IN,
        {
            "hash": digest(flow_secrets.state),
            "browser": digest(browser),
            "provider_id": started.provider_id,
            "nonce": flow_secrets.nonce,
            "verifier": flow_secrets.verifier,
            "next": started.next,
            "purpose": started.purpose,
            "worker_id": started.worker_id,
            "expires_at": now + FLOW_SECONDS,
        },
    )


def claim_started(tx: Transaction, state: str, browser: str, provider_id: int, now: int) -> StartedSignIn | None:
    """Removes and returns the started sign-in of a state; None if this browser has not started it at this provider, if
    it was used, or has expired."""
    row = tx.first(STARTED_SIGN_IN, hash=digest(state))
    if row is None:
        return None
    values = dict(zip(STARTED_SIGN_IN.names, row, strict=True))
    is_good = browser and values["browser"] == digest(browser) and values["provider_id"] == provider_id
    if not is_good or values["expires_at"] <= now:
        return None
    tx.delete(STARTED_SIGN_IN, id=values["id"])
    names = ("provider_id", "nonce", "verifier", "next", "purpose", "worker_id")
    return StartedSignIn(*(values[name] for name in names))


# -- sessions ----------------------------------------------------------------------------------------------------------


def add_session(tx: Transaction, session_text: str, session: ProviderSession) -> None:
    """Remembers the provider of a session. session_text: the id that its browser has."""
    row = tx.first(SESSION, hash=digest(session_text))
    if row is not None:
        values = {"provider_id": session.provider_id, "subject": session.subject, "sid": session.sid}
        tx.put(PROVIDER_SESSION, {"session_id": row[0], **values, "id_token": session.id_token})


def session_of(tx: Transaction, session_id: int) -> ProviderSession | None:
    """Returns the session at a provider from which a session began, None for one that began with a password."""
    row = tx.first(PROVIDER_SESSION, session_id=session_id)
    return None if row is None else ProviderSession(*row[1:])


def end_sessions(tx: Transaction, provider_id: int, subject: str = "", sid: str = "") -> dict[int, int]:
    """Ends the sessions of a subject or of one session at a provider, or of all; returns {worker id: their number}."""
    equals = {name: value for name, value in (("subject", subject), ("sid", sid)) if value}
    counts: dict[int, int] = {}
    for row in tx.find(PROVIDER_SESSION, provider_id=provider_id, **equals):
        session = tx.get(SESSION, row[0])
        if session is not None:
            worker_id = session[SESSION.position["worker_id"]]
            counts[worker_id] = counts.get(worker_id, 0) + 1
            tx.delete(SESSION, id=row[0])
    return counts


def accept_logout(tx: Transaction, provider_id: int, id: str, expires_at: int) -> bool:
    """Returns whether a logout token is new, and remembers it. id: its `jti`."""
    return tx.add(ENDED_AT_PROVIDER, {"provider_id": provider_id, "hash": digest(id), "expires_at": expires_at})


# -- links from the command line ---------------------------------------------------------------------------------------


def create_link(tx: Transaction, worker_id: int, now: int) -> str:
    """Creates a link that signs a worker in once; returns its code. It replaces the previous one."""
    code = secrets.token_urlsafe(32)
    tx.put(SIGN_IN_LINK, {"worker_id": worker_id, "hash": digest(code), "expires_at": now + LINK_SECONDS})
    return code


def worker_of_link(tx: Transaction, code: str, now: int) -> int | None:
    """Returns the worker whom a link signs in; None if it was used, replaced or has expired."""
    row = tx.first(SIGN_IN_LINK, hash=digest(code)) if len(code) <= MAX_LINK_CHARS else None
    if row is None or row[SIGN_IN_LINK.position["expires_at"]] <= now:
        return None
    return int(row[SIGN_IN_LINK.position["worker_id"]])


def use_up_link(tx: Transaction, worker_id: int) -> None:
    tx.delete(SIGN_IN_LINK, worker_id=worker_id)


_EXPIRING = (STARTED_SIGN_IN, ENDED_AT_PROVIDER, SIGN_IN_LINK)


def has_over(tx: Transaction, now: int) -> bool:
    """Returns whether a started sign-in, a logout token or a link has expired."""
    return any(_has_over(tx, each, now) for each in _EXPIRING)


def _has_over(tx: Transaction, table: Table, now: int) -> bool:
    rows: Any = table.sql
    found = tx.value(lambda: rows.select(rows.expires_at).where(rows.expires_at <= slot(0)).limit(1), (now,))
    return found is not None


def forget_over(tx: Transaction, now: int) -> int:
    """Deletes what has expired; returns the number of rows."""
    return sum(_forget_over(tx, each, now) for each in _EXPIRING)


def _forget_over(tx: Transaction, table: Table, now: int) -> int:
    rows: Any = table.sql
    return tx.run(lambda: rows.delete().where(rows.expires_at <= slot(0)), (now,))
