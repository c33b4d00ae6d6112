"""Resources: named files for other parts of the service, such as data sets, pictures and maps.

Their bytes are stored like those of attachments (store/blobs.py). Downloads are not in this module."""

from typing import Any

from server.errors import AdminOnly
from server.fields import Bit, Name, Text, Timestamp, UpdatedAt
from server.record_types.record_type import Access, Change, Record, RecordType, Subtotals, Writing
from server.record_types.shared.file_content import RESOURCE_URI, FileContent, copied, decoded, keep
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.search.filters import NumberFilter
from server.store import blobs
from server.store.tables import Column, Index

KINDS = tuple(
    f"svc.resource.{name}"
    for name in (
        "dataset.csv",
        "dataset.jsonl",
        "font",
        "image",
        "portal.image",
        "map",
        "map.points",
        "map.properties",
    )
)


class Resource(RecordType):
    """A named file of one kind. An automation generates the content of a dynamic one when it is no longer fresh."""

    uri = "resource"
    tier = 3
    lookup = "name"
    checked = {"automation_kata": "event"}
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="any worker", write=("admins",), create=("privilege",))
    is_administrative = True
    fields = {
        "automation_kata": Text(
            "The automation that creates the content of a dynamic resource, in KATA; set by administrators.",
            65535,
            filter=None,
        ),
        "cache_until": Timestamp(
            "Until when the content of a dynamic resource is fresh.", filter_note="Until when the content is fresh."
        ),
        "content": FileContent(
            "The bytes: plain text, base64 as a data URI, or svc:automation_resource:<token> for those of that "
            "resource. At most as large as the setting `max_attachment_bytes`. Never returned.",
            4294967295,
            stored=False,
        ),
        "description": Text("What it is."),
        "extension_id": Text("Kind of resource.", required=True, allowed=KINDS, form="extension", filter="type"),
        "is_dynamic": Bit(
            "1: created by an automation; set by administrators.", filter_note="Created by an automation."
        ),
        "name": Name(
            "Unique name: letters, digits, dots, dashes and underscores; also the label.",
            unique=True,
            pattern=r"[A-Za-z0-9._-]*",
            filter_note="Name of the resource.",
        ),
        "updated_at": UpdatedAt(),
    }
    columns = (Column("blob_id"), Column("size"))
    indexes = (Index(("name",), "a resource by its name; no two are one", unique=True),)
    filters = (NumberFilter("size", "Size in bytes.", "size"),)
    subtotals = Subtotals(search=("fieldset", "isDynamic", "links", "type"))

    def before(self, fields: dict[str, Any]) -> dict[str, Any]:
        field = self.fields["content"]
        assert isinstance(field, FileContent)
        return decoded(fields, field)

    def privileged(self, change: Change, writing: Writing) -> None:
        """Requires an administrator for automations: they run with the access of the service."""
        for column in ("automation_kata", "is_dynamic"):
            if change.changes(column) and not writing.actor.is_admin:
                raise AdminOnly(f"{column}: only administrators may let an automation create a resource", field=column)

    def prepare(self, change: Change, writing: Writing) -> None:
        content = change.extras.pop("content", None)
        if content is None:
            return
        if content.startswith(RESOURCE_URI):
            blob_id, copy = copied(writing, content)
            change.new |= {"blob_id": blob_id, "size": copy["size"]}
        else:
            change.new |= {"blob_id": keep(writing, content) if content else 0, "size": len(content)}
        if change.was("blob_id"):
            blobs.forget(writing.tx, change.was("blob_id"))

    def after_delete(self, record: Record, writing: Writing) -> None:
        if record["blob_id"]:
            blobs.forget(writing.tx, record["blob_id"])
