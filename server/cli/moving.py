"""`helpdesk migrate-database`: copies the database of a data folder into PostgreSQL, or back into a file.
store/moving.py does the copying."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from server import app, log
from server.cli.arguments import command
from server.cli.opening import require_unused, settings_of
from server.cli.progress import Progress
from server.context import Service
from server.errors import Conflict, Damaged, Invalid
from server.records import service_settings
from server.settings import Settings, is_address, value_of, without_password
from server.store import copying, lock, moving, schema
from server.store.database import Store
from server.store.moving import Amount, Moved, Mover
from server.store.transaction import Transaction

MIB = 1024 * 1024
ROWS_A_SECOND, BYTES_A_SECOND = 12_000, 20 * MIB  # measured on two slow cores that run both databases
QUERY_SECONDS = 24 * 3600  # timeout of a statement, such as an index of a large table


def declare(commands: Any) -> None:
    move = command(
        commands,
        "migrate-database",
        _migrate,
        "Copy the whole database to PostgreSQL, or from there to a new file, and compare all "
        "rows at the end. No server may use it in the meantime; the command first estimates how "
        "long that takes. The source is not changed. Run the same command again to resume an "
        "interrupted copy; nothing uses the copy before it is complete.",
    )
    move.add_argument(
        "--to",
        required=True,
        metavar="TARGET",
        help="postgresql://USER@HOST/NAME of an empty database, or the path of a new file",
    )
    move.add_argument(
        "--estimate", action="store_true", help="only show how much data there is and about how long it takes"
    )
    move.add_argument("--config", metavar="FILE", help="settings file (helpdesk.toml in the data folder)")


def _migrate(options: argparse.Namespace) -> None:
    settings = settings_of(options)
    log.configure("error", settings.log_format)
    with _source(settings, may_be_used=options.estimate) as service:
        into = _target(options.to, settings)
        print(f"from {service.store.place}\nto   {_shown(into)}", file=sys.stderr)
        if options.estimate:
            print(_estimated(service.store.read(lambda tx: _amount(service, tx), seconds=QUERY_SECONDS)))
            return
        done = _into(into, service)
    _print_result(done, into)


# -- source and target
# --------------------------------------------------------------------------------------------------


@contextmanager
def _source(settings: Settings, may_be_used: bool) -> Iterator[Service]:
    """Opens the source of the copy. Raises Damaged if a server uses it, or if it does not have this version's
    schema."""
    folder_lock = lock.FolderLock(Path(settings.data))
    where = app.require_database(settings)
    if isinstance(where, Path) and not may_be_used:
        folder_lock.take()
    try:
        service = app.open_unchanged(settings)
        try:
            lacking = app.lacking(service) or _not_migrated(service)
            if lacking:
                raise Damaged(
                    f"{service.store.place} is not as this version needs it: {lacking[0]}. Start the server "
                    "once, which adds what is missing, and stop it again"
                )
            if not may_be_used:
                require_unused(service)
            yield service
        finally:
            service.store.close()
    finally:
        folder_lock.release()


def _not_migrated(service: Service) -> list[str]:
    due, _ = service.store.read(schema.due_migrations)
    return [f"{name} was not run" for name, _ in due]


def _target(to: str, settings: Settings) -> Path | str:
    """Returns the target: the path of a new file, or the address of a database. Raises Invalid, Conflict."""
    if is_address(to):
        return str(value_of("database", to))
    if not settings.database:
        raise Invalid(
            "--to is not an address of a PostgreSQL database, such as postgresql://helpdesk@db.example/helpdesk; "
            "from one file to another there is `helpdesk backup`"
        )
    path = Path(to)
    if path.is_dir():
        raise Invalid(f"{path} is a folder; enter a file in it, such as {path / app.DATABASE}")
    if path.exists():
        raise Conflict(f"{path} already exists and is not overwritten; choose another name or remove it")
    if not path.parent.is_dir():
        raise Invalid(f"there is no folder {path.parent}; create it first")
    return path


def _into(target: Path | str, service: Service) -> Moved:
    part = target.with_name(target.name + copying.PART) if isinstance(target, Path) else target
    into = schema.opened(part, read_seconds=QUERY_SECONDS)
    try:
        into.claim()
        done = _copied(service, into)
    finally:
        into.close()
    if isinstance(target, Path) and isinstance(part, Path):
        part.chmod(0o600)
        copying.sync(part)
        copying.give_name(part, target)
        part.unlink(missing_ok=True)
        copying.sync(target.parent)
        into.disclaim()
    return done


def _copied(service: Service, into: Store) -> Moved:
    source, output = service.store, Progress()
    name = str(source.read(lambda tx: service_settings.get(tx, "installation", ""))) or source.place
    mover = Mover(source, into, app.all_tables(service.registry), _custom(service), service.registry.texts(), name)
    connection = source.begin()  # there are no writes until the end
    try:
        reading = source.transaction(connection, can_write=False)
        output.say(_estimated(_amount(service, reading)))
        if mover.was_begun:
            output.say("resuming an earlier copy")
        copying_rows: list[Progress] = []

        def progress(done: int, total: int) -> None:
            if not copying_rows:  # measures the rate from here on
                copying_rows.append(Progress())
            copying_rows[0].show(done, total)

        return mover.run(reading, progress, output.say)
    finally:
        output.end()
        connection.execute("ROLLBACK")


def _custom(service: Service) -> list[Any]:
    return [each.table for each in service.registry.custom]


# -- output -----------------------------------------------------------------------------------------------------------


def _amount(service: Service, tx: Transaction) -> Amount:
    size, beside = service.store.sizes()
    return Amount(moving.count_all(tx, app.all_tables(service.registry), _custom(service)), size + beside)


def _estimated(amount: Amount) -> str:
    """
    >>> _estimated(Amount({"ticket": 1_200_000}, 3 * 1024 * MIB))
    '1,200,000 rows in 1 tables, 3,072.0 MiB: no server may run for about 5 minutes'
    """
    seconds = amount.total / ROWS_A_SECOND + amount.bytes / BYTES_A_SECOND
    minutes = max(round(seconds / 60 + 0.5), 1)
    spoken = f"{minutes} minute{'' if minutes == 1 else 's'}" if minutes < 120 else f"{minutes / 60:.0f} hours"
    there = f"{amount.total:,} rows in {len(amount.rows)} tables, {amount.bytes / MIB:,.1f} MiB"
    return f"{there}: no server may run for about {spoken}"


def _shown(into: Path | str) -> str:
    return str(into) if isinstance(into, Path) else without_password(into)


def _print_result(done: Moved, into: Path | str) -> None:
    print(f"{done.rows:,} rows of {done.tables} tables are in {_shown(into)} and identical to the source")
    for name, number in done.replaced.items():
        print(f"{number:,} NUL characters in {name}, which PostgreSQL keeps none of, are U+FFFD now")
    print("the search index is filled while the server runs, newest records first")
    if isinstance(into, Path):
        print(f"leave `database` empty from now on, and put the file into the data folder as {app.DATABASE}")
    else:
        print(
            "set `database` to this address before you start the server: the old file still exists "
            "and would be used otherwise"
        )
