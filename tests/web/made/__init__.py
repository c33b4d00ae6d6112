"""What uses the clients that generators made, and what all of them must get."""

from pathlib import Path
from typing import Any

import requests

from tests.conformance import own
from tests.service import Api

HERE = Path(__file__).resolve().parent
OPERATIONS = sum(len(item) for item in own().paths.values())


def document(api: Api, path: Path) -> Path:
    """The plain document of a service, as a file."""
    path.write_text(requests.get(f"{api.url}/openapi.json?body=json", timeout=60).text, "utf-8")
    return path


def got(name: str, **more: Any) -> dict[str, Any]:
    """What a client must print. name: of the client, which is in the subjects that it sends."""
    subject = f"Kiln of {name}"
    return {
        "me": "worker", "created": subject, "read": [subject, True], "updated": "closed", "found": [subject],
        "counted": [1], "file": ["glaze.txt", "text/plain"], "bytes": "glaze\n", "composed": "kept",
        "replied": [True, 2], "asked": "worklist.subtotals", **more,
    }  # fmt: skip
