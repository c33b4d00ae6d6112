"""Results of imports, stored until their page is opened, which any process may serve.

A result may contain secrets that are shown once, so it is encrypted with the code in the address of its page, which the
database does not contain."""

import hashlib
import json
import secrets
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from server.context import Context
from server.packages.record_creation import ImportResult
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

RETENTION_SECONDS = 600
MAX_STORED = 50  # results; the oldest are deleted first
CODE_BYTES = 24
SECRETS = ("client_secret", "secret")  # fields of apps and outgoing webhooks; only the result of an import shows them
_NONCE = bytes(12)  # each key encrypts one text

PACKAGE_RESULT = Table(
    "package_result",
    [Column("name", "TEXT"), Column("worker_id"), Column("until"), Column("sealed", "BLOB")],
    [Index(("name",), "the result of a code", unique=True)],
)


def secret_of(record: dict[str, Any]) -> str:
    """Returns the secret of a created record, "" if it has none."""
    return next((str(record[each]) for each in SECRETS if record.get(each)), "")


def put(ctx: Context, name: str, imported: ImportResult) -> str:
    """Stores a result for the caller and returns its code. name: of the package."""
    code = secrets.token_urlsafe(CODE_BYTES)
    sealed = _seal(code).encrypt(_NONCE, json.dumps([name, asdict(imported)]).encode(), None)
    row = {
        "name": _name(code),
        "worker_id": ctx.actor.worker_id,
        "until": ctx.now + RETENTION_SECONDS,
        "sealed": sealed,
    }

    def write(tx: Transaction) -> None:
        last = tx.insert(PACKAGE_RESULT, row)
        table = PACKAGE_RESULT.sql
        tx.run(
            lambda: table.delete().where((table.until <= slot(0)) | (table.id <= slot(1))), (ctx.now, last - MAX_STORED)
        )

    ctx.service.store.write(write)
    return code


def get(ctx: Context, code: str) -> tuple[str, ImportResult] | None:
    """Returns the name of the package and the result, for the worker who imported it. A result with secrets can be read
    once."""
    row = ctx.service.store.read(lambda tx: tx.first(PACKAGE_RESULT, name=_name(code)))
    if row is None:
        return None
    entry = dict(zip(PACKAGE_RESULT.names, row, strict=True))
    if entry["worker_id"] != ctx.actor.worker_id or entry["until"] <= ctx.now:
        return None
    name, fields = json.loads(_seal(code).decrypt(_NONCE, bytes(entry["sealed"]), None))
    imported = ImportResult(**fields)
    has_secrets = any(secret_of(each) for records in imported.records.values() for each in records.values())
    if has_secrets and not ctx.service.store.write(lambda tx: tx.delete(PACKAGE_RESULT, id=entry["id"])):
        return None  # another request has read it
    return str(name), imported


def _seal(code: str) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # imported late: few processes import packages

    return AESGCM(hashlib.sha256(f"seal {code}".encode()).digest())


def _name(code: str) -> str:
    return hashlib.sha256(f"name {code}".encode()).hexdigest()
