"""The command that adds samples to a metric."""

import math
from typing import Any

from server.automation.acting import changed, instant, service_of
from server.automation.command import CommandCall, CommandFailed, Input, command
from server.context import Context
from server.errors import Invalid, NotFound, nearest
from server.record_types.metrics import dimensions
from server.records import metrics
from server.store.transaction import Transaction
from server.template.values import is_numeric, items, number, printed

NAME_CHARS = 128
MAX_VALUES = 1000  # samples per command
MAX_NAMES = 500  # names compared to suggest the nearest one


@command(
    "metric.increment",
    "Add samples to a metric.",
    Input("metric_name", "text", "The name of the metric.", required=True, max=NAME_CHARS),
    Input("dimensions", "map", "A value for each dimension.", default={}),
    Input("values", "any", "A number or a list of numbers; 1 when omitted.", default=1),
    Input("timestamp", "text", "When it was measured: a time; now when blank."),
    Input("is_realtime", "flag", "Whether to store it at once instead of within a minute.", default=False),
)
def increment(call: CommandCall) -> Any:
    """Returns an empty list. Raises NotFound for an unknown metric, Invalid for a dimension that it does not have."""
    ctx, inputs = service_of(call), call.inputs
    name, values, at = inputs["metric_name"], _values(inputs["values"]), instant(call, ctx, "timestamp", ctx.now)
    declared = ctx.service.store.read(lambda tx: _dimensions(ctx, tx, name))
    labels = {str(key): printed(each) for key, each in (inputs["dimensions"] or {}).items()}
    for key in labels:
        if key not in declared:
            raise Invalid(f"metric {name} has no dimension '{key[:80]}'{nearest(key, declared)}", field="dimensions")
    if inputs["is_realtime"]:
        changed(call, ctx, lambda ctx: metrics.store(ctx.service, name, values, labels, at))
    elif not call.run.host.dry:
        for value in values:
            metrics.record(ctx.service, name, value, labels, at)
    return []


def _values(value: Any) -> list[float]:
    numbers = items(value) if isinstance(value, (list, dict)) else [value]
    if len(numbers) > MAX_VALUES:
        raise CommandFailed(f"metric.increment: {len(numbers):,} values at once, at most {MAX_VALUES:,}")
    for each in numbers:
        if not is_numeric(each) or not math.isfinite(number(each)):
            raise CommandFailed(f"metric.increment: the input 'values' takes numbers, not '{printed(each)[:50]}'")
    return [float(number(each)) for each in numbers]


def _dimensions(ctx: Context, tx: Transaction, name: str) -> dict[str, Any]:
    record_type = ctx.service.registry.type("metric")
    row = tx.first(record_type.table, name=name)
    if row is not None:
        return dimensions.parse(record_type.record(row)["dimensions_kata"])
    table: Any = record_type.table.sql
    rows = tx.rows(lambda: table.select(table.name).order_by(table.name).limit(MAX_NAMES))
    raise NotFound(f"there is no metric '{name}'{nearest(name, [row[0] for row in rows])}", type="metric")
