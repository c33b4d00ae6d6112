"""DOC"""

from server.fields.link import ContextName, Id
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Expand, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.links import TypeFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import BehindContext


class CustomFieldset(RecordType):
    """DOC"""

    uri, context = "custom_fieldset", "svc.contexts.custom_fieldset"
    aliases = ("custom fieldset", "custom fieldsets", "fieldset", "fieldsets")
    label_names = ("Custom Fieldset", "Custom Fieldsets")
    features = frozenset(("comments", "links", "search",))
    access = Access(
        read="owner-read rule",
        create="priv + may own as the given owner",
        update="priv + owner-write rule",
        delete="priv + owner-write rule",
    )
    fields = {
        "context": ContextName("Record type it applies to.", required=True),
        "name": Text("Fieldset name; also the label.", required=True),
        "owner__context": ContextName("Record type that owns the record: app, group, role, worker (bot where bots exist). Alias or full context id in, full id out.", required=True, shown=False),
        "owner_id": Id("Id of the owning record; 0 when the owner is the app. The caller must be allowed to own as that record.", required=True, target_from="owner__context", shown=False),
        "updated_at": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
    }
    nested = (
        Nested("owner", "*", "Owner."),
    )
    expands = (
        Expand("custom_fields", "records", "Array of the fields in the set.", LOADER, "custom_field"),
    )
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        TextFilter("context", "Exact full context id.", "context", "exact"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Fieldset name.", "name", "partial"),
        TypeFilter("owner", "Owner is of these record types; any/none as values.", "owner"),
        DeepFilter("owner.app", "Owned by the app; any word.", "app", BehindContext("owner", "svc.contexts.app")),
        DeepFilter("owner.bot", "Owner is a matching bot.", "bot", BehindContext("owner", "svc.contexts.bot")),
        DeepFilter("owner.group", "Owner is a matching group.", "group", BehindContext("owner", "svc.contexts.group")),
        DeepFilter("owner.role", "Owner is a matching role.", "role", BehindContext("owner", "svc.contexts.role")),
        DeepFilter("owner.worker", "Owner is a matching worker.", "worker", BehindContext("owner", "svc.contexts.worker")),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(
        search=("context", "links", "owner"),
        virtual=("owner",),
    )
