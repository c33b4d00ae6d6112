"""`helpdesk worker` and `helpdesk token`: create workers and tokens from the shell."""

import argparse
import getpass
import sys
from typing import Any

from server import passwords
from server.apps import app_tokens
from server.cli.arguments import command, group
from server.cli.opening import with_database, with_service
from server.context import Context
from server.first_start import setup
from server.people import groups
from server.records import records
from server.sign_in import invitations, provider_sign_in, sign_in_administration
from server.sign_in.invitations import InvitedPeople


def declare(commands: Any) -> None:
    worker = group(commands, "worker", "Workers: the people who answer tickets.")
    create = command(worker, "create", _create_worker, about="Create a worker; prints the id.")
    create.add_argument("--email", required=True, metavar="E", help="email address, also used to sign in")
    create.add_argument("--first-name", required=True, metavar="F", help="given name")
    create.add_argument("--last-name", default="", metavar="L", help="family name")
    create.add_argument("--admin", action="store_true", help="make the worker an administrator")
    create.add_argument(
        "--password-file",
        metavar="F",
        help="file whose first line is the password; - prompts for it. Without this, the worker "
        "cannot sign in with a password",
    )
    recover = command(
        worker,
        "recover",
        _recover_worker,
        "Restore access for a worker who cannot sign in, such as the only administrator: "
        "reactivate them, remove their second factor with all passkeys, forget failed attempts, and print a link "
        "to choose a password. It works once, for three days.",
        about="Print a link for a worker who cannot sign in.",
    )
    recover.add_argument("--email", required=True, metavar="E", help="the worker's sign-in address")
    recover.add_argument("--admin", action="store_true", help="make the worker an administrator")
    link = command(
        worker,
        "sign-in-link",
        _sign_in_link,
        "Print a link that signs a worker in once, within 15 minutes: the way back when workers sign in with a "
        "provider only, and it is down or misconfigured. The code of a second factor is still asked for.",
        about="Print a link that signs a worker in once.",
    )
    link.add_argument("email", metavar="EMAIL", help="the worker's sign-in address")
    invite = command(
        worker,
        "invite",
        _invite_worker,
        "Invite somebody to become a worker: print a link on which they enter their name and password. It works once, "
        "for seven days.",
        about="Print a link that invites a new worker.",
    )
    invite.add_argument("--email", required=True, metavar="E", help="the address that they will sign in with")
    invite.add_argument("--admin", action="store_true", help="they become an administrator")
    invite.add_argument("--group", action="append", default=[], metavar="NAME", help="group to join; may be repeated")
    invite.add_argument("--language", default="en_US", metavar="L", help="locale of their account (en_US)")
    token = group(commands, "token", "Access tokens for the REST API.")
    create = command(token, "create", _create_token, about="Create an access token; prints the token and nothing else.")
    create.add_argument("--worker", required=True, metavar="EMAIL", help="the worker that requests act as")
    create.add_argument("--app", default="", metavar="NAME", help=f"OAuth app ({app_tokens.APP_NAME})")
    create.add_argument("--scope", default="api", help="scopes of the app, separated by spaces (api)")
    create.add_argument("--expires", default="1 hour", metavar="TIME", help="such as '30 days' or 2027-01-31 (1 hour)")


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
    worker = with_service(options, lambda ctx: records.create(ctx, "worker", fields))
    print(worker["id"])


def _recover_worker(options: argparse.Namespace) -> None:
    def work(ctx: Context) -> str:
        path = sign_in_administration.recover(ctx, app_tokens.worker_with_email(ctx, options.email), options.admin)
        return (ctx.service.store.read(setup.served_at) or ctx.service.base_url) + path

    print(with_database(options, work))


def _sign_in_link(options: argparse.Namespace) -> None:
    def work(ctx: Context) -> str:
        path = provider_sign_in.create_link(ctx, app_tokens.worker_with_email(ctx, options.email))
        return (ctx.service.store.read(setup.served_at) or ctx.service.base_url) + path

    print(with_database(options, work))


def _invite_worker(options: argparse.Namespace) -> None:
    def work(ctx: Context) -> str:
        ids = tuple(groups.group_named(ctx, name) for name in options.group)
        people = InvitedPeople((options.email.strip().lower(),), options.language, ids, options.admin)
        [invitation] = invitations.invite(ctx, people, by_mail=False)
        base_url = ctx.service.store.read(setup.served_at) or ctx.service.base_url
        return invitation.link.replace(ctx.service.base_url, base_url, 1)

    print(with_database(options, work))


def _password(source: str) -> str:
    if source == "-":
        return getpass.getpass("Password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    return passwords.from_file(source)


def _create_token(options: argparse.Namespace) -> None:
    def work(ctx: Context) -> str:
        worker_id = app_tokens.worker_with_email(ctx, options.worker)
        app_id = app_tokens.app_named(ctx, options.app) if options.app else 0
        tokens = app_tokens.create(
            ctx, worker_id, app_id, options.scope, options.expires, "command line", is_renewable=False
        )
        return tokens.access_token

    print(with_database(options, work))
