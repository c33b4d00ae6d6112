"""Runs automations that draw parts of pages: they have exactly the rights of the reader, and only read.

Whoever wrote the page chose them and their inputs, an administrator wrote them, and somebody else reads the page."""

import time
from collections.abc import Mapping
from typing import Any

from server.automation import policy
from server.automation.automation_service import ServiceHost, perform
from server.automation.bindings import Handler
from server.automation.host import Script
from server.automation.run_dictionary import Dictionary, plain
from server.errors import Forbidden, ScriptError
from server.template import Budget, Surroundings
from server.translation import lazy_gettext

POLICY_STEPS, POLICY_SECONDS = 20_000, 0.5


def is_allowed(host: ServiceHost, automation: Script, values: Mapping[str, Any]) -> bool:
    """Whether the `callers` of the policy of an automation allow the caller to start it."""
    budget = Budget(POLICY_STEPS, ends_at=time.monotonic() + POLICY_SECONDS)
    around = Surroundings(zone=host.zone, host=host.functions())
    variables = Dictionary(values, host.load)
    return policy.read(automation.policy).lets(automation.trigger, variables, budget, around)


def result_of(host: ServiceHost, handler: Handler, values: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
    """Returns the map that an automation returns, {} if it returns something else. seconds: its time limit.

    Raises Forbidden, and ScriptError with the error of the automation."""
    if not is_allowed(host, handler.automation, values):
        raise Forbidden(lazy_gettext("the policy of the automation does not allow you to see it"))
    inputs = {"inputs": handler.inputs}
    result = perform(host.ctx, handler.automation, {**values, **inputs}, seconds=seconds, host=host)
    if result.state in ("failure", "error"):
        raise ScriptError(result.message)
    returned = plain(result.returned)
    return returned if isinstance(returned, dict) else {}
