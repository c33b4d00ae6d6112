"""Administration of sign-in providers: adding, changing, trying and enabling them, and signing in with them only."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import peewee

from server.access import openid_client, sign_in_providers
from server.access.actor import APP
from server.access.sign_in_providers import SIGN_IN_PROVIDER, ClaimRule, SignInProvider
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Conflict, Invalid, NotFound
from server.host_names import ascii_host
from server.records.writing import RecordWriter
from server.sign_in import claim_rules
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext

DOING = "decide how workers sign in"  # an action that requires an administrator
MAX_PROVIDERS = 20
MAX_RULES = 100  # rules of one provider
MAX_DOMAINS = 50
MAX_LABEL_CHARS = 60
MAX_CLIENT_CHARS = 512
MAX_SECRET_CHARS = 2048
MAX_TRIAL_CHARS = 64 * 1024  # length of the stored claims of a trial sign-in
FLAGS = ("links_by_email", "trusts_email", "checks_second_factor", "ends_at_provider")
# What the person at the provider is proved by: a change needs another trial sign-in.
_PROOF = ("client_id", "client_secret", "scopes")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")  # RFC 6749, section 3.3
_DOMAIN = re.compile(r"[a-z0-9-][a-z0-9.-]*\.[a-z0-9-]+\Z")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")


@dataclass(frozen=True, slots=True)
class ProviderForm:
    """The settings of a provider, as entered. client_secret: blank leaves it unchanged. domains: separated by spaces or
    commas."""

    label: str
    client_id: str
    client_secret: str
    scopes: str
    domains: str
    group_ids: tuple[int, ...]
    mapping: tuple[ClaimRule, ...]
    links_by_email: bool = False
    trusts_email: bool = False
    checks_second_factor: bool = False
    ends_at_provider: bool = False


@dataclass(frozen=True, slots=True)
class ProviderOverview:
    """All providers in order. counts: {provider id: number of linked workers}. is_only: whether passwords sign nobody
    in. is_proved: whether an administrator has signed in with an enabled provider."""

    providers: list[SignInProvider]
    counts: dict[int, int]
    is_only: bool
    is_proved: bool


def overview(ctx: Context) -> ProviderOverview:
    """Returns all providers. Raises AdminOnly."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> ProviderOverview:
        table: Any = sign_in_providers.LINKED_ACCOUNT.sql
        rows = tx.rows(lambda: table.select(table.provider_id, peewee.fn.COUNT(table.id)).group_by(table.provider_id))
        return ProviderOverview(
            sign_in_providers.all_providers(tx), dict(rows), sign_in_providers.is_only_way(tx), _is_proved(tx)
        )

    return ctx.service.store.read(read)


def one(ctx: Context, id: int) -> SignInProvider:
    """Returns a provider. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: _still(tx, id))


def free_name(ctx: Context, wish: str) -> str:
    """Returns an unused name for a new provider: the requested one, followed by a number if it is in use."""
    taken = {each.name for each in overview(ctx).providers}
    names = [wish, *(f"{wish}-{number}" for number in range(2, MAX_PROVIDERS + 2))]
    return next(name for name in names if name not in taken)


def callback(service: Service, name: str) -> str:
    """Returns the redirect address of a provider. Each has its own, so that a response of one cannot be passed off as
    one of another (RFC 9700, 4.4.2)."""
    return f"{service.base_url}/sign-in/callback/{name}"


def backchannel(service: Service, name: str) -> str:
    """Returns the address at which a provider signs people out."""
    return f"{service.base_url}/sign-in/backchannel/{name}"


def create(ctx: Context, name: str, preset: str, issuer: str, form: ProviderForm) -> int:
    """Adds a provider whose metadata has been read; returns its id. It is not offered before a trial sign-in. Raises
    AdminOnly, Conflict; Invalid with the field of a mistake; Unavailable if it cannot be reached."""
    ctx.require_admin(DOING)
    if not _NAME.match(name):
        raise Invalid(N_("name: use lower-case letters, digits and hyphens"), field="name")
    values = _checked(form)
    issuer = openid_client.issuer_of(ctx.service, issuer)
    openid_client.discover(ctx.service, issuer, ctx.now)

    def write(tx: Transaction) -> int:
        present = sign_in_providers.all_providers(tx)
        if len(present) >= MAX_PROVIDERS:
            raise Conflict(lazy_gettext("there are {count} providers; delete one first", count=MAX_PROVIDERS))
        if any(each.name == name for each in present):
            raise Conflict(N_("a provider with this name was added meanwhile; open the page again"))
        if any(each.issuer == issuer and each.client_id == values["client_id"] for each in present):
            raise Invalid(N_("client_id: this client at this issuer is already a provider"), field="client_id")
        position = max((each.position for each in present), default=0) + 1
        id = tx.insert(
            SIGN_IN_PROVIDER,
            {**values, "name": name, "preset": preset, "issuer": issuer, "position": position, "created_at": ctx.now},
        )
        target = {"target": str(values["label"]), "issuer": issuer}
        RecordWriter(ctx, tx).log("sign_in_provider.created", APP, 0, target)
        return id

    return ctx.service.store.write(write)


def change(ctx: Context, id: int, form: ProviderForm) -> SignInProvider:
    """Changes a provider. Its issuer never changes, since linked accounts belong to it. Raises AdminOnly, NotFound,
    Invalid."""
    ctx.require_admin(DOING)
    values = _checked(form)

    def write(tx: Transaction) -> SignInProvider:
        before = _still(tx, id)
        new = dict(values)
        if not form.client_secret:
            del new["client_secret"]
        row = dict(zip(SIGN_IN_PROVIDER.names, tx.get(SIGN_IN_PROVIDER, id) or (), strict=True))
        changed = [name for name, value in new.items() if row[name] != value]
        if any(name in _PROOF for name in changed):
            new |= {"trial": "", "trial_at": 0}
        if changed:
            tx.update(SIGN_IN_PROVIDER, id, new)
            _log(ctx, tx, "sign_in_provider.changed", before, changes=", ".join(_WORDS[each] for each in changed))
        return _still(tx, id)

    return ctx.service.store.write(write)


def enable(ctx: Context, id: int) -> SignInProvider:
    """Offers a provider on the sign-in page. Raises AdminOnly, NotFound; Conflict before a trial sign-in."""

    def write(tx: Transaction) -> SignInProvider:
        provider = _still(tx, id)
        if not provider.trial_at:
            raise Conflict(N_("sign in on trial first: it shows whether the provider accepts the client"))
        if not provider.is_enabled:
            tx.update(SIGN_IN_PROVIDER, id, {"is_enabled": 1})
            _log(ctx, tx, "sign_in_provider.enabled", provider)
        return provider

    ctx.require_admin(DOING)
    return ctx.service.store.write(write)


def disable(ctx: Context, id: int) -> SignInProvider:
    """Stops offering a provider; sessions go on. Raises AdminOnly, NotFound; Conflict if nobody could sign in."""

    def write(tx: Transaction) -> SignInProvider:
        provider = _still(tx, id)
        if provider.is_enabled:
            tx.update(SIGN_IN_PROVIDER, id, {"is_enabled": 0})
            _require_way(tx)
            _log(ctx, tx, "sign_in_provider.disabled", provider)
        return provider

    ctx.require_admin(DOING)
    return ctx.service.store.write(write)


def delete(ctx: Context, id: int) -> SignInProvider:
    """Deletes a provider with its links, and ends the sessions that began there. Raises as disable."""

    def write(tx: Transaction) -> SignInProvider:
        provider = _still(tx, id)
        sign_in_providers.end_sessions(tx, id)
        tx.delete(SIGN_IN_PROVIDER, id=id)
        _require_way(tx)
        _log(ctx, tx, "sign_in_provider.deleted", provider)
        return provider

    ctx.require_admin(DOING)
    return ctx.service.store.write(write)


def move(ctx: Context, id: int, to: str) -> None:
    """Moves a provider up or down on the sign-in page. to: `up` or `down`. Raises AdminOnly, NotFound."""

    def write(tx: Transaction) -> None:
        provider = _still(tx, id)
        order = [each.id for each in sign_in_providers.all_providers(tx)]
        place = order.index(id)
        other = place + (-1 if to == "up" else 1)
        if 0 <= other < len(order):
            order[place], order[other] = order[other], order[place]
        for number, each in enumerate(order, 1):
            tx.update(SIGN_IN_PROVIDER, each, {"position": number})
        _log(ctx, tx, "sign_in_provider.changed", provider, changes="order")

    ctx.require_admin(DOING)
    ctx.service.store.write(write)


def store_trial(ctx: Context, id: int, claims: Mapping[str, Any]) -> None:
    """Stores the claims of a trial sign-in, which allow the provider to be enabled. Raises AdminOnly, NotFound."""

    def write(tx: Transaction) -> None:
        provider = _still(tx, id)
        text = json.dumps(claim_rules.about_person(claims))
        tx.update(SIGN_IN_PROVIDER, id, {"trial": text if len(text) <= MAX_TRIAL_CHARS else "{}", "trial_at": ctx.now})
        _log(ctx, tx, "sign_in_provider.tried", provider)

    ctx.require_admin(DOING)
    ctx.service.store.write(write)


def set_only(ctx: Context, is_only: bool) -> None:
    """Decides whether workers sign in with providers only. Raises AdminOnly; Conflict before an administrator has
    signed in with a provider, who could otherwise be locked out."""

    def write(tx: Transaction) -> None:
        if is_only == sign_in_providers.is_only_way(tx):
            return
        if is_only and not _is_proved(tx):
            raise Conflict(N_("an administrator must have signed in with a provider that is on; do that first"))
        sign_in_providers.set_only_way(tx, is_only)
        RecordWriter(ctx, tx).log(f"sign_in.only.{'on' if is_only else 'off'}", APP, 0, {})

    ctx.require_admin(DOING)
    ctx.service.store.write(write)


def _require_way(tx: Transaction) -> None:
    """Raises Conflict if passwords are off and no administrator could sign in any more."""
    if sign_in_providers.is_only_way(tx) and not _is_proved(tx):
        raise Conflict(N_("workers sign in with this provider only; allow passwords first"))


def _is_proved(tx: Transaction) -> bool:
    """Whether an active administrator has signed in with an enabled provider."""
    links: Any = sign_in_providers.LINKED_ACCOUNT.sql
    providers: Any = SIGN_IN_PROVIDER.sql
    worker = table_named("worker")
    id = tx.value(
        lambda: (
            links.select(links.id)
            .join(providers, on=(providers.id == links.provider_id))
            .join(worker, on=(worker.c.id == links.worker_id))
            .where(links.used_at > slot(0), providers.is_enabled == 1)
            .where(worker.c.is_superuser == 1, worker.c.is_disabled == 0)
            .limit(1)
        ),
        (0,),
    )
    return id is not None


def _still(tx: Transaction, id: int) -> SignInProvider:
    provider = sign_in_providers.one(tx, id)
    if provider is None:
        raise NotFound(N_("this sign-in provider no longer exists"))
    return provider


def _log(ctx: Context, tx: Transaction, point: str, provider: SignInProvider, **more: str) -> None:
    RecordWriter(ctx, tx).log(point, APP, 0, {"target": provider.label, **more})


_WORDS = {
    "label": "name",
    "client_id": "client ID",
    "client_secret": "client secret",
    "scopes": "scopes",
    "domains": "domains",
    "group_ids": "default groups",
    "mapping": "rules of claims",
    "links_by_email": "linking by email",
    "trusts_email": "trust in addresses",
    "checks_second_factor": "second factor",
    "ends_at_provider": "signing out",
}


def _checked(form: ProviderForm) -> dict[str, Any]:
    """Returns the values of a row. Raises Invalid."""
    label = " ".join(form.label.split())
    if not 0 < len(label) <= MAX_LABEL_CHARS:
        raise Invalid(lazy_gettext("label: enter 1 to {count} characters", count=MAX_LABEL_CHARS), field="label")
    client_id, secret = form.client_id.strip(), form.client_secret.strip()
    if not 0 < len(client_id) <= MAX_CLIENT_CHARS or not client_id.isprintable():
        raise Invalid(N_("client_id: enter the client ID that the provider shows"), field="client_id")
    if len(secret) > MAX_SECRET_CHARS or not secret.isprintable():
        raise Invalid(N_("client_secret: this is not a client secret"), field="client_secret")
    if len(form.mapping) > MAX_RULES:
        raise Invalid(lazy_gettext("mapping: at most {count} rules", count=MAX_RULES), field="mapping")
    for rule in form.mapping:
        _check_rule(rule)
    return {
        "label": label,
        "client_id": client_id,
        "client_secret": secret,
        "scopes": _scopes(form.scopes),
        "domains": " ".join(_domains(form.domains)),
        "group_ids": json.dumps(list(dict.fromkeys(form.group_ids))),
        "mapping": sign_in_providers.rules_text(form.mapping),
        **{name: int(getattr(form, name)) for name in FLAGS},
    }


def _check_rule(rule: ClaimRule) -> None:
    """Raises Invalid for an incomplete rule."""
    if rule.target not in claim_rules.TARGETS or (rule.target != claim_rules.ADMINISTRATOR) != bool(rule.id):
        raise Invalid(N_("mapping: choose what follows from the claim"), field="mapping")
    for text in (rule.claim, rule.value):
        if not 0 < len(text) <= claim_rules.MAX_CLAIM_CHARS or not text.isprintable():
            raise Invalid(N_("mapping: enter a claim and its value in each row"), field="mapping")


def _scopes(text: str) -> str:
    names = list(dict.fromkeys(["openid", *text.split()]))
    if len(" ".join(names)) > MAX_CLIENT_CHARS or not all(map(_SCOPE.match, names)):
        raise Invalid(N_("scopes: enter names that are separated by spaces"), field="scopes")
    return " ".join(names)


def _domains(text: str) -> Iterable[str]:
    try:
        names = [ascii_host(each.lstrip("@")).lower() for each in text.replace(",", " ").split()]
    except UnicodeError:
        names = [""]
    if len(names) > MAX_DOMAINS or not all(map(_DOMAIN.match, names)):
        raise Invalid(N_("domains: enter domains such as example.com, separated by spaces"), field="domains")
    return dict.fromkeys(names)
