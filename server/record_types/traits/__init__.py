"""What a type can have, a class each. Whether it has one is asked by `record_type.has(Links)`."""

from server.record_types.traits.attachments import Attachments
from server.record_types.traits.avatars import Avatars
from server.record_types.traits.base import Exported, Trait, together
from server.record_types.traits.comments import Comments
from server.record_types.traits.custom_fields import CustomFields
from server.record_types.traits.links import Links, Watchers

__all__ = [
    "ALL", "Attachments", "Avatars", "Comments", "CustomFields", "Exported", "Links", "Owner", "Search", "Trait",
    "Watchers", "having", "of_features", "together",
]  # fmt: skip


class Owner(Trait):
    """Belongs to a worker, a group or another record; the fields that say so are the type's own."""

    name = "owner"


class Search(Trait):
    """Can be searched, unless the type's operations say otherwise."""

    name = "search"


# In the order in which filters and expand names are listed; forms and reference pages list fields the other way round.
ALL = (Comments(), CustomFields(), Links(), Watchers(), Attachments(), Avatars(), Owner(), Search())


def of_features(features: frozenset[str]) -> tuple[Trait, ...]:
    """The traits with these names."""
    return tuple(each for each in ALL if each.name in features)


def having(found: tuple[Trait, ...], *hooks: str) -> tuple[Trait, ...]:
    """Those that do something at one of these hooks: most do nothing at most of them."""
    return tuple(each for each in found if any(getattr(type(each), hook) is not getattr(Trait, hook) for hook in hooks))
