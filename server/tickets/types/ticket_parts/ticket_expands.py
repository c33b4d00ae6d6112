"""Expands of a ticket: its requesters, its messages, and the signature of a reply."""

import re
from collections.abc import Mapping
from html import escape
from typing import Any

import peewee

from server.contexts import WORKER
from server.markup import clean_html, escape_markdown, markdown_to_html
from server.outbox.sender import signature_id
from server.record_types.parts import DictionaryContext, Expand, Record
from server.record_types.shared.collections import ids_text
from server.record_types.shared.points import PLACEHOLDER
from server.record_types.shared.relation_tables import REQUESTER
from server.store.statements import in_list, slot
from server.store.tables import table_named

MAX_MESSAGES = 250  # newest messages shown per ticket
_TEXTS = (str, int, float)

Loaded = dict[int, dict[str, Any]]


def requesters(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """Loads `requesters`: {address id: {id, email, name, contact_id, org_id}}."""
    return {own: {"requesters": each} for own, each in _requesters(view, records).items()}


def requester_emails(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """Loads `requester_emails`: the addresses joined with ", "; adds `requesters`."""
    return {
        own: {"requesters": each, "requester_emails": ", ".join(one["email"] for one in each.values())}
        for own, each in _requesters(view, records).items()
    }


def participants(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """Loads `participants`: dictionaries of the addresses with their contacts."""
    rows = _requester_rows(view, records)
    addresses = view.records("address", {row[1] for row in rows})
    by_id = {
        record["id"]: dictionary
        for record, dictionary in zip(
            addresses, view.dictionaries("address", addresses, "_label,contact_"), strict=True
        )
    }
    by_ticket: dict[int, list[dict[str, Any]]] = {record["id"]: [] for record in records}
    for row in rows:
        if row[1] in by_id:
            by_ticket[row[0]].append(by_id[row[1]])
    return {own: {"participants": each} for own, each in by_ticket.items()}


def messages(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """Loads `_messages`: {message id: message}, oldest first; of long tickets the newest MAX_MESSAGES."""
    message = table_named("message").alias("listed")
    rows = view.tx.rows(
        lambda: (
            message.select(message.c.ticket_id, message.c.id)
            .where(in_list(message.c.ticket_id, slot(0)))
            .order_by(message.c.id)
        ),
        (ids_text(records),),
    )
    ids_by_ticket: dict[int, list[int]] = {record["id"]: [] for record in records}
    for ticket_id, id in rows:
        ids_by_ticket[ticket_id].append(id)
    newest = {own: ids[-MAX_MESSAGES:] for own, ids in ids_by_ticket.items()}
    shown_messages = view.records("message", [id for ids in newest.values() for id in ids])
    by_id = {
        record["id"]: dictionary
        for record, dictionary in zip(shown_messages, view.dictionaries("message", shown_messages), strict=True)
    }
    return {own: {"_messages": {str(id): by_id[id] for id in ids if id in by_id}} for own, ids in newest.items()}


def latest_activity(name: str, is_outgoing: int) -> Any:
    """Returns the loader of `name`: the time of the newest message in one direction, 0 for none."""

    def load(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
        message = table_named("message").alias("latest")
        rows = view.tx.rows(
            lambda: (
                message.select(message.c.ticket_id, peewee.fn.MAX(message.c.created))
                .where(in_list(message.c.ticket_id, slot(0)), message.c.is_outgoing == slot(1))
                .group_by(message.c.ticket_id)
            ),
            (ids_text(records), is_outgoing),
        )
        latest: dict[int, int] = dict(rows)
        return {record["id"]: {name: latest.get(record["id"], 0)} for record in records}

    return load


def signature(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """Loads `signature`: of the bucket, else of the group, with the calling worker's names filled in; "" for none."""
    values = _worker_values(view)
    return {
        own: {"signature": fill(each["signature"], values) if each else ""}
        for own, each in _signatures(view, records).items()
    }


def signature_html(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """Loads `signature_html`: the signature as HTML, converted from the text if it has no HTML."""
    values = _worker_values(view)
    return {
        own: {"signature_html": _html(each, values) if each else ""} for own, each in _signatures(view, records).items()
    }


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Fills the plain placeholders of a signature; everything else stays unchanged.

    >>> fill("{{first_name}} of {{ nobody }}", {"first_name": "Ida"})
    'Ida of '
    """

    def value(match: re.Match[str]) -> str:
        text = values.get(match[1], "")
        return str(text) if isinstance(text, _TEXTS) else ""

    return PLACEHOLDER.sub(value, template)


def _html(record: Record, values: Mapping[str, Any]) -> str:
    if record["signature_html"]:
        escaped = {name: escape(value) if isinstance(value, str) else value for name, value in values.items()}
        return clean_html(fill(record["signature_html"], escaped), allow_remote_images=True)
    plain = {name: escape_markdown(value) if isinstance(value, str) else value for name, value in values.items()}
    return markdown_to_html(fill(record["signature"], plain), allow_remote_images=True, keep_html=True)


def _signatures(view: DictionaryContext, records: list[Record]) -> dict[int, Record | None]:
    buckets = _records(view, "bucket", {record["bucket_id"] for record in records})
    groups = _records(view, "group", {record["group_id"] for record in records})
    signature_ids = {
        record["id"]: signature_id(groups.get(record["group_id"]), buckets.get(record["bucket_id"]))
        for record in records
    }
    by_id = {each["id"]: each for each in view.records("email_signature", signature_ids.values())}
    return {own: by_id.get(id) for own, id in signature_ids.items()}


def _records(view: DictionaryContext, uri: str, ids: set[int]) -> dict[int, Record]:
    record_type = view.type(uri)
    return {row[0]: record_type.record(row) for row in view.tx.get_many(record_type.table, ids)}


def _worker_values(view: DictionaryContext) -> dict[str, Any]:
    if view.actor.context != WORKER:
        return {}
    workers = view.records("worker", [view.actor.id])
    return {name: value for each in view.dictionaries("worker", workers) for name, value in each.items()}


def _requesters(view: DictionaryContext, records: list[Record]) -> dict[int, dict[str, dict[str, Any]]]:
    by_ticket: dict[int, dict[str, dict[str, Any]]] = {record["id"]: {} for record in records}
    for ticket_id, id, email, contact_id, org_id, first_name, last_name, name in _requester_rows(view, records):
        by_ticket[ticket_id][str(id)] = {
            "id": id,
            "email": email,
            "name": f"{first_name or ''} {last_name or ''}".strip() or name,
            "contact_id": contact_id,
            "org_id": org_id,
        }
    return by_ticket


def _requester_rows(view: DictionaryContext, records: list[Record]) -> list[tuple[Any, ...]]:
    requester: Any = REQUESTER.sql
    address, contact = table_named("address").alias("who"), table_named("contact").alias("person")
    return view.tx.rows(
        lambda: (
            requester.select(
                requester.ticket_id,
                address.c.id,
                address.c.email,
                address.c.contact_id,
                address.c.org_id,
                contact.c.first_name,
                contact.c.last_name,
                address.c.display_name,
            )
            .join(address, on=(address.c.id == requester.address_id))
            .join(contact, peewee.JOIN.LEFT_OUTER, on=(contact.c.id == address.c.contact_id))
            .where(in_list(requester.ticket_id, slot(0)))
            .order_by(requester.ticket_id, address.c.id)
        ),
        (ids_text(records),),
    )


def rating(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """Loads `rating`: the dictionary of the ticket's rating; null if it was not asked for or may not be read."""
    table = view.type("rating").table.sql
    rows = view.tx.rows(
        lambda: table.select(table.id).where(in_list(table.ticket_id, slot(0))),
        (ids_text(records),),
    )
    ratings = view.records("rating", {row[0] for row in rows}) if view.covers("rating") else []
    shown = view.dictionaries("rating", ratings)
    by_ticket = {record["ticket_id"]: each for record, each in zip(ratings, shown, strict=True)}
    return {record["id"]: {"rating": by_ticket.get(record["id"])} for record in records}


EXPANDS = (
    Expand("requesters", "map", "{address id: {id, email, name, contact_id, org_id}} of the requesters.",
           requesters, reads="address"),
    Expand("requester_emails", "text", "Addresses of the requesters, separated by commas; adds `requesters`.",
           requester_emails, reads="address"),
    Expand("participants", "records", "The requesters as address dictionaries with their contacts.", participants,
           "address"),
    Expand("rating", "object", "Rating of the customer; null if they were not asked, or the caller may not read it.",
           rating, "rating", origin="ours"),
    Expand("signature", "text", "Signature of the bucket or group for a reply by the calling worker.", signature),
    Expand("signature_html", "text", "The same as HTML.", signature_html),
    Expand("_messages", "records", f"Messages by id; for long tickets, the newest {MAX_MESSAGES}.", messages,
           "message"),
    Expand("latest_incoming_activity", "timestamp", "Time of the newest received message; 0 when none.",
           latest_activity("latest_incoming_activity", 0)),
    Expand("latest_outgoing_activity", "timestamp", "Time of the newest sent message; 0 when none.",
           latest_activity("latest_outgoing_activity", 1)),
)  # fmt: skip
