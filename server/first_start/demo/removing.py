"""Removes the demo: its records, and everything that was written on its tickets since."""

import json
from collections.abc import Sequence
from dataclasses import replace

from server.access.actor import APP
from server.context import Context
from server.first_start.demo import first_minute
from server.first_start.demo.kept import DOING, FIRST_MINUTE, KEY, MARKS, PLAIN, record_ids, ticket_ids
from server.jobs.job_queue import JOB
from server.record_types.kb.article_versions import VERSION
from server.record_types.shared.relation_tables import CUSTOM_VALUE, DELETED_FIELD, REQUESTER, TICKET_STATUS_NAME
from server.records import service_settings
from server.records.writing import RecordWriter
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

BATCH = 40  # tickets in one transaction, which delays other writes


def remove(ctx: Context) -> int:
    """Removes the demo for good, with everything written on its tickets since; returns the number of tickets. People
    who appear on other tickets stay, and other tickets in the groups of the demo move to the default group.

    The next call continues an interrupted removal. Raises AdminOnly; Conflict if a group of the demo became the default
    group, or one of its workers the last administrator."""
    ctx.require_admin(DOING)
    ctx = replace(ctx, is_quiet=True)
    store = ctx.service.store
    store.write(_expect_no_mail)
    tickets = store.read(ticket_ids)
    for start in range(0, len(tickets), BATCH):
        ids = tickets[start : start + BATCH]
        store.write(lambda tx, ids=ids: _delete_tickets(RecordWriter(ctx, tx), ids))  # type: ignore[misc]
    store.write(lambda tx: _rest(RecordWriter(ctx, tx)))
    return len(tickets)


def _expect_no_mail(tx: Transaction) -> None:
    service_settings.put(tx, FIRST_MINUTE, None)
    tx.delete(JOB, unique_key=first_minute.KIND)


def _delete_tickets(writing: RecordWriter, ids: Sequence[int]) -> None:
    """Deletes tickets with their drafts, and with the mail that waits in the outbox."""
    drafts = writing.registry.type("draft").table
    _delete(writing, "draft", [row[0] for id in ids for row in writing.tx.find(drafts, ticket_id=id)])
    _delete(writing, "ticket", ids)


def _rest(writing: RecordWriter) -> None:
    ids = record_ids(writing.tx)
    for id in ids.get("ticket_status", ()):
        writing.tx.delete(TICKET_STATUS_NAME, ticket_status_id=id)  # the names would stay, for saved searches
    for uri in (*PLAIN, *MARKS):
        _delete(writing, uri, ids.get(uri, ()))
    for id in ids.get("kb_article", ()):
        writing.tx.delete(VERSION, article_id=id)  # they would stay for a day, for an undo
    for id in ids.get("custom_field", ()):
        if writing.tx.first(CUSTOM_VALUE, field_id=id) is None:  # other tickets may have values, which can be restored
            writing.tx.delete(DELETED_FIELD, field_id=id)
    for id in _there(writing, "worker", ids.get("worker", ())):
        writing.update("worker", id, {"is_disabled": 1})  # also deletes tokens that somebody created for them
    _delete(writing, "worker", ids.get("worker", ()))
    _delete(writing, "calendar", [id for id in ids.get("calendar", ()) if not _has_users(writing, id)])
    _delete(writing, "group", ids.get("group", ()))
    writing.is_confirmed = True  # the contacts and organizations of the demo use its addresses, and go after them
    _delete(writing, "address", [id for id in ids.get("address", ()) if not _is_used(writing.tx, id)])
    _delete(writing, "contact", [id for id in ids.get("contact", ()) if not _has(writing, "contact", id, "address")])
    _delete(writing, "org", [id for id in ids.get("org", ()) if not _has(writing, "org", id, "address", "contact")])
    if ids:
        writing.log("demo.removed", APP, 0, {})
    service_settings.put(writing.tx, KEY, None)


def _delete(writing: RecordWriter, uri: str, ids: Sequence[int]) -> None:
    for id in _there(writing, uri, ids):
        writing.delete(uri, id)
    _forget_entries(writing, uri, ids)


def _forget_entries(writing: RecordWriter, uri: str, ids: Sequence[int]) -> None:
    """Removes these records from the activity log, apart from administrative acts of real people, and the notifications
    about them."""
    entry, context = table_named("activity_log"), writing.registry.type(uri).context
    told = table_named("notification")
    writing.tx.run(
        lambda: told.delete().where(told.c.target__context == slot(0), in_list(told.c.target_id, slot(1))),
        (context, json.dumps(list(ids))),
    )
    writing.tx.run(
        lambda: entry.delete().where(
            entry.c.target__context == slot(0), in_list(entry.c.target_id, slot(1)), entry.c.is_administrative == 0
        ),
        (context, json.dumps(list(ids))),
    )


def _there(writing: RecordWriter, uri: str, ids: Sequence[int]) -> list[int]:
    """Returns the records that still exist."""
    return [id for id in ids if writing.record(uri, id) is not None]


def _has(writing: RecordWriter, uri: str, id: int, *others: str) -> bool:
    """Whether a record of one of the other types belongs to this one."""
    return any(writing.search_ids(other, f"{uri}.id:{id}") for other in others)


def _has_users(writing: RecordWriter, calendar_id: int) -> bool:
    """Whether a worker or a service target uses a calendar."""
    return any(writing.find(uri, calendar_id=calendar_id) is not None for uri in ("worker", "service_target"))


def _is_used(tx: Transaction, address_id: int) -> bool:
    """Whether a person is a requester or an author on a ticket."""
    message = table_named("message")
    return tx.first(REQUESTER, address_id=address_id) is not None or bool(
        tx.value(lambda: message.select(message.c.id).where(message.c.sender_id == slot(0)).limit(1), (address_id,))
    )
