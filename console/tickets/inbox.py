"""The inbox: the rows of its lists, and the actions on selected tickets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from markupsafe import Markup, escape

from console.html import ui
from console.html.confirmation import Confirmation
from console.html.ui import Option
from console.http import ticket_lists
from console.http.ticket_lists import TicketList
from console.http.visit import Visit
from console.lists import lookup, tagged
from console.lists.worklist import BulkAction, Worklist, declare
from console.lists.worklist_columns import ListColumn
from console.tickets import interrupting, list_place, present
from console.tickets.reply_choices import BUCKETS
from server.automation import macros
from server.automation.macros.running import UNDONE
from server.digits import is_whole
from server.record_types.shared import paths
from server.records import record_tags, records
from server.search.query_texts import sorted_query
from server.tickets import (
    assignment,
    latest_words,
    list_neighbours,
    properties,
    reply_drafts,
    ticket_statuses,
    undo,
)
from server.tickets.latest_words import LatestWords
from server.translation import N_, N_ngettext, N_pgettext, _, ngettext, pgettext, shown

PATH, URI = ticket_lists.PATH, ticket_lists.URI
STATUS_BADGES = {
    "open": ("ok", N_("open")),
    "waiting": ("warn", N_("waiting")),
    "closed": ("muted", N_("closed")),
    "deleted": ("err", N_("deleted")),
}
RATING_BADGES = {  # {score: badge}; the score is "" until the customer has rated
    "good": ("ok", N_pgettext("rating", "good")),
    "bad": ("err", N_pgettext("rating", "bad")),
    "": ("muted", N_pgettext("rating", "asked")),
}
SORT = ticket_lists.SORT
TAGS_IN_ROW = 3


def list_of(visit: Visit) -> TicketList:
    """Returns the list that the address requests; the first one if there is none or it was deleted."""
    name = visit.query.text("v", "")
    kind, _dot, id = name.partition(".")
    if kind == ticket_lists.GROUP and is_whole(id):
        for _id, label in lookup.choices(visit, "group", f"id:{id}"):
            return ticket_lists.of_group(id, label)
    for each in ticket_lists.saved(visit.ctx) if kind == ticket_lists.SAVED else ():
        if each.name == name:
            return each
    standard = ticket_lists.STANDARD.get(name, ticket_lists.STANDARD[ticket_lists.FIRST])
    return replace(standard, label=shown(standard.label))


# -- rows -------------------------------------------------------------------------------------------------------------


class TicketRows:
    """Further data of the tickets on a page, read when a cell is rendered; exports render none."""

    def __init__(self, visit: Visit, rows: Sequence[Mapping[str, Any]]) -> None:
        self._visit, self._rows = visit, rows

    @cached_property
    def paths(self) -> dict[int, str]:
        """The path of each ticket by id, with the way back to the list and to its neighbours."""
        visit, rows = self._visit, self._rows
        own = list_of(visit).query if visit.path == PATH else ""
        q = sorted_query(SORT, visit.query.text("sort", ""), own, visit.query.text("q", ""))
        size = visit.query.integer("limit", ui.PAGE_ROWS, 1, 100)
        first = (visit.query.integer("page", 1, 1, records.MAX_PAGE) - 1) * size + 1
        listed = list_neighbours.in_order([str(row["mask"]) for row in rows], first)
        return {row["id"]: list_place.path(each, q, visit.shown_path) for row, each in zip(rows, listed, strict=True)}

    @cached_property
    def latest(self) -> dict[int, LatestWords]:
        """The beginning of the newest message of each ticket by id."""
        return latest_words.read(self._visit.ctx, [row["latest_message_id"] for row in self._rows])

    @cached_property
    def tags(self) -> record_tags.Shown:
        """Name and color of the tags of each ticket by id."""
        return record_tags.tags_of(self._visit.ctx, URI, [row["id"] for row in self._rows])

    @cached_property
    def status_colors(self) -> dict[int, str]:
        """The color of each named status by id."""
        return named_status_colors(self._visit)

    @cached_property
    def drafts(self) -> set[int]:
        """The ids of the tickets on which the worker has an unsent draft."""
        return reply_drafts.tickets_with_own(self._visit.ctx, [row["id"] for row in self._rows])


def named_status_colors(visit: Visit) -> dict[int, str]:
    """Returns the color of each named status by id."""
    return {each.id: each.color for each in ticket_statuses.all_of(visit.ctx)}


def _ticket(visit: Visit, row: Mapping[str, Any], more: TicketRows) -> str:
    """The requester and the subject, bold while the requester waits for a reply; below, who wrote last and what."""
    return row_lines(visit, row, more, ui.link(more.paths.get(row["id"], paths.ticket(row["mask"])), row["subject"]))


def row_lines(visit: Visit, row: Mapping[str, Any], more: TicketRows, subject: Markup) -> Markup:
    """Returns the two lines of a ticket in a list. subject: HTML."""
    names = {id: str(each.get("name") or each["email"]) for id, each in (row.get("requesters") or {}).items()}
    latest = more.latest.get(row["id"])
    is_unanswered = latest is not None and not latest.worker_id and row["status"] == "open"
    mark = _mark(_("waiting for a reply")) if is_unanswered else ""
    there = escape(present.on_row(visit, row["id"]))
    marks = _marks(row, row["id"] in more.drafts) + _tags(more.tags.get(row["id"], ()))
    return Markup(  # format() of Markup takes 4 % of the page
        f'<span class="first{" unanswered" if is_unanswered else ""}">'
        f'<span class="who">{_requesters(names)}</span> {subject}{mark}{marks}'
        f' <span class="here" data-here="{row["id"]}">{there}</span></span>'
        f'<span class="words">{_words(visit, names, latest)}{_time_left(visit, row)}'
        f' <span class="mask">{escape(row["mask"])}</span></span>'
    )


def _marks(row: Mapping[str, Any], has_draft: bool) -> Markup:
    """The number of messages if there are several, and whether the worker has begun a reply."""
    messages = row["num_messages_in"] + row["num_messages_out"]
    marks = Markup()
    if messages > 1:
        label = ngettext("{count} message", "{count} messages", messages)
        marks += Markup(' <span class="count" title="{}">{}</span>{}').format(label, messages, _mark(label))
    return marks + Markup(' <span class="draft">{}</span>').format(_("Draft")) if has_draft else marks


def _tags(tags: Sequence[tuple[str, str]]) -> Markup:
    """The first tags, and the number of the others. tags: name and color."""
    shown_tags = Markup().join(Markup(" ") + ui.tag(*each) for each in tags[:TAGS_IN_ROW])
    return shown_tags + (ui.muted(f" +{len(tags) - TAGS_IN_ROW}") if len(tags) > TAGS_IN_ROW else "")


def _all_tags(visit: Visit, row: Mapping[str, Any], more: TicketRows) -> str:
    return Markup(" ").join(ui.tag(*each) for each in more.tags.get(row["id"], ()))


def _time_left(visit: Visit, row: Mapping[str, Any]) -> Markup:
    """When a ticket reopens or is due; blank for most tickets."""
    later, due_at = row.get("reopen_date"), row.get("due_at")
    if not later and not due_at:
        return Markup()
    when = ui.icon("clock") + ui.when(visit, later) if later else ui.due(visit, due_at)
    return Markup('<span class="due">{}</span>').format(when)


def _requesters(names: Mapping[str, str]) -> Markup:
    """The first requester, and the number of the others. names: by the id of the address."""
    others = f" +{len(names) - 1}" if len(names) > 1 else ""
    return ui.name(next(iter(names.values()), "")) + others


def _words(visit: Visit, requesters: Mapping[str, str], latest: LatestWords | None) -> Markup:
    """Who wrote the newest message, unless it was the first requester, and its beginning. requesters: the name of each
    address by id."""
    if latest is None:
        return Markup()
    if latest.worker_id:
        who = pgettext("author", "You") if latest.worker_id == visit.actor.worker_id else latest.who
    else:
        sender = str(latest.sender_id)
        who = "" if sender == next(iter(requesters), "") else requesters.get(sender, latest.who)
    files = ui.icon("clip") + _mark(ngettext("{count} file", "{count} files", latest.files)) if latest.files else ""
    by = Markup("<b>{}:</b> ").format(ui.name(who)) if who else ""
    return Markup("{}{}{}").format(files, by, ui.name(latest.words))


def _mark(text: str) -> Markup:
    """Words that only screen readers say."""
    return Markup(' <span class="unseen">{}</span>').format(text)


def _status(visit: Visit, row: Mapping[str, Any], more: TicketRows) -> str:
    return status_badge(row, more.status_colors if row["status_name"] else {})


def status_badge(row: Mapping[str, Any], colors: Mapping[int, str]) -> str:
    """Returns the status of a ticket. colors: of named statuses by id."""
    if row["status_name"]:
        return ui.tag(row["status_name"], colors[row["status_name_id"]])
    return ui.badge(*STATUS_BADGES[row["status"]])


def _place(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    return ui.name(" / ".join(filter(None, (row.get("group__label"), row.get("bucket__label")))))


def _owner(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    if not row["owner_id"]:
        return ui.muted(_("Nobody"))
    name = str(row.get("owner__label") or "")
    return Markup('<span class="owner">{}{}</span>').format(ui.avatar(name or "?", row["owner_id"]), ui.name(name))


def _rating(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    return ui.badge(*RATING_BADGES[row["rating"]["score"]]) if row.get("rating") else ""


def _rating_word(row: Mapping[str, Any], more: Any) -> str:
    return str(row["rating"]["score"] or "asked") if row.get("rating") else ""


def _updated(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    return ui.short_time(visit, row["updated"])


# -- actions on selected tickets ---------------------------------------------------------------------------------------


def _status_names(visit: Visit) -> list[Option]:
    return [(str(each.id), each.name) for each in ticket_statuses.all_of(visit.ctx)]


def _status_groups(visit: Visit) -> dict[str, Option]:
    """The group of each status that only one group uses."""
    only = {str(each.id): str(each.group_id) for each in ticket_statuses.all_of(visit.ctx) if each.group_id}
    labels = dict(lookup.choices(visit, "group", f"id:[{','.join(set(only.values()))}]")) if only else {}
    return {id: (group, labels.get(group, group)) for id, group in only.items()}


STATE = ("status_id", "status_name_id", "reopen_date")
# The message after an action, for one ticket and for `{count}`.
SAYS = {
    "close": N_ngettext("Ticket closed.", "{count} tickets closed."),
    "open": N_ngettext("Ticket reopened.", "{count} tickets reopened."),
    "wait": N_ngettext("Snoozed until {value}.", "{count} tickets snoozed until {value}."),
    "status": N_ngettext("Set to {value}.", "{count} tickets set to {value}."),
    "take": N_ngettext("Assigned to you.", "{count} tickets assigned to you."),
    "assign": N_ngettext("Assigned to {value}.", "{count} tickets assigned to {value}."),
    "unassign": N_ngettext("Unassigned.", "{count} tickets unassigned."),
    "next": N_ngettext("Ticket goes to whoever is next.", "{count} tickets go to whoever is next."),
    "move": N_ngettext("Moved to {value}.", "{count} tickets moved to {value}."),
    "tag": tagged.CHANGED,
    "spam": N_ngettext("Marked as spam and deleted.", "{count} tickets marked as spam and deleted."),
    "delete": N_ngettext("Ticket deleted.", "{count} tickets deleted."),
}


def _asks(act: str, owner_id: str = "") -> Callable[[Visit, Sequence[int | str], str], Confirmation | None]:
    """Returns the question of an action, which is asked while a colleague writes. act: of interrupting.QUESTIONS.
    owner_id: the next owner: "me", or "" for the chosen one."""

    def asks(visit: Visit, ids: Sequence[int | str], value: str) -> Confirmation | None:
        owner = str(visit.actor.worker_id) if owner_id == "me" else value
        return interrupting.question_on_selected(visit, ids, act, owner)

    return asks


def _asks_by_name(visit: Visit, ids: Sequence[int | str], value: str) -> Confirmation | None:
    """Returns the question before a named status that closes tickets on which colleagues write."""
    act = interrupting.act_of_status(visit, {"status_name_id": value})
    return interrupting.question_on_selected(visit, ids, act) if act else None


ACTIONS = (
    BulkAction("close", N_("Close"), {"status": "closed"}, key="e", restores=STATE, asks=_asks("close"),
               says=SAYS["close"]),
    BulkAction("open", N_pgettext("act", "Reopen"), {"status": "open"}, restores=STATE, is_rare=True,
               says=SAYS["open"]),
    BulkAction("wait", N_("Wait until"), {"status": "waiting"}, key="w", restores=STATE, field="reopen_at",
               hint=N_("mon 9am"), is_time=True,
               says=SAYS["wait"]),
    BulkAction("status", N_("Status"), {}, restores=STATE, field="status_name_id", choices=_status_names,
               is_there=lambda visit: bool(_status_names(visit)), is_rare=True, are_acts=True, asks=_asks_by_name,
               says=SAYS["status"], limits=_status_groups, limited_by="group_id",
               left_out=N_("Statuses that not all groups of the selected tickets use are left out.")),
    BulkAction("reply", N_("Reply"), {}, key="r", page=f"{PATH}/reply"),
    BulkAction("take", N_("Assign to me"), {"owner_id": "me"}, key="i", restores=("owner_id",),
               asks=_asks("owner", "me"),
               says=SAYS["take"]),
    BulkAction("assign", N_("Assign"), {}, key="a", restores=("owner_id",), field="owner_id",
               record_choices=lookup.WORKERS, is_rare=True, asks=_asks("owner"),
               says=SAYS["assign"],
               says_none=SAYS["unassign"]),
    BulkAction("next", N_("Assign to whoever is next"), {"owner_id": "0", assignment.FIELD: assignment.GROUP},
               restores=("owner_id",), is_rare=True, asks=_asks("owner"),
               says=SAYS["next"]),
    BulkAction("move", N_("Move"), {}, key="m", restores=("bucket_id", "owner_id", "status_name_id"),
               field="bucket_id", record_choices=BUCKETS,
               change=lambda visit, id, value: properties.move(visit.ctx, id, value), is_rare=True,
               says=SAYS["move"]),
    BulkAction("tag", N_("Tag"), {}, key="t", restores=("tag_names",), field="tag_names", hint=N_("billing, -vip"),
               suggest="/-/choose/tag", says=SAYS["tag"],
               change=lambda visit, id, value: record_tags.change_tags(visit.ctx, URI, id, value)),
    BulkAction("set", N_("Set a field"), {}, key="f", page=f"/records/{URI}/set", is_rare=True),
    BulkAction("note", N_("Note"), {}, key="n", page=f"{PATH}/note", is_rare=True),
    BulkAction("merge", N_("Merge"), {}, key="M", page=f"{PATH}/merge", is_rare=True),
    BulkAction("spam", N_("Spam"), {"spam_training": "S", "status": "deleted"}, key="!",
               restores=("spam_training", *STATE), is_rare=True, asks=_asks("spam"),
               says=SAYS["spam"]),
    BulkAction("macro", N_("Run a macro"), {}, key="R", page=f"{PATH}/macro", restores=UNDONE,
               is_there=lambda visit: macros.are_there(visit.ctx), is_rare=True),
    BulkAction("delete", N_("Delete"), {"status": "deleted"}, key="#", restores=STATE, is_rare=True,
               asks=_asks("delete"),
               says=SAYS["delete"]),
)  # fmt: skip
TICKETS = declare(Worklist(
    URI, PATH, N_("Inbox"), ("_label", "state", "place", "owner", "updated"), sort=SORT,
    own=(
        ListColumn("_label", N_("Ticket"), _ticket, "subject", "main", value=lambda row, more: row["subject"]),
        ListColumn("state", N_("Status"), _status, "status.id",
                   value=lambda row, more: row["status_name"] or row["status"]),
        ListColumn("place", N_("Group and bucket"), _place, expand="group_,bucket_",
                   value=lambda row, more: row.get("bucket__label") or ""),
        ListColumn("owner", N_("Owner"), _owner, expand="owner_",
                   value=lambda row, more: row.get("owner__label") or ""),
        ListColumn("rating", N_("Rating"), _rating, "rating", expand="rating", value=_rating_word),
        ListColumn("tags", N_("Tags"), _all_tags, expand="tags", value=lambda row, more: ", ".join(row["tags"])),
        ListColumn("updated", N_("Updated"), _updated, "updated", is_time=True),
    ),
    placeholder=N_("Filter: status, owner, words"),
    load=TicketRows, expand="requesters,org_", by=("group.id", "owner.id", "org.id", "status", "bucket.id", "rating"),
    actions=ACTIONS,
    changes="worker", none=N_("No ticket matches."), empty=N_("No tickets here."), is_followed=True, hides_alike=True,
    new=("/compose", N_("New ticket")), restore=lambda ctx, uri, id, fields: undo.restore(ctx, id, fields),
))  # fmt: skip


# What an empty list says, the list that it leads to, and the words of the link; "" for a new ticket.
EMPTY = {
    "mine": (N_("Inbox zero: no open tickets are yours."), "unassigned", N_("Take the next ticket")),
    "waiting": (N_("None of your tickets is waiting. Snooze one to see it again when it matters."), "mine",
                N_("Show my open tickets")),
    "unassigned": (N_("Every open ticket has an owner."), "mine", N_("Show my open tickets")),
    "all-waiting": (N_("No ticket is waiting for a date or a reply."), "open", N_("Show all open tickets")),
    "open": (N_("No open tickets. New email appears here."), "", ""),
    "late": (N_("Nothing is overdue."), "open", N_("Show all open tickets")),
}  # fmt: skip


def of_list(listed: TicketList) -> Worklist:
    """Returns the list as a page shows it."""
    empty, name, label = EMPTY.get(listed.name, (TICKETS.empty, "open", N_("Show all open tickets")))
    new = (ticket_lists.STANDARD[name].path, label) if name else TICKETS.new
    return replace(TICKETS, title=listed.label, own_query=listed.query, empty=empty, new=new)


def of_search() -> Worklist:
    """Returns the list of all tickets, at the search address of the type."""
    return replace(TICKETS, path=f"/search/{URI}", title=N_("Tickets"))
