"""Dynamic resources: files whose content an automation makes when what is kept is no longer fresh."""

import base64
from typing import Any

from server import contexts, times
from server.automation import bindings, contents
from server.automation.host import LogEntry
from server.automation.service import ServiceHost, perform
from server.context import Context
from server.errors import HelpdeskError, Invalid, Unavailable
from server.record_types.base import Record
from server.records import records
from server.records.events import record_values
from server.template.shared.texts import bytes_of
from server.template.values import printed

TRIGGER = "svc.trigger.resource.get"
OCTETS = "application/octet-stream"


@contents.makes
def refresh(ctx: Context, resource: Record) -> None:
    """Let the automation that is bound make the content, and keep it until `expires_at`.

    What was kept stays, and is used, when there is something and nothing new comes, as in a dry run. Raises Unavailable
    otherwise."""
    host = ServiceHost(ctx)
    made = None if host.dry else _made(ctx, host, resource)
    if made is None:
        if not resource["size"]:
            why = "a simulation makes none" if host.dry else "the automation log tells why"
            raise Unavailable(f"resource '{resource['name']}' has no content; {why}")
        return
    content = base64.b64encode(bytes_of(printed(made.get("content")))).decode()
    fields = {"content": f"data:{OCTETS};base64,{content}", "cache_until": _until(ctx, made.get("expires_at"))}
    records.update(host.ctx, "resource", resource["id"], fields)


def _made(ctx: Context, host: ServiceHost, resource: Record) -> dict[str, Any] | None:
    """The `file` that the automation returns."""
    values = {
        **record_values("resource", contexts.RESOURCE, resource["id"]),
        **record_values("actor", ctx.actor.context, ctx.actor.id),
    }
    try:
        handler = next(bindings.handlers(resource["automation_kata"], TRIGGER, values, host), None)
    except HelpdeskError as error:
        message = f"resource '{resource['name']}': its binding fails: {error.message}"
        ctx.service.store.write(lambda tx: host.log(tx, "", [LogEntry(3, "", message)]))
        return None
    if handler is None:
        return None
    found = perform(ctx, handler.automation, {**values, "inputs": handler.inputs}, host=host)
    returned = found.returned if found.state == "return" and isinstance(found.returned, dict) else {}
    file = returned.get("file")
    return file if isinstance(file, dict) and file.get("content") is not None else None


def _until(ctx: Context, given: Any) -> int:
    """Unix seconds until when a content is fresh; 0, to be made anew each time, where nothing usable is said."""
    try:
        return times.instant(printed(given), ctx.now, ctx.tz) if given not in (None, "") else 0
    except Invalid:
        return 0
