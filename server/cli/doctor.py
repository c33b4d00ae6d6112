"""`helpdesk doctor`: checks everything that a working service needs, and advises on problems. A running service is
queried, so that both report the same."""

import argparse
import http.client
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server import app, clock, log
from server.cli import texts
from server.cli.arguments import command
from server.cli.opening import settings_of
from server.context import Service
from server.errors import HelpdeskError
from server.records import live_settings
from server.settings import BY_NAME, Settings
from server.store import lock
from server.store.schema import BEGUN
from server.upkeep import checkup, verdict
from server.upkeep.finding import Finding
from server.upkeep.verdict import Verdict
from server.web.monitoring import HEALTH, LOOK_NOW

DONE, FAILED = 0, 1
MAX_NAMED = 3
ANSWER_SECONDS = 60  # timeout of a server's health, which contacts mail servers first
OWN_PARTS = ("server", "data folder")  # checked by the command itself
MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


def declare(commands: Any) -> None:
    doctor = command(
        commands,
        "doctor",
        _run,
        "Check settings, data folder, server, database, disk, clock, base URL, mail, jobs and "
        "backups, and say how to fix problems. Changes nothing. Exits with 1 if there is a "
        "problem; warnings do not count.",
    )
    doctor.add_argument("--json", action="store_true", help="as JSON: a list of {part, state, found, advice}")
    doctor.add_argument("--config", metavar="FILE", help="settings file (helpdesk.toml in the data folder)")


def _run(options: argparse.Namespace) -> int:
    log.configure("error", "text")
    results = list(findings(lambda: settings_of(options)))
    judged = Verdict(tuple(results))
    if options.json:
        texts.put(texts.as_json([asdict(each) for each in results], indent=1) + "\n")
    else:
        texts.put("".join(f"{_shown(each)}\n" for each in results) + f"{judged.text}\n")
    return FAILED if judged.state == "problem" else DONE


def _shown(finding: Finding) -> str:
    line = f"{MARKS[finding.state]}  {finding.part}: {finding.found}"
    return f"{line}\n{' ' * 9}-> {finding.advice}" if finding.advice else line


def findings(settings_of: Callable[[], Settings]) -> Iterator[Finding]:
    """Yields all findings, in order. A problem is a finding, not an exception."""
    try:
        settings = settings_of()
    except HelpdeskError as error:
        yield Finding("settings", "problem", error.message, "correct it; nothing else was checked")
        return
    changed = [name for name, value in settings.given if value != BY_NAME[name].default]
    yield Finding("settings", "ok", f"not at their defaults: {', '.join(changed) or 'none'}")
    folder = Path(settings.data)
    if not folder.exists() and not settings.database:
        yield Finding("data folder", "ok", f"{folder} does not exist yet; the first start creates it")
        yield from _free_port(settings)
        return
    usable = list(_folder(folder))
    yield from usable
    if any(each.state == "problem" for each in usable):
        return
    is_running = lock.is_held(folder)
    address = lock.address(folder)
    if address:  # its port may be set by a flag
        settings = settings.replace(port=urlsplit(address).port or settings.port)
    server_findings: tuple[Finding, ...] = ()
    if is_running:
        health, server_findings = _server_health(address or app.local_url(settings))
        yield health
    else:
        yield from _free_port(settings)
    yield from _database(settings, server_findings)


def _folder(folder: Path) -> Iterator[Finding]:
    try:
        app.make_folder(folder)
    except HelpdeskError as error:
        yield Finding("data folder", "problem", error.message, "correct its permissions, or its owner")
        return
    yield from checkup.of_folder(folder)


def _free_port(settings: Settings) -> Iterator[Finding]:
    """Checks the port for the server that will run."""
    try:
        for each in app.bind(settings):
            each.close()
    except HelpdeskError as error:
        yield Finding(
            "server", "problem", f"no server runs on the folder; {error.message}", "free the port, or choose another"
        )
        return
    yield Finding("server", "ok", f"no server runs on the folder; port {settings.port} of {settings.host} is free")


def _server_health(address: str) -> tuple[Finding, tuple[Finding, ...]]:
    """Returns whether the running server is healthy, and its findings; () if it shows them only to others."""
    url = urlsplit(address)
    try:
        checks, server_findings = health_at(url.hostname or "", url.port or 0)
    except (OSError, http.client.HTTPException, ValueError, TypeError) as error:
        return Finding(
            "server",
            "warning",
            f"a server runs on the folder and does not respond at {url.geturl()}: {error}",
            "run this command with the settings of the server (--config, HELPDESK_PORT and so on), or see its log",
        ), ()
    failing = [name for name, is_well in checks.items() if not is_well]
    if failing:
        says = f"the server at {url.geturl()} reports: not {', '.join(failing)}"
        return Finding("server", "problem", says, "see the findings below, and its log"), server_findings
    return Finding("server", "ok", f"the server at {url.geturl()} works"), server_findings


def health_at(host: str, port: int) -> tuple[dict[str, bool], tuple[Finding, ...]]:
    """Returns the vital checks of a server, {check: passed}, and its findings; () if it shows them only to others.
    Raises OSError, HTTPException; ValueError, TypeError for another program."""
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", f"{HEALTH}?{LOOK_NOW}")
        body = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    checks = body.get("checks") if isinstance(body, dict) else None
    if not isinstance(checks, dict):
        raise ValueError("another program responds there")
    findings = tuple(Finding(**each) for each in body.get("findings", ()))
    return {str(name): bool(value) for name, value in checks.items()}, findings


def _database(settings: Settings, server_findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yields findings about the database and its content. server_findings: those of the server that uses it."""
    path = Path(settings.data) / app.DATABASE
    if not settings.database and not path.exists():
        yield Finding("database", "ok", "there is no database yet; the first start creates it")
        yield from checkup.of_disk(settings)
        yield from checkup.of_base_url(settings)
        return
    try:
        service = app.open_unchanged(settings)
    except HelpdeskError as error:
        advice = "" if settings.database else "restore a backup: helpdesk restore FILE"
        yield Finding("database", "problem", error.message, advice)
        return
    try:
        if settings.database and service.store.read(lambda tx: tx.store.is_empty(tx)):
            yield Finding("database", "ok", f"{service.store.place} is empty; the first start fills it")
            return
        damage = app.damage(service)
        lacking = [] if damage else app.lacking(service)
        if damage or lacking:
            yield _not_as_it_should_be(service, damage, lacking)
            return
        yield _sound(service)
        if server_findings:
            yield from (each for each in server_findings if each.part not in OWN_PARTS)
            return
        live_settings.apply(service)
        yield from (each for each in verdict.at_rest(service, clock.now()).findings if each.part not in OWN_PARTS)
    except HelpdeskError as error:
        yield Finding("database", "problem", error.message, "check whether other commands use it, and try again")
    finally:
        service.store.close()


def _sound(service: Service) -> Finding:
    store, state = service.store, service.store.server_state()
    size = f"{store.sizes()[0] // checkup.MIB:,} MiB"
    if state is None:
        return Finding("database", "ok", f"sound, {size}")
    summary = f"{store.place}: PostgreSQL {state.version}, {state.encoding}, citext {state.extension}, {size}"
    return Finding("database", "ok", summary)


def _not_as_it_should_be(service: Service, damage: list[str], lacking: list[str]) -> Finding:
    if lacking == [BEGUN]:
        return Finding("database", "problem", BEGUN)
    if damage and service.store.path is None:
        return Finding("database", "problem", _first(damage), "check whether PostgreSQL is running, and see its log")
    if damage:
        return Finding("database", "problem", _first(damage), "restore a backup: helpdesk restore FILE")
    return Finding(
        "database",
        "warning",
        f"it is from an older version: {_first(lacking)}",
        "start the server, which adds what is missing; checks that depend on it were skipped",
    )


def _first(items: list[str]) -> str:
    more = f" and {len(items) - MAX_NAMED} more" if len(items) > MAX_NAMED else ""
    return "; ".join(items[:MAX_NAMED]) + more
