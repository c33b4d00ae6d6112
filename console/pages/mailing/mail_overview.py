"""Mail: servers that it leaves by, addresses that it comes from, mailboxes it is fetched from, and the outbox.

Passwords are written and never shown again."""

from dataclasses import replace
from typing import Any

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.form import Form, sentence
from console.html.rendering import render
from console.html.ui import bytes_text
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from server.connections import grants
from server.digits import is_whole
from server.errors import HelpdeskError, Invalid, Unavailable
from server.mail import inboxes
from server.mail.transports import GRAPH, NULL, SMTP, smtp, transport
from server.mailroom import flood, mail_dns, mail_listening, mail_setup
from server.mailroom.mail_setup import MailboxStatus, TestFailed
from server.mailroom.mailboxes import failed_mails
from server.mailroom.routing import MAX_ROUTES
from server.outbox import mail_queue
from server.people import profile
from server.records import records
from server.settings import Settings, display_value
from server.translation import N_, _

BASE = "/admin/mail"
OUTBOX, TRANSPORTS, MAILBOXES = f"{BASE}/outbox", f"{BASE}/transports", f"{BASE}/mailboxes"
FAILED, LISTENER, PARSER = f"{BASE}/failed", f"{BASE}/listener", "/rest/parser/parse.json"
TRANSPORT, MAILBOX = "mail_transport", "mailbox"
KINDS = [
    (SMTP, N_("SMTP server")),
    (GRAPH, "Microsoft Graph"),
    (NULL, N_("Nowhere: accepts all email and sends none")),
]
ENCRYPTIONS = [("starttls", N_("STARTTLS, port 587")), ("tls", N_("TLS, port 465")), ("none", N_("None, port 25"))]
KEPT_PASSWORD = N_("Blank: keeps the stored password, as long as host, port and user name stay the same.")
NEW_PASSWORD = N_("Never shown again.")
NOT_GRAPH = {"data-not-graph": True}  # a field that Microsoft Graph does not need; the style sheet hides it
PLAIN = {"autocomplete": "off", "autocapitalize": "off"}  # what no browser shall know better
PROTOCOLS = [
    *((name, name.upper().replace("-", " with ")) for name in inboxes.SERVER_PROTOCOLS),
    (inboxes.GRAPH, "Microsoft Graph"),
]
TRANSPORT_FORM = RecordForm(TRANSPORT, (
    Control("name", N_("Name"), hint=N_("A name for people to recognize, such as your provider's.")),
    Control("extension_id", N_("Kind"), "", options=KINDS),
    Control("host", N_("Host"), N_("Such as smtp.example. Microsoft Graph: blank, or the host of a national cloud."),
            attributes={**PLAIN, "maxlength": 255}, is_own=True, heading=N_("Server")),
    Control("encryption", N_("Encryption"), kind="choice", options=ENCRYPTIONS, is_own=True, attributes=NOT_GRAPH),
    Control("port", N_("Port"), N_("Blank: the usual port of the encryption."), is_own=True,
            attributes={"inputmode": "numeric", "maxlength": 5, **NOT_GRAPH}),
    Control("username", N_("User name"),
            N_("Blank: the server requires no sign-in. Microsoft Graph: the address of the mailbox."), is_own=True,
            attributes={**PLAIN, "maxlength": 255}),
    Control("password", N_("Password"), NEW_PASSWORD, kind="password", is_own=True,
            attributes={"maxlength": 1000, **NOT_GRAPH}),
    Control("connected_account", N_("Connected account"), kind="chooser", target="connected_account", is_own=True,
            hint=N_("Its token is used instead of the password."), none=N_("None: use the password")),
    Control("verify", N_("Require a valid certificate"),
            N_("Switch this off only for a server of your own: anyone on the network path can read along."), "tick",
            is_own=True, attributes=NOT_GRAPH),
    Control("timeout", N_("Timeout in seconds"), is_own=True, attributes={"inputmode": "numeric", "maxlength": 3}),
))  # fmt: skip
MAILBOX_FORM = RecordForm(MAILBOX, (
    Control("name", N_("Name"), hint=""),
    Control("is_enabled", N_("Fetch email from this mailbox"), ""),
    Control("protocol", N_("Protocol"), "",
            options=PROTOCOLS, heading=N_("Server")),
    Control("host", N_("Host"), N_("Microsoft Graph: blank, or the host of a national cloud."), attributes=PLAIN),
    Control("port", N_("Port"),
            N_("Usual ports: 993 for IMAP with SSL, 143 for IMAP, 995 for POP3 with SSL, 110 for POP3. Blank: the "
               "usual port."), "line", attributes={"inputmode": "numeric", "maxlength": 5, **NOT_GRAPH}),
    Control("username", N_("User name"), N_("Microsoft Graph: the address of the mailbox, also of a shared one."),
            attributes=PLAIN),
    Control("password", N_("Password"), NEW_PASSWORD, attributes=NOT_GRAPH),
    Control("connected_account_id", N_("Connected account"), hint=N_("Its token is used instead of the password."),
            none=N_("None: use the password")),
    Control("folder", N_("Folder"), hint=N_("IMAP and Microsoft Graph only, there a path such as inbox/Orders.")),
    Control("is_mail_kept", N_("Leave email on the server"),
            N_("Otherwise email is deleted from the server once it is stored here. Other programs can then "
               "no longer find it, and this cannot be undone. Microsoft Graph: it is moved to Deleted Items.")),
    Control("max_msg_size_kb", N_("Largest email"),
            N_("In KB. Blank: no limit. Of a larger email, only the headers are stored."), "line",
            attributes={"inputmode": "numeric", "maxlength": 9}, blank="0", heading=N_("Numbers and limits")),
    Control("timeout_secs", N_("Timeout in seconds"),
            N_("For each response of the server. Blank: the limit of the service."), "line",
            attributes={"inputmode": "numeric", "maxlength": 4}, blank="0"),
))  # fmt: skip
NEW_TRANSPORT = {"extension_id": SMTP, "encryption": "starttls", "verify": "1"}
NEW_BOX = {"protocol": "imap-ssl", "port": "993", "folder": "INBOX", "is_enabled": "1", "is_mail_kept": "1"}
PLACES = {"bucket": "/admin/people/buckets/{}", "group": "/admin/people/groups/{}"}  # pages of what takes mail
LABELS = {
    "recipient": N_("Send it to"),
    "email": N_("Address"),
    "transport": N_("Mail transport"),
    "on": N_("Accept email"),
    "lmtp_host": N_("Address"),
    "lmtp_port": N_("Port"),
    "lmtp_protocol": N_("Protocol"),
    "lmtp_domains": N_("Domains"),
}


# -- the setup --------------------------------------------------------------------------------------------------------


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """Outgoing transports, sender addresses, and incoming mailboxes."""
    return _setup(visit, Form.from_values({"email": "", "transport": "0"}))


@page("GET", f"{BASE}/dns", "admin")
def show_dns(visit: Visit) -> PageResponse:
    """The DNS entries of sender domains, checked on request."""
    hints: list[mail_dns.Hint] = []
    is_asked, wrong = visit.query.flag("ask"), ""
    try:
        hints = mail_dns.of_senders(visit.ctx) if is_asked else []
    except Unavailable as error:
        wrong = sentence(error.message)
    return render(
        visit,
        "mail_dns.html",
        tabs=tabs(visit),
        domains=mail_dns.domains(visit.ctx),
        hints=hints,
        wrong=wrong,
        sentence=sentence,
        is_asked=is_asked,
    )


@page("POST", f"{BASE}/senders", "admin", creates=True)
def add_sender(visit: Visit) -> PageResponse:
    """Let mail come from an address, through a transport."""
    form = Form.sent(visit.form, ("email", "transport", "is_default"))
    try:
        id = visit.form.id("transport", 0)
        mail_setup.set_sender(visit.ctx, form.get("email"), id, form.get("is_default") == "1")
    except HelpdeskError as error:
        return _setup(visit, form.refuse(error))
    visit.flash(_("Email can be sent from {email}.", email=form.text("email")))
    return see(f"{BASE}#senders")


@page("POST", f"{BASE}/senders/{{id}}/remove", "admin")
def remove_sender(visit: Visit) -> PageResponse:
    """Take its own transport from an address."""
    was = lookup.record(visit, "address", visit.id)
    mail_setup.unset_sender(visit.ctx, visit.id)
    visit.flash(
        _("The address no longer has its own mail transport."),
        f"{BASE}/senders",
        email=was["email"],
        transport=str(was["mail_transport_id"]),
    )
    return see(f"{BASE}#senders")


@page("POST", f"{BASE}/default", "admin")
def set_default(visit: Visit) -> PageResponse:
    """Sets the default transport, for senders without one."""
    was = mail_setup.defaults(visit.ctx)[1]
    mail_setup.set_default_transport(visit.ctx, visit.form.id("transport", 0))
    visit.flash(
        _("Default mail transport set. Email that was waiting for one is being sent."),
        f"{BASE}/default",
        transport=str(was),
    )
    return see(BASE)


def _setup(visit: Visit, form: Form) -> PageResponse:
    transports, settings = lookup.search(visit, TRANSPORT), visit.service.settings
    boxes, senders = lookup.search(visit, MAILBOX, "sort:name"), mail_setup.senders(visit.ctx)
    routes = mail_setup.routes(visit.ctx)
    parts = (("out", lookup.options(visit, transports)), ("from", senders), ("in", boxes), ("to", routes))
    parts_shown = {name: lookup.part(visit, rows, name) for name, rows in parts}
    kinds = {each["id"]: dict(KINDS).get(each["extension_id"], each["extension_id"]) for each in transports}
    return render(
        visit,
        "mail.html",
        form=form,
        tabs=tabs(visit),
        labels=LABELS,
        transports=lookup.options(visit, transports),
        kinds=kinds,
        boxes=boxes,
        shown=parts_shown,
        senders=senders,
        default=mail_setup.defaults(visit.ctx)[1],
        settings=settings,
        parked=mail_queue.list_queue(visit.ctx, "parked", 1)[1],
        looks=mail_setup.looks(visit.ctx),
        nothing=MailboxStatus(),
        listener=mail_listening.state(visit.service),
        parser=visit.service.base_url + PARSER,
        routes=routes,
        places=PLACES,
        guards=_guards(settings),
        most_routes=MAX_ROUTES,
    )


def _guards(settings: Settings) -> list[tuple[str, str, str]]:
    """The limits of mail: (limit, value, setting, or "" if there is none)."""
    minutes = flood.WINDOW_SECONDS // 60
    loops = _(
        "gets no automatic reply; after {count} emails from one sender within {minutes} minutes, "
        "further ones start no automations",
        count=flood.MAX_AUTOMATIC,
        minutes=minutes,
    )
    return [
        (
            N_("Ignored senders"),
            ", ".join(settings.mail_exclude_patterns) or _("nobody"),
            "mail_exclude_patterns",
        ),
        (N_("Largest email"), bytes_text(settings.max_mail_bytes), "max_mail_bytes"),
        (N_("Attachment limit"), bytes_text(settings.mail_file_bytes), "mail_file_bytes"),
        (N_("Automatic email"), loops, ""),
    ]


def tabs(visit: Visit) -> list[tuple[str, str]]:
    """The pages about mail."""
    count = len(failed_mails.list_letters(visit.ctx))
    return [
        (BASE, _("Setup")),
        (OUTBOX, _("Outbox")),
        (FAILED, _("Failed ({count})", count=count) if count else _("Failed")),
        ("/search/email_signature", _("Signatures")),
        ("/search/html_template", _("Mail templates")),
    ]


# -- the listener ------------------------------------------------------------------------------------------------------


@page("GET", LISTENER, "proven admin")
def show_listener(visit: Visit) -> PageResponse:
    """Where mail servers hand over mail, to be switched."""
    fields = _listener_fields(visit.service.settings)
    return _listener(visit, Form.from_values(fields | {"lmtp_host": fields["lmtp_host"] or "127.0.0.1"}))


@page("POST", LISTENER, "proven admin")
def save_listener(visit: Visit) -> PageResponse:
    """Switch it, at once and for later starts."""
    settings = visit.service.settings
    form = Form.sent(visit.form, ("on", *mail_listening.NAMES))
    changes = {name: form.text(name) for name in mail_listening.NAMES if not settings.is_given(name)}
    if "lmtp_host" in changes and form.get("on") != "1":
        changes["lmtp_host"] = ""
    elif not changes.get("lmtp_host", "given"):
        return _listener(visit, form.fail("lmtp_host", _("Enter the address to listen on, such as 127.0.0.1.")))
    before = _listener_fields(settings)
    try:
        mail_listening.change(visit.ctx, changes)
    except HelpdeskError as error:
        return _listener(visit, form.refuse(error))
    urls = mail_listening.state(visit.service).urls
    visit.flash(
        _("Mail servers can now hand over email at {urls}.", urls=urls[0]) if urls else _("Listener switched off."),
        LISTENER,
        **before,
    )
    return see(BASE)


def _listener_fields(settings: Settings) -> dict[str, str]:
    """The form that brings it back to how it is."""
    fields = {name: display_value(getattr(settings, name)).replace("\n", ", ") for name in mail_listening.NAMES}
    return fields | {"on": "1" if settings.lmtp_host else "0"}


def _listener(visit: Visit, form: Form) -> PageResponse:
    settings = visit.service.settings
    sources = {name: settings.sources[name] for name in mail_listening.NAMES if settings.is_given(name)}
    return render(
        visit,
        "mail_listener.html",
        form=form,
        labels=LABELS,
        given=sources,
        settings=settings,
        state=mail_listening.state(visit.service),
        protocols=[(name, name.upper()) for name in ("lmtp", "smtp")],
    )


# -- transports --------------------------------------------------------------------------------------------------------


@page("POST", f"{TRANSPORTS}/{{id}}/test", "admin", creates=True)
def test_transport(visit: Visit) -> PageResponse:
    """Sends a mail through a transport now, and shows the server's response."""
    fields, recipient = TRANSPORT_PAGES.open(visit, visit.id), visit.form.text("recipient", "").strip()
    fields.fill(recipient=recipient)
    try:
        sender = mail_setup.send_test(visit.ctx, visit.id, recipient)
    except HelpdeskError as error:
        fields.values.refuse(error, known=("recipient",))
        return _transport(visit, fields, mail_setup.dialogue_of(error))
    visit.flash(
        _(
            "{name} accepted the email from {sender} to {recipient}.",
            name=fields.stored["name"],
            sender=sender,
            recipient=recipient,
        )
    )
    return see(f"{TRANSPORTS}/{visit.id}")


def _transport_created(visit: Visit, fields: OpenForm, transport: dict[str, Any]) -> PageResponse:
    if mail_setup.defaults(visit.ctx)[1] == transport["id"]:
        sentence = _(
            "{name} saved as the default transport: all email is sent through it. Try it now.", name=transport["_label"]
        )
        visit.flash(sentence, f"{BASE}/default", transport="0")
    else:
        visit.flash(_("{name} saved. Try it now: send an email through it.", name=transport["_label"]))
    return see(f"{TRANSPORTS}/{transport['id']}")


def _saved(visit: Visit, fields: OpenForm, saved: dict[str, Any]) -> PageResponse:
    """The page of a transport or mailbox, where it can be tried."""
    visit.flash(_("{name} saved.", name=saved["_label"]))
    return see(f"{TRANSPORTS if fields.type.uri == TRANSPORT else MAILBOXES}/{saved['id']}")


def _fill_transport(visit: Visit, fields: OpenForm) -> OpenForm:
    """The settings of a transport, without its password."""
    if not fields.id:
        return fields
    params = fields.stored["params"] if isinstance(fields.stored["params"], dict) else {}
    fields.fill(**smtp.typed_values(params))
    if params.get("password"):
        fields.change(replace(fields.control("password"), hint=KEPT_PASSWORD))
    return fields.fill(recipient=profile.own_record(visit.ctx)["email"])


def _params(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """The settings of the kind of transport. Raises Invalid at the field of the form that is wrong."""
    from server.mail.transports import graph  # loads the requests to other programs

    if form.get("extension_id") == NULL:
        return {"params": {}}
    account = lookup.chosen_id(visit, "connected_account", form.get("connected_account"), "connected_account")
    values, kind = form.values | {"connected_account": str(account or "")}, form.get("extension_id")
    params = graph.params_from(values) if kind == GRAPH else smtp.params_from(values)
    transport(kind).settings_from(params)  # names the wrong param; the type would name all as one field
    return {"params": params}


def _transport(visit: Visit, fields: OpenForm, dialogue: tuple[str, ...] = ()) -> PageResponse:
    seconds = visit.service.settings.mail_timeout_seconds
    hint = _("For each response of the server. Blank: {seconds}.", seconds=seconds)
    fields.change(replace(fields.control("timeout"), hint=hint))
    return fields.render(
        "mail_transport.html",
        dialogue=dialogue,
        labels={**fields.labels, "recipient": LABELS["recipient"]},
        name=fields.stored.get("name", ""),
        **_account_state(visit, fields.before.get("connected_account")),
    )


def _account_state(visit: Visit, reference: str) -> dict[str, Any]:
    """The connected account of a mailbox or transport, with its grant, for parts/grant_of_account.html. reference: its
    id or short name."""
    ids = [int(reference)] if is_whole(reference) else []
    if reference and not ids:
        ids, _total = records.first_ids(visit.ctx, "connected_account", f'uri:"{reference}"', 1)
    accounts = records.stored(visit.ctx, "connected_account", ids) if ids else []
    if not accounts:
        return {"account_id": 0, "account_name": "", "grant": None}
    id = accounts[0]["id"]
    return {"account_id": id, "account_name": accounts[0]["name"], "grant": grants.list_grants(visit.ctx).get(id)}


TRANSPORT_PAGES = declare_pages(
    RecordPages(
        TRANSPORTS,
        TRANSPORT_FORM,
        _transport,
        access="proven admin",
        first=NEW_TRANSPORT,
        fill=_fill_transport,
        more=_params,
        after_create=_transport_created,
        after_save=_saved,
        back=BASE,
    )
)


# -- mailboxes ---------------------------------------------------------------------------------------------------------


@page("POST", f"{MAILBOXES}/{{id}}/check", "proven admin")
def check_mailbox(visit: Visit) -> PageResponse:
    """Opens a mailbox now and shows the server's error; if it works, waiting mail is fetched."""
    try:
        mail_setup.check_mailbox(visit.ctx, visit.id)
    except TestFailed as error:
        return _mailbox(visit, MAILBOX_FORM.open(visit, visit.id).refuse(error), error.dialogue)
    except Invalid as error:
        visit.flash(error.message)
    else:
        visit.flash(_("The mailbox works. Waiting email is being fetched."))
    return see(BASE)


def _mailbox(visit: Visit, fields: OpenForm, dialogue: tuple[str, ...] = ()) -> PageResponse:
    each = fields.stored
    if each.get("password"):
        fields.change(replace(fields.control("password"), hint=KEPT_PASSWORD))
    names = ("id", "name", "checked_at", "num_fails", "last_error", "is_enabled")
    return fields.render(
        "mailbox.html",
        dialogue=dialogue,
        each={name: each[name] for name in names} if each else None,
        look=mail_setup.looks(visit.ctx).get(fields.id, MailboxStatus()),
        **_account_state(visit, fields.before.get("connected_account_id")),
    )


def _box_fields(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """The usual port in place of a blank one."""
    return {} if form.text("port") else {"port": inboxes.usual_port(form.get("protocol"))}


declare_pages(
    RecordPages(
        MAILBOXES,
        MAILBOX_FORM,
        _mailbox,
        access="proven admin",
        first=NEW_BOX,
        more=_box_fields,
        after_create=_saved,
        after_save=_saved,
        back=BASE,
        deleted=N_("{name} deleted. Its email stays on the server and here."),
    )
)
