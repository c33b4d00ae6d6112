"""Group rosters changed over HTTP: all checks come before all changes; the effects on what people may read."""

import json
from typing import Any

import pytest

from tests.api.minimal import made
from tests.service import Api, Reply

MEMBERS = "/rest/groups/members.json"


def change(api: Api, groups: dict[int, dict[int, str]], path: str = MEMBERS) -> Reply:
    return api.put(path, json=json.dumps({"groups": {str(id): {"workers": who} for id, who in groups.items()}}))


def roster(api: Api, group: int) -> dict[int, bool]:
    """Returns {worker id: whether they manage the group}."""
    members = api.record("group", group, "members").ok()["members"]
    return {int(id): each["is_manager"] for id, each in members.items()}


def test_several_groups_and_workers_change_at_once(api: Api) -> None:
    first, second, milo, olga = made(api, "group"), made(api, "group"), api.ids["milo"], api.ids["olga"]
    response = change(api, {first: {milo: "Manager", olga: "MEMBER"}, second: {olga: "manager"}}).ok()
    assert set(response.json) == {"__build", "__status", "__version"}
    assert roster(api, first) == {milo: True, olga: False} and roster(api, second) == {olga: True}
    change(api, {first: {milo: "member", olga: "remove"}, second: {milo: "remove"}}).ok()
    assert roster(api, first) == {milo: False} and roster(api, second) == {olga: True}


def test_the_alternative_address_edits_rosters_and_other_fields(api: Api) -> None:
    group, milo = made(api, "group"), api.ids["milo"]
    change(api, {group: {milo: "manager"}}, f"/rest/groups/{group}.json").ok()
    assert roster(api, group) == {milo: True}
    edited = api.put(f"/rest/groups/{group}.json", name="Yard", is_private="1", expand="members").ok()
    assert (edited["id"], edited["name"], edited["is_private"], list(edited["members"])) == (
        group, "Yard", 1, [str(milo)],
    )  # fmt: skip
    assert api.as_("milo").put(f"/rest/groups/{group}.json", name="Mine").status == 403
    assert api.put(f"/rest/groups/{group}.json", nmae="x").status == 422
    assert api.put("/rest/groups/999999999.json", name="x").status == 404


def test_the_json_may_be_a_body(api: Api) -> None:
    group, olga = made(api, "group"), api.ids["olga"]
    sent = {"json": {"groups": {str(group): {"workers": {str(olga): "member"}}}}}
    api.call("PUT", MEMBERS, json=sent).ok()
    assert roster(api, group) == {olga: False}


def whole(**groups: Any) -> str:
    return json.dumps({"groups": groups})


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ("", 422, "ERROR_PARAM_REQUIRED"),
        ("{", 400, "ERROR_PARAM_INVALID"),
        ("[]", 422, "ERROR_PARAM_INVALID"),
        ("{}", 422, "ERROR_PARAM_INVALID"),
        ('{"groups": []}', 422, "ERROR_PARAM_INVALID"),
        ('{"groups": {"GOOD": {}}}', 422, "ERROR_PARAM_INVALID"),
        ('{"groups": {"GOOD": {"workers": {"MILO": "member"}}, "x": {"workers": {}}}}', 422, "ERROR_PARAM_INVALID"),
        ('{"groups": {"GOOD": {"workers": {"MILO": "member", "OLGA": "boss"}}}}', 422, "ERROR_PARAM_INVALID"),
        ('{"groups": {"GOOD": {"workers": {"MILO": "member", "OLGA": ["member"]}}}}', 422, "ERROR_PARAM_INVALID"),
        ('{"groups": {"GOOD": {"workers": {"MILO": "member", "me": "member"}}}}', 422, "ERROR_PARAM_INVALID"),
        ('{"groups": {"GOOD": {"workers": {"MILO": "member", "999999999": "member"}}}}', 422, "ERROR_PARAM_INVALID"),
        ('{"groups": {"GOOD": {"workers": {"MILO": "member", "999999999": "remove"}}}}', 422, "ERROR_PARAM_INVALID"),
        ('{"groups": {"GOOD": {"workers": {"MILO": "member"}}, "999999999": {"workers": {}}}}', 422,
         "ERROR_PARAM_INVALID"),
        (whole(GOOD={"workers": {str(id): "member" for id in range(1001)}}), 422, "ERROR_PARAM_INVALID"),
    ],
)  # fmt: skip
def test_one_mistake_prevents_all_changes(sent: str, status: int, code: str, api: Api) -> None:
    group = made(api, "group")
    for name, id in (("GOOD", group), ("MILO", api.ids["milo"]), ("OLGA", api.ids["olga"])):
        sent = sent.replace(name, str(id))
    response = api.put(MEMBERS, json=sent)
    assert (response.status, response["__error"], response["errors"][0]["field"]) == (status, code, "json"), response
    assert roster(api, group) == {}


def test_managers_change_only_the_rosters_of_their_groups(api: Api) -> None:
    own, other, milo, olga = made(api, "group"), made(api, "group"), api.ids["milo"], api.ids["olga"]
    change(api, {own: {milo: "member"}}).ok()
    assert change(api.as_("milo"), {own: {olga: "member"}}).status == 403  # members who are not managers
    change(api, {own: {milo: "manager"}}).ok()
    change(api.as_("milo"), {own: {olga: "member"}}).ok()
    response = change(api.as_("milo"), {own: {olga: "remove"}, other: {olga: "member"}})
    assert (response.status, response["__error"]) == (403, "ERROR_PERMISSIONS") and str(other) in response["message"]
    assert roster(api, own) == {milo: True, olga: False} and roster(api, other) == {}


def test_members_of_a_private_group_read_its_tickets_while_they_are_members(api: Api) -> None:
    group = made(api, "group", is_private=1)
    ticket, olga = made(api, "ticket", group_id=group), api.as_("olga")
    assert olga.record("ticket", ticket).status == 403
    change(api, {group: {olga.ids["olga"]: "manager"}}).ok()
    olga.update("ticket", ticket, subject="Read and changed").ok()
    change(olga, {group: {olga.ids["olga"]: "remove"}}).ok()
    assert olga.record("ticket", ticket).status == 403 and olga.found("ticket", f"id:{ticket}") == []
