"""Toolbars: places of the console with buttons that start automations. A fixed set."""

from server.fields import CreatedAt, Name, Text, UpdatedAt
from server.record_types.record_type import Access, Change, RecordType, Subtotals, Writing
from server.record_types.shared import built_in
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store.tables import Index

PLACES = {
    "automation.editor": "Beside the script of an automation.",
    "comment.editor": "Above a comment that is being written.",
    "draft.read": "On a draft.",
    "global.menu": "On every page, in the menu at the bottom.",
    "global.search": "On every page, beside the search.",
    "mail.compose": "Above a new mail that is being written.",
    "mail.read": "On a message.",
    "mail.reply": "Above a reply that is being written.",
    "record.card": "On the card of a record.",
    "record.profile": "On the page of a record.",
    "record.profile.image.editor": "Beside the picture of a record that is being changed.",
    "records.worklist": "Below a list of records.",
}
ROWS = tuple(
    {"name": name, "extension_id": f"svc.toolbar.{name}", "description": place} for name, place in PLACES.items()
)


class Toolbar(RecordType):
    """A place in the console and its buttons. All toolbars exist from the start; none can be added or removed."""

    uri = "toolbar"
    tier = 3
    lookup = "name"
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    operations = {"retrieve": True, "search": True, "create": False, "update": True, "delete": False}
    access = Access(read="any worker", write=("nobody",), update=("admins",))
    fields = {
        "created_at": CreatedAt("When the record was created; cannot be changed."),
        "description": Text("Where it is shown."),
        "extension_id": Text(
            "Id of the place; cannot be changed.",
            required=True,
            form="extension",
            filter="extension",
            filter_note="Exact id of the place.",
            match="exact",
        ),
        "name": Name("Name, such as mail.read; cannot be changed. Also the label.", unique=True),
        "toolbar_kata": Text("Its buttons, as KATA.", 65535, form="kata", filter=None),
        "updated_at": UpdatedAt(),
    }
    indexes = (Index(("name",), "a toolbar by its name", unique=True),)
    subtotals = Subtotals(search=("fieldset", "links", "watchers"))

    def prepare(self, change: Change, writing: Writing) -> None:
        built_in.require_same(change, "name", "extension_id", "created_at")
