"""A package imported again with mode=update: its own changes are applied, changes of the desk are preserved."""

import json

import pytest

from server.errors import Conflict, Invalid, Required
from server.packages.baselines import PACKAGE_ENTRY, UPDATE
from server.packages.package_import import ImportResult, import_package
from tests.packages.parcel import TASK, Tree, counts, package, task
from tests.records.desk import Desk

SECRET = {"type": "text", "label": "Key", "key": "pw", "params": {"secret": True}}
EVENT = "svc.contexts.automation.event"
STEADY = ("activity_log", "package_import")


def update(
    desk: Desk, value: Tree, *, dry_run: bool = False, conflicts: str = "refuse", **answers: object
) -> ImportResult:
    return import_package(
        desk.context(), value, answers, grants_agreed=True, mode=UPDATE, conflicts=conflicts, dry_run=dry_run
    )


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that only this test's package has."""
    return request.node.name


def named(name: str, *records: Tree, **more: object) -> Tree:
    made = package(*records, **more)
    made["package"]["name"] = name
    return made


def the_changes(found: ImportResult, context: str = TASK, uid: str = "one") -> dict[str, Tree]:
    """Returns {field: change} of one entry."""
    kept = [{"field": name, "state": "kept"} for name in found.kept.get(context, {}).get(uid, {}).get("fields", [])]
    return {each["field"]: each for each in [*found.updated.get(context, {}).get(uid, {}).get("changes", []), *kept]}


def test_the_first_update_creates_everything_and_the_second_nothing(desk, name):
    parcel = named(name, task(), task("two", "About {{{uid.one}}}"))
    first = update(desk, parcel)
    assert set(first.records[TASK]) == {"one", "two"} and not first.updated
    before, entries = counts(desk), desk.read(lambda tx: tx.find(PACKAGE_ENTRY, package=name))
    second = update(desk, parcel)
    assert (second.records, second.updated, second.unchanged) == ({}, {}, 2)
    assert counts(desk) == before and desk.read(lambda tx: tx.find(PACKAGE_ENTRY, package=name)) == entries


@pytest.mark.parametrize(
    ("desks", "packages", "policy", "title", "state"),
    [
        ("Count", "Count", "refuse", "Count", None),
        ("Count", "Weigh", "refuse", "Weigh", "changed"),
        ("Ours", "Count", "refuse", "Ours", "kept"),
        ("Weigh", "Weigh", "refuse", "Weigh", None),
        ("Ours", "Weigh", "keep", "Ours", "kept"),
        ("Ours", "Weigh", "take", "Weigh", "overwritten"),
    ],
)
def test_which_change_takes_precedence(desks, packages, policy, title, state, desk, name):
    id = update(desk, named(name, task(completed=0))).records[TASK]["one"]["id"]
    desk.update("task", id, title=desks)
    newer = named(name, task(title=packages))
    rehearsed = update(desk, newer, conflicts=policy, dry_run=True)
    found = update(desk, newer, conflicts=policy)
    assert found.updated == rehearsed.updated and desk.row("task", id)["title"] == title
    assert the_changes(found).get("title", {}).get("state") == state
    again = update(desk, newer)  # the question is not repeated
    assert desk.row("task", id)["title"] == title and the_changes(again).get("title", {}).get("state") in (None, "kept")


def test_fields_changed_on_both_sides_are_all_refused_and_nothing_changes(desk, name):
    made = update(desk, named(name, task(), task("two", "Weigh"))).records[TASK]
    for uid in ("one", "two"):
        desk.update("task", made[uid]["id"], title=f"Ours {uid}")
    newer = named(name, task(title="Theirs"), task("two", "Theirs too"), task("three", "New"))
    before = counts(desk)
    with pytest.raises(Conflict) as caught:
        update(desk, newer)
    assert caught.value.details["conflicts"] == ["records: 'one': title", "records: 'two': title"]
    assert "conflicts=keep" in caught.value.message and counts(desk) == before
    rehearsed = update(desk, newer, dry_run=True)
    assert rehearsed.conflicts == caught.value.details["conflicts"]
    change = {"field": "title", "state": "conflict", "before": "Ours one", "after": "Theirs"}
    assert the_changes(rehearsed)["title"] == change


def test_values_removed_from_the_package_are_reset_and_records_stay(desk, name):
    made = update(desk, named(name, task(title="Count", due=1_900_000_000), task("two", "Weigh"))).records[TASK]
    found = update(desk, named(name, task(title="Count")))
    assert desk.row("task", made["one"]["id"])["due"] == 0
    assert desk.row("task", made["two"]["id"])["title"] == "Weigh"
    assert [note for note in found.notes if "'two' is no longer in the package" in note]


def test_a_record_deleted_here_is_created_again_and_references_follow(desk, name):
    parcel = named(name, task(), task("two", "About {{{uid.one}}}"))
    made = update(desk, parcel).records[TASK]
    desk.delete("task", made["one"]["id"])
    found = update(desk, parcel)
    new = found.records[TASK]["one"]["id"]
    assert new != made["one"]["id"] and desk.row("task", made["two"]["id"])["title"] == f"About {new}"
    assert the_changes(found, uid="two")["title"]["after"] == f"About {new}"


def test_answers_and_random_placeholders_are_stored_and_secrets_are_hidden(desk, name):
    prompts = [SECRET, {"type": "text", "label": "Shop", "key": "shop"}]
    random = [{"type": "random", "key": "code", "params": {"length": 9}}]
    headers = "      headers:\n        Authorization: Bearer {{{{{{pw}}}}}}\n"
    script = "start:\n  http.request/go:\n    output: found\n    inputs:\n      url: {url}\n" + headers
    entry = {
        "uid": "one", "_context": "automation", "name": "{{{shop}}}.{{{code|lower}}}",
        "extension_id": "svc.trigger.automation.function", "script": script.format(url="https://a.example"),
    }  # fmt: skip
    with pytest.raises(Required):
        update(desk, named(name, entry, prompts=prompts, placeholders=random))
    first = update(desk, named(name, entry, prompts=prompts, placeholders=random), pw="hush-3141", shop="larch")
    id = first.records["svc.contexts.automation"]["one"]["id"]
    was = desk.row("automation", id)
    newer = entry | {"script": script.format(url="https://b.example")}
    found = update(desk, named(name, newer, prompts=prompts, placeholders=random))
    now = desk.row("automation", id)
    assert now["name"] == was["name"] and now["script"] == was["script"].replace("a.example", "b.example")
    changed = the_changes(found, "svc.contexts.automation")
    assert changed.keys() == {"script"} and "hush" not in json.dumps(found.updated)
    assert "b.example" in changed["script"]["after"]
    update(desk, named(name, newer, prompts=prompts, placeholders=random), pw="hush-2718")
    assert "hush-2718" in desk.row("automation", id)["script"]


def test_entries_of_an_event_are_changed_one_by_one(desk, name):
    event = desk.found("automation_event", "name:record.changed")[0]
    for each in ("a", "b", "c"):
        desk.create("automation", name=f"{name[:20]}.{each}".replace("[", ".").replace("]", ""),
                    extension_id="svc.trigger.record.changed", script="start:\n")  # fmt: skip
    before = desk.row("automation_event", event)["automations_kata"]
    entry = "automation/{key}_{name}:\n  uri: svc:automation:{auto}\n  disabled@bool: {off}\n"

    def bound(**off: str) -> Tree:
        listed = [
            entry.format(
                key=key, name=name[:8], auto=f"{name[:20]}.{key}".replace("[", ".").replace("]", ""), off=state
            )
            for key, state in off.items()
        ]
        return named(name, events=[{"event": "record.changed", "kata": "\n".join(listed)}])

    update(desk, bound(a="no", b="no"))
    text = desk.row("automation_event", event)["automations_kata"]
    desk.update("automation_event", event, automations_kata=text + "\n# Mine\nautomation/mine:\n  uri: svc:automation:"
                + f"{name[:20]}.c".replace("[", ".").replace("]", "") + "\n")  # fmt: skip
    found = update(desk, bound(a="yes", c="no"))
    text = desk.row("automation_event", event)["automations_kata"]
    assert text.count("automation/") == before.count("automation/") + 3 and "# Mine\nautomation/mine:" in text
    assert f"automation/b_{name[:8]}" not in text and "disabled@bool: yes" in text
    states = {each["field"].split("_")[0]: each["state"] for each in found.updated[EVENT]["record.changed"]["changes"]}
    assert states == {"automation/a": "changed", "automation/b": "changed", "automation/c": "changed"}
    assert not update(desk, bound(a="yes", c="no")).updated
    update(desk, named(name))
    text = desk.row("automation_event", event)["automations_kata"]
    assert (
        text.strip() == f"{before.rstrip()}\n\n# Mine\nautomation/mine:{text.partition('automation/mine:')[2]}".strip()
    )


def test_settings_are_updated_by_name(desk, name):
    plugin = "svc.core"
    update(desk, named(name, settings={plugin: {"a": 1, "b": 1}}))
    found = update(desk, named(name, settings={plugin: {"a": 2, "b": 1, "c": 3}}))
    assert {each["field"]: each["state"] for each in found.updated["settings"][plugin]["changes"]} == {
        "a": "changed", "c": "changed",
    }  # fmt: skip
    assert not update(desk, named(name, settings={plugin: {"a": 2, "b": 1, "c": 3}})).updated


def test_an_import_with_only_known_records_treats_every_difference_as_a_conflict(desk, name):
    id = import_package(desk.context(), named(name, task()), {}).records[TASK]["one"]["id"]
    desk.store.write(lambda tx: tx.delete(PACKAGE_ENTRY, package=name))
    assert update(desk, named(name, task())).unchanged == 1
    desk.store.write(lambda tx: tx.delete(PACKAGE_ENTRY, package=name))
    with pytest.raises(Conflict):
        update(desk, named(name, task(title="Weigh")))
    update(desk, named(name, task(title="Weigh")), conflicts="take")
    assert desk.row("task", id)["title"] == "Weigh"


def test_an_update_is_logged_and_asks_only_for_new_grants(desk, name):
    script = "start:\n  record.create/t:\n    inputs:\n      record_type: task\n      fields:\n        title: {}\n"
    policy = "commands:\n  record.create:\n    allow@bool: yes\n"
    entry = {
        "uid": "one", "_context": "automation", "name": "grants.update", "policy_kata": policy,
        "extension_id": "svc.trigger.automation.function", "script": script.format("A"),
    }  # fmt: skip
    update(desk, named(name, entry))
    newer = named(name, entry | {"script": script.format("B")})
    found = import_package(desk.context(), newer, {}, mode=UPDATE)
    assert not found.granted and found.updated
    wider = entry | {"policy_kata": policy + "  record.delete:\n    allow@bool: yes\n"}
    with pytest.raises(Required, match=r"record\.delete"):
        import_package(desk.context(), named(name, wider), {}, mode=UPDATE)
    _, logged = [each for each in desk.log("package.updated") if name in json.dumps(each["params"])]
    assert "changed 1 record" in desk.acts()[-1] and logged["actor_id"] == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"mode": "replace"}, "mode: takes create or update"),
        ({"mode": "update", "conflicts": "both"}, "conflicts: takes refuse or keep or take"),
    ],
)
def test_an_unknown_mode_is_refused(more, message, desk):
    with pytest.raises(Invalid, match=message):
        import_package(desk.context(), package(task()), {}, **more)


def test_a_package_without_a_name_cannot_be_updated(desk):
    with pytest.raises(Invalid, match="name is missing"):
        update(desk, {"package": {}, "records": [task()]})
