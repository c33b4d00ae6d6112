"""Filters that call the service, available where it renders a template; the service defines what they do."""

from typing import Any

from server.errors import TemplateFailed, nearest
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.script_json import PRETTY, encoded
from server.template.shared.template_host import ask
from server.template.shared.text_values import read
from server.template.values import printed

NAMES = ("plural", "singular", "id", "uri")
INTERFACE = "common."


@filter("context_name")
def context_name(run: Rendering, value: Any, type: Any = "plural") -> str:
    """A name of a record type: plural, singular, id or uri; empty for an unknown type. Raises TemplateFailed for any
    other name."""
    name = printed(type)
    if name not in NAMES:
        raise TemplateFailed(f"a record type has no name '{name[:50]}'{nearest(name, NAMES)}")
    names = ask(run, "record_type", read(run, value))
    return str(names[name]) if names else ""


@filter("context_alias")
def context_alias(run: Rendering, value: Any) -> str:
    """The short name of a record type, as in paths; empty for an unknown type."""
    return context_name(run, value, "uri")


@filter("svc_translate")
def svc_translate(run: Rendering, value: Any) -> str:
    """The text of the interface for a key: 'Created by' for `common.created_by`; other keys are returned as they are.
    The text is always in English."""
    key = read(run, value)
    if not key.startswith(INTERFACE):
        return key
    words = key.removeprefix(INTERFACE).replace("_", " ").replace(".", " ")
    return words[:1].upper() + words[1:]


@filter("kata_encode")
def kata_encode(run: Rendering, value: Any) -> str:
    """The KATA text of a map or a list; empty for any other value."""
    if not isinstance(value, (list, dict)):
        return ""
    encoded(run, value, PRETTY)  # never shorter than KATA; also refuses deep nesting and values that are not plain
    return str(ask(run, "kata_encode", value))
