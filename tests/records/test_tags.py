"""Tags of tickets: added and removed by name, found, counted, renamed and deleted."""

import pytest

from server import tickets
from server.errors import Conflict, Forbidden, Invalid
from server.people import merging
from server.record_types.shared import entries
from server.record_types.shared.relation_tables import TICKET_TAG
from server.records import record_tags, records
from server.records.writing import RecordWriter
from server.tickets import tag_merge, unmerge
from tests.records.desk import NOW


@pytest.fixture
def ticket(desk, ids):
    return desk.create("ticket", subject="Pump", group_id=ids["support"])["id"]


def tags_of(desk, id):
    return desk.record("ticket", id, expand="tags")["tags"]


def tag_id(desk, name):
    return desk.found("tag", f'name:(exact:"{name}")')[0]


def changes(desk):
    entries = [each for each in desk.log() if each["activity_point"].startswith("ticket.tag.")]
    return [(each["activity_point"], each["params"]["variables"]["tags"]) for each in entries]


def test_tags_are_added_and_removed_by_name_and_shown_in_order(desk, ticket):
    desk.update("ticket", ticket, tags=["vip", "Billing", "late payer"])
    desk.update("ticket", ticket, tags="-VIP, billing")
    assert tags_of(desk, ticket) == ["Billing", "late payer"]
    assert changes(desk) == [("ticket.tag.added", "vip, Billing, late payer"), ("ticket.tag.removed", "vip")]


@pytest.mark.parametrize("name", ["a:b", 'say "no"', "x" * 65, "--a", "a\nb\x01"])
def test_a_bad_name_is_an_error_and_adds_nothing(desk, ticket, name):
    with pytest.raises(Invalid, match="cannot be the name of a tag"):
        desk.update("ticket", ticket, tags=["good", name])
    assert tags_of(desk, ticket) == []


def test_names_differ_by_more_than_case(desk, ids):
    desk.create("tag", name="Größe")
    with pytest.raises(Conflict, match="there is a tag Größe already"):
        desk.create("tag", name="GRÖSSE")


def test_tickets_are_found_by_their_tags(desk, ids, ticket):
    other = desk.create("ticket", subject="Hose", group_id=ids["support"], tags="late payer, vip")["id"]
    bare = desk.create("ticket", subject="Bolt", group_id=ids["support"])["id"]
    desk.update("ticket", ticket, tags="VIP")
    assert desk.found("ticket", "tag:vip sort:id") == [ticket, other]
    assert desk.found("ticket", 'tag:"Late Payer"') == [other]
    assert desk.found("ticket", 'tag:[nothing,"late payer"]') == [other]
    assert desk.found("ticket", 'tag:vip tag:!"late payer"') == [ticket]
    assert desk.found("ticket", "tag:none") == desk.found("ticket", "tag:!any") == [bare]
    assert desk.found("ticket", "tag:(name:late*)") == [other]
    assert desk.found("ticket", "tag:unknown") == []


def test_a_renamed_tag_is_found_by_both_names(desk, ids, ticket):
    desk.update("ticket", ticket, tags="billing")
    id = tag_id(desk, "billing")
    desk.update("tag", id, by=ids["nora"], name="Invoices")
    assert "Nora Berg renamed the tag billing to Invoices" in desk.acts()
    assert desk.found("ticket", "tag:billing") == desk.found("ticket", "tag:invoices") == [ticket]
    desk.update("ticket", ticket, tags="-billing")
    assert tags_of(desk, ticket) == []
    desk.update("ticket", ticket, tags="billing")
    assert tags_of(desk, ticket) == ["Invoices"]


def test_a_new_tag_takes_over_a_former_name(desk, ticket):
    desk.update("ticket", ticket, tags="billing")
    desk.update("tag", tag_id(desk, "billing"), name="Invoices")
    desk.create("tag", name="Billing")
    assert desk.found("ticket", "tag:billing") == [] and desk.found("ticket", "tag:invoices") == [ticket]


def test_a_deleted_tag_is_on_no_ticket(desk, ticket):
    desk.update("ticket", ticket, tags="billing")
    desk.delete("tag", tag_id(desk, "billing"))
    assert tags_of(desk, ticket) == [] and desk.found("ticket", "tag:billing") == []


def test_a_worker_creates_tags_by_using_them_and_not_otherwise(desk, ids, ticket):
    milo = ids["milo"]
    desk.update("ticket", ticket, by=milo, tags="billing")
    with pytest.raises(Forbidden):
        desk.create("tag", by=milo, name="vip")
    with pytest.raises(Forbidden):
        desk.update("tag", tag_id(desk, "billing"), by=milo, name="vip")


def test_a_purged_ticket_leaves_no_tags(desk, ticket):
    desk.update("ticket", ticket, tags="billing")
    desk.store.write(lambda tx: RecordWriter(desk.context(), tx).delete("ticket", ticket))
    assert desk.store.read(lambda tx: tx.find(TICKET_TAG)) == []


def test_a_merged_tag_gives_its_tickets_and_names_to_the_other(desk, ids, ticket):
    other = desk.create("ticket", subject="Hose", group_id=ids["support"], tags="bills")["id"]
    desk.update("ticket", ticket, tags="bills, invoices")
    old, new = tag_id(desk, "bills"), tag_id(desk, "invoices")
    assert tag_merge.merge(desk.context(ids["nora"]), old, new) == "invoices"
    assert desk.found("ticket", "tag:bills sort:id") == desk.found("ticket", "tag:invoices sort:id") == [ticket, other]
    assert desk.record("tag", new, expand="num_tickets")["num_tickets"] == 2
    assert desk.acts()[-1] == "Nora Berg merged the tag bills into invoices"
    with pytest.raises(Forbidden):
        tag_merge.merge(desk.context(ids["milo"]), new, new)


def test_a_merge_is_undone_within_a_day(desk, ids, ticket, monkeypatch):
    monkeypatch.setattr(tag_merge, "BATCH", 1)  # several transactions
    nora = desk.context(ids["nora"])
    other, third = (
        desk.create("ticket", subject="Hose", group_id=ids["support"], tags="bills")["id"] for _ in range(2)
    )
    desk.update("ticket", ticket, tags="bills, invoices")
    desk.update("tag", tag_id(desk, "bills"), color="red")
    new = tag_id(desk, "invoices")
    tag_merge.merge(nora, tag_id(desk, "bills"), new)
    desk.update("ticket", third, tags="-invoices")
    restored, name = tag_merge.undo(nora, new)
    assert name == "bills" and desk.record("tag", restored)["color"] == "red" and tag_id(desk, "bills") == restored
    assert desk.found("ticket", "tag:bills sort:id") == [ticket, other] and desk.found("ticket", "tag:invoices") == [
        ticket
    ]
    with pytest.raises(Conflict, match="no tag was merged into invoices"):
        tag_merge.undo(nora, new)
    tag_merge.merge(nora, restored, new)
    tag_merge.forget_old(desk.service, NOW + 86400)
    assert desk.store.read(lambda tx: tx.find(tag_merge.TAG_MERGE_TICKET) + tx.find(tag_merge.TAG_MERGE)) == []


def test_merged_tickets_have_the_tags_of_both_until_the_merge_is_undone(desk, ids, ticket):
    other = desk.create("ticket", subject="Hose", group_id=ids["support"], tags="hose")["id"]
    desk.update("ticket", ticket, tags="pump")
    tickets.merge(desk.context(), [ticket, other])
    assert tags_of(desk, ticket) == ["hose", "pump"]
    unmerge.unmerge(desk.context(), ticket, unmerge.newest(desk.context(), ticket))
    assert (tags_of(desk, ticket), tags_of(desk, other)) == (["pump"], ["hose"])


def test_tickets_are_counted_by_tag(desk, ids, ticket):
    desk.update("ticket", ticket, tags="pump, late payer")
    desk.create("ticket", subject="Hose", group_id=ids["support"])
    result = records.search(desk.context(), "ticket", records.SearchRequest("", subtotals=["tag"]))
    counted = {each["label"]: each["hits"] for each in result["subtotals"]["tag"]}
    assert counted == {"pump": 1, "late payer": 1, "(none)": 1}


def test_a_custom_field_may_be_called_tags_and_tags_have_another_name(desk, ticket):
    field = desk.create("custom_field", name="Tags", context="ticket", type="M", uri="tags")["id"]
    desk.update("ticket", ticket, tags=["a", "b"], tag_names="billing")
    record = desk.record("ticket", ticket, expand="tags,custom_")
    assert (record["custom"][str(field)], record["tags"]) == (["a", "b"], ["billing"])
    assert record_tags.change_tags(desk.context(), "ticket", ticket, "-billing, vip") == {"tag_names": "-vip, billing"}
    assert tags_of(desk, ticket) == ["vip"]


@pytest.mark.parametrize(("uri", "name"), [("contact", {"first_name": "Ada"}), ("org", {"name": "Ada"})])
def test_tags_of_contacts_and_organizations_follow_merges(desk, ids, uri, name):
    nora = desk.context(ids["nora"])
    one, other = (desk.create(uri, **name, tags=tags)["id"] for tags in ("vip, Late", "bills"))
    for change in ("new", "-late"):
        desk.update(uri, one, tags=change)
    said = [(each["activity_point"], entries.plain_text(each["params"])) for each in desk.log()[-2:]]
    thing = desk.registry.type(uri).label_names[0].lower()
    assert said == [
        ("record.tag.added", f"Helpdesk tagged {thing} Ada new"),
        ("record.tag.removed", f"Helpdesk removed the tag Late from {thing} Ada"),
    ]
    desk.update(uri, one, tags="-new")
    assert desk.found(uri, "tag:vip") == [one] and desk.found(uri, "tag:none") == []
    tag_merge.merge(nora, tag_id(desk, "bills"), tag_id(desk, "vip"))
    assert desk.found(uri, "tag:bills sort:id") == [one, other]
    assert desk.record("tag", tag_id(desk, "vip"), expand=f"num_{uri}s")[f"num_{uri}s"] == 2
    restored, _name = tag_merge.undo(nora, tag_id(desk, "vip"))
    assert desk.found(uri, "tag:bills") == [other]
    merging.merge(nora, uri, one, [other])
    assert desk.record(uri, one, expand="tags")["tags"] == ["bills", "vip"]
    desk.delete("tag", restored)
    assert desk.record(uri, one, expand="tags")["tags"] == ["vip"]
