"""DOC"""

from server.fields.flag import Bit
from server.fields.link import Id
from server.fields.number import Uint
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Expand, Key, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import TextFilter
from server.search.filters.ways import Behind, Through


class Address(RecordType):
    """DOC"""

    uri, context = "address", "svc.contexts.address"
    aliases = ("email address", "email addresses", "addresses", "sender", "senders", "addy", "addys")
    label_names = ("Email Address", "Email Addresses")
    lookup = "email"
    features = frozenset(("avatars", "comments", "custom_fields", "links", "search", "watchers",))
    operations = {"retrieve": True, "search": True, "create": True, "update": True, "delete": False}
    access = Access(
        read="any worker",
        create="priv",
        update="priv",
        delete="nobody (always refused)",
    )
    fields = {
        "contact_id": Id("Contact it belongs to; sets the organization from the contact unless `org_id` is also sent.", "contact", zero_ok=True, shown=False),
        "created_at": Timestamp("When the record was made; now when omitted.", auto="now"),
        "email": Text("The address; stored in lower case, must be a single valid address.", required=True, unique=True, form="email"),
        "host": Text("Domain part; overwritten from `email` whenever that is set.", auto="derived"),
        "is_banned": Bit("Incoming mail from it is refused."),
        "is_defunct": Bit("Mail to it is known to bounce."),
        "is_trusted": Bit("Its images and links may be shown."),
        "mail_transport_id": Id("Transport used when sending from it; non-zero makes it a sending address.", "mail_transport", zero_ok=True, shown=False),
        "num_nonspam": Uint("Non-spam count; kept by the service.", immutable=True),
        "num_spam": Uint("Spam count; kept by the service.", immutable=True),
        "org": Text("Organization by exact name; created when there is none.", alternative_to="org_id"),
        "org_id": Id("Organization of the address; 0 clears.", "org", alternatives=("org",), zero_ok=True, shown=False),
        "updated": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
        "worker_id": Id("Worker it belongs to.", "worker", zero_ok=True, shown=False),
    }
    nested = (
        Nested("contact", "contact", "Contact."),
        Nested("mail_transport", "mail_transport", "Transport used for sending."),
        Nested("org", "org", "Organization."),
        Nested("worker", "worker", "Worker it belongs to."),
    )
    keys = (
        Key("address", "text", "Same as `email`."),
        Key("full_name", "text", "Name of the contact.", on_expand=True),
        Key("is_contact", "boolean", "JSON true when it belongs to a contact, else false."),
    )
    expands = (
        Expand("first_name", "text", "Contact first name.", LOADER),
        Expand("last_name", "text", "Contact last name.", LOADER),
        Expand("last_recipient_message", "record", "Newest message sent to it (`last_recipient_message_id` and keys).", LOADER, "message"),
        Expand("last_sender_message", "record", "Newest message from it.", LOADER, "message"),
    )
    filters = (
        WordsFilter("text", "Full text over the address, contact name and organization.", INDEX, default=True),
        WordsFilter("comments", "Text of comments on the address.", INDEX),
        DeepFilter("contact", "Record behind `contact` matches the query in parentheses.", "contact", Behind("contact_id")),
        ChooserFilter("contact.id", "By id; comparison and sets as for numbers.", "contact_id", target="contact"),
        DateFilter("created", "When the record was made.", "created_at"),
        TextFilter("email", "Exact unless a wildcard is used.", "email", "exact"),
        TextFilter("host", "Domain part.", "host", "exact"),
        NumberFilter("id", "Record id.", "id"),
        FlagFilter("isBanned", "Incoming mail from it is refused.", "is_banned"),
        FlagFilter("isDefunct", "Mail to it is known to bounce.", "is_defunct"),
        FlagFilter("isTrusted", "Its images and links may be shown.", "is_trusted"),
        ChooserFilter("mailTransport.id", "By id; comparison and sets as for numbers.", "mail_transport_id", target="mail_transport"),
        NumberFilter("nonspam", "Non-spam count.", "num_nonspam"),
        DeepFilter("org", "Matching organization.", "org", Behind("org_id")),
        ChooserFilter("org.id", "By id; comparison and sets as for numbers.", "org_id", target="org"),
        NumberFilter("spam", "Spam count.", "num_spam"),
        DeepFilter("ticket", "Requester of a matching ticket.", "ticket", Through("requester", "address_id", "ticket_id")),
        ChooserFilter("ticket.id", "Requester of these tickets.", "", target="ticket"),
        DateFilter("updated", "Last change.", "updated"),
        ChooserFilter("worker.id", "By id; comparison and sets as for numbers.", "worker_id", target="worker"),
    )
    subtotals = Subtotals(
        search=("contact.id", "fieldset", "host", "isBanned", "isDefunct", "isTrusted", "links", "mailTransport.id", "org.id", "watchers", "worker.id"),
        aliases={"contact": "contact.id", "mailTransport": "mailTransport.id", "mailtransport": "mailTransport.id", "org": "org.id", "worker": "worker.id"},
    )
    label_on_expand = True
    org_column = "org_id"
