"""Runs a behavior: its tree, node by node, over the dictionary that its actions change.

A failed action leaves a null, and the run goes on; only a limit or an unavailable service ends it with an error. The
dictionary, templates, budget and the operations of actions are shared with automations. The engine is not: a KATA
script stops at its first error, can wait and resume in another process, and is subject to a policy; a behavior is not.
"""

import time
from collections.abc import Callable
from dataclasses import field
from typing import Any

from server import log, template
from server.automation.automation_service import ServiceHost
from server.automation.behaviors import actions, outcome_conditions
from server.automation.behaviors.action import ACTIONS, RISING, Action, ActionCall
from server.automation.behaviors.actions.setting import set_variable
from server.automation.behaviors.loading import BehaviorOwner, BehaviorProgram
from server.automation.behaviors.tree import BehaviorNode
from server.automation.run_dictionary import Dictionary, lazy
from server.context import Context
from server.dataclass import dataclass
from server.errors import BudgetSpent, HelpdeskError
from server.template import Budget, Surroundings
from server.template.run import Rendering as Rendering
from server.template.shared import script_json
from server.template.values import pairs, printed, whole

MAX_STEPS = 100_000  # nodes, actions, conditions and loop iterations of a run, including the behaviors that it runs
MAX_NESTED = 64  # depth of running nodes, including subroutines and behaviors
MAX_SECONDS = 10.0
FOR_EVER = "*"  # element of an infinite loop
LOG = log.get("behavior")


@dataclass
class BehaviorBudget:
    """The event and the resource usage of a run, shared with the behaviors that it runs. caller: the context that
    triggered it. running: the ids of the active behaviors."""

    caller: Context
    bot: BehaviorOwner
    budget: Budget
    steps: int = 0
    nested: int = 0
    running: list[int] = field(default_factory=list)

    def step(self) -> None:
        """Counts a step; called before anything that can repeat. Raises BudgetSpent."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise BudgetSpent(f"the behavior takes more than {MAX_STEPS:,} steps; check for an endless loop")
        if time.monotonic() > self.budget.ends_at:
            raise BudgetSpent(f"the behavior takes longer than {MAX_SECONDS:.0f} seconds; let it handle less at once")


def fresh(ctx: Context, bot: BehaviorOwner) -> BehaviorBudget:
    """Creates the budget of a run without a parent."""
    return BehaviorBudget(ctx, bot, Budget(ends_at=time.monotonic() + MAX_SECONDS))


class Exit(Exception):
    """Raised to end the behavior."""


class Jump(Exception):
    """Raised after a subroutine: the remaining actions of this node are skipped."""


class BehaviorRun:
    """One run of a behavior. values: the dictionary. simulates: also runs nodes for simulations, and actions only where
    they allow it."""

    def __init__(
        self,
        behavior: BehaviorProgram,
        values: dict[str, Any],
        host: ServiceHost,
        spent: BehaviorBudget,
        *,
        simulates: bool = False,
    ) -> None:
        actions.load()
        self.behavior = behavior
        self.host = host
        self.spent = spent
        self.simulates = simulates
        self.values = Dictionary(values, host.load)
        self._around = Surroundings(zone=host.zone, now=host.ctx.now, host=host.functions())

    @property
    def ctx(self) -> Context:
        """The context in which the bot acts."""
        return self.host.ctx

    def go(self) -> Dictionary:
        """Runs the tree and returns the final dictionary. Raises BudgetSpent."""
        self.spent.running.append(self.behavior.id)
        nested = self.spent.nested
        try:
            self.nodes(self.behavior.tree)
        except Exit:
            pass
        except RecursionError:
            raise BudgetSpent("the values of the behavior are nested too deeply") from None
        finally:
            self.spent.running.pop()
            self.spent.nested = nested
        return self.values

    # -- nodes ------------------------------------------------------------------------------------------------------

    def nodes(self, siblings: tuple[BehaviorNode, ...]) -> None:
        """Runs nodes in order."""
        self.spent.nested += 1
        if self.spent.nested > MAX_NESTED:
            raise BudgetSpent(
                f"at most {MAX_NESTED} nodes of behaviors inside each other; look for a subroutine or a "
                "behavior that runs itself"
            )
        for node in siblings:
            if self._is_on(node):
                self.step()
                _RUN[node.type](self, node)
        self.spent.nested -= 1

    def subroutine(self, title: str) -> None:
        """Runs the subroutine of a title and skips the rest of the current node; ignores an unknown title."""
        node = self._titled(self.behavior.tree, title)
        if node is not None:
            self.nodes(node.nodes)
            raise Jump

    def _is_on(self, node: BehaviorNode) -> bool:
        return node.status == "live" or (node.status == "simulator" and self.simulates)

    def _titled(self, siblings: tuple[BehaviorNode, ...], title: str) -> BehaviorNode | None:
        for node in siblings:
            if not self._is_on(node):
                continue
            if node.type == "subroutine" and node.title == title:
                return node
            match = self._titled(node.nodes, title)
            if match is not None:
                return match
        return None

    def _switch(self, node: BehaviorNode) -> None:
        for outcome in node.nodes:
            if self._is_on(outcome) and self._outcome(outcome):
                return

    def _outcome(self, node: BehaviorNode) -> bool:
        if not outcome_conditions.passes(self, node.params.get("groups") or []):
            return False
        self.nodes(node.nodes)
        return True

    def _skipped(self, node: BehaviorNode) -> None:
        """Skips a subroutine: it runs only when an action calls it."""

    def _loop(self, node: BehaviorNode) -> None:
        name = printed(node.params.get("as_placeholder")).strip()
        entries = self._listed(printed(node.params.get("foreach_json")))
        if not name or not entries:
            return
        self.spent.budget.step(len(entries))
        values, stack = self.values, [value for _, value in entries]
        values[f"{name}__counter"], values[f"{name}__stack"] = 0, stack
        place = 0
        while place < len(entries):
            self.step()
            key, value = entries[place]
            if value != FOR_EVER:
                place += 1
                del stack[0]
            values[name], values[f"{name}__key"] = lazy(value, values.load), key
            values[f"{name}__counter"] = whole(values[f"{name}__counter"]) + 1
            self.nodes(node.nodes)
        for each in (name, f"{name}__key", f"{name}__stack"):
            values.pop(each, None)

    def _listed(self, source: str) -> list[tuple[Any, Any]]:
        entries, _ = self._try("loop", lambda: pairs(self.decoded(self.render(source))))
        return entries or []

    def _actions(self, node: BehaviorNode) -> None:
        try:
            for params in node.params.get("actions") or []:
                self.step()
                self._action(params)
        except Jump:
            pass

    # -- actions ----------------------------------------------------------------------------------------------------

    def _action(self, params: dict[str, Any]) -> None:
        name = params["action"]
        variable = self.behavior.variables.get(name)
        call = ActionCall(self, params)
        if variable is not None:
            self._try(name, lambda: set_variable(call, variable))
            return
        action = ACTIONS.get(name)
        if action is None or not self.spent.bot.lets("actions", name):
            LOG.info("behavior.no_such_action", behavior_id=self.behavior.id, action=name[:80])
        elif not action.effects or not self.simulates or call.flag("run_in_simulator"):
            self._do(action, call)

    def _do(self, action: Action, call: ActionCall) -> None:
        place = action.place(call)
        result, is_done = self._try(action.name, lambda: action.call(call))
        if place:
            self.values[place] = lazy(result if is_done else action.otherwise(), self.values.load)

    def _try(self, name: str, act: Callable[[], Any]) -> tuple[Any, bool]:
        """Returns the result of an action, and whether it succeeded."""
        try:
            return act(), True
        except RISING:
            raise
        except HelpdeskError as error:
            self._note(name, error)
            return None, False

    def _note(self, what: str, error: HelpdeskError) -> None:
        """Logs an error for authors of behaviors: the response does not contain it."""
        LOG.info("behavior.failed_action", behavior_id=self.behavior.id, action=what, reason=error.message[:500])

    # -- what nodes and actions need --------------------------------------------------------------------------------

    def step(self) -> None:
        """Counts a step; called before anything that can repeat. Raises BudgetSpent."""
        self.spent.step()

    def render(self, source: str) -> str:
        """Renders a template with the dictionary. Raises BudgetSpent, TemplateFailed and the errors of its
        functions."""
        if "{" not in source:
            return source
        return template.compile(source).render(self.values, self.spent.budget, self._around)

    def decoded(self, text: str) -> Any:
        """Decodes a JSON text; null if it is invalid. Raises BudgetSpent."""
        try:
            return script_json.decoded(Rendering(self.values, self.spent.budget, self._around), text)
        except ValueError:
            return None


_RUN: dict[str, Callable[[BehaviorRun, BehaviorNode], Any]] = {
    "switch": BehaviorRun._switch,
    "outcome": BehaviorRun._outcome,
    "loop": BehaviorRun._loop,
    "subroutine": BehaviorRun._skipped,
    "action": BehaviorRun._actions,
}
