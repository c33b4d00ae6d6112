"""Finding by name: the jump to anything, and the records that a field lets choose. Both are pages that work without
scripts, and both answer scripts in JSON."""

import re
from dataclasses import asdict
from urllib.parse import unquote

from console.forms import owners
from console.html.rendering import render
from console.html.samples import Sample
from console.http import navigation, ticket_lists
from console.http.page_response import PageResponse, json_response
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from server.automation import macros
from server.dataclass import dataclass
from server.help import articles, synonyms
from server.people import project_boards, saved_searches, workspace_pages
from server.people.buckets import usable_buckets
from server.record_types.shared import paths, record_owners
from server.records import records
from server.settings import SETTINGS
from server.tickets import masks
from server.tickets.by_words import find_by_words
from server.translation import N_, _, shown

MAX_HITS = 40  # hits of one jump
MAX_OF_KIND = 8  # records of one type, settings, help pages
MAX_CHOSEN_FROM = 20  # records that a field shows at once; more words show others
_TICKET_PAGE = re.compile(r"/tickets/([^/?#]+)")
SETTINGS_PAGE = "/admin/system/settings"


@dataclass(frozen=True)
class JumpKind:
    """Records that have a page. path: of one of them, by its id. is_open: whether every worker may open it."""

    uri: str
    label: str
    path: str
    is_open: bool = False


KINDS = (
    JumpKind("automation", N_("Automation"), "/automations/{}"),
    JumpKind("webhook_listener", N_("Webhook"), "/automations/webhooks/{}"),
    JumpKind("oauth_app", N_("OAuth app"), "/admin/apps/{}"),
    JumpKind("worker", N_("Worker"), "/admin/people/{}"),
    JumpKind("group", N_("Group"), "/admin/people/groups/{}"),
    JumpKind("role", N_("Role"), "/admin/people/roles/{}"),
    JumpKind("mail_transport", N_("Mail transport"), "/admin/mail/transports/{}"),
    JumpKind("mailbox", N_("Mailbox"), "/admin/mail/mailboxes/{}"),
    JumpKind("connected_service", N_("Connected service"), "/admin/connections/{}"),
    JumpKind("connected_account", N_("Connected account"), "/admin/connections/accounts/{}"),
    JumpKind("custom_field", N_("Custom field"), "/admin/fields/{}"),
    JumpKind("custom_fieldset", N_("Fieldset"), "/admin/fields/sets/{}"),
    JumpKind("automation_timer", N_("Timer"), "/admin/jobs/timers/{}"),
    JumpKind("automation_event", N_("Event"), "/automations/events/{}"),
    JumpKind("snippet", N_("Snippet"), "/snippets/{}", is_open=True),
    JumpKind("kb_article", N_("Help article"), "/articles/{}", is_open=True),
    JumpKind("kb_category", N_("Category of help articles"), "/articles/categories/{}", is_open=True),
)
PLACES = {each.uri: each.path for each in KINDS}
# What any worker looks for by name, besides tickets.
PEOPLE = (("contact", N_("Contact")), ("address", N_("Address")), ("org", N_("Organization")))


@dataclass(frozen=True)
class JumpTarget:
    """A destination. kind: in a word or two."""

    label: str
    kind: str
    path: str


@page("GET", "/jump")
def jump(visit: Visit) -> PageResponse:
    """The places that fit what was typed."""
    q = visit.query.text("q", "").strip()
    return render(visit, "jump.html", q=q, hits=found(visit, q), most=MAX_HITS)


@page("GET", "/-/jump")
def jump_while_typing(visit: Visit) -> PageResponse:
    """The same for scripts: {hits: [{label, kind, path}]}."""
    return json_response({"hits": [asdict(each) for each in found(visit, visit.query.text("q", "").strip())]})


@page("GET", "/choose/{name}")
def choose(visit: Visit) -> PageResponse:
    """Records of a type, to be looked up for a field that takes their number. Raises NotFound."""
    q = visit.query.text("q", "").strip()
    results, total = _choosable(visit, q)
    name = visit.arguments["name"]
    uris = {owners.NAME: record_owners.TYPES, lookup.PLACE: ("bucket",)}.get(name, (name,))
    samples = [Sample("GET", f"/rest/records/{uri}/search.json", [("q", q)] if q else []) for uri in uris]
    return render(visit, "choose.html", q=q, what=name.replace("_", " "), samples=samples, results=results, total=total)


@page("GET", "/-/choose/{name}")
def choose_while_typing(visit: Visit) -> PageResponse:
    """The same for scripts: {results: [{id, label}], total}. Raises NotFound."""
    results, total = _choosable(visit, visit.query.text("q", "").strip())
    return json_response({"results": [{"id": id, "label": label} for id, label in results], "total": total})


def found(visit: Visit, q: str) -> list[JumpTarget]:
    """Searches everything by name: tickets by mask or words, people, pages, records, saved searches, settings and help
    that contain every word or a synonym; all pages if the text is blank. Names that begin with the words come first."""
    queries = [q, *synonyms.rewordings(q)] if q else [q]
    pages = [hit for each in queries for hit in _pages(visit, each)]
    if not q:
        return list(dict.fromkeys(pages))[:MAX_HITS]
    start = q.lower() if len(q) > 1 else "\0"
    first = [each for each in pages if each.label.lower().startswith(start)]
    by_words = find_by_words(visit.ctx, q, MAX_OF_KIND)
    tickets = [JumpTarget(label, _("Ticket"), paths.ticket(mask)) for label, mask in by_words]
    hits = [*first, *_macros(visit, q), *tickets, *pages, *_workspaces(visit, q)]
    hits += [*_group_lists(visit, q), *_saved(visit, q)]
    hits += [hit for each in queries for hit in (*_records(visit, each), *_settings(visit, each))]
    hits += [hit for each in (*queries[1:], q) for hit in _help(visit, each)]  # a word of others is rarely in our help
    by_path = {each.path: each for each in reversed(hits)}
    return [each for each in dict.fromkeys(hits) if by_path[each.path] is each][:MAX_HITS]


def _macros(visit: Visit, q: str) -> list[JumpTarget]:
    """Those for the ticket whose page was open, by name or label; all of them for "macro"."""
    there = _TICKET_PAGE.match(visit.referring_path)
    id = masks.ticket_id(visit.ctx, unquote(there[1])) if there else None
    if there is None or id is None or not records.may(visit.ctx, "ticket", "update", id):
        return []
    words, base = q.lower().split(), f"/tickets/{there[1]}/macros"
    usable = macros.usable(visit.ctx, id)
    fitting = [each for each in usable if _fits(words, f"{_('Macro')} macro {each.label} {each.name}")]
    return [JumpTarget(each.label, _("Macro"), f"{base}?macro={each.id}") for each in fitting[:MAX_OF_KIND]]


def _pages(visit: Visit, q: str) -> list[JumpTarget]:
    """Places of the console and lists of records; those whose label begins with the first word before others."""
    words = q.lower().split()
    hits = [
        JumpTarget(shown(each.label), _("Page"), each.path)
        for each in navigation.open_to(visit.actor)
        if _fits(words, f"{each.label} {shown(each.label)} {each.words} {shown(each.words)}")
    ]
    hits += [
        JumpTarget(shown(each.label), _("List"), each.path)
        for each in ticket_lists.STANDARD.values()
        if words and _fits(words, f"{each.label} {shown(each.label)}")
    ]
    hits += [
        JumpTarget(label, _("List"), f"/search/{each.uri}")
        for each in visit.service.registry
        if each.offers("search") and _fits(words, f"{each.label_names[1]} {(label := shown(each.label_names[1]))}")
    ][: MAX_OF_KIND if words else 0]
    if words:
        hits.sort(key=lambda hit: not hit.label.lower().startswith(words[0]))
    return hits


def _group_lists(visit: Visit, q: str) -> list[JumpTarget]:
    """Returns the ticket lists of groups whose names match; the rail shows only some of them."""
    groups = records.search_names(visit.ctx, "group", q, MAX_OF_KIND)["results"]
    lists = [ticket_lists.of_group(each["id"], str(each[records.LABEL])) for each in groups]
    return [JumpTarget(each.label, _("List"), each.path) for each in lists]


def _saved(visit: Visit, q: str) -> list[JumpTarget]:
    label = shown(visit.service.registry.type(saved_searches.URI).label_names[0])
    return [JumpTarget(each.label, label, each.path) for each in saved_searches.named(visit.ctx, q, MAX_OF_KIND)]


def _workspaces(visit: Visit, q: str) -> list[JumpTarget]:
    """Returns the pages and boards whose names match."""
    pages = workspace_pages.named(visit.ctx, q, MAX_OF_KIND)
    boards = project_boards.named(visit.ctx, q, MAX_OF_KIND)
    hits = [JumpTarget(each.label, _("Page"), each.path) for each in pages]
    return hits + [JumpTarget(each.label, _("Board"), each.path) for each in boards]


def _records(visit: Visit, q: str) -> list[JumpTarget]:
    """People and snippets for everybody; what administrators look after for them."""
    hits = [
        JumpTarget(str(each[records.LABEL]), shown(label), paths.record(uri, each["id"]))
        for uri, label in PEOPLE
        for each in records.search_names(visit.ctx, uri, q, MAX_OF_KIND)["results"]
    ]
    hits += [
        JumpTarget(each["_label"], shown(kind.label), kind.path.format(each["id"]))
        for kind in KINDS
        if kind.is_open or visit.actor.is_admin
        for each in records.search_names(visit.ctx, kind.uri, q, MAX_OF_KIND)["results"]
    ]
    return hits


def _settings(visit: Visit, q: str) -> list[JumpTarget]:
    """Those whose name has every word, then those whose description has."""
    if not visit.actor.is_admin:
        return []
    words = q.lower().split()
    by_name = [each.name for each in SETTINGS if _fits(words, f"{each.name} {each.name.replace('_', ' ')}")]
    by_help = [each.name for each in SETTINGS if _fits(words, f"{each.help} {shown(each.help)}")]
    names = list(dict.fromkeys([*by_name, *by_help]))[:MAX_OF_KIND]
    return [JumpTarget(name, _("Setting"), f"{SETTINGS_PAGE}?q={name}") for name in names]


def _help(visit: Visit, q: str) -> list[JumpTarget]:
    """Pages of the help by their titles, then the sections that have every word, those in whose heading it is first."""
    words, pages = q.lower().split(), articles.articles(visit.service.base_url)
    hits = [
        JumpTarget(each.title, _("Help"), f"{articles.BASE}/{each.name}") for each in pages if _fits(words, each.title)
    ]
    sections = [each for each in articles.found(pages, q) if each.part.id and not each.missing]
    hits += [JumpTarget(f"{each.article.title}: {each.part.title}", _("Help"), each.path) for each in sections]
    return hits[:MAX_OF_KIND]


def place_of(visit: Visit, uri: str, id: int = 0) -> str:
    """The page where the worker edits or creates such a record, "" if it has none of its own."""
    is_admin = visit.actor.is_admin
    return next((each.path.format(id or "new") for each in KINDS if each.uri == uri and (each.is_open or is_admin)), "")


def _fits(words: list[str], text: str) -> bool:
    return all(word in text.lower() for word in words)


def _choosable(visit: Visit, q: str) -> tuple[list[tuple[int, str]], int]:
    """The matching records as pairs of id and label, and the number of all matches."""
    if visit.arguments["name"] == owners.NAME:
        return owners.found(visit, q, MAX_CHOSEN_FROM)
    if visit.arguments["name"] == lookup.PLACE:
        return usable_buckets(visit.ctx, MAX_CHOSEN_FROM, q)
    uri = visit.service.registry.type(visit.arguments["name"]).uri
    page = records.search_names(visit.ctx, uri, q, MAX_CHOSEN_FROM)
    return [(each["id"], lookup.choice(visit, each)) for each in page["results"]], page["total"]
