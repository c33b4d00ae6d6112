"""Reads the inputs of commands: each kind converts the values that it understands and rejects others."""

from typing import TYPE_CHECKING, Any

from server.digits import MAX_ID_DIGITS
from server.errors import Invalid, Required
from server.kata.annotations import as_bool
from server.template.values import is_numeric, printed, read_number

if TYPE_CHECKING:
    from server.automation.command import Input


def read(command: str, declared: "Input", value: Any) -> Any:
    """Converts a value to the kind of this input. Raises Invalid, Required."""
    kind, name = declared.kind, declared.name
    if kind == "any":
        return value
    if isinstance(value, (dict, list)):
        if kind == "text or map" and (isinstance(value, dict) or not value):
            return value
        if kind in ("list", "text or list") or (kind == "map" and (isinstance(value, dict) or not value)):
            return _listed(command, declared, value)
        raise Invalid(f"{command}: the input '{name}' takes a {kind}, not a {_kind(value)}", field=name)
    if kind in ("text", "text or map", "text or list"):
        return _text(command, declared, value)
    if kind == "flag":
        return as_bool(value)
    if kind in ("number", "id"):
        return _number(command, declared, value)
    raise Invalid(f"{command}: the input '{name}' takes a {kind}", field=name)


def _listed(command: str, declared: "Input", value: Any) -> Any:
    if declared.required and not value:
        raise Required(f"{command}: the input '{declared.name}' must not be empty", field=declared.name)
    return {} if declared.kind == "map" and not value else value


def _text(command: str, declared: "Input", value: Any) -> str:
    if isinstance(value, bool):
        raise Invalid(f"{command}: the input '{declared.name}' must be a text", field=declared.name)
    text = printed(value)
    if declared.required and not text:
        raise Required(f"{command}: the input '{declared.name}' must not be empty", field=declared.name)
    if len(text) > declared.max:
        raise Invalid(
            f"{command}: the input '{declared.name}' has {len(text):,} characters, at most {declared.max:,}",
            field=declared.name,
        )
    return text


def _number(command: str, declared: "Input", value: Any) -> int | float:
    if isinstance(value, bool) or not is_numeric(value):
        text = printed(value)[:50]
        raise Invalid(f"{command}: the input '{declared.name}' must be a number, not '{text}'", field=declared.name)
    number = read_number(value) if isinstance(value, str) else value
    if declared.kind == "id":
        if not 0 <= number < 10**MAX_ID_DIGITS or number != int(number):
            raise Invalid(f"{command}: the input '{declared.name}' must be an id", field=declared.name)
        return int(number)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _kind(value: Any) -> str:
    return "map" if isinstance(value, dict) else "list"


def holds_bytes(value: Any) -> bool:
    """Returns whether a text in a value represents bytes as lone surrogates, which neither the database nor JSON
    accepts."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return True
    if isinstance(value, dict):
        return any(holds_bytes(key) or holds_bytes(each) for key, each in value.items())
    return isinstance(value, list) and any(map(holds_bytes, value))
