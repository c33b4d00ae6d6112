"""Programs that use generated clients, and the results that each client must print."""

from pathlib import Path
from typing import Any

import requests

from tests.conformance import own
from tests.service import Api

HERE = Path(__file__).resolve().parent
OPERATIONS = sum(len(item) for item in own().paths.values())


def document(api: Api, path: Path) -> Path:
    """Writes the plain OpenAPI document of a service to a file and returns its path."""
    path.write_text(requests.get(f"{api.url}/openapi.json?body=json", timeout=60).text, "utf-8")
    return path


def got(name: str, **more: Any) -> dict[str, Any]:
    """Returns the output that a client must print. name: the client's name, which is part of the subjects that it
    sends."""
    subject = f"Kiln of {name}"
    return {
        "me": "worker", "created": subject, "read": [subject, True], "updated": "closed", "found": [subject],
        "counted": [1], "file": ["glaze.txt", "text/plain"], "bytes": "glaze\n", "composed": "kept",
        "replied": [True, 2], "asked": "worklist.subtotals", **more,
    }  # fmt: skip
