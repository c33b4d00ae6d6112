"""Imports a package: questions are answered first, then everything is made in one transaction, or nothing."""

from typing import Any

from server.context import Context
from server.packages import document as documents
from server.packages import requirements
from server.packages.document import Tree
from server.packages.making import ImportResult, make
from server.packages.preparing import ImportPlan, StaleIds
from server.store.transaction import Transaction

GENERATED = (
    "client_id",
    "client_secret",
    "secret",
    "url",
)  # keys of results that differ between an import and its dry run
ATTEMPTS = 3  # at preparing an import that others come before; the last one keeps its ids


class _DryRunEnd(Exception):
    """Ends the transaction of a dry run, which is undone."""

    def __init__(self, imported: ImportResult) -> None:
        super().__init__()
        self.imported = imported


def import_package(
    ctx: Context, value: Any, answers: Tree, *, dry_run: bool = False, grants_agreed: bool = False
) -> ImportResult:
    """Import a decoded package. answers: {prompt key: answer}. dry_run: tell what would be made, and undo it.
    grants_agreed: whether the importer agrees to what it lets people and programs do; else Required names it.

    Raises AdminOnly; Invalid, Conflict or TooLarge with the place of the problem, and then nothing was made. Source:
    Packages."""
    ctx.require_admin("import packages")
    document = documents.read(value)
    requirements.check(document)
    for attempt in range(ATTEMPTS):
        is_last = attempt == ATTEMPTS - 1
        prepared = ImportPlan(ctx, document, answers, grants_agreed or dry_run, keeps_ids=is_last)
        try:
            return _made(prepared, dry_run)
        except StaleIds:
            continue
    raise AssertionError("ids that are kept are not outdated")


def _made(prepared: ImportPlan, dry_run: bool) -> ImportResult:
    if not dry_run:
        return prepared.ctx.service.store.write(lambda tx: make(prepared, tx))
    try:
        prepared.ctx.service.store.write(lambda tx: _rehearse(prepared, tx))
    except _DryRunEnd as rehearsed:
        return rehearsed.imported
    raise AssertionError("a dry run always ends with its result")


def _rehearse(prepared: ImportPlan, tx: Transaction) -> None:
    """Make all of it, and then all of it is undone."""
    imported = make(prepared, tx)
    for of_type in imported.records.values():
        for each in of_type.values():
            for name in GENERATED:
                each.pop(name, None)
    raise _DryRunEnd(imported)
