"""DOC"""

from server.fields.flag import Bit
from server.fields.link import Id
from server.fields.structure import Structure
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Expand, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import Through


class Group(RecordType):
    """DOC"""

    uri, context = "group", "svc.contexts.group"
    aliases = ("groups", "team", "teams")
    label_names = ("Group", "Groups")
    features = frozenset(("avatars", "comments", "custom_fields", "links", "owner", "search",))
    access = Access(
        read="any worker",
        create="admin",
        update="admin",
        delete="priv + manager of the group, or admin",
    )
    fields = {
        "created": Timestamp("When the record was made; now when omitted.", auto="now"),
        "is_default": Bit("Group that takes mail no rule routed."),
        "is_private": Bit("0: everybody may read its tickets; 1: members only."),
        "members": Structure("Roster change as JSON text or map: {\"manager\":\"1,2\",\"member\":\"3\",\"remove\":\"4\"}, each value comma-separated worker ids.", shown=False),
        "name": Text("Group name; also the label.", required=True),
        "reply_address_id": Id("Address replies are sent from.", "address", auto="setting", alternatives=("replyto_id",), shown=False),
        "reply_html_template_id": Id("Default mail template.", "html_template", zero_ok=True, shown=False),
        "reply_personal": Text("Sender name on replies."),
        "reply_signature_id": Id("Default signature.", "email_signature", zero_ok=True, shown=False),
        "reply_signing_key_id": Id("Key that signs outgoing mail.", "gpg_private_key", zero_ok=True, shown=False),
        "updated": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
    }
    nested = (
        Nested("reply_html_template", "html_template", "Default mail template."),
        Nested("reply_signature", "email_signature", "Default signature."),
        Nested("reply_signing_key", "gpg_private_key", "Signing key."),
        Nested("replyto", "address", "Address replies are sent from (written as `reply_address_id`).", column="reply_address_id"),
    )
    expands = (
        Expand("buckets", "object", "{results_meta, results}: `results` is the array of bucket dictionaries.", LOADER, "bucket"),
        Expand("members", "records", "Active members keyed by worker id, each with `is_manager` (true/false) and address keys.", LOADER, "worker"),
    )
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        DateFilter("created", "When the record was made.", "created"),
        FlagFilter("default", "Group that takes mail no rule routed.", "is_default"),
        NumberFilter("id", "Record id.", "id"),
        DeepFilter("manager", "Has a matching manager.", "worker", Through("group_member", "group_id", "worker_id", (("is_manager", 1),))),
        DeepFilter("member", "Has a matching member.", "worker", Through("group_member", "group_id", "worker_id")),
        TextFilter("name", "Group name.", "name", "partial"),
        FlagFilter("private", "0: everybody may read its tickets; 1: members only.", "is_private"),
        TextFilter("send.as", "Sender name on replies.", "reply_personal", "partial"),
        ChooserFilter("send.from.id", "By id; comparison and sets as for numbers.", "reply_address_id", target="address"),
        ChooserFilter("signature.id", "By id; comparison and sets as for numbers.", "reply_signature_id", target="email_signature"),
        ChooserFilter("signing.key.id", "By id; comparison and sets as for numbers.", "reply_signing_key_id", target="gpg_private_key"),
        ChooserFilter("template.id", "By id; comparison and sets as for numbers.", "reply_html_template_id", target="html_template"),
        DateFilter("updated", "Last change.", "updated"),
    )
    subtotals = Subtotals(
        search=("default", "fieldset", "links", "private"),
        aliases={"send.from": "send.from.id", "signature": "signature.id", "template": "template.id"},
    )
