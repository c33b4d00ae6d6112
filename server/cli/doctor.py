"""`helpdesk doctor`: looks at everything that a working service needs, and says what to do about what is wrong."""

import argparse
import http.client
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server import app, clock, log
from server.cli import texts
from server.cli.arguments import command
from server.cli.opening import settings_of
from server.desk import checkup, live_settings
from server.desk.checkup import Finding
from server.errors import HelpdeskError
from server.settings import BY_NAME, Settings
from server.store import lock
from server.web.watching import HEALTH

DONE, FAILED = 0, 1
MOST_TOLD = 3
ANSWER_SECONDS = 5  # that a server has to say how it is
MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}
OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def declare(commands: Any) -> None:
    """Declare the command."""
    doctor = command(
        commands, "doctor", _run,
        "Look at settings, data folder, server, database, disk, clock, base URL, mail, jobs and backups, and say what "
        "to do about what is wrong. Changes nothing. Ends with 1 when there is a problem; warnings alone are none.",
    )  # fmt: skip
    doctor.add_argument("--json", action="store_true", help="as JSON: a list of {part, state, found, advice}")
    doctor.add_argument("--config", metavar="FILE", help="settings file (helpdesk.toml in the data folder)")


def _run(options: argparse.Namespace) -> int:
    log.configure("error", "text")
    found = list(findings(lambda: settings_of(options)))
    if options.json:
        texts.put(texts.as_json([asdict(each) for each in found], indent=1) + "\n")
    else:
        texts.put("".join(f"{_shown(each)}\n" for each in found))
    return FAILED if any(each.state == "problem" for each in found) else DONE


def _shown(finding: Finding) -> str:
    line = f"{MARKS[finding.state]}  {finding.part}: {finding.found}"
    return f"{line}\n{' ' * 9}-> {finding.advice}" if finding.advice else line


def findings(settings_of: Callable[[], Settings]) -> Iterator[Finding]:
    """All findings, in order. Raises nothing for what is wrong: that is a finding. Source: ours."""
    try:
        settings = settings_of()
    except HelpdeskError as error:
        yield Finding("settings", "problem", error.message, "correct it; nothing else was looked at")
        return
    changed = [name for name, value in settings.given if value != BY_NAME[name].default]
    yield Finding("settings", "ok", f"not at their defaults: {', '.join(changed) or 'none'}")
    folder = Path(settings.data)
    if not folder.exists():
        yield Finding("data folder", "ok", f"{folder} is not there yet; the first start makes it")
        yield from _server(settings, is_running=False)
        return
    usable = list(_folder(folder))
    yield from usable
    if any(each.state == "problem" for each in usable):
        return
    is_running = lock.is_held(folder)
    address = lock.address(folder)
    if address:  # its port may be a flag of its own
        settings = settings.replace(port=urlsplit(address).port or settings.port)
    yield from _server(settings, is_running, address)
    yield from _database(settings)


def _folder(folder: Path) -> Iterator[Finding]:
    try:
        app.make_folder(folder)
    except HelpdeskError as error:
        yield Finding("data folder", "problem", error.message, "correct its permissions, or its owner")
        return
    files = () if os.name == "nt" else (folder, *folder.glob(f"{app.DATABASE}*"))  # where modes say nothing
    open_ones = [path for path in files if path.stat().st_mode & OPEN_TO_OTHERS]
    if open_ones:
        names = ", ".join(str(path) for path in open_ones)
        yield Finding("data folder", "warning", f"other users of this machine may read {names}",
                      f"chmod -R go= {folder}")  # fmt: skip
    else:
        yield Finding("data folder", "ok", f"{folder}, for its owner alone")


def _server(settings: Settings, is_running: bool, address: str = "") -> Iterator[Finding]:
    """The port: that of the server that runs, or free for the one that will. address: where the one that runs listens,
    "" when that is not known."""
    if is_running:
        yield _answer(address or app.local_url(settings))
        return
    try:
        for each in app.bind(settings):
            each.close()
    except HelpdeskError as error:
        yield Finding("server", "problem", f"none runs on the folder; {error.message}", "free the port, or choose "
                      "another")  # fmt: skip
        return
    yield Finding("server", "ok", f"none runs on the folder; port {settings.port} of {settings.host} is free")


def _answer(address: str) -> Finding:
    """What the running server says of itself."""
    url = urlsplit(address)
    try:
        told = health_at(url.hostname or "", url.port or 0)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Finding("server", "warning", f"one runs on the folder and does not answer at {url.geturl()}: {error}",
                       "give this command the settings of the server (--config, HELPDESK_PORT and so on), or look into "
                       "its log")  # fmt: skip
    failing = [name for name, is_well in told.items() if not is_well]
    if failing:
        return Finding("server", "problem", f"the one at {url.geturl()} says: not {', '.join(failing)}",
                       "see the findings below, and its log")  # fmt: skip
    return Finding("server", "ok", f"the one at {url.geturl()} is well")


def health_at(host: str, port: int) -> dict[str, bool]:
    """{check: whether it is well} of a server. Raises OSError, HTTPException, ValueError for another program."""
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", HEALTH)
        told = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    checks = told.get("checks") if isinstance(told, dict) else None
    if not isinstance(checks, dict):
        raise ValueError("another program answers there")
    return {str(name): bool(value) for name, value in checks.items()}


def _database(settings: Settings) -> Iterator[Finding]:
    path = Path(settings.data) / app.DATABASE
    if not path.exists():
        yield Finding("database", "ok", "there is none yet; the first start makes it")
        yield from checkup.of_disk(settings)
        yield from checkup.of_base_url(settings)
        return
    try:
        service = app.open_unchanged(settings)
    except HelpdeskError as error:
        yield Finding("database", "problem", error.message, "restore a backup: helpdesk restore FILE")
        return
    try:
        damage = app.damage(service)
        lacking = [] if damage else app.lacking(service)
        if damage or lacking:
            yield _not_as_it_should_be(damage, lacking)
            return
        yield Finding("database", "ok", f"sound, {path.stat().st_size // checkup.MIB:,} MiB")
        live_settings.apply(service)
        yield from checkup.of_service(service, clock.now())
    except HelpdeskError as error:
        yield Finding("database", "problem", error.message, "see whether other commands use it, and try again")
    finally:
        service.store.close()


def _not_as_it_should_be(damage: list[str], lacking: list[str]) -> Finding:
    if damage:
        return Finding("database", "problem", _first(damage), "restore a backup: helpdesk restore FILE")
    return Finding("database", "warning", f"it is of an older version: {_first(lacking)}",
                   "start the server, which adds what is missing; what depends on it was not looked at")  # fmt: skip


def _first(listed: list[str]) -> str:
    more = f" and {len(listed) - MOST_TOLD} more" if len(listed) > MOST_TOLD else ""
    return "; ".join(listed[:MOST_TOLD]) + more
