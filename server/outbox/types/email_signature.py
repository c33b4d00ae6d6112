"""Signatures: the lines under the mail that a group or bucket sends."""

from server.fields.link import APP
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Change, Nested, Record, RecordType, Subtotals, Writing
from server.records.shared import owners
from server.records.shared.references import redirect
from server.search.filters.date import DateFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter

# Where a signature's id stands in other records.
REFERENCES = (("group", "reply_signature_id"), ("bucket", "reply_signature_id"), ("html_template", "signature_id"))


class EmailSignature(RecordType):
    """A template of closing lines, as plain text and as HTML, owned by the service or a group. Source: Ours."""

    uri, context = "email_signature", "svc.contexts.email.signature"
    aliases = ("email signature", "email signatures", "signature", "signatures")
    label_names = ("Email Signature", "Email Signatures")
    tier = 2
    features = frozenset(("attachments", "comments", "custom_fields", "links", "search"))
    access = Access(
        read="owner",
        create=("privilege", "owner"),
        update=("privilege", "owner"),
        delete=("privilege", "owner"),
    )
    fields = {
        "name": Text("Name; also the label.", required=True),
        "owner__context": owners.context_field("Record type of the owner: app or group.", (APP, owners.GROUP)),
        "owner_id": owners.id_field("Id of the owner; 0 for the app.", required=False),
        "signature": Text("Template of the plain text.", 16777215, required=True),
        "signature_html": Text("Template of the HTML.", 16777215),
        "updated_at": Timestamp(
            "Last change; set to now on every write unless it is sent.", auto="now", auto_update="now"
        ),
    }
    nested = (Nested("owner", "*", "Owner."),)
    filters = (
        AllWords("Bare words are looked for in the name.", "name", "partial"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name.", "name", "partial"),
        *owners.filters("app", "bot", "group", "role", "worker"),
        TextFilter("signature", "Template of the plain text.", "signature", "partial"),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(search=("fieldset", "links", "owner"), virtual=("owner",))

    def privileged(self, change: Change, writing: Writing) -> None:
        owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        owners.check(change, writing)

    def after_delete(self, record: Record, writing: Writing) -> None:
        for table, column in REFERENCES:
            redirect(writing.tx, table, column, record["id"])
