"""Macros: automations that workers run on a ticket, each with no more rights than who runs it.

listing.py: which there are for a worker and a ticket. answer.py: what one returns. running.py: one is run, and what it
returns is done. several.py: on several tickets."""

from server.automation.macros.listing import Macro, are_there, find, usable
from server.automation.macros.running import MacroOutcome, run
from server.automation.macros.several import MacroRuns, run_each

__all__ = ["Macro", "MacroOutcome", "MacroRuns", "are_there", "find", "run", "run_each", "usable"]
