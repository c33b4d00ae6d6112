"""Record types that administrators create: at once they support everything that built-in types do, and they are
deleted completely."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.api.minimal import made, number
from tests.service import Api, Server, command, people

Options = dict[str, Any]


def new_type(api: Api, **fields: Any) -> dict[str, Any]:
    """Creates a custom record type and returns its fields."""
    name = f"Issue{number()}"
    values = {"name": name, "name_plural": f"{name}s", "uri": name.lower()}
    return api.create("custom_record", **values | fields).ok().json


@pytest.fixture(scope="module")
def issue(nora: Api) -> str:
    """The uri of a type with all options whose records have no owner."""
    return str(new_type(nora, params={"options": ["comments", "attachments", "avatars"]})["uri"])


def test_its_records_can_be_created_read_changed_found_and_deleted_at_once(issue: str, nora: Api) -> None:
    record = nora.create(issue, name="Leaking pump").ok()
    assert record["_type"] == issue
    assert record["_context"].startswith("svc.contexts.custom_record.")
    assert (record["_label"], record["name"]) == ("Leaking pump", "Leaking pump")
    assert record["created_at"] == record["updated_at"] > 0
    assert nora.update(issue, record["id"], name="Leaking valve").ok()["name"] == "Leaking valve"
    assert nora.found(issue, f"valve id:{record['id']}") == [record["id"]]
    assert nora.upsert(issue, f"id:{record['id']}", name="Valve").ok()["id"] == record["id"]
    nora.remove(issue, record["id"]).ok()
    assert nora.record(issue, record["id"]).status == 404


@pytest.mark.parametrize("form", ["{uri}", "{context}", "{singular}", "{plural}"])
def test_it_is_available_under_each_of_its_names(form: str, nora: Api) -> None:
    row = new_type(nora)
    context = f"svc.contexts.custom_record.{row['id']}"
    name = form.format(uri=row["uri"], context=context, singular=row["name"].lower(), plural=row["name_plural"].lower())
    assert nora.create(name, name="One").ok()["_context"] == context
    assert nora.search(name, "one").ok()["total"] == 1


def test_links_comments_files_watchers_and_pictures_work(issue: str, nora: Api) -> None:
    org = made(nora, "org")
    id = nora.create(issue, name="Pump", links=[f"org:{org}", f"worker:{nora.ids['milo']}"]).ok()["id"]
    made(nora, "comment", target__context=issue, target_id=id, comment="Wrench needed")
    nora.create("attachment", name="plan.txt", content="Turn left", attach=[f"{issue}:{id}"]).ok()
    shown = nora.record(issue, id, "links,comments,comment_count,watchers,attachments").ok()
    assert shown["links"]["svc.contexts.org"] == [org]
    assert shown["comment_count"] == 1
    assert list(shown["watchers"]) == [str(nora.ids["milo"])]
    assert [each["name"] for each in shown["attachments"]] == ["plan.txt"]
    assert "_image_url" in shown.json
    assert nora.found("org", f"links.{issue}:(id:{id})") == [org]
    assert nora.found("org", f"links:{issue} id:{org}") == [org]
    assert nora.found(issue, f"links.org:(id:{org})") == [id]
    assert nora.found(issue, "comments:(wrench)") == [id]
    assert nora.found("comment", f"on.{issue}:(id:{id})") != []


def test_custom_fields_and_fieldsets_belong_to_it(nora: Api) -> None:
    uri = new_type(nora)["uri"]
    tier = nora.create(
        "custom_field", context=uri, name="Tier", type="D", uri=f"tier_{uri}", params={"options": ["Gold", "Iron"]}
    ).ok()["id"]
    fieldset = nora.create("custom_fieldset", context=uri, name="Money", owner__context="app", owner_id=0).ok()["id"]
    paid = nora.create(
        "custom_field", context=uri, name="Paid", type="C", uri=f"paid_{uri}", custom_fieldset_id=fieldset
    ).ok()["id"]
    gold = nora.create(uri, name="A", **{f"custom_{tier}": "Gold"}).ok()["id"]
    iron = nora.create(uri, name="B", **{f"tier_{uri}": "Iron", f"custom_{paid}": 1}).ok()["id"]
    assert nora.found(uri, "tier:Gold") == [gold]
    assert nora.found(uri, "fieldset:(name:Money)") == [iron]
    assert nora.found(uri, "sort:-tier") == [iron, gold]
    assert nora.record(uri, iron, "custom_").ok()[f"custom_{tier}"] == "Iron"
    counted = nora.search(uri, "", subtotals=["tier"]).ok()["subtotals"]["tier"]
    assert [(each["label"], each["hits"]) for each in counted] == [("Gold", 1), ("Iron", 1)]
    points = nora.create(
        "custom_field", context="task", name="Issue", type="L", uri=f"its_{uri}", params={"context": uri}
    ).ok()["id"]
    task = made(nora, "task", **{f"custom_{points}": gold})
    shown = nora.record("task", task, f"custom_{points}_name").ok()
    assert shown[f"custom_{points}_name"] == "A"
    assert nora.found("task", f"its_{uri}:(name:A)") == [task]


def test_its_context_is_accepted_with_and_without_svc(nora: Api) -> None:
    row = new_type(nora)
    names = [f"{start}contexts.custom_record.{row['id']}" for start in ("svc.", "")]
    ids = [nora.create(name, name=f"Leak {place}").ok()["id"] for place, name in enumerate(names)]
    for name in names:
        found = nora.record(name, ids[0]).ok()
        assert (found["_context"], found["_type"]) == (names[0], row["uri"])
        assert nora.found(name, "sort:id") == ids
        task = made(nora, "task", links=[f"{name}:{ids[0]}"])
        assert nora.record("task", task, "links").ok()["links"] == {names[0]: [ids[0]]}
        assert nora.found("task", f'links:"{name}" id:{task}') == [task]
        field = nora.create(
            "custom_field", context=name, name=f"Of {name}", type="L", uri=f"of_{task}", params={"context": name}
        ).ok()
        assert (field["context"], field["params"]["context"]) == (names[0], names[0])
        own = {"owner__context": "app", "owner_id": 0}
        assert nora.create("custom_fieldset", context=name, name="Money", **own).ok()["context"] == names[0]
        q = f"type:worklist.subtotals of:{name} by:[name]"
        assert len(nora.get("/rest/data/query.json", q=q).ok()["data"]["children"]) == 2
        role = nora.create("role", name=f"Of {name}", privs_mode="itemized", privs=[f"contexts.{name}.create"]).ok()
        assert nora.record("role", role["id"], "privs").ok()["privs"] == [f"contexts.{names[0]}.create"]


def test_privileges_of_roles_apply_to_it(nora: Api) -> None:
    row = new_type(nora)
    api, context = nora.as_("milo"), f"svc.contexts.custom_record.{row['id']}"
    everyone = nora.search("role", "name:Everyone").ok()["results"][0]
    nora.update("role", everyone["id"], privs_mode="itemized", privs=["contexts.svc.contexts.task.create"]).ok()
    try:
        refused = api.create(row["uri"], name="A")
        assert (refused.status, refused["__error"]) == (403, "ERROR_PERMISSIONS")
        assert f"contexts.{context}.create" in refused["message"]
        nora.update("role", everyone["id"], privs=[f"contexts.{context}.create"]).ok()
        assert api.create(row["uri"], name="A").ok()["name"] == "A"
    finally:
        nora.update("role", everyone["id"], privs_mode="all").ok()


def test_only_administrators_see_and_create_types_but_everyone_uses_them(issue: str, nora: Api) -> None:
    milo = nora.as_("milo")
    assert milo.create("custom_record", name="Bug", name_plural="Bugs", uri="bug").status == 403
    assert milo.search("custom_record").ok()["total"] == 0
    assert milo.create(issue, name="By Milo").ok()["name"] == "By Milo"


OWNED = [
    # owner types, owner sent, status
    ([], {}, 200),
    ([], {"owner__context": "app", "owner_id": 0}, 422),
    (["app"], {}, 200),
    (["app"], {"owner__context": "app", "owner_id": 0}, 200),
    (["app"], {"owner__context": "group", "owner_id": "{support}"}, 422),
    (["worker"], {}, 422),
    (["worker"], {"owner__context": "worker", "owner_id": "{milo}"}, 200),
    (["worker"], {"owner__context": "worker", "owner_id": 999999}, 422),
    (["group", "worker"], {}, 422),
    (["svc.contexts.group", "worker"], {"owner__context": "group", "owner_id": "{support}"}, 200),
    (["group", "worker"], {"owner__context": "app", "owner_id": 0}, 422),
]


@pytest.fixture(scope="module")
def type_of_owners(nora: Api) -> Callable[[tuple[str, ...]], str]:
    """Returns the URI of a type whose records these kinds may own."""
    return cache(lambda kinds: new_type(nora, params={"owners": {"contexts": list(kinds)}})["uri"])


@pytest.mark.parametrize(("kinds", "owner", "status"), OWNED)
def test_the_setting_determines_possible_owners(
    kinds: list[str], owner: Options, status: int, nora: Api, type_of_owners: Callable[[tuple[str, ...]], str]
) -> None:
    uri = type_of_owners(tuple(kinds))
    owner = {name: str(value).format(**nora.ids) for name, value in owner.items()}
    assert nora.create(uri, name="One", **owner).status == status


def test_records_owned_by_a_worker_are_hidden_from_others(nora: Api) -> None:
    uri = new_type(nora, params={"owners": {"contexts": ["worker"]}})["uri"]
    id = nora.create(uri, name="Mine", owner__context="worker", owner_id=nora.ids["milo"]).ok()["id"]
    assert nora.as_("milo").found(uri, "mine") == [id]
    assert nora.as_("olga").found(uri, "mine") == []
    assert nora.as_("olga").record(uri, id).status == 403


FEATURES = [
    # option, request, its status with the option and without it
    ("comments", lambda api, uri, id: api.create("comment", comment="x", target__context=uri, target_id=id), 200, 422),
    ("attachments", lambda api, uri, id: api.create("attachment", name="a", attach=[f"{uri}:{id}"]), 200, 422),
    ("avatars", lambda api, uri, id: api.update(uri, id, image="data:null"), 200, 422),
    ("hide_search", lambda api, uri, id: api.search(uri), 405, 200),
]


@pytest.mark.parametrize(("option", "tried", "with_it", "without"), FEATURES, ids=[each[0] for each in FEATURES])
def test_options_give_features_and_can_be_changed_later(
    option: str, tried: Any, with_it: int, without: int, nora: Api
) -> None:
    row = new_type(nora)
    id = nora.create(row["uri"], name="One").ok()["id"]
    assert tried(nora, row["uri"], id).status == without
    nora.update("custom_record", row["id"], params={"options": [option]}).ok()
    assert tried(nora, row["uri"], id).status == with_it
    nora.update("custom_record", row["id"], params={"options": ""}).ok()
    assert tried(nora, row["uri"], id).status == without


BAD = [
    ({"uri": "ticket"}, 409, "uri"),
    ({"uri": "conversations"}, 409, "uri"),
    ({"uri": "TICKETS"}, 409, "uri"),
    ({"uri": "two words"}, 422, "uri"),
    ({"uri": "7"}, 422, "uri"),
    ({"uri": ""}, 422, "uri"),
    ({"uri": "x" * 65}, 422, "uri"),
    ({"name": ""}, 422, "name"),
    ({"name_plural": ""}, 422, "name_plural"),
    ({"params": "x"}, 422, "params"),
    ({"params": {"zzz": "1"}}, 422, "params"),
    ({"params": {"options": ["avatar"]}}, 422, "params"),
    ({"params": {"owners": {"contexts": ["ticket"]}}}, 422, "params"),
]


@pytest.mark.parametrize(("fields", "status", "field"), BAD)
def test_an_invalid_type_is_refused_and_nothing_is_created(fields: Options, status: int, field: str, nora: Api) -> None:
    before = nora.search("custom_record").ok()["total"]
    values = {"name": "Gizmo", "name_plural": "Gizmos", "uri": "gizmo"}
    response = nora.create("custom_record", **values | fields)
    assert (response.status, response["errors"][0]["field"]) == (status, field)
    assert nora.search("custom_record").ok()["total"] == before
    assert nora.search("gizmo").status == 404


def test_a_uri_belongs_to_one_type_and_may_be_changed(nora: Api) -> None:
    first = new_type(nora)
    id = nora.create(first["uri"], name="Old").ok()["id"]
    taken = nora.create("custom_record", name="A", name_plural="As", uri=first["uri"].upper())
    assert (taken.status, taken["__error"]) == (409, "ERROR_CONFLICT")
    nora.update("custom_record", first["id"], uri=f"renamed{first['id']}").ok()
    assert nora.record(f"renamed{first['id']}", id).ok()["name"] == "Old"
    second = new_type(nora, uri=first["uri"])
    assert nora.search(second["uri"]).ok()["total"] == 0
    assert nora.found(f"renamed{first['id']}", "old") == [id]


def test_an_empty_type_is_deleted_with_everything_that_belongs_to_it(nora: Api) -> None:
    row = new_type(nora, params={"options": ["comments"]})
    uri, context = row["uri"], f"svc.contexts.custom_record.{row['id']}"
    field = nora.create("custom_field", context=uri, name="Tier", type="S", uri=f"a_{uri}").ok()["id"]
    fieldset = nora.create("custom_fieldset", context=uri, name="Set", owner__context="app", owner_id=0).ok()["id"]
    within = nora.create(
        "custom_field", context=uri, name="In", type="S", uri=f"b_{uri}", custom_fieldset_id=fieldset
    ).ok()["id"]
    pointing = nora.create(
        "custom_field", context="task", name="To", type="L", uri=f"c_{uri}", params={"context": uri}
    ).ok()["id"]
    role = nora.create(
        "role",
        name=f"Keepers of {uri}",
        privs_mode="itemized",
        privs=[f"contexts.{context}.create"],
        member_query_worker="firstName:nobody",
    ).ok()["id"]
    id = nora.create(uri, name="One").ok()["id"]
    refused = nora.remove("custom_record", row["id"])
    assert (refused.status, refused["__error"]) == (409, "ERROR_CONFLICT")
    nora.remove(uri, id).ok()
    nora.remove("custom_record", row["id"]).ok()
    assert nora.search(uri).status == nora.create(uri, name="Two").status == 404
    for gone in (field, within, pointing):
        assert nora.record("custom_field", gone).status == 404
    assert nora.record("custom_fieldset", fieldset).status == 404
    assert nora.record("role", role, "privs").ok()["privs"] == []
    again = new_type(nora, uri=uri)
    assert again["id"] > row["id"]
    assert nora.search(uri).ok()["total"] == 0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "data"


@pytest.mark.exhaustive("kills beside a load")
def test_types_survive_a_kill_and_the_file_is_intact(folder: Path) -> None:
    server = Server(folder)
    api = server.set_up()
    people(api)
    row = new_type(api, params={"owners": {"contexts": ["worker"]}, "options": ["avatars"]})
    owner = {"owner__context": "worker", "owner_id": api.ids["milo"]}
    id = api.create(row["uri"], name="Kept", **owner).ok()["id"]
    server.kill()
    again = Server(folder)
    api.url = again.url
    assert api.record(row["uri"], id).ok()["owner_id"] == api.ids["milo"]
    assert api.found(row["uri"], "kept") == [id]
    assert again.stop() == 0
    assert command("check", data=folder).returncode == 0


@pytest.mark.exhaustive("a race of many clients")
def test_many_created_at_once_all_exist(nora: Api) -> None:
    def one(place: int) -> str:
        uri = str(new_type(nora, uri=f"at_once_{number()}")["uri"])
        nora.create(uri, name=f"First of {place}").ok()
        return uri

    with ThreadPoolExecutor(8) as pool:
        uris = list(pool.map(one, range(16)))
    assert [nora.search(uri).ok()["total"] for uri in uris] == [1] * 16
