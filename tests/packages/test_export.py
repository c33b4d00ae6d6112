"""Export of records as packages: included records, prompts for others, omissions, and reimport."""

import json

import pytest

from server.errors import AdminOnly, HelpdeskError, Invalid, Required, TooLarge
from server.packages.package_export import export_package
from server.record_types.record_type import Record
from tests.packages.parcel import Tree, bring, package, task
from tests.packages.test_import import APP, BOT, CALENDAR, FIELDSET, PAGE, ids_of, on
from tests.records.desk import Desk

TRICKY = "{{{x}}} {{% y %}} {{# z #}} {{{{{{ }}} '\"\\ {{ok}}\r\n{{{\r\n}"


def export(desk: Desk, *records: str, by: int = 0) -> Tree:
    found = export_package(desk.context(by), records, "Mine")
    return json.loads(json.dumps(found))  # a file would contain this


def entries(exported: Tree) -> dict[str, Tree]:
    """Returns {uid: entry} of the records."""
    return {each["uid"]: each for each in exported["records"]}


def _without(record: Record, *names: str) -> Record:
    return {name: value for name, value in record.items() if name not in names}


def test_related_records_are_imported_again(desk):
    made = ids_of(bring(desk, package(
        task("one"), workspaces=[PAGE], calendars=[CALENDAR], bots=[BOT | {"params": {"a": "{b"}}],
    )))  # fmt: skip
    sent = export(desk, f"page:{made['page']}", f"calendar:{made['hours']}", f"bot:{made['bot']}")
    again = ids_of(bring(desk, sent))
    assert len(again) == len(sent["records"]) + 2  # the bot, its behavior
    for uri, column, uid, name in (
        ("workspace_tab", "page_id", "page", "workspace_page"), ("calendar_event", "calendar_id", "hours", "calendar"),
        ("calendar_event_recurring", "calendar_id", "hours", "calendar"), ("behavior", "bot_id", "bot", "bot"),
    ):  # fmt: skip
        old = on(desk, uri, **{column: made[uid]})
        new = on(desk, uri, **{column: again[f"{name}_{made[uid]}"]})
        assert old and [_without(each, "id", column) for each in old] == [_without(each, "id", column) for each in new]
    tab, lists = on(desk, "workspace_tab", page_id=again[f"workspace_page_{made['page']}"])
    assert len(on(desk, "workspace_widget", tab_id=tab["id"])) == 1
    assert on(desk, "workspace_list", tab_id=lists["id"])[0]["render_sort"] == {"subject": True}
    assert desk.row("bot", again[f"bot_{made['bot']}"])["config"] == {"a": "{b"}


def test_a_fieldset_is_exported_with_its_fields(desk):
    made = ids_of(bring(desk, package(custom_fieldsets=[FIELDSET])))
    sent = export(desk, f"fieldset:{made['set']}")
    desk.delete("custom_fieldset", made["set"])
    again = ids_of(bring(desk, sent))
    (field,) = on(desk, "custom_field", custom_fieldset_id=again[f"custom_fieldset_{made['set']}"])
    assert (field["name"], field["uri"]) == ("Serial", "serial")


@pytest.mark.parametrize("text", [TRICKY, "{{{", "a{{%b", "plain {{x}}"])
def test_texts_are_imported_unchanged(text, desk):
    snippet = desk.create("snippet", title="T", content=text, **APP)["id"]
    (again,) = ids_of(bring(desk, export(desk, f"snippet:{snippet}"))).values()
    assert desk.row("snippet", again)["content"] == text


def test_records_outside_the_export_become_prompts(desk, ids):
    snippet = desk.create("snippet", title="T", content="C", owner__context="worker", owner_id=ids["milo"])["id"]
    sent = export(desk, f"snippet:{snippet}")
    (asked,) = sent["package"]["configure"]["prompts"]
    key = f"worker_{ids['milo']}"
    assert asked == {
        "type": "chooser", "label": "Worker: Milo", "key": key,
        "params": {"context": "svc.contexts.worker", "query": "", "single": True},
    }  # fmt: skip
    with pytest.raises(Required, match="Worker: Milo"):
        bring(desk, sent)
    (again,) = ids_of(bring(desk, sent, **{key: str(ids["olga"])})).values()
    assert desk.row("snippet", again)["owner_id"] == ids["olga"]


def test_secrets_and_counts_are_not_exported(desk):
    hook = desk.create("webhook_listener", name="H", guid="0123456789abcdef-secret")["id"]
    snippet = desk.own("snippet", title="T", content="C", owner__context="svc.contexts.app", total_uses=7)
    sent = export(desk, f"webhook:{hook}", f"snippet:{snippet}")
    assert "secret" not in json.dumps(sent) and sent["package"]["requires"]["plugins"] == ["svc.webhooks"]
    again = ids_of(bring(desk, sent))
    guid = desk.row("webhook_listener", again[f"webhook_listener_{hook}"])["guid"]
    assert guid and "secret" not in guid
    assert "total_uses" not in entries(sent)[f"snippet_{snippet}"]


def test_records_of_a_custom_type_are_exported_with_it(desk):
    kind = desk.create("custom_record", name="Boat", name_plural="Boats", uri="boat")
    boat = desk.create("boat", name="B-1")["id"]
    fields = desk.create("custom_fieldset", name="Hull", context="boat", **APP)["id"]
    sent = export(desk, f"boat:{boat}", f"custom_record:{kind['id']}", f"custom_fieldset:{fields}")
    assert entries(sent)[f"custom_fieldset_{fields}"]["context"] == (
        f"svc.contexts.custom_record.{{{{{{uid.custom_record_{kind['id']}}}}}}}"
    )
    for uri, id in (("boat", boat), ("custom_fieldset", fields), ("custom_record", kind["id"])):
        desk.delete(uri, id)
    again = ids_of(bring(desk, sent))
    assert again[f"boat_{boat}"] == 1 and desk.found("boat", "b") == [1]
    new = again[f"custom_record_{kind['id']}"]
    assert on(desk, "custom_fieldset", name="Hull")[0]["context"] == f"svc.contexts.custom_record.{new}"


@pytest.mark.parametrize(
    ("records", "error", "words"),
    [
        ([], Required, "records is required"),
        (["snippet:99999"], Invalid, "there is no snippet 99999"),
        (["snippet"], Invalid, "'snippet' is not <type>:<id>"),
        (["worker:1"], Invalid, "workers cannot be exported"),
        (["message:1"], Invalid, "cannot be exported"),
        (["snippet:1"] * 1001, TooLarge, "at most 1000 records"),
    ],
)
def test_impossible_exports_are_reported(records, error, words, desk):
    with pytest.raises(error) as caught:
        export(desk, *records)
    assert words in caught.value.message


def test_the_records_of_a_package_are_limited_including_their_children(desk, monkeypatch):
    made = ids_of(bring(desk, package(task("one"), workspaces=[PAGE])))
    monkeypatch.setattr("server.packages.package_export.MAX_EXPORTED", 5)
    with pytest.raises(TooLarge):
        export(desk, f"page:{made['page']}")


def test_only_administrators_export(desk, ids):
    for name in ("milo", "olga"):
        with pytest.raises(AdminOnly):
            export(desk, "snippet:1", by=ids[name])
    with pytest.raises(HelpdeskError, match="no snippet"):
        export(desk, "snippet:98765", by=ids["nora"])
