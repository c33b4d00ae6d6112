"""Groups: teams with buckets and mail of their own, and the rosters that say who is in which. Source: Groups."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from console import lists, ui, worklist
from console.forms import Form
from console.page_response import PageResponse, see
from console.pages.people import TABS
from console.rendering import render
from console.routes import page
from console.ui import PAGE_ROWS, quoted
from console.visit import Visit
from console.worklist import Worklist, declare
from console.worklist_columns import ListColumn
from server.desk import records
from server.desk.records import SearchRequest
from server.digits import id_in, is_whole
from server.errors import BadQuery, Forbidden, HelpdeskError, Invalid
from server.people import groups
from server.people.groups import Changes
from server.people.rosters import MANAGER, MEMBER, REMOVE
from server.translation import N_, _, ngettext

URI = "group"
BASE = "/admin/people/groups"
ROSTERS = "/admin/people/rosters"
CHOSEN = {
    "reply_address_id": "address", "reply_signature_id": "email_signature", "reply_html_template_id": "html_template",
}  # fmt: skip
LINES = (
    "name", "reply_address_id", "reply_personal", "reply_to", "reply_signature_id", "reply_html_template_id",
    "list_headers",
)  # fmt: skip
LABELS = {
    "name": N_("Name"),
    "reply_address_id": N_("Replies come from"),
    "reply_personal": N_("Sender name"),
    "reply_signature_id": N_("Signature"),
    "reply_html_template_id": N_("Mail template"),
    "is_default": N_("Default group"),
    "reply_to": N_("Answers go to"),
    "list_headers": N_("Header fields of a list"),
}
FLAGS = ("is_private", "is_default")
PARTS = [(REMOVE, N_("none")), (MEMBER, N_("member")), (MANAGER, N_("manager"))]
SENDERS = "mailTransport.id:>0"  # the search of addresses that replies can come from
MAX_COLUMNS = 8  # groups side by side on the page of rosters
COLUMNS = "groups"  # the parameter that says which page of them
MAX_NAMED = 60  # people of one group by name


def _of_part(part: int | str, is_counted: bool) -> Callable[[Mapping[str, Any], Any], int]:
    """How many are managers of a group, or members."""
    return lambda row, more: sum((each == part) is is_counted for each in more[row["id"]].values())


MANAGERS, MEMBERS = _of_part(MANAGER, True), _of_part(MANAGER, False)
LIST = declare(
    Worklist(
        URI,
        BASE,
        N_("Groups"),
        ("_label", "readers", "managers", "members", "updated"),
        own=(
            ListColumn(
                "readers",
                N_("Visible to"),
                lambda visit, row, more: _flags(row),
                "private",
                value=lambda row, more: "members" if row["is_private"] else "everybody",
            ),
            ListColumn(
                "managers",
                N_("Managers"),
                lambda visit, row, more: ui.number(visit, MANAGERS(row, more)),
                kind="number",
                value=MANAGERS,
            ),
            ListColumn(
                "members",
                N_("Members"),
                lambda visit, row, more: ui.number(visit, MEMBERS(row, more)),
                kind="number",
                value=MEMBERS,
            ),
        ),
        row=BASE + "/{id}",
        load=lambda visit, rows: groups.members(visit.ctx, [each["id"] for each in rows]),
        sort="name",
        placeholder=N_("name, or member:(milo), private:yes"),
        quick=((N_("Members only"), "private:yes"), (N_("Default group"), "default:yes")),
        none=N_("No group fits."),
        empty=N_("There are no groups yet. Tickets belong to groups."),
        new=(f"{BASE}/new", N_("New group")),
        tabs=TABS,
        tabs_label=N_("People"),
    )
)


def _flags(row: Mapping[str, Any]) -> str:
    """Who reads the tickets of a group, and whether it takes what nothing else claims."""
    told = ui.badge("warn", _("members only")) if row["is_private"] else ui.plain(_("everybody"))
    return f"{told} {ui.badge('info', _('default'))}" if row["is_default"] else told


@page("GET", BASE, "admin")
def show_list(visit: Visit) -> PageResponse:
    """All groups."""
    return worklist.page(visit, LIST)


@page("GET", f"{BASE}/new", "admin")
def show_new(visit: Visit) -> PageResponse:
    """The form for a new group."""
    return _form(visit, Form.of({}), None)


@page("POST", f"{BASE}/new", "admin")
def create(visit: Visit) -> PageResponse:
    """Make a group; who is in it comes next."""
    form = Form.sent(visit.form, (*LINES, *FLAGS))
    try:
        made = records.create(visit.ctx, URI, _fields(visit, form))
    except HelpdeskError as error:
        return _form(visit, form.refuse(error), None)
    visit.tell(_("{label} is made. Choose who is in it.", label=made["_label"]))
    return see(f"{ROSTERS}?group={made['id']}")


@page("GET", f"{BASE}/{{id}}", "admin")
def show(visit: Visit) -> PageResponse:
    """One group to be changed."""
    group = lists.record(visit, URI, visit.id)
    return _form(visit, _stored(group), group)


@page("POST", f"{BASE}/{{id}}", "admin")
def save(visit: Visit) -> PageResponse:
    """Change a group."""
    group, form = lists.record(visit, URI, visit.id), Form.sent(visit.form, (*LINES, *FLAGS))
    try:
        records.update(visit.ctx, URI, visit.id, _fields(visit, form))
    except HelpdeskError as error:
        return _form(visit, form.refuse(error), group)
    visit.tell(_("{name} is saved.", name=form.text("name")), visit.path, **_stored(group).sent_again())
    return see(BASE)


@page("GET", f"{BASE}/{{id}}/delete", "admin")
def show_delete(visit: Visit) -> PageResponse:
    """What is lost with a group."""
    return _delete(visit, Form())


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> PageResponse:
    """Remove a group; its tickets come into the default group."""
    group = lists.record(visit, URI, visit.id)
    try:
        records.delete(visit.ctx, URI, visit.id)
    except HelpdeskError as error:
        return _delete(visit, Form().refuse(error))
    visit.tell(_("{name} is deleted.", name=group["name"]))
    return see(BASE)


# -- buckets -----------------------------------------------------------------------------------------------------------


@page("POST", f"{BASE}/{{id}}/buckets", "admin")
def create_bucket(visit: Visit) -> PageResponse:
    """Make a bucket in a group."""
    group, form = lists.record(visit, URI, visit.id), Form.sent(visit.form, ("bucket",))
    try:
        made = records.create(visit.ctx, "bucket", {"name": form.text("bucket"), "group_id": visit.id})
    except HelpdeskError as error:
        return _form(visit, _stored(group), group, form.refuse(error, names={"name": "bucket"}))
    visit.tell(_("The bucket {label} is made.", label=made["_label"]))
    return see(f"{BASE}/{visit.id}#buckets")


@page("GET", "/admin/people/buckets/{id}", "admin")
def show_bucket(visit: Visit) -> PageResponse:
    """One bucket to be changed."""
    bucket = lists.record(visit, "bucket", visit.id)
    return _bucket(visit, _stored_bucket(bucket), bucket)


@page("POST", "/admin/people/buckets/{id}", "admin")
def save_bucket(visit: Visit) -> PageResponse:
    """Rename a bucket, or let new tickets come into it."""
    bucket, form = lists.record(visit, "bucket", visit.id), Form.sent(visit.form, ("name", "is_default"))
    is_default = "1" if form.get("is_default") == "1" else "0"
    try:
        records.update(visit.ctx, "bucket", visit.id, {"name": form.text("name"), "is_default": is_default})
    except HelpdeskError as error:
        return _bucket(visit, form.refuse(error), bucket)
    visit.tell(
        _("The bucket {name} is saved.", name=form.text("name")), visit.path, **_stored_bucket(bucket).sent_again()
    )
    return see(f"{BASE}/{bucket['group_id']}#buckets")


@page("POST", "/admin/people/buckets/{id}/delete", "admin")
def delete_bucket(visit: Visit) -> PageResponse:
    """Remove a bucket; its tickets come into the group's default bucket."""
    bucket = lists.record(visit, "bucket", visit.id)
    try:
        records.delete(visit.ctx, "bucket", visit.id)
    except HelpdeskError as error:
        return _bucket(visit, _stored_bucket(bucket).refuse(error), bucket)
    visit.tell(_("The bucket {name} is deleted.", name=bucket["name"]))
    return see(f"{BASE}/{bucket['group_id']}#buckets")


# -- rosters -----------------------------------------------------------------------------------------------------------


@page("GET", ROSTERS)
def show_rosters(visit: Visit) -> PageResponse:
    """Who is in which group: for administrators, and for managers the groups that they manage."""
    return _rosters(visit, Form())


@page("POST", ROSTERS)
def save_rosters(visit: Visit) -> PageResponse:
    """Change what was changed on the page, all or nothing; what others changed meanwhile stays."""
    form = Form()
    try:
        chosen, before = _cells(visit.form.map("part")), _before(visit)
        changed = {
            group: {worker: part for worker, part in workers.items() if part != before.get(group, {}).get(worker, "")}
            for group, workers in chosen.items()
        }
        sent = {group: {"workers": workers} for group, workers in changed.items() if workers}
        groups.change_members(visit.ctx, {"groups": sent})
    except HelpdeskError as error:
        return _rosters(visit, form.refuse(error))
    count = sum(map(len, changed.values()))
    if count:
        visit.tell(
            ngettext("{count} place changed.", "{count} places changed.", count),
            visit.shown_path,
            **_back(changed, before),
        )
    else:
        visit.tell("Nothing was changed.")
    names = ("q", "group", "page", COLUMNS)
    kept = "&".join(f"{name}={quoted(visit.query.text(name, ''))}" for name in names if name in visit.query)
    return see(f"{ROSTERS}?{kept}" if kept else ROSTERS)


def _cells(sent: dict[str, Any]) -> dict[str, dict[str, str]]:
    """{group id: {worker id: part}} of fields such as part[g5][w7]. Raises Invalid."""
    found: dict[str, dict[str, str]] = {}
    for group, workers in sent.items():
        if not isinstance(workers, dict):
            raise Invalid(_("the form is none of ours; open the page again"))
        found[group.removeprefix("g")] = {worker.removeprefix("w"): str(part) for worker, part in workers.items()}
    return found


def _before(visit: Visit) -> dict[str, dict[str, str]]:
    """What the page showed, for the same cells. Raises Invalid."""
    shown = visit.form.json("before", {})
    if not isinstance(shown, dict) or not all(isinstance(each, dict) for each in shown.values()):
        raise Invalid(_("the form is none of ours; open the page again"))
    return shown


def _back(changed: dict[str, dict[str, str]], before: dict[str, dict[str, str]]) -> dict[str, str]:
    """The fields of the same form that put back what was changed."""
    earlier = {
        f"part[g{group}][w{worker}]": before.get(group, {}).get(worker, "") or REMOVE
        for group, workers in changed.items()
        for worker in workers
    }
    return earlier | {"before": json.dumps(changed)}


def _rosters(visit: Visit, form: Form) -> PageResponse:
    actor, wrong = visit.actor, ""
    if not actor.is_admin and not actor.manages:
        raise Forbidden(_("Only administrators, and managers of a group, may change who is in a group."))
    filters, mine = Form.of({"group": visit.query.text("group", "")}), _mine(visit)
    only = 0
    try:
        only = lists.chosen_id(visit, URI, filters.text("group"), "group")
    except Invalid as error:
        filters.refuse(error)
    first = visit.query.integer(COLUMNS, 1, 1, records.MAX_PAGE)
    q = f"{mine} id:{only}" if only else mine
    columns = records.search(visit.ctx, URI, SearchRequest(f"{q} sort:name", MAX_COLUMNS, 1 if only else first))
    listed = [each for each in columns["results"] if actor.is_admin or each["id"] in actor.manages]
    page = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    try:
        people = f"isDisabled:no {visit.query.text('q', '')} sort:firstName"
        found = records.search(visit.ctx, "worker", SearchRequest(people, PAGE_ROWS, page))
    except BadQuery as error:
        found, wrong = {"results": [], "total": 0, "page": 1}, error.message
    members = groups.members(visit.ctx, [each["id"] for each in listed])
    chosen = _chosen(visit, members) if form.is_wrong else members
    # A group that somebody may not change is not named, whatever the address says.
    chosen_group = str(only) if only in members else "" if only else filters.text("group")
    shown = {
        str(group["id"]): {str(each["id"]): members[group["id"]].get(each["id"], REMOVE) for each in found["results"]}
        for group in listed
    }
    return render(
        visit, "rosters.html", form.status, tabs=TABS if actor.is_admin else (), form=form, found=found, wrong=wrong,
        groups=listed, members=chosen, before=json.dumps(shown, separators=(",", ":")), parts=PARTS, none=REMOVE,
        columns=columns, most=MAX_COLUMNS, name=COLUMNS, filters=filters,
        choices=lists.choosable(visit, URI, f"{mine} sort:name", chosen_group),
    )  # fmt: skip


def _chosen(visit: Visit, members: Changes) -> Changes:
    """The rosters with what was chosen on a page that is shown again."""
    try:
        sent = _cells(visit.form.map("part"))
    except Invalid:
        return members
    return {
        group: workers
        | {id: part for name, part in sent.get(str(group), {}).items() if (id := id_in(name)) is not None}
        for group, workers in members.items()
    }


def _mine(visit: Visit) -> str:
    """The search of groups whose rosters somebody may change."""
    return "" if visit.actor.is_admin else f"id:[{','.join(map(str, visit.actor.manages))}]"


# -- forms -------------------------------------------------------------------------------------------------------------


def _fields(visit: Visit, form: Form) -> dict[str, Any]:
    """What is stored. Raises Invalid for a name of none or of several."""
    lines: dict[str, Any] = {name: form.text(name) for name in LINES}
    lines |= {name: lists.chosen_id(visit, uri, lines[name], name) for name, uri in CHOSEN.items()}
    if not lines["reply_address_id"]:
        del lines["reply_address_id"]  # it stays, or is the service's own
    return lines | {name: "1" if form.get(name) == "1" else "0" for name in FLAGS}


def _stored(group: dict[str, Any]) -> Form:
    return Form.of({name: group[name] for name in LINES} | {name: "1" if group[name] else "" for name in FLAGS})


def _form(visit: Visit, form: Form, group: dict[str, Any] | None, bucket_form: Form | None = None) -> PageResponse:
    buckets: dict[str, Any] = {"results": [], "total": 0, "page": 1}
    people: list[tuple[str, str]] = []
    if group is not None:
        page = visit.query.integer("page", 1, 1, records.MAX_PAGE)
        asked = SearchRequest(f"group.id:{group['id']} sort:name", PAGE_ROWS, page)
        buckets = records.search(visit.ctx, "bucket", asked)
        members = groups.members(visit.ctx, [group["id"]])[group["id"]]
        parts = ((N_("Managers"), MANAGER), (N_("Members"), MEMBER))
        people = [(label, _names(visit, members, part)) for label, part in parts]
    shown = bucket_form or Form.of({"bucket": ""})
    sender, searches = form.text("reply_address_id"), {"reply_address_id": SENDERS}
    has_none = is_whole(sender) and sender != "0" and not lists.count(visit, "address", f"id:{sender} {SENDERS}")
    return render(
        visit, "group.html", max(form.status, shown.status), form=form, bucket_form=shown, group=group,
        buckets=buckets, labels=LABELS, people=people,
        sender_none=_("The service's own sender") if sender in ("", "0") else "",
        sender_hint=_("Addresses with a mail transport. The chosen one has none.") if has_none
        else _("Addresses with a mail transport."),
        found={name: lists.choosable(visit, uri, searches.get(name, ""), form.get(name))
               for name, uri in CHOSEN.items()},
    )  # fmt: skip


def _names(visit: Visit, members: dict[int, str], part: str) -> str:
    """Who has a part in a group, by name; of many the first ones, and how many there are besides."""
    ids = sorted(id for id, each in members.items() if each == part)
    if not ids:
        return _("none")
    named = sorted(label for _, label in lists.choices(visit, "worker", f"id:[{','.join(map(str, ids[:MAX_NAMED]))}]"))
    more = len(ids) - MAX_NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _delete(visit: Visit, form: Form) -> PageResponse:
    group = lists.record(visit, URI, visit.id)
    tickets, buckets = (lists.count(visit, uri, f"group.id:{visit.id}") for uri in ("ticket", "bucket"))
    return render(visit, "group_delete.html", form.status, form=form, group=group, tickets=tickets, buckets=buckets)


def _stored_bucket(bucket: dict[str, Any]) -> Form:
    return Form.of({"name": bucket["name"], "is_default": "1" if bucket["is_default"] else ""})


def _bucket(visit: Visit, form: Form, bucket: dict[str, Any]) -> PageResponse:
    group = lists.record(visit, URI, bucket["group_id"])
    return render(visit, "bucket.html", form.status, form=form, bucket=bucket, group=group)
