"""Custom fields and fieldsets as records: fixed properties, free names, and dependent deletions."""

import pytest

from server.errors import Conflict, Forbidden, Invalid, NotFound
from server.record_types.shared.relation_tables import CUSTOM_VALUE
from server.records import deleted_fields
from tests.records.desk import NOW

FIELD = {"name": "Serial number", "uri": "serial", "type": "S", "context": "task"}
APP = {"owner__context": "app", "owner_id": 0}


def make(desk, **fields):
    return desk.create("custom_field", expand="search_filter", **FIELD | fields)


def values(desk):
    """Returns the number of values, after the retention of deleted fields is over."""
    deleted_fields.forget_old(desk.service, NOW + deleted_fields.KEPT_SECONDS)
    return len(desk.read(lambda tx: tx.find(CUSTOM_VALUE)))


def test_a_field_describes_itself_and_its_filter(desk):
    shown = make(desk)
    assert (shown["type_label"], shown["search_filter"]) == ("Text: Single Line", "serialNumber")
    assert (shown["context"], shown["params"]) == ("svc.contexts.task", {})
    task = desk.create("task", title="Count", serial="AB")["id"]
    assert desk.found("task", "serialNumber:AB") == [task]


@pytest.mark.parametrize("fields", [{"type": "N"}, {"context": "call"}])
def test_context_and_type_cannot_change(desk, fields):
    id = make(desk)["id"]
    with pytest.raises(Invalid, match="cannot be changed"):
        desk.update("custom_field", id, **fields)
    desk.update("custom_field", id, type="S", context="svc.contexts.task", name="Number")


@pytest.mark.parametrize(
    "uri", ["123", "custom_1", "title", "status", "links", "id", "watchers", "is_completed", "with space", "Ümlaut", ""]
)
def test_reserved_uris_are_refused(desk, uri):
    with pytest.raises(Invalid, match="uri"):
        make(desk, uri=uri)


def test_a_uri_is_unique(desk):
    make(desk)
    with pytest.raises(Conflict, match="uri"):
        make(desk, uri="SERIAL")


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"type": "D", "params": {"options": ["a", "b", "a"]}}, {"options": ["a", "b"]}),
        ({"type": "X", "params": '{"options": "a\\nb"}'}, {"options": ["a", "b"]}),
        ({"type": "L", "params": {"context": "org"}}, {"context": "svc.contexts.org"}),
        ({"type": "O", "params": {"decimal_at": "2"}}, {"decimal_at": 2}),
        ({"type": "svc.custom_field.slider"}, {"value_min": 0, "value_max": 100}),
        ({"type": "svc.custom_field.slider", "params": {"value_min": "-5", "value_max": "5"}},
         {"value_min": -5, "value_max": 5}),
        ({"type": "W", "params": {"send_notifications": "true"}}, {"send_notifications": 1}),
        ({"type": "W", "params": {"send_notifications": ""}}, {"send_notifications": 0}),
    ],
)  # fmt: skip
def test_settings_are_parsed_for_the_kind(desk, fields, kept):
    assert make(desk, **fields)["params"] == kept


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "D"},
        {"type": "X", "params": {"options": []}},
        {"type": "L"},
        {"type": "L", "params": {"context": "nothing"}},
        {"type": "O", "params": {"decimal_at": "many"}},
        {"type": "svc.custom_field.slider", "params": {"value_min": 5, "value_max": 5}},
        {"type": "W", "params": {"send_notifications": "maybe"}},
        {"type": "Q"},
        {"context": "notification"},
        {"params": ["a"]},
    ],
)
def test_invalid_settings_are_refused(desk, fields):
    with pytest.raises(Invalid):
        make(desk, **fields)


def test_values_are_deleted_with_their_field(desk):
    id = make(desk)["id"]
    task = desk.create("task", title="Count", serial="AB")["id"]
    assert values(desk) == 1
    desk.delete("custom_field", id)
    assert values(desk) == 0
    assert desk.record("task", task, expand="custom_")["custom"] == {}


def test_a_field_whose_values_are_being_deleted_cannot_be_restored(desk, monkeypatch):
    """Half of them would be missing silently; after a kill, the next process deletes the rest."""
    monkeypatch.setattr(deleted_fields, "BATCH", 2)
    id = make(desk)["id"]
    for number in range(5):
        desk.create("task", title="Count", serial=f"A{number}")
    desk.delete("custom_field", id)
    assert [each.id for each in deleted_fields.list_deleted_fields(desk.context())] == [id]
    desk.store.write(lambda tx: deleted_fields._remove_some(tx, id))
    assert deleted_fields.list_deleted_fields(desk.context()) == []
    for ask in (deleted_fields.restore, deleted_fields.remove):
        with pytest.raises(NotFound):
            ask(desk.context(), id)
    deleted_fields.forget_old(desk.service, NOW)
    assert len(desk.read(lambda tx: tx.find(CUSTOM_VALUE))) == 0


def test_a_field_is_restored_without_values_of_deleted_records(desk, monkeypatch):
    """They are searched in portions, and only portions that contain some are written."""
    monkeypatch.setattr(deleted_fields, "BATCH", 2)
    id = make(desk)["id"]
    tasks = [desk.create("task", title="Count", serial=f"A{number}")["id"] for number in range(9)]
    desk.delete("custom_field", id)
    desk.delete("task", tasks[0])  # deletes its value
    left = {
        "field_id": id,
        "record_id": tasks[-1] + 1,
        "place": 0,
        "text": "B",
    }  # left by an older program
    desk.store.write(lambda tx: tx.insert(CUSTOM_VALUE, left))
    writes = []
    write = type(desk.store).write
    monkeypatch.setattr(type(desk.store), "write", lambda store, work: writes.append(work) or write(store, work))
    deleted_fields.restore(desk.context(), id)
    assert len(writes) == 2
    kept = [row[1] for row in desk.read(lambda tx: tx.find(CUSTOM_VALUE, field_id=id))]
    assert kept == tasks[1:] and desk.record("task", tasks[1], expand="custom_")["custom"] == {str(id): "A1"}


def test_a_fieldset_deletes_its_fields_and_values(desk):
    fieldset = desk.create("custom_fieldset", name="Technical", context="task", **APP)["id"]
    field = make(desk, custom_fieldset_id=fieldset)
    assert field["search_filter"] == "technical.serialNumber"
    task = desk.create("task", title="Count", serial="AB")["id"]
    assert desk.found("task", "fieldset:(name:Technical)") == [task]
    shown = desk.record("custom_fieldset", fieldset, expand="custom_fields")["custom_fields"]
    assert [each["uri"] for each in shown] == ["serial"]
    with pytest.raises(Invalid, match="context"):
        desk.update("custom_fieldset", fieldset, context="call")
    desk.delete("custom_fieldset", fieldset)
    assert values(desk) == 0
    assert desk.found("custom_field", "") == desk.found("task", "fieldset:(name:Technical)") == []


def test_a_field_has_the_type_of_its_fieldset(desk):
    fieldset = desk.create("custom_fieldset", name="Technical", context="call", **APP)["id"]
    with pytest.raises(Invalid, match="context"):
        make(desk, custom_fieldset_id=fieldset)
    field = make(desk)["id"]
    with pytest.raises(Invalid, match="context"):
        desk.update("custom_field", field, custom_fieldset_id=fieldset)


def test_changing_a_fieldset_includes_changing_its_fields(desk, ids):
    milo, olga = ids["milo"], ids["olga"]
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    own = desk.create("custom_fieldset", by=milo, name="Mine", context="task", owner__context="worker", owner_id=milo)[
        "id"
    ]
    field = desk.create("custom_field", by=milo, custom_fieldset_id=own, **FIELD)["id"]
    with pytest.raises(Forbidden):
        desk.update("custom_field", field, by=olga, name="Hers")
    with pytest.raises(Forbidden):
        desk.update("custom_field", field, by=milo, custom_fieldset_id=0)
    with pytest.raises(Forbidden):
        desk.create("custom_field", by=milo, **FIELD | {"uri": "other"})
    desk.delete("custom_field", field, by=milo)


def notices(desk, worker_id, uri="task"):
    """Returns [(sentence, id of the record)] of a worker's notifications about records of a type."""
    found = [desk.record("notification", id) for id in desk.found("notification", f"worker.id:{worker_id} sort:id")]
    context = desk.registry.type(uri).context
    return [(each["message"], each["target_id"]) for each in found if each["target__context"] == context]


def test_a_chosen_worker_is_notified_if_the_field_says_so(desk, ids):
    nora, milo, olga = ids["nora"], ids["milo"], ids["olga"]
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    make(desk, name="Helper", uri="helper", type="W", params={"send_notifications": "yes"})
    make(desk, name="Silent", uri="silent", type="W")
    task = desk.create("task", by=nora, title="Count", helper=milo, silent=olga)["id"]
    chosen = ("Nora Berg chose Milo as Helper of Count", task)
    created = ("Nora Berg created task Count", task)
    assert sorted(notices(desk, milo)) == [chosen, created] and notices(desk, olga) == []
    desk.update("task", task, by=nora, helper=milo, importance=7)
    assert len(notices(desk, milo)) == 2, "nothing was chosen anew"
    desk.update("task", task, by=nora, helper=olga)
    assert notices(desk, olga) == [("Nora Berg chose Olga as Helper of Count", task)]
    desk.update("task", task, by=nora, status="completed")
    assert notices(desk, olga)[1:] == [("Nora Berg completed task Count", task)] and len(notices(desk, milo)) == 2
    desk.update("task", task, by=milo, helper=milo)
    desk.update("task", task, by=milo, helper="")
    assert len(notices(desk, milo)) == 2, "nobody is told of what they did themselves"


def test_workers_who_cannot_read_the_record_are_not_notified(desk, ids):
    make(desk, context="ticket", name="Helper", uri="helper", type="W", params={"send_notifications": 1})
    private = desk.create("group", name="Management", is_private=1)["id"]
    ticket = desk.create("ticket", by=ids["nora"], subject="Secret", group_id=private, helper=ids["milo"])["id"]
    assert notices(desk, ids["milo"], "ticket") == []
    desk.update("ticket", ticket, by=ids["nora"], group_id=ids["support"])
    desk.update("ticket", ticket, by=ids["nora"], status="closed")
    last, about = notices(desk, ids["milo"], "ticket")[-1]
    assert "closed ticket" in last and last.endswith("Secret") and about == ticket
