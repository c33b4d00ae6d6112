"""Connected services and the accounts there: their forms, the consent at a provider, and the state of each account."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.form import Form, sentence
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.pages.connecting import service_kinds
from console.pages.connecting.service_kinds import BY_NAME, JSON, KINDS, PARAMS, ServiceKind
from server.connections import connecting, grants
from server.connections.connecting import ConnectionRefused, ConnectionRequest
from server.connections.types.connected_service import PROVIDERS
from server.errors import Invalid, NotFound
from server.mail.addresses import valid
from server.mailroom import mail_setup
from server.outbound import oauth_providers
from server.outbound.oauth_providers import GOOGLE, MICROSOFT
from server.records import records
from server.translation import N_, _

SERVICE, ACCOUNT = "connected_service", "connected_account"
BASE = "/admin/connections"
ACCOUNTS = f"{BASE}/accounts"
NO_REFERRER = {"Referrer-Policy": "no-referrer"}  # the address of a response holds the code
OTHER_KINDS = [(each, label) for each, label in PROVIDERS.items() if each not in {kind.extension_id for kind in KINDS}]


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """All services and accounts, with the state of each account."""
    services, accounts = lookup.search(visit, SERVICE, "sort:name"), lookup.search(visit, ACCOUNT, "sort:name")
    stored = {each["id"]: each for each in records.stored(visit.ctx, SERVICE, [each["id"] for each in services])}
    return render(
        visit,
        "connections.html",
        services=services,
        accounts=accounts,
        kinds={id: _kind_label(each) for id, each in stored.items()},
        expires={id: (each["params"] or {}).get("client_secret_expires", "") for id, each in stored.items()},
        names={each["id"]: each["name"] for each in services},
        grants=grants.list_grants(visit.ctx),
    )


def _kind_label(service: Mapping[str, Any]) -> str:
    kind = service_kinds.kind_of(service["extension_id"], service["params"])
    return _(kind.label) if kind is not None else PROVIDERS.get(service["extension_id"], "")


# -- services ----------------------------------------------------------------------------------------------------------


def _service_form(visit: Visit, id: int) -> OpenForm:
    """The form of a service of one kind: the stored one, or the one that the address names."""
    stored = lookup.record(visit, SERVICE, id) if id else {}
    kind = service_kinds.kind_of(stored["extension_id"], stored["params"]) if id else _chosen_kind(visit)
    controls: tuple[Control, ...] = (Control("name", N_("Name"), N_("A name for people to recognize.")),)
    if kind is None:
        controls += () if id else (Control("extension_id", N_("Kind"), "", options=OTHER_KINDS),)
        controls += (replace(PARAMS, is_kept=bool(id)),)
    else:
        controls += tuple(_with_hint(each, stored.get("params")) for each in kind.service)
    uri = Control("uri", N_("Short name"), N_("For scripts: lower-case letters, digits and dashes. May be blank."))
    folded = ("uri", *(kind.folded if kind is not None else ()))
    fields = RecordForm(SERVICE, (*controls, uri), folded).open(visit, id)
    if kind is None:
        return fields.fill(params="")
    label = "" if id else _(kind.label) if kind.provider in (GOOGLE, MICROSOFT) else ""
    values = service_kinds.plain_values(kind.service, stored.get("params"))
    return fields.fill(**values, **({"name": label} if label else {}))


def _chosen_kind(visit: Visit) -> ServiceKind | None:
    """The kind in the address, None for JSON. Raises NotFound."""
    name = visit.query.text("kind", "")
    if name not in BY_NAME and name != JSON:
        raise NotFound(_("There is no such kind of connected service."))
    return BY_NAME.get(name)


def _with_hint(control: Control, params: object) -> Control:
    return replace(control, hint=service_kinds.STORED) if service_kinds.is_stored(control, params) else control


def _choose_kind(visit: Visit) -> PageResponse | None:
    """The list of kinds, in place of a form without one."""
    if visit.path != f"{BASE}/new" or visit.query.text("kind", ""):
        return None
    return render(visit, "connection_kinds.html", kinds=KINDS, json=JSON)


def _service_values(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    stored = fields.stored
    kind = service_kinds.kind_of(stored["extension_id"], stored["params"]) if fields.id else _chosen_kind(visit)
    if kind is None:
        return {}
    params = service_kinds.service_params(visit.ctx, kind, stored.get("params"), form)
    return {"params": params} if fields.id else {"params": params, "extension_id": kind.extension_id}


def _service(visit: Visit, fields: OpenForm) -> PageResponse:
    stored = fields.stored
    kind = service_kinds.kind_of(stored["extension_id"], stored["params"]) if fields.id else _chosen_kind(visit)
    params = stored.get("params") if fields.id else {"provider": kind.provider if kind is not None else ""}
    preset = oauth_providers.provider_of({"provider": kind.provider if kind is not None else ""})
    origin = service_origin(visit, fields.id) if kind is not None and kind.is_oauth and fields.id else ""
    response = fields.render(
        "connection.html",
        name=stored.get("name", ""),
        kind=kind,
        target=visit.shown_path if not fields.id else f"{BASE}/{fields.id}",
        redirect_uri=connecting.redirect_uri(visit.ctx),
        scopes=preset.scopes,
        console=preset.console,
        purposes=service_kinds.purposes(params) if origin else [],
        accounts=lookup.search(visit, ACCOUNT, f"service.id:{fields.id} sort:name") if fields.id else [],
        grants=grants.list_grants(visit.ctx),
        next_page=visit.query.text("next", ""),
    )
    return replace(response, form_targets=(origin,) if origin else ())


def service_origin(visit: Visit, service_id: int) -> str:
    """The origin of the consent page, "" for a service that is not set up for it."""
    try:
        return connecting.authorization_origin(visit.ctx, service_id)
    except Invalid:
        return ""


def _service_created(visit: Visit, fields: OpenForm, service: dict[str, Any]) -> PageResponse:
    visit.flash(_("{name} created.", name=service[lookup.LABEL]))
    return see(visit.next if visit.query.text("next", "") else f"{BASE}/{service['id']}")


def _service_saved(visit: Visit, fields: OpenForm, service: dict[str, Any]) -> PageResponse:
    visit.flash(_("{name} saved.", name=service[lookup.LABEL]))
    return see(f"{BASE}/{service['id']}")


declare_pages(
    RecordPages(
        BASE,
        _service_form,
        _service,
        access="proven admin",
        instead=_choose_kind,
        more=_service_values,
        after_create=_service_created,
        after_save=_service_saved,
        deleted="",
    )
)


@page("POST", f"{BASE}/{{id}}/delete", "proven admin")
def delete_service(visit: Visit) -> PageResponse:
    """Deletes a service with its accounts."""
    return _delete(visit, SERVICE)


def _delete(visit: Visit, uri: str) -> PageResponse:
    record = records.retrieve(visit.ctx, uri, visit.id, lookup.LABEL)
    records.delete(visit.ctx, uri, visit.id, is_confirmed=True)
    visit.flash(_("{name} deleted.", name=record[lookup.LABEL]))
    return see(BASE)


# -- accounts ----------------------------------------------------------------------------------------------------------


def _account_form(visit: Visit, id: int) -> OpenForm:
    """The form of an account, with the fields of the kind of its service."""
    stored = lookup.record(visit, ACCOUNT, id) if id else {}
    service = _service_of(visit, stored)
    kind = service_kinds.kind_of(service["extension_id"], service["params"]) if service else None
    if kind is None:
        credentials: tuple[Control, ...] = (replace(PARAMS, label=N_("Credentials as JSON"), is_kept=bool(id)),)
    else:
        credentials = tuple(_with_hint(each, stored.get("params")) for each in kind.account)
    controls = (
        Control("name", N_("Name"), N_("A name for people to recognize.")),
        *credentials,
        Control("owner", N_("Belongs to"), N_("Whoever may read the account may use it in automations.")),
        Control("uri", N_("Short name"), N_("For scripts: lower-case letters, digits, dots and dashes. May be blank.")),
    )
    folded = ("uri", *(each.name for each in credentials if kind is not None and kind.is_oauth))
    fields = RecordForm(ACCOUNT, controls, folded).open(visit, id)
    if kind is None:
        return fields.fill(params="")
    return fields.fill(**service_kinds.plain_values(kind.account, stored.get("params")))


def _service_of(visit: Visit, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The service of a stored account, or of a new one by the address; {} for none. Raises NotFound."""
    id = stored["service_id"] if stored else visit.query.id("service", 0)
    return lookup.record(visit, SERVICE, id) if id else {}


def _choose_service(visit: Visit) -> PageResponse | None:
    """The list of services, in place of the form of a new account without one."""
    if visit.path != f"{ACCOUNTS}/new" or visit.query.text("service", ""):
        return None
    return see(BASE)


def _account_values(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    service = _service_of(visit, fields.stored)
    kind = service_kinds.kind_of(service["extension_id"], service["params"]) if service else None
    values: dict[str, Any] = {} if fields.id or not service else {"service_id": str(service["id"])}
    if kind is None:
        return values
    params = service_kinds.submitted_params(kind.account, fields.stored.get("params"), form)
    return values | ({} if params == fields.stored.get("params") else {"params": params})


def _account(visit: Visit, fields: OpenForm) -> PageResponse:
    service = _service_of(visit, fields.stored)
    kind = service_kinds.kind_of(service["extension_id"], service["params"]) if service else None
    origin = service_origin(visit, service["id"]) if kind is not None and kind.is_oauth else ""
    grant = grants.list_grants(visit.ctx).get(fields.id)
    response = fields.render(
        "connected_account.html",
        name=fields.stored.get("name", ""),
        service=service,
        target=visit.shown_path if not fields.id else f"{ACCOUNTS}/{fields.id}",
        can_connect=bool(origin),
        purpose=_purpose(service, grant),
        grant=grant,
        uses=mail_setup.uses_of_account(visit.ctx, fields.id) if fields.id else [],
    )
    return replace(response, form_targets=(origin,) if origin else ())


def _purpose(service: Mapping[str, Any], grant: grants.ConnectedGrant | None) -> str:
    """The purpose of an account: the one it was connected for, or the first of its service."""
    if grant is not None and grant.purpose:
        return grant.purpose
    return service_kinds.purposes(service.get("params"))[0][0] if service else ""


def _account_stored(visit: Visit, fields: OpenForm, account: dict[str, Any]) -> PageResponse:
    visit.flash(_("{name} saved.", name=account[lookup.LABEL]))
    return see(f"{ACCOUNTS}/{account['id']}")


declare_pages(
    RecordPages(
        ACCOUNTS,
        _account_form,
        _account,
        access="proven admin",
        instead=_choose_service,
        more=_account_values,
        after_create=_account_stored,
        after_save=_account_stored,
        deleted="",
    )
)


@page("POST", f"{ACCOUNTS}/{{id}}/delete", "proven admin")
def delete_account(visit: Visit) -> PageResponse:
    """Deletes an account; mailboxes and mail transports that use it fail from then on."""
    return _delete(visit, ACCOUNT)


# -- consent -----------------------------------------------------------------------------------------------------------


@page("POST", f"{BASE}/{{id}}/connect", "proven admin")
def connect(visit: Visit) -> PageResponse:
    """Redirects to the consent page of a provider, for a new account."""
    login = visit.form.text("login", "")
    request = ConnectionRequest(
        visit.id, _sent_purpose(visit), login=login if valid(login) else "", next_page=_sent_page(visit)
    )
    return begin(visit, request)


@page("POST", f"{ACCOUNTS}/{{id}}/connect", "proven admin")
def reconnect(visit: Visit) -> PageResponse:
    """Redirects to the consent page of a provider, for an account that exists."""
    account = lookup.record(visit, ACCOUNT, visit.id)
    grant = grants.list_grants(visit.ctx).get(visit.id)
    login = grant.email if grant is not None else ""
    next_page = _sent_page(visit) or f"{ACCOUNTS}/{visit.id}"
    return begin(visit, ConnectionRequest(account["service_id"], _sent_purpose(visit), visit.id, login, next_page))


def begin(visit: Visit, request: ConnectionRequest) -> PageResponse:
    """Redirects to the consent page of a provider. The form that was sent must allow its origin as a target."""
    url = connecting.begin(visit.ctx, visit.who.id, request)
    return PageResponse(status=303, headers={"Location": url, **NO_REFERRER})


def _sent_purpose(visit: Visit) -> Any:
    return visit.form.text("purpose", "")


def _sent_page(visit: Visit) -> str:
    return visit.next if visit.form.text("next", "") else ""


@page("GET", connecting.CALLBACK, "admin")
def finish(visit: Visit) -> PageResponse:
    """Where a provider sends the browser back to. Stores the tokens, and goes on to the page that follows."""
    response = {name: visit.query.text(name, "") for name in ("state", "code", "error", "error_description", "iss")}
    try:
        connection = connecting.finish(visit.ctx, visit.who.id, response)
    except ConnectionRefused as error:
        return refused(visit, error.message, error.next_page)
    mail_setup.resume_account(visit.ctx, connection.account_id)
    name = connection.email or lookup.record(visit, ACCOUNT, connection.account_id)["name"]
    visit.flash(_("Connected as {email}.", email=name))
    following = connection.next_page or f"{ACCOUNTS}/{connection.account_id}"
    return see(following.replace("{account}", str(connection.account_id)))


def refused(visit: Visit, message: str, next_page: str) -> PageResponse:
    """The page after a consent that led to no connection."""
    back = next_page or BASE
    if "{account}" in back:  # the page for a connected mailbox; the one before it has the buttons
        address = dict(parse_qsl(urlsplit(back).query)).get("address", "")
        back = f"/admin/mail/connect?{urlencode({'address': address})}"
    page = render(visit, "connection_refused.html", 422, message=sentence(message), back=back)
    return replace(page, headers={**page.headers, **NO_REFERRER})
