"""The built-in metrics."""

from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.record_types.metric import COUNTER, GAUGE
from server.records.writing import RecordWriter
from server.store.tables import table_named
from server.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in metric. dimensions: names with their types: a record type, or `text`."""

    name: str
    type: str
    description: str
    dimensions: tuple[tuple[str, str], ...] = ()

    def values(self) -> dict[str, Any]:
        """The fields of its record."""
        return {
            "name": self.name,
            "type": self.type,
            "description": self.description,
            "dimensions_kata": "\n".join(_written(name, kind) for name, kind in self.dimensions),
        }


RECORD_SEARCH, WORKERS_ACTIVE = "svc.record.search", "svc.workers.active"
TICKETS_OPEN, TICKETS_OPEN_ELAPSED = "svc.tickets.open", "svc.tickets.open.elapsed"
DELIVERIES, FAILURES = "svc.mail.transport.deliveries", "svc.mail.transport.failures"
SNIPPET_USES = "svc.snippet.uses"
BEHAVIOR_INVOCATIONS, BEHAVIOR_DURATION = "svc.behavior.invocations", "svc.behavior.duration"
AUTOMATION_INVOCATIONS, AUTOMATION_DURATION = "svc.automation.invocations", "svc.automation.duration"
WEBHOOK_INVOCATIONS = "svc.webhook.invocations"

_AUTOMATION = (("automation_id", "automation"), ("trigger", "text"))
_BEHAVIOR = (("behavior_id", "behavior"), ("event", "text"))
_SENT = (("transport_id", "mail_transport"), ("sender_id", "address"))
_PLACE = (("group_id", "group"), ("bucket_id", "bucket"))

BUILTIN = (
    Builtin(AUTOMATION_INVOCATIONS, COUNTER, "Automation runs.", (*_AUTOMATION, ("exit_state", "text"))),
    Builtin(AUTOMATION_DURATION, COUNTER, "Duration of automation runs, in milliseconds.", _AUTOMATION),
    Builtin(
        WEBHOOK_INVOCATIONS, COUNTER, "Calls of webhooks.", (("webhook_id", "webhook_listener"), ("client_ip", "text"))
    ),
    Builtin(RECORD_SEARCH, COUNTER, "Searches of records.", (("record_type", "text"), ("worker_id", "worker"))),
    Builtin(WORKERS_ACTIVE, GAUGE, "Active workers.", (("worker_id", "worker"),)),
    Builtin(TICKETS_OPEN, GAUGE, "Open tickets.", _PLACE),
    Builtin(TICKETS_OPEN_ELAPSED, COUNTER, "Time tickets were open, in seconds.", _PLACE),
    Builtin(SNIPPET_USES, COUNTER, "Uses of snippets.", (("snippet_id", "snippet"), ("worker_id", "worker"))),
    Builtin(BEHAVIOR_INVOCATIONS, COUNTER, "Runs of behaviors.", _BEHAVIOR),
    Builtin(BEHAVIOR_DURATION, COUNTER, "Duration of behavior runs, in milliseconds.", _BEHAVIOR),
    Builtin(DELIVERIES, COUNTER, "Emails sent.", _SENT),
    Builtin(FAILURES, COUNTER, "Emails refused by a transport.", _SENT),
)


def prepare(ctx: Context) -> None:
    """Creates missing metrics; existing ones keep the changes of administrators. Writes only if a metric is missing."""
    if ctx.service.store.read(_missing):
        ctx.service.store.write(lambda tx: _add(ctx, tx))


def _add(ctx: Context, tx: Transaction) -> None:
    writing = RecordWriter(ctx, tx)
    for each in _missing(tx):
        writing.create("metric", each.values())


def _missing(tx: Transaction) -> list[Builtin]:
    metric = table_named("metric")
    names = {row[0] for row in tx.rows(lambda: metric.select(metric.c.name))}
    return [each for each in BUILTIN if each.name not in names]


def _written(name: str, kind: str) -> str:
    return f"text/{name}:" if kind == "text" else f"record/{name}:\n  record_type: {kind}"
