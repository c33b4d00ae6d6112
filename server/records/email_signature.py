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
from server.search.filters.ways import BehindContext


class EmailSignature(RecordType):
    """DOC"""

    uri, context = "email_signature", "svc.contexts.email.signature"
    aliases = ("email signature", "email signatures", "signature", "signatures")
    label_names = ("Email Signature", "Email Signatures")
    tier = 2
    features = frozenset(("attachments", "comments", "custom_fields", "links", "search",))
    access = Access(
        read="owner-read rule",
        create="priv + may own as the given owner",
        update="priv + owner-write rule",
        delete="priv + owner-write rule",
    )
    fields = {
        "name": Text("Name; also the label.", required=True),
        "owner__context": ContextName("app or group only.", required=True, shown=False),
        "owner_id": Id("Id of the owning record; 0 when the owner is the app. The caller must be allowed to own as that record.", target_from="owner__context", shown=False),
        "signature": Text("Plain template.", 16777215, required=True),
        "signature_html": Text("HTML template.", 16777215),
        "updated_at": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
    }
    nested = (
        Nested("owner", "*", "Owner."),
    )
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name.", "name", "partial"),
        TypeFilter("owner", "Owner is of these record types; any/none as values.", "owner"),
        DeepFilter("owner.app", "Owned by the app; any word.", "app", BehindContext("owner", "svc.contexts.app")),
        DeepFilter("owner.bot", "Owner is a matching bot.", "bot", BehindContext("owner", "svc.contexts.bot")),
        DeepFilter("owner.group", "Owner is a matching group.", "group", BehindContext("owner", "svc.contexts.group")),
        DeepFilter("owner.role", "Owner is a matching role.", "role", BehindContext("owner", "svc.contexts.role")),
        DeepFilter("owner.worker", "Owner is a matching worker.", "worker", BehindContext("owner", "svc.contexts.worker")),
        TextFilter("signature", "Plain template.", "signature", "partial"),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(
        search=("fieldset", "links", "owner"),
        virtual=("owner",),
    )
