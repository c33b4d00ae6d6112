"""Whether a service is set up well, part by part, with what to do where it is not. What follows from all of it is said
by verdict.py. What has to do with the processes of a machine, such as ports, is looked at by `helpdesk doctor`."""

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
from server.settings import BUILD, LOOPBACK, Settings
from server.store import fulltext
from server.store.tables import table_named
from server.upkeep import backups, database_check, health
from server.upkeep.checkup_mail import of_mail
from server.upkeep.finding import Ask, Finding, at_once
from server.upkeep.health import MIB

OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO
LATE_SECONDS = 900  # that a job may have been due before something must be wrong
AHEAD_SECONDS = 300  # that a message may lie in the future, as those of clocks that are a little off
LARGE_LOG_BYTES = 512 * MIB  # of the write-ahead log; it is folded back at about 32 MiB
FEW_WORKERS = 3  # signed in from one address before that is odd: two may share a desk


def of_service(service: Service, now: int, ask: Ask = at_once) -> Iterator[Finding]:
    """Everything that can be told of a database and its settings, and of the service where one runs. now: Unix seconds.
    ask: how mail servers and names are looked at. Source: ours."""
    running = list(of_running(service))
    yield from running
    yield from _guarded("data folder", of_folder(Path(service.settings.data)))
    yield from _guarded("disk", of_disk(service.settings))
    yield from _guarded("base URL", of_base_url(service.settings, ask))
    if any(each.state == "problem" and each.part == "database" for each in running):
        return  # there is nothing to be read
    yield from _guarded("database", of_database(service, now))
    yield from _guarded("clock", of_clock(service, now))
    yield from _guarded("clients", of_clients(service, now))
    yield from _guarded("mail", of_mail(service, now, ask))
    yield from _guarded("jobs", of_jobs(service, now))
    yield from _guarded("backups", of_backups(service, now))


def _guarded(part: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """What cannot be looked at is a finding, too: of all times this must be able to tell then."""
    try:
        yield from findings
    except (HelpdeskError, OSError) as error:
        yield Finding(part, "problem", f"it cannot be looked at: {error}", "see the log of the service")


def of_running(service: Service) -> Iterator[Finding]:
    """The vital parts of a service that runs; nothing for one that does not."""
    watch = health.WATCH.get(service.store)
    if watch is None:
        return
    checks = watch.look(health.RECENT_SECONDS).checks()
    failing = [name for name in VITAL if not checks[name]]
    for name in failing:
        part, found, advice = VITAL[name]
        yield Finding(part, "problem", found, advice)
    if not failing:
        yield Finding("server", "ok", "it reads, writes and does what is due")


# The vital parts when they fail: (part, what is wrong, what to do). The room on the disk is told by of_disk.
VITAL = {
    "database_readable": ("database", "it cannot be read", "see the log; start the service again, or restore a backup"),
    "database_writable": ("database", "it cannot be written", "see whether the disk is full, or the file is read-only"),
    "files_in_place": ("database", "its files are not in their folder", "put back what was moved, or restore a backup"),
    "scheduler_alive": ("server", "its scheduler does not run", "see the log of the service, and start it again"),
}


def of_folder(folder: Path) -> Iterator[Finding]:
    """Who may read the data folder, where its modes tell."""
    files = () if os.name == "nt" else (folder, *folder.glob("helpdesk.db*"))
    open_ones = [path for path in files if path.stat().st_mode & OPEN_TO_OTHERS]
    if open_ones:
        names = ", ".join(str(path) for path in open_ones)
        yield Finding(
            "data folder", "warning", f"other users of this machine may read {names}", f"chmod -R go= {folder}"
        )
    else:
        yield Finding("data folder", "ok", f"{folder}, for its owner alone")


def of_disk(settings: Settings) -> Iterator[Finding]:
    """Room on the disk of the data folder: for the service, and for a copy of the database."""
    folder = Path(settings.data)
    free = health.free_bytes(folder)
    told = f"{free // MIB:,} MiB are free on the disk of {folder}"
    size = sum(path.stat().st_size for path in folder.glob("helpdesk.db*"))
    if free < settings.disk_free_mib * MIB:
        yield Finding(
            "disk", "problem", told, f"free some: less than {settings.disk_free_mib} MiB (disk_free_mib) is too little"
        )
    elif free < 2 * size:
        yield Finding("disk", "warning", f"{told}, and the database takes {size // MIB:,} MiB",
                      "free some: a new version may copy the database before it changes it")  # fmt: skip
    else:
        yield Finding("disk", "ok", told)


def of_database(service: Service, now: int) -> Iterator[Finding]:
    """What shows without reading all of it: the indexes of the search for words, and the write-ahead log."""
    texts = service.registry.texts()
    wrong = service.store.read(lambda tx: [each for text in texts for each in fulltext.problems(tx, text)])
    for each in wrong:
        yield Finding("search index", "problem", each, "restore a backup; `helpdesk check` tells what else is wrong")
    if not wrong:
        yield Finding("search index", "ok", f"all {len(texts)} can be read")
    damage = database_check.found(service)
    if damage is not None and damage.problems:
        yield Finding("database", "problem", f"damaged: {damage.problems[0]}", "restore a backup")
    log = service.store.path.with_name(f"{service.store.path.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > LARGE_LOG_BYTES:
        yield Finding("write-ahead log", "warning", f"it has {size // MIB:,} MiB, so something has read for long",
                      "wait for the end of backups and exports; if it stays, start the server again")  # fmt: skip


def of_clock(service: Service, now: int) -> Iterator[Finding]:
    """Whether the clock can be right: not before this version was made, nor before the newest message."""
    shown = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    jump = clock_watch.last_jump(service)
    if jump is not None:
        way = "ahead" if jump.by > 0 else "back"
        told = f"it is {shown} here, and the clock was set {way} by {abs(jump.by):,} seconds"
        yield Finding("clock", "warning", told, "see whether it is right now; nothing old is deleted for an hour")
        return
    if time.strftime("%Y%m%d", time.gmtime(now)) < str(BUILD)[:8]:
        yield Finding("clock", "problem", f"it is {shown} here, before this version was made", "set the clock")
        return
    message = table_named("message")
    newest = service.store.read(lambda tx: tx.value(
        lambda: message.select(message.c.created).order_by(message.c.id.desc()).limit(1)
    ))  # fmt: skip
    if newest and newest > now + AHEAD_SECONDS:
        yield Finding("clock", "warning", f"it is {shown} here, and the newest message is {newest - now:,} seconds "
                      "newer", "see whether the clock is right; what is dated later waits until then")  # fmt: skip
        return
    yield Finding("clock", "ok", f"it is {shown}")


def of_base_url(settings: Settings, ask: Ask = at_once) -> Iterator[Finding]:
    """The address in links and mail: whether others can follow it, and safely."""
    parts = urlsplit(settings.base_url)
    host = parts.hostname or ""
    is_given = bool(dict(settings.given)["base_url"])
    if not is_given and settings.host not in LOOPBACK:
        yield Finding("base URL", "warning", f"it is not set, so links lead to {settings.base_url}",
                      "set base_url to the address that others reach this service by")  # fmt: skip
        return
    if host in LOOPBACK:
        yield Finding("base URL", "ok", f"links lead to {settings.base_url}, for this machine alone")
        return
    wrong = ask(("host", host), lambda: _not_found(host))
    if wrong:
        yield Finding("base URL", "problem", wrong, "correct base_url, or the name in DNS")
        return
    if parts.scheme != "https":
        yield Finding(
            "base URL",
            "warning",
            f"the way to {settings.base_url} is not encrypted: passwords and tokens can be read on it",
            "put a proxy that speaks https before it, and set base_url to https://...",
        )
    elif not settings.trusted_proxies:
        yield Finding("base URL", "warning", f"a proxy must speak {settings.base_url}, and none is trusted",
                      "set trusted_proxies to its address, so that the addresses of clients are known")  # fmt: skip
    else:
        yield Finding("base URL", "ok", f"links lead to {settings.base_url}")


def _not_found(host: str) -> str:
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        return f"the name {host} cannot be found ({error.strerror or error})"
    return ""


def of_clients(service: Service, now: int) -> Iterator[Finding]:
    """Whether workers come from different addresses. Behind a proxy that is not trusted all come from its address: what
    one of them gets wrong holds up the others."""
    if service.settings.trusted_proxies:
        return
    clients, workers = service.store.read(lambda tx: sessions.origins(tx, now))
    if len(clients) == 1 and len(workers) >= FEW_WORKERS and _is_private(clients[0]):
        yield Finding("clients", "warning", f"{len(workers)} workers are signed in, all from {clients[0]}, as if a "
                      "proxy stood before the service, and none is trusted",
                      "set trusted_proxies to the proxy's address: else attempts to sign in, and large requests, are "
                      "counted for all together")  # fmt: skip


def _is_private(client: str) -> bool:
    try:
        return ipaddress.ip_address(client).is_private
    except ValueError:
        return False


def of_jobs(service: Service, now: int) -> Iterator[Finding]:
    """Whether what is due is done."""
    waiting = service.store.read(lambda tx: health.backlog(tx, now))
    is_late = waiting.oldest_job_seconds > LATE_SECONDS
    if is_late:
        yield Finding(
            "jobs",
            "warning",
            f"{waiting.jobs_due:,} jobs are due, the first for {waiting.oldest_job_seconds:,} seconds",
            "start the server; when it runs, its log tells why",
        )
    if waiting.jobs_failed:
        yield Finding("jobs", "warning", f"{waiting.jobs_failed:,} jobs failed too often and are no longer tried",
                      "the log tells why; correct that and have them run again")  # fmt: skip
    if waiting.mail_parked:
        yield Finding("mail", "problem", f"{_emails(waiting.mail_parked)} waiting, as the sender has no mail transport",
                      "choose a default mail transport in the console, under Mail, or one for the address")  # fmt: skip
    if waiting.mail_failing:
        yield Finding("mail", "warning", f"{waiting.mail_failing:,} of {waiting.mail_queued:,} mails could not be sent "
                      "so far", "look at the error on their drafts")  # fmt: skip
    if not (waiting.jobs_failed or waiting.mail_parked or waiting.mail_failing) and not is_late:
        jobs = waiting.jobs_due + waiting.jobs_later
        yield Finding("jobs", "ok", f"{jobs:,} jobs and {waiting.mail_queued:,} mails wait")


def _emails(count: int) -> str:
    """
    >>> _emails(1), _emails(1200)
    ('1 email is', '1,200 emails are')
    """
    return "1 email is" if count == 1 else f"{count:,} emails are"


def of_backups(service: Service, now: int) -> Iterator[Finding]:
    """Whether there are backups, new enough, sound and on another disk."""
    settings = service.settings
    if not settings.backup_folder:
        yield Finding("backups", "warning", "the service makes none", "set them up under Backups")
        return
    folder = Path(settings.backup_folder)
    try:
        newest, looks = backups.newest(settings), backups.seen(service)
    except HelpdeskError as error:
        yield Finding("backups", "problem", error.message, "correct backup_folder or its permissions")
        return
    if newest is None:
        yield Finding("backups", "problem", f"there is none in {folder}", "start the server, and see its log for why")
    elif newest.at < now - 2 * settings.backup_hours * backups.HOUR_SECONDS:
        shown = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(newest.at))
        yield Finding("backups", "problem", f"the newest is of {shown}", "see the log for why there is no newer one")
    elif newest.path.name in looks and looks[newest.path.name].problem:
        yield Finding(
            "backups",
            "problem",
            f"the newest, {newest.path.name}, is of no use: {looks[newest.path.name].problem}",
            "see what `helpdesk check` tells of the database",
        )
    elif folder.stat().st_dev == Path(settings.data).stat().st_dev:
        yield Finding("backups", "warning", f"{folder} is on the disk of the data folder and would be lost with it",
                      "choose a folder on another disk, or copy them elsewhere")  # fmt: skip
    else:
        yield Finding("backups", "ok", f"the newest is {newest.path.name}, {newest.bytes // MIB:,} MiB")
