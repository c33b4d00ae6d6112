"""DOC"""

from server.fields.link import Id
from server.fields.text import Text, Url
from server.fields.time import Timestamp
from server.records.base import Access, Expand, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import TextFilter
from server.search.filters.ways import Behind, PointingHere


class Org(RecordType):
    """DOC"""

    uri, context = "org", "svc.contexts.org"
    aliases = ("organization", "organizations", "orgs", "company", "companies")
    label_names = ("Organization", "Organizations")
    features = frozenset(("avatars", "comments", "custom_fields", "links", "search", "watchers",))
    access = Access(
        read="any worker",
        create="priv",
        update="priv",
        delete="priv",
    )
    fields = {
        "city": Text("City."),
        "country": Text("Country."),
        "created": Timestamp("When the record was made; now when omitted.", auto="now"),
        "email_id": Id("Main email address; 0 clears.", "address", zero_ok=True, shown=False),
        "name": Text("Organization name; also the label. Not unique.", required=True),
        "phone": Text("Phone."),
        "postal": Text("Postal code."),
        "province": Text("State or province."),
        "street": Text("Street lines."),
        "updated": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
        "website": Url("Web site; http or https."),
    }
    nested = (
        Nested("email", "address", "Main email address."),
    )
    expands = (
        Expand("last_recipient_message", "record", "Newest message sent to the organization.", LOADER, "message"),
        Expand("last_sender_message", "record", "Newest message from the organization.", LOADER, "message"),
    )
    filters = (
        WordsFilter("text", "Full text over name and address lines.", INDEX, default=True),
        TextFilter("alias", "Other names of the organization, exact.", "", "exact"),
        TextFilter("city", "City.", "city", "partial"),
        WordsFilter("comments", "Text of comments on the organization.", INDEX),
        DeepFilter("contacts", "Has a matching contact.", "contact", PointingHere("contact", "org_id")),
        TextFilter("country", "Country.", "country", "prefix"),
        DateFilter("created", "When the record was made.", "created"),
        DeepFilter("email", "Record behind `email` matches the query in parentheses.", "address", Behind("email_id")),
        ChooserFilter("email.id", "By id; comparison and sets as for numbers.", "email_id", target="address"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Organization name. Not unique.", "name", "partial"),
        TextFilter("phone", "Phone.", "phone", "partial"),
        TextFilter("postal", "Postal code.", "postal", "partial"),
        TextFilter("state", "State or province.", "province", "prefix"),
        TextFilter("street", "Street lines.", "street", "partial"),
        DeepFilter("ticket", "Has a matching ticket.", "ticket", PointingHere("ticket", "org_id")),
        ChooserFilter("ticket.id", "Organization of these tickets.", "", target="ticket"),
        DateFilter("updated", "Last change.", "updated"),
        TextFilter("website", "Web site.", "website", "partial"),
    )
    subtotals = Subtotals(
        search=("country", "fieldset", "links", "postal", "state", "watchers"),
        aliases={"province": "state"},
    )
