"""DKIM keys that sign outgoing mail, one in use for each sender domain (RFC 6376).

A key is generated here, published in DNS by the administrator of the domain, and used once DNS returns it. Private keys
are not part of records, packages or exports."""

from collections.abc import Sequence

from server.access.actor import APP
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, Invalid, NotFound, Unavailable
from server.mail import dkim_signing
from server.mailroom import mail_setup
from server.outbound import dns
from server.outbox.signing import DKIM_KEY, ascii_domain
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

DOING = "look after the keys that sign mail"  # allowed to administrators only

MAX_KEYS = 10  # keys per domain


@dataclass(frozen=True)
class DkimKey:
    """A key, without its secret. created_at: Unix seconds. is_used: whether it signs mail of the domain."""

    id: int
    domain: str
    selector: str
    public_key: str
    created_at: int
    is_used: bool

    @property
    def name(self) -> str:
        """Name of the DNS entry."""
        return f"{self.selector}._domainkey.{self.domain}"

    @property
    def entry(self) -> str:
        """Text of the DNS entry."""
        return dkim_signing.entry_of(self.public_key)


def list_keys(ctx: Context) -> list[DkimKey]:
    """All keys, grouped by domain, the newest first. Raises AdminOnly."""
    ctx.require_admin(DOING)
    rows = ctx.service.store.read(lambda tx: tx.find(DKIM_KEY))
    return sorted(map(_key, rows), key=lambda each: (each.domain, -each.id))


def one(ctx: Context, id: int) -> DkimKey:
    """Returns one key. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: _still(tx, id))


def make(ctx: Context, domain: str) -> DkimKey:
    """Creates a key for a sender domain, under a new selector. It is not used for signing yet. Raises AdminOnly;
    Invalid for a domain without sender addresses; Conflict if the domain has too many keys."""
    ctx.require_admin(DOING)
    domain_name = ascii_domain(domain)
    if domain_name not in sender_domains(ctx):
        raise Invalid("domain: no email is sent from this domain; set a sender address of it first", field="domain")
    private, public = dkim_signing.new_key()

    def write(tx: Transaction) -> int:
        selectors = {row[2] for row in tx.find(DKIM_KEY, domain=domain_name)}
        if len(selectors) >= MAX_KEYS:
            raise Conflict(f"{domain_name} has {len(selectors)} keys; delete those that are no longer used")
        selector = next(
            each for each in (f"desk{ctx.now + later}" for later in range(MAX_KEYS)) if each not in selectors
        )
        id = tx.insert(
            DKIM_KEY,
            {
                "domain": domain_name,
                "selector": selector,
                "private_key": private,
                "public_key": public,
                "created_at": ctx.now,
                "is_used": 0,
            },
        )
        _log(ctx, tx, "dkim.key.created", domain_name, selector)
        return id

    return one(ctx, ctx.service.store.write(write))


def use(ctx: Context, id: int, servers: Sequence[dns.Server] | None = None) -> DkimKey:
    """Signs mail of its domain with a key from now on. The previous key is still needed in DNS for mail on its way.

    Raises AdminOnly, NotFound; Conflict if DNS does not contain the key, since mail would look forged; Unavailable if
    no name server responds."""
    key = one(ctx, id)
    if not is_published(key, servers):
        raise Conflict(f"DNS does not have this key at {key.name} yet; it may take an hour after you add it")

    def write(tx: Transaction) -> None:
        _still(tx, id)  # it may have changed during the DNS query
        for row in tx.find(DKIM_KEY, domain=key.domain):
            tx.update(DKIM_KEY, row[0], {"is_used": int(row[0] == id)})
        _log(ctx, tx, "dkim.key.used", key.domain, key.selector)

    ctx.service.store.write(write)
    return one(ctx, id)


def stop(ctx: Context, id: int) -> DkimKey:
    """Stops signing with a key. Raises AdminOnly, NotFound."""
    key = one(ctx, id)

    def write(tx: Transaction) -> None:
        if not _still(tx, id).is_used:
            return
        tx.update(DKIM_KEY, id, {"is_used": 0})
        _log(ctx, tx, "dkim.key.stopped", key.domain, key.selector)

    ctx.service.store.write(write)
    return one(ctx, id)


def delete(ctx: Context, id: int) -> DkimKey:
    """Deletes a key. Raises AdminOnly, NotFound; Conflict for a key in use."""
    key = one(ctx, id)

    def write(tx: Transaction) -> None:
        if _still(tx, id).is_used:
            raise Conflict("email is signed with this key; stop signing first, or use another key")
        tx.delete(DKIM_KEY, id=id)
        _log(ctx, tx, "dkim.key.deleted", key.domain, key.selector)

    ctx.service.store.write(write)
    return key


def is_published(key: DkimKey, servers: Sequence[dns.Server] | None = None) -> bool:
    """Whether DNS contains the key. Raises Unavailable if no name server responds."""
    try:
        texts = [str(each["txt"]) for each in dns.records(key.name, "txt", servers)]
    except Invalid:
        return False
    except Unavailable:
        raise Unavailable("no name server responds, so DNS cannot be checked") from None
    return any(dkim_signing.publishes(text, key.public_key) for text in texts)


def sender_domains(ctx: Context) -> list[str]:
    """The domains of sender addresses, IDNA-encoded, without names that are local to this machine. Raises AdminOnly."""
    names = dict.fromkeys(ascii_domain(each.email.rpartition("@")[2]) for each in mail_setup.senders(ctx))
    return [each for each in names if "." in each]


def _still(tx: Transaction, id: int) -> DkimKey:
    row = tx.get(DKIM_KEY, id)
    if row is None:
        raise NotFound(f"signing key {id} no longer exists")
    return _key(row)


def _key(row: Sequence[object]) -> DkimKey:
    id, domain, selector, _, public, created_at, is_used = row
    return DkimKey(int(str(id)), str(domain), str(selector), str(public), int(str(created_at)), bool(is_used))


def _log(ctx: Context, tx: Transaction, point: str, domain: str, selector: str) -> None:
    RecordWriter(ctx, tx).log(point, APP, 0, {"domain": domain, "selector": selector})
