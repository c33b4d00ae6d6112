"""The token generator: keys to the API, made by administrators for a worker. Source: Authentication."""

from urllib.parse import quote

from console import lists
from console.forms import Form
from console.page_response import INVALID, PageResponse, see
from console.rendering import render
from console.routes import page
from console.ui import PAGE_ROWS
from console.visit import Visit
from server import times
from server.desk import records
from server.errors import HelpdeskError, Invalid, NotFound
from server.people import app_tokens, token_lists
from server.people.app_tokens import TokenPair
from server.people.token_lists import TokenSelection
from server.records.shared.scopes import parse
from server.settings import ADDRESS_VARIABLE, TOKEN_VARIABLE
from server.translation import N_, _, ngettext
from server.web import reach
from server.web.routes import ENDPOINTS

BASE = "/admin/tokens"
NEW = f"{BASE}/new"
FIELDS = ("app_id", "worker_id", "expires", "label")
WANTED = {"app": "oauth_app", "worker": "worker"}  # what the list can be narrowed down to
WANTED_LABELS = {"app": N_("Of app"), "worker": N_("Of worker")}
LONG = "1 year"  # what lasts longer is asked about once
PRESETS = ("1 hour", "8 hours", "1 day", "7 days", "30 days", "90 days", "1 year")
LABELS = {
    "app_id": N_("App"),
    "worker_id": N_("Worker"),
    "expires": N_("Expires"),
    "label": N_("What for"),
    "scopes": N_("Scopes"),
}
REFRESH_VARIABLE = "HELPDESK_REFRESH_TOKEN"


@page("GET", BASE, "proven admin")
def show(visit: Visit) -> PageResponse:
    """All tokens that are good now, or those that are over."""
    filters = Form()
    wanted = _wanted(visit, filters)
    page = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    tokens = [] if filters.is_wrong else token_lists.all(visit.ctx, wanted, PAGE_ROWS, page)
    return render(
        visit, "tokens.html", filters.status, filters=filters, wanted=wanted, tokens=tokens, page=page,
        total=token_lists.count(visit.ctx, wanted), soon=_soon(visit), labels=WANTED_LABELS,
        apps=lists.choosable(visit, "oauth_app", chosen=filters.get("app")),
        workers=lists.choosable(visit, "worker", chosen=filters.get("worker")),
        states=[("", N_("Active")), ("over", N_("Expired or revoked"))],
    )  # fmt: skip


@page("GET", NEW, "proven admin")
def show_new(visit: Visit) -> PageResponse:
    """The form for a new token."""
    app_id = visit.query.text("app_id", "") or str(app_tokens.app_named(visit.ctx, app_tokens.APP_NAME))
    values = {"app_id": app_id, "worker_id": str(visit.actor.worker_id), "expires": PRESETS[0], "label": ""}
    return _new(visit, Form(values, {"scopes": ["api"]}))


@page("POST", NEW, "proven admin")
def create(visit: Visit) -> PageResponse:
    """Make an access token and a refresh token; they are shown this once."""
    form = Form.sent(visit.form, FIELDS, ("scopes",))
    if visit.form.flag("choose"):
        return _new(visit, form)
    try:
        if _is_long(visit, form.text("expires")) and not visit.form.flag("sure"):
            return _new(visit, form, is_long=True)
        found = app_tokens.create(
            visit.ctx, lists.chosen_id(visit, "worker", form.text("worker_id"), "worker_id"),
            lists.chosen_id(visit, "oauth_app", form.text("app_id"), "app_id"),
            " ".join(form.several["scopes"]), form.text("expires"), form.text("label"),
        )  # fmt: skip
    except (Invalid, NotFound) as error:
        where = Invalid(error.message, field="expires") if not error.details.get("field") else error
        return _new(visit, form.refuse(where))
    return render(
        visit, "token_made.html", found=found, ends=visit.now + found.expires_in, file=_file(visit, found),
        token_variable=TOKEN_VARIABLE,
    )  # fmt: skip


@page("GET", f"{BASE}/revoke", "proven admin")
def show_revoke_all(visit: Visit) -> PageResponse:
    """Which tokens of an app or a worker end together."""
    wanted = _wanted(visit, Form())
    return render(
        visit, "tokens_revoke.html", wanted=wanted, count=token_lists.count(visit.ctx, wanted),
        whose=_whose(visit, wanted),
    )  # fmt: skip


@page("POST", f"{BASE}/revoke", "proven admin")
def revoke_all(visit: Visit) -> PageResponse:
    """End the tokens of an app, of a worker or of both."""
    count = token_lists.revoke_all(visit.ctx, visit.form.id("app", 0), visit.form.id("worker", 0))
    visit.tell(ngettext("{count} token is revoked.", "{count} tokens are revoked.", count))
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/revoke", "proven admin")
def revoke(visit: Visit) -> PageResponse:
    """End a token now."""
    token_lists.revoke(visit.ctx, visit.id)
    visit.tell("The token no longer works.")
    return see(BASE)


def _is_long(visit: Visit, expires: str) -> bool:
    """Whether a token would last for more than a year. Raises Invalid."""
    now, zone = visit.now, visit.ctx.tz
    return times.after(expires, now, zone) > times.after(LONG, now, zone)


def _file(visit: Visit, found: TokenPair) -> str:
    """The address of a file with the tokens, for programs that read their settings from one: the page holds it itself,
    since the tokens are kept nowhere."""
    lines = (
        f"{ADDRESS_VARIABLE}={visit.service.base_url}", f"{TOKEN_VARIABLE}={found.access_token}",
        f"{REFRESH_VARIABLE}={found.refresh_token}", "",
    )  # fmt: skip
    return "data:text/plain;charset=utf-8," + quote("\n".join(lines))


def _wanted(visit: Visit, filters: Form) -> TokenSelection:
    """What the address narrows the list down to. filters: gets what stands there, and what is wrong with it."""
    filters.values = {name: visit.query.text(name, "") for name in ("app", "worker", "state")}
    ids = dict.fromkeys(WANTED, 0)
    for name, uri in WANTED.items():
        try:
            ids[name] = lists.chosen_id(visit, uri, filters.text(name), name)
            filters.values[name] = str(ids[name] or "")
        except Invalid as error:
            filters.refuse(error)
    return TokenSelection(ids["app"], ids["worker"], filters.get("state") == "over")


def _whose(visit: Visit, wanted: TokenSelection) -> str:
    """In words: of Nora through Shop. Raises NotFound, Invalid for neither."""
    if not wanted.app_id and not wanted.worker_id:
        raise Invalid(_("Choose an app or a worker first."))
    parts = []
    for word, uri, id in (
        (N_("of {name}"), "worker", wanted.worker_id),
        (N_("of the app {name}"), "oauth_app", wanted.app_id),
    ):
        if id:
            record_type = visit.service.registry.type(uri)
            parts.append(_(word, name=record_type.label(lists.record(visit, uri, id))))
    return " ".join(parts)


def _new(visit: Visit, form: Form, is_long: bool = False) -> PageResponse:
    scopes = []
    try:
        app = lists.record(visit, "oauth_app", lists.chosen_id(visit, "oauth_app", form.get("app_id"), "app_id"))
        for each in parse(app["scopes"]).values():
            scopes.append((each.id, each.id, f"{each.label} ({reach.calls(each)[0]} of {len(ENDPOINTS)} endpoints)"))
    except Invalid as error:
        form.refuse(error)
    except HelpdeskError:
        form.fail("app_id", "Choose an app.")
    if len(scopes) == 1 and not form.several["scopes"]:
        form.several["scopes"] = [scopes[0][0]]
    return render(
        visit, "token_new.html", INVALID if is_long else form.status, form=form, scopes=scopes, labels=LABELS,
        apps=lists.choosable(visit, "oauth_app", chosen=form.get("app_id")),
        workers=lists.choosable(visit, "worker", "isDisabled:no", form.get("worker_id")),
        presets=PRESETS, is_long=is_long,
    )  # fmt: skip


def _soon(visit: Visit) -> int:
    """Tokens that end before this are marked."""
    return times.after("7 days", visit.now, visit.ctx.tz)
