"""Worklists in the format of packages, {title, model}, as fields of workspace_list. Pure functions."""

from typing import Any

from server.digits import is_whole
from server.errors import Invalid

MAX_NAME = 255  # limits of the fields of workspace_list
MAX_QUERY = 65536
KINDS: dict[type, str] = {list: "a list", dict: "a map", str: "a short text"}
# (name in the model, field, type of value)
NAMES: tuple[tuple[str, str, type], ...] = (
    ("options", "options", dict),
    ("columns", "columns", list),
    ("params", "params", dict),
    ("params_required", "params_required", dict),
    ("params_required_query", "params_required_query", str),
    ("limit", "render_limit", int),
    ("subtotals", "render_subtotals", str),
)
LIMITS = (1, 250)


def fields_of(view: Any) -> dict[str, Any]:
    """The fields of a view. Names that worklists do not have are left out. Raises Invalid."""
    if not isinstance(view, dict):
        raise _bad("takes a map of title and model")
    model = view.get("model", {})
    if not isinstance(model, dict):
        raise _bad("model must be a map")
    fields: dict[str, Any] = {}
    if "title" in view:
        title = view["title"]
        if not isinstance(title, str) or not 0 < len(title) <= MAX_NAME:
            raise _bad(f"title must be a text of 1 to {MAX_NAME} characters")
        fields["name"] = title
    for name, field, kind in NAMES:
        if model.get(name) not in (None, []):
            fields[field] = _value(name, model[name], kind)
    order = _order(model)
    return fields | {"render_sort": order} if order else fields


def _value(name: str, value: Any, kind: type) -> Any:
    if kind is int:
        if not is_whole(str(value)) or not LIMITS[0] <= int(value) <= LIMITS[1]:
            raise _bad(f"model: {name} must be a number from {LIMITS[0]} to {LIMITS[1]}")
        return int(value)
    longest = MAX_NAME if name == "subtotals" else MAX_QUERY
    if not isinstance(value, kind) or (isinstance(value, str) and len(value) > longest):
        raise _bad(f"model: {name} must be {KINDS[kind]}")
    return value


def _order(model: dict[str, Any]) -> dict[str, bool]:
    """Converts `sort_by` and `sort_asc`, each one value or lists of the same length, to {column: whether ascending}."""
    columns, rising = _listed(model.get("sort_by")), _listed(model.get("sort_asc"))
    if not all(isinstance(column, str) for column in columns) or len(columns) > 10:
        raise _bad("model: sort_by must be at most 10 names of columns")
    return {
        column: str(rising[place] if place < len(rising) else 1) not in ("0", "False", "false")
        for place, column in enumerate(columns)
        if column
    }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def _bad(reason: str) -> Invalid:
    return Invalid(f"view: {reason}", field="view")
