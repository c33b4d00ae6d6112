"""Data folders with many tickets, created once and stored under .work/bench/; each run works on a copy.

The folders are named after their size and their tables (loading.key), so a change of the schema creates new ones.
`python -m tests.bench.keeping 100000` creates a missing folder and prints its path."""

import os
import shutil
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.loading import ADDRESS, key, load_tickets
from tests.bench.process import ROOT

SERVER = "BENCH_POSTGRESQL"  # environment variable with the address of the database that creates others
FOLDER = ROOT / ".work" / "bench"


def copy_of(count: int, *, fresh: bool = False) -> Path:
    """Returns a working copy of the stored data folder with `count` tickets, which is created if missing or `fresh`.

    If SERVER names a PostgreSQL server, the copy is one of its databases, which ADDRESS names from then on."""
    if SERVER in os.environ:
        return _database_of(os.environ[SERVER], count, fresh=fresh)
    work = FOLDER / f"run-{count}"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(folder_of(count, fresh=fresh), work)
    return work


def folder_of(count: int, *, fresh: bool = False) -> Path:
    """Returns the stored data folder with `count` tickets, created if missing or `fresh`; deletes older ones of that
    size."""
    kept = FOLDER / f"tickets-{count}-{key()}"
    if fresh or not kept.exists():
        for older in FOLDER.glob(f"tickets-{count}-*"):
            shutil.rmtree(older)
        half_done = kept.with_suffix(".part")
        half_done.mkdir(parents=True)
        _load(half_done, count)
        half_done.rename(kept)
    return kept


def _load(folder: Path, count: int) -> None:
    print(f"loading {count:,} tickets, once ...", end=" ", flush=True)
    began = time.perf_counter()
    load_tickets(folder, count)
    print(f"{time.perf_counter() - began:.0f} s", flush=True)


def _database_of(server: str, count: int, *, fresh: bool) -> Path:
    import psycopg  # only installed where PostgreSQL is measured

    kept, work = f"bench_{count}_{key()}", f"bench_run_{count}"
    folder = FOLDER / work
    folder.mkdir(parents=True, exist_ok=True)
    with psycopg.connect(server, autocommit=True) as connection:
        like = f"bench\\_{count}\\_%"
        found = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", (like,)).fetchall()
        older = [name for (name,) in found if name != kept or fresh]
        if fresh or (kept,) not in found:
            for name in older:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {kept}_part")
            os.environ[ADDRESS] = _address(server, f"{kept}_part")
            _load(folder, count)
            connection.execute(f"ALTER DATABASE {kept}_part RENAME TO {kept}")
        connection.execute(f"DROP DATABASE IF EXISTS {work} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {work} TEMPLATE {kept}")
    os.environ[ADDRESS] = _address(server, work)
    with psycopg.connect(os.environ[ADDRESS], autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    return folder


def _address(server: str, database: str) -> str:
    return urlsplit(server)._replace(path=f"/{database}").geturl()


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(folder_of(int(each)))
