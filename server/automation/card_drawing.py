"""Draws the cards of project boards: the automations of the column, then those of the board; the first one that returns
a sheet draws the card."""

import time
from collections.abc import Mapping
from typing import Any

from server.automation import bindings, page_runs
from server.automation.automation_service import ServiceHost
from server.automation.card_functions import card_values
from server.automation.host import Script
from server.automation.run_dictionary import Dictionary
from server.context import Context
from server.dataclass import dataclass
from server.errors import NotFound, TimedOut
from server.record_types.boards.board_columns import RENDER_CARD
from server.record_types.boards.column_cards import Card
from server.records import records
from server.template import Budget
from server.translation import lazy_gettext

FIELD = "cards_kata"
MAX_CARD_SECONDS = 1.0  # limit for the automations of a card, regardless of their policies


@dataclass(frozen=True)
class CardSheet:
    """The sheet that draws a card: its columns, its layout, and a row with the values."""

    columns: Mapping[str, Any]
    layout: Mapping[str, Any]
    row: Mapping[str, Any]


class CardHost(ServiceHost):
    """The host of all cards of one request, with the rights of the reader. It looks up an automation, and the records
    that its cards share, once."""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx, is_caller=True, reads_only=True)
        self._automations: dict[str, Script | None] = {}
        self._loaded: dict[tuple[str, int, str], Mapping[str, Any]] = {}

    def automation(self, name: str) -> Script | None:
        if name not in self._automations:
            self._automations[name] = super().automation(name)
        return self._automations[name]

    def load(self, context: str, id: int, key: str) -> Mapping[str, Any]:
        place = (context, id, key)
        if place not in self._loaded:
            self._loaded[place] = super().load(context, id, key)
        return self._loaded[place]


class CardPainter:
    """Draws the cards of one request. seconds: for all of them."""

    def __init__(self, ctx: Context, seconds: float) -> None:
        records.require_thread(ctx)
        self._ctx = ctx
        self._host = CardHost(ctx)
        self._ends_at = time.monotonic() + seconds

    @property
    def is_spent(self) -> bool:
        return time.monotonic() >= self._ends_at

    def sheet(self, board: Mapping[str, Any], column: Mapping[str, Any], card: Card) -> CardSheet | None:
        """Returns how a card is drawn, None if every automation is disabled or returns no sheet.

        Raises KataSyntax, TemplateFailed, BudgetSpent, Forbidden if a policy does not allow the reader, NotFound if
        none of the automations can run, TimedOut, and ScriptError with the error of an automation."""
        values = card_values(self._ctx, column, card.context, card.id)
        ends_at = min(self._ends_at, time.monotonic() + MAX_CARD_SECONDS)
        lost = ""
        has_run = False
        for text in (column[FIELD], board[FIELD]):
            # Whoever wrote the board may not call functions with the rights of its reader.
            for each in bindings.binding_candidates(
                str(text), RENDER_CARD, values, self._host, has_functions=False, budget=Budget(ends_at=ends_at)
            ):
                if each.handler is None:
                    lost = lost or ("" if each.is_off else each.key)
                    continue
                seconds = ends_at - time.monotonic()
                if seconds <= 0:
                    raise TimedOut(lazy_gettext("the automations of the card take too long"))
                has_run = True
                drawn = self._drawn(page_runs.result_of(self._host, each.handler, values, seconds), values, card)
                if drawn is not None:
                    return drawn
        if lost and not has_run:
            problem = lazy_gettext(
                "{entry} names no automation with the trigger {trigger}", entry=lost, trigger=RENDER_CARD
            )
            raise NotFound(problem)
        return None

    def _drawn(self, returned: Mapping[str, Any], values: Mapping[str, Any], card: Card) -> CardSheet | None:
        sheet = returned.get("sheet")
        if not isinstance(sheet, dict):
            return None
        schema, data = sheet.get("schema"), sheet.get("data")
        source = schema if isinstance(schema, dict) else sheet
        listed = list(data.values()) if isinstance(data, dict) else data if isinstance(data, list) else []
        own = listed[0] if listed and isinstance(listed[0], dict) else {}
        row = Dictionary({**values, "_context": card.context, "id": card.id, **own}, self._host.load)
        columns, layout = source.get("columns"), source.get("layout")
        return CardSheet(columns if isinstance(columns, dict) else {}, layout if isinstance(layout, dict) else {}, row)
