"""Custom fields of every kind over HTTP: accepted values, reading, searching, sorting and counting."""

from collections import Counter
from typing import Any

import pytest

from tests.api.custom_kinds import BY_LETTER, GEO, KINDS, LINKS, SLIDER, Kind, filled, numbered, uri_of
from tests.api.minimal import made, number
from tests.service import Api


@pytest.fixture(scope="module")
def ids(nora: Api) -> dict[str, int]:
    """Records that values refer to, and one field of each kind on tasks, by its letter."""
    found = {"org": made(nora, "org"), "org2": made(nora, "org"), "milo": nora.ids["milo"]}
    found |= {"file": made(nora, "attachment"), "file2": made(nora, "attachment")}
    for kind in KINDS:
        name = kind.letter.rpartition(".")[2]
        found[kind.letter] = nora.create(
            "custom_field", context="task", name=f"Kind {name}", type=kind.letter, uri=f"kind_{name}".lower(),
            params=kind.params or "",
        ).ok()["id"]  # fmt: skip
    return found


@pytest.mark.parametrize("kind", KINDS, ids=[each.letter for each in KINDS])
def test_values_are_stored_and_shown(kind: Kind, ids: dict[str, int], api: Api) -> None:
    id, name = ids[kind.letter], f"custom_{ids[kind.letter]}"
    task = made(api, "task")
    unset = api.record("task", task, "custom_,customfields").ok()
    assert unset["custom"][str(id)] is None
    assert unset[name] == ([] if kind.letter == LINKS else "")
    for sent, shown, text in kind.fits:
        shown = filled(shown, ids)
        shown = numbered(shown) if kind.letter in ("F", "I", "L", "W", LINKS) else shown
        for key in (name, uri_of(kind)):
            api.update("task", task, **{key: filled(sent, ids)}).ok()
            found = api.record("task", task, "custom_,customfields").ok()
            assert (found["custom"][str(id)], found[uri_of(kind)]) == (shown, shown)
            assert found[name] == (shown if kind.letter == LINKS else filled(text, ids))
            assert uri_of(kind) in found["customfields"]


@pytest.mark.parametrize("kind", KINDS, ids=[each.letter for each in KINDS])
def test_an_invalid_value_is_refused_by_name_and_changes_nothing(kind: Kind, ids: dict[str, int], api: Api) -> None:
    name = f"custom_{ids[kind.letter]}"
    task = made(api, "task", **{name: filled(kind.fits[0][0], ids)})
    before = api.record("task", task, "custom_").ok().json
    for value in kind.refused:
        response = api.update("task", task, title="Changed", **{name: filled(value, ids)})
        assert (response.status, response["__error"]) == (422, "ERROR_PARAM_INVALID"), value
        assert response["errors"][0]["field"] == name
    assert api.record("task", task, "custom_").ok().json == before


@pytest.mark.parametrize("kind", KINDS, ids=[each.letter for each in KINDS])
def test_blank_clears(kind: Kind, ids: dict[str, int], api: Api) -> None:
    name = f"custom_{ids[kind.letter]}"
    task = made(api, "task", **{name: filled(kind.fits[0][0], ids)})
    for nothing in ("", "0") if kind.letter in ("E", "F", "L", "W") else ("",):
        api.update("task", task, **{name: filled(kind.fits[0][0], ids)}).ok()
        api.update("task", task, **{name: nothing}).ok()
        shown = api.record("task", task, "custom_").ok()
        assert shown["custom"][str(ids[kind.letter])] is None
        assert shown[name] == ([] if kind.letter == LINKS else "")
        assert api.found("task", f"id:{task} {name}:null") == [task]


@pytest.mark.parametrize(
    ("before", "sent", "after"),
    [
        (["red"], ["+blue"], ["red", "blue"]),
        (["red", "blue"], ["-red"], ["blue"]),
        (["red"], ["-red", "+blue"], ["blue"]),
        (["red"], ["+red"], ["red"]),
        (["red"], "+blue", ["red", "blue"]),
        (["red"], ["blue"], ["blue"]),
        (["red"], ["blue", "+-odd"], ["red", "blue", "-odd"]),
        (["red", "-odd"], ["--odd"], ["red"]),
        (["red"], ["-odd"], ["-odd"]),  # an option that begins with a sign
        (["red"], ["-blue"], ["red"]),
        (["red"], ["-red"], None),
        ([], ["+red"], ["red"]),
    ],
)
def test_signed_options_change_a_list_of_checkboxes(
    before: list[str], sent: Any, after: list[str] | None, ids: dict[str, int], api: Api
) -> None:
    name, id = f"custom_{ids['X']}", str(ids["X"])
    task = made(api, "task", **{name: before} if before else {})
    api.update("task", task, **{name: sent}).ok()
    assert api.record("task", task, "custom_").ok()["custom"][id] == after


@pytest.mark.parametrize("sent", [["bleu"], ["+bleu"], ["-bleu"], ["red", "bleu"], "bleu", ["Blue"]])
def test_an_unknown_option_is_refused_with_the_nearest_and_changes_nothing(
    sent: Any, ids: dict[str, int], api: Api
) -> None:
    name, id = f"custom_{ids['X']}", str(ids["X"])
    task = made(api, "task", **{name: ["red", "-odd"]})
    response = api.update("task", task, title="Other", **{name: sent})
    assert (response.status, response["errors"][0]["field"]) == (422, name)
    assert "is not one of its options" in response["message"] and "'blue'" in response["message"]
    shown = api.record("task", task, "custom_").ok()
    assert shown["custom"][id] == ["red", "-odd"] and shown["title"] != "Other"


def test_a_decimal_field_without_places_accepts_whole_numbers_only(nora: Api) -> None:
    field = made(nora, "custom_field", context="task", name=f"Places {number()}", type="O")
    task = made(nora, "task", **{f"custom_{field}": "7.0"})
    assert nora.update("task", task, **{f"custom_{field}": "0.5"}).status == 422
    assert nora.record("task", task, "custom_").ok()["custom"][str(field)] == 7


def test_additional_keys_of_references_and_decimals(ids: dict[str, int], api: Api) -> None:
    task = made(
        api, "task", **{f"custom_{ids['L']}": ids["org"], f"custom_{ids['W']}": ids["milo"],
                        f"custom_{ids['O']}": "12.34", f"custom_{ids['Y']}": "1234.5",
                        f"custom_{ids[LINKS]}": [ids["org"]]},
    )  # fmt: skip
    found = api.record("task", task, "custom_").ok()
    link, worker, decimal, money, several = (f"custom_{ids[letter]}" for letter in ("L", "W", "O", "Y", LINKS))
    assert (found[f"{link}_id"], found[f"{link}__context"]) == (ids["org"], "svc.contexts.org")
    assert (found[f"{worker}_id"], found[f"{worker}__context"]) == (ids["milo"], "svc.contexts.worker")
    assert found[f"{decimal}_decimal_at"] == 2
    assert (found[f"{money}_currency_id"], found[f"{money}_decimal"]) == (1, "1234.50")
    assert found[f"{several}_records"] == {str(ids["org"]): {"_context": "svc.contexts.org", "id": ids["org"]}}
    opened = api.record("task", task, f"{link}_name,{worker}_address_email").ok()
    assert opened[f"{link}_name"] == "Larch Foods" and opened[f"{link}__label"] == "Larch Foods"
    assert opened[f"{worker}_address_email"] == "milo@desk.example"


# kind, value, query on the field, whether the record with that value matches; {} is the name of the filter.
SEARCHES = [
    ("C", "1", "{}:y", True), ("C", "1", "{}:n", False), ("C", "0", "{}:n", True), ("C", None, "{}:n", True),
    ("C", None, "{}:y", False), ("C", "1", "{}:!n", True), ("C", None, "{}:null", True), ("C", "0", "{}:null", False),
    ("D", "Gold", "{}:go", True), ("D", "Gold", '{}:"go"', False), ("D", "Gold", "{}:!Gold", False),
    ("D", None, "{}:!Gold", True), ("D", "Iron", "{}:[Gold,Iron]", True), ("D", None, "{}:null", True),
    ("E", "2024-05-15 10:00", "{}:2024-05-15", True), ("E", "2024-05-15 10:00", "{}:>2024-05-15", False),
    ("E", "2024-05-15 10:00", '{}:"2024-05-15 to 2024-05-15"', True), ("E", None, "{}:never", True),
    ("E", None, "{}:null", True), ("E", "2024-05-15 10:00", "{}:(days:wed times:10:00)", 422),
    ("E", "2024-05-15 10:00", '{}:(days:wed times:"9:00-11:00")', True),
    ("F", "{file}", "{}.id:{file}", True), ("F", "{file}", "{}.id:{file2}", False),
    ("F", "{file}", "{}:(name:note.txt)", True),
    ("I", ["{file}", "{file2}"], "{}.id:{file2}", True), ("I", ["{file}"], "{}:!(name:note.txt)", False),
    ("L", "{org}", "{}.id:{org}", True), ("L", "{org}", "{}.id:!{org}", False),
    ("L", "{org}", "{}:(name:Larch*)", True),
    ("L", "{org}", "{}:larch", True), ("L", None, "{}:!(name:Larch*)", True), ("L", None, "{}:null", True),
    ("L", "{org}", "{}:null", False),
    ("M", ["a", "b"], "{}:b", True), ("M", ["a", "b"], "{}:!b", False), ("M", ["ab"], "{}:a", True),
    ("M", ["a", "b"], "{}:[x,b]", True), ("M", ["a"], "{}:null", False),
    ("N", "12", "{}:12", True), ("N", "12", "{}:>11", True), ("N", "12", "{}:5...11", False),
    ("N", "-7", "{}:<0", True),
    ("N", "12", "{}:[1,12]", True), ("N", "12", "{}:!12", False), ("N", None, "{}:!12", True),
    ("N", None, "{}:null", True),
    ("N", "12", "{}:many", 422),
    ("O", "12.34", "{}:12.34", True), ("O", "12.34", "{}:>12.3", True), ("O", "12.34", "{}:1...12", False),
    ("S", "Red kite", "{}:kit", True), ("S", "Red kite", '{}:"kite"', False), ("S", "Red kite", "{}:red*", True),
    ("S", "100%", "{}:0%", True), ("S", "1000", "{}:0%", False), ("S", "\u00c4rger", "{}:\u00e4rger", True),
    ("T", "two\nlines", "{}:lines", True), ("U", "https://kite.example/", "{}:kite", True),
    ("W", "{milo}", "{}:milo", True), ("W", "{milo}", "{}:me", False), ("W", "{milo}", "{}:any", True),
    ("W", None, "{}:none", True), ("W", "{milo}", "{}:none", False), ("W", "{milo}", "{}.id:{milo}", True),
    ("W", None, "{}:!milo", True),
    ("X", ["red", "blue"], "{}:blue", True), ("X", ["red", "blue"], "{}:!blue", False),
    ("X", ["red"], '{}:["red"]', True),
    ("Y", "12.34", "{}:<12.35", True), ("Y", "12.34", "{}:12.34", True),
    (SLIDER, "5", "{}:>=5", True), (SLIDER, "5", "{}:<5", False),
    (GEO, "59.9139, 10.7522", "{}:59.9", True),
    (LINKS, ["{org}"], "{}.id:{org}", True), (LINKS, ["{org}"], "{}:(name:Larch*)", True),
]  # fmt: skip


@pytest.mark.parametrize(("letter", "value", "query", "found"), SEARCHES)
def test_searches(letter: str, value: Any, query: str, found: bool | int, ids: dict[str, int], api: Api) -> None:
    name = f"custom_{ids[letter]}"
    fields = {} if value is None else {name: filled(value, ids)}
    task = made(api, "task", **fields)
    plain = "kind" + letter.rpartition(".")[2].capitalize()
    for filter_name in (plain, name, uri_of(BY_LETTER[letter])):
        response = api.search("task", f"id:{task} " + filled(query.replace("{}", filter_name), ids))
        assert response.status == (200 if isinstance(found, bool) else found), response
        if response.status == 200:
            assert [each["id"] for each in response["results"]] == ([task] if found else []), filter_name


def test_order_by_a_custom_field_of_any_kind(ids: dict[str, int], api: Api) -> None:
    for letter, values in (
        ("N", ["-7", "2", "10", "100"]), ("S", ["Alpha", "beta", "Gamma"]), ("D", ["Gold", "Iron"]), ("C", ["0", "1"]),
        ("E", ["2024-05-14", "2024-05-15"]), ("O", ["9.5", "10.1"]), (SLIDER, ["-5", "0", "5"]),
    ):  # fmt: skip
        name = f"custom_{ids[letter]}"
        tasks = [made(api, "task", **{name: value}) for value in values]
        query = f"id:[{','.join(map(str, tasks))}]"
        for filter_name in (name, "kind" + letter.rpartition(".")[2].capitalize()):
            assert api.found("task", f"{query} sort:{filter_name}") == tasks, letter
            assert api.found("task", f"{query} sort:-{filter_name}") == tasks[::-1], letter


def test_counts_by_a_custom_field(ids: dict[str, int], api: Api) -> None:
    samples: dict[str, list[Any]] = {
        "C": ["1", "1", "0"], "D": ["Gold", "Gold", "Iron"], "N": ["5", "5", "7"], "S": ["a", "a", "b"],
        "M": [["a", "b"], ["a"], []], "X": [["red", "blue"], ["red"], []], "U": ["http://a.example/"] * 2,
        "L": [ids["org"], ids["org"], ids["org2"]], "W": [ids["milo"], ids["milo"]],
    }  # fmt: skip
    for letter, values in samples.items():
        name = f"custom_{ids[letter]}"
        tasks = [made(api, "task", **({name: value} if value != [] else {})) for value in values]
        response = api.search("task", f"id:[{','.join(map(str, tasks))}]", subtotals=name).ok()
        expected = Counter(str(one) for value in values for one in (value if isinstance(value, list) else [value]))
        if [] in values:
            expected[""] = 1
        found = Counter({str(each.get("key", each["label"])): each["hits"] for each in response["subtotals"][name]})
        assert found == expected, letter
    for letter in ("E", "F", "I", "O", "T", "Y", GEO, LINKS, SLIDER):
        assert api.search("task", subtotals=f"custom_{ids[letter]}").status == 422, letter


def test_a_field_of_a_fieldset_attaches_it_and_is_named_after_it(api: Api) -> None:
    name = f"Billing {number()}"
    fieldset = made(api, "custom_fieldset", context="call", name=name)
    field = made(api, "custom_field", context="call", name="Invoice number", custom_fieldset_id=fieldset)
    call, other = made(api, "call"), made(api, "call")
    prefix = f"billing{name.split()[1]}"
    assert api.found("call", f"fieldset:(id:{fieldset})") == []
    api.update("call", call, **{f"custom_{field}": "A-17"}).ok()
    assert api.found("call", f"fieldset:(id:{fieldset})") == [call]
    assert api.found("call", f"{prefix}.invoiceNumber:A-17") == [call]
    assert api.found("call", f"{prefix}.invoiceNumber:null id:[{call},{other}]") == [other]
    assert api.record("custom_field", field, "search_filter").ok()["search_filter"] == f"{prefix}.invoiceNumber"
    counted = api.search("call", f"id:{call}", subtotals="fieldset").ok()["subtotals"]["fieldset"]
    assert counted == [{"label": name, "hits": 1, "key": fieldset}]
    api.update("call", other, **{f"custom_{field}": ""}).ok()
    assert api.found("call", f"fieldset:(id:{fieldset})") == [call]
    assert api.update("call", call, fieldsets=[fieldset]).status == 422  # only tickets and tasks have fieldsets


def test_fieldsets_can_be_attached_to_tickets_and_tasks(api: Api) -> None:
    fieldset = made(api, "custom_fieldset", context="task")
    task = made(api, "task", fieldsets=[fieldset])
    assert api.found("task", f"fieldset:(id:{fieldset})") == [task]
    api.update("task", task, fieldsets=f"-{fieldset}").ok()
    assert api.found("task", f"fieldset:(id:{fieldset})") == []


def test_a_field_of_another_type_is_unknown(ids: dict[str, int], api: Api) -> None:
    for name in (f"custom_{ids['S']}", "custom_999999", "custom_x", "kind_s"):
        response = api.create("org", name="Kite", **{name: "x"})
        assert (response.status, response["__error"], response["errors"][0]["field"]) == (
            422,
            "ERROR_PARAM_INVALID",
            name,
        )


def test_two_fields_of_one_name_have_separate_filters(api: Api) -> None:
    name = f"Twin {number()}"
    first, second = (made(api, "custom_field", context="call", name=name, type="N") for _ in range(2))
    call = made(api, "call", **{f"custom_{first}": 1, f"custom_{second}": 2})
    plain = f"twin{name.split()[1]}"
    assert api.found("call", f"{plain}:1 {plain}{second}:2") == [call]


def test_values_are_deleted_with_their_field_and_their_record(api: Api) -> None:
    field = made(api, "custom_field", context="call", name=f"Gone {number()}")
    call = made(api, "call", **{f"custom_{field}": "x"})
    assert api.found("call", f"custom_{field}:x") == [call]
    api.remove("custom_field", field).ok()
    assert api.search("call", f"custom_{field}:x").status == 422
    assert f"custom_{field}" not in api.record("call", call, "custom_").ok().json


def test_a_renamed_field_is_found_by_its_new_name_at_once(api: Api) -> None:
    field = made(api, "custom_field", context="call", name=f"Old {number()}", type="N")
    call = made(api, "call", **{f"custom_{field}": 7})
    new = f"New {number()}"
    api.update("custom_field", field, name=new).ok()
    assert api.found("call", f"new{new.split()[1]}:7") == [call]


def test_fields_of_the_organization_are_searched_through_it(api: Api) -> None:
    name = f"Region {number()}"
    field = made(api, "custom_field", context="org", name=name)
    org = made(api, "org", **{f"custom_{field}": "North"})
    ticket, other = made(api, "ticket", org_id=org), made(api, "ticket")
    plain = f"org.region{name.split()[1]}"
    assert api.found("ticket", f"{plain}:north") == [ticket]
    assert api.found("ticket", f"org.custom_{field}:north") == [ticket]
    assert other not in api.found("ticket", f"{plain}:!null")
    address = made(api, "address", org_id=org)
    assert api.found("address", f"{plain}:North") == [address]


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "Q"}, {"type": "D"}, {"type": "D", "params": {"options": ""}}, {"type": "L"}, {"type": "s"},
        {"type": "L", "params": {"context": "nosuch"}}, {"context": "custom_field"}, {"context": "nosuch"},
        {"uri": "custom_1"}, {"uri": "17"}, {"uri": "a b"}, {"uri": "subject"}, {"uri": "is_closed"}, {"uri": "links"},
        {"type": "O", "params": {"decimal_at": "99"}}, {"type": SLIDER, "params": {"value_min": 5, "value_max": 1}},
        {"custom_fieldset_id": 999999}, {"pos": 101}, {"name": ""}, {"name": "x" * 129},
    ],
)  # fmt: skip
def test_invalid_custom_fields(fields: dict[str, Any], api: Api) -> None:
    plain = {"context": "call", "name": "Kite", "type": "S", "uri": f"kite_{number()}"}
    response = api.create("custom_field", **plain | fields)
    assert response.status == 422 and response["errors"][0]["field"] in (*fields, "params"), response
