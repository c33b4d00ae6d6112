"""Packages: those that come with the program, imports with a dry run first, and exports of records."""

import json
import re
from typing import Any

from console.html import diffs, drafts
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import Sample
from console.http.page_response import INVALID, PageResponse, attachment, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, row_view
from console.lists.cells import DrawnColumns
from console.lists.rows import RowPage, RowQuery, RowSource, of_all
from console.lists.worklist import Worklist, declare
from console.pages.prompts import Prompt, Prompts
from server.errors import BadQuery, HelpdeskError, Invalid, Malformed, NotFound, TooLarge
from server.packages import (
    baselines,
    bundle,
    import_report,
    library,
    package_export,
    package_import,
    requirements,
    results,
)
from server.packages import package_document as documents
from server.packages.baselines import CREATE, KEEP, REFUSE, TAKE, UPDATE
from server.packages.package_document import MAX_DEPTH, MAX_PACKAGE_BYTES
from server.packages.package_import import ImportResult
from server.people import workspace_pages
from server.records import records
from server.records.records import SearchRequest
from server.translation import N_, _, shown
from server.web import envelope
from server.web.json_text import loads

BASE = "/admin/packages"
FORM_BYTES = 3 * MAX_PACKAGE_BYTES + 64 * 1024  # quotes and braces are three bytes each in a form
MAX_PAST = 5  # imports that are shown with the packages, or with one of them; the list has all
MAX_FOUND = 100  # records to choose from for a package
LABELS = {"package_json": N_("Package"), "records": N_("Records"), "q": N_("Search"), "name": N_("Name")}
# Where the console shows records of a type.
PATHS = {
    "automation": "/automations/",
    "custom_field": "/admin/fields/",
    "custom_fieldset": "/admin/fields/sets/",
    "group": "/admin/people/groups/",
    "oauth_app": "/admin/apps/",
    "role": "/admin/people/roles/",
    "webhook_listener": "/automations/webhooks/",
    "worker": "/admin/people/",
    "workspace_page": f"{workspace_pages.SHOWN}/",
}
MODE_OPTIONS = [(UPDATE, N_("Update the records of the last import")), (CREATE, N_("Create new records"))]
POLICY_OPTIONS = [
    (REFUSE, N_("Stop and list it")),
    (KEEP, N_("Keep the value here")),
    (TAKE, N_("Use the value of the package")),
]
CHOSEN = ("mode", "conflicts")  # how a package is imported, besides its prompts
_LINE = re.compile(r"\(line (\d+), column \d+\)")
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")


# -- in ----------------------------------------------------------------------------------------------------------------


@page("GET", f"{BASE}/open", "proven admin")
def show_shipped(visit: Visit) -> PageResponse:
    """A package that comes with the program. Raises NotFound."""
    name = visit.query.text("name", "")
    return _open(visit, bundle.package(name), name, "")


@page("POST", f"{BASE}/look", "proven admin", form_bytes=FORM_BYTES)
def look(visit: Visit) -> PageResponse:
    """Opens a package that was pasted or uploaded, with the changes it would make if no prompt is left to answer."""
    form = Form.sent(visit.form, ("package_json",))
    upload = visit.form.upload("file")
    if upload is not None and upload.content:
        try:
            form.values["package_json"] = visit.form.text("file", "")
        except Malformed as error:
            return show_list(
                visit, form.fail("package_json", _("The file is not JSON: {message}.", message=error.message))
            )
    text = form.get("package_json")
    try:
        tree = _tree(text)
        document = documents.read(tree)
    except HelpdeskError as error:
        return show_list(visit, form.refuse(error))
    try:
        mode = UPDATE if baselines.last_import(visit.ctx, document).entries else CREATE
        imported = package_import.import_package(visit.ctx, tree, {}, dry_run=True, mode=mode)
    except HelpdeskError:  # the page says what it needs, and the dry run what is wrong
        imported = None
    return _open(visit, tree, "", text, imported=imported)


@page("POST", f"{BASE}/import", "proven admin", form_bytes=FORM_BYTES, creates=True)
def run(visit: Visit) -> PageResponse:
    """Imports a package, or shows what an import would create."""
    name, text = visit.form.text("shipped", ""), visit.form.text("package_json", "")
    try:
        tree = bundle.package(name) if name else _tree(text)
        document = documents.read(tree)
        prompts = Prompts(visit, document)
    except HelpdeskError as error:
        return show_list(visit, Form.from_values({"package_json": text}).refuse(error))
    form = prompts.sent(visit, *CHOSEN)
    mode, conflicts = form.text("mode") or CREATE, form.text("conflicts") or REFUSE
    past_answers = baselines.past(visit.ctx, document.name).answers if mode == UPDATE else {}
    answers = {key: each for key, each in prompts.answers(form).items() if each or key not in past_answers}
    prompts.require(form, past_answers | answers)
    if form.is_wrong:
        return _open(visit, tree, name, text, form)
    is_dry = visit.form.text("do", "try") != "import"
    try:
        is_agreed = bool(visit.form.text("grants", ""))
        imported = package_import.import_package(
            visit.ctx, tree, answers, dry_run=is_dry, grants_agreed=is_agreed, mode=mode, conflicts=conflicts
        )
    except HelpdeskError as error:
        return _open(visit, tree, name, text, prompts.refuse(form, error))
    if is_dry:
        return _open(visit, tree, name, text, form, imported)
    code = results.put(visit.ctx, documents.read(tree).name, imported)
    return see(f"{BASE}/done/{code}")


@page("GET", f"{BASE}/done/{{code}}", "admin")
def show_result(visit: Visit) -> PageResponse:
    """The result of an import. Raises NotFound when it is no longer shown."""
    result = results.get(visit.ctx, visit.arguments["code"])
    if result is None:
        raise NotFound(_("The result of this import is no longer available. The records exist: search for them."))
    name, imported = result
    return render(visit, "package_done.html", name=name, imported=imported, **_report(visit, imported, is_there=True))


def _past_rows(visit: Visit, query: RowQuery) -> RowPage:
    rows = [
        {
            "id": each.id,
            "_label": each.name or _("A package without a name"),
            "revision": each.revision,
            "at": each.imported_at,
            "by": each.worker or _("a deleted worker"),
            "there": each.there,
            "made": len(each.made),
            "name": each.name.casefold(),
        }
        for each in library.list_imports(visit.ctx)
    ]
    return of_all(rows, query)


_column = DrawnColumns("packages")
PAST = declare(Worklist(
    "imports", f"{BASE}/imported", N_("Imported packages"), ("name", "revision", "at", "by", "there"),
    own=(
        _column("name", N_("Package"), "name", value=lambda row, more: row["_label"]),
        _column("revision", N_("Revision")),
        _column("at", N_("When"), "at", is_time=True),
        _column("by", N_("By"), "by"),
        _column("there", N_("Still exist"), "there"),
    ),
    changes="admin",
    empty=N_("No packages imported yet. A package brings automations, fields and searches that others made."),
    source=RowSource(_past_rows),
))  # fmt: skip


@page("GET", f"{BASE}/imported", "proven admin")
def show_past_list(visit: Visit) -> PageResponse:
    """All imports of the past, the newest first."""
    return row_view.page(visit, PAST)


@page("GET", f"{BASE}/imported/{{id}}", "proven admin")
def show_past(visit: Visit) -> PageResponse:
    """The records of a past import. Raises NotFound."""
    past = library.one(visit.ctx, visit.id)
    created = import_report.created_then(visit.ctx, past)
    return render(visit, "package_past.html", past=past, made=created, paths=PATHS)


def _tree(text: str) -> Any:
    """The value of a pasted text. Raises Malformed, TooLarge, Invalid."""
    if not text.strip():
        raise Invalid(_("Paste a package, or choose a file."), field="package_json")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_PACKAGE_BYTES:
        raise TooLarge(
            _("a package has at most {MAX_PACKAGE_BYTES} bytes", MAX_PACKAGE_BYTES=MAX_PACKAGE_BYTES),
            field="package_json",
        )
    return loads(text, "the package", field="package_json", depth=MAX_DEPTH)


@page("GET", BASE, "proven admin")
def show_list(visit: Visit, form: Form | None = None) -> PageResponse:
    """The packages that come with the program, and room for another one."""
    form = form or drafts.take_up(visit, visit.path, Form.from_values({"package_json": ""}))
    rows = []
    for name in bundle.names():
        tree = bundle.package(name)["package"]
        rows.append((name, tree.get("name") or name, (tree.get("library") or {}).get("description", "")))
    place = _LINE.search(form.errors.get("package_json", ""))
    mistakes = [(int(place[1]), form.errors["package_json"])] if place else []
    past = library.list_imports(visit.ctx)
    return render(
        visit,
        "packages.html",
        form=form,
        labels=LABELS,
        found=rows,
        mistakes=mistakes,
        past=past[:MAX_PAST],
        all_past=len(past),
    )


def _open(
    visit: Visit, tree: Any, name: str, text: str, form: Form | None = None, imported: ImportResult | None = None
) -> PageResponse:
    """A package with its questions. name: of one that comes with the program, else text. imported: by a rehearsal."""
    document = documents.read(tree)
    prompts = Prompts(visit, document)
    baseline = baselines.last_import(visit.ctx, document)
    if form is None:  # an update takes the answers of the last import again
        form = prompts.first_form(baseline.answers if baseline.entries else {})
        form.values |= {"mode": UPDATE if baseline.entries else CREATE, "conflicts": REFUSE}
    unmet, past = requirements.unmet(document), library.list_imports(visit.ctx, document.name)
    return render(
        visit,
        "package.html",
        INVALID if unmet else 200,
        form=form,
        prompts=prompts.all,
        shipped=name,
        package_text=text,
        document=document,
        past=past[:MAX_PAST],
        newer=library.newer_revision(past, document),
        unmet=unmet,
        needs=requirements.needs(document),
        labels=prompts.labels,
        sample=_sample(prompts.all),
        imported=imported,
        asks_yes=bool(imported and imported.granted) or "grants" in form.errors,
        can_update=bool(baseline.entries),
        modes=MODE_OPTIONS,
        policies=POLICY_OPTIONS,
        is_update=form.get("mode") == UPDATE,
        **(_report(visit, imported, is_there=False) if imported else {}),
    )


def _sample(prompts: list[Prompt]) -> Sample:
    """The request that shows what the package would create."""
    answers = [(f"prompts[{each.key}]", "answer") for each in prompts]
    return Sample("POST", "/rest/packages/import.json", [("package_json", "{…}"), *answers, ("dry_run", "1")])


def _report(visit: Visit, imported: ImportResult, *, is_there: bool) -> dict[str, Any]:
    """The records of an import for a template. is_there: whether there is something to link to."""
    registry = visit.service.registry
    made, updated = import_report.created(registry, imported, is_there), import_report.updated(registry, imported)
    return {
        "made": made,
        "updated": updated,
        "paths": PATHS,
        "states": import_report.STATES,
        "compared": diffs.compared,
    }


# -- out ---------------------------------------------------------------------------------------------------------------


@page("GET", f"{BASE}/export", "admin")
def show_export(visit: Visit) -> PageResponse:
    """Records to choose for a package; `records` of the address are chosen already."""
    chosen = [each for each in visit.query.text("records", "").split(",") if each]
    return _export(
        visit,
        Form(
            {"type": visit.query.text("type", "automation"), "q": "", "name": ""},
            {
                "records": chosen,
                "more": [],
            },
        ),
    )


@page("POST", f"{BASE}/export", "admin", form_bytes=FORM_BYTES)
def export(visit: Visit) -> PageResponse:
    """Look for more records, or hand the package over as a file."""
    form = Form.sent(visit.form, ("type", "q", "name"), ("records", "more"))
    form.several["records"] = list(dict.fromkeys([*form.several["records"], *form.several.pop("more")]))
    if visit.form.text("do", "find") != "export":
        return _export(visit, form)
    try:
        tree = package_export.export_package(visit.ctx, form.several["records"], form.text("name"))
    except HelpdeskError as error:
        return _export(visit, form.refuse(error))
    name = _NO_FILE_NAME.sub("-", form.text("name")).strip("-.")[:80] or "package"
    text = json.dumps(tree, ensure_ascii=False, indent=1)
    return PageResponse(text + "\n", headers=attachment(f"{name}.json"), content_type=envelope.CONTENT_TYPE)


def _export(visit: Visit, form: Form) -> PageResponse:
    types = package_export.types(visit.service.registry)
    chosen: list[tuple[str, str, str]] = []
    try:
        chosen = package_export.chosen(visit.ctx, form.several["records"])
    except HelpdeskError as error:
        form.refuse(error)
        form.several["records"] = []
    results: list[dict[str, Any]] = []
    total, uri = 0, form.text("type") if form.text("type") in [each.uri for each in types] else "automation"
    try:
        found = records.search(visit.ctx, uri, SearchRequest(form.text("q"), MAX_FOUND, expand=lookup.LABEL))
        results, total = found["results"], found["total"]
    except BadQuery as error:
        form.fail("q", error.message)
    names = {value for value, _, _ in chosen}
    more = [(f"{uri}:{id}", label, "") for id, label in lookup.options(visit, results) if f"{uri}:{id}" not in names]
    form.values["type"] = uri
    return render(
        visit,
        "package_export.html",
        form=form,
        labels=LABELS,
        chosen=chosen,
        more=more,
        total=total,
        types=sorted(((each.uri, shown(each.label_names[1])) for each in types), key=lambda each: each[1].lower()),
        most=package_export.MAX_EXPORTED,
        shown=MAX_FOUND,
    )
