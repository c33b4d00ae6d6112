"""A client of event streams for tests: reads event by event as they arrive."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tests.service import Api

PATH = "/rest/changes.json"
EVENTS = {"Accept": "text/event-stream"}
WAIT_SECONDS = 60


@dataclass(frozen=True)
class Event:
    """kind: "" for a plain event. data: None for an event that only carries the position to resume from."""

    id: str
    kind: str
    data: dict[str, Any] | None

    @property
    def change(self) -> tuple[str, str, int]:
        assert self.data is not None
        return self.data["event"], self.data["type"], self.data["id"]


class Following:
    """One stream. Raises AssertionError if it does not begin; `events` ends with the stream."""

    def __init__(self, api: Api, path: str = PATH, last: str = "", **params: Any) -> None:
        headers = EVENTS | ({"Last-Event-ID": last} if last else {})
        self.response = api.session.get(
            api.url + path, params=params, headers=headers, stream=True, timeout=WAIT_SECONDS
        )
        assert self.response.status_code == 200, self.response.text
        assert self.response.headers["Content-Type"] == "text/event-stream"
        self.last = last
        self.events = self._events()
        first = next(self.events)
        assert first.data is None and first.id  # the position to resume from before the first event

    def __enter__(self) -> "Following":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.response.close()

    def next(self) -> Event:
        """The next event with data."""
        return next(event for event in self.events if event.data is not None)

    def change(self) -> tuple[str, str, int]:
        """The next change: (event, type, id)."""
        event = self.next()
        assert event.kind == "", event
        return event.change

    def until(self, change: tuple[str, str, int]) -> set[tuple[str, int]]:
        """(type, id) of all events up to this change."""
        told = set()
        while (found := self.change()) != change:
            told.add(found[1:])
        return told

    def end(self) -> dict[str, Any]:
        """The data of the last event, which must come next; the stream ends with it."""
        event = self.next()
        assert event.kind == "end" and event.data is not None, event
        assert next(self.events, None) is None
        return event.data

    def _events(self) -> Iterator[Event]:
        fields: dict[str, str] = {}
        for line in self.response.iter_lines():
            name, _, value = line.decode().partition(": ")
            if line:
                fields[name] = value
            elif fields:
                self.last = fields.get("id", self.last)
                data = json.loads(fields["data"]) if "data" in fields else None
                yield Event(self.last, fields.get("event", ""), data)
                fields = {}
