"""What workers typed into forms of the console and have not saved yet: kept for them alone, for a while. Not drafts of
mail, which are records."""

import json
from collections.abc import Sequence
from typing import Any

import peewee

from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Invalid, TooLarge
from server.jobs.scheduler import periodic
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

MAX_KEY_CHARS = 200  # characters of a form's key
MAX_DRAFT_CHARS = 1024 * 1024  # bytes of all values of one form, as JSON
MAX_DRAFT_FIELDS = 500  # of one form
MAX_DRAFTS = 50  # drafts of one worker; the oldest are deleted
KEPT_SECONDS = 30 * 86400
# A field whose name has one of these words is kept nowhere but where it belongs.
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
    """fields: names and texts as they were typed; one with several values several times. updated_at: Unix seconds."""

    key: str
    fields: Fields
    updated_at: int

    def text(self, name: str, default: str = "") -> str:
        """The last value of a field."""
        return dict(self.fields).get(name, default)

    def texts(self, name: str) -> list[str]:
        """All values of a field."""
        return [text for each, text in self.fields if each == name]


def keep(ctx: Context, key: str, fields: Fields) -> None:
    """Keep what the worker typed into a form, in place of what is kept for it. Fields whose names tell that they are
    secret are left out. key: the form, such as `webhook:5`.

    Raises Invalid for a key that is empty or too long, TooLarge above a limit."""
    if not 0 < len(key) <= MAX_KEY_CHARS:
        raise Invalid(f"the key of a form has 1 to {MAX_KEY_CHARS} characters", field="key")
    text = json.dumps([(name, value) for name, value in fields if not is_secret(name)])
    if len(fields) > MAX_DRAFT_FIELDS or len(text) > MAX_DRAFT_CHARS:
        raise TooLarge(
            f"a draft has at most {MAX_DRAFT_FIELDS} fields and {MAX_DRAFT_CHARS:,} characters; this one is kept in "
            "the page alone, so save it before you leave",
            limit=MAX_DRAFT_CHARS,
        )
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> None:
        tx.put(FORM_DRAFT, {"worker_id": worker_id, "key": key, "fields": text, "updated_at": ctx.now})
        _drop_most(tx, worker_id)

    ctx.service.store.write(write)


def of(ctx: Context, key: str) -> FormDraft | None:
    """The draft of a form, None if there is none or it has expired."""
    row = ctx.service.store.read(lambda tx: tx.first(FORM_DRAFT, worker_id=ctx.actor.worker_id, key=key))
    at = FORM_DRAFT.position
    if row is None or row[at["updated_at"]] <= ctx.now - KEPT_SECONDS:
        return None
    return FormDraft(key, [(name, text) for name, text in json.loads(row[at["fields"]])], row[at["updated_at"]])


def drop(ctx: Context, key: str) -> bool:
    """Forget it: the form was saved, or the worker wants it no more. False when there was nothing."""
    worker_id = ctx.actor.worker_id
    if ctx.service.store.read(lambda tx: tx.first(FORM_DRAFT, worker_id=worker_id, key=key)) is None:
        return False
    return bool(ctx.service.store.write(lambda tx: tx.delete(FORM_DRAFT, worker_id=worker_id, key=key)))


def is_secret(name: str) -> bool:
    """Whether a field must not be kept, or shown again, by its name.

    >>> is_secret("password_again"), is_secret("name")
    (True, False)
    """
    return any(word in name.lower() for word in _SECRET_WORDS)


@periodic("old drafts of forms", deletes=True)
def forget_old(service: Service, now: int) -> int | None:
    """Remove those that are too old; answers when the next one is."""
    next_at = service.store.read(_next_old)
    if next_at is None or next_at > now:
        return next_at
    service.store.write(
        lambda tx: tx.run(
            lambda: FORM_DRAFT.sql.delete().where(FORM_DRAFT.sql.updated_at <= slot(0)),
            (now - KEPT_SECONDS,),
        )
    )
    return service.store.read(_next_old)


def _next_old(tx: Transaction) -> int | None:
    table: Any = FORM_DRAFT.sql
    found = tx.value(lambda: table.select(peewee.fn.MIN(table.updated_at)))
    return None if found is None else int(found) + KEPT_SECONDS


def _drop_most(tx: Transaction, worker_id: int) -> None:
    """Keep the newest of a worker."""
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
