"""Endpoints as data: method, path, parameters and handler. Routing, `describe --json` and the reference pages read this
list.

The `mode` of an endpoint decides on which thread its handler runs. A handler may run several times for one request,
so it acts only inside its transaction: see "The life of a request" in ARCHITECTURE.md."""

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from server.dataclass import dataclass
from server.web.openapi import shapes

if TYPE_CHECKING:
    from server.web.endpoint_call import EndpointCall

Mode = Literal["read", "write", "small write"]
Ready = Callable[["EndpointCall"], "Callable[[], Any] | None"]


@dataclass(frozen=True)
class Parameter:
    """One parameter. `name` as documented: `fields[]`, `limit`. type: one of openapi/parameters.py. place: "" for path,
    query and body, which are distinguished by path and method."""

    name: str
    type: str
    note: str
    required: bool = False
    place: Literal["", "header"] = ""


def outermost(parameter: Parameter) -> str:
    """The name that a handler reads.

    >>> outermost(Parameter("fields[]", "map", "")), outermost(Parameter("limit", "integer", ""))
    ('fields', 'limit')
    """
    return parameter.name.partition("[")[0]


@dataclass(frozen=True)
class Endpoint:
    """mode: a `read` may run on the event loop, a `write` runs on a thread; a `small write` whose request is small runs
    on the writer, inside its transaction. is_small: whether a call may. ready: runs first, on the event loop, for work
    other than writing; returns the work for the writer, or None. path: below /rest/, without `.json`; `{id}` and
    `{uri}` are arguments. size: limit of its body. response: schema of a successful payload, in terms of
    openapi/shapes.py. text_body: the parameter that the whole body stands for, if it is neither JSON nor a form with
    that name; "" for none. operation: required of the record type that `{uri}` names: create, search, ... may_fail:
    further statuses with which it may fail. asks_inner: whether it contains requests, and scopes are required for those
    only."""

    method: str
    path: str
    function: Callable[["EndpointCall"], Any]
    note: str
    mode: Mode
    parameters: tuple[Parameter, ...] = ()
    size: Literal["body", "mail", "file"] = "body"
    aliases: tuple[str, ...] = ()
    is_small: Callable[["EndpointCall"], bool] = lambda call: True
    ready: Ready | None = None
    response: shapes.Shape = field(default_factory=dict)
    text_body: str = ""
    operation: str = ""
    may_fail: tuple[int, ...] = ()
    asks_inner: bool = False

    @cached_property
    def names(self) -> frozenset[str]:
        """The outermost names of its parameters."""
        return frozenset(outermost(each) for each in self.parameters if not each.place)

    @cached_property
    def prefixes(self) -> tuple[str, ...]:
        """The prefixes of its families of parameters: `custom_` for `custom_*`."""
        return tuple(name[:-1] for name in self.names if name.endswith("*"))

    def takes(self, name: str) -> bool:
        """Whether it has a parameter of this outermost name."""
        return name in self.names or name.startswith(self.prefixes)

    def describe(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "path": f"/rest/{self.path}.json",
            "note": self.note,
            "aliases": [f"/rest/{alias}.json" for alias in self.aliases],
            "parameters": [
                {"name": each.name, "type": each.type, "required": each.required, "note": each.note}
                for each in self.parameters
            ],
        }


ENDPOINTS: list[Endpoint] = []


def endpoint(
    method: str,
    path: str,
    note: str,
    mode: Mode,
    *parameters: Parameter,
    size: Literal["body", "mail", "file"] = "body",
    aliases: tuple[str, ...] = (),
    is_small: Callable[["EndpointCall"], bool] = lambda call: True,
    ready: Ready | None = None,
    response: shapes.Shape = shapes.ANY,
    text_body: str = "",
    operation: str = "",
    may_fail: tuple[int, ...] = (),
    asks_inner: bool = False,
) -> Callable[[Callable[["EndpointCall"], Any]], Callable[["EndpointCall"], Any]]:
    """Declares the decorated function as an endpoint."""

    def declare(function: Callable[["EndpointCall"], Any]) -> Callable[["EndpointCall"], Any]:
        ENDPOINTS.append(
            Endpoint(
                method,
                path,
                function,
                note,
                mode,
                parameters,
                size,
                aliases,
                is_small,
                ready,
                response,
                text_body,
                operation,
                may_fail,
                asks_inner,
            )
        )
        return function

    return declare


@dataclass
class _Node:
    children: dict[str, "_Node"] = field(default_factory=dict)
    argument: "_Node | None" = None
    name: str = ""
    endpoints: dict[str, Endpoint] = field(default_factory=dict)


class Router:
    """Finds the endpoint of a path, one segment at a time; a literal segment wins over an argument."""

    def __init__(self, endpoints: list[Endpoint]) -> None:
        self._root = _Node()
        for each in endpoints:
            for path in (each.path, *each.aliases):
                self._add(path, each)

    def find(self, path: str) -> tuple[dict[str, Endpoint], dict[str, str]]:
        """Returns {method: endpoint} and the arguments of a path below /rest/ without `.json`; {} for an unknown
        path."""
        segments = path.split("/")
        states: list[tuple[_Node, dict[str, str]]] = [(self._root, {})]
        for segment in segments:
            following: list[tuple[_Node, dict[str, str]]] = []
            for node, arguments in states:
                child = node.children.get(segment)
                if child is not None:
                    following.append((child, arguments))
                if node.argument is not None and segment:
                    following.append((node.argument, {**arguments, node.argument.name: segment}))
            states = following
        for node, arguments in states:
            if node.endpoints:
                return node.endpoints, arguments
        return {}, {}

    def _add(self, path: str, each: Endpoint) -> None:
        node = self._root
        for segment in path.split("/"):
            if segment.startswith("{"):
                if node.argument is None:
                    node.argument = _Node(name=segment.strip("{}"))
                node = node.argument
            else:
                node = node.children.setdefault(segment, _Node())
        node.endpoints[each.method] = each
