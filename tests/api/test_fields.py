"""Every writable field of every record type over HTTP: valid values are stored and shown, invalid ones are refused."""

from typing import Any

import pytest

from server.fields import Field, Word
from server.record_types.record_type import RecordType
from tests.api import fields_by_kind as values
from tests.api.minimal import MINIMAL, made
from tests.api.test_records import CHANGED, CREATED, REGISTRY, key_of
from tests.service import Api

pytestmark = pytest.mark.exhaustive("every writable field of every type")

WRITABLE = [
    pytest.param(each, field, id=f"{each.uri}.{name}")
    for each in REGISTRY
    for name, field in each.fields.items()
    if not field.immutable and "<" not in name
]


# Fields of one kind behave alike: one of each kind is tested with all values, the others with the first and the last.
FIRST_OF_KIND = {each.values[1].type: each.values[1] for each in reversed(WRITABLE)}


@pytest.fixture(scope="module")
def records() -> dict[str, int]:
    """One record of each type, created on first use."""
    return {}


def one(records: dict[str, int], uri: str, api: Api) -> int:
    if uri not in records:
        records[uri] = made(api, uri)
    return records[uri]


@pytest.mark.parametrize(("record_type", "field"), WRITABLE)
def test_a_valid_value_is_stored_and_shown(
    record_type: RecordType, field: Field, records: dict[str, int], api: Api
) -> None:
    sent, shown = values.fitting(record_type, field, api)
    id = one(records, record_type.uri, api)
    response = api.update(record_type.uri, id, **sent).ok()
    key = key_of(record_type, field)
    if key and shown is not None:
        assert response[key] == shown
        assert api.record(record_type.uri, id)[key] == shown


@pytest.mark.parametrize(("record_type", "field"), WRITABLE)
def test_an_invalid_value_is_refused_by_name(
    record_type: RecordType, field: Field, records: dict[str, int], api: Api
) -> None:
    id = one(records, record_type.uri, api)
    before = api.record(record_type.uri, id).ok().json
    listed = values.wrong(field)
    for value in listed if field is FIRST_OF_KIND[field.type] else [*listed[:1], *listed[-1:]]:
        response = api.update(record_type.uri, id, **{field.name: value})
        assert response.status == 422, (value, response)
        assert response["errors"][0]["field"].startswith(field.name), (value, response)
    assert api.record(record_type.uri, id).ok().json == before


def limited(field: Field) -> bool:
    return field.type == "text" and not isinstance(field, Word) and field.describe().get("max_length", 10**9) < 70_000


@pytest.mark.parametrize("record_type", CREATED)
def test_a_text_that_is_too_long_gets_the_limit(record_type: RecordType, api: Api) -> None:
    fields = MINIMAL[record_type.uri](api)
    for name, field in record_type.fields.items():
        if not field.immutable and limited(field):
            limit = field.describe()["max_length"]
            response = api.create(record_type.uri, **fields | {name: "x" * (limit + 1)})
            assert (response.status, response["__error"]) == (422, "ERROR_PARAM_INVALID"), (name, response)
            assert response["message"].startswith(f"{name}: at most {limit} characters"), response


@pytest.mark.parametrize("record_type", CHANGED)
def test_blank_is_0_for_optional_ids_and_times(record_type: RecordType, records: dict[str, int], api: Api) -> None:
    for name, field in record_type.fields.items():
        is_optional_id = field.type == "id" and field.describe()["zero_ok"] and not field.required
        is_optional_time = field.type == "timestamp" and not field.required
        if field.immutable or not (is_optional_id or is_optional_time) or (record_type.uri, name) in FIRM:
            continue
        response = api.update(record_type.uri, one(records, record_type.uri, api), **{name: ""}).ok()
        key = key_of(record_type, field)
        assert not key or response[key] == (None if (record_type.uri, key) == ("address", "org_id") else 0)


# Required by its type, so it stays.
FIRM = {("draft", "worker_id"), ("kb_article", "published_at"), ("toolbar", "created_at")}


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("1715767200", 1715767200), ("2024-05-15T10:00:00Z", 1715767200), ("15 May 2024 10:00", 1715767200),
        ("2024-05-15 10:00:00 +0200", 1715760000), ("0", 0), ("", 0), (1715767200, 1715767200),
    ],
)  # fmt: skip
def test_times_are_seconds_or_words(sent: Any, shown: int, api: Api) -> None:
    assert api.create("task", title="Inventory", due=sent).ok()["due"] == shown


def test_times_in_words_are_read_in_the_callers_zone(api: Api) -> None:
    api.update("worker", api.ids["milo"], timezone="America/New_York").ok()
    try:
        assert api.as_("milo").create("task", title="Inventory", due="2024-05-15 06:00").ok()["due"] == 1715767200
    finally:
        api.update("worker", api.ids["milo"], timezone="UTC").ok()


@pytest.mark.parametrize(
    ("sent", "shown"), [("1", 1), ("0", 0), ("true", 1), ("false", 0), ("YES", 1), ("No", 0), (True, 1), (False, 0)]
)
def test_bits_are_numbers_or_words(sent: Any, shown: int, api: Api) -> None:
    response = api.call(
        "POST", "/rest/records/call/create.json", json={"fields": {"subject": "Keys", "is_closed": sent}}
    )
    assert response.ok()["is_closed"] == shown


@pytest.mark.parametrize(
    "text", ["\N{PARTY POPPER}\N{FAMILY}", "e\u0301", "\u202eabc", "  kept  ", "a\r\nb", "%_\\*'\""]
)
def test_text_is_stored_as_sent(text: str, api: Api) -> None:
    names = (("task", "title"), ("comment", "comment"), ("asset", "name"), ("snippet", "content"))
    for uri, name in names if "\n" in text else (*names, ("org", "name")):  # this one is a header of mail
        assert api.create(uri, **MINIMAL[uri](api) | {name: text}).ok()[name] == text


@pytest.mark.parametrize("text", ["a\x00b", "\x00"])
def test_nul_is_refused(text: str, api: Api) -> None:
    response = api.create("org", name=text)
    assert (response.status, response["errors"][0]["field"]) == (422, "name")


def test_limits_count_characters_not_bytes(api: Api) -> None:
    assert api.create("org", name="\N{KITE}" * 255).ok()["name"] == "\N{KITE}" * 255
    assert api.create("org", name="\N{KITE}" * 256).status == 422


def test_references_in_words_name_records(api: Api) -> None:
    """`svc:<type>:<id or unique name>` stands for an id."""
    ticket = api.create(
        "ticket", subject="Pump", group_id=f"svc:group:{api.ids['support']}", owner_id="svc:worker:milo"
    )
    assert (ticket.ok()["group_id"], ticket["owner_id"]) == (api.ids["support"], api.ids["milo"])
    for wrong in ("svc:worker:nobody", "svc:org:1", "svc:worker:", "svc:worker:0", "svc:"):
        assert api.update("ticket", ticket["id"], owner_id=wrong).status == 422, wrong


def test_a_picture_is_shown_by_address_and_removed(api: Api) -> None:
    first = api.create("org", name="Kite", image=values.data_uri(values.png(50, 500))).ok()
    gone = api.update("org", first["id"], image="data:null").ok()
    assert first["_image_url"] != gone["_image_url"] and gone["_image_url"].endswith("?v=0")
