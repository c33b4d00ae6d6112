"""The start page: the day of a worker, and that of the team for those who lead it."""

import json

from console.html.form import sentence
from console.html.rendering import render
from console.html.samples import Sample
from console.html.templates import fragment
from console.http import ticket_lists
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages import start_figures
from server.apps import token_lists
from server.automation import log_search
from server.first_start import demo, setup, to_do
from server.outbox import mail_queue
from server.queries import desk_figures
from server.record_types.shared import entries, paths
from server.records import records
from server.records.records import LABEL, SearchRequest
from server.sign_in import security
from server.translation import N_, _

WEEK_SECONDS = 7 * 86400
MOST_WRONG = 5  # problems shown at once
MAX_NEW = 6  # notifications, and tickets, shown at once
NEXT = "status:open owner.id:me sort:updated"
# What to try in a new service: {item: (what, why, where)}; where it is "" there is a button instead.
TRIED = {
    "mailbox": (
        N_("Connect a mailbox"),
        N_("Receive and send email with Google, Microsoft 365 or any other provider."),
        "/admin/mail/connect",
    ),
    "ticket": (N_("Send yourself a test ticket"), N_("It is created the way an incoming email creates one."), ""),
    "token": (N_("Create a token"), N_("An API key for your scripts."), "/admin/tokens/new"),
    "package": (N_("Import a package"), N_("Automations, fields and searches from others."), "/admin/packages"),
    "worker": (N_("Invite a worker"), N_("Somebody to answer tickets with you."), "/admin/people/new"),
    "backups": (N_("Set up backups"), N_("Choose a folder on another disk and a schedule."), "/admin/backups"),
}


@page("GET", "/", "anyone")
def show(visit: Visit) -> PageResponse:
    """The day of the worker and what needs attention; a welcome for visitors."""
    if visit.session is None or visit.session.waits_for_code:
        is_set_up = setup.is_set_up(visit.service)
        return PageResponse(fragment("welcome.html", is_set_up=is_set_up, base_url=visit.service.base_url))
    ctx = visit.ctx
    news = SearchRequest(f"isRead:no worker.id:{visit.actor.worker_id} sort:-id", MAX_NEW, expand=LABEL)
    is_lead = visit.actor.is_admin or bool(visit.actor.manages)
    times = desk_figures.times(ctx) if is_lead else []
    lists = ticket_lists.read(ctx)
    reported = [("/rest/data/query.json", q) for q in start_figures.queries(visit)] if is_lead else []
    searches = [
        ("/rest/records/notification/search.json", news.q),
        ("/rest/records/ticket/search.json", NEXT),
        *reported,
    ]
    items = [(each, *TRIED[each.name]) for each in to_do.list_items(ctx)]
    return render(
        visit,
        "start.html",
        own=start_figures.own_tiles(visit, lists),
        news=records.search(ctx, "notification", news),
        tickets=[
            (paths.ticket(each["mask"]), each)
            for each in records.search(ctx, "ticket", SearchRequest(NEXT, MAX_NEW))["results"]
        ],
        charts=start_figures.own_chart(visit),
        team=start_figures.team_tiles(visit, lists, times) if is_lead else (),
        pictures=start_figures.pictures(visit, times) if is_lead else (),
        brief=lambda each: entries.brief(json.loads(each["event_json"])) or each[LABEL],
        most_wrong=MOST_WRONG,
        sentence=sentence,
        suggestions=_suggestions(visit) if visit.actor.is_admin else (),
        items=items,
        samples=[Sample("GET", path, [("q", q)]) for path, q in searches],
        is_unfinished=visit.actor.is_admin and bool(setup.remaining_steps(ctx)),
        has_demo=visit.actor.is_admin and demo.is_filled(ctx),
        all_done=all(each.is_done for each, *_ in items),
    )


def _suggestions(visit: Visit) -> list[tuple[str, str]]:
    """Returns what an administrator may want to do: (path, text)."""
    ctx = visit.ctx
    suggestions = []
    if not security.has_second_factor(ctx):
        suggestions.append(("/account/second-factor", _("Protect your account with a second factor")))
    counts = (
        (
            "/automations/log?q=level%3Aerror",
            N_("Automation errors since yesterday: {count}"),
            log_search.search(ctx, 'level:error created:"-1 day to now"', 1, 0)["total"],
        ),
        (
            "/admin/mail/outbox?state=failed",
            N_("Emails given up: {count}"),
            mail_queue.list_queue(ctx, "failed", 1)[1],
        ),
        (
            "/admin/tokens",
            N_("Tokens that expire within a week: {count}"),
            token_lists.ending(ctx, visit.now + WEEK_SECONDS, WEEK_SECONDS),
        ),
    )
    return suggestions + [(path, _(text, count=count)) for path, text, count in counts if count]


@page("POST", "/start/ticket", "admin", creates=True)
def send_ticket(visit: Visit) -> PageResponse:
    """Creates a ticket from an email of the worker."""
    ticket = to_do.send_test_ticket(visit.ctx)
    visit.flash(_("Ticket {mask} created.", mask=ticket.mask))
    return see("/")


@page("POST", "/start/away")
def put_away(visit: Visit) -> PageResponse:
    """Hides the list of what to try."""
    to_do.put_away(visit.ctx)
    visit.flash(_("List dismissed."), "/start/back")
    return see("/")


@page("POST", "/start/back")
def bring_back(visit: Visit) -> PageResponse:
    """Shows the list again."""
    to_do.bring_back(visit.ctx)
    return see("/")
