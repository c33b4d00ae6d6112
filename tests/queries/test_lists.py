"""Data queries that list parts of the program: record types, fields, query types, extensions, icons."""

import pytest

from server.errors import BadDataQuery
from server.queries.icon_names import ICONS
from tests.records.desk import Desk

TASK = {"id": "svc.contexts.task", "uri": "task", "label_singular": "Task", "label_plural": "Tasks"}


def test_record_types_are_listed_with_their_names(ask, desk: Desk) -> None:
    result = ask("type:record.types")
    assert [each["uri"] for each in result["data"]] == desk.registry.uris()
    assert TASK in result["data"]
    assert result["_"] == {"type": "record.types", "format": "dictionaries"}


def test_record_types_are_found_by_a_part_of_their_name_in_any_case(ask) -> None:
    assert ask("type:record.types filter:tASk")["data"] == [TASK]
    assert ask("type:record.types filter:nothing-like-it")["data"] == []


def test_record_types_with_several_options_have_them_all(ask, desk: Desk) -> None:
    found = {each["uri"] for each in ask("type:record.types options:[comments,avatars]")["data"]}
    assert found == {each.uri for each in desk.registry if {"comments", "avatars"} <= each.features}
    assert "contact" in found and "task" not in found


def test_all_record_types_are_records(ask, desk: Desk) -> None:
    found = [each["uri"] for each in ask("type:record.types options:[records]")["data"]]
    assert found == desk.registry.uris()
    both = {each["uri"] for each in ask("type:record.types options:[records,comments]")["data"]}
    assert both == {each.uri for each in desk.registry if "comments" in each.features}


def test_paging_is_reported_only_with_a_limit(ask) -> None:
    everything = ask("type:record.types")["data"]
    result = ask("type:record.types limit:3 page:1")
    assert result["data"] == everything[3:6]
    page = result["_"]["paging"]["page"]
    assert (page["index"], page["prev"], page["next"], page["rows"]["of"]) == (1, 0, 2, len(everything))
    assert (page["rows"]["from"], page["rows"]["to"]) == (4, 6)
    assert ask("type:record.types page:1")["data"] == []


def test_fields_of_a_record_type_are_a_map(ask) -> None:
    result = ask("type:record.fields of:tasks filter:title")
    assert result["data"]["title"] == {
        "key": "title", "type": "text", "is_required": True, "is_immutable": False,
        "notes": result["data"]["title"]["notes"],
    }  # fmt: skip
    assert list(result["data"]) == ["title"] and result["data"]["title"]["notes"]
    assert ask("type:record.fields of:task filter:id limit:1")["data"].keys() == {"id"}
    assert ask("type:record.fields of:task")["data"]["id"]["is_immutable"] is True


def test_custom_fields_are_listed_one_by_one(ask, desk: Desk) -> None:
    tier = {"name": "Tier", "uri": "service_tier", "type": "D", "params": {"options": ["Gold"]}}
    desk.create("custom_field", context="task", **tier)
    desk.create("custom_field", context="org", **tier | {"uri": "tier_of_org"})
    assert ask("type:record.fields of:task filter:tier")["data"] == {
        "service_tier": {
            "key": "service_tier", "type": "Picklist", "is_required": False, "is_immutable": False, "notes": "Tier",
        }
    }  # fmt: skip
    assert "custom_<id>" not in ask("type:record.fields of:task")["data"]


def test_query_types_are_those_that_are_answered(ask) -> None:
    found = ask("type:data.query.types")["data"]
    assert found["record.types"] == {"name": "record.types", "description": "The record types, with their names."}
    known = {"worklist.records", "worklist.series", "sample.xy", "attachment.manifest", "automation.invoke"}
    assert known <= found.keys()
    assert not {"classifier.prediction", "gpg.keyinfo"} & found.keys()


@pytest.mark.parametrize(
    ("point", "part"),
    [
        ("svc.mail.transport", {"id": "core.mail.transport.smtp", "name": "SMTP"}),
        ("svc.custom_field", {"id": "svc.custom_field.slider", "name": "Slider"}),
        ("svc.automation.trigger", {"id": "svc.trigger.webhook.respond", "name": "Webhook respond"}),
        ("svc.context", {"id": "svc.contexts.task", "name": "Task", "params": {"uri": "task"}}),
        ("svc.context", {"id": "svc.contexts.opportunity", "plugin_id": "svc.crm"}),
        ("svc.record.field", {"id": "text", "name": "Text"}),
        ("svc.data.query.type", {"id": "record.types"}),
        ("svc.activity.point", {"id": "task.created", "name": "Task created"}),
    ],
)
def test_an_extension_point_lists_what_the_program_has(ask, point: str, part: dict[str, object]) -> None:
    result = ask(f"type:platform.extensions point:{point}")
    found = {each["id"]: each for each in result["data"]}[part["id"]]
    assert found.keys() == {"id", "name", "class", "plugin_id", "params"}
    assert found | part == found


def test_every_extension_point_can_be_asked_for(ask) -> None:
    points = ask("type:platform.extension.points")["data"]
    assert all(each.keys() == {"id", "name", "class"} for each in points)
    assert all(ask(f"type:platform.extensions point:{each['id']}")["data"] for each in points)
    assert [each["id"] for each in ask("type:platform.extension.points filter:mail")["data"]] == ["svc.mail.transport"]
    result = ask("type:platform.extensions point:svc.mail.transport limit:1 page:1")
    assert [each["id"] for each in result["data"]] == ["core.mail.transport.smtp"]


def test_icons_come_in_pages(ask) -> None:
    assert sorted(set(ICONS)) == list(ICONS)
    result = ask("type:ui.icons filter:arrow limit:2 page:1")
    assert result["data"] == [{"icon": "arrow-right"}, {"icon": "arrow-up"}]
    assert result["_"]["paging"]["page"]["rows"]["of"] == 4


@pytest.mark.parametrize(
    ("q", "at", "part"),
    [
        ("type:record.types options:[serach]", "serach", "did you mean 'search'"),
        ("type:record.types zzz:1", "zzz", "is not a key"),
        ("type:record.types limit:0", "0", "1 to 1000"),
        ("type:record.types format:tree", "tree", "not one of dictionaries"),
        ("type:record.fields of:tsk", "tsk", "did you mean 'task'"),
        ("type:record.fields", "record", "needs 'of:'"),
        ("type:platform.extensions point:svc.mail.transprt", "svc.mail", "did you mean 'svc.mail.transport'"),
        ("type:platform.extensions", "platform", "needs 'point:'"),
        ("type:classifier.prediction classifier:(id:1) text:a", "classifier.p", "not available on this installation"),
        ("type:gpg.keyinfo fingerprint:ABCD filter:uids", "gpg", "not available on this installation"),
    ],
)
def test_invalid_queries_name_the_place_of_the_error(refuse, q: str, at: str, part: str) -> None:
    error = refuse(q)
    assert isinstance(error, BadDataQuery)
    assert part in error.message
    assert error.details["position"] == q.rindex(at)
