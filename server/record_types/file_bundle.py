"""File bundles: sets of files that are attached to replies together. The files are attachments of the bundle."""

from server import contexts
from server.fields import Name, Text, UpdatedAt
from server.record_types.record_type import Access, Change, RecordType, Subtotals, Writing
from server.record_types.shared import record_owners
from server.record_types.shared.comment_text import comment_words
from server.record_types.traits import Attachments, Comments, CustomFields, Links, Search, Watchers
from server.search.filters import UsableByFilter
from server.store.tables import Index

CONTEXT = contexts.FILE_BUNDLE


class FileBundle(RecordType):
    """A named set of files, owned by the service, a group, a role or a worker."""

    uri = "file_bundle"
    aliases = ("file bundle", "file bundles", "bundle", "bundles")
    tier = 3
    lookup = "tag"
    traits = (Comments(), CustomFields(), Links(), Watchers(), Attachments(), Search())
    access = Access(read="owner", write=("privilege", "owner"))
    fields = {
        "name": Name(),
        **record_owners.fields(),
        "tag": Text(
            "Unique short name; must not be blank when sent.",
            128,
            unique=True,
            filter_note="Short name.",
        ),
        "updated_at": UpdatedAt(),
    }
    indexes = (
        Index(("tag",), "a bundle by its tag; no two are one", unique=True, where="\"tag\" <> ''"),
        Index(("owner__context", "owner_id"), "what somebody owns"),
    )
    filters = (
        comment_words(CONTEXT, "Words in the comments on the bundle."),
        UsableByFilter("Bundles that this worker may use: me, an id or a name."),
    )
    subtotals = Subtotals(search=("fieldset", "links", "owner", "watchers"), virtual=("owner",))

    def privileged(self, change: Change, writing: Writing) -> None:
        record_owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        record_owners.check(change, writing)
