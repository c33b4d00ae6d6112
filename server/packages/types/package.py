"""Packages in the library: sets of records that can be imported. importing.py imports them."""

from server import contexts
from server.fields import Name, Text, UpdatedAt
from server.record_types.record_type import Access, Change, RecordType, Subtotals, Writing
from server.record_types.traits import Comments, Links, Search
from server.search.filters import DeepFilter, HasManyThrough
from server.store.tables import Index


class Package(RecordType):
    """A package that the library offers. The service puts them there; administrators may rename and remove them."""

    uri, context = "package", contexts.PACKAGE
    tier = 3
    traits = (Comments(), Links(), Search())
    operations = {"retrieve": True, "search": True, "create": False, "update": True, "delete": True}
    access = Access(read="any worker", write=("admins",), create=("nobody",))
    fields = {
        "description": Text("What it contains."),
        "name": Name(),
        "point": Text(
            "Section of the library it is listed in.",
            required=True,
            filter_note="Section of the library.",
            match="prefix",
        ),
        "updated_at": UpdatedAt(),
        "uri": Text(
            "A unique short name: lower-case letters, digits and underscores.",
            64,
            required=True,
            unique=True,
            pattern="[A-Za-z0-9_]*",
            match="prefix",
        ),
    }
    indexes = (Index(("uri",), "a package by its short name", unique=True),)
    filters = (
        DeepFilter(
            "fieldset",
            "Has a matching custom fieldset.",
            "custom_fieldset",
            HasManyThrough("fieldset_use", "record_id", "fieldset_id", (("context", contexts.PACKAGE),)),
        ),
    )
    subtotals = Subtotals(search=("fieldset", "links", "point"))

    def prepare(self, change: Change, writing: Writing) -> None:
        if "uri" in change.new:
            change.new["uri"] = change.new["uri"].lower()
