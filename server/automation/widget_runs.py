"""Runs the automations of widgets, whose HTML a workspace page shows.

Whoever wrote the page chose the automation and its inputs, an administrator wrote it, and somebody else reads the page.
So it has exactly the rights of the reader, and only reads."""

import time
from collections.abc import Mapping
from typing import Any

from server.automation import bindings, policy
from server.automation.automation_service import ServiceHost, perform
from server.automation.input_values import holds_bytes
from server.automation.run_dictionary import Dictionary, plain
from server.context import Context
from server.contexts import WORKER, WORKSPACE_WIDGET
from server.errors import Forbidden, NotFound, ScriptError
from server.record_types.shared.triggers import PREFIX
from server.records import records
from server.records.event_publishing import record_values
from server.template import Budget, Surroundings
from server.translation import lazy_gettext

TRIGGER = PREFIX + "ui.widget"
KATA = "automations_kata"  # the parameter of the widget
MAX_SECONDS = 3.0  # limit for a run, regardless of its policy
MAX_HTML_CHARS = 256 * 1024
POLICY_STEPS, POLICY_SECONDS = 20_000, 0.5


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
    automation = handler.automation
    budget = Budget(POLICY_STEPS, ends_at=time.monotonic() + POLICY_SECONDS)
    around = Surroundings(zone=host.zone, host=host.functions())
    if not policy.read(automation.policy).lets(TRIGGER, Dictionary(values, host.load), budget, around):
        raise Forbidden(lazy_gettext("the policy of the automation does not allow you to see it"))
    inputs = {"inputs": handler.inputs}
    result = perform(ctx, automation, values | inputs, seconds=MAX_SECONDS, host=host)
    if result.state in ("failure", "error"):
        raise ScriptError(result.message)
    returned = plain(result.returned)
    html = returned.get("html") if isinstance(returned, dict) else None
    if html is None or holds_bytes(html):
        raise ScriptError(lazy_gettext("it returns no text as `html`"))
    if len(str(html)) > MAX_HTML_CHARS:
        raise ScriptError(lazy_gettext("it returns more than {count} characters", count=MAX_HTML_CHARS))
    return str(html)
