"""Parses and validates the tree and the variables of a behavior before they are stored. Does not run them."""

import re
from typing import Any

from server.dataclass import dataclass
from server.errors import Invalid, nearest

MAX_NODES = 5000  # nodes per behavior
MAX_DEPTH = 32  # levels of nodes
MAX_ACTIONS = 1000  # actions per node
MAX_VARIABLES = 250
MAX_KEY_CHARS = 128  # characters of the name of a variable
TYPES = ("switch", "outcome", "action", "loop", "subroutine")
STATUSES = ("live", "simulator", "disabled")
KINDS = ("S", "T", "U", "N", "O", "Y", "C", "D", "E", "W", "L", "M", "X", "F", "I", "contexts")
LIST_PREFIX = "ctx_"  # `ctx_svc.contexts.task` is a list of records of type `svc.contexts.task`
_KEY = re.compile(r"var_[a-z0-9_]+\Z")


@dataclass(frozen=True)
class BehaviorNode:
    """A node. params: of a loop, an outcome or an action. nodes: its children in order."""

    type: str
    title: str
    status: str
    params: dict[str, Any]
    nodes: tuple["BehaviorNode", ...]


@dataclass(frozen=True)
class Variable:
    """A variable. type: one of KINDS, or LIST_PREFIX with a record type. params: `options` of a picklist, `context` of
    a link."""

    key: str
    label: str
    type: str
    is_private: bool
    params: dict[str, Any]


def tree(nodes: Any) -> tuple[BehaviorNode, ...]:
    """Returns the nodes of a behavior. Raises Invalid that names the node."""
    return _TreeReader().nodes(nodes, "nodes", "", 1)


class _TreeReader:
    def __init__(self) -> None:
        self._count = 0

    def nodes(self, entries: Any, path: str, above: str, depth: int) -> tuple[BehaviorNode, ...]:
        if not isinstance(entries, list):
            raise _bad("nodes", f"{path} must be a list of nodes")
        if depth > MAX_DEPTH and entries:
            raise _bad("nodes", f"{path}: at most {MAX_DEPTH} nodes inside each other")
        return tuple(self._node(each, f"{path}[{place}]", above, depth) for place, each in enumerate(entries))

    def _node(self, entry: Any, path: str, above: str, depth: int) -> BehaviorNode:
        self._count += 1
        if self._count > MAX_NODES:
            raise _bad("nodes", f"at most {MAX_NODES} nodes")
        if not isinstance(entry, dict):
            raise _bad("nodes", f"{path} is not a node: {{type, title, status, params, nodes}}")
        type, status = entry.get("type"), entry.get("status", "live")
        if type not in TYPES:
            raise _bad("nodes", f"{path}: '{str(type)[:50]}' is not a type of node{nearest(str(type), TYPES)}")
        if status not in STATUSES:
            raise _bad("nodes", f"{path}: '{str(status)[:50]}' is not a status; there are {', '.join(STATUSES)}")
        if above == "switch" and type != "outcome":
            raise _bad("nodes", f"{path}: a switch takes only outcomes, not a node of the type {type}")
        below = self.nodes(entry.get("nodes") or [], f"{path}.nodes", type, depth + 1)
        if type == "action" and below:
            raise _bad("nodes", f"{path}: a node of the type action takes no nodes below it")
        params = _map(entry.get("params"), "nodes", f"{path}.params")
        _check_params(type, params, path)
        return BehaviorNode(type, str(entry.get("title") or ""), status, params, below)


def _check_params(type: str, params: dict[str, Any], path: str) -> None:
    if type == "action":
        actions = _maps(params.get("actions"), f"{path}.params.actions")
        if len(actions) > MAX_ACTIONS:
            raise _bad("nodes", f"{path}: at most {MAX_ACTIONS} actions in a node")
        for place, each in enumerate(actions):
            if not isinstance(each.get("action"), str):
                raise _bad("nodes", f"{path}.params.actions[{place}] has no action")
    if type == "outcome":
        for place, group in enumerate(_maps(params.get("groups"), f"{path}.params.groups")):
            _maps(group.get("conditions"), f"{path}.params.groups[{place}].conditions")


def _maps(value: Any, path: str) -> list[dict[str, Any]]:
    maps = value or []
    if not isinstance(maps, list) or not all(isinstance(each, dict) for each in maps):
        raise _bad("nodes", f"{path} must be a list of maps")
    return maps


def variables(value: Any) -> dict[str, Variable]:
    """Returns {key: variable} in order. Raises Invalid that names the variable."""
    entries = _map(value, "variables", "variables")
    if len(entries) > MAX_VARIABLES:
        raise _bad("variables", f"at most {MAX_VARIABLES} variables")
    return {key: _variable(key, each) for key, each in entries.items()}


def _variable(key: str, entry: Any) -> Variable:
    if not _KEY.match(key) or len(key) > MAX_KEY_CHARS:
        raise _bad(
            "variables",
            f"'{key[:80]}' is not a name: var_ followed by lower-case letters, digits and _, "
            f"{MAX_KEY_CHARS} characters at most",
        )
    if not isinstance(entry, dict):
        raise _bad("variables", f"{key} must be a map: {{key, label, type, is_private, params}}")
    type = str(entry.get("type") or "")
    if type not in KINDS and not (type.startswith(LIST_PREFIX) and len(type) > len(LIST_PREFIX)):
        raise _bad("variables", f"{key}: '{type[:80]}' is not a type of variable{nearest(type, KINDS)}")
    is_private = str(entry.get("is_private") or "0") not in ("0", "False")
    params = _map(entry.get("params"), "variables", f"{key}.params")
    return Variable(key, str(entry.get("label") or key), type, is_private, params)


def _map(value: Any, field: str, path: str) -> dict[str, Any]:
    """Returns a map; an empty list counts as an empty map, since packages may contain it."""
    if not value and value in (None, [], {}, ""):
        return {}
    if not isinstance(value, dict):
        raise _bad(field, f"{path} must be a map")
    return value


def _bad(field: str, reason: str) -> Invalid:
    return Invalid(reason if reason.startswith(field) else f"{field}: {reason}", field=field)
