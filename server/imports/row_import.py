"""Turns rows of a table into new or changed records, written like records of the API.

A trial writes the rows one by one and rolls back, to find the mistakes in each. Cells are parsed and names looked up
beforehand on the caller's thread. A trial occupies the single writer for a few rows at a time. A file of up to
MAX_ATOMIC_ROWS is imported in one transaction, all rows or none; a larger one would block other writes too long, so its
rows are written in portions with a stored cursor, and refused rows are left out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, TypeVar

from server.access.actor import APP
from server.context import Context
from server.dataclass import dataclass
from server.digits import id_in
from server.errors import AmbiguousUpsert, Forbidden, HelpdeskError, Invalid, NotFound, Required, all_of
from server.imports import columns, import_cells, uploads
from server.imports.columns import ID, CsvMapping, CsvTarget
from server.imports.csv_rows import CsvRow, CsvTable
from server.imports.import_cells import NameFinder
from server.imports.uploads import CsvUpload
from server.record_types.record_type import RecordType
from server.record_types.shared import custom
from server.records import records
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import lazy_gettext, ngettext

Progress = Callable[[int, int], None]  # rows done, all rows
Written = TypeVar("Written")
PORTION = 50  # rows of a trial, or of the import of a large file, in one transaction, for which other writes wait
MAX_ATOMIC_ROWS = 5_000  # rows of a file that is imported in one transaction
SHOWN = 5  # records in the result of a trial
MAX_MISTAKES = 100  # mistakes in the result of one file


@dataclass(frozen=True, slots=True)
class RowMistake:
    """A mistake in a row. row: its number in the table. target: the target of the cell, "" for the row as a whole."""

    row: int
    target: str
    reason: str


@dataclass(frozen=True, slots=True)
class SentRow:
    """A row as sent to the API. key: identifies its record, "" for a new one."""

    number: int
    fields: dict[str, Any]
    key: str


@dataclass
class CsvResult:
    """The result: numbers of created and updated records, mistakes by row, and the first records as the API returns
    them. left: number of mistakes beyond those listed."""

    created: int = 0
    updated: int = 0
    mistakes: list[RowMistake] = field(default_factory=list)
    left: int = 0
    shown: list[dict[str, Any]] = field(default_factory=list)

    def summary(self, is_trial: bool = False) -> str:
        """The numbers of records in words."""
        if is_trial:
            created = ngettext("{count} record would be created.", "{count} records would be created.", self.created)
            updated = ngettext("{count} record would be updated.", "{count} records would be updated.", self.updated)
        else:
            created = ngettext("{count} record created.", "{count} records created.", self.created)
            updated = ngettext("{count} record updated.", "{count} records updated.", self.updated)
        return " ".join(text for count, text in ((self.created, created), (self.updated, updated)) if count)

    def add(self, row: int, error: HelpdeskError) -> None:
        for each in all_of(error):
            name = str(each.details.get("field") or "")
            if len(self.mistakes) == MAX_MISTAKES:
                self.left += 1
                return
            self.mistakes.append(RowMistake(row, name, each.message.removeprefix(f"{name}: ")))


class _RowRefused(Exception):
    """Ends the transaction of an import at a refused row."""

    def __init__(self, row: int, error: HelpdeskError) -> None:
        super().__init__()
        self.row, self.error = row, error


def attempt(
    ctx: Context,
    table: CsvTable,
    mapping: CsvMapping,
    expand: str = "_label",
    told: Progress = lambda done, total: None,
) -> CsvResult:
    """Tries an import row by row, and rolls it back.

    expand: keys to expand in the returned records. told: called with the number of rows done and of all rows. Rows are
    tried in portions: conflicts between rows of different portions appear only in the import. Raises Forbidden,
    NotFound, NotOffered; Invalid for an unsuitable mapping."""
    result = CsvResult()
    rows = prepared(ctx, table, mapping, result)
    writing = _Rows(replace(ctx, is_dry=True), mapping)
    for start in range(0, len(rows), PORTION):
        told(start, len(rows))
        _try(writing, rows[start : start + PORTION], result, expand)
    result.mistakes.sort(key=lambda each: each.row)
    return result


def run(
    ctx: Context,
    upload: CsvUpload | None,
    table: CsvTable,
    mapping: CsvMapping,
    told: Progress = lambda done, total: None,
    finish: Callable[[Transaction, CsvResult], None] | None = None,
    name: str = "",
) -> CsvResult:
    """Imports a file, once: all rows in one transaction, or none if the result has mistakes.

    upload: where the file is stored, None for one that is not. told: called with the number of rows done and of all
    rows. finish: stores the result in the same transaction; without it the upload is removed. name: of a file without
    upload. Raises Forbidden, NotFound, NotOffered; NotFound, too, if the file was imported already; Invalid for an
    unsuitable mapping."""
    result = CsvResult()
    rows = prepared(ctx, table, mapping, result)
    if result.mistakes:
        return result
    writing = _Rows(ctx, mapping)
    try:
        return ctx.service.store.write(lambda tx: _import(tx, writing, rows, upload, told, finish, name))
    except _RowRefused as refused:
        result.add(refused.row, refused.error)
        return result


@dataclass
class PortionedImport:
    """The import of a large file. cursor: number of the last row that is done. result: of the rows so far."""

    cursor: int = 0
    result: CsvResult = field(default_factory=CsvResult)

    def run(
        self,
        ctx: Context,
        name: str,
        table: CsvTable,
        mapping: CsvMapping,
        told: Progress,
        save: Callable[[Transaction, "PortionedImport"], None] = lambda tx, done: None,
    ) -> CsvResult:
        """Imports the rows after the cursor, PORTION of them in a transaction; leaves out refused rows and reports
        them.

        name: of the file. told: called with the number of rows done and of all rows. save: called in the transaction of
        each portion, so that an interrupted import continues after it. Raises as `run` of a file."""
        unfit = CsvResult()
        rows = prepared(ctx, table, mapping, unfit)
        reported = {(each.row, each.target, each.reason) for each in self.result.mistakes}
        _join(
            self.result,
            CsvResult(
                mistakes=[
                    each
                    for each in unfit.mistakes
                    if each.row > self.cursor and (each.row, each.target, each.reason) not in reported
                ],
                left=0 if self.cursor else unfit.left,
            ),
        )
        remaining = [row for row in rows if row.number > self.cursor]
        writing = _Rows(ctx, mapping)
        for start in range(0, len(remaining), PORTION):
            told(len(rows) - len(remaining) + start, len(rows))
            self._write(writing, remaining[start : start + PORTION], save)
        variables = {"file": name, "what": summary(writing.type, self.result)}
        ctx.service.store.write(lambda tx: RecordWriter(ctx, tx).log("data.imported", APP, 0, variables))
        self.result.mistakes.sort(key=lambda each: each.row)
        return self.result

    def _write(
        self, writing: "_Rows", rows: Sequence[SentRow], save: Callable[[Transaction, "PortionedImport"], None]
    ) -> None:
        def write(tx: Transaction, has_parts: bool) -> PortionedImport:
            one = CsvResult()
            for _id in _written(tx, writing, rows, one, has_parts):
                pass
            done = PortionedImport(rows[-1].number, replace(self.result, mistakes=list(self.result.mistakes)))
            _join(done.result, one)
            save(tx, done)
            return done

        done = _with_parts_if_refused(writing.ctx.service.store.write, write)
        self.cursor, self.result = done.cursor, done.result


def prepared(ctx: Context, table: CsvTable, mapping: CsvMapping, result: CsvResult) -> list[SentRow]:
    """The rows as they will be stored; adds mistakes of other rows to the result. Raises as `run`."""
    records.require(ctx, mapping.uri, "create")
    by_name = columns.targets(ctx, mapping.uri)
    columns.require(mapping, by_name, len(table.names))
    names = NameFinder(ctx)
    lines_by_key: dict[str, int] = {}
    rows: list[SentRow] = []
    for row in table.rows:
        try:
            sent = _sent(ctx, row, mapping, by_name, names)
            _require_first(sent, lines_by_key, mapping)
            rows.append(sent)
        except HelpdeskError as error:
            result.add(row.number, error)
    return rows


def _sent(ctx: Context, row: CsvRow, mapping: CsvMapping, by_name: dict[str, CsvTarget], names: NameFinder) -> SentRow:
    """Omits blank cells: a new record gets the defaults, an existing one stays unchanged."""
    if any(cell.strip() for cell in row.cells[len(mapping.names) :]):
        raise Invalid(f"has {len(row.cells)} cells, but the file has {len(mapping.names)} columns")
    texts = {
        name: cell.strip().replace("\r\n", "\n")
        for name, cell in zip(mapping.names, row.cells, strict=False)
        if name and cell.strip()
    }
    fields: dict[str, Any] = {}
    problems: list[Invalid] = []
    for name, text in texts.items():
        try:
            fields[name] = import_cells.sent(by_name[name], text, texts, names)
        except Invalid as error:
            problems.append(Invalid(error.message, field=name))
    if problems:
        problems[0].details["more"] = problems[1:]
        raise problems[0]
    fields.pop(ID, None)
    if not fields:
        raise Required("has no values")
    before = ctx.service.registry.type(mapping.uri).before(fields)
    return SentRow(row.number, before, texts.get(mapping.key, ""))


def _require_first(row: SentRow, lines_by_key: dict[str, int], mapping: CsvMapping) -> None:
    """Raises Invalid for a row about the same record as an earlier row."""
    if not row.key:
        return
    first = lines_by_key.setdefault(row.key.casefold(), row.number)
    if first != row.number:
        raise Invalid(f"'{row.key[:80]}' is already in row {first}", field=mapping.key)


class _Rows:
    """Writes rows of one mapping."""

    def __init__(self, ctx: Context, mapping: CsvMapping) -> None:
        self.ctx = ctx
        self.key = mapping.key
        self.type: RecordType = ctx.service.registry.type(mapping.uri)

    def write(self, tx: Transaction, row: SentRow) -> tuple[int, bool]:
        """The id of the record, and whether it is new. Raises the errors of the operations."""
        tx.store.start_clock()  # one time for each row
        writing = RecordWriter(self.ctx, tx)
        id = self._found(writing, row.key) if row.key else 0
        if not id:
            id = writing.create_sent(self.type, row.fields)
            if not writing.may_read(self.type.uri, id):
                raise Forbidden(lazy_gettext("you may not read {type} {id}", type=self.type.uri, id=id))
            return id, True
        if not self.type.operations["update"]:
            raise Invalid(f"{self.type.uri} {id} already exists and cannot be changed", field=self.key)
        writing.update_sent(self.type, id, row.fields)
        return id, False

    def _found(self, writing: RecordWriter, key: str) -> int:
        """The one record with this key that the caller may read; 0 for none."""
        if self.key == ID:
            id = id_in(key)
            if id is None or writing.record(self.type.uri, id) is None or not writing.may_read(self.type.uri, id):
                raise NotFound(lazy_gettext("there is no {type} '{name}'", type=self.type.uri, name=key[:50]), field=ID)
            return id
        ids = [id for id in self._with_key(writing, key) if writing.may_read(self.type.uri, id)]
        if len(ids) > 1:
            raise AmbiguousUpsert(f"several records have '{key[:80]}': {ids[0]} and {ids[1]}", field=self.key)
        return ids[0] if ids else 0

    def _with_key(self, writing: RecordWriter, key: str) -> Iterable[int]:
        own = self.type.fields.get(self.key)
        if own is None:
            definition = custom.definitions(writing.tx).named(self.type.context, self.key)
            if definition is None:
                return ()
            value = key if definition.column == "text" else id_in(key) if definition.kind == "N" else None
            if value is None:  # text that is not a number is refused with the other values
                return ()
            return custom.records_with(writing.tx, definition, value, 3)
        pointing = columns.stands_for(self.type, own)
        if pointing is not None:
            return filter(None, [columns.with_text(writing, self.type, pointing, key)])
        return [row[0] for row in writing.tx.some(self.type.table, 3, **{own.name: key})]


def _try(writing: _Rows, rows: Sequence[SentRow], result: CsvResult, expand: str) -> None:
    """Rehearses a portion of rows."""

    def write(tx: Transaction, has_parts: bool) -> CsvResult:
        one = CsvResult()
        for id in _written(tx, writing, rows, one, has_parts):
            if len(result.shown) + len(one.shown) < SHOWN:
                one.shown.append(records.shown(writing.ctx, tx, writing.type, id, expand))
        return one

    _join(result, _with_parts_if_refused(writing.ctx.service.store.rehearse, write))


def _with_parts_if_refused(
    run: Callable[[Callable[[Transaction], Written]], Written], write: Callable[[Transaction, bool], Written]
) -> Written:
    """Runs the write of a portion. If a row is refused, repeats it with a savepoint for each row, which is slower.
    write: takes the transaction, and whether rows have savepoints."""
    try:
        return run(lambda tx: write(tx, False))
    except _RowRefused:
        return run(lambda tx: write(tx, True))


def _written(
    tx: Transaction, writing: _Rows, rows: Sequence[SentRow], result: CsvResult, has_parts: bool
) -> Iterator[int]:
    """Writes rows, and yields the ids of their records. Counts them in the result, with refused ones if rows have
    savepoints; else raises _RowRefused."""
    for row in rows:
        try:
            id, is_new = tx.part(partial(writing.write, row=row)) if has_parts else writing.write(tx, row)
        except HelpdeskError as error:
            if not has_parts:
                raise _RowRefused(row.number, error) from error
            result.add(row.number, error)
            continue
        _count(result, is_new)
        yield id


def _join(result: CsvResult, other: CsvResult) -> None:
    result.created += other.created
    result.updated += other.updated
    room = MAX_MISTAKES - len(result.mistakes)
    result.left += other.left + max(len(other.mistakes) - room, 0)
    result.mistakes += other.mistakes[:room]
    result.shown += other.shown


def _import(
    tx: Transaction,
    writing: _Rows,
    rows: Sequence[SentRow],
    upload: CsvUpload | None,
    told: Progress,
    finish: Callable[[Transaction, CsvResult], None] | None,
    name: str,
) -> CsvResult:
    if upload is not None and not uploads.take(tx, upload.code):
        raise NotFound("this file was already imported or deleted")
    result = CsvResult()
    for place, row in enumerate(rows):
        told(place, len(rows))
        try:
            _count(result, writing.write(tx, row)[1])
        except HelpdeskError as error:
            raise _RowRefused(row.number, error) from error
    variables = {"file": upload.name if upload is not None else name, "what": summary(writing.type, result)}
    RecordWriter(writing.ctx, tx).log("data.imported", APP, 0, variables)
    if finish is not None:
        finish(tx, result)
    elif upload is not None:
        uploads.drop(tx, upload.code)
    return result


def summary(record_type: RecordType, result: CsvResult) -> str:
    """The result of an import, for the activity log."""
    return f"{record_type.label_names[1].lower()}, {result.created} created, {result.updated} updated"


def _count(result: CsvResult, is_new: bool) -> None:
    if is_new:
        result.created += 1
    else:
        result.updated += 1
