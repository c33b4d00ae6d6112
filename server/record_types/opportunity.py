"""Opportunities: possible sales, their amounts and results."""

from server import contexts
from server.fields import CreatedAt, Id, Name, Number, Text, Timestamp, UpdatedAt
from server.record_types.record_type import Access, Change, Event, Key, RecordType, Subtotals, Writing
from server.record_types.shared import custom
from server.record_types.shared.comment_text import comment_words
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.search.filters import ChoiceFilter
from server.store.tables import Index
from server.translation import N_

OPEN, WON, LOST = 0, 1, 2
WORDS = ("open", "closed_won", "closed_lost")  # index is the status id


class Opportunity(RecordType):
    """A possible sale: open, won or lost, with its amount in one currency."""

    uri = "opportunity"
    plugin = "svc.crm"
    aliases = ("opportunities", "opp", "opps")
    label_names = ("Opportunity", "Opportunities")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("privilege",))
    fields = {
        "amount": Number(
            "Amount in the smallest unit of the currency: 1234 is 12.34 where there are two decimals.",
            min=0,
            filter_note="Amount in the smallest unit of its currency.",
        ),
        "amount_currency_id": Id(
            "Currency of the amount; 0 for the default one.",
            "currency",
            zero_ok=True,
            filter="currency.id",
            filter_note="Currency by id; comparison and sets as for numbers.",
        ),
        "closed_at": Timestamp(
            "When it was closed: set to now when the status becomes won or lost and to 0 when it becomes open, unless "
            "it is sent.",
            filter="closedDate",
            filter_note="When it was closed; never if it is open.",
        ),
        "created": CreatedAt(),
        "status": Text("open, closed_won or closed_lost.", allowed=WORDS, alternative_to="status_id"),
        "status_id": Number(
            "0 open, 1 closed won, 2 closed lost.",
            alternatives=("status",),
            min=OPEN,
            max=LOST,
            filter=None,
            words=(N_("open"), N_("closed won"), N_("closed lost")),
        ),
        "title": Name("Name of the opportunity; also the label.", filter="name"),
        "updated": UpdatedAt(),
    }
    indexes = (
        Index(("status_id", "updated"), "open opportunities, the newest last"),
        Index(("amount_currency_id",), "whether a currency is in use"),
    )
    keys = (
        Key(
            "amount__label",
            "text",
            "The formatted amount, with symbol and code of its currency.",
            lambda record, view: (
                custom.definitions(view.tx).currencies.by_id(record["amount_currency_id"]).label(record["amount"])
            ),
        ),
        Key("is_closed", "boolean", "Whether it is won or lost.", lambda record, view: record["status_id"] != OPEN),
        Key("is_won", "boolean", "Whether it is won.", lambda record, view: record["status_id"] == WON),
        Key(
            "status",
            "text",
            "open, closed_won or closed_lost.",
            lambda record, view: WORDS[record["status_id"]],
        ),
    )
    filters = (
        comment_words(contexts.OPPORTUNITY, "Words in the comments on the opportunity."),
        ChoiceFilter(
            "status",
            "First letter or number; lists and negation are fine.",
            "status_id",
            {"open": OPEN, "won": WON, "lost": LOST},
        ),
    )
    subtotals = Subtotals(
        search=("currency.id", "fieldset", "links", "status", "watchers"), aliases={"currency": "currency.id"}
    )
    events = (
        Event("opp.status.open", "the status became open by a change"),
        Event("opp.status.closed_won", "the status became won by a change"),
        Event("opp.status.closed_lost", "the status became lost by a change"),
    )
    label_column = "title"

    def prepare(self, change: Change, writing: Writing) -> None:
        word = change.extras.get("status")
        if word:
            change.new["status_id"] = WORDS.index(word)
        if not change.changes("status_id") or "closed_at" in change.new:
            return
        if change.value("status_id") == OPEN:
            change.new["closed_at"] = 0
        elif change.was("status_id") == OPEN:
            change.new["closed_at"] = writing.now

    def after_write(self, change: Change, writing: Writing) -> None:
        if not change.is_create and change.changes("status_id"):
            point = f"opp.status.{WORDS[change.value('status_id')]}"
            writing.log(point, self.context, change.id, {"target": change.value("title")})
