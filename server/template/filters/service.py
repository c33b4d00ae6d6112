"""Filters that the service answers, where a template is rendered inside of one."""

from typing import Any

from server.template.registry import filter
from server.template.run import Run
from server.template.shared.host import ask
from server.template.shared.json_text import PRETTY, encoded
from server.template.shared.texts import read
from server.template.values import printed


@filter("context_name")
def context_name(run: Run, value: Any, type: Any = "plural") -> str:
    """A name of a record type: plural, singular, id or uri; nothing for an unknown type.
    Source: Templates, context_name."""
    return str(ask(run, "context_name", read(run, value), printed(type)))


@filter("context_alias")
def context_alias(run: Run, value: Any) -> str:
    """The short name of a record type, as in paths; nothing for an unknown one. Source: Templates, context_alias."""
    return context_name(run, value, "uri")


@filter("svc_translate")
def svc_translate(run: Run, value: Any) -> str:
    """The text of the interface under a key, the key itself where there is none. Source: Templates, svc_translate."""
    return str(ask(run, "svc_translate", read(run, value)))


@filter("kata_encode")
def kata_encode(run: Run, value: Any) -> str:
    """The KATA text of a map or a list; nothing of anything else. Source: Templates, kata_encode."""
    if not isinstance(value, (list, dict)):
        return ""
    encoded(run, value, PRETTY)  # never shorter than KATA; finds deep nesting and what is no plain value as well
    return str(ask(run, "kata_encode", value))
