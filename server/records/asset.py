"""DOC"""

from server.fields.link import ContextName, Id
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.links import TypeFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import BehindContext, PointingHere


class Asset(RecordType):
    """DOC"""

    uri, context = "asset", "svc.contexts.asset"
    aliases = ("assets",)
    label_names = ("Asset", "Assets")
    features = frozenset(("attachments", "avatars", "comments", "custom_fields", "links", "search", "watchers",))
    access = Access(
        read="any worker when it has no owner; else owner-read rule",
        create="priv + may own as the given owner when one is given",
        update="priv + owner-write rule; any worker with the privilege when it has no owner",
        delete="priv + owner-write rule; any worker with the privilege when it has no owner",
    )
    fields = {
        "created_at": Timestamp("When the record was made; now when omitted.", auto="now"),
        "name": Text("What the asset is called; also the label. Not unique.", required=True),
        "owner__context": ContextName("Record type of the owner: app, group, role or worker; blank for none.", blank_ok=True, shown=False),
        "owner_id": Id("Id of the owner; 0 for none or for the app.", target_from="owner__context", zero_ok=True, shown=False),
        "updated_at": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
    }
    nested = (
        Nested("owner", "*", "Owner."),
    )
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        DeepFilter("comments", "Has a matching comment.", "comment", PointingHere("comment", "target_id", (("target__context", "svc.contexts.asset"),))),
        DateFilter("created", "When the record was made.", "created_at"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "What the asset is called.", "name", "partial"),
        TypeFilter("owner", "Owner is of these record types; any/none as values.", "owner"),
        DeepFilter("owner.app", "Owned by the app; any word.", "app", BehindContext("owner", "svc.contexts.app")),
        DeepFilter("owner.group", "Owner is a matching group.", "group", BehindContext("owner", "svc.contexts.group")),
        DeepFilter("owner.role", "Owner is a matching role.", "role", BehindContext("owner", "svc.contexts.role")),
        DeepFilter("owner.worker", "Owner is a matching worker.", "worker", BehindContext("owner", "svc.contexts.worker")),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(
        search=("fieldset", "links", "name", "owner", "watchers"),
        virtual=("owner",),
    )
