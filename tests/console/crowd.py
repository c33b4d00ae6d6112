"""Hundreds of each kind of record that pages list or offer for choice: for pages that must stay small."""

from functools import partial

from server.access.tokens import TOKEN
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from tests.records.desk import Desk

COUNT, AT_ONCE = 300, 20  # AT_ONCE: records per transaction, whose time is limited
FAR = 4_000_000_000  # Unix seconds


def crowd(desk: Desk, worker_id: int, app_id: int, group_id: int) -> None:
    """Creates COUNT records of each kind. worker_id, app_id: owners of the tokens; group_id: group of the buckets."""

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
