"""DOC"""

from server.fields.link import ContextName, Id
from server.fields.number import Uint
from server.fields.structure import Structure
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Key, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import AllWords, TextFilter


class CustomField(RecordType):
    """DOC"""

    uri, context = "custom_field", "svc.contexts.custom_field"
    aliases = ("custom field", "custom fields", "field", "fields", "cfield", "cfields")
    label_names = ("Custom Field", "Custom Fields")
    features = frozenset(("comments", "search",))
    access = Access(
        read="any worker",
        create="admin for a global field; fieldset writers inside a fieldset",
        update="admin, or fieldset writers for a field in a fieldset",
        delete="priv + same as update",
    )
    fields = {
        "context": ContextName("Record type that gets the field.", required=True),
        "custom_fieldset_id": Id("Fieldset it belongs to; 0 for a field on every record of the type.", "custom_fieldset", zero_ok=True, shown=False),
        "name": Text("Label of the field.", 128, required=True),
        "params": Structure("Settings of the type: `options` (D, X: array), `context` (L, record links), `currency_id` (Y), `decimal_at` (O), `value_min`/`value_max` (slider), `send_notifications` (W: also notify on activity).", 16777215),
        "pos": Uint("Order, 0 first.", max=100),
        "type": Text("One-letter type; see README, Custom fields.", required=True, allowed=("C", "D", "E", "F", "I", "L", "M", "N", "O", "S", "T", "U", "W", "X", "Y", "svc.custom_field.geo.point", "svc.custom_field.record.links", "svc.custom_field.slider")),
        "updated_at": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
        "uri": Text("Name usable instead of custom_<id> in fields and expand.", 200, required=True, unique=True, pattern=r"[A-Za-z0-9_]*"),
    }
    nested = (
        Nested("custom_fieldset", "custom_fieldset", "Fieldset."),
    )
    keys = (
        Key("search_filter", "text", "Filter name the field gets in search queries.", on_expand=True),
        Key("type_label", "text", "Readable type."),
    )
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        TextFilter("context", "Exact full context id.", "context", "exact"),
        ChooserFilter("fieldset.id", "By id; comparison and sets as for numbers.", "custom_fieldset_id", target="custom_fieldset"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Label of the field.", "name", "partial"),
        NumberFilter("pos", "Order, 0 first.", "pos"),
        TextFilter("type", "Exact type letter; sets allowed.", "type", "exact"),
        DateFilter("updated", "Last change.", "updated_at"),
        TextFilter("uri", "Name usable instead of custom_<id> in fields and expand.", "uri", "partial"),
    )
    subtotals = Subtotals(
        search=("context", "fieldset.id", "links", "type"),
        aliases={"fieldset": "fieldset.id"},
    )
