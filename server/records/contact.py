"""DOC"""

from server.fields.link import Id
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Expand, Key, Nested, RecordType, Subtotals
from server.search.filters.choice import ChoiceFilter
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import TextFilter
from server.search.filters.ways import Behind


class Contact(RecordType):
    """DOC"""

    uri, context = "contact", "svc.contexts.contact"
    aliases = ("contacts", "person", "people")
    label_names = ("Contact", "Contacts")
    features = frozenset(("avatars", "comments", "custom_fields", "links", "search", "watchers",))
    access = Access(
        read="any worker",
        create="priv",
        update="priv",
        delete="priv",
    )
    fields = {
        "dob": Text("Birthday as YYYY-MM-DD.", form="date"),
        "email": Text("Address by text; created when there is none.", alternative_to="email_id"),
        "email_id": Id("Main email address; that address is then attached to this contact.", "address", unique=True, alternatives=("email",), zero_ok=True, shown=False),
        "first_name": Text("Given name.", 128, required=True),
        "gender": Text("F, M or blank.", 1, allowed=("", "F", "M")),
        "language": Text("Locale such as en_US.", 16, form="language"),
        "last_login_at": Timestamp("Last portal login."),
        "last_name": Text("Family name.", 128),
        "location": Text("Place, free text."),
        "mobile": Text("Mobile number.", 64),
        "org": Text("Organization by exact name; created when there is none.", alternative_to="org_id"),
        "org_id": Id("Organization; 0 clears.", "org", alternatives=("org",), zero_ok=True, shown=False),
        "phone": Text("Phone.", 64),
        "timezone": Text("IANA zone name.", 128, form="timezone"),
        "title": Text("Job title."),
        "username": Text("Public nickname.", 64),
    }
    nested = (
        Nested("email", "address", "Main email address."),
        Nested("org", "org", "Organization."),
    )
    keys = (
        Key("name", "text", "First and last name."),
        Key("updated_at", "timestamp", "Last change."),
    )
    expands = (
        Expand("emails", "map", "Map of address id to email for every address of the contact.", LOADER),
        Expand("last_recipient_message", "record", "Newest message sent to the contact.", LOADER, "message"),
        Expand("last_sender_message", "record", "Newest message from the contact.", LOADER, "message"),
    )
    filters = (
        WordsFilter("text", "Full text over names, organization and email.", INDEX, default=True),
        TextFilter("alias", "Other names of the contact, exact.", "", "exact"),
        WordsFilter("comments", "Text of comments on the contact.", INDEX),
        DateFilter("created", "When the contact was made; stored, never returned.", "", sortable=True),
        DeepFilter("email", "Record behind `email` matches the query in parentheses.", "address", Behind("email_id")),
        ChooserFilter("email.id", "By id; comparison and sets as for numbers.", "email_id", target="address"),
        TextFilter("firstName", "Given name.", "first_name", "prefix"),
        ChoiceFilter("gender", "By first letter.", "gender", CHOICES),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("lang", "Locale such as en_US.", "language", "prefix"),
        DateFilter("lastLogin", "Last portal login.", "last_login_at"),
        TextFilter("lastName", "Family name.", "last_name", "prefix"),
        TextFilter("mobile", "Mobile number.", "mobile", "prefix"),
        DeepFilter("org", "Record behind `org` matches the query in parentheses.", "org", Behind("org_id")),
        ChooserFilter("org.id", "By id; comparison and sets as for numbers.", "org_id", target="org"),
        TextFilter("phone", "Phone.", "phone", "prefix"),
        TextFilter("timezone", "IANA zone name.", "timezone", "exact"),
        TextFilter("title", "Job title.", "title", "partial"),
        DateFilter("updated", "Last change.", "updated_at"),
        TextFilter("username", "Public nickname.", "username", "prefix"),
    )
    subtotals = Subtotals(
        search=("fieldset", "gender", "lang", "links", "org.id", "timezone", "watchers"),
        aliases={"email": "email.id", "language": "lang", "org": "org.id", "tz": "timezone"},
    )
    label_column = "title"
