"""Workers in custom fields of kind W whose setting `send_notifications` is on."""

from typing import TYPE_CHECKING

from server.record_types.shared.custom.definitions import definitions
from server.record_types.shared.custom.keys import values_of

if TYPE_CHECKING:
    from server.store.transaction import Transaction


def notified_workers(tx: "Transaction", context: str, id: int) -> set[int]:
    """The ids of the workers in such fields of a record. One statement, none if the type has no such fields."""
    fields = [each for each in definitions(tx).fields_of(context) if each.notifies_worker]
    if not fields:
        return set()
    values = values_of(tx, fields, [{"id": id}])[id]
    return {worker_id for worker_ids in values.values() for worker_id in worker_ids}
