"""Builds, starts and stops a service: store, registry, scheduler, HTTP server. Here the layers are joined."""

import asyncio
import contextlib
import dataclasses
import gc
import os
import secrets
import signal
import socket
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import ModuleType

from tornado.httpserver import HTTPServer

from server import (
    access,
    apps,
    automation,
    clock,
    connections,
    counting,
    export,
    first_start,
    help_center,
    imports,
    jobs,
    late_files,
    log,
    mailroom,
    memory,
    notifying,
    outbound,
    outbox,
    outgoing,
    packages,
    people,
    queries,
    records,
    sign_in,
    tickets,
    upkeep,
    warming,
    writing_assistant,
)
from server.access import provider
from server.access.service_actor import own_context
from server.access.token_resources import MCP_PATH
from server.apps import assistant_calls
from server.automation import saving, stopping
from server.automation.service_automations import ServiceAutomations
from server.context import Service
from server.dataclass import dataclass
from server.discovery import load_all
from server.errors import Damaged, HelpdeskError, Invalid, Unavailable
from server.first_start import builtin_records, setup
from server.jobs import job_queue
from server.jobs.processes import Membership
from server.jobs.scheduler import Scheduler, periodic
from server.mailroom import mail_listening
from server.outbox.sending import Sending
from server.outgoing.courier import Courier
from server.people import presence
from server.record_types import registry as record_types
from server.record_types.registry import Registry
from server.record_types.shared import custom_types
from server.records import live_settings, service_settings
from server.records.live_settings import LIVE_SETTINGS
from server.records.metrics import builtin as builtin_metrics
from server.records.process_caches import ProcessCaches
from server.settings import ALL, WORKER, Settings
from server.store import backup, lock, schema
from server.store.database import NO_FILE
from server.store.recounting import recounted
from server.store.tables import Table
from server.store.transaction import Transaction
from server.translation import N_
from server.upkeep import verdict
from server.upkeep.restoring import Exchange, Restores
from server.warming import warmed
from server.web import oauth, rest
from server.web.assistants.mcp_site import McpSite
from server.web.connections import Connections, raise_limit, require_framework
from server.web.front import Front
from server.web.mail_listener import MailListener
from server.web.maintenance import MaintenanceResponder
from server.web.meter import Meter
from server.web.monitoring import MonitoringSites
from server.web.openapi.openapi_site import PATH as OPENAPI_PATH
from server.web.openapi.openapi_site import OpenApiSite
from server.web.request_head import CUT_HEAD_BYTES
from server.web.rest_site import RestSite
from server.web.scim.scim_site import SCIM_PATH, ScimSite
from server.web.site import Site
from server.web.sockets import tcp_sockets, unix_socket
from server.web.webhook_site import PREFIX as WEBHOOKS_PREFIX
from server.web.webhook_site import WebhookSite
from server.web.worker_site import WorkerSite
from server.writing_assistant import model_calls

ROOMS = (
    access, jobs, counting, records, people, apps, sign_in, connections, outbox, tickets, notifying, mailroom, queries,
    packages, imports, automation, export, upkeep, first_start, outgoing, help_center, writing_assistant,
)  # fmt: skip
DATABASE = "helpdesk.db"
KEEP_EXPIRED_SECONDS = 7 * 86400  # how long expired tokens are retained, to distinguish expired from unknown
GC_THRESHOLDS = (20_000, 20, 50)  # requests create few reference cycles
STALL_CHECK_SECONDS, STALL_SECONDS = 1.0, 0.25
TRIM_SECONDS = 30.0
WARM_AFTER_SECONDS = 0.5  # wait after the start, in which waiting clients send their requests
END_SECONDS = 0.5  # time for idle threads to end
LOG = log.get("app")

SiteMaker = Callable[[Service], dict[str, Site]]


class Background:
    """The threads of a service that serve no request: the scheduler, which `wake` wakes, and scripts. Created again
    for each start."""

    def __init__(self, settings: Settings) -> None:
        self.wake = threading.Event()
        self.scripts = ThreadPoolExecutor(settings.script_threads, thread_name_prefix="script")

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Runs a callback of Transaction.after_commit on a script thread."""
        self.scripts.submit(_logged, callback)


@dataclass
class RunningService:
    """A running service. url: its address. mail: the address for incoming mail, if there is one."""

    service: Service
    front: Front
    http: Connections
    scheduler: Scheduler
    scripts: ThreadPoolExecutor
    mail: MailListener
    sending: Sending
    courier: Courier
    members: Membership
    url: str


@cache
def tables_of(*packages: ModuleType) -> tuple[Table, ...]:
    """Returns the tables that modules of these packages declare."""
    tables: dict[str, Table] = {}
    for package in packages:
        for module in load_all(package.__name__, package.__path__, is_deep=True):
            for value in vars(module).values():
                for table in value if isinstance(value, (list, tuple)) else (value,):
                    if isinstance(table, Table):
                        tables.setdefault(table.name, table)
    return tuple(tables.values())


def all_tables(registry: Registry) -> list[Table]:
    """Returns every table of the database."""
    tables = {table.name: table for table in registry.tables()}
    for table in tables_of(*ROOMS):
        tables.setdefault(table.name, table)
    return list(tables.values())


def endpoints() -> None:
    """Imports all endpoints, so that they register."""
    load_all(rest.__name__, rest.__path__, is_deep=True)


def make_folder(folder: Path) -> None:
    """Creates the data folder, readable by its owner only. Raises Damaged if it cannot be created or written."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise Damaged(f"the data folder {folder} cannot be written; check it or choose another (--data)")
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise Damaged(
            f"the data folder {folder} cannot be written ({error.strerror}); check it or choose another (--data)"
        ) from error


def open_service(settings: Settings, background: Background | None = None) -> Service:
    """Opens the store and the registry, and adds the records of a first start. Raises Damaged for an unusable file or
    folder. background: None for a command, which runs neither a scheduler nor scripts."""
    clock.forward(settings.clock_offset_seconds)
    outbound.limits(settings)  # a wrong outbound_allow stops the start
    folder = Path(settings.data)
    make_folder(folder)
    registry = record_types.load()
    saving.register()
    os.umask(0o077)
    store = schema.open_store(
        settings.database or folder / DATABASE,
        all_tables(registry),
        registry.texts(),
        read_seconds=settings.read_seconds,
        queue_limit=settings.write_queue,
        batch_limit=settings.write_batch,
        cache_kib=settings.sqlite_cache_kib,
        max_pages=settings.max_database_pages,
        after_commit=background and background.after_commit,
    )
    try:  # close it on failure: undoing a restore exchanges the files then
        for file in folder.glob(f"{DATABASE}*"):
            file.chmod(stat.S_IRUSR | stat.S_IWUSR)
        if store.read(lambda tx: custom_types.load(tx, registry)):
            store.write(lambda tx: schema.add_tables(tx, [each.table for each in registry.custom]))
            store.statements.forget()
        installation = store.read(_installation) or secrets.token_hex(16)
        service = Service(
            store,
            registry,
            settings,
            settings.base_url.rstrip("/"),
            installation,
            wake_scheduler=background and background.wake.set,
            automations=ServiceAutomations(),
        )
        live_settings.apply(service)
        setup.prepare(own_context(service))
        # Two processes may start on a new database at once.
        service = dataclasses.replace(service, installation=store.read(_installation))
        builtin_records.add_missing(own_context(service))
        builtin_metrics.prepare(own_context(service))
        setup.furnish(own_context(service))
    except BaseException:
        store.close()
        raise
    return service


def _installation(tx: Transaction) -> str:
    return str(service_settings.get(tx, "installation", ""))


@warmed
def _unpack_libraries() -> None:
    """Unpacks the libraries that writes and pages use, so that those do not wait for it."""
    for name in ("cryptography", "nh3", "re2"):
        late_files.unpack(name)


@warmed
def _remove_left_folders() -> None:
    """Removes the folders of killed executables, tens of MiB each."""
    late_files.remove_left_folders()


@periodic(N_("tokens of no use"), N_("Removes tokens that expired long ago."), deletes=True)
def _forget_useless_tokens(service: Service, now: int) -> None:
    service.store.write(lambda tx: provider.forget_useless(tx, now - KEEP_EXPIRED_SECONDS))


def serve(
    settings: Settings, sites: SiteMaker, ready: Callable[[RunningService], None], reload: Callable[[], Settings]
) -> None:
    """Runs until SIGTERM or Ctrl-C. `ready` is called once it accepts requests, `reload` reads the settings at SIGHUP.
    Raises HelpdeskError if it cannot start."""
    require_framework()
    folder = Path(settings.data)
    make_folder(folder)
    folder_lock = lock.FolderLock(folder)
    try:
        folder_lock.take()
    except Damaged:  # with a database elsewhere, the lock only tells commands the address of a process
        if not settings.database:
            raise
    raise_limit()
    memory.share_heaps()
    gc.disable()  # until the first response: imports continue, and nearly all objects stay

    def publish(running: RunningService) -> None:
        folder_lock.publish_address(running.url)
        ready(running)

    try:
        backup.remove_unfinished(folder / DATABASE)
        asyncio.run(_serve(settings, sites, publish, reload))
    finally:
        gc.enable()
        folder_lock.release()
    _leave_threads()


def _leave_threads() -> None:
    """Ends the process at once if scripts or mail still wait for other servers after the shutdown. The interpreter
    would wait for their threads; nothing is lost, since none of their work was acknowledged.

    Daemon threads count too: the threads of a pool that a daemon created are daemons, yet the interpreter joins
    them."""
    deadline = time.monotonic() + END_SECONDS
    others = [each for each in threading.enumerate() if each is not threading.current_thread()]
    for each in others:
        each.join(max(deadline - time.monotonic(), 0))
    alive = sum(each.is_alive() for each in others)
    if alive:
        LOG.warning("threads.left", count=alive)
        log.flush()
        os._exit(0)


class Lifecycle:
    """The requests to a running service: to stop, or to stop, exchange files and start again."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._requested = asyncio.Event()
        self._hurried = asyncio.Event()
        self._exchange: Exchange | None = None
        self.is_over = False

    def stop(self) -> None:
        """Stops the service; a second call skips the grace period. Called on the event loop."""
        if self.is_over:
            self._hurried.set()
        self.is_over = True
        self._requested.set()

    def restart(self, exchange: Exchange) -> None:
        """Restarts the service and runs `exchange` in between. Callable on any thread."""

        def request() -> None:
            self._exchange = exchange
            self._requested.set()

        self._loop.call_soon_threadsafe(request)

    async def wait(self) -> None:
        """Waits for either request."""
        await self._requested.wait()

    async def grace(self, seconds: float) -> None:
        """Waits for the grace period, or until a second request to stop."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hurried.wait(), seconds)

    def take_exchange(self) -> Exchange | None:
        """Returns and clears the exchange before the next start, None if there is none."""
        exchange, self._exchange = self._exchange, None
        if self.is_over:
            return None
        self._requested.clear()
        return exchange


async def _serve(
    settings: Settings, sites: SiteMaker, ready: Callable[[RunningService], None], reload: Callable[[], Settings]
) -> None:
    sockets = bind(settings)
    settings = settings.replace(port=sockets[0].getsockname()[1])
    lifecycle = Lifecycle()
    restores = Restores(lifecycle.restart)
    try:
        sockets += _bind_unix(settings.http_socket)
        background = Background(settings)
        service = open_service(settings, background)
        try:
            _require_role(service)
        except HelpdeskError:
            service.store.close()
            raise
        _stop_on_signals(lifecycle)
        _read_settings_on_hangup(reload)
        while True:
            await _serve_until_request(service, sites, sockets, background, lifecycle, restores, ready)
            exchange = lifecycle.take_exchange()
            if exchange is None:
                break
            background = Background(settings)
            service = await _reopen(settings, background, sockets, exchange)
    finally:
        for each in sockets:
            each.close()


def _require_role(service: Service) -> None:
    """Raises Invalid if no process would do a part of the work."""
    role = service.settings.role
    if role != ALL and not service.store.is_shared:
        raise Invalid(
            f"role is '{role}', but a database file is served by one process, which does everything; leave it out, "
            "or use PostgreSQL (database)",
            field="role",
        )


async def _serve_until_request(
    service: Service,
    sites: SiteMaker,
    sockets: list[socket.socket],
    background: Background,
    lifecycle: Lifecycle,
    restores: Restores,
    ready: Callable[[RunningService], None],
) -> None:
    """Serves on copies of the sockets, so that they stay open across a restart."""
    try:
        # Hashing its password is slow: not on this thread, which handles signals.
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, setup.make_administrator, own_context(service))
        running = _start(service, sites, [each.dup() for each in sockets], background)
        try:
            restores.offer(service)
            ready(running)
            tasks = [
                asyncio.create_task(each)
                for each in (_watch_stalls(running.front.meter), _return_memory(), _warm(lifecycle))
            ]
            await lifecycle.wait()
            if lifecycle.is_over:
                await _drain(running, lifecycle)
                for each in sockets:
                    each.close()
                await running.http.last_call()
            for task in tasks:
                task.cancel()
        finally:
            if lifecycle.is_over:
                for each in sockets:
                    each.close()
            await _stop(running)
    finally:
        service.store.close()


async def _reopen(
    settings: Settings, background: Background, sockets: list[socket.socket], exchange: Exchange
) -> Service:
    """Exchanges the files and opens the new ones, while clients are asked to retry."""
    maintenance = HTTPServer(
        MaintenanceResponder(), max_header_size=CUT_HEAD_BYTES, max_body_size=settings.max_mail_bytes * 4
    )
    maintenance.add_sockets([each.dup() for each in sockets])
    try:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, lambda: _exchange_and_open(settings, background, exchange))
    finally:
        maintenance.stop()
        await maintenance.close_all_connections()


def _exchange_and_open(settings: Settings, background: Background, exchange: Exchange) -> Service:
    job_queue.begin_run()
    settings = settings.replace(clock_offset_seconds=0)  # the clock of this process has the offset already
    undo = exchange()
    try:
        return open_service(settings, background)
    except Exception as error:
        if undo is None:
            raise
        LOG.exception("restore.unusable")
        undo(error.message if isinstance(error, HelpdeskError) else str(error))
        return open_service(settings, background)


def _start(service: Service, sites: SiteMaker, sockets: list[socket.socket], background: Background) -> RunningService:
    settings = service.settings
    endpoints()
    members = Membership(service, settings.role)
    mail = MailListener(service, is_on=members.does_jobs)
    mail_listening.watch(service, mail)
    sending = Sending(service, max(settings.worker_threads // 2, 1))
    courier = Courier(service)
    slots = settings.script_threads if members.does_jobs else 0
    scheduler = Scheduler(service, background.scripts, background.wake, slots=slots, stop_seconds=settings.stop_seconds)
    meter = Meter()
    watching = MonitoringSites(
        service, meter, lambda: scheduler.is_alive, lambda: scheduler.running, lambda: not front.is_leaving
    )
    front: Front = Front(service, {**watching.sites, **_sites(service, sites)}, settings.rest_errors_as_200, meter)
    http = Connections(
        front,
        idle_timeout=settings.idle_timeout_seconds,
        body_timeout=settings.body_timeout_seconds,
        max_header_size=CUT_HEAD_BYTES,
        max_body_size=settings.max_mail_bytes * 4,
    )
    _follow_others(service, members)
    members.start()
    http.add_sockets(sockets)
    scheduler.start()
    members.can_lead = lambda: members.does_jobs and scheduler.is_alive
    mail.start()
    if members.does_jobs:
        courier.start()
    if gc.get_freeze_count():  # after a restart in the same process: let the old objects be collected
        gc.unfreeze()
        gc.collect()
    gc.freeze()  # these objects stay; scanning them repeatedly costs a tenth of every request
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()
    url = local_url(settings)
    return RunningService(service, front, http, scheduler, background.scripts, mail, sending, courier, members, url)


def _sites(service: Service, sites: SiteMaker) -> dict[str, Site]:
    """Returns the sites that this process serves, by path, except those for operators."""
    if service.settings.role == WORKER:
        return {"/": WorkerSite()}
    rest = RestSite(service)
    api = {"/rest/": rest, OPENAPI_PATH: OpenApiSite(service), WEBHOOKS_PREFIX: WebhookSite(service)}
    api[SCIM_PATH] = ScimSite(service)
    api[MCP_PATH] = McpSite(service, rest.rate)
    return {**api, **oauth.sites(service), **sites(service)}


def _follow_others(service: Service, members: Membership) -> None:
    """Subscribes to announcements of other processes of the database and applies their changes."""
    if not service.store.is_shared:
        return
    if "base_url" not in service.settings.sources:
        LOG.warning("base_url.differs", base_url=service.base_url, advice="set one base_url for all processes")
    types = ProcessCaches(service)
    members.on_beat += [types.renew, lambda: mail_listening.follow(service)]
    for what in (LIVE_SETTINGS, custom_types.CHANGED):
        service.hearing[what] = lambda text: members.look()
    service.hearing[presence.HERE] = lambda text: presence.hear(service, text)
    service.hearing[model_calls.CANCEL] = lambda text: model_calls.hear(service, text)
    service.hearing[stopping.STOP] = lambda text: stopping.hear(service, text)
    service.hearing[verdict.LOOKED] = lambda text: verdict.forget(service)
    service.registry.renew = types.renew
    service.store.on_announced = service.hear


async def _drain(running: RunningService, lifecycle: Lifecycle) -> None:
    """Keeps serving for `stop_grace_seconds`, while telling load balancers to use other processes."""
    running.front.is_leaving = True
    seconds = running.service.settings.stop_grace_seconds
    if seconds:
        LOG.info("leaving", seconds=seconds)
        await lifecycle.grace(seconds)


async def _watch_stalls(meter: Meter) -> None:
    """Logs stalls of the event loop, which delay every request. Also flushes the log."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + STALL_CHECK_SECONDS
        log.flush()
        await asyncio.sleep(STALL_CHECK_SECONDS)
        late = loop.time() - due
        if late > STALL_SECONDS:
            meter.stalled(late)
            LOG.warning("loop.stalled", seconds=round(late, 2))


async def _return_memory() -> None:
    """Returns memory that the C library caches to the system, from time to time."""
    while True:
        await asyncio.sleep(TRIM_SECONDS)
        await asyncio.to_thread(memory.trim)


async def _warm(lifecycle: Lifecycle) -> None:
    """Prepares what the first response did not need, before a request waits for it."""
    await asyncio.sleep(WARM_AFTER_SECONDS)
    await asyncio.get_running_loop().run_in_executor(None, warming.warm, lambda: lifecycle.is_over)
    gc.freeze()


async def _stop(running: RunningService) -> None:
    """Stops accepting connections and jobs, and finishes running ones within `stop_seconds`. The caller closes the
    store."""
    LOG.info("stopping")
    running.http.stop()
    model_calls.stop(running.service)
    seconds, loop = running.service.settings.stop_seconds, asyncio.get_running_loop()
    await asyncio.gather(
        running.front.drain(seconds),
        loop.run_in_executor(None, running.mail.stop, seconds),
        loop.run_in_executor(None, running.scheduler.stop),
        loop.run_in_executor(None, running.courier.stop),
        loop.run_in_executor(None, running.sending.stop, max(seconds - 2 * END_SECONDS, 0)),  # the rest to end
    )
    running.scripts.shutdown(wait=False, cancel_futures=True)
    with contextlib.suppress(HelpdeskError):  # the disk may be full
        await loop.run_in_executor(None, assistant_calls.write_calls, running.service, clock.now())
    await loop.run_in_executor(None, running.members.stop)
    await running.http.close_all_connections()


def bind(settings: Settings) -> list[socket.socket]:
    """Binds the sockets of the port. Raises Unavailable if that fails."""
    try:
        return tcp_sockets(settings.host, settings.port)
    except OSError as error:
        raise Unavailable(
            f"port {settings.port} of {settings.host} cannot be opened ({error.strerror or error}); "
            "choose another with --port, or 0 for any free one"
        ) from error


def _bind_unix(path: str) -> list[socket.socket]:
    """Binds the socket of a path, none for "". Raises Unavailable."""
    try:
        return [unix_socket(path)] if path else []
    except (OSError, ValueError) as error:
        raise Unavailable(
            f"http_socket {path} cannot be opened ({getattr(error, 'strerror', None) or error}); choose another path, "
            "in a folder that this account may write"
        ) from error


def _stop_on_signals(lifecycle: Lifecycle) -> None:
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGINT"):
        try:
            loop.add_signal_handler(getattr(signal, name), lifecycle.stop)
        except NotImplementedError:  # Windows has no signal handlers on the loop
            signal.signal(getattr(signal, name), lambda *_: loop.call_soon_threadsafe(lifecycle.stop))


def _read_settings_on_hangup(reload: Callable[[], Settings]) -> None:
    """Applies the log level of the new settings at SIGHUP. All others need a restart; invalid settings are ignored."""

    def read() -> None:
        try:
            settings = reload()
        except HelpdeskError as error:
            LOG.error("settings.refused", reason=error.message)
            return
        log.set_level(settings.log_level)
        LOG.warning("log.level", level=settings.log_level)  # a warning, so that most levels show it

    if hasattr(signal, "SIGHUP"):  # Windows has none
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, read)


def _logged(callback: Callable[[], None]) -> None:
    try:
        callback()
    except Exception:
        LOG.exception("after_commit.failed")


def local_url(settings: Settings) -> str:
    """Returns the address of the service on this machine."""
    return f"http://{_shown_host(settings.host)}:{settings.port}"


def _shown_host(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, f"[{host}]" if ":" in host else host)


def require_database(settings: Settings) -> Path | str:
    """Returns the database file of the data folder, or the address of the PostgreSQL database. Raises Damaged if there
    is no file, or a foreign one."""
    if settings.database:
        return str(settings.database)
    folder = Path(settings.data)
    path = folder / DATABASE
    if not path.exists():
        raise Damaged(f"there is no database in {folder}; start the server once, or choose another (--data)")
    schema.refuse_foreign(path)
    return path


def require_file(settings: Settings) -> Path:
    """Returns the database file, for backups. Raises Damaged, or Unavailable if the database is not a file."""
    place = require_database(settings)
    if isinstance(place, str):
        raise Unavailable(NO_FILE)
    return place


def check(settings: Settings) -> list[str]:
    """Lists the problems of the database of a data folder; [] if there are none. Reports and corrects wrong counts.
    Raises Damaged if it cannot be opened."""
    service = open_unchanged(settings)
    try:
        return problems_of(service) or recounted(service.store, all_tables(service.registry))
    finally:
        service.store.close()


def open_unchanged(settings: Settings) -> Service:
    """Opens the service on a database without adding or migrating anything, so it may lack what this version needs.
    Raises Damaged if it cannot be opened."""
    store = schema.opened(require_database(settings), read_seconds=3600)
    return Service(store, record_types.load(), settings, settings.base_url.rstrip("/"), "")


def problems_of(service: Service) -> list[str]:
    """Lists the problems of the database of a service; [] if there are none."""
    problems = damage(service)
    try:
        return problems + lacking(service)
    except (HelpdeskError, service.store.fault) as error:
        return problems or [str(error)]


def damage(service: Service) -> list[str]:
    """Lists the problems of the file itself, or of the connection to the database server."""
    try:
        return service.store.check()
    except (HelpdeskError, service.store.fault) as error:
        return [str(error)]


def lacking(service: Service) -> list[str]:
    """Lists what the database lacks for this version, including custom record types."""
    store, registry = service.store, service.registry
    problems = store.read(lambda tx: schema.problems(tx, all_tables(registry), registry.texts()))
    if problems == [schema.BEGUN] or "table custom_record is missing" in problems:
        return problems
    store.read(lambda tx: custom_types.load(tx, registry))
    return problems + store.read(lambda tx: schema.problems(tx, [each.table for each in registry.custom], []))
