"""The group and bucket of a new ticket."""

import json
from collections.abc import Sequence
from typing import Any

import peewee

from server.errors import Rejected
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import in_list, slot

MAX_ROUTES = 200  # routes in one list
MAX_RECIPIENTS = 50  # recipients that are compared with the addresses of groups and buckets


def place_of(writing: RecordWriter, recipient_ids: Sequence[int]) -> dict[str, int]:
    """The place for mail to these addresses, as values of a ticket: bucket_id, or group_id for its default bucket.

    The bucket, else the group, that sends from one of the addresses; else the default group. Raises Rejected if there
    is none."""
    address_ids = recipient_ids[:MAX_RECIPIENTS]
    for uri in ("bucket", "group"):
        owner_id = _sending_from(writing, uri, address_ids)
        if owner_id:
            return {f"{uri}_id": owner_id}
    group = writing.find("group", is_default=1)
    if group is None:
        raise Rejected(
            "no group matches this email; make one group the default group, then send the email again",
            is_temporary=True,
        )
    return {"group_id": group["id"]}


def routes(reading: RecordReader) -> dict[int, tuple[str, int]]:
    """{id of an address: (bucket or group, its id)}: the routes that place_of follows, at most MAX_ROUTES of each kind,
    the oldest addresses first."""
    by_address: dict[int, tuple[str, int]] = {}

    for uri in ("bucket", "group"):
        for address_id, id in _routes(reading, uri):
            by_address.setdefault(address_id, (uri, id))
    return by_address


def _routes(reading: RecordReader, uri: str) -> list[tuple[int, int]]:
    table: Any = reading.registry.type(uri).table.sql

    def build() -> Any:
        sending = table.select(table.reply_address_id, peewee.fn.MIN(table.id)).where(table.reply_address_id > 0)
        return sending.group_by(table.reply_address_id).order_by(table.reply_address_id).limit(slot(0))

    return reading.tx.rows(build, (MAX_ROUTES,))


def _sending_from(writing: RecordWriter, uri: str, address_ids: Sequence[int]) -> int:
    """The bucket or group that sends from one of the addresses, the first match in their order, 0 for none."""
    if not address_ids:
        return 0
    table: Any = writing.registry.type(uri).table.sql
    rows = writing.tx.rows(
        lambda: (
            table.select(table.reply_address_id, table.id)
            .where(in_list(table.reply_address_id, slot(0)))
            .order_by(table.id.desc())
        ),
        (json.dumps(list(address_ids)),),
    )
    senders: dict[int, int] = dict(rows)
    return next((senders[id] for id in address_ids if id in senders), 0)
