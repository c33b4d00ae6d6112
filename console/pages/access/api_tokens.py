"""The token generator: keys to the API, made by administrators for a worker."""

from dataclasses import asdict, replace
from urllib.parse import quote

from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import INVALID, PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, row_view
from console.lists.cells import DrawnColumns
from console.lists.rows import RowFilter, RowPage, RowQuery, RowSource, id_of
from console.lists.worklist import BulkAction, Worklist, declare
from server import times
from server.apps import app_tokens, token_lists
from server.apps.token_lists import TokenSelection
from server.digits import id_in
from server.errors import HelpdeskError, Invalid, NotFound
from server.record_types.shared.scopes import parse
from server.settings import TOKEN_VARIABLE
from server.translation import N_, N_ngettext, _, ngettext
from server.web import reach
from server.web.routes import ENDPOINTS

BASE = "/admin/tokens"
NEW = f"{BASE}/new"
FIELDS = ("app_id", "worker_id", "expires", "label")
WANTED = {"app": "oauth_app", "worker": "worker"}  # what the list can be narrowed down to
STATES = [("", N_("Active")), ("over", N_("Expired or revoked"))]
WANTED_LABELS = {"app": N_("Of app"), "worker": N_("Of worker")}
PRESETS = ("1 hour", "8 hours", "1 day", "7 days", "30 days", "90 days", "1 year")
LABELS = {
    "app_id": N_("App"),
    "worker_id": N_("Worker"),
    "expires": N_("Expires"),
    "label": N_("Purpose"),
    "scopes": N_("Scopes"),
}


def _rows(visit: Visit, asked: RowQuery) -> RowPage:
    app_id, worker_id = (id_in(asked.filters[name]) or 0 for name in WANTED)
    wanted = TokenSelection(app_id, worker_id, asked.filters["state"] == "over")
    found = token_lists.all(visit.ctx, wanted, asked.limit, asked.page, asked.sort)
    rows = [asdict(each) | {"_label": f"{each.prefix}…{each.ending}", "is_over": wanted.is_over} for each in found]
    return RowPage(rows, token_lists.count(visit.ctx, wanted))


SOURCE = RowSource(
    _rows,
    (
        *(RowFilter(name, WANTED_LABELS[name], uri=uri) for name, uri in WANTED.items()),
        RowFilter("state", N_("Status"), lambda visit: STATES),
    ),
)
_column = DrawnColumns("tokens")
LIST = declare(Worklist(
    "tokens", BASE, N_("Tokens"),
    ("token", "app", "worker", "scopes", "created_at", "expires_at", "last_used_at", "do"),
    own=(
        _column("token", N_("Token"), "label", value=lambda row, more: row["_label"]),
        _column("label", N_("Purpose")),
        _column("app", N_("App")),
        _column("worker", N_("Worker")),
        _column("scopes", N_("Scopes"), value=lambda row, more: " ".join(row["scopes"])),
        _column("created_at", N_("Created"), "created_at"),
        _column("expires_at", N_("Expires"), "expires_at"),
        _column("last_used_at", N_("Last used"), "last_used_at"),
        _column("do", N_("Action")),
    ),
    load=lambda visit, rows: times.after("7 days", visit.now, visit.ctx.tz),
    actions=(
        BulkAction("revoke", N_("Revoke"), deletes=True,
                   run=lambda visit, key: token_lists.revoke(visit.ctx, id_of(key)),
                   confirm=N_("Revoke the selected tokens? Programs that use them are refused from now on."),
                   says=N_ngettext("Token revoked.", "{count} tokens revoked.")),
    ),
    changes="proven admin", subtitle=N_("API keys for your scripts"), none=N_("No token matches."),
    empty=N_("There are no tokens yet. A token is a key with which a script uses the API."), new=(NEW, N_("New token")),
    source=SOURCE,
))  # fmt: skip


@page("GET", BASE, "proven admin")
def show(visit: Visit) -> PageResponse:
    """All tokens that are good now, or those that are over."""
    app_id = id_in(visit.query.text("app", ""))
    path = f"{NEW}?app_id={app_id}" if app_id else NEW
    asked = [("worker_id", str(visit.actor.worker_id)), ("scopes", "api"), ("expires", "1 hour")]
    source = replace(SOURCE, sample=ui.Sample("POST", "/rest/oauth/tokens/create.json", asked))
    actions = () if visit.query.text("state", "") == "over" else LIST.actions
    listed = replace(LIST, new=(path, N_("New token")), source=source, actions=actions)
    return row_view.page(visit, listed, "tokens.html")


@page("GET", NEW, "proven admin")
def show_new(visit: Visit) -> PageResponse:
    """The form for a new token."""
    app_id = visit.query.text("app_id", "") or str(app_tokens.app_named(visit.ctx, app_tokens.APP_NAME))
    values = {"app_id": app_id, "worker_id": str(visit.actor.worker_id), "expires": PRESETS[0], "label": ""}
    return _new(visit, Form(values, {"scopes": ["api"]}))


@page("POST", NEW, "proven admin", creates=True)
def create(visit: Visit) -> PageResponse:
    """Make an access token and a refresh token; they are shown this once."""
    form = Form.sent(visit.form, FIELDS, ("scopes",))
    if visit.form.flag("choose"):
        return _new(visit, form)
    try:
        if app_tokens.is_long(visit.ctx, form.text("expires")) and not visit.form.flag("sure"):
            return _new(visit, form, is_long=True)
        found = app_tokens.create(
            visit.ctx,
            lookup.chosen_id(visit, "worker", form.text("worker_id"), "worker_id"),
            lookup.chosen_id(visit, "oauth_app", form.text("app_id"), "app_id"),
            " ".join(form.several["scopes"]),
            form.text("expires"),
            form.text("label"),
        )
    except (Invalid, NotFound) as error:
        where = Invalid(error.message, field="expires") if not error.details.get("field") else error
        return _new(visit, form.refuse(where))
    visit.has_created = True
    return render(
        visit,
        "token_made.html",
        found=found,
        ends=visit.now + found.expires_in,
        file="data:text/plain;charset=utf-8," + quote(app_tokens.settings_file(visit.ctx, found)),
        token_variable=TOKEN_VARIABLE,
    )


@page("GET", f"{BASE}/revoke", "proven admin")
def show_revoke_all(visit: Visit) -> PageResponse:
    """Which tokens of an app or a worker end together."""
    wanted = _wanted(visit, Form())
    return render(
        visit,
        "tokens_revoke.html",
        wanted=wanted,
        count=token_lists.count(visit.ctx, wanted),
        whose=token_lists.whose(visit.ctx, wanted),
    )


@page("POST", f"{BASE}/revoke", "proven admin")
def revoke_all(visit: Visit) -> PageResponse:
    """End the tokens of an app, of a worker or of both."""
    count = token_lists.revoke_all(visit.ctx, visit.form.id("app", 0), visit.form.id("worker", 0))
    visit.flash(ngettext("{count} token revoked.", "{count} tokens revoked.", count))
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/revoke", "proven admin")
def revoke(visit: Visit) -> PageResponse:
    """End a token now."""
    token_lists.revoke(visit.ctx, visit.id)
    visit.flash(_("The token no longer works."))
    return see(BASE)


def _wanted(visit: Visit, filters: Form) -> TokenSelection:
    """Reads the filters from the address into the form, with the mistakes in them."""
    filters.values = {name: visit.query.text(name, "") for name in ("app", "worker", "state")}
    ids = dict.fromkeys(WANTED, 0)
    for name, uri in WANTED.items():
        try:
            ids[name] = lookup.chosen_id(visit, uri, filters.text(name), name)
            filters.values[name] = str(ids[name] or "")
        except Invalid as error:
            filters.refuse(error)
    return TokenSelection(ids["app"], ids["worker"], filters.get("state") == "over")


def _new(visit: Visit, form: Form, is_long: bool = False) -> PageResponse:
    scopes = []
    try:
        app = lookup.record(visit, "oauth_app", lookup.chosen_id(visit, "oauth_app", form.get("app_id"), "app_id"))
        for each in parse(app["scopes"]).values():
            scopes.append((each.id, each.id, f"{each.label} ({reach.calls(each)[0]} of {len(ENDPOINTS)} endpoints)"))
    except Invalid as error:
        form.refuse(error)
    except HelpdeskError:
        form.fail("app_id", _("Choose an app."))
    if len(scopes) == 1 and not form.several["scopes"]:
        form.several["scopes"] = [scopes[0][0]]
    return render(
        visit,
        "token_new.html",
        INVALID if is_long else 200,
        form=form,
        scopes=scopes,
        labels=LABELS,
        apps=lookup.choosable(visit, "oauth_app", chosen=form.get("app_id")),
        workers=lookup.choosable(visit, "worker", "isDisabled:no", form.get("worker_id")),
        presets=PRESETS,
        is_long=is_long,
    )
