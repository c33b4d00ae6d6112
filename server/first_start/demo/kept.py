"""The stored ids of the demo data: all created records except tickets, which follow from the others."""

import json
from typing import Any

from server.context import Context
from server.people import rosters
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.records import service_settings
from server.records.writing import RecordWriter
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

DOING = "fill the service with demo data, or remove it"  # an action that requires an administrator
KEY = "demo"  # the setting with {record type: ids}
FIRST_MINUTE = "demo_first_minute"  # the setting of first_minute.py
# Types that other records do not depend on: of what is created after the tickets, and of what tickets have.
PLAIN = ("task", "snippet", "saved_search", "automation", "service_target", "kb_article", "kb_category")
MARKS = ("tag", "ticket_status", "custom_field")

Ids = dict[str, list[int]]


def record_ids(tx: Transaction) -> Ids:
    """Returns the ids of the demo's records by type; {} without a demo."""
    return service_settings.get(tx, KEY) or {}


def is_there(tx: Transaction) -> bool:
    """Whether the demo data is in the database."""
    return bool(record_ids(tx))


def is_filled(ctx: Context) -> bool:
    """Whether the demo data is there. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return ctx.service.store.read(is_there)


def ticket_ids(tx: Transaction) -> list[int]:
    """Returns the tickets of the demo, which its people have started."""
    ticket: Any = table_named("ticket")
    rows = tx.rows(
        lambda: ticket.select(ticket.c.id).where(in_list(ticket.c.first_wrote_address_id, slot(0))), (_addresses(tx),)
    )
    return [row[0] for row in rows]


def has_other_tickets(tx: Transaction) -> bool:
    """Whether there is a ticket outside the demo."""
    ticket: Any = table_named("ticket")
    return (
        tx.value(
            lambda: ticket.select(ticket.c.id).where(~in_list(ticket.c.first_wrote_address_id, slot(0))).limit(1),
            (_addresses(tx),),
        )
        is not None
    )


def _addresses(tx: Transaction) -> str:
    return json.dumps(record_ids(tx).get("address", []))


def enroll(writing: RecordWriter, group_id: int, parts: dict[int, str]) -> None:
    """Adds workers to a group of the demo, {id: manager or member}, without an entry in the audit log."""
    for worker_id, part in parts.items():
        of_group = {"group_id": group_id, "worker_id": worker_id}
        writing.tx.put(GROUP_MEMBER, of_group | {"is_manager": int(part == rosters.MANAGER)})
    rosters.refresh_roles(writing, "group")
