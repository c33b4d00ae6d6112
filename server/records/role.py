"""DOC"""

from server.fields.structure import Structure
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Key, RecordType, Subtotals
from server.search.filters.deep import DeepFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import Through


class Role(RecordType):
    """DOC"""

    uri, context = "role", "svc.contexts.role"
    aliases = ("roles",)
    label_names = ("Role", "Roles")
    tier = 2
    features = frozenset(("avatars", "comments", "custom_fields", "links", "owner", "search",))
    access = Access(
        read="any worker",
        create="admin",
        update="admin",
        delete="admin",
    )
    fields = {
        "editor_query_worker": Text("Worker query: who may change what the role owns.", 65535),
        "member_query_worker": Text("Worker query: who has the privileges.", 65535),
        "name": Text("Name; also the label.", required=True),
        "privs": Structure("Array of privilege ids, used when privs_mode is itemized; replaces the set.", origin="ours", shown=False),
        "privs_mode": Text("blank none, all everything, itemized a list.", 16, allowed=("", "all", "itemized")),
        "reader_query_worker": Text("Worker query: who may read what the role owns.", 65535),
        "updated_at": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
    }
    keys = (
        Key("privs", "object", "Array of privilege ids.", on_expand=True, origin="ours"),
    )
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        DeepFilter("editor", "Has a matching editor.", "worker", Through("role_worker", "role_id", "worker_id", (("part", "editor"),))),
        NumberFilter("id", "Record id.", "id"),
        DeepFilter("member", "Has a matching member.", "worker", Through("role_worker", "role_id", "worker_id", (("part", "member"),))),
        TextFilter("name", "Name.", "name", "partial"),
        TextFilter("privsMode", "blank none, all everything, itemized a list.", "privs_mode", "exact"),
        DeepFilter("reader", "Has a matching reader.", "worker", Through("role_worker", "role_id", "worker_id", (("part", "reader"),))),
    )
    subtotals = Subtotals(
        search=("fieldset", "links", "privsMode"),
    )
