"""Automations, events, timers, resources, toolbars and packages: refusals, defaults, storage and truncation."""

import re

import pytest

from server.automation import log_search, recurrence
from server.automation.types import automation_event
from server.automation.types.automation import declared_inputs
from server.errors import AdminOnly, Conflict, Forbidden, Invalid, NotOffered, Required
from server.first_start import builtin_records
from server.record_types import toolbar
from server.record_types.shared.triggers import EVENTS, OTHERS, TRIGGERS, trigger_label
from tests.records.desk import NOW

WEBHOOK = "svc.trigger.webhook.respond"
DAY = 86400


# -- automations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"extension_id": "svc.trigger.unknown"}, Invalid, "extension_id"),
        ({"extension_id": ""}, Required, "extension_id"),
        ({"name": ""}, Required, "name"),
        ({"name": "two words"}, Invalid, "name"),
        ({"name": "a" * 256}, Invalid, "name"),
        ({"name": "Depot.Intake"}, Conflict, "name"),
        ({"description": "a" * 256}, Invalid, "description"),
        ({"extension_params": {}}, Invalid, "extension_params"),
    ],
)
def test_invalid_automations_are_refused(desk, fields, error, field):
    desk.create("automation", name="depot.intake", extension_id=WEBHOOK)
    with pytest.raises(error, match=field):
        desk.create("automation", **{"name": "other", "extension_id": WEBHOOK} | fields)


def test_an_automation_without_a_name_gets_a_unique_one(desk):
    names = {desk.create("automation", extension_id=each)["name"] for each in TRIGGERS[:3]}
    assert len(names) == 3 and all(re.fullmatch(r"automation\.[a-z0-9]{16}", name) for name in names)


def test_script_and_policy_are_stored_literally_and_the_script_is_shown_on_request(desk):
    script, policy = "# \N{KITE}\r\n\n start:\n" + "#" * 100_000, "\ncommands:\r\n"
    made = desk.create("automation", name="a.b", extension_id=WEBHOOK, script=script, policy_kata=policy)
    assert "script" not in made and made["policy_kata"] == policy
    shown = desk.record("automation", made["id"], expand="script,inputs,outputs")
    assert (shown["script"], shown["inputs"], shown["outputs"]) == (script, {}, {})


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("", {}),
        ("start:\n  text/a:\n", {}),
        ("inputs:\n  text/a:\n    required@bool: yes\n  records/b:\nstart:\n  text/c:", {"a": "text", "b": "records"}),
        ("\ninputs:\n# a remark\n\n    array/a:\n      default@json:\n        text/b:\n", {"a": "array"}),
        ("start:\ninputs:\n  text/a@x:\n  text/a:\n", {}),
        ("&more:\n  array/b:\ninputs@ref: more\nstart:", {"b": "array"}),
        ("inputs:\n  text/a:\n    default@text:\n    text/b:\n  text/:\n  text:\n", {"a": "text"}),
        ("inputs: none\n  text/a:\n", {}),
    ],
)
def test_declared_inputs_are_read_from_the_script(script, names):
    assert declared_inputs(script) == {name: {"key": name, "type": kind} for name, kind in names.items()}


def test_everyone_reads_automations_and_administrators_write_them(desk, ids):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    id = desk.create("automation", by=ids["nora"], name="a", extension_id=WEBHOOK)["id"]
    assert desk.record("automation", id, by=ids["olga"])["name"] == "a"
    for change in (
        lambda: desk.create("automation", by=ids["olga"], name="b", extension_id=WEBHOOK),
        lambda: desk.update("automation", id, by=ids["olga"], script="start:"),
        lambda: desk.delete("automation", id, by=ids["olga"]),
    ):
        with pytest.raises(AdminOnly):
            change()


# -- built-in records --------------------------------------------------------------------------------------------------


def test_built_in_records_are_added_once_and_changes_stay(desk):
    builtin_records.add_missing(desk.context())
    events = [desk.row("automation_event", id)["name"] for id in desk.found("automation_event", "")]
    assert events == list(automation_event.EVENTS)
    assert {f"svc.trigger.{name}" for name in events} <= set(TRIGGERS)
    gone, changed = desk.found("toolbar", "name:mail.read")[0], desk.found("toolbar", "name:mail.reply")[0]
    desk.update("toolbar", changed, description="Mine", toolbar_kata="interaction/a:")
    desk.store.write(lambda tx: tx.delete(desk.registry.type("toolbar").table, id=gone))
    builtin_records.add_missing(desk.context())
    builtin_records.add_missing(desk.context())
    names = [desk.row("toolbar", id)["name"] for id in desk.found("toolbar", "")]
    assert sorted(names) == sorted(toolbar.PLACES)
    shown = desk.record("toolbar", changed)
    assert (shown["description"], shown["toolbar_kata"]) == ("Mine", "interaction/a:")


@pytest.mark.parametrize(("uri", "kata"), [("automation_event", "automations_kata"), ("toolbar", "toolbar_kata")])
def test_built_in_records_cannot_be_renamed_created_or_deleted(desk, ids, uri, kata):
    builtin_records.add_missing(desk.context())
    id = desk.found(uri, "name:mail")[0]
    before, by = desk.record(uri, id), ids["nora"]
    after = desk.update(uri, id, by=by, name=before["name"], **{kata: "automation/a:", "description": "New"})
    assert (after["description"], desk.row(uri, id)[kata]) == ("New", "automation/a:")
    for field, value in (("name", "mail.other"), ("extension_id", "svc.trigger.mail.sent.x")):
        with pytest.raises(Invalid, match=f"{field}: must stay"):
            desk.update(uri, id, by=by, **{field: value})
    with pytest.raises(Invalid, match=kata):
        desk.update(uri, id, by=by, **{kata: "a" * 65536})
    with pytest.raises(Forbidden, match="cannot be created"):
        desk.create(uri, by=by, name="mail.other", extension_id="x")
    with pytest.raises(Forbidden, match="cannot be deleted"):
        desk.delete(uri, id, by=by)
    with pytest.raises(AdminOnly):
        desk.update(uri, id, by=ids["olga"], description="Mine")


def test_bindings_of_events_and_timers_are_not_shown(desk):
    builtin_records.add_missing(desk.context())
    timer = desk.create("automation_timer", name="T", automations_kata="automation/a:")
    event = desk.update("automation_event", 1, automations_kata="automation/a:")
    assert "automations_kata" not in timer and "automations_kata" not in event


def test_only_the_service_adds_packages(desk, ids):
    id = desk.own("package", name="Pumps", uri="Pump_Set", point="automation")
    with pytest.raises(Forbidden, match="cannot be created"):
        desk.create("package", by=ids["nora"], name="P", uri="p", point="x")
    assert desk.record("package", id, by=ids["olga"])["uri"] == "pump_set"
    assert desk.update("package", id, by=ids["nora"], uri="NEW")["uri"] == "new"
    for fields, error, field in (
        ({"uri": "with-dash"}, Invalid, "uri"), ({"uri": ""}, Required, "uri"), ({"uri": "a" * 65}, Invalid, "uri"),
        ({"point": ""}, Required, "point"), ({"name": ""}, Required, "name"),
    ):  # fmt: skip
        with pytest.raises(error, match=field):
            desk.update("package", id, by=ids["nora"], **fields)
    with pytest.raises(AdminOnly):
        desk.delete("package", id, by=ids["olga"])
    desk.delete("package", id, by=ids["nora"])


# -- timers and resources ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "* * * * *", "*/15 9-17 * * mon-fri", "0,30 8 1,15 jan-mar 0", "0 0 l * *", "0 0 15w * *", "0 0 lw * *",
        "0 9 * * 5#2", "0 9 * * friL", "5/10 * * * 7", "@hourly", "@Daily", "@midnight", "@weekly", "@monthly",
        "@yearly", "@annually", "", "# at night\n\n0 3 * * *\n",
    ],
)  # fmt: skip
def test_patterns_of_times_are_read(pattern):
    recurrence.check(pattern, "recurring_patterns")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("0 9 * *", "line 1: a pattern has 5 parts"),
        ("0 9 * * * *", "5 parts"),
        ("@noon", "is one of @annually"),
        ("0 3 * * *\n60 * * * *", "line 2: '60' is no minute"),
        ("* 24 * * *", "'24' is no hour"),
        ("* * 0 * *", "'0' is no day of month"),
        ("* * 32w * *", "'32w' is no day of month"),
        ("* * * 13 *", "'13' is no month"),
        ("* * * foo *", "'foo' is no month"),
        ("* * * * 8", "'8' is no day of week"),
        ("* * * * 5#6", "'5#6' is no day of week"),
        ("mon * * * *", "'mon' is no minute"),
        ("*/0 * * * *", "'\\*/0' is no minute"),
        ("30-10 * * * *", "'30-10' is no minute"),
        ("1, * * * *", "'' is no minute"),
        ("? * * * *", "is no minute"),
        ("-5 * * * *", "is no minute"),
        ("5-*/2 * * * *", "is no minute"),
    ],
)
def test_invalid_patterns_are_refused_with_their_line(desk, pattern, problem):
    with pytest.raises(Invalid, match=f"recurring_patterns: .*{problem}"):
        desk.create("automation_timer", name="T", recurring_patterns=pattern)


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"name": ""}, Required, "name"),
        ({"recurring_timezone": "Europe/Nowhere"}, Invalid, "recurring_timezone"),
        ({"is_recurring": "2"}, Invalid, "is_recurring"),
        ({"next_run_at": "blurb"}, Invalid, "next_run_at"),
        ({"automations_kata": "a" * 65536}, Invalid, "automations_kata"),
    ],
)
def test_invalid_timers_are_refused(desk, fields, error, field):
    with pytest.raises(error, match=field):
        desk.create("automation_timer", **{"name": "T"} | fields)


def test_resources_are_fetched_by_a_token_that_cannot_be_guessed(desk, ids):
    tokens = [desk.create("automation_resource", name="a.png")["token"] for _ in range(20)]
    assert len(set(tokens)) == 20 and all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", t) for t in tokens)
    made = desk.create("automation_resource", token="", name="b")
    assert desk.update("automation_resource", made["id"], token="")["token"] == made["token"] == made["_label"]
    for fields, error, field in (
        ({"token": "a b"}, Invalid, "token"), ({"token": tokens[0]}, Conflict, "token"), ({"size": 5}, Invalid, "size"),
        ({"expires_at": 5}, Invalid, "expires_at"), ({"storage_key": "x"}, Invalid, "storage_key"),
    ):  # fmt: skip
        with pytest.raises(error, match=field):
            desk.update("automation_resource", made["id"], **fields)
    with pytest.raises(NotOffered):
        desk.found("automation_resource", "")
    with pytest.raises(Forbidden):
        desk.record("automation_resource", made["id"], by=ids["milo"])


# -- the log -----------------------------------------------------------------------------------------------------------


def log(desk, message="Hello", level=7, **more):
    return desk.own("automation_log", automation_name="a.b", level=level, message=message, **more)


def test_entries_are_dated_and_long_texts_are_cut(desk):
    id = log(desk, "x" * 3000, automation_node="n" * 2000)
    row = desk.row("automation_log", id)
    assert (row["created_at"], len(row["message"]), len(row["automation_node"])) == (NOW, 1024, 1024)
    with pytest.raises(Invalid, match="level"):
        log(desk, level=8)


def test_entries_cannot_be_created_changed_or_deleted(desk, ids):
    id, by = log(desk), ids["nora"]
    for change in (
        lambda: desk.create("automation_log", by=by, message="x"),
        lambda: desk.update("automation_log", id, by=by),
        lambda: desk.delete("automation_log", id, by=by),
    ):
        with pytest.raises(Forbidden):
            change()
    with pytest.raises(NotOffered):
        desk.record("automation_log", id, by=by)
    assert desk.found("automation_log", "", by=by) == [id]
    assert desk.found("automation_log", "", by=ids["milo"]) == []


def test_beyond_the_limit_the_oldest_entries_are_deleted(desk, monkeypatch):
    monkeypatch.setattr(log_search, "MAX_KEPT", 2)
    ids = [log(desk) for _ in range(5)]
    log_search.forget_old(desk.service, NOW)
    assert desk.found("automation_log", "") == ids[-2:]


def test_entries_are_deleted_after_fourteen_days(desk):
    old = [log(desk, created_at=NOW - 14 * DAY - 1) for _ in range(3)]
    kept = [log(desk, created_at=NOW - 14 * DAY), log(desk)]
    log_search.forget_old(desk.service, NOW)
    assert desk.found("automation_log", "") == kept and old


def test_every_trigger_has_a_label() -> None:
    assert all(each.label for each in (EVENTS | OTHERS).values())
    assert trigger_label("svc.trigger.mail.received") == "When an email arrives"
    assert trigger_label("svc.trigger.of.a.package") == "of.a.package"
