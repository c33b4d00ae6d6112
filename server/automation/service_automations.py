"""The automations of a service, as layers below this folder call them."""

from server.automation.data_queries import invoke
from server.automation.dynamic_resources import refresh
from server.automation.event_runs import run


class ServiceAutomations:
    """Implements Automations in server/context.py."""

    run_event = staticmethod(run)
    run_query = staticmethod(invoke)
    refresh_resource = staticmethod(refresh)
