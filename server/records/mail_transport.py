"""DOC"""

from server.fields.structure import Structure
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Event, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter


class MailTransport(RecordType):
    """DOC"""

    uri, context = "mail_transport", "svc.contexts.mail.transport"
    aliases = ("email transport", "email transports", "mail transport", "mail transports", "transport", "transports")
    label_names = ("Email Transport", "Email Transports")
    features = frozenset(("comments", "custom_fields", "links", "search", "watchers",))
    access = Access(
        read="admin",
        create="admin",
        update="admin",
        delete="admin",
    )
    fields = {
        "created": Timestamp("When the record was made; now when omitted.", auto="now"),
        "extension_id": Text("Kind of transport.", required=True, allowed=("core.mail.transport.null", "core.mail.transport.smtp"), form="extension"),
        "name": Text("Name; also the label.", required=True),
        "params": Structure("Connection settings map (host, port, encryption, username, password, timeout); never returned.", origin="ours", shown=False),
        "updated_at": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
    }
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        DateFilter("created", "When the record was made.", "created"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name.", "name", "partial"),
        TextFilter("type", "Kind of transport.", "extension_id", "exact"),
        DateFilter("updated", "Last change.", "updated_at"),
    )
    subtotals = Subtotals(
        search=("fieldset", "links", "type"),
    )
    events = (
        Event("transport.delivery.error", "sending failed"),
    )
