"""Functions that call the service, available where it renders a template; the service defines what they do."""

import time
from typing import Any

from server.template.registry import function
from server.template.run import Rendering
from server.template.shared import moments
from server.template.shared.template_host import ask
from server.template.shared.text_values import read_slowly

STEPS_A_TAG = 8  # charged for cleaning HTML
STEPS_A_CALL = 1000  # more than STEPS_A_CHECK, so that the clock is checked each time


@function("svc_automation")
def svc_automation(run: Rendering, uri: Any, inputs: Any = None) -> Any:
    """The result of an automation for scripts: {exit_state, return} or {exit_state, error}; false if it is unknown."""
    return _waited_for(run, "svc_automation", uri, inputs)


@function("svc_avatar_url")
def svc_avatar_url(run: Rendering, type: Any, id: Any, updated: Any = 0) -> Any:
    """The URL of a record's picture."""
    return ask(run, "svc_avatar_url", type, id, updated)


@function("svc_avatar_image")
def svc_avatar_image(run: Rendering, type: Any, id: Any, updated: Any = 0) -> Any:
    """HTML that shows a record's picture, 16 pixels high."""
    return ask(run, "svc_avatar_image", type, id, updated)


@function("svc_calendar_time_elapsed")
def svc_calendar_time_elapsed(run: Rendering, calendar_id: Any, from_: Any, to: Any) -> Any:
    """The available seconds of a calendar between two dates."""
    start, end = (int(moments.moment(run, each).at.timestamp()) for each in (from_, to))
    return ask(run, "svc_calendar_time_elapsed", calendar_id, start, end)


@function("svc_extract_uris")
def svc_extract_uris(run: Rendering, html: Any) -> Any:
    """The links and images of an HTML text, cleaned: {tokens, context, template}."""
    text = read_slowly(run, html)
    run.budget.entries(text.count("<") * STEPS_A_TAG)
    return ask(run, "svc_extract_uris", text)


@function("svc_file_url")
def svc_file_url(run: Rendering, id: Any) -> Any:
    """The URL of an attachment; null for an unknown one."""
    return ask(run, "svc_file_url", id)


@function("svc_fill")
def svc_fill(run: Rendering, text: Any, ticket_id: Any, worker_id: Any = 0) -> Any:
    """A text with placeholders as in snippets, filled in for a ticket and a worker; values are escaped for Markdown."""
    return ask(run, "svc_fill", text, ticket_id, worker_id)


@function("svc_has_priv")
def svc_has_priv(run: Rendering, privilege: Any, actor_type: Any = None, actor_id: Any = None) -> Any:
    """Whether the acting worker, or the named one, has a privilege."""
    return ask(run, "svc_has_priv", privilege, actor_type, actor_id)


@function("svc_record_readable")
def svc_record_readable(run: Rendering, type: Any, id: Any, actor_type: Any = None, actor_id: Any = None) -> Any:
    """Whether the acting worker, or the named one, may read a record."""
    return ask(run, "svc_record_readable", type, id, actor_type, actor_id)


@function("svc_record_writeable")
def svc_record_writeable(run: Rendering, type: Any, id: Any, actor_type: Any = None, actor_id: Any = None) -> Any:
    """Whether the acting worker, or the named one, may change a record."""
    return ask(run, "svc_record_writeable", type, id, actor_type, actor_id)


@function("svc_snippet")
def svc_snippet(run: Rendering, id: Any, ticket_id: Any, worker_id: Any = 0) -> Any:
    """The text of a snippet, filled in for a ticket and a worker, like svc_fill."""
    return ask(run, "svc_snippet", id, ticket_id, worker_id)


@function("svc_url")
def svc_url(run: Rendering, path: Any, full: Any = True, proxy: Any = True) -> Any:
    """The URL of a path of this service, with or without its host."""
    return ask(run, "svc_url", path, full, proxy)


@function("dns_get_record")
def dns_get_record(run: Rendering, host: Any, type: Any = "any") -> Any:
    """The DNS records of a host name. Disabled unless the service allows it."""
    return _waited_for(run, "dns_get_record", host, type)


@function("dns_host_by_ip")
def dns_host_by_ip(run: Rendering, ip: Any) -> Any:
    """The DNS name of an IP address. Disabled unless the service allows it."""
    return _waited_for(run, "dns_host_by_ip", ip)


def _waited_for(run: Rendering, name: str, *arguments: Any) -> Any:
    """Calls the service; the time that the call takes is charged to the caller of the template, not to the template."""
    run.budget.step(STEPS_A_CALL)
    began = time.monotonic()
    try:
        return ask(run, name, *arguments)
    finally:
        run.budget.exclude_wait(time.monotonic() - began)
