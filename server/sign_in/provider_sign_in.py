"""Signs workers in by a sign-in provider: to the provider and back, to the worker of the account, and out again.

An account is linked to a worker by provider and subject. The first time, the worker is found by a verified address or
created, as far as the administrator allows it. Follows OpenID Connect Core 1.0; access/openid_client.py has the
protocol."""

from collections.abc import Mapping
from typing import Any

from server import log
from server.access import actor, openid_client, sessions, sign_in_providers
from server.access.openid_client import Client, FlowSecrets, Identity
from server.access.sessions import Session
from server.access.sign_in_providers import ProviderSession, SignInProvider, StartedSignIn
from server.context import Context, Service
from server.contexts import WORKER
from server.dataclass import dataclass
from server.errors import Conflict, Forbidden, HelpdeskError, Invalid, NotAuthenticated, NotFound, TooMany, Unavailable
from server.people import nicknames
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.sign_in import claim_rules, sign_in, sign_in_provider_setup
from server.sign_in.claim_rules import ClaimedPerson
from server.sign_in.sign_in import NewSession, Peer
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext

SIGN_IN, LINK, CONFIRM, TRIAL = "sign in", "link", "confirm", "trial"
CONFIRMED_SECONDS = 600  # age of a sign-in at the provider that proves who is there
LOG = log.get("sign_in")

GONE = N_("This sign-in provider is not available. Choose another way to sign in.")
STALE = N_("This sign-in was used, has expired, or began in another browser. Start again.")
DOWN = N_("{provider} cannot be reached right now. Try again in a moment, or sign in another way.")
UNKNOWN = N_(
    "Your account {account} at {provider} does not belong to a worker here. Ask an administrator, or sign in another "
    "way and link it under Account."
)
UNVERIFIED = N_("{provider} has not verified your address {email}. Confirm it there, then start again.")
TAKEN = N_(
    "A worker with the address {email} exists. Sign in another way, and link your account at {provider} under Account."
)
OTHER_ACCOUNT = N_("The worker {email} is linked to another account at {provider}. Ask an administrator.")
DISABLED = N_("Your account here is deactivated. Ask an administrator.")


@dataclass(frozen=True, slots=True)
class Returned:
    """A browser that came back to the callback of the provider that it was sent to."""

    provider: SignInProvider
    client: Client
    started: StartedSignIn


@dataclass(frozen=True, slots=True)
class Arrival:
    """A browser that came back from a provider with a verified account."""

    provider: SignInProvider
    client: Client
    started: StartedSignIn
    identity: Identity

    @property
    def session(self) -> ProviderSession:
        """The session at the provider."""
        sid = self.identity.claims.get("sid")
        name = sid if isinstance(sid, str) and len(sid) <= openid_client.MAX_SUBJECT_CHARS else ""
        hint = self.identity.id_token if self.provider.ends_at_provider else ""
        return ProviderSession(self.provider.id, self.identity.subject, name, hint)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The worker of an account. worker_id: 0 if there is none. way: `linked`, `email`, `new`, or "" for a refusal.
    refusal: the reason as a sentence."""

    worker_id: int
    way: str
    refusal: str = ""


# -- to the provider ---------------------------------------------------------------------------------------------------


def begin(ctx: Context, provider: SignInProvider, browser: str, purpose: str, next_path: str) -> str:
    """Starts a sign-in of this browser; returns the address at the provider to redirect it to. browser: the secret of
    its cookie. Raises Unavailable."""
    service = ctx.service
    client = service.store.read(lambda tx: sign_in_providers.client(tx, provider))
    flow_secrets = openid_client.new_flow_secrets()
    worker_id = ctx.actor.worker_id if purpose != SIGN_IN else 0
    more = _prompt(provider) if purpose == CONFIRM else {}
    callback = sign_in_provider_setup.callback(service, provider.name)
    try:
        address = openid_client.authorization_url(service, client, flow_secrets, callback, ctx.now, more)
    except HelpdeskError as error:
        raise _down(provider, error) from error
    started = StartedSignIn(provider.id, flow_secrets.nonce, flow_secrets.verifier, next_path, purpose, worker_id)
    service.store.write(lambda tx: sign_in_providers.start(tx, flow_secrets, browser, started, ctx.now))
    return address


def enabled_provider(service: Service, name: str) -> SignInProvider:
    """Returns a provider that workers can use. Raises NotFound."""
    provider = _named(service, name)
    if not provider.is_enabled:
        raise NotFound(GONE)
    return provider


def _prompt(provider: SignInProvider) -> dict[str, str]:
    """The parameters that make a provider ask again who is there. Google knows only the choice of an account."""
    if provider.preset == "google":
        return {"prompt": "select_account"}
    return {"prompt": "login", "max_age": "0"}


def _down(provider: SignInProvider, error: HelpdeskError) -> HelpdeskError:
    """The error to show: how the connection failed is for the log, not for everybody."""
    if isinstance(error, NotAuthenticated | TooMany):
        return error
    LOG.warning("provider.failed", provider=provider.name, reason=error.message[:300])
    return Unavailable(lazy_gettext(DOWN, provider=provider.label))


# -- back from the provider --------------------------------------------------------------------------------------------


def returned(service: Service, name: str, browser: str, state: str, now: int) -> Returned:
    """Returns the sign-in that this browser started at a provider, and uses up its state. browser: the secret of the
    cookie. Raises NotAuthenticated if it was used, has expired, or began elsewhere; NotFound."""
    provider = _named(service, name)

    def claim(tx: Transaction) -> StartedSignIn | None:
        return sign_in_providers.claim_started(tx, state, browser, provider.id, now)

    started = service.store.write(claim) if state and browser else None
    if started is None:
        raise NotAuthenticated(STALE)
    if not provider.is_enabled and started.purpose != TRIAL:
        raise NotAuthenticated(GONE)
    return Returned(provider, service.store.read(lambda tx: sign_in_providers.client(tx, provider)), started)


def verified(service: Service, back: Returned, response: Mapping[str, str], now: int) -> Arrival:
    """Verifies the response of a provider, whose state `returned` has used up. Raises NotAuthenticated, Unavailable."""
    provider, client, started = back.provider, back.client, back.started
    try:
        code = openid_client.code_of(service, client, response, now)
        flow_secrets = FlowSecrets(response["state"], started.nonce, started.verifier)
        callback = sign_in_provider_setup.callback(service, provider.name)
        identity = openid_client.exchange(service, client, flow_secrets, code, callback, now)
        identity = _complete(service, provider, client, identity, now)
    except HelpdeskError as error:
        LOG.info("refused", provider=provider.name, reason=error.message[:300])
        raise _down(provider, error) from error
    return Arrival(provider, client, started, identity)


def _named(service: Service, name: str) -> SignInProvider:
    provider = service.store.read(lambda tx: sign_in_providers.named(tx, name))
    if provider is None:
        raise NotFound(GONE)
    return provider


def _complete(service: Service, provider: SignInProvider, client: Client, identity: Identity, now: int) -> Identity:
    """Adds claims of the userinfo endpoint only if the ID token lacks some that are needed: it is one more request."""
    link = service.store.read(lambda tx: sign_in_providers.linked(tx, provider.id, identity.subject))
    if not claim_rules.missing_names(provider, identity.claims, link is None):
        return identity
    return openid_client.with_userinfo(service, client, identity, now)


def sign_in_by(ctx: Context, arrival: Arrival, peer: Peer) -> NewSession:
    """Starts a session of the worker of the account, whom it links or creates if that is allowed, and applies the rules
    of the provider. ctx: of the service. Raises Forbidden with the reason."""
    provider, identity = arrival.provider, arrival.identity

    def resolve(tx: Transaction) -> int:
        writing = RecordWriter(ctx, tx)
        person = claim_rules.person_of(provider, identity.claims)
        resolution = resolved(writing, provider, identity.claims, person)
        if resolution.refusal:
            raise Forbidden(resolution.refusal)
        worker_id = resolution.worker_id or _create(writing, provider, person)
        if resolution.way != "linked":
            _link(writing, provider, identity.subject, worker_id, person.account)
        claim_rules.apply(writing, provider, identity.claims, worker_id)
        return worker_id

    worker_id = ctx.service.store.write(resolve)
    asks_code = not provider.checks_second_factor
    session = sign_in.by_provider(ctx, worker_id, peer, arrival.session, asks_code=asks_code)
    ctx.service.store.write(lambda tx: _used(tx, provider.id, worker_id, ctx.now))
    return session


def _used(tx: Transaction, provider_id: int, worker_id: int, now: int) -> None:
    row = tx.first(sign_in_providers.LINKED_ACCOUNT, worker_id=worker_id, provider_id=provider_id)
    if row is not None:
        tx.update(sign_in_providers.LINKED_ACCOUNT, row[0], {"used_at": now})


def resolved(
    reading: RecordReader, provider: SignInProvider, claims: Mapping[str, Any], person: ClaimedPerson
) -> Resolution:
    """Finds the worker of an account, or the reason to refuse the sign-in. Changes nothing."""
    tx, label = reading.tx, provider.label
    link = sign_in_providers.linked(tx, provider.id, str(claims["sub"]))
    if link is not None:
        is_active = actor.worker(tx, link.worker_id) is not None
        return Resolution(link.worker_id, "linked", "" if is_active else lazy_gettext(DISABLED))
    unknown = Resolution(0, "", lazy_gettext(UNKNOWN, account=person.account, provider=label))
    known_id = sign_in.worker_with(reading.ctx, tx, person.email) if person.email else 0
    domain = person.email.rpartition("@")[2]
    may_create = not known_id and domain in provider.domains
    if not person.email or not ((known_id and provider.links_by_email) or may_create):
        is_taken = known_id and person.is_verified
        return Resolution(0, "", lazy_gettext(TAKEN, email=person.email, provider=label)) if is_taken else unknown
    if not person.is_verified:
        return Resolution(0, "", lazy_gettext(UNVERIFIED, email=person.email, provider=label))
    if known_id and any(each.provider_id == provider.id for each in sign_in_providers.of_worker(tx, known_id)):
        # Another account is linked already: the address may have passed to somebody else.
        return Resolution(0, "", lazy_gettext(OTHER_ACCOUNT, email=person.email, provider=label))
    if known_id and actor.worker(tx, known_id) is None:
        return Resolution(0, "", lazy_gettext(DISABLED))
    return Resolution(known_id, "email" if known_id else "new")


def _create(writing: RecordWriter, provider: SignInProvider, person: ClaimedPerson) -> int:
    """Creates a worker who signs in with the provider only. Raises Forbidden if the address cannot be a worker's."""
    workers = writing.ctx.service.registry.type("worker")
    language, zone = _defaults(writing.tx)
    fields = {
        "first_name": person.first_name,
        "last_name": person.last_name,
        "email": person.email,
        "at_mention_name": nicknames.free(writing.tx, person.first_name, person.last_name),
        "language": person.language or language,
        "timezone": zone,
        "is_password_disabled": "1",
    }
    try:
        id = writing.create_sent(workers, fields)
    except (Invalid, Conflict) as error:
        raise Forbidden(
            lazy_gettext(
                "No worker can be created for {email}: {reason}. Ask an administrator.",
                email=person.email,
                reason=error.message,
            )
        ) from error
    claim_rules.join(writing, provider.group_ids, id)
    target = {"target": writing.label(WORKER, id), "provider": provider.label}
    writing.log("worker.provisioned", WORKER, id, target)
    return id


def _defaults(tx: Transaction) -> tuple[str, str]:
    """Returns language and time zone of the first administrator, the defaults for new workers."""
    worker = table_named("worker")
    row = tx.row(
        lambda: (
            worker.select(worker.c.language, worker.c.timezone)
            .where(worker.c.is_superuser == slot(0))
            .order_by(worker.c.id)
            .limit(1)
        ),
        (1,),
    )
    return (row[0] or "en_US", row[1] or "UTC") if row is not None else ("en_US", "UTC")


def _link(writing: RecordWriter, provider: SignInProvider, subject: str, worker_id: int, account: str) -> None:
    sign_in_providers.add_link(writing.tx, provider.id, subject, worker_id, account, writing.ctx.now)
    target = {"target": writing.label(WORKER, worker_id), "account": account or subject, "provider": provider.label}
    writing.log("worker.linked", WORKER, worker_id, target)


# -- while signed in ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OwnAccounts:
    """The providers that a worker can use, with the linked account at each, None without one. can_unlink: whether the
    worker has another way to sign in."""

    accounts: list[tuple[SignInProvider, sign_in_providers.LinkedAccount | None]]
    can_unlink: bool
    is_only: bool


def own_accounts(ctx: Context) -> OwnAccounts:
    """Returns the linked accounts of the caller."""

    def read(tx: Transaction) -> OwnAccounts:
        links = {each.provider_id: each for each in sign_in_providers.of_worker(tx, ctx.actor.worker_id)}
        providers = [each for each in sign_in_providers.all_providers(tx) if each.is_enabled or each.id in links]
        pairs = [(each, links.get(each.id)) for each in providers]
        return OwnAccounts(pairs, _has_other_way(ctx, tx, links), sign_in_providers.is_only_way(tx))

    return ctx.service.store.read(read)


def _has_other_way(ctx: Context, tx: Transaction, links: Mapping[int, object]) -> bool:
    enabled = {each.id for each in sign_in_providers.enabled(tx)}
    has_own = sign_in.has_own_way(ctx, tx, ctx.actor.worker_id) and not sign_in_providers.is_only_way(tx)
    return has_own or len(enabled & set(links)) > 1


def link_own(ctx: Context, arrival: Arrival) -> None:
    """Links the account to the caller. Raises Conflict if it, or the caller, has another link at this provider."""

    def write(tx: Transaction) -> None:
        provider, subject = arrival.provider, arrival.identity.subject
        link = sign_in_providers.linked(tx, provider.id, subject)
        if link is not None and link.worker_id == ctx.actor.worker_id:
            return
        if link is not None:
            raise Conflict(
                lazy_gettext("This account at {provider} belongs to another worker.", provider=provider.label)
            )
        if any(each.provider_id == provider.id for each in sign_in_providers.of_worker(tx, ctx.actor.worker_id)):
            raise Conflict(lazy_gettext("Unlink your other account at {provider} first.", provider=provider.label))
        person = claim_rules.person_of(provider, arrival.identity.claims)
        _link(RecordWriter(ctx, tx), provider, subject, ctx.actor.worker_id, person.account)

    ctx.service.store.write(write)


def unlink_own(ctx: Context, link_id: int) -> SignInProvider:
    """Removes a link of the caller; sessions that began by it end. Raises NotFound; Conflict if the caller could not
    sign in any more."""

    def write(tx: Transaction) -> SignInProvider:
        links = {each.id: each for each in sign_in_providers.of_worker(tx, ctx.actor.worker_id)}
        link = links.get(link_id)
        provider = sign_in_providers.one(tx, link.provider_id) if link is not None else None
        if link is None or provider is None:
            raise NotFound(N_("this account is no longer linked"))
        if not _has_other_way(ctx, tx, {each.provider_id: each for each in links.values()}):
            raise Conflict(N_("This is your only way to sign in. Set a password, or link another account first."))
        _remove(RecordWriter(ctx, tx), provider, link)
        return provider

    return ctx.service.store.write(write)


def accounts_of(ctx: Context, worker_id: int) -> list[tuple[sign_in_providers.LinkedAccount, SignInProvider]]:
    """Returns the linked accounts of a worker with their providers. Raises AdminOnly."""

    def read(tx: Transaction) -> list[tuple[sign_in_providers.LinkedAccount, SignInProvider]]:
        providers = {each.id: each for each in sign_in_providers.all_providers(tx)}
        return [(each, providers[each.provider_id]) for each in sign_in_providers.of_worker(tx, worker_id)]

    ctx.require_admin(sign_in_provider_setup.DOING)
    return ctx.service.store.read(read)


def unlink(ctx: Context, worker_id: int, link_id: int) -> None:
    """Removes a link of a worker, as an administrator. Raises AdminOnly, NotFound."""

    def write(tx: Transaction) -> None:
        for link in sign_in_providers.of_worker(tx, worker_id):
            provider = sign_in_providers.one(tx, link.provider_id)
            if link.id == link_id and provider is not None:
                return _remove(RecordWriter(ctx, tx), provider, link)
        raise NotFound(N_("this account is no longer linked"))

    ctx.require_admin(sign_in_provider_setup.DOING)
    ctx.service.store.write(write)


def _remove(writing: RecordWriter, provider: SignInProvider, link: sign_in_providers.LinkedAccount) -> None:
    writing.tx.delete(sign_in_providers.LINKED_ACCOUNT, id=link.id)
    sign_in_providers.end_sessions(writing.tx, provider.id, link.subject)
    label = writing.label(WORKER, link.worker_id)
    values = {"target": label, "account": link.account or link.subject, "provider": provider.label}
    writing.log("worker.unlinked", WORKER, link.worker_id, values)


def confirm(ctx: Context, session: Session, arrival: Arrival) -> str:
    """Returns the new id of a session after its worker has signed in at the provider again. Raises NotAuthenticated for
    another account, or if the provider says that the sign-in was earlier."""
    provider, claims = arrival.provider, arrival.identity.claims
    at = claims.get("auth_time")
    is_old = isinstance(at, (int, float)) and at < ctx.now - CONFIRMED_SECONDS - openid_client.SKEW_SECONDS

    def write(tx: Transaction) -> str:
        link = sign_in_providers.linked(tx, provider.id, arrival.identity.subject)
        if link is None or link.worker_id != session.actor.worker_id:
            raise NotAuthenticated(
                lazy_gettext("This account at {provider} is not linked to yours here.", provider=provider.label)
            )
        if is_old:
            raise NotAuthenticated(
                lazy_gettext(
                    "{provider} did not ask you to sign in again. Sign out there first.", provider=provider.label
                )
            )
        return sessions.renew(tx, session, ctx.now)

    return ctx.service.store.write(write)


def has_asked_for_code(service: Service, session: Session) -> bool:
    """Whether a session began with a provider that asks for the second factor."""

    def read(tx: Transaction) -> bool:
        present = sign_in_providers.session_of(tx, session.id)
        provider = sign_in_providers.one(tx, present.provider_id) if present is not None else None
        return provider is not None and provider.checks_second_factor

    return service.store.read(read)


def confirming(own: OwnAccounts) -> list[SignInProvider]:
    """Returns the providers at which a worker can confirm who they are."""
    return [provider for provider, link in own.accounts if link is not None and provider.is_enabled]


# -- trials ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """What a sign-in with the claims of the last trial would do. claims: pairs to show. worker: the name of the worker,
    or of the one who would be created. rights: (what, whether the person is to have it), what being the name of a
    group, a role or the administrator right."""

    claims: list[tuple[str, str]]
    way: str
    refusal: str
    worker: str
    email: str
    is_verified: bool
    rights: list[tuple[str, str, bool]]


def trial_outcome(ctx: Context, provider: SignInProvider) -> TrialOutcome:
    """Returns the outcome of the last trial by the present settings. Raises AdminOnly."""
    ctx.require_admin(sign_in_provider_setup.DOING)

    def read(tx: Transaction) -> TrialOutcome:
        reading, claims = RecordReader(ctx, tx), provider.trial
        person = claim_rules.person_of(provider, claims)
        resolution = resolved(reading, provider, claims, person)
        name = reading.label(WORKER, resolution.worker_id) if resolution.worker_id else ""
        rights = [
            (target, reading.label("role" if target == claim_rules.ROLE else "group", id) if id else "", is_wanted)
            for (target, id), is_wanted in claim_rules.outcome(provider, claims).items()
        ]
        return TrialOutcome(
            claim_rules.shown_claims(claims),
            resolution.way,
            resolution.refusal,
            name or f"{person.first_name} {person.last_name}".strip(),
            person.email,
            person.is_verified,
            rights,
        )

    return ctx.service.store.read(read)


# -- out ---------------------------------------------------------------------------------------------------------------


def end_address(service: Service, session: Session, now: int) -> tuple[str, str]:
    """Returns the address that signs the browser out at its provider and the provider's name, "" if the session did not
    begin at one that wants it. To be called before the session ends. Never raises: the own session ends anyway."""

    def read(tx: Transaction) -> tuple[ProviderSession, SignInProvider, Client] | None:
        present = sign_in_providers.session_of(tx, session.id)
        provider = sign_in_providers.one(tx, present.provider_id) if present is not None else None
        if present is None or provider is None or not provider.ends_at_provider:
            return None
        return present, provider, sign_in_providers.client(tx, provider)

    parts = service.store.read(read)
    if parts is None:
        return "", ""
    present, provider, client = parts
    state = openid_client.new_flow_secrets().state
    return_to = f"{service.base_url}/sign-in/out"
    try:
        address = openid_client.end_session_url(service, client, present.id_token, return_to, state, now)
        return address, provider.label
    except HelpdeskError as error:
        LOG.warning("provider.failed", provider=provider.name, reason=error.message[:300])
        return "", provider.label


def end_by_provider(ctx: Context, name: str, token: str) -> None:
    """Ends the sessions that a logout token names. Raises NotAuthenticated for a token that is not valid or was used,
    NotFound, Unavailable. Follows OpenID Connect Back-Channel Logout 1.0."""
    service = ctx.service
    provider = _named(service, name)
    client = service.store.read(lambda tx: sign_in_providers.client(tx, provider))
    logout = openid_client.verified_logout(service, client, token, ctx.now)

    def write(tx: Transaction) -> None:
        if not sign_in_providers.accept_logout(tx, provider.id, logout.id, logout.expires_at):
            raise NotAuthenticated(N_("this logout token was used"))
        counts = sign_in_providers.end_sessions(tx, provider.id, logout.subject, logout.session_id)
        writing = RecordWriter(ctx, tx)
        for worker_id, count in counts.items():
            devices = f"{count} device{'' if count == 1 else 's'}"
            target = {"target": writing.label(WORKER, worker_id), "provider": provider.label, "devices": devices}
            writing.log("worker.provider.signed_out", WORKER, worker_id, target)

    service.store.write(write)


# -- the way back ------------------------------------------------------------------------------------------------------


def create_link(ctx: Context, worker_id: int) -> str:
    """Creates a link that signs a worker in once, within 15 minutes, whatever providers do; returns its path. Raises
    AdminOnly, NotFound, Conflict for a deactivated worker."""

    def write(tx: Transaction) -> str:
        writing = RecordWriter(ctx, tx)
        if writing.record(WORKER, worker_id) is None:
            raise NotFound(lazy_gettext("there is no worker {id}", id=worker_id))
        if actor.worker(tx, worker_id) is None:
            raise Conflict(N_("this worker is deactivated; `helpdesk worker recover` reactivates them"))
        writing.log("worker.sign_in_link", WORKER, worker_id, {"target": writing.label(WORKER, worker_id)})
        return f"/sign-in/link/{sign_in_providers.create_link(tx, worker_id, ctx.now)}"

    ctx.require_admin(sign_in_provider_setup.DOING)
    return ctx.service.store.write(write)


GONE_LINK = N_("this link was used, replaced or has expired; `helpdesk worker sign-in-link` prints a new one")


def require_link(service: Service, code: str, now: int) -> None:
    """Raises NotFound if a link no longer works."""
    if service.store.read(lambda tx: sign_in_providers.worker_of_link(tx, code, now)) is None:
        raise NotFound(GONE_LINK)


def sign_in_by_link(ctx: Context, code: str, peer: Peer) -> NewSession:
    """Starts a session by a link, which is used up; the code of a second factor is asked for. Raises NotFound,
    Forbidden."""

    def use_up(tx: Transaction) -> int:
        worker_id = sign_in_providers.worker_of_link(tx, code, ctx.now)
        if worker_id is None:
            raise NotFound(GONE_LINK)
        sign_in_providers.use_up_link(tx, worker_id)
        if actor.worker(tx, worker_id) is None:
            raise Forbidden(DISABLED)
        return worker_id

    return sign_in.by_provider(ctx, ctx.service.store.write(use_up), peer, None, asks_code=True)


def providers_of_page(service: Service) -> tuple[list[SignInProvider], bool]:
    """Returns the providers of the sign-in page, and whether passwords are off."""
    return service.store.read(lambda tx: (sign_in_providers.enabled(tx), sign_in_providers.is_only_way(tx)))
