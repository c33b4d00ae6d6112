"""Mail templates: the HTML around the messages that a group or bucket sends."""

from server.fields.link import Id
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Change, Nested, Record, RecordType, Subtotals, Writing
from server.records.shared import owners
from server.records.shared.comment_text import comment_words
from server.records.shared.references import redirect
from server.search.filters.date import DateFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import AllWords, TextFilter


class HtmlTemplate(RecordType):
    """HTML with a placeholder for the message, chosen by a group, a bucket or the sender of a mail.

    Source: Tickets, html_template_id; its fields are ours."""

    uri, context = "html_template", "svc.contexts.mail.html_template"
    aliases = (
        "email template", "email templates", "mail template", "mail templates", "html template", "html templates",
    )  # fmt: skip
    label_names = ("Email Template", "Email Templates")
    features = frozenset(("attachments", "comments", "custom_fields", "links", "search"))
    access = Access(read="owner", create=("admins",), update=("admins",), delete=("privilege", "owner"))
    is_administrative = True
    fields = {
        "content": Text("HTML with a placeholder for the message.", 16777215),
        "name": Text("Name; also the label.", required=True),
        "owner__context": owners.context_field("Record type of the owner: app, bot, group, role or worker."),
        "owner_id": owners.id_field("Id of the owner; 0 for the app."),
        "signature_id": Id("Signature that goes with it; 0 for none.", "email_signature", zero_ok=True, shown=False),
        "updated_at": Timestamp(
            "Last change; set to now on every write unless it is sent.", auto="now", auto_update="now"
        ),
    }
    nested = (Nested("signature", "email_signature", "Signature."),)
    filters = (
        AllWords("Bare words are looked for in the name.", "name", "partial"),
        comment_words("svc.contexts.mail.html_template", "Words in the comments on the template."),
        TextFilter("content", "HTML with a placeholder for the message.", "content", "partial"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name.", "name", "partial"),
        ChooserFilter("signature.id", "Signature by id.", "signature_id", target="email_signature"),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(search=("fieldset", "links"))

    def privileged(self, change: Change, writing: Writing) -> None:
        owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        owners.check(change, writing)

    def after_delete(self, record: Record, writing: Writing) -> None:
        for table in ("group", "bucket"):
            redirect(writing.tx, table, "reply_html_template_id", record["id"])
