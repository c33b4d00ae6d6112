"""What imports made, until the page that tells of it was seen: by whichever process that page asks.

It may hold secrets that are shown once, so it is sealed by the code in the address of the page, which the database does
not know."""

import hashlib
import json
import secrets
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from server.context import Context
from server.packages.making import ImportResult
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEPT_SECONDS = 600
MAX_KEPT = 50  # results; the oldest go first
CODE_BYTES = 24
SECRETS = ("client_secret", "secret")  # what only the answer of an import holds, of apps and outgoing webhooks
_NONCE = bytes(12)  # each key seals one text

PACKAGE_RESULT = Table(
    "package_result",
    [Column("name", "TEXT"), Column("worker_id"), Column("until"), Column("sealed", "BLOB")],
    [Index(("name",), "the result of a code", unique=True)],
)


def secret_of(made: dict[str, Any]) -> str:
    """What a record that was made shows this once, "" for nothing."""
    return next((str(made[each]) for each in SECRETS if made.get(each)), "")


def put(ctx: Context, name: str, imported: ImportResult) -> str:
    """Keep a result for the caller; answers its code. name: of the package."""
    code = secrets.token_urlsafe(CODE_BYTES)
    sealed = _seal(code).encrypt(_NONCE, json.dumps([name, asdict(imported)]).encode(), None)
    row = {
        "name": _name(code),
        "worker_id": ctx.actor.worker_id,
        "until": ctx.now + KEPT_SECONDS,
        "sealed": sealed,
    }

    def write(tx: Transaction) -> None:
        last = tx.insert(PACKAGE_RESULT, row)
        table = PACKAGE_RESULT.sql
        tx.run(
            lambda: table.delete().where((table.until <= slot(0)) | (table.id <= slot(1))), (ctx.now, last - MAX_KEPT)
        )

    ctx.service.store.write(write)
    return code


def get(ctx: Context, code: str) -> tuple[str, ImportResult] | None:
    """The name of the package and what it made, for whoever imported it; with secrets in it, it is there once."""
    row = ctx.service.store.read(lambda tx: tx.first(PACKAGE_RESULT, name=_name(code)))
    if row is None:
        return None
    found = dict(zip(PACKAGE_RESULT.names, row, strict=True))
    if found["worker_id"] != ctx.actor.worker_id or found["until"] <= ctx.now:
        return None
    name, told = json.loads(_seal(code).decrypt(_NONCE, bytes(found["sealed"]), None))
    imported = ImportResult(**told)
    has_secrets = any(secret_of(each) for made in imported.records.values() for each in made.values())
    if has_secrets and not ctx.service.store.write(lambda tx: tx.delete(PACKAGE_RESULT, id=found["id"])):
        return None  # it was shown meanwhile
    return str(name), imported


def _seal(code: str) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # few processes import packages

    return AESGCM(hashlib.sha256(f"seal {code}".encode()).digest())


def _name(code: str) -> str:
    return hashlib.sha256(f"name {code}".encode()).hexdigest()
