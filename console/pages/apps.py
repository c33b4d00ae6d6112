"""OAuth apps: programs that workers may let in, their secrets, and what their scopes let through.

Source: Authentication, creating an OAuth app."""

from typing import Any

from console import lists
from console.forms import Form
from console.rendering import render
from console.routes import page
from console.shown import Shown, see
from console.visit import Visit
from server.desk import records, token_lists
from server.errors import HelpdeskError
from server.records.shared import scope_check, scopes
from server.records.shared.scopes import Scope
from server.web.routes import ENDPOINTS

URI = "oauth_app"
FIELDS = ("name", "url", "callback_url", "scopes", "is_public", "is_pkce_required")
TEXT_BYTES = 1024 * 1024
LABELS = {"name": "Name", "url": "Website", "callback_url": "Callback addresses", "scopes": "Scopes"}
MAX_SHOWN_ENDPOINTS = 400  # of what a scope can call


@page("GET", "/admin/apps", "admin")
def show_list(visit: Visit) -> Shown:
    """All apps."""
    found, wrong = lists.found(visit, URI)
    counts: dict[int, int] = {}
    for each in token_lists.all(visit.ctx):
        counts[each.app_id] = counts.get(each.app_id, 0) + (each.kind == "access")
    return render(visit, "apps.html", found=found, wrong=wrong, counts=counts)


@page("GET", "/admin/apps/new", "proven admin")
def show_new(visit: Visit) -> Shown:
    """The form for a new app."""
    return _form(visit, Form.of({"scopes": scopes.DEFAULT, "is_pkce_required": "1"}), None)


@page("POST", "/admin/apps/new", "proven admin", form_bytes=TEXT_BYTES)
def create(visit: Visit) -> Shown:
    """Make an app; its secret is shown this once."""
    form = _sent(visit)
    if visit.form.flag("look"):
        return _form(visit, form, None)
    try:
        made = records.create(visit.ctx, URI, _fields(form))
    except HelpdeskError as error:
        return _form(visit, form.refuse(error), None)
    return render(visit, "app_secret.html", app=made, secret=made.get("client_secret", ""), is_new=True)


@page("GET", "/admin/apps/{id}", "proven admin")
def show(visit: Visit) -> Shown:
    """One app to be changed."""
    app = lists.record(visit, URI, visit.id)
    flags = {name: "1" if app[name] else "" for name in ("is_public", "is_pkce_required")}
    return _form(visit, Form.of({name: app[name] for name in FIELDS} | flags), app)


@page("POST", "/admin/apps/{id}", "proven admin", form_bytes=TEXT_BYTES)
def save(visit: Visit) -> Shown:
    """Change an app."""
    app, form = lists.record(visit, URI, visit.id), _sent(visit)
    if visit.form.flag("look"):
        return _form(visit, form, app)
    try:
        records.update(visit.ctx, URI, visit.id, _fields(form))
    except HelpdeskError as error:
        return _form(visit, form.refuse(error), app)
    visit.tell(f"{form.text('name')} is saved.")
    return see("/admin/apps")


@page("POST", "/admin/apps/{id}/rotate", "proven admin")
def rotate(visit: Visit) -> Shown:
    """A new secret, shown this once; the one before it goes on working until the next change."""
    app = lists.record(visit, URI, visit.id)
    made = records.update(visit.ctx, URI, visit.id, {"client_secret": ""})
    return render(visit, "app_secret.html", app=app, secret=made.get("client_secret", ""), is_new=False)


@page("POST", "/admin/apps/{id}/delete", "proven admin")
def delete(visit: Visit) -> Shown:
    """Remove an app; its tokens end."""
    app = lists.record(visit, URI, visit.id)
    records.delete(visit.ctx, URI, visit.id)
    visit.tell(f"{app['name']} is removed; its tokens work no more.")
    return see("/admin/apps")


def _sent(visit: Visit) -> Form:
    return Form.sent(visit.form, (*FIELDS, "try_method", "try_path"))


def _fields(form: Form) -> dict[str, Any]:
    flags = {name: "1" if form.get(name) == "1" else "0" for name in ("is_public", "is_pkce_required")}
    text = {name: form.get(name).replace("\r\n", "\n") for name in ("callback_url", "scopes")}
    return {"name": form.text("name"), "url": form.text("url"), **text, **flags}


def _form(visit: Visit, form: Form, app: dict[str, Any] | None) -> Shown:
    mistakes = scope_check.mistakes(form.get("scopes"))
    reach: list[tuple[Scope, int, list[str]]] = []
    tried = ""
    try:
        defined = scopes.parse(form.get("scopes"))
    except HelpdeskError:
        defined = {}
    for each in defined.values():
        paths = [f"{one.method} /rest/{one.path}.json" for one in ENDPOINTS if each.allows(one.method, one.path)]
        reach.append((each, len(paths), sorted(paths)[:MAX_SHOWN_ENDPOINTS]))
        if not paths:
            mistakes = [*mistakes, (1, f"scope '{each.id}' lets no request through that there is")]
    if form.text("try_path"):
        tried = _tried(defined, form)
    return render(
        visit, "app.html", form.status, form=form, app=app, labels=LABELS, mistakes=sorted(mistakes), reach=reach,
        total=len(ENDPOINTS), tried=tried, methods=[(name, name) for name in scopes.METHODS],
    )  # fmt: skip


def _tried(defined: dict[str, Scope], form: Form) -> str:
    """Which scope lets a request through, as the API decides it."""
    path = form.text("try_path").partition("?")[0].removeprefix("/rest/").removesuffix(".json").lstrip("/")
    method = form.get("try_method") or "GET"
    fitting = [each.id for each in defined.values() if each.allows(method, path)]
    return f"allowed by {', '.join(fitting)}" if fitting else "refused: 403, no scope covers it"
