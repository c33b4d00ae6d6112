"""Mail addresses: of requesters, contacts and workers, and those that the helpdesk sends from."""

from collections.abc import Sequence
from typing import Any

from server import contexts
from server.errors import AdminOnly
from server.fields import Bit, CreatedAt, Id, Text, Uint, UpdatedAt
from server.people import address_removal, identity, login_following, newest_messages
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Expand,
    Key,
    NestedRecord,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared.collections import ids_text
from server.record_types.shared.comment_text import comment_words
from server.record_types.shared.named_records import org_named
from server.record_types.traits import Avatars, Comments, CustomFields, Links, Search, Watchers
from server.search.filters import ByIdFilter, DeepFilter, HasManyThrough, WordsFilter
from server.store.fulltext import TextIndex as TextIndex
from server.store.statements import in_list, slot
from server.store.tables import Column, Index, table_named

CONTEXT = contexts.ADDRESS
ADDRESS_TEXT = TextIndex("address_text", ("email", "name", "org"), "address")
TICKETS = HasManyThrough("requester", "address_id", "ticket_id")


def _names(shown: DictionaryContext, records: Sequence[Record]) -> dict[int, tuple[str, str]]:
    """Returns {address id: (first name, last name) of its contact}."""
    address, contact = table_named("address").alias("own"), table_named("contact").alias("person")
    rows = shown.tx.rows(
        lambda: (
            address.select(address.c.id, contact.c.first_name, contact.c.last_name)
            .join(contact, on=(contact.c.id == address.c.contact_id))
            .where(in_list(address.c.id, slot(0)))
        ),
        (ids_text(records),),
    )
    return {id: (first, last) for id, first, last in rows}


def _load_names(shown: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `first_name`, `last_name` and `full_name` of the contact."""
    names = _names(shown, records)
    names_by_id = {}
    for record in records:
        first, last = names.get(record["id"], ("", ""))
        names_by_id[record["id"]] = {"first_name": first, "last_name": last, "full_name": f"{first} {last}".strip()}
    return names_by_id


class Address(RecordType):
    """An email address. Only administrators delete one, after a confirmation that lists its uses."""

    uri = "address"
    aliases = ("email address", "email addresses", "addresses", "sender", "senders", "addy", "addys")
    label_names = ("Email Address", "Email Addresses")
    lookup = "email"
    traits = (Comments(), CustomFields(), Links(), Watchers(), Avatars(), Search())
    access = Access(read="any worker", write=("privilege",), delete=("admins",))
    is_settled = True
    fields = {
        "contact_id": Id(
            "Contact it belongs to; the organization becomes the contact's unless `org_id` is sent too.",
            "contact",
            zero_ok=True,
            deep="Its contact matches the query.",
        ),
        "created_at": CreatedAt(),
        "email": Text(
            "The address; stored in lower case, must be a single valid address. If it belongs to a "
            "worker, or a group, a bucket or the service sends from it, only administrators may "
            "change it and the rest of its record.",
            required=True,
            unique=True,
            form="email",
            filter_note="The whole address, unless a wildcard is used.",
            match="exact",
        ),
        "host": Text("Domain part; set from `email`.", auto="derived", match="exact"),
        "is_banned": Bit("Incoming email from it is refused."),
        "is_defunct": Bit("Email to it is known to bounce."),
        "is_trusted": Bit("Its images and links may be shown."),
        "mail_transport_id": Id(
            "Transport used when sending from it, which makes it a sender address; set by administrators.",
            "mail_transport",
            zero_ok=True,
            nested_note="Transport used for sending.",
        ),
        "num_nonspam": Uint("Non-spam count; set by the service.", immutable=True, filter="nonspam"),
        "num_spam": Uint("Spam count; set by the service.", immutable=True, filter="spam"),
        "org": Text("Organization by exact name; created if missing.", alternative_to="org_id"),
        "org_id": Id(
            "Organization of the address; 0 clears.",
            "org",
            alternatives=("org",),
            zero_ok=True,
            deep="Its organization matches the query.",
        ),
        "updated": UpdatedAt("Last change; set to the current time on every write unless sent."),
        "worker_id": Id("Worker it belongs to; set by administrators.", "worker", zero_ok=True),
    }
    columns = (Column("display_name", "TEXT", nocase=True),)  # the first name that its owner used in mail
    indexes = (
        Index(("email",), "addresses by their text; no two are one", unique=True),
        Index(("host",), "the addresses of a domain"),
        Index(("contact_id",), "the addresses of a contact"),
        Index(("org_id",), "the addresses of an organization"),
        Index(("worker_id",), "the addresses of a worker"),
        Index(("mail_transport_id",), "addresses that we send from", where="mail_transport_id > 0"),
        Index(("created_at",), "the newest addresses"),
        Index(("updated",), "addresses by their last change"),
    )
    text = ADDRESS_TEXT
    nested = (NestedRecord("org", "org", "Organization; null when none.", is_nullable=True),)
    keys = (
        Key("address", "text", "Same as `email`.", column="email"),
        Key(
            "display_name",
            "text",
            "Name that its owner first wrote under; senders can choose any name.",
            column="display_name",
        ),
        Key("full_name", "text", "Name of the contact.", on_expand=True),
        Key(
            "is_contact",
            "boolean",
            "Whether it belongs to a contact, as true or false.",
            lambda record, shown: bool(record["contact_id"]),
        ),
    )
    expands = (
        Expand(
            "full_name",
            "text",
            "Name of the contact; also adds `first_name` and `last_name`.",
            _load_names,
            reads="contact",
        ),
        Expand(
            "first_name", "text", "First name of the contact; also adds the other names.", _load_names, reads="contact"
        ),
        Expand(
            "last_name", "text", "Last name of the contact; also adds the other names.", _load_names, reads="contact"
        ),
        *newest_messages.expands("address", "the address"),
    )
    filters = (
        WordsFilter("text", "Words of the address, its contact's name, its organization.", ADDRESS_TEXT, default=True),
        comment_words(CONTEXT, "Words in comments on the address."),
        DeepFilter("ticket", "Requester of a matching ticket.", "ticket", TICKETS),
        ByIdFilter("ticket.id", "Requester of these tickets.", "ticket", TICKETS),
    )
    events = (Event("address.email.changed", "the address itself was changed"),)
    subtotals = Subtotals(
        search=(
            "contact.id",
            "fieldset",
            "host",
            "isBanned",
            "isDefunct",
            "isTrusted",
            "links",
            "mailTransport.id",
            "org.id",
            "watchers",
            "worker.id",
        ),
        aliases={
            "contact": "contact.id",
            "mailTransport": "mailTransport.id",
            "mailtransport": "mailTransport.id",
            "org": "org.id",
            "worker": "worker.id",
        },
    )
    label_column = "email"
    label_on_expand = True
    org_column = "org_id"

    def privileged(self, change: Change, writing: Writing) -> None:
        """Reserves addresses of workers and senders, and mail settings, for administrators."""
        if writing.actor.is_admin:
            return
        for column in ("worker_id", "mail_transport_id"):
            if change.changes(column):
                raise AdminOnly(f"{column}: only administrators may change this of an address", field=column)
        if change.old is not None:
            identity.require_external(writing, change.old)
            if change.value("email").strip().lower() != change.was("email"):
                identity.require_readable_mail(writing, change.id)

    def prepare(self, change: Change, writing: Writing) -> None:
        """Normalizes to lower case, and fills in the domain and the organization, by its name or from the contact."""
        new = change.new
        if "email" in new:
            new["email"] = new["email"].strip().lower()
            new["host"] = new["email"].rpartition("@")[2]
        if "org" in change.extras and "org_id" not in new:
            new["org_id"] = org_named(writing, change.extras["org"])
        elif new.get("contact_id") and "org_id" not in new and change.changes("contact_id"):
            contact = writing.record("contact", new["contact_id"])
            if contact is not None:
                new["org_id"] = contact["org_id"]

    def after_write(self, change: Change, writing: Writing) -> None:
        """Updates the search texts of contacts, and logs changes of the address and of its transport."""
        if not change.is_create and change.changes("email"):
            details = {"target": change.value("email"), "before": change.was("email")}
            writing.log("address.email.changed", self.context, change.id, details)
        if change.changes("mail_transport_id"):
            transport_id = change.value("mail_transport_id")
            through = writing.label("mail_transport", transport_id) if transport_id else "the default mail transport"
            details = {"target": change.value("email"), "transport": through}
            writing.log("sender.changed", self.context, change.id, details)
        if change.changes("email") or change.changes("contact_id"):
            for contact_id in {change.was("contact_id"), change.value("contact_id")} - {0}:
                writing.texts_changed("contact", contact_id)
        login_following.follow(writing, change)

    def wakes(self, change: Change) -> bool:
        """Wakes mail that waits for the address to get an outgoing identity."""
        return change.changes("mail_transport_id") and bool(change.value("mail_transport_id"))

    def check_delete(self, record: Record, writing: Writing) -> None:
        address_removal.check(writing, record)

    def after_delete(self, record: Record, writing: Writing) -> None:
        address_removal.detach(writing, record["id"])

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        contact = writing.record("contact", record["contact_id"]) if record["contact_id"] else None
        org = writing.record("org", record["org_id"]) if record["org_id"] else None
        return {
            "email": record["email"],
            "name": contact["full_name"] if contact else record["display_name"],
            "org": org["name"] if org else "",
        }

    def labels(self, shown: DictionaryContext, records: Sequence[Record]) -> dict[int, str]:
        """Returns `<name> <email>` with the contact's name, else the display name; only the address without either."""
        names = _names(shown, records)
        labels = {}
        for record in records:
            name = " ".join(names.get(record["id"], ())).strip() or record["display_name"]
            labels[record["id"]] = f"{name} <{record['email']}>" if name else record["email"]
        return labels
