"""DOC"""

from server.fields.link import ContextName, Id
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import AllWords, TextFilter


class HtmlTemplate(RecordType):
    """DOC"""

    uri, context = "html_template", "svc.contexts.mail.html_template"
    aliases = ("email template", "email templates", "mail template", "mail templates", "html template", "html templates")
    label_names = ("Email Template", "Email Templates")
    features = frozenset(("attachments", "comments", "custom_fields", "links", "search",))
    access = Access(
        read="owner-read rule",
        create="admin",
        update="admin",
        delete="priv + owner-write rule",
    )
    fields = {
        "content": Text("HTML with a placeholder for the message body.", 16777215),
        "name": Text("Name; also the label.", required=True),
        "owner__context": ContextName("Record type that owns the record: app, group, role, worker (bot where bots exist). Alias or full context id in, full id out.", required=True, shown=False),
        "owner_id": Id("Id of the owning record; 0 when the owner is the app. The caller must be allowed to own as that record.", required=True, target_from="owner__context", shown=False),
        "signature_id": Id("Signature to use with it; 0 none.", "email_signature", zero_ok=True, shown=False),
        "updated_at": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
    }
    nested = (
        Nested("signature", "email_signature", "Signature."),
    )
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        WordsFilter("comments", "Text of comments on the template.", INDEX),
        TextFilter("content", "HTML with a placeholder for the message body.", "content", "partial"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name.", "name", "partial"),
        ChooserFilter("signature.id", "By id; comparison and sets as for numbers.", "signature_id", target="email_signature"),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(
        search=("fieldset", "links"),
    )
