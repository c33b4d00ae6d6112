"""The API explorer: every operation of the OpenAPI document, with a form that sends it as the worker who is signed in.

A request goes through the whole API of this process, by a token that lives as long as it does. What changes something
needs the password again, since by the API a worker can do what the console asks it for."""

import json

from console.forms.examples import DATA_QUERIES, chosen, options
from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import Sample, bytes_text
from console.http.page_response import PageResponse, attachment
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from server.apps import own_tokens
from server.errors import HelpdeskError, Invalid, NotFound, nearest
from server.people import workspace_pages
from server.settings import VERSION
from server.translation import N_, _
from server.web import envelope, error_bodies, own_requests
from server.web.endpoint_call import Response
from server.web.json_text import as_json
from server.web.openapi import flat_operations, openapi_site, postman
from server.web.openapi.flat_operations import FlatOperation
from server.web.own_requests import OwnResponse

BASE = "/api"
AS, WITH = "as", "with"  # the fields that say as which app, and with which of its scopes, a request is sent
FORM_BYTES = 4 * 1024 * 1024  # bytes of a request
MAX_SHOWN_CHARS = 200_000  # characters of a response body
MAX_FOUND = 200  # operations that a search shows
DATA_QUERY = "data_query"  # the operation that has examples
NOT_SENT = ("", N_("not sent"))
FLAGS = [NOT_SENT, ("1", "yes: 1"), ("0", "no: 0")]
METHODS = {"get": "ok", "post": "info", "put": "warn", "patch": "warn", "delete": "err"}


@page("GET", BASE)
def show(visit: Visit) -> PageResponse:
    """Lists all operations by tag, the operations of one tag, or the results of a search."""
    operations = flat_operations.of_service(visit.service)
    tag, q = visit.query.text("tag", ""), visit.query.text("q", "").strip()
    sections = flat_operations.sections(visit.service)
    if tag and tag not in sections:
        raise NotFound(_("The API has no section '{tag}'{tags}.", tag=tag[:60], tags=nearest(tag, sections)))
    fitting = [each for each in operations if each.fits(tag, q)] if tag or q else []
    rows = sorted(sections.values(), key=lambda each: each.label)
    return render(
        visit,
        "api.html",
        found=fitting[:MAX_FOUND],
        total=len(fitting),
        most=MAX_FOUND,
        tag=tag,
        q=q,
        records=[each for each in rows if each.is_of_records],
        others=[each for each in rows if not each.is_of_records],
        methods=METHODS,
        document=openapi_site.PATH,
        label=sections[tag].label if tag else "",
        all=len(operations),
    )


@page("GET", f"{BASE}/errors")
def show_errors(visit: Visit) -> PageResponse:
    """Every kind of error that the API returns."""
    return render(visit, "api_errors.html", found=error_bodies.catalogue())


@page("GET", f"{BASE}/collection")
def show_collection(visit: Visit) -> PageResponse:
    """All operations as a file for request builders."""
    collection = postman.collection(flat_operations.of_service(visit.service), visit.service.base_url, VERSION)
    return PageResponse(
        json.dumps(collection, ensure_ascii=False),
        headers=attachment("helpdesk.postman_collection.json"),
        content_type=envelope.CONTENT_TYPE,
    )


@page("GET", f"{BASE}/{{name}}")
def show_operation(visit: Visit) -> PageResponse:
    """One operation. Values in the address, such as q, fill in the form. Raises NotFound."""
    operation = flat_operations.find(visit.service, visit.arguments["name"])
    named = {one.key: one.name for one in operation.inputs if one.place in ("path", "query") and "[" not in one.name}
    examples = chosen(visit, DATA_QUERIES) if operation.name == DATA_QUERY else {}
    values = {key: visit.query.text(name, examples.get(name, "")) for key, name in named.items()}
    return _shown(visit, operation, Form.from_values({one.key: values.get(one.key, "") for one in operation.inputs}))


@page("POST", f"{BASE}/{{name}}", form_bytes=FORM_BYTES)
def try_read(visit: Visit) -> PageResponse:
    """Send a request that changes nothing, and show the response. Raises NotFound, Invalid for other operations."""
    each = flat_operations.find(visit.service, visit.arguments["name"])
    if not each.is_read:
        raise Invalid(
            _("{upper} {path} changes something; send it from its own page", upper=each.method.upper(), path=each.path)
        )
    return try_write(visit)


@page("POST", f"{BASE}/{{name}}/write", "proven worker", form_bytes=FORM_BYTES)
def try_write(visit: Visit) -> PageResponse:
    """Send a request for real, and show the response. Raises NotFound."""
    operation = flat_operations.find(visit.service, visit.arguments["name"])
    form = Form.sent(visit.form, [AS, WITH, *(one.key for one in operation.inputs)])
    for one in operation.inputs:
        if one.is_required and not form.text(one.key):
            form.fail(one.key, _("This is required."))
    reply = None
    if not form.is_wrong:
        try:
            request = operation.request(form.values)
            reply = own_requests.send(visit.ctx, request, visit.request.client, *_as(visit, form))
        except HelpdeskError as error:  # what was typed cannot be sent, or there is no token to send it by
            form.refuse(error)
    return _shown(visit, operation, form, reply)


def _shown(visit: Visit, operation: FlatOperation, form: Form, reply: OwnResponse | None = None) -> PageResponse:
    sample = Sample(operation.method.upper(), operation.path)
    if is_filled := any(form.get(one.key) for one in operation.inputs) and not form.is_wrong:
        request = operation.request(form.values)
        sample = Sample(request.method, request.path, request.fields)
    return render(
        visit,
        "operation.html",
        each=operation,
        form=form,
        reply=reply,
        body=_body(reply.response) if reply else "",
        methods=METHODS,
        flags=FLAGS,
        choices={one.key: [NOT_SENT, *((option, option) for option in one.options)] for one in operation.inputs},
        has_rest=any(form.get(one.key) for one in operation.inputs if not one.is_required),
        labels={one.key: one.name for one in operation.inputs},
        is_filled=is_filled,
        sample=sample,
        may_write=visit.who.is_stepped_up(visit.now),
        as_field=AS,
        with_field=WITH,
        add_to_page=_add_to_page(operation, form, reply),
        starts=options(DATA_QUERIES) if operation.name == DATA_QUERY else [],
        apps=lookup.choosable(visit, "oauth_app", chosen=form.get(AS)) if visit.actor.is_admin else None,
    )


def _add_to_page(operation: FlatOperation, form: Form, reply: OwnResponse | None) -> str:
    """Where a data query that was answered is put on a workspace page, "" for other requests."""
    if operation.name != DATA_QUERY or reply is None or reply.response.status >= 400:
        return ""
    key = next(one.key for one in operation.inputs if one.name == "q")
    return ui.address(f"{workspace_pages.BASE}/add", data_query=form.get(key))


def _as(visit: Visit, form: Form) -> tuple[int, str]:
    """The app and the scope that a request is sent with: 0 and "" for all that the worker may do, "" for every scope of
    the app. Raises Invalid, NotFound."""
    if not form.text(AS) and not form.text(WITH):
        return 0, ""
    if not visit.actor.is_admin:
        raise Invalid(_("only administrators send requests as an app"), field=AS)
    app_id, scope = lookup.chosen_id(visit, "oauth_app", form.text(AS), AS), form.text(WITH)
    if not app_id:
        raise Invalid(_("choose the app that has this scope"), field=AS)
    own_tokens.require_scope(visit.ctx, app_id, scope, field=WITH)
    return app_id, scope


def _body(response: Response) -> str:
    """A body for display: JSON with line breaks, binary data as its size."""
    if response.pieces is not None:
        return f"({bytes_text(response.length)} of {response.content_type}; fetch it by the command below)"
    text = response.body.decode("utf-8", "replace")
    if response.content_type == envelope.CONTENT_TYPE:
        text = as_json(json.loads(text))
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "\n… (cut; fetch it by the command below)"
