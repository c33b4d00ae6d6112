"""Valid tokens for display: their worker, app and expiry; and revoking them."""

from typing import Any

import peewee

from server.access import consents, families, tokens
from server.access.actor import WORKER
from server.access.consents import Consent
from server.access.tokens import TOKEN
from server.apps.app_tokens import APP
from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, NotFound
from server.records import records
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import ordering, slot
from server.store.transaction import Transaction
from server.translation import N_, _

DOING = "see the tokens of others"  # an action that requires an administrator

MAX_LISTED = 500  # tokens on one page
SORTS = ("label", "created_at", "expires_at", "last_used_at")  # columns that tokens can be sorted by


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """One token. prefix, ending: the beginning and end of its text. kind: access or refresh. created_by: the creator,
    "" for a login. last_used_at: may be some minutes late, 0 for never. last_used_from: the client address. revoked_at:
    0 for never."""

    id: int
    kind: str
    prefix: str
    app_id: int
    app: str
    worker_id: int
    worker: str
    scopes: tuple[str, ...]
    label: str
    created_at: int
    expires_at: int
    last_used_at: int
    last_used_from: str
    ending: str
    created_by: str
    revoked_at: int


@dataclass(frozen=True, slots=True)
class TokenSelection:
    """A selection of tokens: of one app or worker, 0 for any; expired and revoked ones instead of valid ones."""

    app_id: int = 0
    worker_id: int = 0
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class TokenGroup:
    """The valid tokens of one worker through one app with the same scopes. made_at: creation of the newest, Unix
    seconds. last_used_at: 0 for never."""

    app_id: int
    worker_id: int
    worker: str
    scopes: tuple[str, ...]
    tokens: int
    last_used_at: int
    made_at: int


EVERY = TokenSelection()


def all(
    ctx: Context, selection: TokenSelection = EVERY, limit: int = MAX_LISTED, page: int = 1, sort: str = ""
) -> list[TokenEntry]:
    """Returns a page of all tokens; valid ones unless others are selected. page: from 1. sort: one of SORTS, with "-"
    in front for descending order; "" for the newest first. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: _listed(ctx, tx, selection, limit, page, sort))


def whose(ctx: Context, selection: TokenSelection) -> str:
    """Returns a selection in words: of Nora of the app Shop. Raises AdminOnly, NotFound, Invalid for all tokens."""
    if not selection.app_id and not selection.worker_id:
        raise Invalid(_("Choose an app or a worker first."))
    words = []
    for message, uri, id in (
        (N_("of {name}"), "worker", selection.worker_id),
        (N_("of the app {name}"), "oauth_app", selection.app_id),
    ):
        if id:
            label = ctx.service.registry.type(uri).label(records.stored_one(ctx, uri, id))
            words.append(_(message, name=label))
    return " ".join(words)


def count(ctx: Context, selection: TokenSelection = EVERY) -> int:
    """Returns the number of tokens on all pages. Raises AdminOnly unless they are the caller's."""
    if selection.worker_id != ctx.actor.worker_id:
        ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: _count(tx, selection, ctx.now))


def own(ctx: Context, limit: int = MAX_LISTED, page: int = 1) -> list[TokenEntry]:
    """Returns a page of the caller's tokens."""
    selection = TokenSelection(worker_id=ctx.actor.worker_id)
    return ctx.service.store.read(lambda tx: _listed(ctx, tx, selection, limit, page))


def ending(ctx: Context, before: int, least_seconds: int) -> int:
    """Returns the number of access tokens that expire before a time, among those with a lifetime above least_seconds.
    Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = TOKEN.sql
    return int(
        ctx.service.store.read(
            lambda tx: tx.value(
                lambda: table.select(peewee.fn.COUNT(table.id)).where(
                    table.revoked_at == 0,
                    table.expires_at > slot(0),
                    table.expires_at < slot(1),
                    table.kind == "access",
                    table.expires_at - table.created_at > slot(2),
                ),
                (ctx.now, before, least_seconds),
            )
        )
        or 0
    )


def in_use(ctx: Context, app_id: int = 0) -> list[TokenGroup]:
    """Returns the workers with valid tokens of an app, or of any app, with their numbers; sorted by name. Raises
    AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(lambda tx: _in_use(ctx, tx, app_id, 0))


def own_apps(ctx: Context) -> list[Consent]:
    """Returns the apps that may act for the caller, sorted by name: those the caller has allowed, and those with tokens
    that administrators created."""
    worker_id = ctx.actor.worker_id
    by_app: dict[int, list[TokenGroup]] = {}

    def read(tx: Transaction) -> tuple[list[Consent], dict[int, str]]:
        for each in _in_use(ctx, tx, 0, worker_id):
            by_app.setdefault(each.app_id, []).append(each)
        names = _names(RecordReader(ctx, tx), "oauth_app", set(by_app))
        return consents.of_worker(tx, worker_id, ctx.now), names

    let_in, names = ctx.service.store.read(read)
    by_id = {each.app_id: each for each in let_in}
    for id, uses in by_app.items():
        if id in names:
            by_id.setdefault(
                id,
                Consent(
                    id,
                    names[id],
                    "",
                    tuple(sorted({scope for each in uses for scope in each.scopes})),
                    max(each.made_at for each in uses),
                    sum(each.tokens for each in uses),
                    max(each.last_used_at for each in uses),
                ),
            )
    return sorted(by_id.values(), key=lambda each: (each.app_name, each.app_id))


def revoke(ctx: Context, id: int, is_noted: bool = True, is_own: bool = False) -> None:
    """Revokes a token of the caller, or any token for administrators. A refresh token revokes its whole login.
    is_noted: whether the activity log records it. is_own: whether it must be the caller's. Raises NotFound."""
    may_any = ctx.actor.is_admin and not is_own

    def write(tx: Transaction) -> None:
        row = tx.get(TOKEN, id)
        if row is None or not (may_any or row[TOKEN.position["worker_id"]] == ctx.actor.worker_id):
            raise NotFound(f"there is no token {id}")
        token = tokens.of_row(row)
        families.revoke(tx, token, ctx.now)
        if is_noted:
            _log(ctx, tx, token.app_id, token.worker_id, 1)

    ctx.service.store.write(write)


def revoke_all(ctx: Context, app_id: int = 0, worker_id: int = 0) -> int:
    """Revokes all valid tokens of an app, of a worker, or of both; returns their number. Raises AdminOnly; Invalid if
    neither is given."""
    ctx.require_admin(DOING)
    if not app_id and not worker_id:
        raise Invalid("send the app or the worker whose tokens to revoke", field="app_id")
    table: Any = TOKEN.sql

    def build() -> Any:
        query = table.update({table.revoked_at: slot(0)}).where(table.revoked_at == 0, table.expires_at > slot(0))
        return _restricted(query, is_of_app, is_of_worker)

    values = (ctx.now, *(id for id in (app_id, worker_id) if id))
    is_of_app, is_of_worker = bool(app_id), bool(worker_id)

    def write(tx: Transaction) -> int:
        count = tx.run(build, values)
        if count:
            _log(ctx, tx, app_id, worker_id, count)
        return count

    return ctx.service.store.write(write)


def revoke_app(ctx: Context, app_id: int) -> None:
    """Withdraws the caller's consent to an app, which must request it again."""

    def write(tx: Transaction) -> None:
        if consents.withdraw(tx, ctx.actor.worker_id, app_id, ctx.now):
            writing, id = RecordWriter(ctx, tx), ctx.actor.worker_id
            writing.log(
                "consent.taken_back",
                WORKER,
                id,
                {
                    "app": writing.label("oauth_app", app_id) or "(gone)",
                    "target": writing.label("worker", id),
                },
            )

    ctx.service.store.write(write)


def _log(ctx: Context, tx: Transaction, app_id: int, worker_id: int, count: int) -> None:
    """Logs revoked tokens: on the worker, or on the app if they belong to several workers."""
    writing = RecordWriter(ctx, tx)
    app = writing.label("oauth_app", app_id) if app_id else ""
    tokens_of = f"{count} tokens" if count > 1 else "a token"
    if worker_id:
        of_app = f" of the app {app}" if app_id else ""
        details = {"tokens": f"{tokens_of}{of_app}", "target": writing.label("worker", worker_id)}
        writing.log("token.ended", WORKER, worker_id, details)
    else:
        writing.log("token.ended", APP, app_id, {"tokens": tokens_of, "target": app})


def _restricted(query: Any, is_of_app: bool, is_of_worker: bool) -> Any:
    """Restricts a query to the tokens of an app, of a worker, of both or of neither; their ids are its values from the
    second on."""
    table: Any = TOKEN.sql
    columns = [each for each, is_wanted in ((table.app_id, is_of_app), (table.worker_id, is_of_worker)) if is_wanted]
    for place, column in enumerate(columns, 1):
        query = query.where(column == slot(place))
    return query


def _shape(selection: TokenSelection) -> tuple[bool, bool, bool]:
    return selection.is_over, bool(selection.app_id), bool(selection.worker_id)


def _selected(shape: tuple[bool, bool, bool], *columns: Any) -> Any:
    """Returns a query for these columns of the selected tokens."""
    is_wanted_over, is_of_app, is_of_worker = shape
    table: Any = TOKEN.sql
    is_good = (table.revoked_at == 0) & (table.expires_at > slot(0))
    # A refresh token that was exchanged for a new pair has ended without being revoked.
    is_over = (table.renewed_at == 0) & ((table.revoked_at > 0) | (table.expires_at <= slot(0)))
    query = table.select(*columns).where(is_over if is_wanted_over else is_good)
    return _restricted(query, is_of_app, is_of_worker)


def _count(tx: Transaction, selection: TokenSelection, now: int) -> int:
    table: Any = TOKEN.sql
    shape = _shape(selection)
    values = (now, *(id for id in (selection.app_id, selection.worker_id) if id))
    return int(tx.value(lambda: _selected(shape, peewee.fn.COUNT(table.id)), values) or 0)


def _listed(
    ctx: Context, tx: Transaction, selection: TokenSelection, limit: int, page: int, sort: str = ""
) -> list[TokenEntry]:
    table: Any = TOKEN.sql
    ids = [id for id in (selection.app_id, selection.worker_id) if id]
    shape = _shape(selection)

    def build() -> Any:
        place = 1 + shape[1] + shape[2]
        chosen = ordering({name: getattr(table, name) for name in SORTS}, sort)
        query = _selected(shape, *TOKEN.all_columns).order_by(*chosen, table.id.desc())
        return query.limit(slot(place)).offset(slot(place + 1))

    rows = [
        dict(zip(TOKEN.names, row, strict=True))
        for row in tx.rows(
            build,
            (ctx.now, *ids, limit, (page - 1) * limit),
        )
    ]
    reading = RecordReader(ctx, tx)
    apps = _names(reading, "oauth_app", {each["app_id"] for each in rows})
    workers = _names(reading, "worker", {each[name] for each in rows for name in ("worker_id", "created_by")})
    return [
        TokenEntry(
            each["id"],
            each["kind"],
            each["prefix"],
            each["app_id"],
            apps.get(each["app_id"], ""),
            each["worker_id"],
            workers.get(each["worker_id"], ""),
            tuple(each["scopes"].split()),
            each["label"],
            each["created_at"],
            each["expires_at"],
            each["last_used_at"],
            each["last_used_from"],
            each["ending"],
            workers.get(each["created_by"], ""),
            each["revoked_at"],
        )
        for each in rows
        if each["app_id"] in apps and each["worker_id"] in workers
    ]


def _in_use(ctx: Context, tx: Transaction, app_id: int, worker_id: int) -> list[TokenGroup]:
    table: Any = TOKEN.sql

    def build() -> Any:
        query = table.select(
            table.app_id,
            table.worker_id,
            table.scopes,
            peewee.fn.COUNT(table.id),
            peewee.fn.MAX(table.last_used_at),
            peewee.fn.MAX(table.created_at),
        ).where(table.revoked_at == 0, table.expires_at > slot(0))
        query = _restricted(query, is_of_app, is_of_worker)
        return query.group_by(table.app_id, table.worker_id, table.scopes)

    is_of_app, is_of_worker = bool(app_id), bool(worker_id)
    values = (ctx.now, *(id for id in (app_id, worker_id) if id))
    rows = tx.rows(build, values)
    workers = _names(RecordReader(ctx, tx), "worker", {row[1] for row in rows})
    groups = [
        TokenGroup(app, worker, workers[worker], tuple(scopes.split()), count, used, created)
        for app, worker, scopes, count, used, created in rows
        if worker in workers
    ]
    return sorted(groups, key=lambda each: (each.worker.lower(), each.scopes))


def _names(reading: RecordReader, uri: str, ids: set[int]) -> dict[int, str]:
    record_type = reading.registry.type(uri)
    return {row[0]: record_type.label(record_type.record(row)) for row in reading.tx.get_many(record_type.table, ids)}
