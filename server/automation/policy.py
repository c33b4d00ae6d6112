"""Evaluates the policy of an automation before every command that reaches beyond the run."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from server import template
from server.dataclass import dataclass
from server.errors import KataSyntax, PolicyDenied, TemplateFailed
from server.kata import Tree, parse
from server.kata.annotations import as_bool, as_int
from server.kata.kata_parser import plain
from server.template import Budget, Surroundings

MAX_SECONDS, DEFAULT_SECONDS = 120.0, 10.0
MAX_KEPT = 512  # cached policies; parsing a short one takes 35 microseconds, 6 % of a webhook's request
MAX_KEPT_CHARS = 64 * 1024  # longer policies are not cached


@dataclass(frozen=True)
class Rule:
    """A rule of a policy: its name as written, such as `allow/shop`, whether it allows, and its condition as a text."""

    name: str
    allows: bool
    text: str


@dataclass(frozen=True)
class Policy:
    """A policy. commands: the rules of each command in order; those under `all` apply to every command. seconds: the
    time limit. callers: the rules, by trigger, for people who start the automation from a page; None if the policy
    has none."""

    commands: dict[str, tuple[Rule, ...]]
    seconds: float
    callers: dict[str, tuple[Rule, ...]] | None = None

    def verdict(
        self, command: str, variables: dict[str, Any], budget: Budget, around: Surroundings
    ) -> tuple[bool, str]:
        """Returns whether a command may run, and the name of the deciding rule; "" if no rule applies."""
        return _first((*self.commands.get(command, ()), *self.commands.get("all", ())), variables, budget, around)

    def lets(self, caller: str, variables: Mapping[str, Any], budget: Budget, around: Surroundings) -> bool:
        """Returns whether someone may start the automation from a page. caller: its trigger. Without `callers`,
        everyone may; otherwise the first true rule of this caller decides."""
        if self.callers is None:
            return True
        return _first(self.callers.get(caller, ()), variables, budget, around)[0]

    def require(self, command: str, path: str, variables: dict[str, Any], budget: Budget, around: Surroundings) -> str:
        """Returns the rule that allows a command. Raises PolicyDenied."""
        allowed, rule = self.verdict(command, variables, budget, around)
        if not allowed:
            why = f"denied by its rule '{rule}'" if rule else "no rule allows it"
            raise PolicyDenied(f"the policy does not let {path} run {command}: {why}", command=command, rule=rule)
        return rule


def _first(
    rules: Iterable[Rule], variables: Mapping[str, Any], budget: Budget, around: Surroundings
) -> tuple[bool, str]:
    """Returns the decision and the name of the first true rule. Denies if its template fails, or if no rule is true."""
    for rule in rules:
        try:
            outcome = template.compile(rule.text).render(variables, budget, around)
        except TemplateFailed:
            return False, rule.name
        if as_bool(outcome):
            return rule.allows, rule.name
    return False, ""


def read(text: str) -> Policy:
    """Parses a policy. Raises KataSyntax."""
    return _kept(text) if len(text) <= MAX_KEPT_CHARS else _read(text)


def time_limit(text: str) -> float:
    """Returns the time limit of a policy in seconds; the usual one if it cannot be parsed."""
    try:
        return read(text).seconds
    except KataSyntax:
        return DEFAULT_SECONDS


@functools.lru_cache(maxsize=MAX_KEPT)
def _kept(text: str) -> Policy:
    return _read(text)


def _read(text: str) -> Policy:
    tree = parse(text).tree
    commands = _map(tree, "commands")
    settings = _map(tree, "settings")
    limit = next((as_int(value) for key, value in settings.items() if plain(key) == "time_limit_ms"), 0)
    callers = {plain(name): _rules(rules) for name, rules in _map(tree, "callers").items()}
    return Policy(
        {plain(name): _rules(rules) for name, rules in commands.items()},
        min(limit / 1000, MAX_SECONDS) if limit > 0 else DEFAULT_SECONDS,
        callers if "callers" in map(plain, tree) else None,
    )


def _map(tree: Tree, name: str) -> Tree:
    subtree = tree.get(name)
    if isinstance(subtree, str):
        raise KataSyntax(f"the policy's {name} must be a map", code="BAD_POLICY", line=1)
    return subtree or {}


def _rules(tree: Any) -> tuple[Rule, ...]:
    if not isinstance(tree, dict):
        return ()
    rules = []
    for key, value in tree.items():
        name = plain(key)
        if name.partition("/")[0] in ("allow", "deny") and isinstance(value, str):
            rules.append(Rule(name, name.startswith("allow"), value))
    return tuple(rules)
