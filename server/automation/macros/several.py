"""A macro run on several tickets, one after the other."""

import time
from collections.abc import Sequence
from dataclasses import field

from server.automation.macros import running
from server.automation.macros.running import MacroOutcome
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError

MAX_ALL_SECONDS = 30.0  # after which no further ticket is begun


@dataclass(slots=True)
class MacroRuns:
    """By ticket. refused: why. left: those for which there was no time."""

    done: dict[int, MacroOutcome] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    left: list[int] = field(default_factory=list)


def run_each(ctx: Context, ticket_ids: Sequence[int], name: str) -> MacroRuns:
    """Run a macro on each ticket by itself, as `run`, with no inputs. Only what it changes is done: nobody has seen the
    texts, so they are neither sent nor written. Never raises for what it does on one of them."""
    found = MacroRuns()
    ends_at = time.monotonic() + MAX_ALL_SECONDS
    for id in ticket_ids:
        if time.monotonic() >= ends_at:
            found.left.append(id)
            continue
        try:
            found.done[id] = running.run(ctx, id, name, {}, sends=False)
        except HelpdeskError as error:
            found.refused[id] = error.message
    return found
