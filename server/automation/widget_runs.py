"""Runs the automations of widgets, whose HTML a workspace page shows."""

from collections.abc import Mapping
from typing import Any

from server.automation import bindings, page_runs
from server.automation.automation_service import ServiceHost
from server.automation.input_values import holds_bytes
from server.context import Context
from server.contexts import WORKER, WORKSPACE_WIDGET
from server.errors import NotFound, ScriptError
from server.record_types.shared.triggers import PREFIX
from server.records import records
from server.records.event_publishing import record_values
from server.translation import lazy_gettext

TRIGGER = PREFIX + "ui.widget"
KATA = "automations_kata"  # the parameter of the widget
MAX_SECONDS = 3.0  # limit for a run, regardless of its policy
MAX_HTML_CHARS = 256 * 1024


def widget_html(ctx: Context, widget: Mapping[str, Any]) -> str:
    """Returns the HTML of the first automation of a widget that can run, as its author wrote it: the caller cleans it.
    widget: with `id` and `params`.

    Raises KataSyntax, NotFound if none can run, Forbidden if its policy does not allow the caller, and ScriptError with
    the error of the automation."""
    records.require_thread(ctx)
    params = widget.get("params")
    text = params.get(KATA) if isinstance(params, dict) else ""
    host = ServiceHost(ctx, is_caller=True, reads_only=True)
    values = {
        **record_values("worker", WORKER, ctx.actor.worker_id),
        **record_values("widget", WORKSPACE_WIDGET, widget["id"]),
    }
    # Whoever wrote the page may not call functions with the rights of its reader.
    handlers = bindings.handlers(str(text or ""), TRIGGER, values, host, has_functions=False)
    handler = next(handlers, None)
    if handler is None:
        problem = lazy_gettext("none of its automations can run: each needs the trigger {trigger}", trigger=TRIGGER)
        raise NotFound(problem)
    html = page_runs.result_of(host, handler, values, MAX_SECONDS).get("html")
    if html is None or holds_bytes(html):
        raise ScriptError(lazy_gettext("it returns no text as `html`"))
    if len(str(html)) > MAX_HTML_CHARS:
        raise ScriptError(lazy_gettext("it returns more than {count} characters", count=MAX_HTML_CHARS))
    return str(html)
