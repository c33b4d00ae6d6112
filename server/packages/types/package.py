"""Packages in the library: sets of records that can be imported. Importing is not done here."""

from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Change, RecordType, Subtotals, Writing
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import Through
from server.store.tables import Index


class Package(RecordType):
    """A package that the library offers. The service puts them there; administrators may rename and remove them.

    Source: Package; its fields are ours."""

    uri, context = "package", "svc.contexts.package.library"
    aliases = ("packages",)
    label_names = ("Package", "Packages")
    tier = 3
    features = frozenset(("comments", "links", "search"))
    operations = {"retrieve": True, "search": True, "create": False, "update": True, "delete": True}
    access = Access(read="any worker", create=("nobody",), update=("admins",), delete=("admins",))
    fields = {
        "description": Text("What it holds."),
        "name": Text("Name; also the label.", required=True),
        "point": Text("Section of the library that it stands in.", required=True),
        "updated_at": Timestamp(
            "Last change; set to now on every write unless it is sent.", auto="now", auto_update="now"
        ),
        "uri": Text(
            "Its own short name: lower-case letters, digits and underscores.",
            64,
            required=True,
            unique=True,
            pattern="[A-Za-z0-9_]*",
        ),
    }
    indexes = (Index(("uri",), "a package by its short name", unique=True),)
    filters = (
        AllWords("Bare words are looked for in the name.", "name", "partial"),
        TextFilter("description", "What it holds.", "description", "partial"),
        DeepFilter(
            "fieldset", "Has a matching custom fieldset.", "custom_fieldset",
            Through("fieldset_use", "record_id", "fieldset_id", (("context", "svc.contexts.package.library"),)),
        ),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name.", "name", "partial"),
        TextFilter("point", "Section of the library.", "point", "prefix"),
        DateFilter("updated", "Last change.", "updated_at"),
        TextFilter("uri", "Its own short name.", "uri", "prefix"),
    )  # fmt: skip
    subtotals = Subtotals(search=("fieldset", "links", "point"))

    def prepare(self, change: Change, writing: Writing) -> None:
        if "uri" in change.new:
            change.new["uri"] = change.new["uri"].lower()
