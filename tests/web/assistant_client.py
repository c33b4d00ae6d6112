"""A client of /mcp, which builds the messages of both revisions, and a desk for it."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import requests

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
_ids = count(1)


@dataclass
class Assistant:
    """A client with a token. is_modern: whether it speaks the newest revision."""

    url: str
    token: str
    is_modern: bool = False
    session: requests.Session = field(default_factory=requests.Session)

    def send(self, body: Any, **headers: str | None) -> requests.Response:
        """Sends a body as it is; a header of None is left out."""
        sent = {"Authorization": f"Bearer {self.token}", "MCP-Protocol-Version": LEGACY} | headers
        kept = {name.replace("_", "-"): value for name, value in sent.items() if value is not None}
        more = {"data": body} if isinstance(body, str | bytes) else {"json": body}
        kept.setdefault("Content-Type", "application/json")
        return self.session.post(f"{self.url}/mcp", headers=kept, timeout=60, **more)

    def request(self, method: str, id: int | str | None = None, **params: Any) -> requests.Response:
        """Sends a request with the headers of its revision."""
        headers: dict[str, str] = {}
        if self.is_modern:
            params["_meta"] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
            headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
            headers |= {"Mcp-Name": params["name"]} if "name" in params else {}
        body = {"jsonrpc": "2.0", "id": next(_ids) if id is None else id, "method": method, "params": params}
        return self.send(body, **headers)

    def call(self, name: str, /, **arguments: Any) -> requests.Response:
        """Calls a tool."""
        return self.request("tools/call", name=name, arguments=arguments)

    def result(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Calls a tool; returns its data. Raises AssertionError for an error."""
        response = self.call(name, **arguments)
        found = response.json().get("result")
        assert response.status_code == 200 and found and not found["isError"], response.text
        return dict(found["structuredContent"])

    def mistake(self, name: str, /, **arguments: Any) -> str:
        """Calls a tool; returns the text of its error."""
        response = self.call(name, **arguments)
        found = response.json().get("result")
        assert response.status_code == 200 and found and found["isError"], response.text
        return str(found["content"][0]["text"])
