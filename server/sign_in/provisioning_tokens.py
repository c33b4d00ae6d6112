"""Tokens with which an identity provider creates and changes workers. They open nothing else, and nothing else opens
that door. The database stores their SHA-256."""

import secrets
from typing import Any

from server import contexts
from server.access.actor import Actor
from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, NotAuthenticated, NotFound
from server.record_types.shared.secrets import digest
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Row, Transaction
from server.translation import _

DOING = "manage provisioning"  # an action that requires an administrator
PREFIX = "svc_pt_"
MAX_TOKENS = 20
MAX_NAME_CHARS = 60
MAX_TOKEN_CHARS = 200
SHOWN_ENDING = 4  # characters shown to recognize a token
USED_EVERY_SECONDS = 300  # precision of the last use: a write for each request would be too many

PROVISIONING_TOKEN = Table(
    "provisioning_token",
    [
        Column("name", "TEXT"),
        Column("hash", "TEXT"),
        Column("ending", "TEXT"),
        Column("created_at"),
        Column("creator", "TEXT"),
        Column("used_at"),
        Column("used_from", "TEXT"),
    ],
    [Index(("hash",), "every request of a provider", unique=True)],
)


@dataclass(frozen=True, slots=True)
class ProvisioningToken:
    """A token. creator: the name of the administrator then. used_at: 0 for never; some minutes late. used_from: the
    client's address."""

    id: int
    name: str
    ending: str
    created_at: int
    creator: str
    used_at: int
    used_from: str


def create(ctx: Context, name: str) -> str:
    """Creates a token; returns its text, which is stored nowhere. Raises AdminOnly, Invalid."""
    ctx.require_admin(DOING)
    name = " ".join(name.split())
    if not name:
        raise Invalid(_("enter a name, such as that of the identity provider"), field="name")
    if len(name) > MAX_NAME_CHARS:
        raise Invalid(_("at most {count} characters", count=MAX_NAME_CHARS), field="name")
    text = PREFIX + secrets.token_urlsafe(32)

    def write(tx: Transaction) -> str:
        present = tx.find(PROVISIONING_TOKEN)
        if len(present) >= MAX_TOKENS:
            raise Invalid(_("at most {count} tokens; revoke one first", count=MAX_TOKENS), field="name")
        if any(of_row(row).name.casefold() == name.casefold() for row in present):
            raise Invalid(_("there is a token with this name; the audit log could not tell them apart"), field="name")
        tx.insert(
            PROVISIONING_TOKEN,
            {
                "name": name,
                "hash": digest(text),
                "ending": text[-SHOWN_ENDING:],
                "created_at": ctx.now,
                "creator": ctx.actor.name,
            },
        )
        RecordWriter(ctx, tx).log("provisioning.token.created", "", 0, {"target": name})
        return text

    return ctx.service.store.write(write)


def revoke(ctx: Context, id: int) -> str:
    """Deletes a token; returns its name. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> str:
        row = tx.get(PROVISIONING_TOKEN, id)
        if row is None:
            raise NotFound(_("this token was revoked already"))
        name = of_row(row).name
        tx.delete(PROVISIONING_TOKEN, id=id)
        RecordWriter(ctx, tx).log("provisioning.token.revoked", "", 0, {"target": name})
        return name

    return ctx.service.store.write(write)


def all_tokens(ctx: Context) -> list[ProvisioningToken]:
    """Returns all tokens, the oldest first. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return [of_row(row) for row in ctx.service.store.read(lambda tx: tx.find(PROVISIONING_TOKEN))]


def check(tx: Transaction, text: str) -> ProvisioningToken:
    """Returns the token with this text. Raises NotFound while there is no token at all: provisioning is off; else
    NotAuthenticated for an unknown one."""
    row = tx.first(PROVISIONING_TOKEN, hash=digest(text)) if text and len(text) <= MAX_TOKEN_CHARS else None
    if row is not None:
        return of_row(row)
    table: Any = PROVISIONING_TOKEN.sql
    if tx.value(lambda: table.select(table.id).limit(1)) is None:
        raise NotFound("provisioning is off; an administrator creates a token under People, Provisioning")
    raise NotAuthenticated("this is not a valid provisioning token; an administrator creates one under Provisioning")


def is_used_again(token: ProvisioningToken, now: int) -> bool:
    """Whether the use of a token should be recorded."""
    return token.used_at + USED_EVERY_SECONDS <= now


def record_use(tx: Transaction, id: int, now: int, client: str) -> None:
    """Records the use of a token."""
    table: Any = PROVISIONING_TOKEN.sql
    tx.run(
        lambda: table.update({table.used_at: slot(0), table.used_from: slot(1)}).where(table.id == slot(2)),
        (now, client, id),
    )


def actor(token: ProvisioningToken) -> Actor:
    """Returns the actor of a provider's requests, under the name of its token. It has the rights of the service, since
    the functions of provisioning allow only what a provider may do."""
    return Actor(contexts.APP, 0, True, "UTC", token.name)


def of_row(row: Row) -> ProvisioningToken:
    """Reads a token from its row."""
    values = dict(zip(PROVISIONING_TOKEN.names, row, strict=True))
    del values["hash"]
    return ProvisioningToken(**values)
