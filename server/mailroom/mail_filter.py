"""Runs automations on a mail before it is stored: they may reject it, change it and choose its ticket's place."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from server import contexts, log
from server.context import Context
from server.dataclass import dataclass
from server.digits import id_in
from server.errors import HelpdeskError, Rejected
from server.mail import headers, reply_names
from server.mailroom import sender as senders
from server.mailroom import threading
from server.mailroom.earlier_mail import History
from server.mailroom.incoming import IncomingMail, again
from server.mailroom.threading import Thread
from server.record_types.record_type import Record
from server.record_types.shared import custom
from server.records import event_publishing
from server.records.reading import RecordReader
from server.records.writing import RecordWriter

FILTER, ROUTE = "mail.filter", "mail.route"
WARNING = 4  # level in the automation log
MAX_HEADERS = 50  # headers per automation
LOG = log.get("mail")


@dataclass(frozen=True, slots=True)
class FormOrigin:
    """The contact form by which a mail came. notes: for its message."""

    form_id: int
    consent_version: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilteredMail:
    """A mail after the automations. org_id: the sender's organization, None if not set. customs: values of custom
    fields of its ticket and message, by name. place: the result of mail.route, {} for none. history: set for mail that
    was handled elsewhere. notes: additional notes for its message. form: the contact form by which it came, None for
    email."""

    incoming: IncomingMail
    org_id: int | None = None
    customs: dict[str, Any] = field(default_factory=dict)
    place: Mapping[str, Any] = field(default_factory=dict)
    history: History | None = None
    notes: tuple[str, ...] = ()
    form: FormOrigin | None = None


def apply_filters(ctx: Context, incoming: IncomingMail) -> FilteredMail:
    """Runs the automations of mail.filter and mail.route on a mail. Raises Rejected if one refuses it."""
    if not event_publishing.is_bound(ctx, FILTER, ROUTE):
        return FilteredMail(incoming)
    filtered = _filtered(ctx, incoming)
    return replace(filtered, place=_routed(ctx, filtered.incoming))


def _filtered(ctx: Context, incoming: IncomingMail) -> FilteredMail:
    def values() -> dict[str, Any]:
        ticket = _thread(ctx, incoming).ticket
        parent = event_publishing.record_values("parent_ticket", contexts.TICKET, ticket["id"] if ticket else 0)
        return _values(ctx, incoming) | parent

    filtered = FilteredMail(incoming)
    for answer in event_publishing.automation_results(ctx, FILTER, values):
        if event_publishing.is_yes(answer.get("reject")):
            LOG.info("mail.refused", sender=incoming.mail.sender)
            raise Rejected("an automation on mail.filter refused this email", field="message", is_unwanted=True)
        changes = answer.get("set")
        if isinstance(changes, Mapping):
            filtered = _changed(filtered, changes)
    return filtered


def _changed(filtered: FilteredMail, changes: Mapping[str, Any]) -> FilteredMail:
    """Applies the result of one automation."""
    mail = filtered.incoming.mail
    for name, key in (("email_subject", "subject"), ("email_body", "text"), ("email_body_html", "html")):
        if isinstance(changes.get(name), str):
            mail = replace(mail, **{key: changes[name]})
    before = filtered.incoming.mail
    if mail.text != before.text or (changes.get("email_body_html") is not None and mail.html != before.html):
        mail = replace(mail, other_words="")  # text that was removed must not be searchable
    if isinstance(changes.get("headers"), Mapping):
        for name, value in list(changes["headers"].items())[:MAX_HEADERS]:
            mail = mail.with_header(name, headers.one_line(str(value or "")))
    customs = changes.get("custom_fields")
    return replace(
        filtered,
        incoming=filtered.incoming if mail is filtered.incoming.mail else again(filtered.incoming, mail),
        org_id=_id(changes, "email_sender_org_id") if "email_sender_org_id" in changes else filtered.org_id,
        customs=filtered.customs | dict(customs) if isinstance(customs, Mapping) else filtered.customs,
    )


def _routed(ctx: Context, incoming: IncomingMail) -> Mapping[str, Any]:
    """Runs for new tickets only; the first automation that returns a value decides."""

    if event_publishing.is_bound(ctx, ROUTE) and _thread(ctx, incoming).ticket is None:
        return next(event_publishing.automation_results(ctx, ROUTE, lambda: _values(ctx, incoming)), {})
    return {}


def _thread(ctx: Context, incoming: IncomingMail) -> Thread:
    return ctx.service.store.read(lambda tx: threading.find(RecordReader(ctx, tx), incoming))


def _values(ctx: Context, incoming: IncomingMail) -> dict[str, Any]:
    mail = incoming.mail
    addresses = ctx.service.store.read(lambda tx: senders.known_addresses(RecordReader(ctx, tx), mail))
    mail = senders.resolve(incoming, addresses).mail
    sender: Record | None = addresses.get(mail.sender or "")
    fields: dict[str, str] = {}
    for name, value in mail.headers:
        value = reply_names.without_names(value)
        fields[name.lower()] = f"{fields[name.lower()]}\n{value}" if name.lower() in fields else value
    return {
        **event_publishing.record_values("email_sender", contexts.ADDRESS, sender["id"] if sender else 0),
        "email_sender_email": mail.sender,
        "email_subject": mail.subject,
        "email_headers": fields,
        "email_body": reply_names.without_names(mail.text),
        "email_body_html": reply_names.without_names(mail.html or ""),
        "email_recipients": [reply_names.without_names(email) for email in senders.recipients(mail)],
    }


# -- store the results -------------------------------------------------------------------------------------------------


def place_of(writing: RecordWriter, place: Mapping[str, Any]) -> dict[str, int] | None:
    """The place that mail.route chose, as values of a ticket; None for the usual routing. An unknown place is reported
    in the automation log, and the usual routing applies."""
    if not place:
        return None
    group_id, bucket_id = _id(place, "group_id"), _id(place, "bucket_id")
    group_name, bucket_name = (str(place.get(name) or "").strip() for name in ("group_name", "bucket_name"))
    if bucket_id and writing.record("bucket", bucket_id):
        return {"bucket_id": bucket_id}
    group = writing.record("group", group_id) if group_id else None
    if group is None and group_name:
        group = writing.find("group", name=group_name)
    if group is not None and bucket_name:
        bucket = writing.find("bucket", group_id=group["id"], name=bucket_name)
        if bucket is not None:
            return {"bucket_id": bucket["id"]}
    elif group is not None:
        return {"group_id": group["id"]}
    if bucket_id or group_id or group_name or bucket_name:
        place_text = ", ".join(f"{name}: {str(value)[:60]}" for name, value in place.items())
        _log_problem(writing, ROUTE, f"no such place ({place_text}); it was ignored for routing")
    return None


def _id(place: Mapping[str, Any], name: str) -> int:
    return id_in(str(place.get(name) or "")) or 0


def write_customs(writing: RecordWriter, customs: Mapping[str, Any], ticket_id: int, message_id: int) -> None:
    """Stores values of custom fields on ticket and message. An invalid value is reported in the automation log; the
    mail is stored anyway."""
    if not customs:
        return
    service, definitions = writing.as_service(), custom.definitions(writing.tx)
    owners = [(writing.registry.type(uri), id) for uri, id in (("ticket", ticket_id), ("message", message_id))]
    for name, value in customs.items():
        owner = next((each for each in owners if definitions.named(each[0].context, name) is not None), None)
        if owner is None:
            _log_problem(writing, FILTER, f"custom_fields: tickets and messages have no field '{name[:60]}'")
            continue
        record_type, id = owner
        try:
            writing.tx.part(lambda _: service.update_sent(record_type, id, {name: value}))  # noqa: B023
        except HelpdeskError as error:
            _log_problem(writing, FILTER, f"custom_fields: {error.message}")


def write_organization(writing: RecordWriter, org_id: int, sender: Record) -> None:
    """Sets the sender's organization as the automation chose."""
    if org_id and writing.record("org", org_id) is None:
        _log_problem(writing, FILTER, f"email_sender_org_id: there is no org {org_id}")
    elif sender["org_id"] != org_id:
        writing.as_service().update("address", sender["id"], {"org_id": org_id})


def _log_problem(writing: RecordWriter, event: str, message: str) -> None:
    writing.create("automation_log", {"level": WARNING, "message": f"{event}: {message}"})
