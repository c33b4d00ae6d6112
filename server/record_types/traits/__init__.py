"""The traits of record types, one class each. `record_type.has(Links)` tests for one."""

from server.record_types.traits.attachments import Attachments
from server.record_types.traits.avatars import Avatars
from server.record_types.traits.comment_trait import Comments
from server.record_types.traits.custom_field_trait import CustomFields
from server.record_types.traits.links import Links, Watchers
from server.record_types.traits.trait import Exported, Trait, together

__all__ = [
    "ALL", "Attachments", "Avatars", "Comments", "CustomFields", "Exported", "Links", "Owner", "Search", "Trait",
    "Watchers", "having", "of_features", "together",
]  # fmt: skip


class Owner(Trait):
    """Records with an owner: a worker, a group or another record. The type declares the owner fields."""

    name = "owner"


class Search(Trait):
    """Searchable records, unless the type's operations say otherwise."""

    name = "search"


# In the order of filters and expand names. Forms and reference pages list fields in reverse.
ALL = (Comments(), CustomFields(), Links(), Watchers(), Attachments(), Avatars(), Owner(), Search())


def of_features(features: frozenset[str]) -> tuple[Trait, ...]:
    """The traits with these names."""
    return tuple(each for each in ALL if each.name in features)


def having(traits: tuple[Trait, ...], *hooks: str) -> tuple[Trait, ...]:
    """The traits that override one of these hooks."""
    return tuple(
        each for each in traits if any(getattr(type(each), hook) is not getattr(Trait, hook) for hook in hooks)
    )
