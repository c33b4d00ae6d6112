"""Groups and buckets: their rosters, the default ones, and the tickets of a deleted one."""

import pytest

from server.errors import Conflict, Forbidden, Invalid


def inbox(desk, group_id):
    return desk.record("group", group_id, expand="default_bucket_")["default_bucket_id"]


def roster(desk, group_id):
    members = desk.record("group", group_id, expand="members")["members"]
    return {int(id): each["is_manager"] for id, each in members.items()}


def ticket(desk, group_id, **fields):
    return desk.create("ticket", subject="Leak", group_id=group_id, **fields)["id"]


def sender(desk, email="help@desk.example"):
    transport = desk.create("mail_transport", name="None", extension_id="core.mail.transport.null")["id"]
    return desk.create("address", email=email, mail_transport_id=transport)["id"]


# -- groups


def test_a_group_begins_with_an_inbox(desk, ids):
    shown = desk.record("group", ids["support"], expand="buckets,default_bucket_name")
    (bucket,) = shown["buckets"]["results"]
    assert (bucket["name"], bucket["is_default"]) == ("Inbox", 1)
    assert (shown["default_bucket_id"], shown["default_bucket_name"]) == (bucket["id"], "Inbox")


def test_one_group_is_the_default_from_the_start(desk, ids):
    assert desk.record("group", ids["support"])["is_default"] == 1
    sales = desk.create("group", name="Sales")["id"]
    assert desk.record("group", sales)["is_default"] == 0
    desk.update("group", sales, is_default=1)
    assert desk.found("group", "default:yes") == [sales]
    with pytest.raises(Conflict, match="default group"):
        desk.update("group", sales, is_default=0)


@pytest.mark.parametrize("members", ['{"manager": "%d", "member": "%d"}', {"manager": "%d", "member": ["%d"]}])
def test_a_roster_is_changed_by_a_map_or_by_json(desk, ids, members):
    milo, olga = ids["milo"], ids["olga"]
    if isinstance(members, str):
        members = members % (milo, olga)
    else:
        members = {"manager": str(milo), "member": [str(olga)]}
    desk.update("group", ids["support"], members=members)
    assert roster(desk, ids["support"]) == {milo: True, olga: False}
    desk.update("group", ids["support"], members={"remove": f"{milo},{olga}"})
    assert roster(desk, ids["support"]) == {}


def test_a_plain_list_makes_members(desk, ids):
    desk.update("group", ids["support"], members=[str(ids["olga"])])
    assert roster(desk, ids["support"]) == {ids["milo"]: False, ids["olga"]: False}


@pytest.mark.parametrize(
    "members", [{"boss": "1"}, {"member": "99"}, {"member": "x"}, {"member": "2", "manager": "2"}, "oops"]
)
def test_an_invalid_roster_changes_nothing(desk, ids, members):
    with pytest.raises(Invalid, match="members"):
        desk.update("group", ids["support"], members=members)
    assert roster(desk, ids["support"]) == {ids["milo"]: False}


def test_disabled_members_are_not_shown(desk, ids):
    desk.update("worker", ids["milo"], is_disabled=1)
    assert roster(desk, ids["support"]) == {}


def test_the_sender_needs_a_transport(desk, ids):
    plain = desk.create("address", email="plain@desk.example")["id"]
    with pytest.raises(Invalid, match="no mail transport"):
        desk.update("group", ids["support"], reply_address_id=plain)
    with pytest.raises(Invalid, match="no mail transport"):
        desk.create("bucket", name="B", group_id=ids["support"], replyto_id=plain)
    good = sender(desk)
    assert desk.update("group", ids["support"], reply_address_id=good)["replyto_id"] == good
    assert desk.update("group", ids["support"], reply_address_id=0)["replyto_id"] == 0


def test_tickets_of_a_deleted_group_move_to_the_default_group(desk, ids):
    sales = desk.create("group", name="Sales", members={"manager": str(ids["olga"])})["id"]
    number = ticket(desk, sales)
    with pytest.raises(Forbidden):
        desk.delete("group", sales, by=ids["milo"])
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    desk.delete("group", sales, by=ids["olga"])
    row = desk.row("ticket", number)
    assert (row["group_id"], row["bucket_id"]) == (ids["support"], inbox(desk, ids["support"]))
    assert desk.found("bucket", f"group.id:{sales}") == []
    assert desk.found("worker", f"group:(id:{sales})") == []


def test_the_default_group_cannot_be_deleted(desk, ids):
    with pytest.raises(Conflict, match="default group"):
        desk.delete("group", ids["support"], by=ids["nora"])


def test_only_administrators_change_groups(desk, ids):
    desk.update("group", ids["support"], members={"manager": str(ids["milo"])})
    with pytest.raises(Forbidden):
        desk.update("group", ids["support"], by=ids["milo"], name="Mine")


# -- buckets


def test_one_bucket_of_a_group_is_the_default(desk, ids):
    first = inbox(desk, ids["support"])
    second = desk.create("bucket", name="Second", group_id=ids["support"], is_default=1)["id"]
    assert desk.record("bucket", first)["is_default"] == 0
    assert inbox(desk, ids["support"]) == second
    with pytest.raises(Conflict, match="default bucket"):
        desk.update("bucket", second, is_default=0)
    with pytest.raises(Conflict, match="default bucket"):
        desk.delete("bucket", second)
    desk.delete("bucket", first)


def test_tickets_of_a_deleted_bucket_move_to_the_default_one(desk, ids):
    bucket = desk.create("bucket", name="Refunds", group_id=ids["support"])["id"]
    number = ticket(desk, ids["support"], bucket_id=bucket)
    desk.delete("bucket", bucket)
    assert desk.row("ticket", number)["bucket_id"] == inbox(desk, ids["support"])


def test_a_moved_bucket_takes_its_tickets_into_the_other_group(desk, ids):
    sales = desk.create("group", name="Sales")["id"]
    bucket = desk.create("bucket", name="Refunds", group_id=ids["support"])["id"]
    number = ticket(desk, ids["support"], bucket_id=bucket)
    desk.update("bucket", bucket, group_id=sales)
    assert desk.row("ticket", number)["group_id"] == sales
    with pytest.raises(Conflict):
        desk.update("bucket", inbox(desk, sales), group_id=ids["support"])


def test_managers_manage_the_buckets_of_their_own_groups(desk, ids):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    sales = desk.create("group", name="Sales")["id"]
    desk.update("group", ids["support"], members={"manager": str(ids["milo"])})
    own = desk.create("bucket", by=ids["milo"], name="Own", group_id=ids["support"])["id"]
    with pytest.raises(Forbidden):
        desk.create("bucket", by=ids["milo"], name="Not own", group_id=sales)
    with pytest.raises(Forbidden):
        desk.update("bucket", own, by=ids["milo"], group_id=sales)
    with pytest.raises(Forbidden):
        desk.delete("bucket", own, by=ids["olga"])
