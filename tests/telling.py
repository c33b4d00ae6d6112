"""Tables of which `make test` runs the telling cases, and `make test-all` all of them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

# Record types that differ in what they declare: permissions, relations, owners, states, fields of administrators.
TYPES = ("ticket", "message", "worker", "org", "comment", "webhook_listener")


WALK = pytest.mark.exhaustive("a walk through pages that have tests of their own")


def telling(cases: Mapping[str, Any] | Sequence[str], names: Collection[str], reason: str) -> list[Any]:
    """Parameters of a test: of the cases, by their ids, those with these names are run by `make test`; the others are
    exhaustive. Texts are their own ids."""
    if not isinstance(cases, Mapping):
        cases = dict(zip(cases, cases, strict=True))
    assert set(names) <= set(cases), set(names) - set(cases)
    mark = pytest.mark.exhaustive(reason)
    return [pytest.param(case, id=id, marks=() if id in names else mark) for id, case in cases.items()]


def telling_types(types: Mapping[str, Any] | Sequence[str]) -> list[Any]:
    """Parameters of a test of record types, which are given by their URIs, or are URIs."""
    return telling(types, [each for each in TYPES if each in types], "every record type")


WITH_AND_WITHOUT_SCRIPTS = telling({"scripts": True, "no scripts": False}, ("scripts",), "without scripts")
