"""Unsaved input of workers in forms of the console, stored for that worker for a limited time. Drafts of mail are
records and not stored here."""

import json
from collections.abc import Sequence
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, TooLarge
from server.jobs.expiry import expire
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_

MAX_KEY_CHARS = 200  # characters of a form's key
MAX_DRAFT_CHARS = 1024 * 1024  # bytes of all values of one form, as JSON
MAX_DRAFT_FIELDS = 500  # fields of one form
MAX_DRAFTS = 50  # drafts of one worker; the oldest are deleted
RETENTION_SECONDS = 30 * 86400
# Fields whose names contain one of these words are never stored here.
_SECRET_WORDS = ("password", "passphrase", "code", "secret", "token", "shared_key", "api_key", "private_key")

FORM_DRAFT = Table(
    "form_draft",
    [
        Column("worker_id", references="worker(id)"),
        Column("key", "TEXT"),
        Column("fields", "TEXT"),
        Column("updated_at"),
    ],
    [Index(("updated_at",), "those that are too old"), Index(("worker_id", "updated_at"), "the oldest of a worker")],
    key=("worker_id", "key"),
)  # fields: JSON, [[name, text], ...] in the order of the form
Fields = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class FormDraft:
    """A draft of a form. fields: names and texts as typed; a field with several values occurs several times.
    updated_at: Unix seconds."""

    key: str
    fields: Fields
    updated_at: int

    def text(self, name: str, default: str = "") -> str:
        """Returns the last value of a field."""
        return dict(self.fields).get(name, default)

    def texts(self, name: str) -> list[str]:
        """Returns all values of a field."""
        return [text for each, text in self.fields if each == name]


def save(ctx: Context, key: str, fields: Fields) -> None:
    """Stores the worker's input of a form, replacing an earlier draft. Fields with secret names are left out. key: the
    form, such as `webhook:5`.

    Raises Invalid for a key that is empty or too long, TooLarge above a limit."""
    if not 0 < len(key) <= MAX_KEY_CHARS:
        raise Invalid(f"the key of a form has 1 to {MAX_KEY_CHARS} characters", field="key")
    text = json.dumps([(name, value) for name, value in fields if not is_secret(name)])
    if len(fields) > MAX_DRAFT_FIELDS or len(text) > MAX_DRAFT_CHARS:
        raise TooLarge(
            f"a draft has at most {MAX_DRAFT_FIELDS} fields and {MAX_DRAFT_CHARS:,} characters; this one exists only "
            f"on the page, so save it before you leave",
            limit=MAX_DRAFT_CHARS,
        )
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> None:
        tx.put(FORM_DRAFT, {"worker_id": worker_id, "key": key, "fields": text, "updated_at": ctx.now})
        _drop_most(tx, worker_id)

    ctx.service.store.write(write)


def load(ctx: Context, key: str) -> FormDraft | None:
    """Returns the draft of a form, None if it does not exist or has expired."""
    row = ctx.service.store.read(lambda tx: tx.first(FORM_DRAFT, worker_id=ctx.actor.worker_id, key=key))
    at = FORM_DRAFT.position
    if row is None or row[at["updated_at"]] <= ctx.now - RETENTION_SECONDS:
        return None
    return FormDraft(key, [(name, text) for name, text in json.loads(row[at["fields"]])], row[at["updated_at"]])


def drop(ctx: Context, key: str) -> bool:
    """Deletes the draft of a form that was saved or discarded. Returns False if it does not exist."""
    worker_id = ctx.actor.worker_id
    if ctx.service.store.read(lambda tx: tx.first(FORM_DRAFT, worker_id=worker_id, key=key)) is None:
        return False
    return bool(ctx.service.store.write(lambda tx: tx.delete(FORM_DRAFT, worker_id=worker_id, key=key)))


def is_secret(name: str) -> bool:
    """Whether a field must not be stored, or displayed again, because of its name.

    >>> is_secret("password_again"), is_secret("name")
    (True, False)"""
    return any(word in name.lower() for word in _SECRET_WORDS)


forget_old = expire(N_("old drafts of forms"), N_("Removes them."), FORM_DRAFT, "updated_at", RETENTION_SECONDS)


def _drop_most(tx: Transaction, worker_id: int) -> None:
    """Deletes all but the newest drafts of a worker."""
    table: Any = FORM_DRAFT.sql
    keys = tx.rows(
        lambda: (
            table.select(table.key)
            .where(table.worker_id == slot(0))
            .order_by(table.updated_at.desc(), table.key)
            .offset(MAX_DRAFTS)
        ),
        (worker_id,),
    )
    tx.run_many(
        lambda: table.delete().where(table.worker_id == slot(0), table.key == slot(1)),
        [(worker_id, key) for (key,) in keys],
    )
