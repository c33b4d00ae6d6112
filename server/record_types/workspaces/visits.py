"""Which workspace page a worker is on: the one they opened last, as long as that is not long ago."""

from server.store.tables import Column, Index, Table

VISIT_SECONDS = 600  # so long after opening a page, or a tab of it, a worker counts as being on it

VISIT = Table(
    "workspace_visit",
    [Column("worker_id"), Column("page_id"), Column("at")],
    [Index(("page_id",), "the workers on a page"), Index(("at",), "visits that are over")],
    key=("worker_id",),
)
