"""Names of ticket statuses: set and cleared, found, counted, ordered, renamed and deleted."""

import pytest

from server import tickets
from server.errors import BadQuery, Conflict, Forbidden, Invalid
from server.records import records
from server.tickets import properties, reopening, ticket_statuses, undo, unmerge
from tests.records.desk import NOW


@pytest.fixture
def ticket(desk, ids):
    return desk.create("ticket", subject="Pump", group_id=ids["support"])["id"]


@pytest.fixture
def supplier(desk):
    return desk.create("ticket_status", name="Waiting for supplier", status="waiting", color="orange")["id"]


def state(desk, id):
    ticket = desk.record("ticket", id)
    return ticket["status"], ticket["status_name"]


def test_a_name_sets_its_state_and_another_state_clears_it(desk, ticket, supplier):
    desk.update("ticket", ticket, status_name=" waiting  FOR supplier")
    assert state(desk, ticket) == ("waiting", "Waiting for supplier")
    desk.update("ticket", ticket, status_id=1, reopen_date=2_000_000_000)
    assert state(desk, ticket) == ("waiting", "Waiting for supplier")
    desk.update("ticket", ticket, status="open")
    assert state(desk, ticket) == ("open", "")
    desk.update("ticket", ticket, status_name_id=supplier)
    desk.update("ticket", ticket, status_name="")
    assert state(desk, ticket) == ("waiting", "")


def test_a_deleted_and_a_reopened_ticket_lose_their_names(desk, ids, ticket, supplier):
    other = desk.create("ticket", subject="Hose", group_id=ids["support"], status_name_id=supplier)["id"]
    desk.update("ticket", ticket, status_name_id=supplier, reopen_date=NOW - 1)
    desk.delete("ticket", other)
    reopening.reopen_due(desk.service, NOW)
    assert (state(desk, ticket), state(desk, other)) == (("open", ""), ("deleted", ""))
    assert desk.found("ticket", 'status:"Waiting for supplier"') == []


def test_a_name_of_another_state_is_an_error(desk, ticket, supplier):
    with pytest.raises(Invalid, match="'Waiting for supplier' is a name of waiting, not of closed") as error:
        desk.update("ticket", ticket, status="closed", status_name="Waiting for supplier")
    assert error.value.details["field"] == "status_name"
    with pytest.raises(Invalid, match="there is no status 'Waiting for suplier'; did you mean 'Waiting for supplier'"):
        desk.update("ticket", ticket, status_name="Waiting for suplier")


@pytest.mark.parametrize("name", ["a:b", 'say "no"', "a,b", "open", "W", "2"])
def test_a_bad_name_is_an_error(desk, name):
    with pytest.raises(Invalid, match="cannot be the name of a status"):
        desk.create("ticket_status", name=name, status="open")


def test_a_name_is_taken_once_without_regard_to_case(desk, supplier):
    with pytest.raises(Conflict, match="there is a status Waiting for supplier already") as error:
        desk.create("ticket_status", name="WAITING for  supplier", status="open")
    assert error.value.details["field"] == "name"


def test_a_status_keeps_its_state(desk, supplier):
    with pytest.raises(Conflict, match="a status keeps its state"):
        desk.update("ticket_status", supplier, status="closed")


def test_tickets_are_found_and_counted_by_name(desk, ids, ticket, supplier):
    other = desk.create("ticket", subject="Hose", group_id=ids["support"], status_name="waiting for supplier")["id"]
    assert desk.found("ticket", 'status:"Waiting for supplier"') == [other]
    assert desk.found("ticket", 'status:["waiting for supplier",open] sort:id') == [ticket, other]
    assert desk.found("ticket", 'status:!"Waiting for supplier"') == [ticket]
    assert desk.found("ticket", "status:waiting") == desk.found("ticket", "status:w") == [other]
    assert desk.found("ticket", f"statusName.id:{supplier}") == [other]
    with pytest.raises(BadQuery, match="'elsewhere' is not one of open, waiting"):
        desk.found("ticket", "status:elsewhere")
    result = records.search(desk.context(), "ticket", records.SearchRequest("", subtotals=["status_name", "status"]))
    counted = {each["label"]: each["hits"] for each in result["subtotals"]["status_name"]}
    assert counted == {"Waiting for supplier": 1, "(none)": 1}
    assert [each["key"] for each in result["subtotals"]["status"]] == [0, 1]
    assert desk.record("ticket_status", supplier, expand="num_tickets")["num_tickets"] == 1


def test_a_renamed_status_is_found_by_both_names(desk, ids, ticket, supplier):
    desk.update("ticket", ticket, status_name_id=supplier)
    desk.update("ticket_status", supplier, by=ids["nora"], name="Waiting for parts")
    assert "Nora Berg renamed the ticket status Waiting for supplier to Waiting for parts" in desk.acts()
    assert desk.found("ticket", 'status:"waiting for supplier"') == [ticket]
    assert desk.found("ticket", 'status:"Waiting for parts"') == [ticket]
    assert state(desk, ticket) == ("waiting", "Waiting for parts")


def test_a_deleted_status_leaves_its_tickets_in_the_state(desk, ids, ticket, supplier):
    desk.update("ticket", ticket, status_name_id=supplier)
    desk.delete("ticket_status", supplier, by=ids["nora"])
    assert state(desk, ticket) == ("waiting", "")
    assert desk.found("ticket", 'status:"Waiting for supplier"') == []
    ticket_statuses.clear_deleted(desk.service, 0)
    assert desk.record("ticket", ticket)["status_name_id"] == 0
    again = desk.create("ticket_status", name="Waiting for supplier", status="waiting")["id"]
    desk.update("ticket", ticket, status_name_id=again)
    assert desk.found("ticket", 'status:"Waiting for supplier"') == [ticket]


def test_an_undone_deletion_restores_the_names_of_tickets_that_are_still_in_the_state(desk, ids, ticket, supplier):
    admin = desk.context(ids["nora"])
    desk.update("ticket_status", supplier, name="Waiting for parts")
    closed, other = (desk.create("ticket", subject="Hose", group_id=ids["support"])["id"] for _ in range(2))
    for each in (ticket, closed, other):
        desk.update("ticket", each, status_name_id=supplier)
    assert ticket_statuses.delete(admin, supplier)
    ticket_statuses.clear_deleted(desk.service, 0)
    second = desk.create("ticket_status", name="Waiting for customer", status="waiting")["id"]
    desk.update("ticket", closed, status="closed")
    desk.update("ticket", other, status_name_id=second)
    assert ticket_statuses.restore(admin, supplier) == ("Waiting for parts", {})
    ticket_statuses.clear_deleted(desk.service, 0)
    assert state(desk, ticket) == ("waiting", "Waiting for parts")
    assert (state(desk, closed), state(desk, other)) == (("closed", ""), ("waiting", "Waiting for customer"))
    assert desk.found("ticket", 'status:"Waiting for supplier"') == [ticket], "its former name finds it again"
    assert desk.record("ticket_status", supplier)["color"] == "orange"


def test_statuses_are_put_in_order(desk, ids, supplier):
    customer = desk.create("ticket_status", name="Waiting for customer", status=1)["id"]
    desk.create("ticket_status", name="New", status=0, group_id=ids["support"])
    ticket_statuses.move(desk.context(ids["nora"]), customer, -5)
    names = [each.name for each in ticket_statuses.of_group(desk.context(), ids["support"])]
    assert names == ["New", "Waiting for customer", "Waiting for supplier"]
    assert [each.name for each in ticket_statuses.of_group(desk.context(), 999)] == names[1:]
    with pytest.raises(Forbidden):
        ticket_statuses.move(desk.context(ids["milo"]), customer, 1)


@pytest.fixture
def courier(desk, ids):
    """A status of the group support alone."""
    fields = {"name": "With the courier", "status": "waiting", "group_id": ids["support"]}
    return desk.create("ticket_status", **fields)["id"]


@pytest.fixture
def sales(desk):
    return desk.create("group", name="Sales")["id"]


def test_a_name_of_another_group_is_an_error_that_lists_the_others(desk, ids, supplier, courier, sales):
    words = (
        "'With the courier' is a status of the group Support alone; tickets of the group Sales have: Waiting for supp"
    )
    with pytest.raises(Invalid, match=words) as error:
        desk.create("ticket", subject="Hose", group_id=sales, status_name="With the courier")
    assert error.value.details["field"] == "status_name"
    other = desk.create("ticket", subject="Hose", group_id=sales)["id"]
    with pytest.raises(Invalid, match=words):
        desk.update("ticket", other, status_name_id=courier)
    desk.update("ticket", other, group_id=ids["support"], status_name_id=courier)
    assert state(desk, other) == ("waiting", "With the courier")


def test_a_ticket_that_moves_to_a_group_without_its_name_stays_in_its_state(
    desk, ids, ticket, supplier, courier, sales
):
    desk.update("ticket", ticket, status_name_id=courier)
    desk.update("ticket", ticket, by=ids["nora"], group_id=sales)
    assert state(desk, ticket) == ("waiting", "")
    assert desk.log()[-1]["activity_point"] == "ticket.status.waiting"
    desk.update("ticket", ticket, status_name_id=supplier)
    desk.update("ticket", ticket, group_id=ids["support"])
    assert state(desk, ticket) == ("waiting", "Waiting for supplier"), "every group uses it"


def test_a_program_that_sends_a_ticket_back_as_it_was_read_changes_its_state_and_group(
    desk, ids, ticket, courier, sales
):
    for changes, expected in (({"group_id": sales}, ("waiting", "")), ({"status_id": 0}, ("open", ""))):
        desk.update("ticket", ticket, group_id=ids["support"], status_name_id=courier)
        read = {name: desk.record("ticket", ticket)[name] for name in ("status_id", "status_name_id", "status_name")}
        desk.update("ticket", ticket, **read | changes)
        assert state(desk, ticket) == expected


def test_a_name_whose_group_changes_stays_on_its_tickets(desk, ids, ticket, supplier, sales):
    desk.update("ticket", ticket, status_name_id=supplier)
    desk.update("ticket_status", supplier, group_id=sales)
    desk.update("ticket", ticket, subject="Pumps", status_name_id=supplier)
    assert state(desk, ticket) == ("waiting", "Waiting for supplier")


def test_the_undo_of_a_move_brings_the_name_back_if_the_state_is_still_its_own(desk, ids, ticket, courier, sales):
    admin = desk.context(ids["nora"])
    desk.update("ticket", ticket, status_name_id=courier)
    bucket = str(desk.create("bucket", name="Leads", group_id=sales)["id"])
    for status, expected in (("waiting", "With the courier"), ("closed", "")):
        desk.update("ticket", ticket, status_name_id=courier)
        before = properties.move(admin, ticket, bucket)
        desk.update("ticket", ticket, status=status)
        undo.restore(admin, ticket, before)
        assert state(desk, ticket) == (status, expected)


def test_workers_use_names_and_only_administrators_change_them(desk, ids, ticket, supplier):
    desk.update("ticket", ticket, by=ids["milo"], status_name="Waiting for supplier")
    with pytest.raises(Forbidden):
        desk.update("ticket_status", supplier, by=ids["milo"], color="red")


def test_the_history_names_the_status_once(desk, ids, ticket, supplier):
    by = ids["milo"]
    customer = desk.create("ticket_status", name="Waiting for customer", status=1)["id"]
    desk.update("ticket", ticket, by=by, status_name_id=supplier)
    desk.update("ticket", ticket, by=by, status_name_id=customer)
    desk.update("ticket", ticket, by=by, status_name_id=0)
    entries = [each for each in desk.log() if each["activity_point"].startswith("ticket.status.")]
    assert [(each["activity_point"], each["params"]["message"].rpartition(" ")[2]) for each in entries] == [
        ("ticket.status.waiting", "{{status_name}}"),
        ("ticket.status.named", "{{status_name}}"),
        ("ticket.status.waiting", "waiting"),
    ]


def test_an_undo_restores_the_name_unless_it_was_deleted(desk, ids, ticket, supplier):
    fields = {"status_id": "1", "status_name_id": str(supplier), "reopen_date": "0"}
    undo.restore(desk.context(ids["milo"]), ticket, fields)
    assert state(desk, ticket) == ("waiting", "Waiting for supplier")
    desk.delete("ticket_status", supplier)
    desk.update("ticket", ticket, status="closed")
    undo.restore(desk.context(ids["milo"]), ticket, fields)
    assert state(desk, ticket) == ("waiting", "")


def test_an_undone_merge_restores_the_name(desk, ids, ticket, supplier):
    other = desk.create("ticket", subject="Hose", group_id=ids["support"], status_name_id=supplier)["id"]
    tickets.merge(desk.context(), [ticket, other])
    unmerge.unmerge(desk.context(), ticket, unmerge.newest(desk.context(), ticket))
    assert state(desk, other) == ("waiting", "Waiting for supplier")
