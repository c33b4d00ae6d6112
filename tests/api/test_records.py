"""Every record type of the registry over HTTP: created with its required fields, read, found, changed, deleted."""

from typing import Any

import pytest

from server.fields import Field
from server.record_types.describe import describe
from server.record_types.record_type import RecordType
from server.record_types.registry import load
from tests.api.minimal import MINIMAL, made, number
from tests.service import Api, Reply
from tests.telling import telling_types

REGISTRY = load()
TYPES = telling_types({each.uri: each for each in REGISTRY if each.uri != "rating"})  # which only customers cause
CREATED = telling_types({each.uri: each for each in REGISTRY if each.operations["create"]})
CHANGED = telling_types({each.uri: each for each in REGISTRY if each.operations["update"]})


def key_of(record_type: RecordType, field: Field) -> str:
    """Returns the key that shows a field, "" if it is never shown."""
    if field.shown:
        return field.key
    return next((f"{each.prefix}_id" for each in record_type.nested if each.id_column == field.name and each.stub), "")


def test_every_type_that_can_be_created_has_a_row_of_required_fields() -> None:
    assert sorted(MINIMAL) == [each.uri for each in REGISTRY if each.operations["create"]]


@pytest.mark.parametrize("record_type", CREATED)
def test_a_record_with_only_required_fields_is_read_and_found(record_type: RecordType, api: Api) -> None:
    uri = record_type.uri
    made = api.create(uri, **MINIMAL[uri](api)).ok()
    id = made["id"]
    assert made.headers["Location"] == f"/rest/records/{uri}/{id}.json"
    assert (made["_context"], made["_type"]) == (record_type.context, uri)
    assert ("_label" in made.json) is (not record_type.label_on_expand)
    once = {"oauth_app": {"client_secret"}, "outgoing_webhook": {"secret"}}.get(uri, set())
    for path in (uri, record_type.context, record_type.label_names[1].lower(), *record_type.aliases):
        again = api.record(path, id).ok()
        assert again.json == {key: value for key, value in made.json.items() if key not in once}, path
    if record_type.operations["search"]:
        assert api.search(uri, f"id:{id}").ok()["results"] == [
            {key: value for key, value in again.json.items() if not key.startswith("__") or key.count("_") > 4}
        ]


@pytest.mark.parametrize("record_type", TYPES)
def test_ids_numbers_and_times_are_json_numbers(record_type: RecordType, api: Api) -> None:
    id = made(api, record_type.uri)
    if record_type.operations["retrieve"]:
        record = api.record(record_type.uri, id).ok().json
    else:
        record = api.search(record_type.uri, f"id:{id}").ok()["results"][0]
    described = describe(record_type)["keys"]
    kinds = {key["key"]: key["type"] for key in described}
    nullable = {key["key"] for key in described if key.get("nullable")}
    assert nullable == ({"org_id"} if record_type.uri == "address" else set())
    for key, value in record.items():
        kind = kinds.get(key, "")
        if key in nullable and value is None:
            continue
        if kind in ("id", "number", "bit", "timestamp", "seconds", "bytes", "minutes"):
            assert type(value) is int, (key, value)
        elif kind in ("text", "context", "url"):
            assert isinstance(value, str), (key, value)
        elif kind == "boolean":
            assert type(value) is bool, (key, value)


@pytest.mark.parametrize("record_type", CREATED)
def test_a_required_field_must_be_present_and_not_empty(record_type: RecordType, api: Api) -> None:
    fields = MINIMAL[record_type.uri](api)
    id = made(api, record_type.uri)
    for name, field in record_type.fields.items():
        names = {name, *field.alternatives}
        if not field.required or not names & set(fields):
            continue
        without = {key: value for key, value in fields.items() if key not in names}
        sent = without or {"id": "1"}
        response = api.create(record_type.uri, **(without or {next(iter(names - set(fields)), name): ""}))
        assert (response.status, response["__error"]) == (422, "ERROR_PARAM_REQUIRED"), (name, sent, response)
        assert response["errors"][0]["field"] in names
        blank_ok = getattr(field, "blank_ok", False) or (field.type == "id" and getattr(field, "zero_ok", False))
        if name in fields and not blank_ok:
            response = api.update(record_type.uri, id, **{name: ""})
            assert (response.status, response["__error"]) == (422, "ERROR_PARAM_REQUIRED"), (name, response)


def sent_by_both(record_type: RecordType, api: Api, **fields: Any) -> list[Reply]:
    """Returns the responses of create, if it exists, and update to fields in addition to the required ones."""
    uri = record_type.uri
    answers = [api.update(uri, made(api, uri), **fields)]
    if uri in MINIMAL:
        answers.append(api.create(uri, **MINIMAL[uri](api) | fields))
    return answers


@pytest.mark.parametrize("record_type", CHANGED)
def test_an_unknown_field_names_the_nearest_one(record_type: RecordType, api: Api) -> None:
    known = next(name for name, field in record_type.fields.items() if not field.immutable and len(name) > 2)
    wrong = known[:-1] + "x"
    for response in sent_by_both(record_type, api, **{wrong: "1"}):
        assert (response.status, response["__error"]) == (422, "ERROR_PARAM_INVALID")
        assert f"'{wrong}' is not a field of {record_type.uri}; did you mean '" in response["message"]
        assert response["errors"][0]["field"] == wrong


@pytest.mark.parametrize("record_type", CREATED)
def test_names_that_are_not_fields_are_refused(record_type: RecordType, api: Api) -> None:
    fields = MINIMAL[record_type.uri](api)
    for name in ("_context", "_type", "__class__", "blob_id", "table", "custom_<id>", "custom_999999", ""):
        response = api.create(record_type.uri, **fields | {name: "1"})
        assert response.status == 422, (name, response)


@pytest.mark.parametrize("record_type", CHANGED)
def test_fields_that_the_service_maintains_cannot_be_sent(record_type: RecordType, api: Api) -> None:
    kept = ["id", *(name for name, field in record_type.fields.items() if field.immutable)]
    for name in kept:
        for response in sent_by_both(record_type, api, **{name: "987654321"}):
            assert (response.status, response["__error"]) == (422, "ERROR_PARAM_INVALID"), name
            assert response["errors"][0]["field"] == name


@pytest.mark.parametrize("record_type", CHANGED)
def test_an_update_needs_fields(record_type: RecordType, api: Api) -> None:
    id = made(api, record_type.uri)
    before, response = api.record(record_type.uri, id).ok().json, api.update(record_type.uri, id)
    assert (response.status, response["__error"], response["errors"][0]["field"]) == (
        422,
        "ERROR_PARAM_REQUIRED",
        "fields",
    )
    assert api.record(record_type.uri, id).ok().json == before


def test_a_duplicate_of_a_unique_value_is_a_conflict(api: Api) -> None:
    for record_type in REGISTRY:
        for name, field in record_type.fields.items():
            if not field.unique:
                continue
            if not record_type.operations["create"]:
                continue
            known = TAKEN.get((record_type.uri, name), lambda api, name=name: {name: f"taken{number():015}"})
            value = known(api)
            first = api.create(record_type.uri, **MINIMAL[record_type.uri](api) | value).ok()["id"]
            second = api.create(record_type.uri, **MINIMAL[record_type.uri](api) | value)
            assert (second.status, second["__error"]) == (409, "ERROR_CONFLICT"), (record_type.uri, name, second)
            other = made(api, record_type.uri)
            is_word = not getattr(field, "exact", False)  # secrets are case-sensitive
            shouted = {key: each.upper() if isinstance(each, str) and is_word else each for key, each in value.items()}
            assert api.update(record_type.uri, other, **shouted).status == 409, (record_type.uri, name)
            api.update(record_type.uri, first, **value).ok()


# The part of the error that shows unique values which are not a plain word.
TAKEN: dict[tuple[str, str], Any] = {
    ("address", "email"): lambda api: {"email": f"taken{number()}@kite.example"},
    ("contact", "email_id"): lambda api: {"email_id": made(api, "address")},
    ("ticket", "mask"): lambda api: {"mask": f"TAK-{number():05}-EN"},
    ("worker", "email_id"): lambda api: {"email": f"taken{number()}@desk.example"},
}


@pytest.mark.parametrize("record_type", TYPES)
def test_a_deleted_record_is_gone(record_type: RecordType, api: Api) -> None:
    uri = record_type.uri
    id = made(api, uri)
    if uri == "bucket":
        made(api, uri)
    response = api.remove(uri, id)
    if not record_type.operations["delete"]:
        assert (response.status, response["__error"]) == (403, "ERROR_PERMISSIONS")
        assert api.found(uri, f"id:{id}") == [id]
        return
    assert sorted(response.ok().json) == ["__build", "__status", "__version"]
    if uri == "ticket":
        assert api.record(uri, id).ok()["status"] == "deleted"
        return
    for again in (api.record(uri, id), api.remove(uri, id), api.update(uri, id)):
        assert (again.status, again["__error"]) == (404, "ERROR_NOT_FOUND")
    assert not record_type.operations["search"] or api.found(uri, f"id:{id}") == []


def test_records_that_the_service_needs_cannot_be_deleted(api: Api) -> None:
    default_group, default_bucket = api.found("group", "default:yes")[0], api.record("group", api.ids["support"])
    bucket = api.record("group", api.ids["support"], "default_bucket_").ok()["default_bucket_id"]
    for uri, id in (("group", default_group), ("bucket", bucket), ("worker", api.ids["nora"])):
        response = api.remove(uri, id)
        assert (response.status, response["__error"]) == (409, "ERROR_CONFLICT"), uri
    assert default_bucket.status == 200
    response = api.update("worker", api.ids["nora"], is_superuser=0)
    assert response.status == 409


def test_an_address_without_an_organization_has_none(api: Api) -> None:
    org, address = made(api, "org"), made(api, "address")
    email = api.record("address", address)["email"]
    ticket = made(api, "ticket", participants=email)
    assert api.record("address", address).ok()["org_id"] is None
    assert api.get(f"/rest/addresses/{address}.json").ok()["org_id"] is None
    assert api.record("ticket", ticket, "requesters").ok()["requesters"][str(address)]["org_id"] == 0
    assert api.update("address", address, org_id=org).ok()["org_id"] == org
    assert api.record("ticket", ticket, "requesters").ok()["requesters"][str(address)]["org_id"] == org
    assert api.found("address", f"org.id:0 id:{address}") == []
    assert (
        api.call("PUT", f"/rest/records/address/{address}.json", json={"fields": {"org_id": None}}).ok()["org_id"]
        is None
    )
    assert api.found("address", f"org:null id:{address}") == [address]


def test_references_to_a_deleted_record_become_0(api: Api) -> None:
    org = made(api, "org")
    ticket = made(api, "ticket", org_id=org)
    address = made(api, "address", org_id=org)
    contact = made(api, "contact", org_id=org)
    api.remove("org", org).ok()
    for uri, id in (("ticket", ticket), ("address", address), ("contact", contact)):
        assert api.record(uri, id).ok()["org_id"] == (None if uri == "address" else 0)


def test_tickets_of_a_deleted_group_move_to_the_default_group(api: Api) -> None:
    group = made(api, "group")
    ticket = made(api, "ticket", group_id=group)
    api.remove("group", group).ok()
    assert api.record("ticket", ticket).ok()["group_id"] == api.found("group", "default:yes")[0]


@pytest.mark.parametrize("record_type", CHANGED)
def test_meta_has_labels_and_kinds_of_the_keys_two_levels_deep(record_type: RecordType, api: Api) -> None:
    id = made(api, record_type.uri)
    path = f"/rest/records/{record_type.uri}"
    searches = [api.get(f"{path}/search.json", q=f"id:{id}", show_meta=1)] if record_type.operations["search"] else []
    for response in (
        api.get(f"{path}/{id}.json", show_meta=1),
        *searches,
    ):
        meta = response.ok()["_meta"]
        assert sorted(meta) == ["labels", "types"] and sorted(meta["labels"]) == sorted(meta["types"])
        plain = {key["key"] for key in describe(record_type)["keys"] if key["type"] != "record"}
        assert plain <= set(meta["labels"])
    assert "_meta" not in api.get(f"{path}/{id}.json", show_meta=0).ok().json
