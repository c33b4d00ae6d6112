"""A desk with recipes, which call a test program; the stream of changes shows when they are done."""

import hashlib
import hmac
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import requests

from server.record_types.shared.triggers import EVENTS
from tests.automation.told import Told
from tests.following import Following
from tests.service import Reply

SECRET = "whsec_9d1f of the tests: with colons & signs"
_numbers = itertools.count(1)


class Recipe:
    """A created recipe. ids: {uid: id}."""

    def __init__(self, office: Told, name: str, made: Reply) -> None:
        self.office, self.api, self.name = office, office.api, name
        records = made.ok()["records_created"]
        self.ids = {uid: each["id"] for of_type in records.values() for uid, each in of_type.items()}
        self.labels = {uid: each["label"] for of_type in records.values() for uid, each in of_type.items()}
        hook = records.get("svc.contexts.webhook_listener", {}).get("hook")
        self.url = self.api.url + hook["url"][hook["url"].index("/webhooks/") :] if hook else ""

    def call(self, body: str | bytes = b"", **headers: str) -> requests.Response:
        """Calls the webhook; `_` in the name of a header stands for `-`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return requests.post(self.url, data=body, headers={"Content-Type": "application/json"} | sent, timeout=30)

    def run_timer(self) -> None:
        """Makes the timer due and waits until its run has ended."""
        id = self.ids["timer"]
        with Following(self.api, types="automation_timer") as stream:
            due = self.api.update("automation_timer", id, next_run_at="1 second ago").ok()["next_run_at"]
            while self.api.record("automation_timer", id).ok()["next_run_at"] == due:
                stream.change()

    def logged(self, uid: str) -> list[str]:
        return self.office.logged(self.labels[uid])


@contextmanager
def recipe(office: Told, name: str, /, **answers: Any) -> Iterator[Recipe]:
    """Installs a recipe for the duration of the block."""
    prompts: list[tuple[str, Any]] = []
    for key, value in ({"name": f"cook.n{next(_numbers)}"} | answers).items():
        prompts += (
            [(f"prompts[{key}][]", each) for each in value] if isinstance(value, list) else [(f"prompts[{key}]", value)]
        )
    sent = [*prompts, ("recipe", name), ("grants", "1")]
    made = Recipe(office, name, Reply(office.api.session.post(
        f"{office.api.url}/rest/packages/import.json", data=sent, timeout=60
    )))  # fmt: skip
    try:
        yield made
    finally:
        for event in EVENTS:
            if not EVENTS[event].is_screen:
                office.bind(event, "")
        if "timer" in made.ids:
            office.api.update("automation_timer", made.ids["timer"], is_disabled=1).ok()


def signed(content: str, secret: str = SECRET) -> str:
    """The HMAC of a text in hexadecimal digits."""
    return hmac.new(secret.encode(), content.encode(), hashlib.sha256).hexdigest()


def now() -> int:
    """Unix seconds, as an external service would sign them."""
    return int(time.time())


def mail(sender: str, subject: str, text: str = "Hello", **headers: str) -> str:
    """A raw email."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"From: {sender}\r\nTo: support@localhost\r\nSubject: {subject}\r\n{more}\r\n{text}\r\n"


def changed(
    office: Told, type: str, cause: Callable[[], Any], wanted: Callable[[dict[str, Any]], bool] = lambda record: True
) -> dict[str, Any]:
    """The first record of a type that reaches the expected state, once the action has run."""
    with Following(office.api, types=type) as stream:
        cause()
        while True:
            _, _, id = stream.change()
            record = office.api.record(type, id).ok().json
            if wanted(record):
                return record


def notifications(office: Told, worker: str) -> list[str]:
    """The texts of a worker's notifications, the newest first."""
    listed = office.api.as_(worker).get("/rest/notifications/list.json").ok()["results"]
    return [each["_label"] for each in listed]
