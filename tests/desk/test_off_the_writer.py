"""Slow work is not done inside a write, where all other writes would wait for it."""

from typing import Any

import pytest

from server import mailroom
from server.automation.automation_service import perform
from server.automation.host import Script
from server.errors import Invalid, TimedOut
from server.record_types.shared import scopes
from server.records import event_publishing, records
from server.store.database import NotOnWriter
from server.store.transaction import slots
from tests.desk.conftest import Post
from tests.desk.mailroom import mail

SCRIPT = "start:\n  return:\n    ok@bool: yes\n"


def test_no_automation_runs_inside_a_write(desk: Post) -> None:
    ctx, automation = desk.context(), Script(SCRIPT, "", "slow", "svc.trigger.mail.filter")
    with pytest.raises(NotOnWriter):
        desk.service.store.write(lambda tx: perform(ctx, automation, {}))
    assert perform(ctx, automation, {}).returned


def test_no_automation_is_queried_inside_a_write(desk: Post) -> None:
    ctx = desk.context()

    def ask(_: Any = None) -> list[Any]:
        return list(event_publishing.automation_results(ctx, "mail.filter", dict))

    assert desk.service.store.write(ask) == []  # none is bound
    read_before = mailroom.quick(ctx, mail())
    assert read_before is not None
    binding = "automation/a:\n  uri: {{'svc:automation:a'}}\n"
    desk.create(
        "automation_event", name="mail.filter", extension_id="svc.trigger.mail.filter", automations_kata=binding
    )
    with pytest.raises(NotOnWriter):
        desk.service.store.write(ask)
    with pytest.raises(NotOnWriter):
        read_before()
    assert (
        event_publishing.is_bound(ctx, "mail.filter") and mailroom.quick(ctx, mail()) is None
    )  # a reader fills the cache


def test_the_search_of_an_upsert_is_bounded(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    table = desk.service.registry.type("org").table
    many = [(f"Kite {number} {'ab' * 120}",) for number in range(5000)]
    desk.service.store.write(lambda tx: tx.run_many(lambda: table.sql.insert(slots(table, ("name",))), many))
    monkeypatch.setattr(records, "UPSERT_STEPS", 1000)
    ctx, fields = desk.context(), {"name": "Larch"}
    with pytest.raises(TimedOut):
        records.upsert(ctx, "org", "name:*a*b*c* OR name:*d*e*f*", fields)
    assert desk.all("org", name="Larch") == []
    monkeypatch.undo()
    records.upsert(ctx, "org", "name:*a*b*c* OR name:*d*e*f*", fields)
    assert len(desk.all("org", name="Larch")) == 1


BOMB = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x, x]", *(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 10)}]"
                                              for n in range(8))]
)  # fmt: skip


@pytest.mark.parametrize("text", [BOMB, "one: &x\n  label: a", "one: [*x]", "- &x a", "&x one: a", "a: {b: *x}",
                                  "a: !!map &-x\n  b: c", "a: *-x", "a:\r *x", "a:\x85 *x", "a:\u2028 *x"])  # fmt: skip
def test_aliases_in_scopes_are_refused_before_they_grow(text: str) -> None:
    with pytest.raises(Invalid, match="anchors and aliases"):
        scopes.parse(text)


@pytest.mark.parametrize("pattern", ['"*"', "records/*", "'*'", "records/*/search: GET", '"*": [GET]'])
def test_patterns_are_not_aliases(pattern: str) -> None:
    assert scopes.parse(f"one:\n  label: Salt & pepper\n  endpoints:\n  - {pattern}\n")
