"""Imports of CSV files as records of any type: a file is uploaded, its columns are mapped and tried, then everything is
imported, or nothing."""

from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlencode

from console.html import ui
from console.html.form import Form, sentence
from console.html.rendering import render
from console.html.ui import Option, Sample
from console.http.page_response import INVALID, PageResponse, again, see
from console.http.routes import SMALL_FORM_BYTES, page
from console.http.visit import Visit
from console.lists import worklist_columns
from console.lists.worklist_columns import ListColumn
from console.pages.jump import place_of
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid
from server.imports import background, columns, csv_rows, row_import, uploads
from server.imports.background import CsvTask
from server.imports.columns import ID, CsvMapping, CsvTarget
from server.imports.csv_rows import CsvTable
from server.imports.row_import import CsvResult, RowMistake
from server.imports.uploads import CsvUpload
from server.record_types.record_type import RecordType
from server.records import records
from server.translation import N_, Words, _, in_sentence

AGAIN_SECONDS = 2  # wait before a page with progress reloads itself
SEPARATORS = {",": N_("commas"), ";": N_("semicolons"), "\t": N_("tabs")}


@dataclass(frozen=True)
class FileColumn:
    """field: of the form, which says what it is written to. samples: its first values."""

    field: str
    name: str
    samples: str


def _importing(show: Callable[[Visit, RecordType], PageResponse]) -> Callable[[Visit], PageResponse]:
    """Wraps a page so that it receives the record type in its path. The worker must be allowed to create its records;
    types with a page of their own require the password first. Raises NotFound, Forbidden, NotOffered."""

    def show_type(visit: Visit) -> PageResponse:
        record_type = visit.service.registry.type(visit.arguments["type"])
        records.require(visit.ctx, record_type.uri, "create")
        if place_of(visit, record_type.uri) and not visit.who.is_stepped_up(visit.now):
            return see(f"/confirm?{urlencode({'next': visit.path})}")
        return show(visit, record_type)

    return show_type


@page("GET", "/records/{type}/import")
@_importing
def show_upload(visit: Visit, record_type: RecordType) -> PageResponse:
    """Room for a file. Raises NotFound, Forbidden, NotOffered."""
    return _upload(visit, record_type, Form.from_values({"file": ""}))


@page("POST", "/records/{type}/import", form_bytes=csv_rows.MAX_FILE_BYTES + SMALL_FORM_BYTES, creates=True)
@_importing
def upload(visit: Visit, record_type: RecordType) -> PageResponse:
    """Keep a file, and go on to its columns."""
    try:
        sent = visit.form.upload("file")
        if sent is None or not sent.content:
            raise Invalid(_("choose a file first"), field="file")
        code = uploads.keep(visit.ctx, record_type.uri, sent.filename, sent.content)
    except HelpdeskError as error:
        return _upload(visit, record_type, Form.from_values({"file": ""}).refuse(error))
    return see(f"{_base(record_type)}/{code}")


@page("GET", "/records/{type}/import/{code}")
@_importing
def show_columns(visit: Visit, record_type: RecordType) -> PageResponse:
    """What each column is written to. Raises NotFound, Forbidden."""
    upload = uploads.find_upload(visit.ctx, record_type.uri, visit.arguments["code"])
    task = background.task_of(upload)
    if task is not None:
        return _task(visit, record_type, upload, task)
    table, targets = upload.table(), columns.targets(visit.ctx, record_type.uri)
    guessed = columns.guess(table.names, targets, columns.labels(targets), table.rows)
    values = {f"c{place}": name for place, name in enumerate(guessed)}
    return _columns(visit, record_type, upload, table, Form({**values, "key": ID if ID in guessed else ""}))


@page("POST", "/records/{type}/import/{code}")
@_importing
def run(visit: Visit, record_type: RecordType) -> PageResponse:
    """Try the rows, or import them."""
    upload = uploads.find_upload(visit.ctx, record_type.uri, visit.arguments["code"])
    if not upload.content:  # it is imported
        return see(visit.path)
    table = upload.table()
    form = Form.sent(visit.form, (*(f"c{place}" for place in range(len(table.names))), "key"))
    names = _names(table, form)
    mapping = CsvMapping(record_type.uri, names, form.get("key"))
    is_trial = visit.form.text("do", "try") != "import"
    try:
        expand = _expand(visit, record_type, names)
        if len(table.rows) > background.MAX_AT_ONCE:
            background.start(visit.ctx, upload, mapping, expand, is_trial=is_trial)
            return see(visit.path)
        if is_trial:
            result = row_import.attempt(visit.ctx, table, mapping, expand)
        else:
            result = row_import.run(visit.ctx, upload, table, mapping)
    except HelpdeskError as error:
        return _columns(visit, record_type, upload, table, form.refuse(error))
    if is_trial or result.mistakes:
        form.status = INVALID if result.mistakes else form.status
        return _columns(visit, record_type, upload, table, form, result, is_trial)
    visit.flash(result.summary())
    return see(f"/search/{record_type.uri}" if record_type.offers("search") else "/")


def _task(visit: Visit, record_type: RecordType, upload: CsvUpload, task: CsvTask) -> PageResponse:
    """How far the scheduler is with a large file, or what came of it."""
    if task.is_running or not upload.content:
        done, total = background.progress(visit.ctx, upload.code)
        says = task.result.summary() if task.result is not None else ""
        drawn = render(
            visit,
            "record_import_progress.html",
            title=_title(record_type),
            kept=upload,
            task=task,
            done=done,
            says=says,
            total=total,
            has_list=record_type.offers("search"),
        )
        return again(drawn, AGAIN_SECONDS) if task.is_running else drawn
    form = Form({f"c{place}": name for place, name in enumerate(task.mapping.names)} | {"key": task.mapping.key})
    if task.problem:
        form.fail("", sentence(task.problem))
    return _columns(visit, record_type, upload, upload.table(), form, task.result, task.is_trial)


def _base(record_type: RecordType) -> str:
    return f"/records/{record_type.uri}/import"


def _upload(visit: Visit, record_type: RecordType, form: Form) -> PageResponse:
    return render(
        visit,
        "record_import.html",
        form=form,
        title=_title(record_type),
        record_type=record_type,
        labels={"file": N_("File")},
        size=ui.bytes_text(csv_rows.MAX_FILE_BYTES),
        sample=Sample("POST", f"/rest/records/{record_type.uri}/create.json", [("fields[…]", "…")]),
    )


def _columns(
    visit: Visit,
    record_type: RecordType,
    upload: CsvUpload,
    table: CsvTable,
    form: Form,
    result: CsvResult | None = None,
    is_trial: bool = True,
) -> PageResponse:
    """The columns of a file, and the result of a trial or an import."""
    targets = columns.targets(visit.ctx, record_type.uri)
    labels = columns.labels(targets)
    shown_columns = _list_columns(visit, record_type, _names(table, form)) if result is not None else []
    return render(
        visit,
        "record_import_columns.html",
        form=form,
        title=_title(record_type),
        path=visit.path,
        base=_base(record_type),
        kept=upload,
        table=table,
        result=result,
        is_trial=is_trial,
        columns=_file_columns(table),
        options=[("", N_("Leave out")), *((name, labels[name]) for name in targets)],
        keys=_keys(targets, labels),
        separator=SEPARATORS.get(table.separator, table.separator),
        is_latin=table.encoding == csv_rows.LATIN,
        labels={f"c{place}": name for place, name in enumerate(table.names)} | {"key": N_("Update records")},
        most_atomic=row_import.MAX_ATOMIC_ROWS,
        shown_columns=shown_columns,
        says=result.summary(is_trial) if result is not None else "",
        where=lambda each: _where(table, form, each),
        why=lambda each: sentence(each.reason),
        sample=Sample("POST", f"/rest/records/{record_type.uri}/create.json", _sample(form, labels)),
    )


def _title(record_type: RecordType) -> str:
    return _("Import {records}", records=in_sentence(record_type.label_names[1]))


def _keys(targets: Mapping[str, CsvTarget], labels: Mapping[str, str]) -> list[Option]:
    chosen = [(name, _("with the same {field}", field=labels[name])) for name, each in targets.items() if each.is_key]
    return [("", N_("None: every row is a new record")), *chosen]


def _file_columns(table: CsvTable) -> list[FileColumn]:
    return [FileColumn(f"c{place}", name, " · ".join(table.samples(place))) for place, name in enumerate(table.names)]


def _names(table: CsvTable, form: Form) -> tuple[str, ...]:
    """For each column of the file what the form writes it to."""
    return tuple(form.get(f"c{place}") for place in range(len(table.names)))


def _where(table: CsvTable, form: Form, mistake: RowMistake) -> str:
    """The column of a mistake; "" for one of the whole row."""
    names = [name for place, name in enumerate(table.names) if form.get(f"c{place}") == mistake.target]
    return names[0] if mistake.target and names else ""


def _sample(form: Form, labels: Mapping[str, Words]) -> list[tuple[str, str]]:
    return [(f"fields[{name}]", "…") for name in form.values.values() if name in labels and name != ID][:3]


# -- the records as they would be written ------------------------------------------------------------------------------


def _list_columns(visit: Visit, record_type: RecordType, names: Iterable[str]) -> list[ListColumn]:
    """The fields that the columns are written to, if lists show them; the label first unless it is among them."""
    available = worklist_columns.available(visit.ctx, record_type, ())
    keys = dict.fromkeys(columns.shown_key(record_type, name) for name in names if name)
    first = [] if record_type.label_column in keys else [available["_label"]]
    return [*first, *(available[key] for key in keys if key in available)]


def _expand(visit: Visit, record_type: RecordType, names: tuple[str, ...]) -> str:
    expands = (each.expand for each in _list_columns(visit, record_type, names))
    return ",".join(dict.fromkeys(("_label", *filter(None, expands))))
