"""Organizations, to which contacts, addresses and tickets belong."""

from server import contexts
from server.errors import AdminOnly
from server.fields import Bit, CreatedAt, Id, Name, Text, UpdatedAt, Url
from server.people import newest_messages
from server.record_types.record_type import Access, Change, Record, RecordType, Subtotals, Writing
from server.record_types.shared.comment_text import comment_words
from server.record_types.shared.dangling_references import redirect
from server.record_types.shared.named_records import reindex
from server.record_types.shared.relation_tables import ORG_TAG
from server.record_types.traits import Avatars, Comments, CustomFields, Links, Search, Tags, Watchers
from server.search.filters import ByIdFilter, DeepFilter, HasMany, TextFilter, WordsFilter
from server.store.fulltext import TextIndex as TextIndex
from server.store.tables import Index

CONTEXT = contexts.ORG
ORG_TEXT = TextIndex("org_text", ("name", "place"), "org")
TICKETS = HasMany("ticket", "org_id")
MEMBERS = ("address", "contact", "ticket")  # types whose records have an organization


class Org(RecordType):
    """A company or another body that contacts, addresses and tickets belong to."""

    uri = "org"
    aliases = ("organization", "organizations", "orgs", "company", "companies")
    label_names = ("Organization", "Organizations")
    traits = (Comments(), CustomFields(), Links(), Watchers(), Tags(ORG_TAG), Avatars(), Search())
    access = Access(read="any worker", write=("privilege",))
    fields = {
        "city": Text("City."),
        "country": Text("Country.", match="prefix"),
        "created": CreatedAt(),
        "email_id": Id(
            "Main email address; 0 clears.", "address", zero_ok=True, deep="Its main address matches the query."
        ),
        "name": Name("Organization name; also the label. Names need not be unique.", one_line=True),
        "phone": Text("Phone."),
        "postal": Text("Postal code."),
        "province": Text("State or province.", filter="state", match="prefix"),
        "shares_requests": Bit(
            "1: its contacts see each other's tickets in the help center, without changing them; set by "
            "administrators.",
            filter="sharesRequests",
            origin="ours",
        ),
        "street": Text("Street lines."),
        "updated": UpdatedAt("Last change; set to the current time on every write unless sent."),
        "website": Url("Web site; http or https."),
    }
    indexes = (
        Index(("name",), "organizations by name"),
        Index(("email_id",), "the organization of an address"),
        Index(("created",), "the newest organizations"),
        Index(("updated",), "organizations by their last change"),
    )
    yielding = frozenset({"tags"})
    text = ORG_TEXT
    expands = newest_messages.expands("org", "the organization", lambda own, address: address.c.org_id == own.c.id)
    filters = (
        WordsFilter("text", "Words of the name and the postal address.", ORG_TEXT, default=True),
        TextFilter("alias", "The whole name.", "name", "exact", sortable=False),
        comment_words(CONTEXT, "Words in comments on the organization."),
        DeepFilter("contacts", "Has a matching contact.", "contact", HasMany("contact", "org_id")),
        DeepFilter("ticket", "Has a matching ticket.", "ticket", TICKETS),
        ByIdFilter("ticket.id", "Organization of these tickets.", "ticket", TICKETS),
    )
    subtotals = Subtotals(
        search=("country", "fieldset", "links", "postal", "state", "tag", "watchers"),
        aliases={"province": "state"},
    )

    def privileged(self, change: Change, writing: Writing) -> None:
        """Reserves the decision who reads tickets for administrators."""
        if change.changes("shares_requests") and not writing.actor.is_admin:
            raise AdminOnly("shares_requests: only administrators may change this", field="shares_requests")

    def after_write(self, change: Change, writing: Writing) -> None:
        """Updates the search texts of addresses and contacts, which contain the name of their organization."""
        if not change.is_create and change.changes("name"):
            reindex(writing, "address", "org_id", change.id)
            reindex(writing, "contact", "org_id", change.id)

    def after_delete(self, record: Record, writing: Writing) -> None:
        for uri in MEMBERS:
            redirect(writing, uri, "org_id", record["id"])

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        place = [record[name] for name in ("street", "city", "province", "postal", "country")]
        return {"name": record["name"], "place": " ".join(filter(None, place))}
