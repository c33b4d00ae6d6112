"""Replacements for empty values."""

from typing import Any

from server.template.registry import filter
from server.template.run import Rendering


@filter("default", charges_itself=True)
def default(run: Rendering, value: Any, otherwise: Any = "") -> Any:
    """The value, or another one for null, false, "", an empty list or an empty map. 0 and "0" are not replaced."""
    is_empty = value is None or value is False or (isinstance(value, (str, list, dict)) and not value)
    return otherwise if is_empty else value


@filter("raw", charges_itself=True)
def raw(run: Rendering, value: Any) -> Any:
    """The value unchanged; templates of this service do not escape automatically."""
    return value
