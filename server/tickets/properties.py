"""Changes one property of a ticket or of its customer, unless another worker has changed it first."""

from collections.abc import Mapping
from typing import Any

from server.context import Context
from server.errors import Conflict
from server.record_types.record_type import Record
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import N_, about_field


def change(
    ctx: Context, id: int, fields: dict[str, Any], expected: Mapping[str, str], uri: str = "ticket"
) -> dict[str, str]:
    """Sets fields of a record, and returns the previous values of the columns in `expected`, and of the owner and the
    name of the status if the change caused others.

    expected: stored columns with the values that the caller saw. Raises Conflict with the details `field` and `now` if
    one has changed since, NotFound, Forbidden, Invalid; nothing is written then."""

    def write(tx: Transaction) -> dict[str, str]:
        writing = RecordWriter(ctx, tx)
        before = writing.retrieve(uri, id)
        require_seen(before, expected)
        writing.update_sent(writing.registry.type(uri), id, fields)
        return {name: str(before[name]) for name in expected} | _also_before(before, writing.record(uri, id) or {})

    return ctx.service.store.write(write)


def move(ctx: Context, id: int, bucket_id: str) -> dict[str, str]:
    """Moves a ticket to a bucket, and returns the fields that undo it. Raises NotFound, Forbidden, Invalid."""

    def write(tx: Transaction) -> dict[str, str]:
        writing = RecordWriter(ctx, tx)
        before = writing.retrieve("ticket", id)
        writing.update_sent(writing.registry.type("ticket"), id, {"bucket_id": bucket_id})
        after = writing.record("ticket", id)
        assert after is not None
        return {"bucket_id": str(before["bucket_id"])} | _also_before(before, after)

    return ctx.service.store.write(write)


def _also_before(before: Record, after: Record) -> dict[str, str]:
    """Returns the owner and the name of the status before a change, if they differ."""
    names = ("owner_id", "status_name_id")
    return {name: str(before[name]) for name in names if name in before and before[name] != after.get(name)}


def require_seen(record: Record, expected: Mapping[str, str]) -> None:
    """Raises Conflict with the details `field` and `now` if a column has changed since it was shown."""
    for name, value in expected.items():
        if str(record[name]) != value:
            raise Conflict(about_field(name, N_("somebody changed it in the meantime")), field=name, now=record[name])
