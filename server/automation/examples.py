"""Examples of automations: stored inputs with the outcome of a simulated run.

After a change, they show whether the automation still behaves the same. Examples are only ever simulated."""

import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any

from server.automation import automation_service
from server.automation.engine import RunResult
from server.automation.host import Script
from server.automation.run_dictionary import plain
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, Invalid, NotFound, Required, TooLarge
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import _, ngettext

DOING = "work with the examples of automations"  # completes the message of AdminOnly

MAX_EXAMPLES = 20  # per automation
MAX_NAME_CHARS = 100
MAX_VALUES_CHARS = 256 * 1024  # length of the values as JSON
MAX_OUTCOME_CHARS = 20_000  # stored characters of an outcome; the rest is stored as a digest
CHECK_SECONDS = 10.0  # limit for checking all examples of an automation together

EXAMPLE = Table(
    "automation_example",
    [
        Column("automation_id", references="automation(id)"),
        Column("name", "TEXT", nocase=True),
        Column("given", "TEXT"),
        Column("outcome", "TEXT"),
        Column("kept_at"),
    ],
    [Index(("automation_id", "name"), "the examples of an automation, by name", unique=True)],
)  # given: the dictionary as JSON. outcome: as returned by outcome()


@dataclass(frozen=True, slots=True)
class Example:
    """An example. given: the initial dictionary of the run. outcome: when the example was stored."""

    id: int
    name: str
    given: dict[str, Any]
    outcome: str
    kept_at: int


@dataclass(frozen=True, slots=True)
class ExampleCheck:
    """The check of an example. outcome: of the new run, "" if no time was left to run it."""

    example: Example
    outcome: str

    @property
    def is_changed(self) -> bool:
        return bool(self.outcome) and self.outcome != self.example.outcome


def outcome(result: RunResult) -> str:
    """Returns the result of a run as a text that can be compared.

    >>> print(outcome(RunResult("return", {"a": 1})))
    state: return
    {
     "a": 1
    }"""
    reason = f": {result.message}" if result.message else ""
    returned = json.dumps(plain(result.returned), ensure_ascii=False, indent=1, default=str)
    text = f"state: {result.state}{reason}\n{returned}"
    if len(text) <= MAX_OUTCOME_CHARS:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"{text[:MAX_OUTCOME_CHARS]}\n… (cut; of the whole: SHA-256 {digest})"


def list_examples(ctx: Context, automation_id: int) -> list[Example]:
    """Returns the examples of an automation, by name. Raises AdminOnly."""
    ctx.require_admin(DOING)
    rows = ctx.service.store.read(lambda tx: tx.find(EXAMPLE, automation_id=automation_id))
    return sorted(map(_example, rows), key=lambda each: each.name.lower())


def find(ctx: Context, automation_id: int, id: int) -> Example:
    """Returns an example of an automation. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)
    row = ctx.service.store.read(lambda tx: tx.first(EXAMPLE, id=id, automation_id=automation_id))
    if row is None:
        raise NotFound(f"automation {automation_id} has no example {id}; it may have been deleted")
    return _example(row)


def keep(ctx: Context, automation_id: int, name: str, values: Mapping[str, Any], result: RunResult) -> int:
    """Stores an example with the outcome of a simulated run and returns its id; replaces one of the same name.

    Raises AdminOnly, NotFound, Required for a missing name, Invalid for one that is too long, TooLarge for values
    beyond MAX_VALUES_CHARS, Conflict above MAX_EXAMPLES."""
    ctx.require_admin(DOING)
    if not name:
        raise Required("Give the example a name.", field="example_name")
    if len(name) > MAX_NAME_CHARS:
        raise Invalid(f"The name has {len(name)} characters, at most {MAX_NAME_CHARS}.", field="example_name")
    text = json.dumps(values)
    if len(text) > MAX_VALUES_CHARS:
        raise TooLarge(
            f"an example stores at most {MAX_VALUES_CHARS:,} characters of values; these are {len(text):,}",
            limit=MAX_VALUES_CHARS,
        )
    row = {"given": text, "outcome": outcome(result), "kept_at": ctx.now}
    table = ctx.service.registry.type("automation").table

    def write(tx: Transaction) -> int:
        if tx.get(table, automation_id) is None:
            raise NotFound(f"there is no automation {automation_id}")
        present = tx.first(EXAMPLE, automation_id=automation_id, name=name)
        if present is not None:
            tx.update(EXAMPLE, present[0], row)
            return int(present[0])
        if len(tx.find(EXAMPLE, automation_id=automation_id)) >= MAX_EXAMPLES:
            raise Conflict(f"an automation has at most {MAX_EXAMPLES} examples; remove one first", field="example_name")
        return tx.insert(EXAMPLE, {"automation_id": automation_id, "name": name, **row})

    return ctx.service.store.write(write)


def remove(ctx: Context, automation_id: int, id: int) -> Example:
    """Deletes an example and returns it. Raises AdminOnly, NotFound."""
    example = find(ctx, automation_id, id)
    ctx.service.store.write(lambda tx: tx.delete(EXAMPLE, id=id))
    return example


def check(ctx: Context, automation: Script, stored: list[Example]) -> list[ExampleCheck]:
    """Runs examples again, as simulations, for at most CHECK_SECONDS in all."""
    checks = []
    ends_at = time.monotonic() + CHECK_SECONDS
    for each in stored:
        seconds_left = ends_at - time.monotonic()
        result = simulate(ctx, automation, each.given, seconds=seconds_left) if seconds_left > 0 else None
        is_over = result is None or (result.state == "error" and time.monotonic() >= ends_at)
        checks.append(ExampleCheck(each, "" if is_over or result is None else outcome(result)))
    return checks


def results(checks: list[ExampleCheck]) -> list[str]:
    """Returns the results of checks in sentences; [] if there are no examples."""
    if not checks:
        return []
    changed, missed = sum(each.is_changed for each in checks), sum(not each.outcome for each in checks)
    sentences = []
    if changed:
        sentences.append(
            ngettext(
                "{changed} of {count} example has a different result.",
                "{changed} of {count} examples have a different result.",
                len(checks),
                changed=changed,
            )
        )
    if missed:
        sentences.append(
            ngettext("{count} was not run because time ran out.", "{count} were not run because time ran out.", missed)
        )
    return sentences or [_("All examples have the same result as before.")]


def simulate(
    ctx: Context,
    automation: Script,
    initial: Mapping[str, Any],
    *,
    traced: int = 0,
    state_at: int = 0,
    seconds: float | None = None,
    stop_code: str = "",
) -> RunResult:
    """Runs an automation without writing or sending anything; `on_simulate` branches supply the results. Otherwise like
    service.perform()."""
    values = {**initial, "__simulate": True}
    return automation_service.perform(
        ctx, automation, values, dry=True, traced=traced, state_at=state_at, seconds=seconds, stop_code=stop_code
    )


def _example(row: tuple[Any, ...]) -> Example:
    values = dict(zip(EXAMPLE.names, row, strict=True))
    return Example(values["id"], values["name"], json.loads(values["given"]), values["outcome"], values["kept_at"])
