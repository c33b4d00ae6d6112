"""The template functions that fill in placeholders of texts and snippets for a ticket."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.automation.template_functions import template_function
from server.digits import id_in
from server.errors import TemplateFailed
from server.outbox.content import Placeholders
from server.records import records
from server.store.transaction import Transaction
from server.template.values import printed

if TYPE_CHECKING:
    from server.automation.automation_service import ServiceHost


@template_function("svc_fill")
def svc_fill(host: "ServiceHost") -> Callable[..., str]:
    """Fills in the placeholders of a text for a ticket and, optionally, a worker, as in snippets.

    Escapes the values for Markdown."""
    return lambda text, ticket_id, worker_id=0: _filled(host, printed(text), ticket_id, worker_id)


@template_function("svc_snippet")
def svc_snippet(host: "ServiceHost") -> Callable[..., str]:
    """Returns the text of a snippet, its placeholders filled in like those of svc_fill."""

    def text(snippet_id: Any, ticket_id: Any, worker_id: Any = 0) -> str:
        registry, id = host.ctx.service.registry, _id(snippet_id)
        row = host.ctx.service.store.read(lambda tx: tx.get(registry.type("snippet").table, id))
        if row is None or not _may_read(host, "snippet", id):
            raise TemplateFailed(f"there is no snippet {id}")
        return _filled(host, registry.type("snippet").record(row)["content"], ticket_id, worker_id)

    return text


def _filled(host: "ServiceHost", text: str, ticket_id: Any, worker_id: Any) -> str:
    ids = {"ticket": _id(ticket_id), "worker": _id(worker_id)}
    if not _may_read(host, "ticket", ids["ticket"]):
        raise TemplateFailed(f"there is no ticket {ids['ticket']}")

    def read(tx: Transaction) -> str:
        filling = Placeholders(host.ctx, tx, ids, own="ticket", as_caller=host.is_caller)
        return filling.fill(text, is_markdown=True)

    return host.ctx.service.store.read(read)


def _may_read(host: "ServiceHost", uri: str, id: int) -> bool:
    """Whether the run may read a record: that of a macro has the rights of its worker."""
    return not host.is_caller or records.may_read(host.ctx, uri, id)


def _id(value: Any) -> int:
    return id_in(printed(value)) or 0
