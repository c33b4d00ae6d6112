"""Mail templates: the HTML around the messages of a group or bucket."""

from server import contexts
from server.fields import Id, Name, Text, UpdatedAt
from server.markup.losses import losses
from server.outbox.content import BODY
from server.record_types.record_type import Access, Change, Key, Record, RecordType, Subtotals, Writing
from server.record_types.shared import record_owners
from server.record_types.shared.comment_text import comment_words
from server.record_types.shared.dangling_references import redirect
from server.record_types.shared.points import PLACEHOLDER
from server.record_types.traits import Attachments, Comments, CustomFields, Links, Search
from server.store.tables import Column


class HtmlTemplate(RecordType):
    """HTML with a placeholder for the message, chosen by a group, a bucket or the sender of a mail."""

    uri, context = "html_template", contexts.HTML_TEMPLATE
    aliases = (
        "email template",
        "email templates",
        "mail template",
        "mail templates",
        "html template",
        "html templates",
    )
    label_names = ("Email Template", "Email Templates")
    traits = (Comments(), CustomFields(), Links(), Attachments(), Search())
    access = Access(read="owner", write=("admins",), delete=("privilege", "owner"))
    is_administrative = True
    fields = {
        "content": Text("HTML with a placeholder for the message.", 16777215),
        "name": Name(),
        **record_owners.fields(filter=None, shown=False),
        "signature_id": Id(
            "Signature to use with it; 0 for none.",
            "email_signature",
            zero_ok=True,
            filter_note="Signature by id.",
            nested_note="Signature.",
        ),
        "updated_at": UpdatedAt(),
    }
    filters = (comment_words(contexts.HTML_TEMPLATE, "Words in the comments on the template."),)
    subtotals = Subtotals(search=("fieldset", "links"))

    columns = (Column("left_out", "TEXT"),)
    keys = (
        Key(
            "left_out",
            "text",
            "What mail leaves out of the HTML, one per line: elements, attributes and CSS that mail "
            "programs refuse or that are not safe. Worked out whenever it is saved.",
            column="left_out",
        ),
    )

    def privileged(self, change: Change, writing: Writing) -> None:
        record_owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        record_owners.check(change, writing)
        if change.is_create or change.changes("content"):
            change.new["left_out"] = "\n".join(_losses(change.value("content") or ""))

    def after_delete(self, record: Record, writing: Writing) -> None:
        for table in ("group", "bucket"):
            redirect(writing, table, "reply_html_template_id", record["id"])


def _losses(content: str) -> list[str]:
    has_body = any(name == BODY for name in PLACEHOLDER.findall(content))
    missing = [] if has_body or not content.strip() else [f"the message: write {{{{{BODY}}}}} where it belongs"]
    return [*missing, *losses(content)]
