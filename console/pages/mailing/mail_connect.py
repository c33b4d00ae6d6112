"""Connects a mailbox in one go: an address is typed, its servers are found, both directions are tested, and mailbox,
mail transport and sender address are stored together."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from console.html.form import Form, sentence
from console.html.rendering import render
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.pages.connecting import service_kinds
from console.pages.connecting.connection_pages import ACCOUNT, NO_REFERRER, SERVICE, service_origin
from console.pages.mailing.mail_overview import BASE, ENCRYPTIONS, LABELS, tabs
from server.connections import grants
from server.digits import is_whole
from server.errors import HelpdeskError, NotFound
from server.mail import inboxes
from server.mailroom import mail_connection, mail_discovery
from server.mailroom.mail_connection import GRAPH_PROTOCOL, ConnectionTestFailed, NewMailbox
from server.mailroom.mail_discovery import MailServers
from server.outbound import request_signing
from server.outbound.oauth_providers import GOOGLE, GRAPH, MAIL, MICROSOFT, OTHER
from server.people import profile
from server.records import records
from server.translation import N_, Words, _

CONNECT = f"{BASE}/connect"
SERVERS = f"{CONNECT}/servers"
NAMES = (
    "address",
    "account",
    "protocol",
    "host",
    "port",
    "username",
    "password",
    "smtp_host",
    "smtp_port",
    "smtp_encryption",
    "smtp_username",
    "smtp_password",
    "recipient",
)
TICKS = ("is_mail_kept", "is_default")
ACCOUNT_DIGITS = 18  # digits of the longest id
FIELD_LABELS: dict[str, Words] = {
    **LABELS,
    "address": N_("Email address"),
    "protocol": N_("Protocol"),
    "host": N_("Server that receives"),
    "port": N_("Port"),
    "username": N_("User name"),
    "password": N_("Password"),
    "smtp_host": N_("Server that sends"),
    "smtp_port": N_("Port"),
    "smtp_encryption": N_("Encryption"),
    "smtp_username": N_("User name for sending"),
    "smtp_password": N_("Password for sending"),
    "recipient": N_("Send a test email to"),
}
PROTOCOLS = [(name, name.upper().replace("-", " with ")) for name in inboxes.PROTOCOLS if name != GRAPH_PROTOCOL]
PROVIDER_NAMES = {GOOGLE: "Google", MICROSOFT: "Microsoft 365"}


@page("GET", CONNECT, "proven admin")
def show(visit: Visit) -> PageResponse:
    """The form for the address."""
    form = Form.from_values({"address": visit.query.text("address", "")})
    return render(visit, "mail_connect.html", form=form, tabs=tabs(visit), labels=FIELD_LABELS)


@page("POST", CONNECT, "proven admin")
def find(visit: Visit) -> PageResponse:
    """Finds the servers of the address, and shows them to be changed."""
    form = Form.sent(visit.form, ("address",))
    try:
        servers = mail_discovery.find_servers(form.text("address"), mail_discovery.sources(visit.service))
    except HelpdeskError as error:
        return render(visit, "mail_connect.html", form=form.refuse(error), tabs=tabs(visit), labels=FIELD_LABELS)
    return _servers(visit, _form_of(visit, form.text("address"), servers), servers)


@page("GET", SERVERS, "proven admin")
def show_servers(visit: Visit) -> PageResponse:
    """The servers of an address whose provider has just been connected."""
    address, account_id = visit.query.text("address", ""), visit.query.id("account", 0)
    provider = (
        _provider_of(visit, account_id) if account_id else mail_discovery.DOMAINS.get(address.rpartition("@")[2], "")
    )
    servers = mail_discovery.PROVIDERS.get(provider, MailServers())
    form = _form_of(visit, address, replace(servers, provider=provider), account_id)
    if account_id and visit.query.text("purpose", "") == GRAPH:
        form.values |= {"protocol": GRAPH_PROTOCOL, "host": "", "port": "", "smtp_host": ""}
    return _servers(visit, form, replace(servers, provider=provider))


@page("POST", SERVERS, "proven admin", creates=True)
def connect(visit: Visit) -> PageResponse:
    """Tests both directions and stores the mailbox; a failed test keeps what was typed and stores nothing."""
    form = Form.sent(visit.form, (*NAMES, *TICKS))
    provider = ""
    try:
        account_id = visit.form.id("account", 0)
        provider = _provider_of(visit, account_id) if account_id else ""
        mailbox = mail_connection.connect_mailbox(visit.ctx, _new_mailbox(form, account_id))
    except ConnectionTestFailed as error:
        has_one_host = form.get("protocol") == GRAPH_PROTOCOL
        for direction, message in error.problems.items():
            is_at_host = has_one_host or direction == mail_connection.INCOMING
            form.fail("host" if is_at_host else "smtp_host", sentence(message))
        return _servers(visit, form, MailServers(provider=provider), error.dialogue)
    except HelpdeskError as error:
        return _servers(visit, form.refuse(error, known=NAMES), MailServers(provider=provider))
    visit.has_created = True
    return render(visit, "mail_connected.html", tabs=tabs(visit), mailbox=mailbox, address=form.text("address"))


def _new_mailbox(form: Form, account_id: int) -> NewMailbox:
    texts: dict[str, Any] = {
        name: form.get(name) if "password" in name else form.text(name) for name in NAMES if name != "account"
    }
    return NewMailbox(
        **texts,
        account_id=account_id,
        is_mail_kept=form.get("is_mail_kept") == "1",
        is_default=form.get("is_default") == "1",
    )


def _form_of(visit: Visit, address: str, servers: MailServers, account_id: int = 0) -> Form:
    incoming, outgoing = servers.incoming, servers.outgoing
    return Form.from_values(
        {
            "address": address,
            "account": str(account_id or ""),
            "protocol": incoming.protocol if incoming else "imap-ssl",
            "host": incoming.host if incoming else "",
            "port": incoming.port if incoming else "",
            "username": (incoming.username if incoming else "") or address,
            "smtp_host": outgoing.host if outgoing else "",
            "smtp_port": outgoing.port if outgoing else "",
            "smtp_encryption": outgoing.encryption if outgoing else "tls",
            "recipient": profile.own_record(visit.ctx)["email"],
            "is_mail_kept": "1",
            "is_default": "1" if mail_connection.lacks_sender(visit.ctx) else "",
        }
    )


def _servers(visit: Visit, form: Form, servers: MailServers, dialogue: tuple[str, ...] = ()) -> PageResponse:
    """The page with the servers. Its buttons may lead to the consent pages of the connected services."""
    account_id = int(form.get("account")) if is_whole(form.get("account"), ACCOUNT_DIGITS) else 0
    services = [] if account_id else _consent_services(visit)
    origins = {origin for each in services if (origin := service_origin(visit, each["id"]))}
    grant = grants.list_grants(visit.ctx).get(account_id)
    address = form.text("address")
    response = render(
        visit,
        "mail_servers.html",
        form=form,
        tabs=tabs(visit),
        labels=FIELD_LABELS,
        servers=servers,
        provider_name=PROVIDER_NAMES.get(servers.provider, ""),
        services=services,
        accounts=[] if account_id else _mail_accounts(visit),
        grant=grant,
        account_id=account_id,
        account_name=lookup.record(visit, ACCOUNT, account_id)["name"] if account_id else "",
        protocols=PROTOCOLS,
        encryptions=ENCRYPTIONS,
        is_graph=form.get("protocol") == GRAPH_PROTOCOL,
        dialogue=dialogue,
        known=mail_connection.connected_as(visit.ctx, address) if address else "",
        next_page=f"{SERVERS}?{urlencode({'address': address})}&account={{account}}",
        setup=f"/admin/connections/new?{urlencode({'kind': servers.provider, 'next': _back(address)})}",
        database=visit.service.settings.mail_autoconfig_url,
    )
    headers = {**response.headers, **NO_REFERRER}
    return replace(response, headers=headers, form_targets=tuple(sorted(origins)))


def _back(address: str) -> str:
    return f"{CONNECT}?{urlencode({'address': address})}"


def _consent_services(visit: Visit) -> list[dict[str, Any]]:
    """The connected services whose accounts can sign in to mail: id, name, provider, purposes."""
    services = lookup.search(visit, SERVICE, "sort:name")
    result = []
    for each in records.stored(visit.ctx, SERVICE, [row["id"] for row in services]):
        params = each["params"] or {}
        if each["extension_id"] != request_signing.OAUTH2 or not service_origin(visit, each["id"]):
            continue
        provider = params.get("provider") or OTHER
        purposes = [purpose for purpose, _label in service_kinds.purposes(params)]
        ways = [GRAPH] if GRAPH in purposes else []
        ways = [MAIL, *ways] if MAIL in purposes else ["other"] if provider == OTHER else ways
        result.append({"id": each["id"], "name": each["name"], "provider": provider, "ways": ways})
    return result


def _mail_accounts(visit: Visit) -> list[tuple[int, str, str]]:
    """The connected accounts that can sign in to mail, for shared mailboxes: (id, name, purpose)."""
    states = grants.list_grants(visit.ctx)
    accounts = lookup.search(visit, ACCOUNT, "sort:name")
    usable = [each for each in accounts if (state := states.get(each["id"])) and state.purpose and not state.ended_at]
    return [(each["id"], each["name"], states[each["id"]].purpose) for each in usable]


def _provider_of(visit: Visit, account_id: int) -> str:
    """The provider of an account. Raises NotFound."""
    account = lookup.record(visit, ACCOUNT, account_id)
    if not account["service_id"]:
        raise NotFound(_("The account has no connected service."))
    params = lookup.record(visit, SERVICE, account["service_id"])["params"] or {}
    return str(params.get("provider") or "")
