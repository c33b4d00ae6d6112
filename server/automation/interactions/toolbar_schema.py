"""The schema of toolbars: buttons that start interactions, and menus of these. Packages may give them further settings,
such as an icon."""

from typing import Any

from server.automation.bindings import schema_problems

_ANY: dict[str, Any] = {"any": {"match": "*", "attributes": {"types": {"any": None}}}}
_ENTRIES: dict[str, Any] = {
    "attributes": {
        "interaction": {"multiple": True, "ref": "interaction"},
        "menu": {"multiple": True, "ref": "menu"},
        "divider": {"multiple": True, "types": {"any": None}},
    }
}
SCHEMA: dict[str, Any] = {
    "schema": _ENTRIES,
    "definitions": {
        "interaction": {
            "types": {
                "object": {
                    "attributes": {
                        "uri": {"required": True, "types": {"string": None}},
                        "inputs": {"types": {"object": {"attributePatterns": _ANY}}},
                    },
                    "attributePatterns": _ANY,
                }
            }
        },
        "menu": {
            "types": {
                "object": {
                    "attributes": {"items": {"required": True, "types": {"object": _ENTRIES}}},
                    "attributePatterns": _ANY,
                }
            }
        },
    },
}


def problems(text: str) -> list[tuple[int, str]]:
    """Checks a toolbar that is about to be saved; returns [(line from 1, message)]."""
    return schema_problems(text, SCHEMA)
