"""The API as a collection for request builders that read the Postman format, version 2.1."""

from collections.abc import Sequence
from typing import Any

from server.web.openapi.flat_operations import FlatOperation, RequestInput

SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"


def collection(operations: Sequence[FlatOperation], base_url: str, version: str) -> dict[str, Any]:
    """A Postman collection of all operations, with a folder for each tag. Optional parameters are included and
    disabled; {{token}} is a variable to set."""
    folders: dict[str, list[dict[str, Any]]] = {}
    for each in operations:
        folders.setdefault(each.tag, []).append(_item(each))
    return {
        "info": {"name": "Helpdesk", "version": version, "schema": SCHEMA},
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}", "type": "string"}]},
        "variable": [{"key": "base_url", "value": base_url}, {"key": "token", "value": ""}],
        "item": [{"name": tag, "item": items} for tag, items in sorted(folders.items())],
    }


def _item(each: FlatOperation) -> dict[str, Any]:
    placed: dict[str, list[dict[str, Any]]] = {"path": [], "query": [], "header": [], "form": []}
    for one in each.inputs:
        placed[one.place].append(_value(one))
    path = each.path
    for one in each.inputs:
        if one.place == "path":
            path = path.replace(f"{{{one.name}}}", f":{one.name}")
    request: dict[str, Any] = {
        "method": each.method.upper(),
        "header": placed["header"],
        "description": each.summary,
        "url": {
            "raw": f"{{{{base_url}}}}{path}",
            "host": ["{{base_url}}"],
            "path": path.strip("/").split("/"),
            "query": placed["query"],
            "variable": placed["path"],
        },
    }
    if placed["form"]:
        request["body"] = {"mode": "urlencoded", "urlencoded": placed["form"]}
    return {"name": f"{each.method.upper()} {each.path}", "request": request}


def _value(one: RequestInput) -> dict[str, Any]:
    name = one.name
    if one.kind == "lines" and not name.endswith("[]"):
        name = f"{name}[]"
    elif one.kind == "pairs":
        name = f"{name}[name]"
    entry: dict[str, Any] = {"key": name, "value": one.options[0] if one.options else "", "description": one.note}
    return entry if one.is_required else entry | {"disabled": True}
