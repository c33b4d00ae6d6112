"""Roles: the rights of workers who are not administrators, with explanations."""

from typing import Any

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, worklist
from console.lists.worklist import Worklist, declare
from console.lists.worklist_columns import ListColumn
from console.pages.people import TABS
from server.access.rules import REASONS
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.people import sign_in_administration
from server.record_types.record_type import RecordType
from server.records import records, type_descriptions
from server.records.records import SearchRequest
from server.translation import N_, _, in_sentence, shown

URI = "role"
BASE = "/admin/people/roles"
MODES = [
    ("", N_("nothing: the role only owns things")),
    ("itemized", N_("the privileges ticked below")),
    ("all", N_("every privilege, including those of future record types")),
]
CODE = {"class_": "code", "spellcheck": "false"}
FORM = RecordForm(URI, (
    Control("name", N_("Name"), hint=""),
    Control("member_query_worker", N_("Who has it"),
            N_("A search of workers, such as group:(name:Support) or id:[3,7]. Blank: nobody."), "line",
            attributes=CODE),
    Control("editor_query_worker", N_("Who can change what it owns"),
            N_("Roles can own snippets, workspace pages and more. Blank: nobody."), "line", attributes=CODE),
    Control("reader_query_worker", N_("Who can read what it owns"), N_("Blank: nobody."), "line", attributes=CODE),
    Control("privs_mode", N_("Grants"), "", options=MODES),
    Control("privs", N_("Privileges"), kind="ticks", is_drawn=True),
))  # fmt: skip
GRANTS = {"": "nothing", "itemized": N_("some privileges"), "all": N_("every privilege")}  # in short
MAX_MEMBERS = 20  # shown by name
TEXT_BYTES = 256 * 1024  # size of a form with all privileges ticked
# What an operation is called in a sentence.
VERBS = {"create": N_("create"), "update": N_("change"), "delete": N_("delete")}


@dataclass(frozen=True)
class TypePrivileges:
    """A record type with the privileges that a role can grant on it, {operation: privilege id}, and further
    conditions."""

    name: str
    uri: str
    privileges: dict[str, str]
    also: str


LIST = declare(
    Worklist(
        URI,
        BASE,
        N_("Roles"),
        ("_label", "members", "grants"),
        own=(
            ListColumn(
                "members",
                N_("Members"),
                lambda visit, row, more: ui.code(row["member_query_worker"]) or ui.muted(N_("nobody")),
                value=lambda row, more: row["member_query_worker"],
            ),
            ListColumn(
                "grants",
                N_("Grants"),
                lambda visit, row, more: shown(GRANTS.get(row["privs_mode"]) or row["privs_mode"]),
                "privsMode",
                value=lambda row, more: row["privs_mode"],
            ),
        ),
        row=BASE + "/{id}",
        sort="name",
        placeholder=N_("name, or member:(milo)"),
        none=N_("No role matches."),
        empty=N_("There are no roles yet. Workers answer tickets, and administrators do everything else."),
        new=(f"{BASE}/new", N_("New role")),
        tabs=TABS,
        tabs_label=N_("People"),
        changes="proven admin",
    )
)


@page("GET", BASE, "admin")
def show_list(visit: Visit) -> PageResponse:
    """All roles, and why a worker may or may not do something."""
    form = Form.sent(visit.query, ("worker_id", "type", "operation"))
    reasons = _why(visit, form) if form.text("worker_id") else []
    types = [(each.uri, each.name) for each in _granted(visit)]
    workers = lookup.choosable(visit, "worker", "isDisabled:no", form.get("worker_id"))
    return worklist.page(
        visit,
        LIST,
        "roles.html",
        form.status,
        form=form,
        told=reasons,
        types=types,
        workers=workers,
        operations=list(VERBS.items()),
    )


def _granted(visit: Visit) -> list[TypePrivileges]:
    """The record types that ask for a privilege, by name. Privileges that nothing asks for are left out."""
    registry = visit.service.registry
    rows = []
    for each in registry:
        operations = [name for name in type_descriptions.PRIVILEGED if "privilege" in getattr(each.access, name)]
        if operations and each.context:
            privileges = {name: f"contexts.{each.context}.{name}" for name in operations}
            rows.append(TypePrivileges(shown(each.label_names[1]), each.uri, privileges, _also(each)))
    return sorted(rows, key=lambda each: each.name.lower())


def _also(record_type: RecordType) -> str:
    """The further condition for changing a record, besides the privilege."""
    rules = {rule: None for name in type_descriptions.PRIVILEGED for rule in getattr(record_type.access, name)}
    return "; ".join(shown(REASONS[rule]) for rule in rules if rule in REASONS)


def _form(visit: Visit, fields: OpenForm) -> PageResponse:
    form, role = fields.values, fields.stored
    types = _granted(visit)
    offered = {privilege for each in types for privilege in each.privileges.values()}
    members: list[str] = []
    total = 0
    if role:
        answer = records.search(visit.ctx, "worker", SearchRequest(f"role:(id:{role['id']})", MAX_MEMBERS))
        members, total = [each["_label"] for each in answer["results"]], answer["total"]
    return render(
        visit,
        "role.html",
        form.status,
        form=form,
        fields=fields,
        role=role,
        types=types,
        operations=list(VERBS.items()),
        others=sorted(set(form.several["privs"]) - offered),
        members=members,
        total=total,
    )


declare_pages(
    RecordPages(
        BASE,
        FORM,
        _form,
        access="proven admin",
        form_bytes=TEXT_BYTES,
        first={"privs_mode": "itemized"},
        created=N_("Role {name} created."),
        saved=N_("Role {name} saved."),
        deleted=N_("Role {name} deleted."),
    )
)


def _why(visit: Visit, form: Form) -> list[tuple[str, str]]:
    """Why a worker may or may not do something to records of a type: (kind of badge, sentence)."""
    try:
        chosen = lookup.chosen_id(visit, "worker", form.text("worker_id"), "worker_id")
        worker = records.retrieve(visit.ctx, "worker", chosen, "roles")
        record_type = visit.service.registry.type(form.text("type"))
    except HelpdeskError as error:
        form.refuse(error, names={"id": "worker_id"})
        return []
    operation, name = form.text("operation"), worker["_label"]
    if operation not in VERBS:
        form.fail("operation", _("Choose one from the list."))
        return []
    does = _("{verb} {records}", verb=shown(VERBS[operation]), records=in_sentence(record_type.label_names[1]))
    who = sign_in_administration.rights_of(visit.ctx, worker["id"])
    if who is None:
        return [("err", _("{name} is deactivated and cannot do anything.", name=name))]
    rules = getattr(record_type.access, operation)
    if "nobody" in rules:
        return [("err", _("Nobody can {do}: only the service does that.", do=does))]
    if who.is_admin:
        return [("ok", _("{name} can {do}: administrators can do everything.", name=name, do=does))]
    if "admins" in rules:
        return [("err", _("{name} cannot {do}: only administrators can, and no role grants it.", name=name, do=does))]
    privilege = f"contexts.{record_type.context}.{operation}"
    reasons: list[tuple[str, str]] = []
    if "privilege" in rules:
        granting = [each["_label"] for each in _granting(visit, worker, privilege)]
        if not granting:
            no = _(
                "{name} cannot {do}: none of their roles grants {privilege}.", name=name, do=does, privilege=privilege
            )
            return [("err", no)]
        reasons.append(("ok", _("{name} can {do}: granted by {roles}.", name=name, do=does, roles=", ".join(granting))))
    reasons += [
        ("warn", _("Each record is also checked: {rule}.", rule=shown(REASONS[rule])))
        for rule in rules
        if rule in REASONS
    ]
    return reasons or [("ok", _("Every worker can {do}.", do=does))]


def _granting(visit: Visit, worker: dict[str, Any], privilege: str) -> list[dict[str, Any]]:
    """The roles of a worker that grant a privilege."""
    ids = [each["id"] for each in worker["roles"].values()]
    if not ids:
        return []
    return [
        each
        for each in lookup.search(visit, URI, f"id:[{','.join(map(str, ids))}] sort:name", "privs")
        if each["privs_mode"] == "all" or (each["privs_mode"] == "itemized" and privilege in each["privs"])
    ]
