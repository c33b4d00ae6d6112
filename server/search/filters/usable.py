"""Filters for owned records that a worker may use: `usableBy.worker:me`."""

from typing import TYPE_CHECKING, Any

import peewee

from server.contexts import GROUP, ROLE, WORKER
from server.dataclass import dataclass
from server.search.filters.relations import Relation, select_between
from server.search.filters.service_filter import APP
from server.search.filters.worker_filters import WorkerFilter
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.store.tables import Table


@dataclass(frozen=True)
class UsableRecords(Relation):
    """Relates workers to the records they may read by owner, following the rule "owner" of access/rules.py: owned by
    the service, themselves, a public group, one of their groups, or a role that they read; everything for
    administrators."""

    @property
    def key(self) -> Any:
        return "usable by"

    def build(self, table: "Table", inner: Any) -> Any:
        owner, id = (peewee.Column(table.sql, name) for name in ("owner__context", "owner_id"))
        some, admin = table_named("worker").alias("some"), table_named("worker").alias("admin")
        public = table_named("group").alias("public")
        groups = select_between("group_member", "group_id", "worker_id", (), inner)
        roles = select_between("role_worker", "role_id", "worker_id", (("part", "reader"),), inner)
        anybody = some.select(some.c.id).where(some.c.id.in_(inner))
        admins = admin.select(admin.c.id).where(admin.c.id.in_(inner), admin.c.is_superuser == 1)
        by_owner = (
            (owner == APP)
            | ((owner == WORKER) & id.in_(inner))
            | ((owner == GROUP) & (id.in_(public.select(public.c.id).where(public.c.is_private == 0)) | id.in_(groups)))
            | ((owner == ROLE) & id.in_(roles))
        )
        return peewee.fn.EXISTS(anybody) & (by_owner | peewee.fn.EXISTS(admins))


class UsableByFilter(WorkerFilter):
    """Accepts `me`, ids and names; matches the records that one of these workers may use."""

    type = "virtual"

    def __init__(self, note: str) -> None:
        super().__init__("usableBy.worker", note, "", UsableRecords(), sortable=False)
