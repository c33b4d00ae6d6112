"""Outgoing webhooks: the programs that are notified of changes, the deliveries, and replay."""

import json
from contextlib import suppress
from typing import Any

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.cells import DrawnColumns
from console.lists.worklist import Worklist, declare
from server.errors import Invalid
from server.outgoing import chat_programs, courier, deliveries
from server.records import records
from server.translation import N_, _

URI, BASE = "outgoing_webhook", "/automations/outgoing"
SHOWN = 25
MAX_SHOWN_CHARS = 20_000
STATES = {
    deliveries.WAITING: ("info", N_("waiting")),
    deliveries.SENT: ("ok", N_("sent")),
    deliveries.FAILED: ("err", N_("failed")),
}


def program_label(name: str) -> str:
    """The name of the program of a webhook."""
    program = chat_programs.program_of(name)
    return program.label if program is not None else _("Other")


_column = DrawnColumns("outgoing")
LIST = declare(Worklist(
    URI, BASE, N_("Chat and webhooks"), ("_label", "program", "events", "state", "waiting", "updated_at"),
    own=(
        _column("program", N_("Program"), value=lambda row, more: program_label(row["program"])),
        _column("state", N_("State"), value=lambda row, more: "off" if row["is_disabled"] else "on"),
        _column("waiting", N_("Waiting"), kind="number", value=lambda row, more: more[row["id"]][0]),
    ),
    load=lambda visit, rows: deliveries.overview(visit.ctx, [each["id"] for each in rows]),
    sort="name", none=N_("No outgoing webhook matches."),
    intro=N_("Messages to chat programs, and signed requests to others, about changes here"),
    empty=N_("Notify a chat or another program when a ticket is created or a customer writes. A delivery that fails "
             "is retried for three days."),
    new=(f"{BASE}/chats/new", N_("New webhook")), row=f"{BASE}/{{id}}",
))  # fmt: skip
FORM = RecordForm(URI, (
    Control("name", N_("Name"), ""),
    Control("url", N_("Address"), N_("Where requests are sent, such as https://shop.example/hooks/helpdesk."),
            kind="line"),
    Control("events", N_("Events"), N_("Such as ticket.created, ticket.updated, message.* or *, separated by commas "
                                       "or line breaks."), kind="area", attributes={"rows": 2, "spellcheck": "false"}),
    Control("query", N_("Only matching records"), N_("A search, for events of one record type, such as "
            "status:open."), kind="line"),
    Control("expanded", N_("Keys to expand"), N_("As in the API, such as owner_,org_,custom_."), kind="line",
            heading=N_("Request")),
    Control("headers", N_("More headers"), N_("One per line, as Name: value. They are not shown again."), kind="area",
            attributes={"rows": 2, "spellcheck": "false"}, is_kept=True),
    Control("body", N_("Body"), N_("Leave blank for JSON with type, timestamp and data. Otherwise a template with "
                                   "event, timestamp and record."), kind="code", attributes={"rows": 4}),
    Control("is_disabled", N_("Disabled")),
))  # fmt: skip


@page("POST", f"{BASE}/{{id}}/test", "proven admin")
def test(visit: Visit) -> PageResponse:
    """Send a test, and show how it went."""
    return see(f"{BASE}/sent/{courier.tried(visit.ctx, visit.id)['id']}")


@page("POST", f"{BASE}/{{id}}/rotate", "proven admin")
def rotate(visit: Visit) -> PageResponse:
    """Give it a new secret; the one before signs as well for a day. Raises Invalid for chat programs."""
    if chat_programs.program_of(lookup.record(visit, URI, visit.id)["program"]) is not None:
        raise Invalid(_("Messages to chat programs are not signed."))
    return _secret(visit, records.update(visit.ctx, URI, visit.id, {"secret": ""}))


@page("GET", f"{BASE}/sent/{{id}}", "proven admin")
def show_delivery(visit: Visit) -> PageResponse:
    """A delivery: the request and the response."""
    delivery = deliveries.one(visit.ctx, visit.id)
    each = lookup.record(visit, URI, delivery["webhook_id"])
    return render(
        visit,
        "outgoing_delivery.html",
        found=delivery,
        each=each,
        states=STATES,
        body=_indented(delivery["request"]["body"]),
    )


@page("POST", f"{BASE}/sent/{{id}}/replay", "proven admin")
def replay(visit: Visit) -> PageResponse:
    """Send it again."""
    deliveries.replay(visit.ctx, visit.id)
    visit.flash(_("Sending it again now."))
    return see(f"{BASE}/sent/{visit.id}")


def _indented(body: str) -> str:
    """A body as people read it, as much of it as a page shows."""
    with suppress(ValueError):
        body = json.dumps(json.loads(body), ensure_ascii=False, indent=2)
    return body[:MAX_SHOWN_CHARS]


def _form(visit: Visit, fields: OpenForm) -> PageResponse:
    each = records.retrieve(visit.ctx, URI, fields.id, "failing_since,last_error") if fields.id else {}
    latest, total = deliveries.listed(visit.ctx, fields.id, "", SHOWN, 0) if fields.id else ([], 0)
    return fields.render(
        "outgoing_webhook.html",
        each=each,
        listed=latest,
        total=total,
        states=STATES,
        kept=deliveries.KEPT_DAYS,
    )


def _open_chat(visit: Visit) -> PageResponse | None:
    """The form of a webhook to a chat program, in place of the generic one."""
    if not visit.record_id:
        return None
    is_chat = chat_programs.program_of(lookup.record(visit, URI, visit.record_id)["program"]) is not None
    return see(f"{BASE}/chats/{visit.record_id}") if is_chat else None


def _secret(visit: Visit, webhook: dict[str, Any]) -> PageResponse:
    return render(visit, "outgoing_secret.html", each=webhook)


declare_pages(
    RecordPages(
        BASE,
        FORM,
        _form,
        LIST,
        "proven admin",
        stays_open=True,
        instead=_open_chat,
        after_create=lambda visit, fields, made: _secret(visit, made),
    )
)
