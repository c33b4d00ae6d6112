"""The layouts of tabs: their zones, side by side."""

from collections.abc import Mapping
from typing import Any

LISTS_TAB = "core.workspace.tab.worklists"
# {layout of a tab: its zones, from the start of the row}. Widgets of other zones are in its main one.
LAYOUTS = {
    "": ("content",),
    "sidebar_left": ("sidebar", "content"),
    "sidebar_right": ("content", "sidebar"),
    "thirds": ("left", "center", "right"),
}


def layout_of(tab: Mapping[str, Any]) -> str:
    """The layout of a tab, "" for one that is not known."""
    params = tab.get("params")
    layout = str(params.get("layout") or "") if isinstance(params, dict) else ""
    return layout if layout in LAYOUTS else ""


def main_zone(layout: str) -> str:
    """The zone of widgets that name none of the layout."""
    zones = LAYOUTS[layout]
    return "content" if "content" in zones else zones[0]
