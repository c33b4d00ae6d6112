"""Scopes of apps: valid YAML, and the requests that a scope allows."""

import pytest

from server.errors import Invalid
from server.record_types.shared import scopes

TEXT = """
"stock:read":
  label: Look at stock
  endpoints:
    - workers/me: GET
    - records/*/search: [get, Post]
      records/org/*: [GET]
    - "/contexts/*"
    - tickets/(x)+: "*"
api:
  endpoints: ["*"]
"""


def test_scopes_have_a_label_and_endpoints():
    found = scopes.parse(TEXT)
    assert [(each.id, each.label) for each in found.values()] == [("stock:read", "Look at stock"), ("api", "api")]
    assert list(scopes.parse(scopes.DEFAULT)) == ["api"]


@pytest.mark.parametrize(
    ("method", "path", "covered"),
    [
        ("GET", "workers/me", True),
        ("HEAD", "workers/me", True),
        ("POST", "workers/me", False),
        ("OPTIONS", "anything", True),
        ("get", "Workers/ME", True),
        ("GET", "workers/me/x", False),
        ("GET", "xworkers/me", False),
        ("POST", "records/ticket/search", True),
        ("GET", "records//search", True),
        ("POST", "records/search", False),
        ("PUT", "records/ticket/search", False),
        ("GET", "records/org/5", True),
        ("GET", "records/orgs/5", False),
        ("DELETE", "contexts/list", True),
        ("PUT", "tickets/(x)+", True),
        ("PUT", "tickets/xx", False),
        ("TRACE", "contexts/list", False),
    ],
)
def test_a_scope_covers_methods_and_paths(method, path, covered):
    scope = scopes.parse(TEXT)["stock:read"]
    assert scope.allows(method, path) is covered
    assert scopes.allowed([scope], method, path) is covered
    assert not scopes.allowed([], method, path)


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [("a*b*c", "abc", True), ("a*b*c", "acb", False), ("a*a", "a", False), ("*", "", True), ("**", "x", True),
     ("*x*", "axb", True), ("*x*", "ab", False), ("ab*ba", "aba", False), ("*a" * 40, "a" * 39, False)],
)  # fmt: skip
def test_wildcards(pattern, path, fits):
    assert scopes.EndpointPattern(pattern, frozenset()).matches(path) is fits


@pytest.mark.parametrize(
    ("asked", "is_own"),
    [("mine", True), ("all", False), ("mine all", False), ("mine other", True), ("other", False)],
)
def test_a_scope_is_limited_to_own_records_unless_another_one_allows_the_same(asked, is_own):
    known = scopes.parse(
        "mine: {records: own, endpoints: ['tasks/*']}\nall: {records: all, endpoints: ['tasks/*']}\n"
        "other: {endpoints: ['orgs/*']}"
    )
    chosen = [known[id] for id in asked.split()]
    assert scopes.reaches_own_only(chosen, "GET", "tasks/1") is is_own


@pytest.mark.parametrize(
    "text",
    [
        "a: {records: mine, endpoints: ['*']}", "a: {records: [own], endpoints: ['*']}",
        "", "just text", "[a]", "a: [", "a: 1", "a: {label: x}", "a: {endpoints: []}", "a: {endpoints: x}",
        "'a b': {endpoints: ['*']}", "1: {endpoints: ['*']}", "a: {endpoints: [1]}", "a: {endpoints: [[x]]}",
        "a: {endpoints: [{x: GET, 2: GET}]}", "a: {endpoints: [''] }", "a: {label: [x], endpoints: ['*']}",
        "x: &x {endpoints: ['*']}\ny: {<<: *x}", "!!python/object/apply:os.system [ls]", "#" * 70_000,
        "[" * 10_000, "a: {label: " + "x" * 300 + ", endpoints: ['*']}",
    ],
)  # fmt: skip
def test_invalid_maps_of_scopes_are_refused(text):
    with pytest.raises(Invalid, match="scopes"):
        scopes.parse(text)
