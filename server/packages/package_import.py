"""Imports a package: checks the answers first, then creates everything in one transaction."""

from collections.abc import Sequence
from typing import Any

from server.context import Context
from server.errors import Conflict, Invalid
from server.packages import package_document as documents
from server.packages import requirements
from server.packages.baselines import CREATE, MODES, POLICIES, REFUSE, UPDATE
from server.packages.package_document import Tree
from server.packages.preparing import ImportPlan, StaleIds
from server.packages.record_creation import ImportResult, make

GENERATED = (
    "client_id",
    "client_secret",
    "secret",
    "url",
)  # keys of results that differ between an import and its dry run
ATTEMPTS = 3  # at preparing an import while other writes use its ids; the last attempt reserves them


def import_package(
    ctx: Context,
    value: Any,
    answers: Tree,
    *,
    dry_run: bool = False,
    grants_agreed: bool = False,
    mode: str = CREATE,
    conflicts: str = REFUSE,
) -> ImportResult:
    """Imports a decoded package. answers: {prompt key: answer}. dry_run: roll back and return what would be created.
    grants_agreed: whether the importer agrees to the grants of the package; Required names them otherwise.

    mode: CREATE creates new records. UPDATE changes the records of the last import of the package, matched by uid,
    reuses its answers where no new ones are passed, and creates missing records. conflicts: for fields that both the
    users and the package changed since: REFUSE, KEEP the stored value, or TAKE that of the package.

    Raises AdminOnly; Invalid, Conflict or TooLarge with the place of the problem, and nothing is created."""
    ctx.require_admin("import packages")
    _require_known(mode, MODES, "mode")
    _require_known(conflicts, POLICIES, "conflicts")
    document = documents.read(value)
    requirements.check(document)
    if mode == UPDATE and not document.name:
        raise documents.bad("package: name is missing: an update uses it to find the last import")
    for attempt in range(ATTEMPTS):
        prepared = ImportPlan(
            ctx,
            document,
            answers,
            grants_agreed or dry_run,
            keeps_ids=attempt == ATTEMPTS - 1,
            is_rehearsal=dry_run,
            mode=mode,
            conflicts=conflicts,
        )
        try:
            return _run(prepared, dry_run)
        except StaleIds:
            continue
    raise Conflict("records of the package were deleted while it was updated; nothing was changed: send it again")


def _require_known(value: str, options: Sequence[str], name: str) -> None:
    if value not in options:
        raise Invalid(f"{name}: takes {' or '.join(options)}, not '{value[:50]}'", field=name)


def _run(prepared: ImportPlan, dry_run: bool) -> ImportResult:
    store = prepared.ctx.service.store
    if not dry_run:
        return store.write(lambda tx: make(prepared, tx))
    imported = store.rehearse(lambda tx: make(prepared, tx))
    for of_type in imported.records.values():
        for each in of_type.values():
            for name in GENERATED:
                each.pop(name, None)
    return imported
