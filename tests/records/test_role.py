"""Roles: members by query, kept up to date, and the privileges that they grant."""

import pytest

from server.errors import Conflict, Forbidden, Invalid
from server.people import profile


def members(desk, role, part="member"):
    return desk.found("worker", f"role{'' if part == 'member' else '.' + part}:(id:{role})")


def test_a_query_finds_the_members_and_a_blank_one_finds_none(desk, ids):
    role = desk.create("role", name="Clerks", member_query_worker="firstName:milo")["id"]
    assert members(desk, role) == [ids["milo"]]
    assert members(desk, role, "editor") == members(desk, role, "reader") == []
    desk.update("role", role, member_query_worker=" ", editor_query_worker="isAdmin:y", reader_query_worker="id:>0")
    assert members(desk, role) == []
    assert members(desk, role, "editor") == [ids["nora"]]
    assert members(desk, role, "reader") == sorted([ids["nora"], ids["milo"], ids["olga"]])


@pytest.mark.parametrize("field", ["member_query_worker", "editor_query_worker", "reader_query_worker"])
def test_an_invalid_query_is_reported_with_its_field(desk, ids, field):
    with pytest.raises(Invalid, match=field):
        desk.create("role", name="Clerks", **{field: "colour:red"})
    assert desk.found("role", "") == []


def test_rosters_follow_workers_and_groups(desk, ids):
    by_title = desk.create("role", name="Clerks", member_query_worker='title:"Clerk"')["id"]
    by_group = desk.create("role", name="Team", member_query_worker="group:(name:Support)")["id"]
    by_role = desk.create("role", name="Both", member_query_worker=f"role:(id:{by_title})")["id"]
    assert (members(desk, by_title), members(desk, by_group)) == ([], [ids["milo"]])
    desk.update("worker", ids["olga"], title="Clerk")
    assert members(desk, by_title) == [ids["olga"]]
    desk.update("group", ids["support"], members={"member": str(ids["olga"]), "remove": str(ids["milo"])})
    assert members(desk, by_group) == [ids["olga"]]
    desk.update("group", ids["support"], name="Desk")
    assert members(desk, by_group) == []
    desk.update("role", by_title, member_query_worker="firstName:milo")
    assert members(desk, by_role) == [ids["milo"]]


def test_a_query_that_became_invalid_finds_no_one_and_blocks_nothing(desk, ids):
    field = desk.create("custom_field", name="Desk", uri="desk_place", type="S", context="worker")["id"]
    desk.update("worker", ids["milo"], desk_place="12")
    role = desk.create("role", name="Clerks", member_query_worker="desk:12")["id"]
    assert members(desk, role) == [ids["milo"]]
    desk.delete("custom_field", field)
    desk.update("worker", ids["olga"], title="Clerk")
    assert members(desk, role) == []


def test_privileges_are_granted_to_members(desk, ids):
    with pytest.raises(Forbidden):
        desk.create("task", by=ids["milo"], title="Count")
    role = desk.create(
        "role", name="Clerks", member_query_worker="firstName:milo", privs_mode="itemized",
        privs=["contexts.svc.contexts.task.create", "contexts.svc.contexts.task.create"],
    )["id"]  # fmt: skip
    task = desk.create("task", by=ids["milo"], title="Count")["id"]
    with pytest.raises(Forbidden):
        desk.update("task", task, by=ids["milo"], title="Count again")
    assert desk.record("role", role, expand="privs")["privs"] == ["contexts.svc.contexts.task.create"]
    assert "privs" not in desk.record("role", role)
    desk.update("role", role, privs_mode="all")
    desk.update("task", task, by=ids["milo"], title="Count again")
    desk.delete("role", role)
    with pytest.raises(Forbidden):
        desk.delete("task", task, by=ids["milo"])


@pytest.mark.parametrize("privs", [["tasks"], ["contexts.svc.contexts.task.fly"], [{"a": "b"}]])
def test_an_unknown_privilege_is_refused(desk, ids, privs):
    with pytest.raises(Invalid, match="privilege"):
        desk.create("role", name="Clerks", privs=privs)


@pytest.mark.parametrize("part", ["member", "editor", "reader"])
def test_workers_cannot_gain_a_role_by_changing_their_name(desk, ids, part):
    role = desk.create("role", name="Chiefs", privs_mode="all", **{f"{part}_query_worker": "firstName:nora"})["id"]
    milo = desk.context(ids["milo"])
    with pytest.raises(Conflict, match="ask an administrator"):
        profile.change(milo, {"first_name": "Nora", "last_name": "Milo"})
    assert members(desk, role, part) == [ids["nora"]] and desk.record("worker", ids["milo"])["first_name"] == "Milo"
    profile.change(milo, {"first_name": "Milan"})
    profile.change(desk.context(ids["nora"]), {"first_name": "Eleonora"})  # losing one is allowed
    assert members(desk, role, part) == []
