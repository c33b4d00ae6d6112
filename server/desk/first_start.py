"""What a new database begins with, and the one-use link behind which the first administrator introduces themself."""

import hashlib
import secrets
from typing import Any

import peewee

from server import clock, times
from server.access import actor
from server.context import Context, Service
from server.desk.packages import importing, shipped
from server.desk.service_settings import get, put
from server.desk.writing import RecordWriter
from server.errors import NotFound
from server.records.shared.scopes import DEFAULT
from server.store.transaction import Transaction

APP_NAME = "Token generator"
STARTER = "starter"  # the package that a new database begins with
STARTER_KEY = "starter_package"
SETUP_KEY = "setup_link_sha256"


def own_context(service: Service) -> Context:
    """A context in the service's own name, in UTC."""
    return Context(service, actor.system(), clock.now(), times.zone("UTC"))


def prepare(ctx: Context) -> None:
    """A default group with its Inbox, a role for everybody, the app of the token generator, a sender. Once.

    Source: ours."""
    ctx.service.store.write(lambda tx: _prepare(ctx, tx))


def furnish(ctx: Context) -> None:
    """Import the starter package into a new database, once its built-in records are there. Source: ours."""
    if ctx.service.store.read(_is_bare):
        starter = shipped.package(STARTER)

        def write(tx: Transaction) -> None:
            if _is_bare(tx):
                importing.import_package(ctx, starter, {})
                put(tx, STARTER_KEY, "imported")

        ctx.service.store.write(write)


def _is_bare(tx: Transaction) -> bool:
    return bool(get(tx, STARTER_KEY) == "due")


def _prepare(ctx: Context, tx: Transaction) -> None:
    if get(tx, "installation") is not None:
        return
    writing = RecordWriter(ctx, tx)
    put(tx, "installation", ctx.service.installation)
    put(tx, STARTER_KEY, "due" if ctx.service.settings.starter_package else "none")
    sender = writing.create("address", {"email": _sender(ctx)})
    put(tx, "default_sender_id", sender)
    writing.create("group", {"name": "Support", "is_default": 1})
    writing.create("role", {"name": "Everyone", "privs_mode": "all", "member_query_worker": "isDisabled:no"})
    writing.create("oauth_app", {
        "name": APP_NAME, "callback_url": f"{ctx.service.base_url}/oauth/callback", "scopes": DEFAULT,
    })  # fmt: skip


def _sender(ctx: Context) -> str:
    host = ctx.service.base_url.partition("://")[2].partition("/")[0].partition(":")[0]
    return f"support@{host}" if "." in host and not host.replace(".", "").isdigit() else "support@localhost"


def setup_path(ctx: Context) -> str | None:
    """The path of a new set-up link, None once there is an administrator. Earlier links stop working."""

    def write(tx: Transaction) -> str | None:
        if has_administrator(tx):
            return None
        code = secrets.token_urlsafe(32)
        put(tx, SETUP_KEY, _digest(code))
        return f"/setup/{code}"

    return ctx.service.store.write(write)


def has_administrator(tx: Transaction) -> bool:
    """Whether anybody can administer the service."""
    worker = peewee.Table("worker")
    return bool(tx.value(
        ("administrators",),
        lambda: worker.select(worker.c.id).where(worker.c.is_superuser == 1, worker.c.is_disabled == 0).limit(1),
    ))


def is_setup_code(tx: Transaction, code: str) -> bool:
    """Whether this is the code of the link that was printed last, and still of use."""
    known = get(tx, SETUP_KEY)
    return bool(known) and secrets.compare_digest(str(known), _digest(code)) and not has_administrator(tx)


def finish_setup(ctx: Context, code: str, fields: dict[str, Any]) -> int:
    """Create the first administrator, and use the link up. Answers the worker's id. Raises NotFound for a used link,
    Invalid for a bad value."""
    record_type = ctx.service.registry.type("worker")
    prepared = record_type.before({**fields, "is_superuser": "1"})

    def write(tx: Transaction) -> int:
        if not is_setup_code(tx, code):
            raise NotFound("this set-up link was used or replaced; start the server again for a new one")
        writing = RecordWriter(ctx, tx)
        id = writing.create_sent(record_type, prepared)
        put(tx, SETUP_KEY, "")
        group = writing.find("group", is_default=1)
        if group is not None:
            writing.update("group", group["id"], {"members": {id: "manager"}})
        return id

    return ctx.service.store.write(write)


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
