"""The first content of a new database, and its first administrator: by a one-time link, or by settings.

The link leads to the steps of the setup, which can be interrupted and continued."""

import hashlib
import secrets
from collections.abc import Callable
from typing import Any, Literal

from server import passwords
from server.access.actor import APP
from server.apps.app_tokens import APP_NAME
from server.context import Context, Service
from server.errors import Invalid, NotFound
from server.first_start import demo
from server.packages import bundle, package_import
from server.people import nicknames
from server.record_types.shared import callbacks
from server.record_types.shared.scopes import DEFAULT
from server.records.service_settings import get, put
from server.records.writing import RecordWriter
from server.settings import LOOPBACK, Settings
from server.sign_in import sign_in
from server.sign_in.sign_in import Peer
from server.store.tables import table_named
from server.store.transaction import Transaction

CALLBACK = "/oauth/callback"
STARTER = "starter"  # the package that a new database gets
STARTER_KEY = "starter_package"
SETUP_KEY, SETUP_UNTIL_KEY = "setup_link_sha256", "setup_link_until"
LINK_SECONDS = 1800  # validity of a setup link
STEPS_KEY = "setup_steps_left"
FOLLOWS_KEY = "groups_follow_default_sender"
ADDRESS_KEY = "base_url_last_served"
OVER = "this setup link was used or replaced, or has expired; `helpdesk setup-link` prints a new one"
Step = Literal["address", "mail", "receive", "start"]
STEPS: tuple[Step, ...] = ("address", "mail", "receive", "start")  # after the first step, the administrator's account


def prepare(ctx: Context) -> None:
    """Creates a default group with its Inbox, a role for all workers, the app of the token generator, and a sender;
    only once."""
    ctx.service.store.write(lambda tx: _prepare(ctx, tx))


def furnish(ctx: Context) -> None:
    """Imports the starter package into a new database, after its built-in records."""
    if ctx.service.store.read(_is_bare):
        starter = bundle.package(STARTER)

        def write(tx: Transaction) -> None:
            if _is_bare(tx):
                package_import.import_package(ctx, starter, {}, grants_agreed=True)
                put(tx, STARTER_KEY, "imported")

        ctx.service.store.write(write)


def _is_bare(tx: Transaction) -> bool:
    return bool(get(tx, STARTER_KEY) == "due")


def _prepare(ctx: Context, tx: Transaction) -> None:
    writing = RecordWriter(ctx, tx)
    if get(tx, "installation") is not None:
        _follow_default_sender(writing)
        return
    put(tx, FOLLOWS_KEY, True)
    put(tx, "installation", ctx.service.installation)
    put(tx, STARTER_KEY, "due" if ctx.service.settings.starter_package else "none")
    sender = writing.create("address", {"email": _sender(ctx)})
    put(tx, "default_sender_id", sender)
    writing.create("group", {"name": "Support", "is_default": 1})
    writing.create("role", {"name": "Everyone", "privs_mode": "all", "member_query_worker": "isDisabled:no"})
    writing.create(
        "oauth_app",
        {
            "name": APP_NAME,
            "callback_url": own_callback(ctx.service.base_url),
            "scopes": DEFAULT,
        },
    )


def _follow_default_sender(writing: RecordWriter) -> None:
    """Removes copies of the default sender from groups that got one when they were created, so that they follow it;
    only once.

    The group that routing finds by that address keeps it, unless it is the default group."""
    tx = writing.tx
    if get(tx, FOLLOWS_KEY):
        return
    put(tx, FOLLOWS_KEY, True)
    sender = int(get(tx, "default_sender_id", 0) or 0)
    groups = writing.registry.type("group")
    copies = [groups.record(row) for row in tx.find(groups.table, reply_address_id=sender)] if sender else []
    for place, group in enumerate(sorted(copies, key=lambda each: each["id"])):
        if place > 0 or group["is_default"]:
            writing.set("group", group["id"], {"reply_address_id": 0})


def _sender(ctx: Context) -> str:
    host = ctx.service.base_url.partition("://")[2].partition("/")[0].partition(":")[0]
    return f"support@{host}" if "." in host and not host.replace(".", "").isdigit() else "support@localhost"


def setup_path(ctx: Context) -> str | None:
    """Returns the path of a new setup link, None if there is an administrator. Former links stop working."""

    def write(tx: Transaction) -> str | None:
        if has_administrator(tx):
            return None
        code = secrets.token_urlsafe(32)
        put(tx, SETUP_KEY, _digest(code))
        put(tx, SETUP_UNTIL_KEY, ctx.now + LINK_SECONDS)
        RecordWriter(ctx, tx).log("setup.link", APP, 0, {})
        return f"/setup/{code}"

    return ctx.service.store.write(write)


def has_link(ctx: Context) -> bool:
    """Whether a setup link was printed that still works."""
    store = ctx.service.store
    return store.read(lambda tx: bool(get(tx, SETUP_KEY)) and ctx.now < get(tx, SETUP_UNTIL_KEY, 0)) and not is_set_up(
        ctx.service
    )


def own_callback(base_url: str) -> str:
    """Returns the callback of the built-in app; without HTTPS only a path, which no login can redirect to."""
    callback = f"{base_url}{CALLBACK}"
    return CALLBACK if callbacks.is_open_to_others(callback) else callback


def follow_address(ctx: Context) -> None:
    """Stores the address of the service, for commands that print links while it runs, and updates the callback of the
    built-in app unless it was changed."""
    url, store = ctx.service.base_url, ctx.service.store

    def write(tx: Transaction) -> None:
        writing, callback = RecordWriter(ctx, tx), own_callback(url)
        before = own_callback(served_at(tx) or url)
        put(tx, ADDRESS_KEY, url)
        app = writing.find("oauth_app", callback_url=before) or writing.find("oauth_app", callback_url=CALLBACK)
        if app is not None and app["callback_url"] != callback:
            writing.update_sent(writing.registry.type("oauth_app"), app["id"], {"callback_url": callback})

    if store.read(served_at) != url:
        store.write(write)


def served_at(tx: Transaction) -> str:
    """Returns the address of the service at its last start, "" before the first."""
    return str(get(tx, ADDRESS_KEY, ""))


def make_administrator(ctx: Context) -> None:
    """Creates the first administrator from the settings admin_email and admin_password_file; does nothing without them,
    or if there is an administrator. Raises Invalid if only one is set, and for an invalid file or value."""
    settings = ctx.service.settings
    email, file = settings.admin_email.strip(), settings.admin_password_file
    if not email and not file:
        return
    if not email or not file:
        raise Invalid("admin_email and admin_password_file belong together; set both or neither")
    if ctx.service.store.read(has_administrator):
        return
    name = email.partition("@")[0]
    fields = {"first_name": name, "email": email, "timezone": "UTC", "password": passwords.from_file(file)}
    _create(ctx, fields, lambda tx: not has_administrator(tx))


def has_administrator(tx: Transaction) -> bool:
    """Whether the service has an administrator who can sign in."""
    worker = table_named("worker")
    return bool(
        tx.value(
            lambda: worker.select(worker.c.id).where(worker.c.is_superuser == 1, worker.c.is_disabled == 0).limit(1),
        )
    )


def is_setup_code(tx: Transaction, code: str, now: int) -> bool:
    """Whether this is the code of the newest link, and the link still works. now: Unix seconds."""
    digest, until = get(tx, SETUP_KEY), get(tx, SETUP_UNTIL_KEY, 0)
    is_known = bool(digest) and secrets.compare_digest(str(digest), _digest(code))
    return is_known and now < until and not has_administrator(tx)


def finish_setup(ctx: Context, code: str, fields: dict[str, Any], peer: Peer) -> str:
    """Creates the first administrator and invalidates the link. Returns the id of a session for the steps that follow.

    Raises NotFound for a used link, Invalid for an invalid value."""

    def is_good(tx: Transaction) -> bool:
        return is_setup_code(tx, code, ctx.now)

    def along(tx: Transaction, id: int) -> str:
        put(tx, SETUP_KEY, "")
        put(tx, STEPS_KEY, list(STEPS))
        return sign_in.begin(ctx, tx, id, peer)

    session = _create(ctx, fields, is_good, along)
    if not session:
        raise NotFound(OVER)
    return session


def _create(
    ctx: Context,
    fields: dict[str, Any],
    may: Callable[[Transaction], bool],
    along: Callable[[Transaction, int], str] = lambda tx, id: "",
) -> str:
    """Creates an administrator if that is still allowed; returns the result of `along` in the same transaction,
    otherwise ""."""
    record_type = ctx.service.registry.type("worker")
    names = str(fields.get("first_name", "")), str(fields.get("last_name", ""))
    nickname = ctx.service.store.read(lambda tx: nicknames.free(tx, *names))
    prepared = record_type.before({"language": "en_US", "at_mention_name": nickname, **fields, "is_superuser": "1"})

    def write(tx: Transaction) -> str:
        if not may(tx):
            return ""
        writing = RecordWriter(ctx, tx)
        id = writing.create_sent(record_type, prepared)
        group = writing.find("group", is_default=1)
        if group is not None:
            writing.update("group", group["id"], {"members": {id: "manager"}})
        demo.join(writing, id)
        return along(tx, id)

    return ctx.service.store.write(write)


def steps_left(tx: Transaction) -> tuple[Step, ...]:
    """Returns the steps of the setup that were neither finished nor skipped, in order; () in a service without a
    setup link."""
    remaining = get(tx, STEPS_KEY, [])
    return tuple(step for step in STEPS if step in remaining)


def finish_step(ctx: Context, step: Step) -> Step | None:
    """Records that a step is done or skipped; returns the next one, None if all are done. Raises AdminOnly."""
    ctx.require_admin("set up the service")

    def write(tx: Transaction) -> Step | None:
        remaining = [each for each in steps_left(tx) if each != step]
        put(tx, STEPS_KEY, remaining)
        return remaining[0] if remaining else None

    return ctx.service.store.write(write)


def is_in_the_clear(settings: Settings) -> bool:
    """Whether others can reach the service without encryption: it listens for them and its address is not https."""
    return settings.host not in LOOPBACK and not settings.base_url.startswith("https://")


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def is_set_up(service: Service) -> bool:
    """Whether there is an administrator."""
    return service.store.read(has_administrator)


def is_open(service: Service, code: str, now: int) -> bool:
    """Whether a setup link works."""
    return service.store.read(lambda tx: is_setup_code(tx, code, now))


def remaining_steps(ctx: Context) -> tuple[Step, ...]:
    """Returns the steps that were neither finished nor skipped. Raises AdminOnly."""
    ctx.require_admin("set up the service")
    return ctx.service.store.read(steps_left)
