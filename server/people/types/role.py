"""Roles: privileges of the workers that match a query, and the workers who may read and change records of the role."""

from typing import TYPE_CHECKING

from server.access.actor import READ_RATINGS
from server.errors import Invalid, nearest
from server.fields import Name, Structure, Text, UpdatedAt
from server.people import rosters
from server.record_types.record_type import Access, Change, Key, Record, RecordType, Subtotals, Writing
from server.record_types.shared import record_owners
from server.record_types.traits import Avatars, Comments, CustomFields, Links, Owner, Search
from server.search.filters import DeepFilter, HasManyThrough

if TYPE_CHECKING:
    from server.record_types.registry import Registry

# Privileges on a record type, as contexts.<context>.<operation>.
GRANTED = ("broadcast", "comment", "create", "delete", "export", "import", "merge", "publish", "update", "update-bulk")
MAX_PRIVILEGES = 5000


class Role(RecordType):
    """A set of privileges with its workers: the members, editors and readers that its worker queries match.

    The three lists are computed again with every write of a role, a worker or a group's members."""

    uri = "role"
    tier = 2
    traits = (Comments(), CustomFields(), Links(), Avatars(), Owner(), Search())
    access = Access(read="any worker", write=("admins",))
    fields = {
        "editor_query_worker": Text(
            "Worker query: who may change what the role owns. Blank: nobody.", 65535, filter=None
        ),
        "member_query_worker": Text(
            "Worker query: who has the privileges. Blank: nobody. Query groups, titles and other values "
            "that administrators and managers set, not links, which workers create themselves.",
            65535,
            filter=None,
        ),
        "name": Name(),
        "privs": Structure(
            "Privilege ids such as contexts.svc.contexts.task.update, granted when privs_mode is itemized; replaces "
            "the list, or with `+` or `-` in front adds and removes.",
            is_list=True,
            origin="ours",
            shown=False,
        ),
        "privs_mode": Text(
            "Blank grants nothing, all grants everything, itemized grants the list.",
            16,
            allowed=("", "all", "itemized"),
            filter_note="all, itemized, or null for none.",
            match="exact",
        ),
        "reader_query_worker": Text(
            "Worker query: who may read what the role owns. Blank: nobody.", 65535, filter=None
        ),
        "updated_at": UpdatedAt(filter=None),
    }
    bumps = {"access": ("privs", "privs_mode")}
    keys = (
        Key(
            "privs",
            "object",
            "The privilege ids, as a list.",
            value=lambda record, shown: record["privs"],
            on_expand=True,
            origin="ours",
        ),
    )
    filters = (
        DeepFilter(
            "editor",
            "Has a matching editor.",
            "worker",
            HasManyThrough("role_worker", "role_id", "worker_id", (("part", "editor"),)),
        ),
        DeepFilter(
            "member",
            "Has a matching member.",
            "worker",
            HasManyThrough("role_worker", "role_id", "worker_id", (("part", "member"),)),
        ),
        DeepFilter(
            "reader",
            "Has a matching reader.",
            "worker",
            HasManyThrough("role_worker", "role_id", "worker_id", (("part", "reader"),)),
        ),
    )
    subtotals = Subtotals(search=("fieldset", "links", "privsMode"))

    def bind(self, registry: "Registry") -> None:
        self.registry = registry

    def prepare(self, change: Change, writing: Writing) -> None:
        if "privs" in change.new:
            change.new["privs"] = self._privileges(change.new["privs"])

    def after_write(self, change: Change, writing: Writing) -> None:
        rosters.fill_role(
            writing, {"id": change.id} | {field: change.value(field) for field in rosters.ROLE_QUERIES.values()}
        )
        rosters.refresh_roles(writing, "role", without=change.id)

    def after_delete(self, record: Record, writing: Writing) -> None:
        rosters.forget_role(writing, record["id"])
        record_owners.forget(writing, self.context, record["id"])

    def _privileges(self, ids: list[object]) -> list[str]:
        """Returns the list without duplicates. Raises Invalid for an unknown privilege."""
        if len(ids) > MAX_PRIVILEGES:
            raise Invalid(f"privs: at most {MAX_PRIVILEGES} privileges", field="privs")
        privileges = {
            f"contexts.{name}.{operation}": f"contexts.{each.context}.{operation}"
            for each in self.registry
            if each.context
            for name in _contexts(each)
            for operation in GRANTED
        } | {READ_RATINGS: READ_RATINGS}
        for name in ids:
            if not isinstance(name, str) or name not in privileges:
                text = str(name)[:100]
                raise Invalid(f"privs: there is no privilege '{text}'{nearest(text, privileges)}", field="privs")
        return sorted({privileges[str(name)] for name in ids})


def _contexts(record_type: RecordType) -> list[str]:
    """Returns the context of a type, and its alias if it has one."""
    return [record_type.context, *(name for name in record_type.aliases if name.startswith("contexts."))]
