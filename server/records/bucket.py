"""DOC"""

from server.fields.flag import Bit
from server.fields.link import Id
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import Behind


class Bucket(RecordType):
    """DOC"""

    uri, context = "bucket", "svc.contexts.bucket"
    aliases = ("buckets",)
    label_names = ("Bucket", "Buckets")
    features = frozenset(("comments", "custom_fields", "links", "search",))
    access = Access(
        read="any worker",
        create="priv + manager of the group, or admin",
        update="priv + manager of the group, or admin",
        delete="priv + manager of the group, or admin",
    )
    fields = {
        "group_id": Id("Group it belongs to.", "group", required=True, shown=False),
        "is_default": Bit("Inbox of the group."),
        "name": Text("Bucket name; also the label.", required=True),
        "reply_address_id": Id("Address replies are sent from; 0 uses the group.", "address", alternatives=("replyto_id",), zero_ok=True, shown=False),
        "reply_html_template_id": Id("Default mail template; 0 uses the group.", "html_template", zero_ok=True, shown=False),
        "reply_personal": Text("Sender name on replies; blank uses the group."),
        "reply_signature_id": Id("Default signature; 0 uses the group.", "email_signature", zero_ok=True, shown=False),
        "reply_signing_key_id": Id("Signing key; 0 uses the group.", "gpg_private_key", zero_ok=True, shown=False),
        "updated_at": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
    }
    nested = (
        Nested("group", "group", "Group."),
        Nested("reply_html_template", "html_template", "Default mail template."),
        Nested("reply_signature", "email_signature", "Default signature."),
        Nested("reply_signing_key", "gpg_private_key", "Signing key."),
        Nested("replyto", "address", "Address replies are sent from.", column="reply_address_id"),
    )
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        DeepFilter("group", "Record behind `group` matches the query in parentheses.", "group", Behind("group_id")),
        ChooserFilter("group.id", "By id; comparison and sets as for numbers.", "group_id", target="group"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Bucket name.", "name", "partial"),
        TextFilter("send.as", "Sender name on replies; blank uses the group.", "reply_personal", "partial"),
        ChooserFilter("send.from.id", "By id; comparison and sets as for numbers.", "reply_address_id", target="address"),
        ChooserFilter("signature.id", "By id; comparison and sets as for numbers.", "reply_signature_id", target="email_signature"),
        ChooserFilter("signing.key.id", "By id; comparison and sets as for numbers.", "reply_signing_key_id", target="gpg_private_key"),
        ChooserFilter("template.id", "By id; comparison and sets as for numbers.", "reply_html_template_id", target="html_template"),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(
        search=("fieldset", "group.id", "links"),
        aliases={"group": "group.id", "signature": "signature.id", "template": "template.id"},
    )
