"""Hundreds of what pages list or let choose, put into a desk at once: for pages that must stay small."""

from functools import partial

from server.access.tokens import TOKEN
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from tests.records.desk import Desk

COUNT, AT_ONCE = 300, 20  # AT_ONCE: of each in one transaction, which has its time
FAR = 4_000_000_000  # Unix seconds


def crowd(desk: Desk, worker_id: int, app_id: int, group_id: int) -> None:
    """COUNT more of each. worker_id, app_id: whose tokens there are; group_id: whose buckets."""

    def write(first: int, tx: Transaction) -> None:
        writer = RecordWriter(desk.context(), tx)
        for number in range(first, first + AT_ONCE):
            name = f"Number {number} of a crowd"
            address = writer.create("address", {"email": f"crowd{number}@desk.example"})
            writer.create("worker", {"first_name": name, "email_id": address, "language": "en_US", "timezone": "UTC"})
            writer.create("oauth_app", {"name": name, "callback_url": "https://crowd.example/"})
            writer.create("group", {"name": name})
            writer.create("bucket", {"name": name, "group_id": group_id})
            writer.create("role", {"name": name, "privs_mode": "itemized"})
            tx.insert(TOKEN, {
                "kind": "access", "hash": f"crowd{number}", "prefix": "svc_at_xxxx", "app_id": app_id,
                "worker_id": worker_id, "scopes": "api", "label": name, "created_at": 1, "expires_at": FAR,
            })  # fmt: skip

    for first in range(0, COUNT, AT_ONCE):
        desk.store.write(partial(write, first))
