"""Fields with a list: `+` adds an item, `-` removes it, and the others stay, for every kind of field."""

from typing import Any

import pytest

from server.fields import Structure
from server.record_types import registry
from tests import telling
from tests.api.minimal import MINIMAL, made, number
from tests.service import Api

TYPES = registry.load()
LISTS = sorted(
    (each.uri, name)
    for each in TYPES
    for name, field in each.fields.items()
    if field.takes_lists and not field.immutable and (not isinstance(field, Structure) or field.is_list)
)
# Every type has links; the other lists are of one type each.
EACH_LIST = telling.telling(
    {f"{uri} {name}": (uri, name) for uri, name in LISTS},
    [f"{uri} {name}" for uri, name in LISTS if name != "links" or uri in telling.TYPES],
    "links of every record type",
)


def items(api: Api, uri: str, field: str) -> tuple[str, str]:
    """Returns two valid items of such a field."""
    if field == "participants":
        return f"ana{number()}@kite.example", f"bob{number()}@kite.example"
    if field in ("participant_ids", "email_ids"):
        return str(made(api, "address")), str(made(api, "address"))
    if field == "categories":
        return str(made(api, "kb_category")), str(made(api, "kb_category"))
    if field == "fieldsets":
        two = [made(api, "custom_fieldset", context=uri) for _ in range(2)]
        return str(two[0]), str(two[1])
    if field == "privs":
        return "contexts.svc.contexts.task.update", "contexts.svc.contexts.task.create"
    if field == "group_ids":
        return str(made(api, "group")), str(made(api, "group"))
    if field == "tags":
        return f"billing{number()}", f"vip{number()}"
    if field == "columns":
        return "title", "updated"
    other = "kb_article" if field == "attach" else "org"
    return f"{other}:{made(api, other)}", f"{other}:{made(api, other)}"


def has(api: Api, uri: str, id: int, field: str, item: str) -> bool:
    """Returns whether a record has the item, as other requests show it."""
    if field == "email_ids":
        return api.record("address", int(item))["worker_id"] == id
    if field == "fieldsets":
        return id in api.found(uri, f"fieldset:(id:{item})")
    if field == "participant_ids":
        return item in (api.record("ticket", id, expand="requesters").ok().json["requesters"] or {})
    if field == "attach":
        other, _, other_id = item.partition(":")
        return str(id) in str(api.record(other, int(other_id), expand="attachments").ok().json["attachments"])
    shown = {"participant_ids": "requesters", "participants": "requesters"}
    record = api.record(uri, id, expand=shown.get(field, field)).ok().json
    if field == "links":
        type, _, other = item.partition(":")
        return other in str(record["links"].get(TYPES.type(type).context, {}) if record["links"] else "")
    if field == "cards":
        type, _, other = item.partition(":")
        return {"_context": TYPES.type(type).context, "id": int(other)} in record["cards"]
    return item in str(record.get(shown.get(field, field)) or record.get(field) or "")


def changed(field: str, *signed: str) -> dict[str, Any]:
    return {field: list(signed)}


@pytest.mark.parametrize("listed", EACH_LIST)
def test_items_are_added_and_removed(api: Api, listed: tuple[str, str]) -> None:
    uri, field = listed
    if uri not in MINIMAL and uri != "automation_event":
        pytest.skip("only the service creates such records")
    first, second = items(api, uri, field)
    id = made(api, uri)
    path = f"/rest/records/{uri}/{id}.json"

    def put(*signed: str) -> None:
        api.call("PUT", path, json={"fields": changed(field, *signed)}).ok()

    def present() -> tuple[bool, bool]:
        return has(api, uri, id, field, first), has(api, uri, id, field, second)

    for signed, expected in (
        ((f"+{first}",), (True, False)),
        ((f"+{second}",), (True, True)),
        ((f"+{second}",), (True, True)),
        ((f"-{first}",), (False, True)),
        ((f"-{first}", f"+{first}", f"-{second}"), (True, False)),
        ((f"-{first}",), (False, False)),
    ):
        put(*signed)
        assert present() == expected, signed
