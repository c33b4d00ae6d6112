"""Columns whose cells a template draws, or that show a plain value."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from markupsafe import Markup

from console.html import templates, ui
from console.http.visit import Visit
from console.lists.worklist_columns import ListColumn
from server.translation import Words

FOLDER = "cells"  # below console/templates


class DrawnColumns:
    """Creates the columns of a list. template: a file of console/templates/cells. A column with a macro of its name
    there is drawn by it; the macro gets the visit, the row and the data that the list loaded. Other columns show their
    value."""

    def __init__(self, template: str = "") -> None:
        self._template = template
        self._macro = cache(self._find)  # on first use, since a start must not load templates

    def __call__(
        self,
        key: str,
        label: Words,
        sort: str = "",
        kind: str = "",
        value: Callable[[Mapping[str, Any], Any], Any] | None = None,
        *,
        is_time: bool = False,
    ) -> ListColumn:
        """Creates a column; the arguments are those of ListColumn."""

        def cell(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
            macro = self._macro(key)
            if macro is not None:
                return Markup(macro(visit, row, more).strip())
            return _shown(visit, row[key] if value is None else value(row, more), is_time)

        return ListColumn(key, label, cell, sort, kind, value=value, is_time=is_time)

    def _find(self, key: str) -> Callable[..., Markup] | None:
        return templates.macros(f"{FOLDER}/{self._template}.html").get(key.strip("_")) if self._template else None


plain_column = DrawnColumns()


def _shown(visit: Visit, value: Any, is_time: bool) -> str:
    if is_time:
        return ui.when(visit, value)
    if isinstance(value, bool):
        return ui.tick_mark(value)
    return ui.number(visit, value) if isinstance(value, int | float) else ui.name(value)
