"""Bots and behaviors: permissions on what a bot owns, dependent deletions, and refusals."""

import pytest

from server.errors import Conflict, Forbidden, Invalid, Required
from server.records.writing import RecordWriter

APP = {"owner__context": "app", "owner_id": 0}
EVENT = "event.api.custom_request"


@pytest.fixture
def ids(desk, ids):
    """Grants everyone every privilege, so that only ownership decides; milo manages Support."""
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    desk.update("group", ids["support"], members={"manager": str(ids["milo"])})
    return ids


def bot(desk, uri="app", id=0, **more):
    return desk.create("bot", name="Bot", owner__context=uri, owner_id=id, **more)["id"]


def behavior(desk, owner, by=0, **more):
    return desk.create("behavior", by=by, **{"name": "Status", "bot_id": owner, "event_point": EVENT} | more)["id"]


def fieldset(desk, bot_id, by=0):
    owner = {"owner__context": "bot", "owner_id": bot_id}
    return desk.create("custom_fieldset", by=by, name="Technical", context="task", **owner)["id"]


@pytest.mark.parametrize(
    ("owner", "readers", "writers"),
    [
        ("app", {"nora", "milo", "olga"}, {"nora"}),
        ("worker", {"nora", "olga"}, {"nora", "olga"}),
        ("group", {"nora", "milo", "olga"}, {"nora", "milo"}),
        ("private group", {"nora"}, {"nora"}),
    ],
)
@pytest.mark.parametrize("kind", ["behavior", "custom_fieldset"])
def test_permissions_on_a_bots_records_follow_its_owner(desk, ids, kind, owner, readers, writers):
    private = desk.create("group", name="Management", is_private=1)["id"]
    owner_ids = {"app": 0, "worker": ids["olga"], "group": ids["support"], "private group": private}
    owned_by = bot(desk, owner.rpartition(" ")[2], owner_ids[owner])
    make = behavior if kind == "behavior" else fieldset
    id = make(desk, owned_by)
    for name in ("nora", "milo", "olga"):
        worker = ids[name]
        assert (id in desk.found(kind, "", by=worker)) is (name in readers), name
        if name not in readers:
            with pytest.raises(Forbidden):
                desk.record(kind, id, by=worker)
        if name in writers:
            assert desk.update(kind, id, by=worker, name="Changed")["name"] == "Changed"
            desk.delete(kind, make(desk, owned_by, by=worker), by=worker)
            continue
        with pytest.raises(Forbidden):
            desk.update(kind, id, by=worker, name="Changed")
        with pytest.raises(Forbidden):
            desk.delete(kind, id, by=worker)
        with pytest.raises((Forbidden, Invalid)):  # an unreadable bot does not exist
            make(desk, owned_by, by=worker)


def test_behaviors_cannot_be_moved_to_bots_of_others(desk, ids):
    mine, others = bot(desk, "worker", ids["olga"]), bot(desk)
    id = behavior(desk, mine, by=ids["olga"])
    with pytest.raises(Forbidden, match="the owner of its bot"):
        desk.update("behavior", id, by=ids["olga"], bot_id=others)
    assert desk.row("behavior", id)["bot_id"] == mine


def test_only_administrators_create_and_change_bots(desk, ids):
    own = {"owner__context": "worker", "owner_id": ids["olga"]}
    with pytest.raises(Forbidden):
        desk.create("bot", by=ids["olga"], name="Bot", **own)
    id = desk.create("bot", by=ids["nora"], name="Bot", **own)["id"]
    with pytest.raises(Forbidden):
        desk.update("bot", id, by=ids["olga"], name="X")
    with pytest.raises(Forbidden):
        desk.delete("bot", id, by=ids["olga"])


def test_deleting_a_bot_deletes_its_behaviors_and_leaves_the_rest_to_administrators(desk, ids):
    gone, stays = bot(desk), bot(desk)
    behavior(desk, gone)
    kept, owned = behavior(desk, stays), fieldset(desk, gone)
    desk.delete("bot", gone)
    assert desk.found("behavior", "") == [kept]
    assert desk.row("custom_fieldset", owned)["owner_id"] == 0
    assert desk.found("custom_fieldset", "", by=ids["olga"]) == []
    assert desk.found("custom_fieldset", "", by=ids["nora"]) == [owned]


@pytest.mark.parametrize("owner", ["bot", "ticket", "nothing"])
def test_bots_belong_to_the_service_groups_roles_and_workers(desk, ids, owner):
    id = bot(desk)
    with pytest.raises(Invalid, match="owner__context"):
        bot(desk, owner, id)


def test_a_bot_cannot_own_assets(desk, ids):
    with pytest.raises(Invalid, match="owner__context"):
        desk.create("asset", name="Pump", owner__context="bot", owner_id=bot(desk))


def test_whether_a_bot_is_disabled_is_true_or_false(desk, ids):
    id = bot(desk, is_disabled=1)
    shown = desk.record("bot", id)
    assert shown["is_disabled"] is True and shown["config"] == {}
    assert desk.update("bot", id, is_disabled=0)["is_disabled"] is False


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"event_point": "event.unknown"}, Invalid, "event_point"),
        ({"event_point": ""}, Required, "event_point"),
        ({"bot_id": 0}, Required, "bot_id"),
        ({"bot_id": 99}, Invalid, "bot_id"),
        ({"name": ""}, Required, "name"),
        ({"uri": "has space"}, Invalid, "uri"),
        ({"uri": "a" * 129}, Invalid, "uri"),
        ({"uri": "STATUS"}, Conflict, "uri"),
        ({"priority": -1}, Invalid, "priority"),
        ({"is_private": "perhaps"}, Invalid, "is_private"),
        ({"variables": {}}, Invalid, "variables"),
        ({"nodes": []}, Invalid, "nodes"),
    ],
)
def test_invalid_behaviors_are_refused(desk, ids, fields, error, field):
    owner = bot(desk)
    behavior(desk, owner, uri="status")
    with pytest.raises(error, match=field):
        behavior(desk, owner, **fields)


def test_several_behaviors_may_have_no_short_name(desk, ids):
    owner = bot(desk)
    assert behavior(desk, owner, uri="") != behavior(desk, owner)


def test_behaviors_preserve_their_creation_time(desk, ids):
    id = behavior(desk, bot(desk), updated_at=1000)
    assert desk.update("behavior", id, name="New")["updated_at"] == 1000
    assert desk.update("behavior", id, updated_at=2000)["updated_at"] == 2000


def test_a_bot_shows_its_behaviors_in_the_form_of_packages(desk, ids):
    owner = bot(desk)
    id = behavior(desk, owner, uri="status", priority=3)
    variables = {"var_city": {"key": "var_city", "label": "City", "type": "S"}}
    nodes = [{"type": "action", "title": "Say"}]
    desk.store.write(lambda tx: RecordWriter(desk.context(), tx).update("behavior", id, {
        "variables": variables, "nodes": nodes,
    }))  # fmt: skip
    assert desk.record("bot", owner, by=ids["olga"], expand="behaviors")["behaviors"] == {
        str(id): {
            "uid": f"behavior_{id}", "title": "Status", "uri": "status", "is_disabled": False, "is_private": False,
            "priority": 3, "event": {"key": EVENT, "label": "Custom API request", "params": []},
            "variables": variables, "nodes": nodes,
        }
    }  # fmt: skip
    shown = desk.record("behavior", id, expand="bot_")
    assert (shown["variables"], shown["bot_name"]) == (variables, "Bot")
    assert shown["event_point_name"] == "Custom API request" and "nodes" not in shown
