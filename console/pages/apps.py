"""OAuth apps: programs that workers may let in, their secrets, and what their scopes let through."""

from functools import partial
from typing import Any

from console.forms import overlaps
from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import moment
from console.http.page_response import INVALID, PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.cells import DrawnColumns
from console.lists.worklist import Worklist, declare
from server.access import app_secrets
from server.apps import app_usage, token_lists
from server.errors import HelpdeskError, Invalid
from server.record_types.shared import callbacks, scope_check, scopes
from server.record_types.shared.secrets import digest
from server.records import records
from server.translation import N_, _
from server.web import reach
from server.web.routes import ENDPOINTS

URI = "oauth_app"
BASE = "/admin/apps"
TEXT_BYTES = 1024 * 1024
FORM = RecordForm(URI, (
    Control("name", N_("Name"), hint=N_("Workers see it when the app asks for their consent.")),
    Control("url", N_("Website"), ""),
    Control("callback_url", N_("Callback addresses"),
            N_("One per line, compared exactly: https, a scheme of the app such as com.example.app:/back, "
               "or http://127.0.0.1 with any port for desktop apps."), "code",
            attributes={"rows": 3, "class_": "code", "required": True}),
    Control("is_public", N_("Public: the app cannot keep a secret"),
            N_("Such as an app that runs in a browser or on a phone. It has no secret and must use a code challenge.")),
    Control("is_pkce_required", N_("Logins must use a code challenge (PKCE)"), ""),
    Control("is_device_flow", N_("Sign-in with a code on another device"),
            N_("For command lines and devices without a browser: the program shows a code, and a worker enters it.")),
    Control("service_worker_id", N_("Service account"),
            N_("With its client ID and secret, the app gets tokens that act as this worker, without asking "
               "anyone. Leave blank for apps that act only for workers who signed in.")),
    Control("scopes", N_("Scopes"), kind="code", attributes={"required": True}, is_drawn=True),
    Control("try_method", kind="choice", is_own=True, is_drawn=True),
    Control("try_path", is_own=True, is_drawn=True),
))  # fmt: skip
MAX_SHOWN_CALLS = 400  # endpoints of a scope that are listed


_column = DrawnColumns("apps")
LIST = declare(
    Worklist(
        URI,
        BASE,
        N_("OAuth apps"),
        ("_label", "client_id", "workers", "tokens", "used", "updated_at"),
        own=(
            _column("client_id", N_("Client ID")),
            _column("workers", N_("Workers"), kind="number", value=lambda row, more: more[row["id"]].workers),
            _column("tokens", N_("Active tokens"), kind="number", value=lambda row, more: more[row["id"]].tokens),
            _column("used", N_("Last used"), value=lambda row, more: more[row["id"]].last_used_at, is_time=True),
        ),
        row=BASE + "/{id}",
        load=lambda visit, rows: app_usage.usage(visit.ctx, [each["id"] for each in rows]),
        sort="name",
        intro=N_("Programs that act for workers: those that workers have authorized, and those that use tokens."),
        empty=N_(
            "There are no apps yet. A script of your own only needs a token; a program that other people sign"
            " in to needs an app."
        ),
        none=N_("No app matches."),
        new=(f"{BASE}/new", N_("New app")),
        changes="proven admin",
    )
)


@page("POST", f"{BASE}/{{id}}/rotate", "proven admin", creates=True)
def rotate(visit: Visit) -> PageResponse:
    """A new secret, shown this once; the one before it works for as long as it is given."""
    app = lookup.record(visit, URI, visit.id)
    if app["is_public"]:
        raise Invalid(_("A public app has no secret to change."))
    form = overlaps.sent(visit)
    if form.is_wrong:
        return show_rotate(visit, form)
    until = visit.now + int(form.get("overlap"))
    updated = records.update(visit.ctx, URI, visit.id, {"client_secret": "", "overlap_until": until})
    old = _("works until {until}", until=moment(visit, until)) if until > visit.now else _("no longer works")
    visit.has_created = True
    return render(visit, "app_secret.html", app=app, secret=updated.get("client_secret", ""), is_new=False, old=old)


@page("POST", f"{BASE}/{{id}}/end-secret", "proven admin")
def end_secret(visit: Visit) -> PageResponse:
    """End the old secret before its time."""
    records.update(visit.ctx, URI, visit.id, {"overlap_until": visit.now})
    visit.flash(_("The old secret no longer works."))
    return see(f"{BASE}/{visit.id}")


@page("GET", f"{BASE}/{{id}}/delete", "proven admin")
def show_delete(visit: Visit) -> PageResponse:
    """What ends with an app."""
    app = lookup.record(visit, URI, visit.id)
    return render(visit, "app_delete.html", app=app, total=app_usage.usage(visit.ctx, [visit.id])[visit.id])


@page("GET", f"{BASE}/{{id}}/rotate", "proven admin")
def show_rotate(visit: Visit, form: Form | None = None) -> PageResponse:
    """The question how long the present secret shall work."""
    app = lookup.record(visit, URI, visit.id)
    return overlaps.ask(visit, "app_rotate.html", form, app=app, secrets=app_secrets.of_app(visit.ctx, app))


def _held_back(visit: Visit, fields: OpenForm) -> PageResponse | None:
    """The form again, if scopes are only checked or a warning must be confirmed first; None to save it."""
    fields.send()
    is_look = visit.form.flag("look")
    questions = [] if is_look else _questions(visit, fields.values, fields.stored)
    return _form(visit, fields, questions) if is_look or questions else None


def _questions(visit: Visit, form: Form, app: dict[str, Any]) -> list[str]:
    """The warnings to confirm before an app is saved; [] if there are none, or they are confirmed."""
    addresses, text = form.get("callback_url"), form.get("scopes")
    for line, reason in callbacks.mistakes(addresses):
        form.fail("callback_url", _("Line {line} {reason}.", line=line, reason=reason))
    questions = app_usage.warnings(visit.ctx, app, addresses, text)
    if questions and visit.form.text("sure", "") == _seal(questions):
        form.errors.pop("callback_url", None)
        return []
    return questions


def _seal(questions: list[str]) -> str:
    """What shows that these very questions were read."""
    return digest("\n".join(questions))[:16]


def _form(visit: Visit, fields: OpenForm, questions: list[str] | None = None) -> PageResponse:
    form, app = fields.values, fields.stored
    text = form.get("scopes")
    try:
        defined = scopes.parse(text)
    except HelpdeskError:
        defined = {}
    path, method = form.text("try_path"), form.get("try_method") or "GET"
    uses = token_lists.in_use(visit.ctx, app["id"]) if app else []
    shown_uses, page = lookup.part(visit, uses)
    reached = [(each, *reach.calls(each)) for each in defined.values()]
    return fields.render(
        "app.html",
        INVALID if questions else 200,
        app=app,
        mistakes=scope_check.mistakes(text, partial(reach.doubt, visit.service.registry)),
        total=len(ENDPOINTS),
        reach=[(scope, count, paths[:MAX_SHOWN_CALLS]) for scope, count, paths in reached],
        tried=reach.preview(defined.values(), method, path) if path else "",
        methods=[(name, name) for name in scopes.METHODS],
        questions=questions or [],
        seal=_seal(questions or []),
        secrets=app_secrets.of_app(visit.ctx, app) if app else [],
        uses=shown_uses,
        page=page,
        users=len(uses),
        origins=sorted({callbacks.origin(each) for each in callbacks.registered(form.get("callback_url"))}),
    )


def _created(visit: Visit, fields: OpenForm, app: dict[str, Any]) -> PageResponse:
    """The secret of a new app, which is shown this once."""
    visit.has_created = True
    return render(visit, "app_secret.html", app=app, secret=app.get("client_secret", ""), is_new=True, old="")


declare_pages(RecordPages(
    BASE, FORM, _form, LIST, "proven admin", form_bytes=TEXT_BYTES, takes_up=True, hold=_held_back,
    first={"scopes": scopes.DEFAULT, "is_pkce_required": "1"},
    after_create=_created, deleted=N_("{name} deleted. Its tokens no longer work."),
))  # fmt: skip
