"""Small packages for tests, and their results."""

from typing import Any

from server.packages.package_import import ImportResult, import_package
from tests import databases
from tests.records.desk import Desk

Tree = dict[str, Any]
TASK = "svc.contexts.task"


def package(*records: Tree, prompts: Any = (), placeholders: Any = (), requires: Any = None, **sections: Any) -> Tree:
    """Returns a package of these records and sections."""
    configure = {"prompts": list(prompts), "placeholders": list(placeholders)}
    about = {"name": "Parcel", "revision": 1, "requires": requires or {}, "configure": configure}
    return {"package": about, "records": list(records), **sections}


def task(uid: str = "one", title: Any = "Count", **fields: Any) -> Tree:
    """Returns an entry that creates a task."""
    return {"uid": uid, "_context": "task", "title": title, **fields}


def bring(desk: Desk, value: Any, by: int = 0, **answers: Any) -> ImportResult:
    """Imports a package, as the service or a worker."""
    return import_package(desk.context(by), value, answers, grants_agreed=True)


def title(desk: Desk, text: str, *, prompts: Any = (), placeholders: Any = (), **answers: Any) -> str:
    """Returns the rendered form of a text in a package."""
    made = bring(desk, package(task(title=text), prompts=prompts, placeholders=placeholders), **answers)
    return str(desk.row("task", made.records[TASK]["one"]["id"])["title"])


def without_new_ids(records: dict[str, Any]) -> dict[str, Any]:
    """Returns the records without ids on PostgreSQL, which does not reuse the ids of a dry run that was rolled back."""
    if not databases.is_postgresql():
        return records
    return {kind: {uid: {**each, "id": 0} for uid, each in made.items()} for kind, made in records.items()}


def counts(desk: Desk) -> dict[str, int]:
    """Returns {table: rows} of the whole database."""

    def read(tx: Any) -> dict[str, int]:
        names = databases.tables(tx.connection)
        return {name: tx.connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0][0] for name in names}

    return desk.read(read)
