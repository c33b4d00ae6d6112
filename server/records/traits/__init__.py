"""What a type can have, a class each: columns, writable fields, filters and expand names that it brings to the type."""

from typing import TYPE_CHECKING

from server.fields import CustomValues, Field, Image, References
from server.records.parts import Expand
from server.records.shared import collections, custom
from server.search.filters import DeepFilter, Filter, LinksFilter, Through, WatchersFilter
from server.store.tables import Column

if TYPE_CHECKING:
    from server.records.base import RecordType


class Trait:
    """One feature of a type. A trait brings nothing but what it says."""

    name = ""
    columns: tuple[Column, ...] = ()

    def fields(self) -> dict[str, Field]:
        """The writable names."""
        return {}

    def expands(self, record_type: "RecordType") -> list[Expand]:
        """The expand names."""
        return []

    def filters(self, record_type: "RecordType") -> list[Filter]:
        """The filters. A type that declares one of these names itself keeps its own."""
        return []


class Comments(Trait):
    """Comments on a record."""

    name = "comments"

    def expands(self, record_type: "RecordType") -> list[Expand]:
        newest, count = collections.comments(record_type), collections.comment_count(record_type)
        return [
            Expand("comments", "records", "The newest ten comments.", newest, "comment", common=True),
            Expand("comment_count", "number", "How many comments.", count, "", common=True),
        ]


class CustomFields(Trait):
    """Fields that administrators add, and the sets that bring them."""

    name = "custom_fields"

    def fields(self) -> dict[str, Field]:
        return {"custom_<id>": CustomValues("The value of a custom field, by its id or its uri.")}

    def expands(self, record_type: "RecordType") -> list[Expand]:
        by_id, by_uri = custom.load_by_id(record_type), custom.load_by_uri(record_type)
        return [
            Expand("custom_", "map", "`custom` and every `custom_<id>`.", by_id, "", common=True),
            Expand("customfields", "array", "Custom values under their uris.", by_uri, "", common=True),
        ]

    def filters(self, record_type: "RecordType") -> list[Filter]:
        if not record_type.has_fieldset_filter:
            return []
        way = Through("fieldset_use", "record_id", "fieldset_id", (("context", record_type.context),))
        return [DeepFilter("fieldset", "Has a matching custom fieldset.", "custom_fieldset", way)]


class Links(Trait):
    """Links to records of any type."""

    name = "links"

    def fields(self) -> dict[str, Field]:
        return {"links": References("Records to link, as `<type>:<id>`; a leading `-` unlinks.")}

    def expands(self, record_type: "RecordType") -> list[Expand]:
        load = collections.links(record_type)
        return [Expand("links", "map", "Linked records by context.", load, "", common=True)]

    def filters(self, record_type: "RecordType") -> list[Filter]:
        note = "Linked to a record of these types; any or none."
        return [LinksFilter("links", note, record_type.context)] if record_type.has_links_filter else []


class Watchers(Trait):
    """Workers who are told of changes."""

    name = "watchers"

    def expands(self, record_type: "RecordType") -> list[Expand]:
        load = collections.watchers(record_type)
        return [Expand("watchers", "records", "Watching workers.", load, "worker", common=True)]

    def filters(self, record_type: "RecordType") -> list[Filter]:
        note = "Who watches it: me, ids, names, any, none, or a query."
        return [WatchersFilter("watchers", note, record_type.context)]


class Attachments(Trait):
    """Attached files."""

    name = "attachments"

    def expands(self, record_type: "RecordType") -> list[Expand]:
        load = collections.attachments(record_type)
        return [Expand("attachments", "records", "Attached files.", load, "attachment", common=True)]


class Avatars(Trait):
    """A picture of its own."""

    name = "avatars"
    columns = (Column("image_blob_id"),)

    def fields(self) -> dict[str, Field]:
        return {"image": Image("PNG as a data URI, 50 to 500 pixels a side; `data:null` removes it.")}


# In the order in which filters and expand names are listed; forms and reference pages list fields the other way round.
_ALL = (Comments(), CustomFields(), Links(), Watchers(), Attachments(), Avatars())


def of(features: frozenset[str]) -> tuple[Trait, ...]:
    """The traits with these names; `owner` and `search` bring nothing to the declaration and have none."""
    return tuple(each for each in _ALL if each.name in features)
