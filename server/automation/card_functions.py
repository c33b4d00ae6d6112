"""Runs the functions of a column of a project board, after a card was added to it or moved to it.

Any worker with the privilege may write the functions of a column, so they have exactly the rights of whoever moved the
card; those of the service only if the service moved it."""

from collections.abc import Mapping
from typing import Any

from server import times
from server.access import actor as actors
from server.access.service_actor import own_context
from server.automation import event_runs
from server.automation.automation_service import ServiceHost
from server.context import Context, Service
from server.contexts import PROJECT_BOARD, PROJECT_BOARD_COLUMN, WORKER
from server.jobs.job_queue import job
from server.record_types.boards.board_columns import CARD_ACTION, COLUMN
from server.record_types.boards.column_cards import FUNCTIONS_JOB
from server.records import records
from server.records.event_publishing import record_values
from server.translation import N_


@job(FUNCTIONS_JOB, N_("Runs the automations of a column of a board for a card"))
def run_functions(service: Service, payload: dict[str, Any], now: int) -> None:
    """Runs every function of a column for a card, even if an earlier one fails. A column that was deleted meanwhile has
    none."""
    zone = payload.get("zone") or "UTC"
    own = own_context(service, now, zone, depth=payload["depth"], is_by_machine=payload["is_by_machine"])
    rows = records.stored(own, COLUMN, [payload["column_id"]])
    if not rows:
        return
    name = f"project_board_column {rows[0]['id']} '{rows[0]['name']}'"
    ctx = _as_mover(own, payload["worker_id"])
    if ctx is None:
        event_runs.note(ServiceHost(own), f"{name}: its functions do not run: whoever moved the card is disabled")
        return
    values = card_values(ctx, rows[0], payload["card_context"], payload["card_id"])
    host = ServiceHost(ctx, is_caller=True)
    # Whoever wrote the board may not call functions with the rights of whoever moves a card.
    for _ in event_runs.run_binding(
        host, name, str(rows[0]["functions_kata"]), CARD_ACTION, values, has_functions=False
    ):
        pass


def _as_mover(own: Context, worker_id: int) -> Context | None:
    """Returns the context of whoever moved the card: of the service for 0, None for a worker who was disabled."""
    if not worker_id:
        return own
    actor = own.service.store.read(lambda tx: actors.worker(tx, worker_id))
    return own.as_actor(actor, times.zone(actor.timezone or "UTC")) if actor is not None else None


def card_values(ctx: Context, column: Mapping[str, Any], context: str, id: int) -> dict[str, Any]:
    """Returns the initial dictionary of an automation about a card, without its inputs."""
    return {
        **record_values("board", PROJECT_BOARD, column["board_id"]),
        **record_values("column", PROJECT_BOARD_COLUMN, column["id"]),
        **record_values("card", context, id),
        **record_values("worker", WORKER, ctx.actor.worker_id),
    }
