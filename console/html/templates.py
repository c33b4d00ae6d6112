"""Renders the templates of console/templates, and knows their macros.

Jinja2 is imported with the first template: a start renders none, and importing it takes 4 % of its time."""

import json
from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from server import translation

MACROS = "macros"
# What templates know besides their values: ui.py and rendering.py add the components (`ui`) and static files (`files`).
GLOBALS: dict[str, Any] = {}


def script_messages() -> Markup:
    """The messages of scripts in the language of the request as JSON for a page: {English: translated}."""
    messages = dict(translation.spoken().script_messages)
    return Markup(json.dumps(messages, ensure_ascii=False).replace("<", "\\u003c"))


GLOBALS["script_messages"] = script_messages


def fragment(template: str, **values: Any) -> Markup:
    """Renders a template of console/templates."""
    return Markup(_template(template).render(values))


def macro(file: str, name: str) -> Callable[..., Markup]:
    """A macro of console/templates/macros."""
    return macros(f"{MACROS}/{file}.html")[name]


def macros(template: str) -> dict[str, Callable[..., Markup]]:
    """The macros of a template of console/templates, by name."""
    return vars(_template(template).module)


def _template(name: str) -> Any:
    from console.html.environment import environment

    return environment().get_template(name)
