"""Groups: teams with buckets and mail of their own, and the rosters with their members."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import PAGE_ROWS, quoted
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.cells import DrawnColumns
from console.lists.worklist import Worklist, declare
from console.pages import roster_cells
from console.pages.people import TABS
from console.tickets.frames import document_of, framed
from server.errors import BadQuery, Forbidden, HelpdeskError, Invalid
from server.mailroom import mail_setup
from server.people import groups, next_owner
from server.people.rating_texts import MAX_LANGUAGES
from server.people.rosters import MANAGER, MEMBER, REMOVE
from server.people.types.group import LAST, NONE, THREAD
from server.records import records
from server.records.records import SearchRequest
from server.tickets import assign_queue, preview, ticket_statuses
from server.translation import N_, _, ngettext

URI = "group"
BASE = "/admin/people/groups"
ROSTERS = "/admin/people/rosters"
QUOTED = (
    (NONE, N_("Nothing")),
    (LAST, N_("The message that is replied to")),
    (THREAD, N_("The whole conversation")),
)
HOURS = (
    ("always", N_("Always")),
    ("inside", N_("Inside the hours of a calendar")),
    ("outside", N_("Outside the hours of a calendar")),
)
WAYS = (
    (next_owner.OFF, N_("Not automatically")),
    (next_owner.ROUND_ROBIN, N_("Round robin: members take turns")),
    (next_owner.FEWEST_OPEN, N_("To the member with the fewest open tickets")),
)
PRESENCES = (
    (next_owner.ANYBODY, N_("Members who are not away")),
    (next_owner.TODAY, N_("Members who were here today and are not away")),
    (next_owner.ACTIVE, N_("Members who were here in the last 15 minutes and are not away")),
)
FORM = RecordForm(URI, (
    Control("name", N_("Name"), ""),
    Control("is_private", N_("Only members can read its tickets"),
            N_("Everybody else cannot see them, not even in lists and searches. Administrators see all tickets.")),
    Control("is_default", N_("Default group"),
            N_("Gets email that matches no other group. Exactly one group is the default.")),
    Control("reply_address_id", N_("Reply address"), heading=N_("Replies")),
    Control("reply_personal", hint=N_("Shown as the sender's name. Blank: the name of the group. {{full_name}} is "
                                      "the worker who writes.")),
    Control("language", N_("Language of its email"),
            N_("For dates and the line above a quotation. Blank: the language of the worker who writes.")),
    Control("timezone", N_("Time zone of its email"), N_("Blank: the time zone of the worker who writes.")),
    Control("reply_to", N_("Reply-To address"),
            N_("Replies go here instead of the sender's address. They become part of the ticket only if "
               "email to this address arrives here. Usually blank."), "email"),
    Control("reply_signature_id", N_("Signature"), ""),
    Control("reply_html_template_id", N_("Mail template"), ""),
    Control("quoted_history", N_("Replies quote"),
            N_("Below the text of a new reply. Workers can edit or remove it."), "choice", options=QUOTED),
    Control("links_to_requests", N_("End email with the address of the ticket in the help center"),
            N_("Acknowledgements, replies and first messages. Customers sign in to open it.")),
    Control("list_headers", N_("Mailing list headers"),
            N_("For bulk email, one per line: List-Id: <news.desk.example>. Usually blank."), "area",
            attributes={"rows": 2}),
    Control("ack_enabled", N_("Acknowledge the first email of a ticket"),
            N_("Sends the text below to the sender, once. Automatic email, lists, spam and workers get no "
               "acknowledgement.")),
    Control("ack_subject", N_("Subject"), N_("Blank: the subject of the ticket. Same placeholders as in the text.")),
    Control("ack_text", N_("Text"),
            N_("Markdown. Placeholders of tickets: {{mask}}, {{subject}}, {{group_name}}, {{bucket_name}}."),
            "area", attributes={"rows": 8}),
    Control("ack_hours", N_("When"), "", "choice", options=HOURS),
    Control("ack_calendar_id", N_("Calendar"),
            N_("Available time in the calendar counts as inside, everything else as outside."),
            none=N_("None")),
    Control("rating_enabled", N_("Ask for a rating after closing"),
            N_("If the setting of ratings is to ask customers of chosen groups.")),
    Control("rating_subject", N_("Subject"), N_("Blank: the usual one, in the language of the customer.")),
    Control("rating_text", N_("Text"),
            N_("Markdown, with the placeholders of an acknowledgement. The links follow it. Blank: the usual text, in "
               "the language of the customer."),
            "area", attributes={"rows": 5}),
    Control("assign_way", N_("Assign tickets"), N_("For open tickets without an owner, however they arrive."), "choice",
            options=WAYS),
    Control("assign_presence", N_("Assign to"), N_("Everyone enters absences in their account."), "choice",
            options=PRESENCES),
    Control("assign_managers", N_("Managers get tickets, too"), ""),
    Control("assign_max_open", N_("Open tickets per member, at most"),
            N_("In this group. Blank: no limit. The limit for all groups is on each member's page."), blank="0"),
    Control("assign_calendar_id", N_("Hours"), N_("At other times tickets wait, and are assigned first when the hours "
                                                  "begin."), none=N_("Always")),
))  # fmt: skip
RATING_ROWS = "rating_rows"  # a field of the form: the number of languages that it has
BLANK_RATING_ROWS = 1  # rows to add a language
RATING_PARTS = ("language", "subject", "text")
ACKNOWLEDGEMENT, ASSIGNMENT, RATING = (
    tuple(each.name for each in FORM.controls if isinstance(each, Control) and each.name.startswith(prefix))
    for prefix in ("ack_", "assign_", "rating_")
)
BUCKET = RecordForm(
    "bucket",
    (
        Control("name", N_("Name"), hint=""),
        Control(
            "is_default",
            N_("Default bucket for new tickets of the group"),
            N_("Exactly one bucket of a group is the default."),
        ),
    ),
)
PARTS = [(REMOVE, N_("none")), (MEMBER, N_("member")), (MANAGER, N_("manager"))]
MAX_CANDIDATES = 60  # members listed beside the form
MAX_COLUMNS = 8  # groups side by side on the page of rosters
COLUMNS = "groups"  # the parameter that says which page of them


def _of_part(part: int | str, is_counted: bool) -> Callable[[Mapping[str, Any], Any], int]:
    """How many are managers of a group, or members."""
    return lambda row, more: sum((each == part) is is_counted for each in more[row["id"]].values())


_column = DrawnColumns("groups")
LIST = declare(Worklist(
    URI, BASE, N_("Groups"), ("_label", "readers", "managers", "members", "updated"),
    own=(
        _column("readers", N_("Visible to"), "private",
                value=lambda row, more: "members" if row["is_private"] else "everybody"),
        _column("managers", N_("Managers"), kind="number", value=_of_part(MANAGER, True)),
        _column("members", N_("Members"), kind="number", value=_of_part(MANAGER, False)),
    ),
    row=BASE + "/{id}", load=lambda visit, rows: groups.members(visit.ctx, [each["id"] for each in rows]), sort="name",
    placeholder=N_("name, or member:(milo), private:yes"),
    quick=((N_("Members only"), "private:yes"), (N_("Default group"), "default:yes")),
    none=N_("No group matches."),
    empty=N_("There are no groups yet. A group is a team with its tickets, members and reply address."),
    new=(f"{BASE}/new", N_("New group")), tabs=TABS, tabs_label=N_("People"),
))  # fmt: skip


@page("GET", "/admin/people/acknowledgements/{id}", "admin")
def show_acknowledgement(visit: Visit) -> PageResponse:
    """The acknowledgement of a group, as it would be mailed to the sender of its newest ticket, for a frame."""
    try:
        html, wrong = preview.of_acknowledgement(visit.ctx, visit.id), ""
    except HelpdeskError as error:
        html, wrong = "", error.message
    return framed(html or document_of(visit, "", wrong=wrong))


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> PageResponse:
    """Remove a group; its tickets come into the default group."""
    group = lookup.record(visit, URI, visit.id)
    try:
        records.delete(visit.ctx, URI, visit.id)
    except HelpdeskError as error:
        return show_delete(visit, Form().refuse(error))
    visit.flash(_("{name} deleted.", name=group["name"]))
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/assign", "admin")
def assign_unowned(visit: Visit) -> PageResponse:
    """Assigns the open tickets of a group that have no owner."""
    count = assign_queue.add_unowned(visit.ctx, visit.id)
    visit.flash(ngettext("{count} ticket will be assigned.", "{count} tickets will be assigned.", count))
    return see(f"{BASE}/{visit.id}#assignment")


# -- buckets -----------------------------------------------------------------------------------------------------------


@page("POST", f"{BASE}/{{id}}/buckets", "admin", creates=True)
def create_bucket(visit: Visit) -> PageResponse:
    """Make a bucket in a group."""
    form = Form.sent(visit.form, ("bucket",))
    try:
        made = records.create(visit.ctx, "bucket", {"name": form.text("bucket"), "group_id": visit.id})
    except HelpdeskError as error:
        return _form(visit, _open(visit, visit.id), form.refuse(error, names={"name": "bucket"}))
    visit.flash(_("Bucket {label} created.", label=made["_label"]))
    return see(f"{BASE}/{visit.id}#buckets")


# -- rosters -----------------------------------------------------------------------------------------------------------


@page("POST", ROSTERS)
def save_rosters(visit: Visit) -> PageResponse:
    """Saves the changed cells, all or nothing; changes of others are kept."""
    try:
        chosen = roster_cells.cells(visit.form.map("part"))
        before = roster_cells.shown_cells(visit.form.json("before", {}))
        changed = roster_cells.change(visit.ctx, chosen, before)
    except HelpdeskError as error:
        return show_rosters(visit, Form().refuse(error))
    count = sum(map(len, changed.values()))
    if count:
        visit.flash(
            ngettext("{count} membership changed.", "{count} memberships changed.", count),
            visit.shown_path,
            **_back(changed, before),
        )
    else:
        visit.flash(_("Nothing was changed."))
    names = ("q", "group", "page", COLUMNS)
    kept = "&".join(f"{name}={quoted(visit.query.text(name, ''))}" for name in names if name in visit.query)
    return see(f"{ROSTERS}?{kept}" if kept else ROSTERS)


def _back(changed: dict[str, dict[str, str]], before: dict[str, dict[str, str]]) -> dict[str, str]:
    """The fields of the same form that put back what was changed."""
    earlier = {
        f"part[g{group}][w{worker}]": before.get(group, {}).get(worker, "") or REMOVE
        for group, workers in changed.items()
        for worker in workers
    }
    return earlier | {"before": json.dumps(changed)}


@page("GET", ROSTERS)
def show_rosters(visit: Visit, form: Form | None = None) -> PageResponse:
    """The members of groups: all of them for administrators, their own groups for managers."""
    actor, wrong = visit.actor, ""
    if not actor.is_admin and not actor.manages:
        raise Forbidden(_("Only administrators and managers of a group can change its members."))
    filters, mine = Form.from_values({"group": visit.query.text("group", "")}), _mine(visit)
    only = 0
    try:
        only = lookup.chosen_id(visit, URI, filters.text("group"), "group")
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
    chosen = roster_cells.overlaid(members, visit.form.tree.get("part")) if form else members
    # Shows no name of a group that the worker may not change, even if the address has its id.
    chosen_group = str(only) if only in members else "" if only else filters.text("group")
    shown = {
        str(group["id"]): {str(each["id"]): members[group["id"]].get(each["id"], REMOVE) for each in found["results"]}
        for group in listed
    }
    return render(
        visit,
        "rosters.html",
        tabs=TABS if actor.is_admin else (),
        form=form or Form(),
        found=found,
        wrong=wrong,
        groups=listed,
        members=chosen,
        managed={id for workers in members.values() for id in workers},
        before=json.dumps(shown, separators=(",", ":")),
        parts=PARTS,
        removed=REMOVE,
        columns=columns,
        most=MAX_COLUMNS,
        name=COLUMNS,
        filters=filters,
        choices=lookup.choosable(visit, URI, f"{mine} sort:name", chosen_group),
    )


def _mine(visit: Visit) -> str:
    """The query of the groups whose rosters the worker may change."""
    return "" if visit.actor.is_admin else f"id:[{','.join(map(str, visit.actor.manages))}]"


# -- forms -------------------------------------------------------------------------------------------------------------


def _form(visit: Visit, fields: OpenForm, bucket_form: Form | None = None) -> PageResponse:
    buckets: dict[str, Any] = {"results": [], "total": 0, "page": 1}
    people: list[tuple[str, str]] = []
    if fields.id:
        page = visit.query.integer("page", 1, 1, records.MAX_PAGE)
        asked = SearchRequest(f"group.id:{fields.id} sort:name", PAGE_ROWS, page)
        buckets = records.search(visit.ctx, "bucket", asked)
        people = [
            (label, _names(visit, fields.id, part))
            for label, part in ((N_("Managers"), MANAGER), (N_("Members"), MEMBER))
        ]
    shown = bucket_form or Form.from_values({"bucket": ""})
    return render(
        visit,
        "group.html",
        shown.status,
        form=fields.values,
        bucket_form=shown,
        fields=fields.change(_sender(visit, fields)),
        group=fields.stored,
        buckets=buckets,
        people=people,
        acknowledgement=ACKNOWLEDGEMENT,
        assignment=ASSIGNMENT,
        rating=RATING,
        rating_rows=range(sum(1 for each in fields.controls if each.name.startswith("rating_language_"))),
        rating_rows_name=RATING_ROWS,
        outlook=assign_queue.outlook(visit.ctx, fields.id) if fields.id else None,
        most_candidates=MAX_CANDIDATES,
        why=_why,
    )


def _open(visit: Visit, id: int) -> OpenForm:
    """The form, with rows for requests for a rating in further languages."""
    fields = FORM.open(visit, id)
    stored = list(fields.stored.get("rating_texts") or [])
    rows = range(_rating_rows(visit, len(stored)))
    texts = {
        f"rating_{part}_{row}": stored[row][part] if row < len(stored) else "" for row in rows for part in RATING_PARTS
    }
    own = [Control(name, is_own=True, is_drawn=True, kind="line") for name in texts]
    fields.controls = (*fields.controls, *own)
    return fields.fill(**texts)


def _rating_rows(visit: Visit, stored: int) -> int:
    submitted = visit.form.integer(RATING_ROWS, 0, 0, MAX_LANGUAGES) if visit.is_post else 0
    return max(submitted, min(stored + BLANK_RATING_ROWS, MAX_LANGUAGES))


def _rating_texts(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """The requests for a rating in further languages; nothing if the form has no rows for them, as an undo."""
    if RATING_ROWS not in visit.form:
        return {}
    rows = ({part: form.text(f"rating_{part}_{row}") for part in RATING_PARTS} for row in range(_rating_rows(visit, 0)))
    texts = [each for each in rows if any(text.strip() for text in each.values())]
    return {"rating_texts": texts} if texts != list(fields.stored.get("rating_texts") or []) else {}


def _why(visit: Visit, candidate: next_owner.Candidate) -> str:
    """Returns why a member gets no ticket, or how many open tickets they have."""
    count, most = ui.number(visit, candidate.open), ui.number(visit, candidate.max_open)
    in_group = ui.number(visit, candidate.open_in_group)
    if candidate.skipped == next_owner.AWAY and candidate.until:
        return _("away until {time}", time=ui.soon(visit, candidate.until))
    return {
        next_owner.AWAY: _("away until further notice"),
        next_owner.MANAGER: _("manager"),
        next_owner.NOT_TODAY: _("not here today"),
        next_owner.NOT_ACTIVE: _("not here now"),
        next_owner.FULL: _("{count} of {most} open", count=count, most=most),
        next_owner.FULL_IN_GROUP: _("{count} of {most} open in this group", count=in_group, most=most),
    }.get(candidate.skipped, _("{count} open", count=count))


def _sender(visit: Visit, fields: OpenForm) -> Control:
    """Where replies come from: the default sender, or an address that can send."""
    default, query = mail_setup.sender_choices(visit.ctx)
    none = _("The default sender ({email})", email=default) if default else _("The default sender")
    hint = N_("Addresses with a mail transport, and addresses of your domains, which use the default transport.")
    return replace(fields.control("reply_address_id"), hint=hint, none=none, query=query)


def _names(visit: Visit, group_id: int, part: str) -> str:
    """The first members of a group by name, and the number of further ones."""
    workers, more = groups.named_members(visit.ctx, group_id, part)
    names = ", ".join(sorted(lookup.choice(visit, each) for each in workers))
    return f"{names} and {more} more" if more else names or _("none")


@page("GET", f"{BASE}/{{id}}/delete", "admin")
def show_delete(visit: Visit, form: Form | None = None) -> PageResponse:
    """The data that is lost with a group."""
    group = lookup.record(visit, URI, visit.id)
    tickets, buckets = (records.count(visit.ctx, uri, f"group.id:{visit.id}") for uri in ("ticket", "bucket"))
    return render(
        visit,
        "group_delete.html",
        form=form or Form(),
        group=group,
        tickets=tickets,
        buckets=buckets,
        statuses=[each.name for each in ticket_statuses.all_of(visit.ctx) if each.group_id == visit.id],
    )


def _bucket(visit: Visit, fields: OpenForm) -> PageResponse:
    group = lookup.record(visit, URI, fields.stored["group_id"])
    return fields.render("bucket.html", bucket=fields.stored, group=group)


declare_pages(
    RecordPages(
        BASE,
        _open,
        _form,
        LIST,
        more=_rating_texts,
        created=N_("{label} created. Choose its members."),
        deleted="",
        leave=lambda visit, group: BASE if visit.record_id else f"{ROSTERS}?group={group['id']}",
    )
)
declare_pages(
    RecordPages(
        "/admin/people/buckets",
        BUCKET,
        _bucket,
        has_new=False,
        saved=N_("Bucket {name} saved."),
        deleted=N_("Bucket {name} deleted."),
        leave=lambda visit, bucket: f"{BASE}/{bucket['group_id']}#buckets",
    )
)
