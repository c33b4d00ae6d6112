"""Saved searches: named queries, private or shared."""

from server import contexts
from server.errors import BadQuery, Invalid
from server.fields import ContextName, Name, Text, UpdatedAt
from server.record_types.record_type import Access, Change, RecordType, Subtotals, Writing
from server.record_types.shared import record_owners
from server.record_types.traits import Comments, CustomFields, Links, Search
from server.search.filters import ContextFilter
from server.search.query_parser import parse
from server.store.tables import Index

VERSION = "saved_searches"  # of all saved searches; see Transaction.version


class SavedSearch(RecordType):
    """A query on one record type, owned by the service, a group, a role or a worker."""

    uri, context = "saved_search", contexts.SAVED_SEARCH
    aliases = ("saved search", "saved searches")
    label_names = ("Saved Search", "Saved Searches")
    tier = 3
    lookup = "tag"
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="owner", write=("privilege", "owner"))
    fields = {
        "context": ContextName("Record type it searches.", required=True),
        "name": Name(),
        **record_owners.fields(required=False, filter=None),
        "query": Text("Search query.", 65535, required=True),
        "tag": Text(
            "Unique short name: letters, digits and dashes; blank for none.",
            64,
            unique=True,
            pattern=r"[A-Za-z0-9-]*",
            blank_ok=True,
            filter_note="Short name.",
        ),
        "updated_at": UpdatedAt(),
    }
    indexes = (
        Index(("tag",), "a saved search by its tag; no two are one", unique=True, where="\"tag\" <> ''"),
        Index(("context",), "the saved searches on a record type"),
        Index(("owner__context", "owner_id"), "what somebody owns"),
    )
    filters = (
        ContextFilter(
            "context", "Record type it searches: one of its names, or part of its context.", "context", "partial"
        ),
    )
    subtotals = Subtotals(search=("context", "fieldset"))
    bumps = {VERSION: ()}
    has_links_filter = False

    def privileged(self, change: Change, writing: Writing) -> None:
        record_owners.require(change, writing)

    def prepare(self, change: Change, writing: Writing) -> None:
        """Rejects a query that cannot be parsed. Names in it are not checked, since fields and types can change."""
        record_owners.check(change, writing)
        if "query" in change.new:
            try:
                parse(change.new["query"])
            except BadQuery as error:
                raise Invalid(f"query: {error.message}", field="query") from error
