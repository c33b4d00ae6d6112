"""Tokens that administrators create for a worker, without a login."""

from server import contexts, times
from server.access import families, token_resources, tokens
from server.access.actor import WORKER
from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, NotFound, nearest
from server.record_types.parts import Record
from server.record_types.shared.assistant_scopes import offered
from server.records.writing import RecordWriter
from server.settings import ADDRESS_VARIABLE, TOKEN_VARIABLE
from server.store.transaction import Transaction

APP = contexts.OAUTH_APP
LONG = "1 year"  # tokens that last longer are confirmed once
REFRESH_VARIABLE = "HELPDESK_REFRESH_TOKEN"
REFRESH_EXTRA = "1 month"  # the refresh token outlives the access token by this


APP_NAME = "Token generator"  # the app that a first start creates


@dataclass(frozen=True)
class TokenPair:
    """The two tokens, shown once; `expires_in` in seconds."""

    access_token: str
    refresh_token: str
    expires_in: int
    scope: str


def create(
    ctx: Context,
    worker_id: int,
    app_id: int = 0,
    scopes: str = "api",
    expires: str = "1 hour",
    label: str = "",
    is_renewable: bool = True,
) -> TokenPair:
    """Creates tokens for a worker. app_id: 0 for the built-in app. is_renewable: whether there is a refresh token;
    otherwise it is "". Raises AdminOnly, NotFound, Invalid."""
    ctx.require_admin("create tokens")
    ends = times.after(expires, ctx.now, ctx.tz)
    refresh_ends = times.after(REFRESH_EXTRA, ends, ctx.tz)

    def write(tx: Transaction) -> TokenPair:
        app = _app(ctx, tx, app_id)
        granted = _scopes(app["scopes"], scopes)
        _require_worker(ctx, tx, worker_id)
        family = families.new()
        by = ctx.actor.worker_id
        access = tokens.issue(
            tx,
            app["id"],
            worker_id,
            granted,
            ends,
            ctx.now,
            label,
            family=family,
            created_by=by,
            resource=token_resources.ALL,
        )
        refresh = (
            ""
            if not is_renewable
            else tokens.issue(
                tx,
                app["id"],
                worker_id,
                granted,
                refresh_ends,
                ctx.now,
                label,
                "refresh",
                family=family,
                renewable_until=max(refresh_ends, ctx.now + families.MAX_FAMILY_SECONDS),
                created_by=by,
                resource=token_resources.ALL,
            )
        )
        writing = RecordWriter(ctx, tx)
        writing.log(
            "token.created",
            WORKER,
            worker_id,
            {
                "app": app["name"],
                "target": writing.label("worker", worker_id),
                "scopes": " ".join(granted),
            },
        )
        return TokenPair(access, refresh, ends - ctx.now, " ".join(granted))

    return ctx.service.store.write(write)


def is_long(ctx: Context, expires: str) -> bool:
    """Returns whether tokens would last for more than LONG. Raises Invalid."""
    return times.after(expires, ctx.now, ctx.tz) > times.after(LONG, ctx.now, ctx.tz)


def settings_file(ctx: Context, pair: TokenPair) -> str:
    """Returns the content of a file with tokens, for programs that read their settings from one."""
    lines = (
        f"{ADDRESS_VARIABLE}={ctx.service.base_url}",
        f"{TOKEN_VARIABLE}={pair.access_token}",
        f"{REFRESH_VARIABLE}={pair.refresh_token}",
    )
    return "\n".join(lines) + "\n"


def app_named(ctx: Context, name: str) -> int:
    """Returns the id of the app with this name. Raises NotFound."""
    table = ctx.service.registry.type("oauth_app").table
    row = ctx.service.store.read(lambda tx: tx.first(table, name=name))
    if row is None:
        names = ctx.service.store.read(lambda tx: [each[table.position["name"]] for each in tx.find(table)])
        raise NotFound(f"there is no app '{name[:80]}'{nearest(name, names)}")
    return int(row[0])


def worker_with_email(ctx: Context, email: str) -> int:
    """Returns the id of the worker with this mail address. Raises NotFound."""
    registry = ctx.service.registry

    def read(tx: Transaction) -> int:
        address = tx.first(registry.type("address").table, email=email.strip().lower())
        worker = tx.first(registry.type("worker").table, email_id=address[0]) if address else None
        if worker is None:
            near = nearest(email.strip().lower(), _worker_emails(ctx, tx))
            raise NotFound(f"there is no worker with the email address '{email[:80]}'{near}")
        return int(worker[0])

    return ctx.service.store.read(read)


def _worker_emails(ctx: Context, tx: Transaction) -> list[str]:
    worker, address = (ctx.service.registry.type(uri).table for uri in ("worker", "address"))
    ids = [row[worker.position["email_id"]] for row in tx.find(worker)]
    return [str(row[address.position["email"]]) for row in tx.get_many(address, ids)]


def _app(ctx: Context, tx: Transaction, app_id: int) -> Record:
    record_type = ctx.service.registry.type("oauth_app")
    row = tx.get(record_type.table, app_id) if app_id else tx.first(record_type.table, name=APP_NAME)
    if row is None:
        raise NotFound(f"there is no OAuth app {app_id or APP_NAME}")
    return record_type.record(row)


def _scopes(defined_text: object, scope_text: str) -> tuple[str, ...]:
    defined = offered(str(defined_text))
    names = tuple(dict.fromkeys(scope_text.split()))
    if not names:
        raise Invalid("scopes: send at least one", field="scopes")
    for name in names:
        if name not in defined:
            raise Invalid(f"scopes: the app does not define '{name[:80]}'{nearest(name, defined)}", field="scopes")
    return names


def _require_worker(ctx: Context, tx: Transaction, worker_id: int) -> None:
    record_type = ctx.service.registry.type("worker")
    row = tx.get(record_type.table, worker_id)
    if row is None:
        raise NotFound(f"there is no worker {worker_id}")
    if record_type.record(row)["is_disabled"]:
        raise Invalid(f"worker {worker_id} is disabled; enable the worker first", field="worker_id")
