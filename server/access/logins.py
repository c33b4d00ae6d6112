"""What a worker signs in with. It stands apart from the worker, so that no dictionary, filter or sort can reach it."""

from server.store.tables import Column, Table

WORKER_LOGIN = Table(
    "worker_login",
    [Column("worker_id"), Column("password_hash", "TEXT"), Column("changed_at")],
    key=("worker_id",),
)
