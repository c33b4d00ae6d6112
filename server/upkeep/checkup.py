"""Checks each part of a service and gives advice for problems. verdict.py combines the findings. `helpdesk doctor`
checks what concerns the processes of a machine, such as ports."""

import ipaddress
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from server.access import sessions
from server.context import Service
from server.errors import HelpdeskError
from server.jobs import clock_watch
from server.jobs.scheduler import last_scans
from server.settings import BUILD, LOOPBACK, Settings
from server.store import fulltext
from server.store.server_state import ServerState
from server.store.tables import table_named
from server.translation import N_, lazy_gettext
from server.upkeep import backups, database_check, health
from server.upkeep.checkup_automations import of_bindings
from server.upkeep.checkup_connections import of_connections
from server.upkeep.checkup_mail import of_mail
from server.upkeep.finding import Ask, Finding, at_once
from server.upkeep.health import MIB

OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO
LATE_SECONDS = 900  # allowed delay of a job
AHEAD_SECONDS = 300  # allowed for messages from the future, because of inexact clocks
LARGE_LOG_BYTES = 512 * MIB  # allowed size of the write-ahead log, which is checkpointed at about 32 MiB
FAR_SECONDS = 0.005  # allowed round trip to the database server
MOST_USED = 0.8  # allowed share of the server's connections in use
LONG_TURN_SECONDS = 5  # allowed for one transaction that writes
BEHIND_SECONDS = 60  # allowed lag of a replica
FAILED_RUNS = 3  # failures of a periodic task in a row before it is a problem
FEW_WORKERS = 3  # workers signed in from one address that are suspicious; two may share a desk


def of_service(service: Service, now: int, ask: Ask = at_once) -> Iterator[Finding]:
    """Checks the database, its settings, and the service if one runs. now: Unix seconds. ask: contacts mail servers and
    resolves names."""
    running = list(of_running(service))
    yield from running
    yield from _guarded("data folder", of_folder(Path(service.settings.data)))
    yield from _guarded("disk", of_disk(service.settings))
    yield from _guarded("base URL", of_base_url(service.settings, ask))
    if any(each.state == "problem" and each.part == "database" for each in running):
        return  # nothing else can be read
    yield from _guarded("database", of_database(service, now))
    yield from _guarded("clock", of_clock(service, now))
    yield from _guarded("clients", of_clients(service, now))
    yield from _guarded("mail", of_mail(service, now, ask))
    yield from _guarded("connections", of_connections(service, now))
    yield from _guarded("automations", of_bindings(service))
    yield from _guarded("jobs", of_jobs(service, now))
    yield from _guarded("jobs", of_scans(service))
    yield from _guarded("backups", of_backups(service, now))


def _guarded(part: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Reports a failing check as a finding: the check-up must work when everything else does not."""
    try:
        yield from findings
    except (HelpdeskError, OSError) as error:
        yield Finding(
            part,
            "problem",
            lazy_gettext("this check failed: {error}", error=error),
            N_("see the log of the service"),
        )


def of_running(service: Service) -> Iterator[Finding]:
    """Checks the vital parts of a running service; yields nothing if none runs."""
    watch = health.WATCH.get(service.store)
    if watch is None:
        return
    checks = watch.look(health.RECENT_SECONDS).checks()
    vital = VITAL if service.store.path is not None else VITAL | VITAL_OF_SERVER
    failing = [name for name in vital if not checks[name]]
    for name in failing:
        part, problem, advice = vital[name]
        yield Finding(part, "problem", problem, advice)
    if not failing:
        yield Finding(N_("server"), "ok", N_("reads, writes and runs due work"))


# {check of health.py: (part, problem, advice)}; of_disk reports the free space.
VITAL = {
    "database_readable": ("database", "it cannot be read", "see the log; restart the service, or restore a backup"),
    "database_writable": (
        "database",
        "it cannot be written",
        "check whether the disk is full or the file is read-only",
    ),
    "files_in_place": (
        "database",
        "its files are missing from their folder",
        "put the files back, or restore a backup",
    ),
    "takes_requests": ("server", "it is stopping", "wait until it restarts, or another process takes over"),
    "scheduler_alive": ("server", "its scheduler does not run", "see the log of the service, and restart it"),
}

VITAL_OF_SERVER = {
    "database_readable": (
        "database",
        "it cannot be read",
        N_("check whether PostgreSQL is running and reachable, and see the log"),
    ),
    "database_writable": (
        "database",
        "it cannot be written",
        N_("check whether PostgreSQL is a standby, or its disk is full"),
    ),
}


def of_folder(folder: Path) -> Iterator[Finding]:
    """Checks who can read the data folder, if its mode shows that."""
    files = () if os.name == "nt" else (folder, *folder.glob("helpdesk.db*"))
    open_ones = [path for path in files if path.stat().st_mode & OPEN_TO_OTHERS]
    if open_ones:
        names = ", ".join(str(path) for path in open_ones)
        yield Finding(
            N_("data folder"),
            "warning",
            lazy_gettext("other users of this machine can read {names}", names=names),
            lazy_gettext("chmod -R go= {folder}", folder=folder),
        )
    else:
        yield Finding(N_("data folder"), "ok", lazy_gettext("{folder}, readable only by its owner", folder=folder))


def of_disk(settings: Settings) -> Iterator[Finding]:
    """Checks the free space on the disk of the data folder, for the service and for a copy of the database."""
    folder = Path(settings.data)
    free = health.free_bytes(folder)
    shows = lazy_gettext("{MIB} MiB are free on the disk of {folder}", MIB=f"{free // MIB:,}", folder=folder)
    size = sum(path.stat().st_size for path in folder.glob("helpdesk.db*"))
    if free < settings.disk_free_mib * MIB:
        yield Finding(
            N_("disk"),
            "problem",
            shows,
            lazy_gettext(
                "free up space: less than {disk_free_mib} MiB (disk_free_mib) is too little",
                disk_free_mib=settings.disk_free_mib,
            ),
        )
    elif free < 2 * size:
        yield Finding(
            N_("disk"),
            "warning",
            lazy_gettext("{shows}, and the database takes up {MIB} MiB", shows=shows, MIB=f"{size // MIB:,}"),
            N_("free up space: a new version may copy the database before it changes it"),
        )
    else:
        yield Finding(N_("disk"), "ok", shows)


def of_database(service: Service, now: int) -> Iterator[Finding]:
    """Checks the full-text indexes and the write-ahead log, without reading the whole database."""
    texts = service.registry.texts()
    wrong = service.store.read(lambda tx: [each for text in texts for each in fulltext.problems(tx, text)])
    for each in wrong:
        yield Finding(
            N_("search index"), "problem", each, N_("restore a backup; `helpdesk check` shows what else is wrong")
        )
    if not wrong:
        yield Finding(N_("search index"), "ok", lazy_gettext("all {texts} can be read", texts=len(texts)))
    yield from of_server(service)
    damage = database_check.read_last(service)
    if damage is not None and damage.problems:
        yield Finding(
            N_("database"),
            "problem",
            lazy_gettext("damaged: {problems}", problems=damage.problems[0]),
            N_("restore a backup"),
        )
    _, size = service.store.sizes()
    if size > LARGE_LOG_BYTES:
        yield Finding(
            N_("write-ahead log"),
            "warning",
            lazy_gettext("it has {MIB} MiB, so something has been reading for a long time", MIB=f"{size // MIB:,}"),
            N_("wait for backups and exports to finish; if it stays that large, restart the server"),
        )


def of_server(service: Service) -> Iterator[Finding]:
    """Checks the server of a database that is not a file."""
    state = service.store.server_state()
    if state is None:
        return
    if not state.is_durable:
        yield Finding(
            N_("database"),
            "warning",
            N_("its fsync is off: if its machine crashes, acknowledged writes are lost"),
            N_("set fsync = on in postgresql.conf, unless this is a test server"),
        )
    wrong = list(_wrong_of_server(state))
    yield from wrong
    if not wrong:
        yield Finding(
            N_("database"),
            "ok",
            lazy_gettext(
                "PostgreSQL {version}, latency {ms} ms; {connections} of {most} connections; {replicas} replicas",
                version=state.version,
                ms=f"{state.seconds * 1000:.1f}",
                connections=state.connections,
                most=state.most,
                replicas=len(state.replicas),
            ),
        )


def _wrong_of_server(state: ServerState) -> Iterator[Finding]:
    if state.is_standby:
        yield Finding(
            N_("database"),
            "problem",
            N_("it is a standby, which accepts no writes"),
            N_("set database to the primary; with several hosts, add target_session_attrs=read-write"),
        )
    if state.seconds > FAR_SECONDS:
        yield Finding(
            N_("database"),
            "warning",
            lazy_gettext(
                "its latency is {ms} ms, and each request queries it several times", ms=f"{state.seconds * 1000:.1f}"
            ),
            N_("run it on the same network as the service"),
        )
    if state.connections > MOST_USED * state.most:
        yield Finding(
            N_("database"),
            "warning",
            lazy_gettext(
                "{connections} of {most} connections are in use", connections=state.connections, most=state.most
            ),
            N_("raise max_connections in postgresql.conf: each process of the service uses up to 43"),
        )
    if state.turn is not None and state.turn.seconds > LONG_TURN_SECONDS:
        yield Finding(
            N_("database"),
            "warning",
            lazy_gettext(
                "{holder} has held the write lock for {seconds} seconds, and {waiting} are waiting for it",
                holder=state.turn.holder,
                seconds=f"{state.turn.seconds:.0f}",
                waiting=state.turn.waiting,
            ),
            N_(
                "if it is an import or another large change, wait until it finishes; otherwise end it with "
                "pg_terminate_backend"
            ),
        )
    for replica in state.replicas:
        if replica.seconds is not None and replica.seconds > BEHIND_SECONDS:
            yield Finding(
                N_("database"),
                "warning",
                lazy_gettext(
                    "the replica {name} is {seconds} seconds behind",
                    name=replica.name,
                    seconds=f"{replica.seconds:.0f}",
                ),
                N_("check its log, its disk and the network to it; a failover would lose what it lacks"),
            )


def of_clock(service: Service, now: int) -> Iterator[Finding]:
    """Checks that the clock is plausible: later than the build of this version and than the newest message."""
    time_text = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    jump = clock_watch.last_jump(service)
    if jump is not None:
        way = "ahead" if jump.by > 0 else "back"
        shows = lazy_gettext(
            "it is {shown} here, and the clock was set {way} by {by} seconds",
            shown=time_text,
            way=way,
            by=f"{abs(jump.by):,}",
        )
        yield Finding(
            N_("clock"), "warning", shows, N_("check whether it is right now; nothing old is deleted for an hour")
        )
        return
    if time.strftime("%Y%m%d", time.gmtime(now)) < str(BUILD)[:8]:
        yield Finding(
            N_("clock"),
            "problem",
            lazy_gettext("it is {shown} here, which is before this version was built", shown=time_text),
            N_("set the clock"),
        )
        return
    message = table_named("message")
    newest = service.store.read(
        lambda tx: tx.value(lambda: message.select(message.c.created).order_by(message.c.id.desc()).limit(1))
    )
    if newest and newest > now + AHEAD_SECONDS:
        yield Finding(
            N_("clock"),
            "warning",
            lazy_gettext(
                "it is {shown} here, and the newest message is dated {now} seconds later",
                shown=time_text,
                now=f"{newest - now:,}",
            ),
            N_("check whether the clock is right; anything dated later waits until then"),
        )
        return
    yield Finding(N_("clock"), "ok", lazy_gettext("it is {shown}", shown=time_text))


def of_base_url(settings: Settings, ask: Ask = at_once) -> Iterator[Finding]:
    """Checks whether others can follow links in mail, and safely."""
    parts = urlsplit(settings.base_url)
    host = parts.hostname or ""
    is_given = bool(dict(settings.given)["base_url"])
    if not is_given and settings.host not in LOOPBACK:
        yield Finding(
            N_("base URL"),
            "warning",
            lazy_gettext("not set, so links lead to {base_url}", base_url=settings.base_url),
            N_("set base_url to the address that others reach this service by"),
        )
        return
    if host in LOOPBACK:
        yield Finding(
            N_("base URL"),
            "ok",
            lazy_gettext("links lead to {base_url}, which only this machine can reach", base_url=settings.base_url),
        )
        return
    wrong = ask(("host", host), lambda: _not_found(host))
    if wrong:
        yield Finding(N_("base URL"), "problem", wrong, N_("correct base_url, or the name in DNS"))
        return
    if parts.scheme != "https":
        yield Finding(
            N_("base URL"),
            "warning",
            lazy_gettext(
                "connections to {base_url} are not encrypted: passwords and tokens can be read on the way",
                base_url=settings.base_url,
            ),
            N_("put an https proxy in front of it, and set base_url to https://..."),
        )
    elif not settings.trusted_proxies:
        yield Finding(
            N_("base URL"),
            "warning",
            lazy_gettext("{base_url} needs a proxy, and no proxy is trusted", base_url=settings.base_url),
            N_("set trusted_proxies to its address, so that client addresses are known"),
        )
    else:
        yield Finding(N_("base URL"), "ok", lazy_gettext("links lead to {base_url}", base_url=settings.base_url))


def _not_found(host: str) -> str:
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        return f"the name {host} cannot be found ({error.strerror or error})"
    return ""


def of_clients(service: Service, now: int) -> Iterator[Finding]:
    """Checks whether workers come from different addresses. Behind an untrusted proxy all come from its address, and
    the failed attempts of one block the others."""
    if service.settings.trusted_proxies:
        return
    clients, workers = service.store.read(lambda tx: sessions.origins(tx, now))
    if len(clients) == 1 and len(workers) >= FEW_WORKERS and _is_private(clients[0]):
        yield Finding(
            N_("clients"),
            "warning",
            lazy_gettext(
                "{workers} workers are signed in, all from {clients}, as if there were a proxy in front of "
                "the service, and no proxy is trusted",
                workers=len(workers),
                clients=clients[0],
            ),
            N_(
                "set trusted_proxies to the proxy's address: otherwise the sign-in attempts and large "
                "requests of all clients are counted together"
            ),
        )


def _is_private(client: str) -> bool:
    try:
        return ipaddress.ip_address(client).is_private
    except ValueError:
        return False


def of_jobs(service: Service, now: int) -> Iterator[Finding]:
    """Checks whether due work is done."""
    waiting = service.store.read(lambda tx: health.backlog(tx, now))
    is_late = waiting.oldest_job_seconds > LATE_SECONDS
    if is_late:
        yield Finding(
            N_("jobs"),
            "warning",
            lazy_gettext(
                "{jobs_due} jobs are due, the oldest for {oldest_job_seconds} seconds",
                jobs_due=f"{waiting.jobs_due:,}",
                oldest_job_seconds=f"{waiting.oldest_job_seconds:,}",
            ),
            N_("start the server; if it is running, see its log"),
        )
    if waiting.jobs_failed:
        yield Finding(
            N_("jobs"),
            "warning",
            lazy_gettext(
                "{jobs_failed} jobs failed too often and are no longer retried", jobs_failed=f"{waiting.jobs_failed:,}"
            ),
            N_("see the log for the reason; fix it, then run them again"),
        )
    if waiting.mail_parked:
        yield Finding(
            N_("mail"),
            "problem",
            lazy_gettext(
                "{mail_parked} waiting: the sender has no mail transport", mail_parked=_emails(waiting.mail_parked)
            ),
            N_("choose a default mail transport in the console, under Mail, or one for the address"),
        )
    if waiting.mail_given_up:
        yield Finding(
            N_("mail"),
            "problem",
            lazy_gettext("{mail_given_up} given up", mail_given_up=_emails(waiting.mail_given_up)),
            N_("open Mail, Outbox in the console: correct the recipients and send them again, or drop them"),
        )
    if waiting.mail_failing:
        yield Finding(
            N_("mail"),
            "warning",
            lazy_gettext(
                "{mail_failing} of {mail_queued} emails could not be sent so far",
                mail_failing=f"{waiting.mail_failing:,}",
                mail_queued=f"{waiting.mail_queued:,}",
            ),
            N_("see the error on their drafts"),
        )
    has_trouble = waiting.jobs_failed or waiting.mail_parked or waiting.mail_failing or waiting.mail_given_up
    if not has_trouble and not is_late:
        jobs = waiting.jobs_due + waiting.jobs_later
        yield Finding(
            N_("jobs"),
            "ok",
            lazy_gettext(
                "{jobs} jobs and {mail_queued} emails are waiting",
                jobs=f"{jobs:,}",
                mail_queued=f"{waiting.mail_queued:,}",
            ),
        )


def of_scans(service: Service) -> Iterator[Finding]:
    """Reports periodic tasks that fail at every run."""
    for name, run in sorted(last_scans(service).items()):
        if run.failures >= FAILED_RUNS:
            yield Finding(
                N_("jobs"),
                "problem",
                lazy_gettext(
                    "the maintenance task '{name}' failed {failures} times in a row: {error}",
                    name=name,
                    failures=f"{run.failures:,}",
                    error=run.error,
                ),
                N_("see the service log for details; fix the cause, or report it with the lines of scan.failed"),
            )


def _emails(count: int) -> str:
    """
    >>> _emails(1), _emails(1200)
    ('1 email is', '1,200 emails are')
    """
    return N_("1 email is") if count == 1 else lazy_gettext("{count} emails are", count=f"{count:,}")


def of_backups(service: Service, now: int) -> Iterator[Finding]:
    """Checks whether there are backups, recent enough, sound and on another disk."""
    settings = service.settings
    if service.store.path is None:
        yield from _of_backups_elsewhere(service)
        return
    if not settings.backup_folder:
        yield Finding(N_("backups"), "warning", N_("the service creates none"), N_("set them up under Backups"))
        return
    folder = Path(settings.backup_folder)
    try:
        newest, checks = backups.newest(settings), backups.read_checks(service)
    except HelpdeskError as error:
        yield Finding(N_("backups"), "problem", error.message, N_("correct backup_folder or its permissions"))
        return
    if newest is None:
        yield Finding(
            N_("backups"),
            "problem",
            lazy_gettext("there is no backup in {folder}", folder=folder),
            N_("start the server, and see its log for the reason"),
        )
    elif newest.at < now - 2 * settings.backup_hours * backups.HOUR_SECONDS:
        time_text = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(newest.at))
        yield Finding(
            N_("backups"),
            "problem",
            lazy_gettext("the newest is from {shown}", shown=time_text),
            N_("see the log for the reason"),
        )
    elif newest.path.name in checks and checks[newest.path.name].problem:
        yield Finding(
            N_("backups"),
            "problem",
            lazy_gettext(
                "the newest, {name}, is unusable: {problem}",
                name=newest.path.name,
                problem=checks[newest.path.name].problem,
            ),
            N_("see what `helpdesk check` reports about the database"),
        )
    elif folder.stat().st_dev == Path(settings.data).stat().st_dev:
        yield Finding(
            N_("backups"),
            "warning",
            lazy_gettext("{folder} is on the disk of the data folder and would be lost with it", folder=folder),
            N_("choose a folder on another disk, or copy them elsewhere"),
        )
    else:
        yield Finding(
            N_("backups"),
            "ok",
            lazy_gettext("the newest is {name}, {MIB} MiB", name=newest.path.name, MIB=f"{newest.bytes // MIB:,}"),
        )


def _of_backups_elsewhere(service: Service) -> Iterator[Finding]:
    """Checks the backups of PostgreSQL, of which little is visible from here."""
    if service.settings.backup_folder:
        yield Finding(
            N_("backups"),
            "warning",
            N_("backup_folder has no effect: the data is in PostgreSQL"),
            N_("remove it, and back up there: with pg_dump, or with what the operator offers"),
        )
        return
    state = service.store.server_state()
    if state is not None and state.is_archiving:
        yield Finding(N_("backups"), "ok", N_("they are made in PostgreSQL, not here; its write-ahead log is archived"))
    else:
        yield Finding(
            N_("backups"), "ok", N_("they are made in PostgreSQL, not here; its write-ahead log is not archived")
        )
