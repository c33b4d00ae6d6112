"""Facts about the service and its queues in words, and a report of them for support."""

import platform
import sys
from collections.abc import Mapping
from pathlib import Path

import tornado

from server.context import Context, Service
from server.errors import HelpdeskError
from server.quantities import bytes_text, duration
from server.settings import BUILD, VERSION
from server.store.server_state import ServerState
from server.translation import N_, Words, _
from server.upkeep import backups, health
from server.upkeep.health import Backlog, Watch

Fact = tuple[Words, str]  # label, value
# The numbers of a Backlog: name, label.
WAITING: tuple[tuple[str, Words], ...] = (
    ("jobs_due", N_("Jobs due")),
    ("jobs_later", N_("Jobs scheduled for later")),
    ("jobs_failed", N_("Failed jobs")),
    ("mail_queued", N_("Emails to send")),
    ("mail_failing", N_("Emails being retried")),
    ("mail_parked", N_("Emails without a mail transport")),
    ("mail_held", N_("Emails waiting for their server")),
    ("mail_given_up", N_("Emails given up")),
    ("queue_messages", N_("Messages in queues")),
)


def facts(ctx: Context, watch: Watch) -> list[Fact]:
    """Returns versions, sizes and numbers. Raises AdminOnly."""
    database = health.database(ctx)
    free_bytes = watch.look(health.TRUSTED_SECONDS).free_bytes
    return [
        (N_("Version"), f"{VERSION}, build {BUILD}"),
        ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        (database.product, database.version),
        ("Tornado", tornado.version),
        (N_("Distribution"), _("executable") if getattr(sys, "frozen", False) else _("source or package")),
        (N_("Database"), bytes_text(database.bytes)),
        *([(N_("Write-ahead log"), bytes_text(database.log_bytes))] if database.is_file else []),
        *_server_facts(database.server),
        (
            N_("Free on its disk") if database.is_file else N_("Free on the disk of the data folder"),
            bytes_text(free_bytes),
        ),
        (N_("Waiting writes"), str(database.writes_waiting)),
        (N_("Uptime"), duration(ctx.now - watch.started_at)),
    ]


def _server_facts(server: ServerState | None) -> list[Fact]:
    """Numbers of the server of the database."""
    if server is None:
        return []
    behind = [each.seconds for each in server.replicas if each.seconds is not None]
    replicas = (
        _("{count}, at most {seconds} s behind", count=len(server.replicas), seconds=f"{max(behind):.1f}")
        if behind
        else str(len(server.replicas))
    )
    return [
        (N_("Latency to the database"), f"{server.seconds * 1000:.1f} ms"),
        (N_("Database connections"), _("{count} of {most}", count=server.connections, most=server.most)),
        (N_("Replicas"), replicas),
    ]


def report(known: list[Fact], checks: Mapping[str, bool], backlog: Backlog) -> str:
    """Returns a report for support: figures, without names, addresses or paths. checks: of Health."""
    lines = [*known, *((name, "ok" if is_well else "FAILING") for name, is_well in checks.items())]
    lines += [(label, str(getattr(backlog, name))) for name, label in WAITING]
    return "\n".join(f"{name}: {value}" for name, value in lines)


def storage(service: Service) -> dict[str, int]:
    """Returns {part of the storage: bytes}: `records` with their indexes, `files`, `backups` if they are known, and
    what is `free`."""
    settings = service.settings
    whole, files = health.stored_bytes(service)
    parts = {"records": max(whole - files, 0), "files": files, "free": health.free_bytes(Path(settings.data))}
    if settings.backup_folder and service.store.path is not None:
        try:
            parts["backups"] = sum(each.bytes for each in backups.list_all_backups(settings))
        except HelpdeskError:  # their own page says why
            parts["backups"] = 0
    return parts
