"""The automations of a service, as layers below this folder call them."""

from server.automation.bound_automations import require_runnable
from server.automation.data_queries import invoke
from server.automation.dynamic_resources import refresh
from server.automation.event_runs import run


class ServiceAutomations:
    """Implements Automations in server/context.py."""

    require_runnable = staticmethod(require_runnable)
    run_event = staticmethod(run)
    run_query = staticmethod(invoke)
    refresh_resource = staticmethod(refresh)
