"""Renders the templates of console/templates, and knows their macros.

Jinja2 is imported with the first template: a start renders none, and importing it takes 4 % of its time."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from markupsafe import Markup

from server import translation

MACROS = "macros"
# The names that every template knows. ui.py and rendering.py add the components (`ui`) and static files (`files`).
GLOBALS: dict[str, Any] = {}


def script_messages() -> Markup:
    """The messages of scripts in the language of the request as JSON for a page: {English: translated}."""
    messages = dict(translation.spoken().script_messages)
    return Markup(json.dumps(messages, ensure_ascii=False).replace("<", "\\u003c"))


GLOBALS["script_messages"] = script_messages


def fragment(name: str, /, **values: Any) -> Markup:
    """Renders a template of console/templates."""
    return Markup(template(name).render(values))


def macro(file: str, name: str) -> Callable[..., Markup]:
    """A macro of console/templates/macros."""
    return macros(f"{MACROS}/{file}.html")[name]


def macros(name: str) -> dict[str, Callable[..., Markup]]:
    """The macros of a template of console/templates, by name."""
    return vars(template(name).module)


def template(name: str) -> Any:
    """A template of console/templates."""
    return _environment().get_template(name)


@cache
def _environment() -> Any:
    from console.html.environment import environment

    made = environment()
    GLOBALS.update(made.globals)
    made.globals = GLOBALS  # modules that are imported later add names
    return made
