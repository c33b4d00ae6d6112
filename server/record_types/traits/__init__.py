"""The traits of record types, one class each. `record_type.has(Links)` tests for one."""

from server.record_types.traits.attachments import Attachments
from server.record_types.traits.avatars import Avatars
from server.record_types.traits.comment_trait import Comments
from server.record_types.traits.custom_field_trait import CustomFields
from server.record_types.traits.links import Links, Watchers
from server.record_types.traits.tagging import Tags
from server.record_types.traits.trait import Exported, Search, Trait, together

__all__ = [
    "ALL", "ORDER", "Attachments", "Avatars", "Comments", "CustomFields", "Exported", "Links", "Owner", "Search",
    "Tags", "Trait", "Watchers", "named", "together",
]  # fmt: skip


class Owner(Trait):
    """Records with an owner: a worker, a group or another record. The type declares the owner fields."""

    name = "owner"


# Types declare traits in this order, which filters and expand names follow. Forms and reference pages list fields in
# reverse.
ORDER = (Comments, CustomFields, Links, Watchers, Attachments, Tags, Avatars, Owner, Search)
# Without Tags, which need a table.
ALL = (Comments(), CustomFields(), Links(), Watchers(), Attachments(), Avatars(), Owner(), Search())


def named(names: frozenset[str]) -> tuple[Trait, ...]:
    """The traits with these names."""
    return tuple(each for each in ALL if each.name in names)
