"""The start page: what waits, and the way to what there is. Source: ours."""

from console.rendering import render
from console.routes import page
from console.shown import Shown, fragment
from console.visit import Visit
from server.access import second_factor
from server.desk import automation_log, first_start, records, token_lists
from server.desk.records import SearchRequest

WEEK_SECONDS = 7 * 86400
WAITING = (
    ("ticket", "status:open owner.id:me", "Open tickets of yours"),
    ("ticket", "status:open owner.id:none", "Open tickets of nobody"),
    ("task", "status:open owner.id:me", "Open tasks of yours"),
    ("notification", "isRead:no", "Notifications not read"),
)


@page("GET", "/", "anyone")
def show(visit: Visit) -> Shown:
    """For who is signed in, what waits; for others, how to get in."""
    if visit.session is None or visit.session.waits_for_code:
        is_set_up = visit.service.store.read(first_start.has_administrator)
        return Shown(fragment("welcome.html", is_set_up=is_set_up, base_url=visit.service.base_url))
    ctx, worker_id = visit.ctx, visit.actor.worker_id
    waiting = [(label, _count(visit, uri, q), uri, q) for uri, q, label in WAITING]
    tells = []
    if not visit.service.store.read(lambda tx: second_factor.is_on(tx, worker_id)):
        tells.append(("/account/second-factor", "Protect your account with a second factor"))
    if ctx.actor.is_admin:
        errors = automation_log.search(ctx, "level:error created:\"-1 day to now\"", 1, 0)["total"]
        if errors:
            tells.append(("/automations/log?q=level%3Aerror", f"Errors of automations since yesterday: {errors}"))
        ending = [
            each for each in token_lists.all(ctx)
            if each.kind == "access" and each.expires_at - each.created_at > WEEK_SECONDS
            and each.expires_at < visit.now + WEEK_SECONDS
        ]  # fmt: skip
        if ending:
            tells.append(("/admin/tokens", f"Tokens that end within a week: {len(ending)}"))
    return render(visit, "start.html", waiting=waiting, tells=tells)


def _count(visit: Visit, uri: str, q: str) -> int:
    """How many records a search finds for who asks."""
    return int(records.search(visit.ctx, uri, SearchRequest(q, limit=1))["total"])
