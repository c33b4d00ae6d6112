"""Assets: tracked objects, such as devices and vehicles. Custom fields hold their details."""

from server import contexts
from server.fields import CreatedAt, Name, UpdatedAt
from server.record_types.record_type import Access, Change, NestedRecord, RecordType, Subtotals, Writing
from server.record_types.shared import record_owners
from server.record_types.traits import Attachments, Avatars, Comments, CustomFields, Links, Search, Watchers
from server.search.filters import DeepFilter, Filter, HasMany
from server.store.tables import Index


def filters(context: str) -> tuple[Filter, ...]:
    """The filters of assets and of custom types, which have the shape of assets."""
    return (
        DeepFilter(
            "comments",
            "Has a matching comment.",
            "comment",
            HasMany("comment", "target_id", (("target__context", context),)),
        ),
        *record_owners.filters("app", "group", "role", "worker"),
    )


class Asset(RecordType):
    """A thing with a name and perhaps an owner; an asset without an owner belongs to everybody."""

    uri = "asset"
    plugin = "svc.assets"
    traits = (Comments(), CustomFields(), Links(), Watchers(), Attachments(), Avatars(), Search())
    ownerless_is_open = True
    access = Access(read="owner", write=("privilege", "owner"))
    fields = {
        "created_at": CreatedAt(),
        "name": Name("Name of the asset; also the label. Names need not be unique.", filter_note="Its name."),
        "owner__context": record_owners.context_field(
            "Record type of the owner: app, group, role or worker; blank for none.",
            record_owners.OWNERS,
            required=False,
        ),
        "owner_id": record_owners.id_field(
            "Id of the owner; 0 for none, and for the app.", required=False, filter=None
        ),
        "updated_at": UpdatedAt(),
    }
    indexes = (
        Index(("name",), "assets by name"),
        Index(("owner__context", "owner_id"), "what somebody owns"),
    )
    nested = (NestedRecord("owner", "*", "Owner."),)  # custom types without owners inherit it
    filters = filters(contexts.ASSET)
    subtotals = Subtotals(search=("fieldset", "links", "name", "owner", "watchers"), virtual=("owner",))

    def privileged(self, change: Change, writing: Writing) -> None:
        record_owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        if "owner__context" in change.new and not change.new["owner__context"] and "owner_id" not in change.new:
            change.new["owner_id"] = 0  # the owner was removed
        record_owners.check(change, writing)
