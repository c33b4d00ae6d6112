"""Signatures: the closing lines of mail from a group or bucket."""

from server import contexts
from server.fields import Name, Text, UpdatedAt
from server.fields.link import APP
from server.markup.losses import losses
from server.record_types.record_type import Access, Change, Key, Record, RecordType, Subtotals, Writing
from server.record_types.shared import record_owners
from server.record_types.shared.dangling_references import redirect
from server.record_types.traits import Attachments, Comments, CustomFields, Links, Search
from server.store.tables import Column

# Columns of other records that refer to a signature.
REFERENCES = (("group", "reply_signature_id"), ("bucket", "reply_signature_id"), ("html_template", "signature_id"))


class EmailSignature(RecordType):
    """A template of closing lines, as plain text and as HTML, owned by the service or a group."""

    uri, context = "email_signature", contexts.EMAIL_SIGNATURE
    aliases = ("email signature", "email signatures", "signature", "signatures")
    tier = 2
    traits = (Comments(), CustomFields(), Links(), Attachments(), Search())
    access = Access(read="owner", write=("privilege", "owner"))
    fields = {
        "name": Name(),
        "owner__context": record_owners.context_field(
            "Record type of the owner: app or group.", (APP, record_owners.GROUP)
        ),
        "owner_id": record_owners.id_field(required=False),
        "signature": Text("Template of the plain-text version.", 16777215, required=True),
        "signature_html": Text("Template of the HTML version.", 16777215, filter=None),
        "updated_at": UpdatedAt(),
    }
    subtotals = Subtotals(search=("fieldset", "links", "owner"), virtual=("owner",))

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
        if change.is_create or change.changes("signature_html"):
            change.new["left_out"] = "\n".join(losses(change.value("signature_html") or ""))

    def after_delete(self, record: Record, writing: Writing) -> None:
        for table, column in REFERENCES:
            redirect(writing, table, column, record["id"])
