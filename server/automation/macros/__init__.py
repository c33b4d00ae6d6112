"""Macros: automations that workers run on a ticket, with exactly the rights of that worker.

listing.py: the macros for a worker and a ticket. forms.py: those that are built by form. macro_result.py: parses the
result. running.py: runs a macro and applies its result. review.py: stores its texts for review. bulk_runs.py: runs one
on several tickets."""

from server.automation.macros.bulk_runs import MacroRuns, run_each
from server.automation.macros.forms import form_changes
from server.automation.macros.listing import Macro, are_there, find, usable
from server.automation.macros.review import store_texts
from server.automation.macros.running import MacroOutcome, run

__all__ = [
    "Macro",
    "MacroOutcome",
    "MacroRuns",
    "are_there",
    "find",
    "form_changes",
    "run",
    "run_each",
    "store_texts",
    "usable",
]
