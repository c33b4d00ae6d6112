"""Requests of lists: the list of any record type, columns, actions on selected records, exports."""

from collections.abc import Sequence
from functools import partial
from urllib.parse import urlencode

from console.html import confirmation, resume
from console.html.confirmation import Confirmation
from console.http.live import latest_cursor, stream
from console.http.page_response import PageResponse, json_response, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import worklist, worklist_columns
from console.lists.selection import (
    MAX_SELECTED,
    UNDO,
    back_to_list,
    flash_undoable,
    for_each,
    former_values,
    refusals,
)
from console.lists.worklist import MAX_MATCHING, BulkAction, Key, Worklist
from console.pages.jump import place_of
from console.tickets import inbox, present
from server.context import Context
from server.digits import id_in
from server.errors import AdminOnly, Invalid, NotFound, NotOffered
from server.people import list_columns
from server.records import changes, records
from server.tickets import following
from server.translation import N_, N_ngettext, _, in_sentence, ngettext, shown
from server.web.endpoint_call import News

# What people look for first, of the keys that a type has.
FIRST = (
    "status",
    "type",
    "group",
    "owner",
    "org",
    "ticket",
    "worker",
    "email",
    "sender",
    "phone",
    "amount",
    "due_at",
    "priority",
    "updated",
    "updated_at",
    "created",
    "created_at",
)
MOST_FIRST = 5
BASE, BULK, COLUMNS = "/search", "/-/bulk", "/-/columns"
FOLLOW, NEWS = "/-/follow", "/-/news"


@page("GET", f"{BASE}/{{type}}")
def show(visit: Visit) -> PageResponse:
    """The records of a type, as far as the worker may read them. Raises NotFound."""
    return worklist.page(visit, any_type(visit, visit.arguments["type"]))


def any_type(visit: Visit, uri: str) -> Worklist:
    """The list of a type without a page of its own, built from the registry. Raises NotFound."""
    record_type = visit.service.registry.type(uri)
    if record_type.uri == inbox.URI:
        return inbox.of_search()
    if not record_type.operations["search"]:
        raise NotOffered(_("{type} cannot be searched.", type=record_type.label_names[1]))
    sets = BulkAction("set", N_("Set a field"), page=f"/records/{uri}/set")
    actions = (
        *((sets,) if record_type.operations["update"] and not place_of(visit, uri) else ()),
        *((DELETE,) if record_type.operations["delete"] else ()),
    )
    name = in_sentence(record_type.label_names[0])
    new = (f"/records/{record_type.uri}/new", _("New {record}", record=name))
    creates = records.may(visit.ctx, record_type.uri, "create")
    return Worklist(
        record_type.uri,
        f"{BASE}/{record_type.uri}",
        record_type.label_names[1],
        _first_columns(visit, uri),
        actions=actions,
        changes="worker",
        empty=EMPTY.get(uri, N_("None yet.")),
        none=N_("No matches."),
        new=new if creates else None,
        import_path=f"/records/{record_type.uri}/import" if creates else "",
    )


# What a list is for, where it may be empty on a new desk.
EMPTY = {
    "asset": N_("No assets yet. An asset is a device or a license of a customer."),
    "attachment": N_("No files yet. Files of messages, comments and records appear here."),
    "calendar": N_("No calendars yet. A calendar has the opening hours and holidays for service targets."),
    "comment": N_("No notes yet. Colleagues read them on the record; customers do not."),
    "contact": N_("No people yet. Everybody who writes to you is added here."),
    "email_signature": N_("No signatures yet. A signature is the text below the replies of a group."),
    "html_template": N_("No mail templates yet. A template is the layout around replies."),
    "kb_article": N_("No help articles yet. Link them in replies instead of writing the same again."),
    "org": N_("No organizations yet. They join the people and tickets of a company."),
    "saved_search": N_("No saved searches yet. Search for tickets, then choose Save search under View."),
    "snippet": N_("No snippets yet. A snippet is a text that you insert into replies with a few letters."),
    "task": N_("No tasks yet. A task is something to do until a date, with an owner."),
}
DELETE = BulkAction(
    "delete",
    N_("Delete"),
    deletes=True,
    confirm=N_("Delete the selected records? This cannot be undone."),
    says=N_ngettext("Record deleted.", "{count} records deleted."),
)


def _first_columns(visit: Visit, uri: str) -> tuple[str, ...]:
    """The default columns: the label, the short description of the type, and the time of the last change."""
    available = worklist_columns.available(visit.ctx, visit.service.registry.type(uri), ())
    return ("_label", *[name for name in FIRST if name in available][:MOST_FIRST])


@page("POST", COLUMNS)
def choose_columns(visit: Visit) -> PageResponse:
    """Keep which columns a list shows; none for those that it begins with. Raises Invalid, NotFound."""
    listing = asked_list(visit)
    names = [] if visit.form.flag("usual") else visit.form.text_list("columns")
    worklist.require_columns(names, worklist.available(visit, listing))
    list_columns.choose(visit.ctx, listing.path, names)
    return see(_back(visit, listing))


@page("POST", BULK)
def act(visit: Visit) -> PageResponse:
    """Performs an action on the selected records. Each is done by itself, with the rights of the caller: refusals are
    reported with the reason. Raises Invalid, AdminOnly, NotFound."""
    listing = asked_list(visit)
    action = _action(visit, listing)
    ids, further = _selected(visit, listing)
    if action.page and len(ids) > MAX_SELECTED:
        further, ids = further + len(ids) - MAX_SELECTED, ids[:MAX_SELECTED]
    rest = [ngettext("{count} more matches.", "{count} more match.", further)] if further else []
    if action.page:
        if further:
            visit.flash(" ".join((_("The first {count} are selected.", count=len(ids)), *rest)))
        return see(f"{action.page}?{urlencode({'ids': ','.join(map(str, ids)), 'back': _back(visit, listing)})}")
    if listing.changes.startswith("proven") and not visit.who.is_stepped_up(visit.now):
        return resume.again(visit, resume.CONFIRM)
    if action.confirm and not confirmation.is_given(visit):
        return _ask(visit, listing, action, ids, _irrevocable(action, len(ids), rest))
    value = visit.form.text(f"value_{action.name}", "")
    if action.field and not value.strip():
        raise Invalid(_("Choose or enter a value for “{action}”.", action=shown(action.label)), field="value")
    if action.record_choices is not None:
        value = str(action.record_choices.chosen(visit, value))
    if action.asks is not None and not confirmation.is_given(visit):
        question = action.asks(visit, ids, value)
        if question is not None:
            return _ask(visit, listing, action, ids, question)
    if action.run is not None:
        done_rows, refused = for_each([str(id) for id in ids], partial(action.run, visit))
        visit.flash(" ".join(_sentences(visit, action, len(done_rows), refused, value)))
        return see(_back(visit, listing))
    done, refused = worklist.apply(visit, listing, action, [int(id) for id in ids], value)
    sentences = [*_sentences(visit, action, len(done), refused, value), *rest]
    back = _back(visit, listing)
    if action.undo and done:
        ids_done = [str(id) for id in done]
        visit.flash(" ".join(sentences), BULK, list=listing.path, do=action.undo, back=back, **{"ids[]": ids_done})
    else:
        before = done if action.restores else {}
        flash_undoable(visit, sentences, UNDO, before, list=listing.path, do=action.name, back=back)
    return see(back)


def _sentences(visit: Visit, action: BulkAction, count: int, refused: list[str], value: str) -> list[str]:
    """The result of an action, and the records that refused it."""
    return [*([action.sentence(visit, count, value)] if count else []), *refusals(refused)]


@page("POST", UNDO)
def undo(visit: Visit) -> PageResponse:
    """Undoes an action, each record with the rights of the caller. Raises Invalid, AdminOnly, NotFound."""
    listing = asked_list(visit)
    action = _action(visit, listing)
    before = {
        id: {name: str(fields[name]) for name in action.restores if name in fields}
        for id, fields in former_values(visit, MAX_MATCHING).items()
        if isinstance(fields, dict)
    }
    done, refused = worklist.restore(visit, listing, before)
    sentences = [_("Undone.")] if done else []
    visit.flash(" ".join([*sentences, *refusals(refused)]))
    return see(_back(visit, listing))


@page("GET", f"{FOLLOW}/{{type}}")
def follow(visit: Visit) -> PageResponse:
    """A stream of changes to records of a type that the worker may read: {count}; 0 if only the people on them changed.
    Raises NotFound."""
    uri = visit.service.registry.type(visit.arguments["type"]).uri
    since = latest_cursor(visit, following.VERSIONS)
    if since is None:
        return json_response({"cursor": following.cursor(visit.ctx)})

    def news(ctx: Context, cursor: int) -> News:
        count, upto, is_moved = following.number_since(ctx, uri, cursor)
        return News([(upto, {"count": count})] if count or (is_moved and uri == inbox.URI) else [], upto)

    return stream(changes.CHANNEL, (FOLLOW, uri), since, news)


@page("GET", NEWS)
def show_news(visit: Visit) -> PageResponse:
    """Responds with the changes of a list of tickets: {new: number of tickets that changed since it was shown, total:
    number of all if none did, here: {ticket id: workers who are on it} of these ids}. Raises BadQuery."""
    query, since = visit.query.text("q", ""), visit.query.integer("since", 0, 0, 2**40)
    new = records.count(visit.ctx, inbox.URI, f'{query} updated:"{since} to now"')
    total = None if new else records.count(visit.ctx, inbox.URI, query)
    ids = [int(each) for each in visit.query.text("ids", "").split(",") if id_in(each)][:MAX_SELECTED]
    here = {id: people for id in ids if (people := present.on_row(visit, id))}
    readable = records.readable_ids(visit.ctx, inbox.URI, here)
    return json_response({"new": new, "total": total, "here": {id: here[id] for id in sorted(readable)}})


def _irrevocable(action: BulkAction, count: int, rest: list[str]) -> Confirmation:
    """The question before what cannot be undone."""
    selected = ngettext("{count} record is selected.", "{count} records are selected.", count)
    return Confirmation(" ".join((shown(action.confirm), selected, *rest)), shown(action.label))


def _ask(
    visit: Visit, listing: Worklist, action: BulkAction, ids: Sequence[Key], question: Confirmation
) -> PageResponse:
    """The page with a question before an action."""
    back = _back(visit, listing)
    fields = [("list", listing.path), ("do", action.name), ("back", back), *(("ids[]", str(id)) for id in ids)]
    value = f"value_{action.name}"
    if value in visit.form:
        fields.append((value, visit.form.text(value, "")))
    return resume.question_page(visit, question, fields, target=BULK, back=back, is_undoable=not action.confirm)


def asked_list(visit: Visit) -> Worklist:
    """The list that a form is about. Raises NotFound."""
    path = visit.form.text("list", "")
    if path in worklist.DECLARED:
        return worklist.DECLARED[path]
    base, _slash, uri = path.rpartition("/")
    if base != BASE:
        raise NotFound(_("There is no such list."))
    return any_type(visit, uri)


def _action(visit: Visit, listing: Worklist) -> BulkAction:
    """The action of a form. Raises AdminOnly, Invalid."""
    if "admin" in listing.changes and not visit.actor.is_admin:
        raise AdminOnly(_("Only administrators can do this."))
    name = visit.form.text("do", "")
    actions = {each.name: each for each in listing.actions}
    if name not in actions:
        raise Invalid(_("Choose what to do with the selected records."), field="do")
    return actions[name]


def _selected(visit: Visit, listing: Worklist) -> tuple[list[Key], int]:
    """The selected rows, or the first ones that the list finds, and the number of further ones. Rows that are not
    records are identified by a text."""
    if listing.source is None and visit.form.flag("every"):
        matching, total = records.first_ids(visit.ctx, listing.uri, visit.form.text("query", ""), MAX_MATCHING)
        return list(matching), max(total - len(matching), 0)
    sent: Sequence[Key] = visit.form.id_list("ids") if listing.source is None else visit.form.text_list("ids")
    ids = list(dict.fromkeys(sent))
    if not ids:
        raise Invalid(_("Select at least one record."), field="ids")
    most = MAX_MATCHING if confirmation.ANSWER in visit.form else MAX_SELECTED  # a confirmed act may have more
    if len(ids) > most:
        raise Invalid(_("Select at most {count} records.", count=most), field="ids")
    return ids, 0


def _back(visit: Visit, listing: Worklist) -> str:
    return back_to_list(visit, listing.path)
