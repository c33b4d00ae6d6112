"""The placeholders of a template as a map."""

from typing import Any

from server.template.registry import function
from server.template.run import Rendering
from server.template.values import keyed, printed


@function("placeholders_list", "svc_placeholders_list")
def placeholders_list(run: Rendering, extract: Any = None, prefix: Any = None) -> Any:
    """All placeholders. extract: only those that begin with this text, which is removed from their names. prefix: put
    before each name."""
    start, lead = printed(extract), printed(prefix)
    run.budget.entries(len(run.values))
    run.budget.text(len(lead) * len(run.values))
    return keyed(
        [(lead + key.removeprefix(start), run.values[key]) for key in list(run.values) if key.startswith(start)]
    )
