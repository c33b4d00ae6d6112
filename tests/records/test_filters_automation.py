"""Searches of the types of automation."""

import pytest

from server.record_types.registry import load

FAMILY = "automation"
REGISTRY = load()


@pytest.mark.parametrize(
    ("uri", "q", "finds"),
    [
        ("bot", "pump", True),
        ("bot", "disabled:no", True),
        ("bot", "disabled:yes", False),
        ("bot", "mentionName:pum", True),
        ("bot", "owner:app", True),
        ("bot", "owner.worker:(firstName:nora)", False),
        ("bot", "owner.bot:(id:>0)", False),
        ("behavior", "bot:(name:pump)", True),
        ("behavior", "bot:(name:nora)", False),
        ("behavior", "bot.id:1", True),
        ("behavior", "event:event.api.custom_request", True),
        ("behavior", "event:event.api", False),
        ("behavior", "private:yes", False),
        ("behavior", "uri:pump_status", True),
        ("behavior", "links:none", True),
        ("automation", "trigger:[svc.trigger.webhook.respond,x]", True),
        ("automation", "trigger:svc.trigger.mail.sent", False),
        ("automation", "watchers:(firstName:olga)", True),
        ("automation", "name:answer", True),
        ("automation_event", "extension:svc.trigger.mail.received", True),
        ("automation_event", "extension:svc.trigger.mail", False),
        ("toolbar", "extension:svc.toolbar.mail.compose", True),
        ("automation_timer", "isRecurring:yes lastRanAt:never", True),
        ("automation_timer", 'nextRunAt:"-1 day to +1 day"', True),
        ("automation_timer", "nextRunAt:never", False),
        ("automation_resource", "mimetype:image", True),
        ("automation_resource", "size:0", True),
        ("webhook_listener", "guid:no-such", False),
        ("connected_service", "type:oauth2 uri:stock", True),
        ("connected_account", "service:(name:Stock)", True),
        ("connected_account", "service.id:null", False),
        ("connected_account", "owner:bot", True),
        ("connected_account", "owner.bot:(name:pump)", True),
        ("connected_account", "owner.bot:(name:nora)", False),
        ("connected_account", "created:today", True),
        ("connected_account", "created:never", False),
        ("package", "point:auto uri:pump", True),
        ("package", "fieldset:(id:>0)", False),
        ("package", "description:about", True),
    ],
)
def test_filters_find_the_described_records(filled, uri, q, finds):
    desk, made = filled
    if uri == "automation_resource":  # only searchable through other types
        ids = desk.read(lambda tx: desk.search(tx, uri, q).ids(9))
    else:
        ids = desk.found(uri, q)
    assert (made[uri] in ids) is finds


def test_a_bot_may_use_its_own_behaviors_and_those_that_its_owners_bots_share(filled):
    desk, made = filled
    every = {made[name] for name in ("behavior", "Secret", "Open")}
    assert set(desk.found("behavior", f"usableBy.bot:{made['bot']}")) == every
    # Nora's bot: its own two, and one shared by the bot of the service
    others = {made[name] for name in ("Open", "Own", "behavior")}
    assert set(desk.found("behavior", f"usableBy.bot:{made['other']}")) == others
    assert desk.found("behavior", "usableBy.bot:99") == []


@pytest.mark.parametrize(
    ("q", "messages"),
    [
        ("level:error", ["no pump"]),
        ("level:3", ["no pump"]),
        ("level:[warning,error]", ["no pump"]),
        ("level:!debug", ["no pump"]),
        ("automation:pump.answer", ["no pump", "pump found"]),
        ("automation:PUMP.*", ["no pump", "pump found"]),
        ("automation:pump", []),
        ('automation:(name:pump.answer node:"start:*")', ["no pump", "pump found"]),
        ('automation:(name:x OR node:"start:log") level:debug', ["pump found"]),
        ("automation:(node:start)", []),
        ("automation:!(name:pump.answer)", []),
        ("message:pump*", ["pump found"]),
        ('message:"NO PUMP"', ["no pump"]),
        ("created:today", ["no pump", "pump found"]),
        ("id:>1000", []),
    ],
)
def test_the_automation_log_is_searched(filled, q, messages):
    desk, _ = filled
    record_type = REGISTRY.type("automation_log")

    def run(tx):
        return [record_type.record(row)["message"] for row in desk.search(tx, "automation_log", q).rows(9)]

    assert desk.read(run) == messages
