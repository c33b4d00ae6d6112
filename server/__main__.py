"""The command line: thin over the functions that the API uses too. Answers go to stdout, everything else to stderr.

Exit codes: 0 done, 1 refused or failed, 2 the command line itself is wrong."""

import argparse
import getpass
import os
import platform
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import tornado

from console import site
from server import app, log, passwords
from server.access.own import command_context, own_context
from server.cli import (
    api,
    automation,
    backup,
    completion,
    describe,
    doctor,
    export,
    kata,
    licenses,
    mail,
    packages,
    script,
)
from server.cli.arguments import command
from server.cli.describe import description as description  # build/reference.py finds it here
from server.desk import app_tokens, first_start, records
from server.errors import Conflict, HelpdeskError
from server.settings import BUILD, VERSION, Settings, help_rows, load

DONE, FAILED, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; answers its exit code."""
    options, unknown = parser().parse_known_args(_with_command(sys.argv[1:] if arguments is None else arguments))
    if unknown:
        options.refuse(f"unrecognized arguments: {' '.join(unknown)}")  # with the usage of the command that was meant
    try:
        return int(options.run(options) or DONE)
    except HelpdeskError as error:
        print(f"helpdesk: {error.message}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _with_command(arguments: Sequence[str]) -> Sequence[str]:
    """Without a command the server is started; flags are its own then."""
    is_serve = not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version"))
    return ["serve", *arguments] if is_serve else arguments


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="helpdesk",
        description="Answers support mail as tickets, with a REST API. All data is one file in one folder.",
        epilog="Without a command the server is started. Settings: flags, then HELPDESK_* variables, then "
        "helpdesk.toml in the data folder, then what was set in the console. "
        "`helpdesk settings` lists them.",
    )
    made_of = f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, Tornado {tornado.version}"
    top.add_argument("--version", action="version", version=f"helpdesk {VERSION} ({BUILD}), {made_of}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    _serve_command(commands)
    _worker_command(commands)
    _token_command(commands)
    mail.declare(commands, _with_service)
    export.declare(commands, _with_database)
    kata.declare(commands)
    script.declare(commands)
    automation.declare(commands)
    packages.declare(commands, _with_service)
    backup.declare(commands, _settings_of)
    doctor.declare(commands, _settings_of)
    completion.declare(commands, parser)
    api.declare(commands)
    describe.declare(commands)
    licenses.declare(commands)
    _simple_commands(commands)
    return top


def _serve_command(commands: Any) -> None:
    serve = command(commands, "serve", "Start the server.", _serve)
    serve.add_argument("--host", help="address to listen on (127.0.0.1)")
    serve.add_argument("--port", help="port to listen on, 0 for any free one (8200)")
    serve.add_argument("--base-url", metavar="URL", help="the address that others reach this service by")
    serve.add_argument("--no-open", action="store_true", help="do not open the set-up link in a browser")
    serve.add_argument("--config", metavar="FILE", help="settings file (helpdesk.toml in the data folder)")


def _worker_command(commands: Any) -> None:
    worker = commands.add_parser("worker", help="Workers.", description="Workers: the people who answer.")
    group = worker.add_subparsers(metavar="ACTION", required=True)
    create = command(group, "create", "Create a worker; prints the id.", _create_worker)
    create.add_argument("--email", required=True, metavar="E", help="mail address, also the name to sign in with")
    create.add_argument("--first-name", required=True, metavar="F", help="given name")
    create.add_argument("--last-name", default="", metavar="L", help="family name")
    create.add_argument("--admin", action="store_true", help="make the worker an administrator")
    create.add_argument(
        "--password-file", metavar="F", help="file whose first line is the password; - asks for it. Without one the "
        "worker cannot sign in with a password"
    )  # fmt: skip


def _token_command(commands: Any) -> None:
    token = commands.add_parser("token", help="Access tokens.", description="Access tokens for the REST API.")
    group = token.add_subparsers(metavar="ACTION", required=True)
    create = command(group, "create", "Create an access token; prints the token and nothing else.", _create_token)
    create.add_argument("--worker", required=True, metavar="EMAIL", help="the worker that requests act as")
    create.add_argument("--app", default="", metavar="NAME", help=f"OAuth app ({first_start.APP_NAME})")
    create.add_argument("--scope", default="api", help="scopes of the app, with spaces between (api)")
    create.add_argument("--expires", default="1 hour", metavar="TIME", help="such as '30 days' or 2027-01-31 (1 hour)")


def _simple_commands(commands: Any) -> None:
    command(commands, "setup-link", "Print a new set-up link, for a service without administrator.", _setup_link)
    command(commands, "check", "Check the database: integrity, indexes, schema.", _check)
    command(commands, "settings", "List the settings, their defaults and what they mean.", _settings)


def _settings_of(options: argparse.Namespace) -> Settings:
    flags: dict[str, str | None] = {}
    for name in ("data", "host", "port", "base_url", "config"):
        value = getattr(options, name, None)
        if value is not None:
            flags[name] = value
    if getattr(options, "no_open", False):
        flags["open_browser"] = "no"
    return load(flags, os.environ)


def _serve(options: argparse.Namespace) -> None:
    settings = _settings_of(options)
    log.configure(settings.log_level, settings.log_format)
    app.serve(settings, site.sites, lambda running: _announce(running, settings), lambda: _settings_of(options))


def _announce(running: app.Running, settings: Settings) -> None:
    print(f"listening on {running.url}", flush=True)
    path = first_start.setup_path(own_context(running.service))
    first_start.note_address(own_context(running.service))
    print(f"console      {running.service.base_url}/", flush=True)
    if path is not None:
        link = running.service.base_url + path
        print(f"set-up link  {link}  (works once, within 30 minutes)", flush=True)
        if settings.open_browser and sys.stdout.isatty() and has_display():
            webbrowser.open(link)
    for url in running.mail.urls:
        print(f"mail         {url}", flush=True)
    print(f"api          {running.service.base_url}/rest", flush=True)
    print(f"data         {Path(settings.data).absolute()}  (helpdesk {VERSION})", flush=True)


def has_display() -> bool:
    """Whether a browser has somewhere to open: elsewhere one for terminals would take over this one."""
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _setup_link(options: argparse.Namespace) -> None:
    def work(ctx: Any) -> str:
        path = first_start.setup_path(ctx)
        if path is None:
            raise Conflict("the service has an administrator; sign in, or let that one make a link for you")
        return (ctx.service.store.read(first_start.served_at) or ctx.service.base_url) + path

    print(_with_database(options, work))


def _with_database(options: argparse.Namespace, work: Any) -> Any:
    """The same as _with_service for what means nothing on a new database: a slip in --data makes none."""
    app.require_database(Path(_settings_of(options).data))
    return _with_service(options, work)


def _with_service(options: argparse.Namespace, work: Any) -> Any:
    """Run `work(ctx)` on the database of the data folder, whether or not a server runs on it."""
    settings = _settings_of(options)
    log.configure("warning", settings.log_format)
    service = app.open_service(settings)
    try:
        return work(command_context(service))
    finally:
        service.store.close()


def _create_worker(options: argparse.Namespace) -> None:
    fields = {
        "email": options.email,
        "first_name": options.first_name,
        "last_name": options.last_name,
        "is_superuser": "1" if options.admin else "0",
        "language": "en_US",
        "timezone": "UTC",
    }
    if options.password_file is not None:
        fields["password"] = _password(options.password_file)
    found = _with_service(options, lambda ctx: records.create(ctx, "worker", fields))
    print(found["id"])


def _password(source: str) -> str:
    if source == "-":
        return getpass.getpass("Password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    return passwords.from_file(source)


def _create_token(options: argparse.Namespace) -> None:
    def work(ctx: Any) -> str:
        worker_id = app_tokens.worker_with_email(ctx, options.worker)
        app_id = app_tokens.app_named(ctx, options.app) if options.app else 0
        made = app_tokens.create(
            ctx, worker_id, app_id, options.scope, options.expires, "command line", is_renewable=False
        )
        return made.access_token

    print(_with_database(options, work))


def _check(options: argparse.Namespace) -> int:
    problems = app.check(_settings_of(options))
    for problem in problems:
        print(problem)
    if not problems:
        print("the database is sound")
    return FAILED if problems else DONE


def _settings(options: argparse.Namespace) -> None:
    for row in help_rows():
        print(f"{row['name']} = {row['default']}")
        print(f"    {row['help']}")


if __name__ == "__main__":
    sys.exit(main())
