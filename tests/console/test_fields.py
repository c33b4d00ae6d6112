"""Custom fields in the console: every kind is created, changed, ordered and deleted, with a report of lost values."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from server.access.service_actor import own_context
from server.record_types.shared.custom import GEO, KINDS, LINKS, SLIDER
from server.record_types.shared.custom.definitions import KIND_NOTES, KIND_SETTINGS
from server.record_types.shared.relation_tables import CUSTOM_VALUE, DELETED_FIELD
from server.records import custom_fields, deleted_fields
from tests.console.conftest import HOSTILE
from tests.console.visitor import Visitor, place, value
from tests.records.desk import Desk
from tests.service import Api
from tests.telling import telling

BASE = "/admin/fields"
GIVEN: dict[str, dict[str, str]] = {
    "D": {"options": "Gold\r\n\r\nSilver "}, "X": {"options": "Post\nParcel"}, "L": {"context": "asset"},
    LINKS: {"context": "org"}, "Y": {"currency_id": "1"}, "O": {"decimal_at": "3"},
    SLIDER: {"value_min": "-5", "value_max": "5"}, "W": {"send_notifications": "1"},
}  # fmt: skip
KEPT: dict[str, dict[str, Any]] = {
    "D": {"options": ["Gold", "Silver"]}, "X": {"options": ["Post", "Parcel"]},
    "L": {"context": "svc.contexts.asset"}, LINKS: {"context": "svc.contexts.org"}, "O": {"decimal_at": 3},
    SLIDER: {"value_min": -5, "value_max": 5}, "W": {"send_notifications": 1}, "Y": {"currency_id": 1},
}  # fmt: skip
SENT = {"C": "1", "D": "Gold", "E": "2031-02-03", "N": "7", "O": "1.5", "S": "x", "T": "x", "U": "https://a.example/",
        GEO: "47.4,8.5", SLIDER: "3"}  # fmt: skip


def field(nora: Api, name: str, kind: str = "S", context: str = "asset", **more: Any) -> int:
    """Creates a field and returns its id."""
    uri = name.lower().replace(" ", "_")
    return int(nora.create("custom_field", name=name, uri=uri, type=kind, context=context, **more).ok()["id"])


def new_path(kind: str, uri: str = "task") -> str:
    return f"{BASE}/new?type={uri}&kind={kind}"


def test_every_kind_is_offered(signed_in: Visitor) -> None:
    assert set(KIND_NOTES) == set(KINDS) and set(GIVEN) == set(KIND_SETTINGS)
    text = signed_in.get(f"{BASE}/new?type=task").text
    assert all(f'&amp;kind={kind}"' in text for kind in KINDS)


@pytest.mark.parametrize("kind", telling(list(KINDS), ("S", "D", "L", "X"), "every kind"))
def test_a_field_of_every_kind_is_created_shown_and_changed(signed_in: Visitor, nora: Api, kind: str) -> None:
    name = f"Kind {list(KINDS).index(kind)}"
    form = {"name": name, "uri": "", "custom_fieldset_id": "0"} | GIVEN.get(kind, {})
    response = signed_in.send(new_path(kind), form)
    assert place(response) == f"{BASE}?type=task"
    [found] = nora.search("custom_field", f'name:"{name}" context:task').ok()["results"]
    assert (found["type"], found["uri"]) == (kind, name.lower().replace(" ", "_"))
    assert {name: found["params"][name] for name in KEPT.get(kind, {})} == KEPT.get(kind, {})
    listed = signed_in.get(f"{BASE}?type=task").text
    assert name in listed and f"custom_{found['id']}" in listed
    if kind in SENT:
        nora.create("task", title=name, **{f"custom_{found['id']}": SENT[kind]}).ok()
        assert "<dt>Records with a value</dt><dd>1</dd>" in signed_in.get(f"{BASE}/{found['id']}").text
    changed = form | {"name": f"{name} again", "uri": found["uri"]}
    assert place(signed_in.send(f"{BASE}/{found['id']}", changed)) == f"{BASE}?type=task"
    after = nora.record("custom_field", found["id"]).ok()
    assert (after["name"], after["params"]) == (f"{name} again", found["params"])


@pytest.mark.parametrize(
    ("kind", "changes", "told"),
    [
        ("S", {"name": ""}, "Name"),
        ("S", {"uri": "a b"}, "Name for programs"),
        ("S", {"uri": "title"}, "Name for programs"),
        ("S", {"custom_fieldset_id": "999"}, "Appears on"),
        ("S", {"custom_fieldset_id": "x"}, "Appears on"),
        ("D", {"options": " \n "}, "Options"),
        ("L", {"context": "tusk"}, "Record type"),
        ("Y", {"currency_id": "99"}, "Currency"),
        ("O", {"decimal_at": "many"}, "Decimals"),
        (SLIDER, {"value_min": "9", "value_max": "1"}, "From"),
        (SLIDER, {"value_min": "1", "value_max": "far"}, "To"),
    ],
)
def test_mistakes_are_reported_at_their_field(
    signed_in: Visitor, nora: Api, kind: str, changes: dict[str, str], told: str
) -> None:
    before = nora.search("custom_field")["total"]
    form = {"name": HOSTILE, "uri": "wrong_field", "custom_fieldset_id": "0"} | GIVEN.get(kind, {}) | changes
    response = signed_in.send(new_path(kind), form)
    assert response.status_code == 422 and f">{told}: " in response.text and HOSTILE not in response.text
    assert value(response.text, "name") == form["name"] and nora.search("custom_field")["total"] == before


def test_unknown_types_and_types_without_fields(signed_in: Visitor) -> None:
    assert signed_in.get(f"{BASE}?type=tusk").status_code == 404
    assert signed_in.get(f"{BASE}?type=custom_field").status_code == 422
    assert signed_in.send(f"{BASE}/new?type=task&kind=Q", {"name": "x"}, page="/account").status_code == 422
    assert signed_in.get(f"{BASE}/999999").status_code == 404


def test_fields_are_put_in_order(signed_in: Visitor, nora: Api) -> None:
    ids = [field(nora, f"Place{number}", context="bucket") for number in range(3)]
    order = f"{BASE}?type=bucket"

    def shown() -> list[int]:
        text = signed_in.get(order).text
        return sorted(ids, key=lambda id: text.index(f'id="field-{id}"'))

    for id, to, expected in ((2, "up", [0, 2, 1]), (2, "up", [2, 0, 1]), (2, "up", [2, 0, 1]), (0, "down", [2, 1, 0])):
        response = signed_in.send(f"{BASE}/{ids[id]}/move", {"to": to}, page=order)
        assert place(response) == f"{order}#field-{ids[id]}" and shown() == [ids[each] for each in expected]


def test_renaming_an_option_renames_it_in_records_too(signed_in: Visitor, nora: Api) -> None:
    id = field(nora, "Level", "D", params={"options": ["Gold", "gold", "Silver"]})
    assets = [nora.create("asset", name=each, **{f"custom_{id}": each}).ok()["id"] for each in ("Gold", "gold")]
    form = {"option": "Gold", "new_name": "Platinum"}
    path, own = f"{BASE}/{id}/rename", f"{BASE}/{id}"
    assert place(signed_in.send(path, form, page=own)) == own
    values = [nora.record("asset", each, "custom_")[f"custom_{id}"] for each in assets]
    assert values == ["Platinum", "gold"]
    assert nora.record("custom_field", id)["params"]["options"] == ["Platinum", "gold", "Silver"]
    for wrong in ({"option": "Gold"}, {"option": "gold", "new_name": "SILVER"}, {"option": "gold", "new_name": " "}):
        response = signed_in.send(path, {"new_name": "x", **wrong}, page=own)
        assert response.status_code == 422 and 'id="summary"' in response.text, wrong


def test_deleting_first_reports_what_is_lost(signed_in: Visitor, nora: Api) -> None:
    id = field(nora, "Loss")
    nora.create("asset", name="Keeps", **{f"custom_{id}": "precious"}).ok()
    text = signed_in.get(f"{BASE}/{id}/delete").text
    assert "1 record has a value in this field. The value is deleted too." in text
    assert nora.record("custom_field", id).status == 200
    assert place(signed_in.send(f"{BASE}/{id}/delete")) == f"{BASE}?type=asset"
    assert nora.record("custom_field", id).status == 404
    assert signed_in.get(f"{BASE}/{id}/delete").status_code == 404


def test_a_deleted_field_is_restored_with_its_values(signed_in: Visitor, nora: Api, desk: Desk) -> None:
    id = field(nora, "Season", "D", params={"options": ["Summer", "Winter"]})
    kept, gone = (nora.create("asset", name=each, **{f"custom_{id}": "Winter"}).ok()["id"] for each in ("Kept", "Gone"))
    assert "Undo" in signed_in.get(place(signed_in.send(f"{BASE}/{id}/delete"))).text
    assert "Season" in signed_in.get(BASE).text
    assert nora.search("asset", "season:Winter").status == 422
    nora.remove("asset", gone).ok()
    other = field(nora, "Season")
    path = f"{BASE}/deleted/{id}/restore"
    assert signed_in.send(path, page=BASE).status_code == 409  # its identifier was used again since
    nora.remove("custom_field", other).ok()
    assert place(signed_in.send(path, page=BASE)) == f"{BASE}?type=asset"
    assert nora.record("asset", kept, "custom_")[f"custom_{id}"] == "Winter"
    assert nora.record("custom_field", id)["params"]["options"] == ["Summer", "Winter"]
    assert values_of(desk, id) == [kept] == nora.found("asset", "season:Winter")
    assert signed_in.send(path, page=BASE).status_code == 404


def test_a_deleted_field_is_purged_by_hand_or_after_a_week(
    signed_in: Visitor, visitor: Visitor, nora: Api, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deleted_fields, "BATCH", 2)
    first, second = field(nora, "By hand"), field(nora, "By time")
    for number in range(5):
        nora.create("asset", name=f"N{number}", **{f"custom_{first}": "a", f"custom_{second}": "b"}).ok()
    for each in (first, second):
        nora.remove("custom_field", each).ok()
    deleted = desk.read(lambda tx: tx.first(DELETED_FIELD, field_id=second))[2]
    visitor.sign_in("milo@desk.example")
    assert visitor.send(f"{BASE}/deleted/{first}/remove", page="/account").status_code == 403
    assert place(signed_in.send(f"{BASE}/deleted/{first}/remove", page=BASE)) == BASE
    assert not values_of(desk, first) and len(values_of(desk, second)) == 5
    due = deleted + deleted_fields.KEPT_SECONDS
    assert deleted_fields.forget_old(desk.service, due - 1) is not None and len(values_of(desk, second)) == 5
    deleted_fields.forget_old(desk.service, due)
    assert not values_of(desk, second) and "By time" not in signed_in.get(BASE).text


def test_records_with_a_value_are_counted_up_to_a_limit(nora: Api, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_fields, "MAX_COUNTED", 2)
    few, many = field(nora, "Few", "M"), field(nora, "Many")
    for number in range(4):
        values = {f"custom_{few}": ["a", "b"]} if number < 2 else {}
        nora.create("asset", name=f"C{number}", **{f"custom_{many}": "x", **values}).ok()
    assert custom_fields.uses(own_context(desk.service), [few, many, 0]) == {few: 2, many: 3, 0: 0}


def values_of(desk: Desk, id: int) -> list[int]:
    """Returns the ids of records that have a value of a field."""
    return [row[1] for row in desk.read(lambda tx: tx.find(CUSTOM_VALUE, field_id=id))]


def test_a_fieldset_is_created_filled_and_deleted(signed_in: Visitor, nora: Api) -> None:
    sets = f"{BASE}/sets"
    owner = f"svc.contexts.group:{nora.ids['support']}"
    assert signed_in.send(f"{sets}/new?type=org", {"name": "", "owner": owner}).status_code == 422
    for wrong in ("nobody", "", "worker", "tusk: 1", f"group: Support #{'9' * 30}", "svc.contexts.tusk:1",
                  "group: 9999"):  # fmt: skip
        refused = signed_in.send(f"{sets}/new?type=org", {"name": "x", "owner": wrong})
        assert refused.status_code == 422 and 'id="owner-error"' in refused.text, wrong
    response = signed_in.send(f"{sets}/new?type=org", {"name": HOSTILE, "owner": owner})
    [id] = nora.found("custom_fieldset", "context:org")
    assert place(response) == f"{BASE}?type=org#set-{id}"
    assert nora.record("custom_fieldset", id)["owner_id"] == nora.ids["support"]
    form = {"name": "Carrier", "uri": "", "custom_fieldset_id": str(id)}
    assert place(signed_in.send(new_path("S", "org") + f"&set={id}", form)) == f"{BASE}?type=org"
    for path in (f"{BASE}?type=org", f"{sets}/{id}", f"{sets}/{id}/delete", BASE):
        page = signed_in.get(path)
        assert page.status_code == 200 and HOSTILE not in page.text, path
    for text, stored in (
        ("Worker: whoever #1", ("svc.contexts.worker", 1)),
        ("everybody", ("svc.contexts.app", 0)),
        (f"Group: Support #{nora.ids['support']}", ("svc.contexts.group", nora.ids["support"])),
    ):
        assert signed_in.send(f"{sets}/{id}", {"name": HOSTILE, "owner": text}).status_code == 303, text
        found = nora.record("custom_fieldset", id).ok()
        assert (found["owner__context"], found["owner_id"]) == stored, text
    looked = signed_in.get("/-/choose/owner", params={"q": "group: supp"}).json()["results"]
    assert looked[0] == {"id": nora.ids["support"], "label": "Group: Support"}
    assert "Group: Support" in signed_in.get("/choose/owner", params={"q": "supp"}).text
    changed = {"name": "Delivery", "owner": "svc.contexts.app:0"}
    assert place(signed_in.send(f"{sets}/{id}", changed)) == f"{BASE}?type=org#set-{id}"
    [inner] = nora.found("custom_field", f"fieldset.id:{id}")
    nora.create("org", name="Acme", **{f"custom_{inner}": "Post"}).ok()
    text = signed_in.get(f"{sets}/{id}/delete").text
    assert (
        "It is attached to 1 record. Its 1 field is deleted too." in text
        and "Carrier: the value of 1 record is deleted." in text
    )
    assert place(signed_in.send(f"{sets}/{id}/delete")) == f"{BASE}?type=org"
    assert nora.record("custom_field", inner).status == 404


@pytest.mark.exhaustive("the script of test_macro_form.py")
def test_fields_are_dragged_into_order_and_back(page: Page, nora: Api) -> None:
    ids = [field(nora, f"Dragged{number}", context="calendar") for number in range(3)]
    page.goto(f"{BASE}?type=calendar")
    names = page.locator("tbody .main a")
    expect(names).to_have_text(["Dragged0", "Dragged1", "Dragged2"])
    page.drag_and_drop(f"#field-{ids[0]} .handle", f"#field-{ids[2]} .main")
    expect(names).to_have_text(["Dragged1", "Dragged2", "Dragged0"])
    expect(page.locator("#toasts")).to_contain_text("Dragged0 moved down.")
    page.get_by_role("button", name="Undo").click()
    expect(names).to_have_text(["Dragged0", "Dragged1", "Dragged2"])
    page.drag_and_drop(f"#field-{ids[2]} .handle", f"#field-{ids[0]} .main")
    expect(names).to_have_text(["Dragged2", "Dragged0", "Dragged1"])
    for id in ids:
        nora.remove("custom_field", id).ok()


@pytest.mark.exhaustive("a page by keyboard alone")
def test_a_field_by_keyboard(page: Page, nora: Api) -> None:
    page.goto(f"{BASE}?type=opportunity")
    page.get_by_role("link", name="New field", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Picklist").focus()
    page.keyboard.press("Enter")
    page.locator("#name").focus()
    page.keyboard.type("Stage")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("First\nSecond")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#toasts")).to_contain_text("created: custom_")
    expect(page.get_by_role("link", name="Stage")).to_be_visible()
    page.get_by_role("link", name="Stage").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#options")).to_have_value("First\nSecond")
