"""Commands on variables: var.set, var.push, var.unset, var.expand. They need no policy."""

from typing import Any

from server.automation.command import CommandCall, CommandFailed, Input, command
from server.automation.run_dictionary import Dictionary
from server.digits import is_whole
from server.template.values import keyed, pairs, printed

MAX_PATH_CHARS = 2048
KEY = Input("key", "text", "The path: keys from the top, separated by colons.", required=True, max=MAX_PATH_CHARS)
DELIMITER = Input("delimiter", "text", "The separator to use instead of a colon.", default=":")


@command(
    "var.set",
    "Set a value at a path; missing maps are created.",
    KEY,
    DELIMITER,
    Input("value", "any", "Text, number, list, map or null.", required=True),
    governed=False,
)
def set_(call: CommandCall) -> Any:
    """Returns false if the path leads through a plain value."""
    value = call.inputs["value"]
    if isinstance(value, bool):
        raise CommandFailed("var.set: the input 'value' cannot be a boolean")
    path = call.inputs["key"].split(call.inputs["delimiter"] or ":")
    _charge(call, path)
    return value if _put(call.run.values, path, value) else False


@command(
    "var.push",
    "Add an element to a list; a map's entries are merged in.",
    KEY,
    DELIMITER,
    Input("value", "any", "The element."),
    governed=False,
)
def push(call: CommandCall) -> Any:
    path, value = call.inputs["key"].split(call.inputs["delimiter"] or ":"), call.inputs["value"]
    present = _at(call.run.values, path)
    _charge(call, [*path, ""])
    if present is None:
        target: list[tuple[Any, Any]] = []
    elif isinstance(present, (list, dict)):
        target = pairs(present)
    else:
        target = [(0, present)]
    if isinstance(value, dict):
        changed = keyed([*((key, each) for key, each in target if str(key) not in value), *value.items()])
    else:
        following = max((key for key, _ in target if isinstance(key, int)), default=-1) + 1
        changed = keyed([*target, (following, value)])
    _put(call.run.values, path, changed)
    return changed


@command(
    "var.unset",
    "Remove the value at one or more paths.",
    Input("key", "text or list", "A path, or a list of them.", required=True, max=MAX_PATH_CHARS),
    DELIMITER,
    governed=False,
)
def unset(call: CommandCall) -> Any:
    key, delimiter = call.inputs["key"], call.inputs["delimiter"] or ":"
    if isinstance(key, str):
        return _unset(call, key.split(delimiter))
    return {printed(each): _unset(call, printed(each).split(delimiter)) for _, each in pairs(key)}


def _unset(call: CommandCall, path: list[str]) -> bool:
    _charge(call, path)
    return _remove(call.run.values, path)


@command(
    "var.expand",
    "Load keys of a record.",
    Input("key", "text", "Path of the record; the whole dictionary when blank.", max=MAX_PATH_CHARS),
    Input("paths", "text or list", "The keys, separated by commas, or a list.", required=True, max=MAX_PATH_CHARS),
    governed=False,
)
def expand(call: CommandCall) -> Any:
    inputs = call.inputs["paths"]
    paths = inputs.split(",") if isinstance(inputs, str) else [printed(each) for _, each in pairs(inputs)]
    key = call.inputs["key"]
    target = _at(call.run.values, key.split(":")) if key else call.run.values
    if not isinstance(target, Dictionary):
        raise CommandFailed(f"var.expand: there is no record at '{key}'")
    for path in paths:
        target.expand(path.strip())
    return None


def _charge(call: CommandCall, path: list[str]) -> None:
    """Charges the budget before the containers on a path are copied. Raises BudgetSpent."""
    for length in range(1, len(path)):
        present = _at(call.run.values, path[:length])
        call.run.budget.entries(len(present) if isinstance(present, (list, dict)) else 1)


def _at(values: Any, path: list[str]) -> Any:
    for part in path:
        if isinstance(values, dict):
            values = values.get(part)
        elif isinstance(values, list) and is_whole(part) and int(part) < len(values):
            values = values[int(part)]
        else:
            return None
    return values


def _put(values: dict[str, Any], path: list[str], value: Any) -> bool:
    """Sets the value at a path; returns whether that was possible. Copies changed containers, which may be shared."""
    first, *rest = path
    if not rest:
        values[first] = value
        return True
    below = values.get(first)
    if below is not None and not isinstance(below, (dict, list)):
        return False
    changed = _changed(below, rest, value)
    if changed is None:
        return False
    values[first] = changed
    return True


def _changed(container: Any, path: list[str], value: Any) -> Any:
    """Returns a copy of a list or map with a value at a path; None if the path leads through a plain value."""
    first, *rest = path
    entries = {str(key): each for key, each in pairs(container)}
    if not rest:
        entries[first] = value
    else:
        below = entries.get(first)
        if below is not None and not isinstance(below, (dict, list)):
            return None
        entries[first] = _changed(below, rest, value)
        if entries[first] is None:
            return None
    if isinstance(container, Dictionary):
        container[first] = entries[first]
        return container
    return keyed(entries.items())


def _remove(values: dict[str, Any], path: list[str]) -> bool:
    *above, last = path
    holder = _at(values, above) if above else values
    if isinstance(holder, dict) and last in holder:
        del holder[last]
        return True
    if isinstance(holder, list) and is_whole(last) and int(last) < len(holder):
        _put(values, above, keyed((key, each) for key, each in enumerate(holder) if key != int(last)))
        return True
    return False
