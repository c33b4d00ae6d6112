"""Functions that change maps at the path of a key. They return a new map and leave their argument unchanged."""

from typing import Any

from server.errors import TemplateFailed
from server.template.registry import function
from server.template.run import Rendering
from server.template.shared.text_values import read
from server.template.values import child, items, keyed, kind, pairs, printed

MAX_PARTS = 128  # parts of a path
APPEND = "[]"


@function("attribute", charges_itself=True)
def attribute(run: Rendering, holder: Any, key: Any) -> Any:
    """The entry under a key, as `holder[key]`."""
    return child(holder, key)


@function("dict_set", charges_itself=True)
def dict_set(run: Rendering, holder: Any, path: Any, value: Any, delimiter: Any = None) -> Any:
    """The map with a value at a path such as `a.b`; the part `[]` is the next free number. null is an empty map. Raises
    TemplateFailed for other values."""
    return _changed(run, _held("dict_set", holder), _parts(run, path, delimiter), value)


@function("jsonpath_set", charges_itself=True)
def jsonpath_set(run: Rendering, holder: Any, path: Any, value: Any) -> Any:
    """The map with a value at a path, like dict_set; a part such as `name[]` is the next free number below `name`."""
    parts = []
    for part in _parts(run, path, None):
        appends = part.endswith(APPEND) and part != APPEND
        parts += [part.removesuffix(APPEND), APPEND] if appends else [part]
    return _changed(run, _held("jsonpath_set", holder), parts, value)


@function("dict_unset", charges_itself=True)
def dict_unset(run: Rendering, holder: Any, paths: Any) -> Any:
    """The map without the entry at a path, or at any of a list of paths. null is an empty map."""
    result = _held("dict_unset", holder)
    for path in items(paths) if isinstance(paths, (list, dict)) else [paths]:
        result = _without(run, result, _parts(run, path, None))
    return result


def _held(name: str, holder: Any) -> Any:
    if holder is None:
        return {}
    if not isinstance(holder, (list, dict)):
        raise TemplateFailed(f"{name} takes a map, this is a {kind(holder)}")
    return holder


def _parts(run: Rendering, path: Any, delimiter: Any) -> list[str]:
    parts = read(run, path).split(printed(delimiter) or ".", MAX_PARTS)
    if len(parts) > MAX_PARTS:
        raise TemplateFailed(f"a path has at most {MAX_PARTS} parts")
    return parts


def _changed(run: Rendering, holder: Any, parts: list[str], value: Any) -> Any:
    copy = _copied(run, holder)
    name = _free(copy) if parts[0] == APPEND else parts[0]
    if len(parts) == 1:
        copy[name] = value
    else:
        inner = copy.get(name)
        copy[name] = _changed(run, inner if isinstance(inner, (list, dict)) else {}, parts[1:], value)
    return keyed(copy.items())


def _without(run: Rendering, holder: Any, parts: list[str]) -> Any:
    copy = _copied(run, holder)
    if parts[0] not in copy:
        return holder
    if len(parts) == 1:
        del copy[parts[0]]
    elif isinstance(copy[parts[0]], (list, dict)):
        copy[parts[0]] = _without(run, copy[parts[0]], parts[1:])
    return keyed(copy.items()) if copy else {}


def _copied(run: Rendering, holder: Any) -> dict[str, Any]:
    run.budget.entries(len(holder))
    return {str(key): each for key, each in pairs(holder)}


def _free(entries: dict[str, Any]) -> str:
    """Returns the greatest number among the keys plus one."""
    return str(max((key for key, _ in pairs(entries) if isinstance(key, int)), default=-1) + 1)
