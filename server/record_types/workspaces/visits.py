"""Visits: the workspace page that a worker opened last, if recently."""

from server.store.tables import Column, Index, Table

VISIT_SECONDS = 600  # time after opening a page or tab during which a worker counts as a visitor

VISIT = Table(
    "workspace_visit",
    [Column("worker_id"), Column("page_id"), Column("at")],
    [Index(("page_id",), "the workers on a page"), Index(("at",), "visits that are over")],
    key=("worker_id",),
)
