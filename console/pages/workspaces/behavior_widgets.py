"""Draws the tree of a behavior: its nodes with their types and titles, not the settings of its actions."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from console.html.templates import fragment
from console.http.visit import Visit
from console.pages.workspaces.drawing import Drawing, muted, rendered, text_param
from console.pages.workspaces.widget_kinds import WidgetKind
from server.automation.behaviors import loading
from server.automation.behaviors.tree import BehaviorNode
from server.dataclass import dataclass
from server.digits import id_in
from server.errors import Invalid
from server.record_types.shared import paths
from server.records import records
from server.records.records import LABEL
from server.translation import N_, _

MAX_NODES = 300  # drawn nodes
TYPES = {
    "switch": N_("Decision"),
    "outcome": N_("Outcome"),
    "action": N_("Actions"),
    "loop": N_("Loop"),
    "subroutine": N_("Subroutine"),
}


@dataclass(frozen=True)
class DrawnNode:
    """A node. type: in words. state: why it does not run, "" for one that does."""

    type: str
    title: str
    state: str
    nodes: tuple["DrawnNode", ...]


def tree(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], drawing: Drawing) -> tuple[Markup, bool]:
    """The tree of the behavior that the widget names, with the rights of the reader. Raises NotFound, Forbidden,
    Invalid."""
    id = id_in(rendered(visit, text_param(widget, "behavior_id"), drawing).strip())
    if not id:
        raise Invalid(_("the widget has no behavior"), field="record")
    behavior = records.retrieve(visit.ctx, "behavior", id, LABEL)
    nodes = loading.read_tree(visit.ctx, id)
    if not nodes:
        return muted(_("The behavior has no nodes.")), False
    count = _Counter(MAX_NODES)
    drawn = count.nodes(nodes)
    html = fragment(
        "parts/widget_tree.html",
        label=behavior[LABEL],
        path=paths.record("behavior", id),
        nodes=drawn,
        is_off=bool(behavior["is_disabled"]),
        most=0 if count.left > 0 else MAX_NODES,
    )
    return Markup(html), False


class _Counter:
    """Draws nodes until a number is reached."""

    def __init__(self, left: int) -> None:
        self.left = left

    def nodes(self, nodes: tuple[BehaviorNode, ...]) -> tuple[DrawnNode, ...]:
        drawn = []
        for each in nodes:
            if self.left <= 0:
                break
            self.left -= 1
            state = {"disabled": _("off"), "simulator": _("only in simulations")}.get(each.status, "")
            drawn.append(DrawnNode(_(TYPES[each.type]), each.title, state, self.nodes(each.nodes)))
        return tuple(drawn)
