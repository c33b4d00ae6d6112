"""Automation resources: files created by automations, which can be downloaded with an unguessable token."""

import secrets
import uuid

from server import contexts
from server.fields import Text, Timestamp, Uint, UpdatedAt
from server.record_types.record_type import Access, Change, Record, RecordType, Subtotals, Writing
from server.record_types.shared.file_content import take_name
from server.record_types.traits import CustomFields
from server.store import blobs
from server.store.tables import Column, Index


class AutomationResource(RecordType):
    """A temporary file of an automation, such as a picture for the response of a webhook."""

    uri, context = "automation_resource", contexts.AUTOMATION_RESOURCE
    tier = 3
    lookup = "token"
    traits = (CustomFields(),)
    operations = {"retrieve": True, "search": False, "create": True, "update": True, "delete": True}
    access = Access(read="admins", write=("admins",))
    fields = {
        "expires_at": Timestamp("When it may be deleted; 0 for never.", immutable=True, shown=False),
        "mime_type": Text(
            "MIME type of the file, such as image/png.",
            filter="mimetype",
            filter_note="MIME type of the file.",
            match="prefix",
        ),
        "name": Text("File name.", match="prefix"),
        "size": Uint("Size in bytes; set by the service.", immutable=True),
        "storage_extension": Text("Where its bytes are; set by the service.", immutable=True, stored=False),
        "storage_key": Text("Where its bytes are; set by the service.", immutable=True, stored=False),
        "token": Text(
            "The token to fetch it by: letters, digits and dashes; 128 random bits when omitted. "
            "Blank leaves it unchanged. Also the label.",
            unique=True,
            auto="generated",
            pattern="[A-Za-z0-9-]*",
            blank_ok=True,
            exact=True,
            match="prefix",
        ),
        "updated_at": UpdatedAt(),
    }
    columns = (Column("blob_id"),)
    indexes = (
        Index(("token",), "the resource that is asked for", unique=True),
        Index(("expires_at",), "those that may be dropped"),
    )
    subtotals = Subtotals(search=("fieldset", "mimetype", "name"))
    label_column = "token"

    def name_in_log(self, record: Record) -> str:
        """Names the file without its label: the token is all that is needed to read it."""
        return f"{record['name'] or record['mime_type'] or 'without a name'} ({record['id']})"

    has_url = False

    def prepare(self, change: Change, writing: Writing) -> None:
        take_name(change)
        if not change.value("token"):
            change.new["token"] = change.was("token") or str(uuid.UUID(bytes=secrets.token_bytes(16)))

    def after_delete(self, record: Record, writing: Writing) -> None:
        if record["blob_id"]:
            blobs.forget(writing.tx, record["blob_id"])
