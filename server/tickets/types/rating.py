"""Ratings: whether a customer was satisfied with a closed ticket. ratings/ asks for them and stores the scores."""

from collections.abc import Sequence

from server import contexts
from server.fields import Id, Text, Timestamp
from server.record_types.record_type import (
    Access,
    DictionaryContext,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import tags
from server.record_types.shared.deletions import after_deletion
from server.record_types.shared.relation_tables import TAG_NAME, TICKET_TAG
from server.record_types.traits import Search
from server.search.filters import ChoiceFilter, DateFilter, HasManyThrough, NamedFilter, WorkerFilter
from server.store.statements import slot
from server.store.tables import Column, Index, table_named

GOOD, BAD, NONE = "good", "bad", ""
SCORES = (GOOD, BAD)  # two steps: one click, no doubt about the middle, and one figure to compare, the share of good
WORDS = {GOOD: "Good", BAD: "Bad", NONE: "Not rated"}
MAX_COMMENT_CHARS = 2000


class Rating(RecordType):
    """Whether a customer was satisfied with a closed ticket. The service creates one when it asks; a ticket has at most
    one. Workers see the ratings of tickets that they owned, managers those of their groups; a role can grant all."""

    uri = "rating"
    context = contexts.RATING
    tier = 2
    traits = (Search(),)
    operations = {"retrieve": True, "search": True, "create": False, "update": False, "delete": True}
    access = Access(read="rating", write=("nobody",), delete=("admins",))
    fields = {
        "address_id": Id(
            "Address that was asked; 0 once it was deleted.", "address", zero_ok=True, immutable=True, origin="ours"
        ),
        "asked_at": Timestamp("When the customer was asked.", immutable=True, filter="asked", origin="ours"),
        "changed_at": Timestamp(
            "When the customer last changed score or comment; 0 if never.",
            immutable=True,
            filter="changed",
            origin="ours",
        ),
        "comment": Text(
            "What the customer wrote with it, as plain text.", MAX_COMMENT_CHARS, immutable=True, origin="ours"
        ),
        "contact_id": Id(
            "Contact of the address; 0 for none.",
            "contact",
            zero_ok=True,
            deep="Its contact matches the query.",
            immutable=True,
            origin="ours",
        ),
        "group_id": Id(
            "Group of the ticket when it was closed.",
            "group",
            zero_ok=True,
            deep="Its group matches the query.",
            immutable=True,
            origin="ours",
        ),
        "rated_at": Timestamp(
            "When the customer rated for the first time; 0 while the request is open.",
            immutable=True,
            filter="rated",
            origin="ours",
        ),
        "score": Text(
            "good or bad; blank until the customer rates.",
            8,
            allowed=("", *SCORES),
            immutable=True,
            filter=None,
            origin="ours",
        ),
        "ticket_id": Id(
            "The rated ticket.",
            "ticket",
            required=True,
            deep="Its ticket matches the query.",
            immutable=True,
            origin="ours",
        ),
        "worker_id": Id(
            "Owner of the ticket when it was closed, else the worker who closed it; 0 for none.",
            "worker",
            zero_ok=True,
            deep="The worker matches the query.",
            immutable=True,
            filter=None,
            origin="ours",
        ),
    }
    columns = (Column("nonce", "TEXT"),)  # random part of the signed link
    indexes = (
        Index(("ticket_id",), "the rating of a ticket", unique=True),
        # Has what reports count, so that they read the index alone.
        Index(("rated_at", "score", "worker_id", "group_id", "ticket_id"), "the ratings of some days"),
        Index(("score", "rated_at"), "bad ratings, the newest last"),
        Index(("address_id", "asked_at"), "when an address was last asked"),
        Index(("contact_id", "asked_at"), "when a contact was last asked"),
        Index(("asked_at",), "ratings in order of the requests"),
        Index(("worker_id", "rated_at"), "a worker's ratings"),
        Index(("nonce",), "the rating of a link"),
    )
    filters = (
        ChoiceFilter(
            "score",
            "good, bad, or none until the customer rates; the first letter is enough.",
            "score",
            {GOOD: GOOD, BAD: BAD, "none": NONE},
        ),
        NamedFilter(
            "ticket.tag",
            "One of the tags of its ticket by name; any, none, or a query.",
            "tag",
            HasManyThrough(TICKET_TAG.name, "ticket_id", "tag_id", of="ticket_id"),
            names=TAG_NAME,
            key=tags.name_key,
        ),
        DateFilter("rated", "When the customer rated; never for an open request.", "rated_at"),
        WorkerFilter("worker.id", "Of this worker: me, ids, names.", "worker_id"),
    )
    subtotals = Subtotals(
        search=("contact.id", "group.id", "score", "worker.id"),
        aliases={"contact": "contact.id", "group": "group.id", "worker": "worker.id"},
    )
    label_column = "score"

    def label(self, record: Record) -> str:
        return WORDS[record["score"]]

    def labels(self, view: DictionaryContext, records: Sequence[Record]) -> dict[int, str]:
        """Returns `<score>: <ticket>` by id."""
        tickets = view.type("ticket")
        rows = view.tx.get_many(tickets.table, {each["ticket_id"] for each in records})
        names = {row[0]: tickets.label(tickets.record(row)) for row in rows}
        labels = {}
        for each in records:
            name = names.get(each["ticket_id"], "")
            labels[each["id"]] = f"{self.label(each)}: {name}" if name else self.label(each)
        return labels


@after_deletion("contact", "address")
def _forget_customer(writing: Writing, uri: str, id: int) -> None:
    """Erases who rated, and their words; the score remains in figures."""
    column = f"{uri}_id"
    writing.touch("rating", **{column: id})
    _set(writing, column, id, "comment", "")
    _set(writing, column, id, column, 0)


@after_deletion("group", "worker")
def _forget_place(writing: Writing, uri: str, id: int) -> None:
    """Detaches a deleted group or worker."""
    column = f"{uri}_id"
    writing.touch("rating", **{column: id})
    _set(writing, column, id, column, 0)


def _set(writing: Writing, column: str, id: int, changed: str, value: object) -> None:
    """Sets a column of the ratings that have this id in another one."""
    rating = table_named("rating")
    writing.tx.run(
        lambda: rating.update({getattr(rating.c, changed): slot(0)}).where(getattr(rating.c, column) == slot(1)),
        (value, id),
    )
