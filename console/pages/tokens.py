"""The token generator: keys to the API, made by administrators for a worker. Source: Authentication."""

from console import lists
from console.forms import Form
from console.rendering import render
from console.routes import page
from console.shown import Shown, see
from console.visit import Visit
from server import times
from server.desk import app_tokens, first_start, token_lists
from server.errors import HelpdeskError, Invalid, NotFound
from server.records.shared.scopes import parse

FIELDS = ("app_id", "worker_id", "expires", "label")
YEAR_SECONDS = 366 * 86400
PRESETS = ("1 hour", "1 day", "30 days", "1 year")
LABELS = {"app_id": "App", "worker_id": "Worker", "expires": "Expires", "label": "What for", "scopes": "Scopes"}


@page("GET", "/admin/tokens", "proven admin")
def show(visit: Visit) -> Shown:
    """The form for a new token, and all that are good now."""
    app_id = visit.query.text("app_id", "") or str(app_tokens.app_named(visit.ctx, first_start.APP_NAME))
    values = {"app_id": app_id, "worker_id": str(visit.actor.worker_id), "expires": PRESETS[0], "label": ""}
    return _tokens(visit, Form(values, {"scopes": ["api"]}))


@page("POST", "/admin/tokens", "proven admin")
def create(visit: Visit) -> Shown:
    """Make an access token and a refresh token; they are shown this once."""
    form = Form.sent(visit.form, FIELDS, ("scopes",))
    if visit.form.flag("choose"):
        return see(f"/admin/tokens?app_id={visit.form.id('app_id', 0)}")
    try:
        found = app_tokens.create(
            visit.ctx, visit.form.id("worker_id", 0) or 0, visit.form.id("app_id", 0) or 0,
            " ".join(form.several["scopes"]), form.text("expires"), form.text("label"),
        )  # fmt: skip
    except (Invalid, NotFound) as error:
        where = Invalid(error.message, field="expires") if not error.details.get("field") else error
        return _tokens(visit, form.refuse(where))
    is_long = found.expires_in > YEAR_SECONDS
    return render(visit, "token_made.html", found=found, ends=visit.now + found.expires_in, is_long=is_long)


@page("POST", "/admin/tokens/{id}/revoke", "proven admin")
def revoke(visit: Visit) -> Shown:
    """End a token now."""
    token_lists.revoke(visit.ctx, visit.id)
    visit.tell("The token works no more.")
    return see("/admin/tokens#tokens")


def _tokens(visit: Visit, form: Form) -> Shown:
    apps = lists.choices(visit, "oauth_app")
    scopes = []
    try:
        app = lists.record(visit, "oauth_app", int(form.get("app_id") or 0))
        for each in parse(app["scopes"]).values():
            count = len(each.endpoints)
            told = f"{each.label} ({count} endpoint pattern{'' if count == 1 else 's'})"
            scopes.append((each.id, each.id, told))
    except (HelpdeskError, ValueError):
        form.fail("app_id", "Choose an app.")
    if len(scopes) == 1 and not form.several["scopes"]:
        form.several["scopes"] = [scopes[0][0]]
    return render(
        visit, "tokens.html", form.status, form=form, apps=apps, scopes=scopes, labels=LABELS, presets=PRESETS,
        workers=lists.choices(visit, "worker", "isDisabled:no"), tokens=token_lists.all(visit.ctx), soon=_soon(visit),
    )  # fmt: skip


def _soon(visit: Visit) -> int:
    """Tokens that end before this are marked."""
    return times.after("7 days", visit.now, visit.ctx.tz)
