"""`format:tree`: nested values.

Each value has one branch, with the total of its leaves."""

from dataclasses import field
from typing import Any

from server.counting.dimensions.dimension import Member
from server.counting.measures import Tally
from server.dataclass import dataclass
from server.queries.subtotals.result import Number, SubtotalsResult


@dataclass
class _Branch:
    path: tuple[Member, ...]
    tally: Tally = field(default_factory=Tally)
    below: "dict[Any, _Branch]" = field(default_factory=dict)


def tree(result: SubtotalsResult) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns {"children": [{name, value, hits, query, children}]}; without dimensions, one child with the total."""
    root = _Branch(())
    for row in result.rows:
        branch = root
        for depth, member in enumerate(row.members):
            branch = branch.below.setdefault(member.key, _Branch(row.members[: depth + 1]))
            branch.tally.merge(row.tally)
    if not result.dimensions:
        return {"children": [_total(result, row.value) for row in result.rows]}, {}
    return {"children": _children(result, root)}, {}


def _children(result: SubtotalsResult, branch: _Branch) -> list[dict[str, Any]]:
    nodes = []
    for each in branch.below.values():
        member = each.path[-1]
        node: dict[str, Any] = {
            "name": member.label,
            "value": member.value,
            "hits": result.value(each.tally),
            "query": result.query(each.path),
        }
        if each.below:
            node["children"] = _children(result, each)
        nodes.append(node)
    nodes.sort(key=lambda node: (node["hits"] is None, -(node["hits"] or 0), node["name"].casefold()))
    return nodes


def _total(result: SubtotalsResult, value: Number) -> dict[str, Any]:
    return {"name": result.title, "value": value, "hits": value, "query": result.query(())}
