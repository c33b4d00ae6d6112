"""Rosters as a table that people change. A cell is the part of a worker in a group, under `g<group>` and
`w<worker>`."""

from typing import Any

from server.context import Context
from server.digits import id_in
from server.errors import Invalid
from server.people import groups
from server.people.groups import Changes
from server.translation import _

Cells = dict[str, dict[str, str]]  # {group id: {worker id: part}}


def cells(sent: Any) -> Cells:
    """Returns the cells of a submitted table. Raises Invalid."""
    rows = shown_cells(sent)
    return {
        group.removeprefix("g"): {worker.removeprefix("w"): str(part) for worker, part in workers.items()}
        for group, workers in rows.items()
    }


def shown_cells(value: Any) -> Cells:
    """Returns the cells as they were shown, from their JSON. Raises Invalid for something else."""
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise Invalid(_("this form is no longer valid; open the page again"))
    return value


def change(ctx: Context, chosen: Cells, before: Cells) -> Cells:
    """Stores the cells that differ from what was shown, all or none, and returns them; changes of others are kept.
    Raises the errors of groups.change_members()."""
    changed = {
        group: {worker: part for worker, part in workers.items() if part != before.get(group, {}).get(worker, "")}
        for group, workers in chosen.items()
    }
    sent = {group: {"workers": workers} for group, workers in changed.items() if workers}
    groups.change_members(ctx, {"groups": sent})
    return changed


def overlaid(members: Changes, sent: Any) -> Changes:
    """Returns rosters with the submitted cells, for a table that is shown again."""
    try:
        chosen = cells(sent)
    except Invalid:
        return members
    return {
        group: workers
        | {id: part for name, part in chosen.get(str(group), {}).items() if (id := id_in(name)) is not None}
        for group, workers in members.items()
    }
