"""Roles: the rights of workers who are not administrators, with explanations."""

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.form import Form
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, worklist
from console.lists.cells import DrawnColumns
from console.lists.worklist import Worklist, declare
from console.pages.people import TABS
from server.errors import HelpdeskError
from server.people import rights_explained
from server.people.rights_explained import GRANTED, VERBS, RightsReason
from server.records import records
from server.records.records import SearchRequest
from server.translation import N_

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
MAX_MEMBERS = 20  # shown by name
TEXT_BYTES = 256 * 1024  # size of a form with all privileges ticked


_column = DrawnColumns("roles")
LIST = declare(
    Worklist(
        URI,
        BASE,
        N_("Roles"),
        ("_label", "members", "grants"),
        own=(
            _column("members", N_("Members"), value=lambda row, more: row["member_query_worker"]),
            _column("grants", N_("Grants"), "privsMode", value=lambda row, more: row["privs_mode"]),
        ),
        row=BASE + "/{id}",
        sort="name",
        placeholder=N_("name, or member:(milo)"),
        none=N_("No role matches."),
        empty=N_("There are no roles yet. Workers reply to tickets, and administrators do everything else."),
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
    reasons: list[RightsReason] = []
    if form.text("worker_id"):
        try:
            worker_id = lookup.chosen_id(visit, "worker", form.text("worker_id"), "worker_id")
            reasons = rights_explained.explain(visit.ctx, worker_id, form.text("type"), form.text("operation"))
        except HelpdeskError as error:
            form.refuse(error, names={"id": "worker_id"})
    types = [
        (each.uri, each.name)
        for each in rights_explained.granted_privileges(visit.ctx)
        if not VERBS.keys().isdisjoint(each.privileges)
    ]
    workers = lookup.choosable(visit, "worker", "isDisabled:no", form.get("worker_id"))
    return worklist.page(
        visit,
        LIST,
        "roles.html",
        form=form,
        reasons=reasons,
        types=types,
        workers=workers,
        operations=list(VERBS.items()),
    )


def _form(visit: Visit, fields: OpenForm) -> PageResponse:
    form, role = fields.values, fields.stored
    types = rights_explained.granted_privileges(visit.ctx)
    offered = {privilege for each in types for privilege in each.privileges.values()}
    members: list[str] = []
    total = 0
    if role:
        found = records.search(visit.ctx, "worker", SearchRequest(f"role:(id:{role['id']})", MAX_MEMBERS))
        members, total = [each["_label"] for each in found["results"]], found["total"]
    return fields.render(
        "role.html",
        role=role,
        types=types,
        operations=list(GRANTED.items()),
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
