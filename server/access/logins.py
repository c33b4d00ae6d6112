"""The credentials of workers, apart from the worker record, so that no dictionary, filter or sort can reach them."""

from server.store.tables import Column, Table

WORKER_LOGIN = Table(
    "worker_login",
    [Column("worker_id"), Column("password_hash", "TEXT"), Column("changed_at")],
    key=("worker_id",),
)
