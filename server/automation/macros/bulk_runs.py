"""Runs a macro on several tickets, one after the other."""

import time
from collections.abc import Sequence
from dataclasses import field

from server.automation.macros import running
from server.automation.macros.running import MacroOutcome
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError

MAX_ALL_SECONDS = 30.0  # no further ticket is started afterwards


@dataclass(slots=True)
class MacroRuns:
    """The outcomes by ticket. refused: the reasons. left: tickets that were not started in time."""

    done: dict[int, MacroOutcome] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    left: list[int] = field(default_factory=list)


def run_each(ctx: Context, ticket_ids: Sequence[int], name: str) -> MacroRuns:
    """Runs a macro on each ticket as run() does, without inputs. Only its changes are applied: its texts have not been
    reviewed, so they are neither sent nor written. Errors on one ticket do not raise."""
    outcomes = MacroRuns()
    ends_at = time.monotonic() + MAX_ALL_SECONDS
    for id in ticket_ids:
        if time.monotonic() >= ends_at:
            outcomes.left.append(id)
            continue
        try:
            outcomes.done[id] = running.run(ctx, id, name, {}, sends=False)
        except HelpdeskError as error:
            outcomes.refused[id] = error.message
    return outcomes
