"""Runs commands inside the service, through server/records like every other change of a record.

In a dry run, what a command writes is rolled back before it becomes visible."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from server import times
from server.automation.command import CommandCall, CommandFailed
from server.automation.input_values import holds_bytes
from server.automation.run_dictionary import plain
from server.context import Context
from server.errors import Invalid
from server.template.values import pairs, printed

Result = TypeVar("Result")


def service_of(call: CommandCall, bytes_in: tuple[str, ...] = ()) -> Context:
    """Returns the context that a command acts in.

    bytes_in: inputs whose text may hold bytes that are not UTF-8. Raises CommandFailed without a service, Invalid for
    another input with such bytes."""
    ctx = call.run.host.ctx
    if ctx is None:
        raise CommandFailed(f"{call.node.type} needs a running service")
    for name, value in call.inputs.items():
        if name not in bytes_in and holds_bytes(value):
            raise Invalid(
                f"{call.node.type}: the input '{name}' has bytes that are not text; encode them, for example as base64",
                field=name,
            )
    return ctx


def changed(call: CommandCall, ctx: Context, work: Callable[[Context], Result]) -> Result:
    """Runs a function that changes records or rows and returns its result; rolled back in a dry run.

    With `disable_events`, the change publishes no events."""
    if call.inputs.get("disable_events"):
        ctx = replace(ctx, is_quiet=True)
    return ctx.service.store.rehearse(lambda tx: work(ctx)) if call.run.host.dry else work(ctx)


def instant(call: CommandCall, ctx: Context, name: str, otherwise: int) -> int:
    """Returns an input as Unix seconds: a number, or a time in words in the time zone of the run; 0 for never.

    Raises Invalid for a text that is not a time."""
    value = call.inputs[name]
    if value is None or value == "":
        return otherwise
    try:
        return times.instant(printed(value), ctx.now, times.zone(call.run.around.zone))
    except Invalid as error:
        raise Invalid(f"{call.node.type}: the input '{name}': {error.message}", field=name) from error


def words(value: Any) -> list[str]:
    """Splits a comma-separated text, or copies a list, without blank items."""
    parts = value.split(",") if isinstance(value, str) else [printed(each) for _, each in pairs(value)]
    return [each.strip() for each in parts if each.strip()]


def parameters(value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns a map of plain values for the `${name}` placeholders of a query."""
    return {str(key): plain(each) for key, each in (value or {}).items()}
