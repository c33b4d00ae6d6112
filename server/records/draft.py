"""DOC"""

from server.fields.flag import Bit
from server.fields.link import Id
from server.fields.number import Uint
from server.fields.structure import Structure
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Key, Nested, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import Behind


class Draft(RecordType):
    """DOC"""

    uri, context = "draft", "svc.contexts.mail.draft"
    aliases = ("drafts",)
    label_names = ("Draft", "Drafts")
    lookup = "token"
    features = frozenset(("comments", "custom_fields", "search",))
    access = Access(
        read="any worker (source); ours: its worker and admins",
        create="priv; worker_id must be the caller unless admin",
        update="its worker or admin",
        delete="priv + its worker or admin",
    )
    fields = {
        "is_queued": Bit("1: waiting to be sent.", shown=False),
        "name": Text("Subject; also the label."),
        "params": Structure("Everything else about the mail; see details.params_keys.", 4294967295),
        "queue_delivery_date": Uint("Send not before.", shown=False),
        "queue_fails": Uint("Failed tries.", shown=False),
        "ticket_id": Id("Ticket for replies and forwards.", "ticket", zero_ok=True, shown=False),
        "to": Text("Recipients line.", 65535),
        "token": Text("Random id carried over to the sent message (10 characters).", 16, auto="generated"),
        "type": Text("mail.compose, mail.transactional, ticket.reply or ticket.forward.", required=True, allowed=("mail.compose", "mail.transactional", "ticket.reply", "ticket.forward")),
        "updated": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
        "worker_id": Id("Worker who owns it; required unless the type is mail.transactional.", "worker", zero_ok=True, shown=False),
    }
    nested = (
        Nested("ticket", "ticket", "Ticket."),
        Nested("worker", "worker", "Worker who owns it."),
    )
    keys = (
        Key("content", "text", "Listed in the type map but never filled; use params.content.", on_expand=True),
        Key("subject", "text", "Same as `name`."),
        Key("ticket_url", "url", "Web address of the draft on its ticket."),
    )
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        NumberFilter("id", "Record id.", "id"),
        FlagFilter("is.queued", "1: waiting to be sent.", "is_queued"),
        TextFilter("name", "Subject.", "name", "partial"),
        DateFilter("queue.deliverAt", "Send not before.", "queue_delivery_date"),
        NumberFilter("queue.fails", "Failed tries.", "queue_fails"),
        ChooserFilter("ticket.id", "By id; comparison and sets as for numbers.", "ticket_id", target="ticket"),
        TextFilter("to", "Recipients line.", "to", "prefix"),
        TextFilter("token", "Random id carried over to the sent message (10 characters).", "token", "exact"),
        TextFilter("type", "mail.compose, mail.transactional, ticket.reply or ticket.forward.", "type", "partial"),
        DateFilter("updated", "Last change.", "updated"),
        DeepFilter("worker", "Owned by a matching worker.", "worker", Behind("worker_id")),
        ChooserFilter("worker.id", "By id; comparison and sets as for numbers.", "worker_id", target="worker"),
    )
    subtotals = Subtotals(
        search=("type", "worker.id"),
        aliases={"worker": "worker.id"},
    )
    has_fieldset_filter = False
