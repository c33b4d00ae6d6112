"""The card of a ticket's customer: who they are, their local time, their other tickets and their colleagues."""

from datetime import datetime

from markupsafe import Markup

from console.html import ui
from console.html.ui import ChooserOptions
from console.http.visit import Visit
from console.lists.tagged import Tagged, tagged
from console.tickets import field_rows
from server import locales, times
from server.dataclass import dataclass
from server.digits import id_in
from server.mail.display_names import first_and_last
from server.record_types.shared import paths
from server.record_types.traits.avatars import BLOB
from server.records import records
from server.records.sheet import Sheet
from server.tickets import customer
from server.tickets.customer import Customer

CONTACT = "contact"


@dataclass(frozen=True, slots=True)
class CustomerCard:
    """The customer card of a ticket.

    path, id: the contact, or the address if it has no contact. picture: the path of the contact's picture, "" for none.
    local_time: "" if the time zone is unknown. all_tickets, all_people: paths of lists. may_change: whether the caller
    may change the contact, or create it for the address. new_name: the suggested first and last name of a new contact.
    controls: the custom fields that the caller may change. org: the organization of the contact. tagged: its tags."""

    customer: Customer
    name: str
    path: str
    id: int
    picture: str
    local_time: str
    all_tickets: str
    all_people: str
    may_change: bool
    may_comment: bool
    new_name: tuple[str, str]
    controls: dict[str, Markup]
    org: ChooserOptions
    tagged: Tagged | None


def customer_card(visit: Visit, ticket: Sheet) -> CustomerCard | None:
    """Returns the card; None for a ticket without requesters."""
    address_id = id_in(visit.query.text("requester", "")) or 0
    found = customer.customer_of_ticket(visit.ctx, ticket.keys, address_id)
    if found is None:
        return None
    contact, org = found.contact, found.org
    may_change = _may(visit, "update", contact["id"]) if contact else _may(visit, "create")
    own_org = org if contact and org and contact["org_id"] == org["id"] else None
    tickets = f"participant:(contact.id:{contact['id']})" if contact else f"participant.id:{found.address_id}"
    return CustomerCard(
        customer=found,
        name=contact["full_name"] if contact else found.name or found.email,
        path=paths.record(CONTACT, contact["id"]) if contact else paths.record("address", found.address_id),
        id=contact["id"] if contact else found.address_id,
        picture=f"/avatars/{CONTACT}/{contact['id']}?v={contact[BLOB]}" if contact and contact[BLOB] else "",
        local_time=_local_time(visit, contact["timezone"]) if contact and contact["timezone"] else "",
        all_tickets=ui.address("/search/ticket", q=f"{tickets} status:![deleted]"),
        all_people=ui.address("/search/contact", q=f"org.id:{org['id']}") if org else "",
        may_change=may_change,
        may_comment=records.may(visit.ctx, "comment", "create"),
        new_name=first_and_last(found.name) if found.name and not contact else ("", ""),
        controls=_controls(visit, found) if contact and may_change else {},
        org=ChooserOptions("org", None, own_org["name"] if own_org else ""),
        tagged=tagged(visit, CONTACT, contact["id"], f"{paths.ticket(ticket.keys['mask'])}/customer/tags")
        if contact
        else None,
    )


def _controls(visit: Visit, found: Customer) -> dict[str, Markup]:
    return field_rows.field_controls(visit, CONTACT, found.customs, (*found.facts, *found.blank))


def _may(visit: Visit, operation: str, id: int = 0) -> bool:
    return records.may(visit.ctx, CONTACT, operation, id)


def _local_time(visit: Visit, timezone: str) -> str:
    local = datetime.fromtimestamp(visit.now, times.zone(timezone))
    return locales.of(visit.language).soon(local, local)
