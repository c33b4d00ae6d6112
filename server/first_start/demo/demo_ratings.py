"""Ratings of the demo: some customers were asked after their ticket was closed, and most of these rated."""

from dataclasses import replace

from server.first_start.demo import desk
from server.first_start.demo.plan import CLOSED, DAY, HOUR, PlannedTicket, Step
from server.record_types.record_type import Record
from server.records.writing import RecordWriter
from server.tickets.types.rating import BAD, GOOD

# Of each TURN closed tickets: number of requests for a rating, of ratings, and of bad ratings.
TURN, ASKED, RATED, BAD_ONES = 12, 8, 6, 1
COMMENTED = 3  # every third rating has a comment


def rate(writing: RecordWriter, planned: PlannedTicket, step: Step, ticket: Record, worker_id: int) -> None:
    """Writes the rating of a ticket that a step closed for good, unless its turn gives none or it is too early. ticket:
    as stored."""
    place, asked_at = planned.number * 5 % TURN, step.at + DAY
    is_last = step is planned.steps[-1] and step.status == CLOSED
    if not is_last or place >= ASKED or asked_at > writing.now:
        return
    rated_at = asked_at + (1 + planned.number % 9) * HOUR
    score = "" if place >= RATED or rated_at > writing.now else BAD if place < BAD_ONES else GOOD
    comments = [each["comment"] for each in desk.content()["rating"] if each["score"] == score]
    has_comment = bool(comments) and (score == BAD or planned.number % COMMENTED == 0)
    address = writing.find("address", email=planned.customer.email)
    then = RecordWriter(replace(writing.ctx, now=rated_at if score else asked_at), writing.tx)
    then.create(
        "rating",
        {
            "ticket_id": ticket["id"],
            "address_id": address["id"] if address else 0,
            "contact_id": address["contact_id"] if address else 0,
            "worker_id": worker_id,
            "group_id": ticket["group_id"],
            "asked_at": asked_at,
            "rated_at": rated_at if score else 0,
            "score": score,
            "comment": comments[planned.number % len(comments)] if has_comment else "",
        },
    )
