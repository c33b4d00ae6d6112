"""Many clients that write concurrently and record the acknowledged writes."""

import threading
from collections.abc import Callable

import requests

from tests.service import Api, Reply


class Clients:
    """Threads that create addresses and tasks, and send mail, until the server is gone.

    `acknowledged`: {record type: {id: its name}}. `reached` is set once `after` writes are acknowledged."""

    def __init__(self, api: Api, name: str, after: int, threads: int = 16) -> None:
        self.acknowledged: dict[str, dict[int, str]] = {"address": {}, "task": {}, "ticket": {}}
        self.refused: list[int] = []
        self.reached = threading.Event()
        self._left = after
        self._is_over = False
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, args=(Api(api.url, api.token), f"{name}x{number}"))
            for number in range(threads)
        ]
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        """Stops every client after its current request."""
        self._is_over = True

    def join(self) -> None:
        """Waits for all clients; they end when their connections break, or after `stop`."""
        for each in self._threads:
            each.join(60)
            assert not each.is_alive()

    def _run(self, api: Api, name: str) -> None:
        count = 0
        try:
            while not self._is_over:
                for uri, write in WRITES.items():
                    count += 1
                    status, id = write(api, f"{name}x{count}")
                    if status != 200:
                        self.refused.append(status)
                        return
                    self._remember(uri, id, f"{name}x{count}")
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
            return
        finally:
            api.session.close()

    def _remember(self, uri: str, id: int, name: str) -> None:
        with self._lock:
            self.acknowledged[uri][id] = name
            self._left -= 1
            if self._left == 0:
                self.reached.set()


def _address(api: Api, name: str) -> tuple[int, int]:
    return _id(api.create("address", email=f"{name}@kill.example"))


def _task(api: Api, name: str) -> tuple[int, int]:
    return _id(api.create("task", title=name))


def _mail(api: Api, name: str) -> tuple[int, int]:
    raw = (
        f"From: Ana <{name}@mail.example>\r\nTo: support@desk.example\r\nSubject: {name}\r\n"
        f"Message-ID: <{name}@mail.example>\r\n\r\nThe pump {name} leaks.\r\n"
    )
    return _id(api.parse(raw))


def _id(reply: Reply) -> tuple[int, int]:
    return reply.status, reply["id"] if reply.status == 200 else 0


WRITES: dict[str, Callable[[Api, str], tuple[int, int]]] = {"address": _address, "task": _task, "ticket": _mail}


def found(api: Api, uri: str, beginning: str) -> dict[int, str]:
    """{id: name} of all records of a type whose names have this prefix."""
    query, key = {
        "address": (f"email:{beginning}*@kill.example", "email"),
        "task": (f"title:{beginning}*", "title"),
        "ticket": (f"subject:{beginning}*", "subject"),
    }[uri]
    rows: dict[int, str] = {}
    page = 1
    while True:
        results = api.search(uri, query, limit=500, page=page).ok()["results"]
        rows |= {each["id"]: each[key].partition("@")[0] for each in results}
        if len(results) < 500:
            return rows
        page += 1
