"""A helpdesk whose automations report what they see to a program of the tests, for tests of events and triggers."""

import itertools
import json
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.api.post import Post, transport
from tests.outbound.peer import HOST, Asked, Peer, answer
from tests.service import Api, Server, people
from tests.smtp_server import SmtpServer

MAY_ALL = "commands:\n  all:\n    allow@bool: yes"
_numbers = itertools.count(1)


class Told(Post):
    """Post, with `peer`, which automations call; take_report() returns their reports in order."""

    def __init__(self, server: Server, api: Api, smtp: SmtpServer, peer: Peer) -> None:
        super().__init__(server, api, smtp)
        self.peer = peer
        self.calls: queue.Queue[dict[str, Any]] = queue.Queue()
        peer.answers["/told"] = self._called

    def _called(self, asked: Asked) -> bytes:
        self.calls.put(json.loads(asked.body))
        return answer("{}", content_type="application/json")

    def take_report(self) -> dict[str, Any]:
        """Returns the next report of an automation."""
        return self.calls.get(timeout=30)

    def reporting_script(self, *keys: str, then: str = "") -> str:
        """Returns a script that reports these keys of its dictionary. then: further commands."""
        told = "\n".join(f"        {key}@key: {key}" for key in keys)
        return (
            "start:\n  http.request:\n    output: answered\n    inputs:\n"
            f"      url: {self.peer.url('/told')}\n      method: POST\n      headers:\n"
            f"        Content-Type: application/json\n      body:\n{told}\n" + then
        )

    def automation(self, trigger: str, script: str) -> str:
        """Creates an automation without restrictions; returns its name."""
        name = f"told.n{next(_numbers)}"
        fields = {"name": name, "extension_id": f"svc.trigger.{trigger}", "script": script, "policy_kata": MAY_ALL}
        self.api.create("automation", **fields).ok()
        return name

    def run_once(self, script: str) -> None:
        """Runs a script by a timer that is due."""
        name = self.automation("automation.timer", script)
        fields = {"name": name, "next_run_at": "1 second ago", "automations_kata": f"automation/a:\n  uri: {name}"}
        self.api.create("automation_timer", **fields).ok()

    @contextmanager
    def bound(self, event: str, *scripts: str, only: str = "") -> Iterator[list[str]]:
        """Binds scripts to an event while the context is active; yields the names of their automations. only: a
        template that must be true."""
        names = [self.automation(event, script) for script in scripts]
        disabled = f"\n  disabled@bool: {{{{not ({only})}}}}" if only else ""
        binding = "\n".join(f"automation/a{place}:\n  uri: {name}{disabled}" for place, name in enumerate(names))
        self.bind(event, binding)
        try:
            yield names
        finally:
            self.bind(event, "")

    def bind(self, event: str, binding: str) -> None:
        (id,) = [each["id"] for each in self.api.search("automation_event", f'name:"{event}"').ok()["results"]
                 if each["name"] == event]  # fmt: skip
        self.api.update("automation_event", id, automations_kata=binding).ok()

    def logged(self, name: str) -> list[str]:
        """Returns the messages in the log of an automation; "" for entries without one."""
        found = self.api.get("/rest/automations/logs/search.json", q="limit:250", limit=250).ok()["results"]
        return [each["message"] for each in found if each["automation_name"] == name]


@contextmanager
def told_office(folder: Path) -> Iterator[Told]:
    """A helpdesk with its people, a mail server, and a program that its automations may call."""
    with SmtpServer() as smtp, Peer() as peer:
        server = Server(folder / "data", env={"HELPDESK_OUTBOUND_ALLOW": HOST})
        try:
            api = server.set_up()
            people(api)
            transport(api, smtp.port)
            yield Told(server, api, smtp, peer)
        finally:
            code = server.stop()
        assert code == 0
