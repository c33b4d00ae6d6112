"""Rating pages and ratings: finds the rating of a link, and stores score and comment of the customer."""

from typing import Literal

from server import contexts
from server.access.actor import Actor
from server.access.service_actor import own_context
from server.context import Service
from server.contexts import ADDRESS, TICKET
from server.dataclass import dataclass
from server.errors import Gone, Invalid, NotFound
from server.markup.typed_text import clean_lines
from server.people.address_names import named_address
from server.record_types.parts import Reading, Record
from server.record_types.shared import brands
from server.record_types.shared.brands import BrandProfile
from server.records import event_publishing
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets import rule_events
from server.tickets.ratings import rating_links
from server.tickets.types.rating import MAX_COMMENT_CHARS, NONE, SCORES
from server.tickets.types.ticket_parts.status import DELETED
from server.translation import _

EVENT = "ticket.rated"  # automation event, and activity point
State = Literal["open", "rated", "over"]


@dataclass(frozen=True, slots=True)
class RatingPage:
    """The state of a rating for its page. state: `open` to rate, `rated` and open to changes, or `over`. until: Unix
    seconds, for `rated`. score: "" until the customer has rated. has_comment: whether there is one; the page does not
    show it, since the email may have been forwarded. language: of the customer, "" if unknown."""

    rating_id: int
    state: State
    score: str
    has_comment: bool
    mask: str
    subject: str
    group_id: int
    until: int
    language: str


def open_page(service: Service, code: str, now: int) -> RatingPage:
    """Returns the page of a link. Raises NotFound if this service did not sign it, or if its ticket or rating was
    deleted."""
    ctx = own_context(service, now)
    return service.store.read(lambda tx: _page(RecordReader(ctx, tx), code))


def brand_of(service: Service, page: RatingPage | None, host: str) -> BrandProfile | None:
    """Returns the brand of the group of a rating, or without a page the brand at a host name, public or not; None if
    there is no such brand."""
    all_brands = service.store.read(brands.all_brands)
    return brands.brand_of_group(all_brands, page.group_id) if page is not None else brands.brand_at(all_brands, host)


def rate(service: Service, code: str, score: str, comment: str, now: int) -> RatingPage:
    """Stores score and comment of a customer, and returns the new page. A blank comment leaves an earlier one.
    Submitting the same again changes nothing.

    Raises NotFound like open_page, Gone once the link has expired, Invalid for an unknown score or a longer comment."""
    if score not in SCORES:
        raise Invalid(_("Choose one of the two."), field="score")
    text = clean_lines(comment)
    if len(text) > MAX_COMMENT_CHARS:
        raise Invalid(
            _("at most {count} characters, this has {number}", count=MAX_COMMENT_CHARS, number=len(text)),
            field="comment",
        )
    ctx = own_context(service, now)

    def write(tx: Transaction) -> RatingPage:
        writing = RecordWriter(ctx, tx)
        page = _page(writing, code)
        if page.state == "over":
            raise Gone(_("This link has expired, so the rating can no longer be changed."))
        rating = writing.record("rating", page.rating_id)
        assert rating is not None
        _store(_as_customer(writing, rating), rating, score, text)
        return _page(writing, code)

    return service.store.write(write)


def _page(reading: Reading, code: str) -> RatingPage:
    rating = rating_links.rating_of(reading, code)
    ticket = reading.record("ticket", rating["ticket_id"]) if rating is not None else None
    if rating is None or ticket is None or (ticket["status_id"] == DELETED and not ticket["merged_into"]):
        raise NotFound(_("This link does not lead to a request that can be rated."))
    contact = reading.record("contact", rating["contact_id"]) if rating["contact_id"] else None
    group = reading.record("group", rating["group_id"]) if rating["group_id"] else None
    is_rated = rating["score"] != NONE
    until = (
        rating["rated_at"] + rating_links.CHANGE_SECONDS if is_rated else rating["asked_at"] + rating_links.RATE_SECONDS
    )
    state: State = "over" if reading.now >= until else "rated" if is_rated else "open"
    return RatingPage(
        rating["id"],
        state,
        rating["score"],
        bool(rating["comment"]),
        ticket["mask"],
        ticket["subject"],
        rating["group_id"],
        until,
        (contact["language"] if contact else "") or (group["language"] if group else ""),
    )


def _store(writing: RecordWriter, rating: Record, score: str, comment: str) -> None:
    """Writes score and comment, unless both stay; then notifies workers, rules and automations."""
    if score == rating["score"] and comment in ("", rating["comment"]):
        return
    is_first = rating["score"] == NONE
    values = {"score": score, "comment": comment or rating["comment"]}
    values["rated_at" if is_first else "changed_at"] = writing.now
    writing.update("rating", rating["id"], values)
    ticket_id = rating["ticket_id"]
    writing.log(EVENT, TICKET, ticket_id, {"target": writing.label("ticket", ticket_id)})
    rule_events.record(writing, ticket_id, rule_events.RATED)
    event_publishing.publish(
        writing,
        EVENT,
        {
            "is_changed": int(not is_first),
            **event_publishing.record_values("rating", contexts.RATING, rating["id"]),
            **event_publishing.record_values("ticket", TICKET, ticket_id),
        },
    )


def _as_customer(writing: RecordWriter, rating: Record) -> RecordWriter:
    """Returns a writer for the same transaction with the address that was asked as actor."""
    id = rating["address_id"]
    if not id or writing.record("address", id) is None:
        return writing
    customer = Actor(ADDRESS, id, False, writing.actor.timezone, named_address(writing, id))
    return RecordWriter(writing.ctx.as_actor(customer, writing.ctx.tz), writing.tx)
