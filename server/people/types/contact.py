"""Contacts: people, with the addresses that they write from."""

import json
from typing import Any

from server import contexts
from server.errors import Conflict
from server.fields import Id, Text, Timestamp
from server.people import identity, newest_messages
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Expand,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared.collections import ids_text
from server.record_types.shared.comment_text import comment_words
from server.record_types.shared.dangling_references import redirect
from server.record_types.shared.named_records import address_of, org_named, reindex
from server.record_types.shared.relation_tables import CONTACT_TAG
from server.record_types.traits import Avatars, Comments, CustomFields, Links, Search, Tags, Watchers
from server.search.filters import ChoiceFilter, DateFilter, TextFilter, WordsFilter
from server.store.fulltext import TextIndex as TextIndex
from server.store.statements import in_list, slot
from server.store.tables import Column, Index, table_named
from server.translation import about_field, lazy_gettext

CONTEXT = contexts.CONTACT
CONTACT_TEXT = TextIndex("contact_text", ("name", "org", "email"), "contact")
GENDERS = {"male": "M", "female": "F", "unknown": ""}


def _emails(tx: Any, contact_ids: str) -> list[tuple[int, int, str]]:
    """Returns (contact id, address id, email) for every address of contacts. contact_ids: a JSON list."""
    address = table_named("address").alias("theirs")
    return tx.rows(
        lambda: (
            address.select(address.c.contact_id, address.c.id, address.c.email)
            .where(in_list(address.c.contact_id, slot(0)))
            .order_by(address.c.id)
        ),
        (contact_ids,),
    )


def _load_emails(shown: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `emails`: {address id: email}."""
    emails_by_contact: dict[int, dict[str, str]] = {record["id"]: {} for record in records}
    for contact_id, id, email in _emails(shown.tx, ids_text(records)):
        emails_by_contact[contact_id][str(id)] = email
    return {own: {"emails": each} for own, each in emails_by_contact.items()}


class Contact(RecordType):
    """A person outside the helpdesk."""

    uri = "contact"
    aliases = ("contacts", "person", "people")
    traits = (Comments(), CustomFields(), Links(), Watchers(), Tags(CONTACT_TAG), Avatars(), Search())
    access = Access(read="any worker", write=("privilege",))
    fields = {
        "dob": Text("Birthday as YYYY-MM-DD.", form="date", filter=None),
        "email": Text("Address by its text; created if missing.", alternative_to="email_id"),
        "email_id": Id(
            "Main email address, which then belongs to this contact.",
            "address",
            unique=True,
            alternatives=("email",),
            zero_ok=True,
            deep="Its main address matches the query.",
            nested_note="Main email address.",
        ),
        "first_name": Text("Given name.", 128, required=True, one_line=True, match="prefix"),
        "gender": Text("F, M or blank.", 1, allowed=("", "F", "M")),
        "language": Text("Locale such as en_US.", 16, form="language", filter="lang", match="prefix"),
        "last_login_at": Timestamp("Last portal login.", filter="lastLogin"),
        "last_name": Text("Family name.", 128, one_line=True, match="prefix"),
        "location": Text("Place, free text.", filter=None),
        "mobile": Text("Mobile number.", 64, match="prefix"),
        "org": Text("Organization by exact name; created if missing.", alternative_to="org_id"),
        "org_id": Id(
            "Organization; 0 clears.",
            "org",
            alternatives=("org",),
            zero_ok=True,
            deep="Its organization matches the query.",
            nested_note="Organization; 0 when none.",
        ),
        "phone": Text("Phone.", 64, match="prefix"),
        "timezone": Text("IANA time zone name.", 128, form="timezone", match="exact"),
        "title": Text("Job title.", one_line=True),
        "username": Text("Public nickname.", 64, match="prefix"),
    }
    columns = (
        Column("full_name", "TEXT", nocase=True),  # derived
        Column("created_at"),
        Column("updated_at"),
    )
    indexes = (
        Index(("email_id",), "the contact of an address"),
        Index(("org_id",), "the contacts of an organization"),
        Index(("full_name",), "contacts by name"),
        Index(("last_name", "first_name"), "contacts in alphabetical order"),
        Index(("updated_at",), "contacts by their last change"),
    )
    yielding = frozenset({"tags"})
    text = CONTACT_TEXT
    keys = (
        Key("name", "text", "First and last name.", column="full_name"),
        Key("updated_at", "timestamp", "Last change.", column="updated_at"),
    )
    expands = (
        Expand("emails", "map", "{address id: email} of every address of the contact.", _load_emails, reads="address"),
        *newest_messages.expands("contact", "the contact", lambda own, address: address.c.contact_id == own.c.id),
    )
    filters = (
        WordsFilter("text", "Words of the names, the organization and the addresses.", CONTACT_TEXT, default=True),
        TextFilter("alias", "The whole name.", "full_name", "exact", sortable=False),
        comment_words(CONTEXT, "Words in comments on the contact."),
        DateFilter("created", "When the contact was created; stored, never returned.", "created_at"),
        ChoiceFilter("gender", "By first letter.", "gender", GENDERS),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(
        search=("fieldset", "gender", "lang", "links", "org.id", "tag", "timezone", "watchers"),
        aliases={"email": "email.id", "language": "lang", "org": "org.id", "tz": "timezone"},
    )
    label_column = "full_name"

    def prepare(self, change: Change, writing: Writing) -> None:
        """Fills in address and organization by their text, the full name and the two times."""
        new, extras = change.new, change.extras
        if "email" in extras and "email_id" not in new:
            new["email_id"] = address_of(writing, extras["email"], "email")
            self._check_free(change, writing)
        if "org" in extras and "org_id" not in new:
            new["org_id"] = org_named(writing, extras["org"])
        new["full_name"] = f"{change.value('first_name')} {change.value('last_name')}".strip()
        new["updated_at"] = writing.now
        if change.is_create:
            new["created_at"] = writing.now

    def after_write(self, change: Change, writing: Writing) -> None:
        """Assigns the main address to the contact, and updates the search texts of addresses, which contain the
        contact's name."""
        address = writing.record("address", change.value("email_id")) if change.value("email_id") else None
        if address is not None and change.changes("email_id") and address["contact_id"] != change.id:
            identity.require_external(writing, address)
            writing.update("address", address["id"], {"contact_id": change.id})
        if not change.is_create and change.changes("full_name"):
            reindex(writing, "address", "contact_id", change.id)

    def after_delete(self, record: Record, writing: Writing) -> None:
        redirect(writing, "address", "contact_id", record["id"])

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        org = writing.record("org", record["org_id"]) if record["org_id"] else None
        emails = [email for _, _, email in _emails(writing.tx, json.dumps([record["id"]]))]
        return {"name": record["full_name"], "org": org["name"] if org else "", "email": " ".join(emails)}

    def _check_free(self, change: Change, writing: Writing) -> None:
        """Raises Conflict if an address that was sent as text belongs to another contact."""
        address_id = change.new["email_id"]
        other = writing.find("contact", email_id=address_id) if address_id else None
        if other is not None and other["id"] != change.id:
            raise Conflict(
                about_field(
                    "email",
                    lazy_gettext(
                        "'{value}' already belongs to contact {id}", value=change.extras["email"][:80], id=other["id"]
                    ),
                ),
                field="email",
            )
