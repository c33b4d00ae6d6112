"""New texts are found by their words in the next request, however they were written."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.service import Api, Server

FEW = 5  # tickets without a search in between: after these, texts are indexed by the next search
_names = (f"zeppelin{number}" for number in count())


def letter(api: Api, words: str) -> int:
    """Creates a ticket by a mail with these words."""
    head = (
        f"From: ana@larch.example\r\nTo: support@desk.example\r\nSubject: Kite\r\nMessage-ID: <{words}@larch.example>"
    )
    return int(api.parse(f"{head}\r\n\r\n{words}").ok()["id"])


def draft(api: Api, words: str, subject: str = "Kite") -> int:
    """Creates a ticket by composing one."""
    form = {"group_id": api.ids["support"], "to": "ana@larch.example", "subject": subject, "content": words}
    return int(api.compose(**form, dont_send=1).ok()["id"])


def changed(api: Api, words: str) -> list[int]:
    ticket = draft(api, f"{words}before")
    [message] = api.found("message", f"ticket.id:{ticket}")
    api.update("message", message, content=words).ok()
    return [ticket]


def renamed(api: Api, words: str) -> list[int]:
    org = api.create("org", name=f"{words}before").ok()["id"]
    api.update("org", org, name=words).ok()
    return [org]


def deleted(api: Api, words: str) -> list[int]:
    org = api.create("org", name=words).ok()["id"]
    api.remove("org", org).ok()
    return []


def merged(api: Api, words: str) -> list[int]:
    tickets = [draft(api, words), draft(api, words)]
    return [int(api.post("/rest/tickets/merge.json", **{"ticket_ids[]": tickets}).ok()["id"])]


def upserted(api: Api, words: str) -> list[int]:
    """The upsert itself searches for the words of the previous write."""
    made = [api.upsert("org", f"text:{words}", name=words).ok()["id"] for _ in range(2)]
    assert made[0] == made[1]
    return made[:1]


CASES: dict[str, tuple[str, Callable[[Api, str], list[int]]]] = {
    "created": ("org", lambda api, words: [api.create("org", name=words).ok()["id"]]),
    "composed": ("ticket", lambda api, words: [draft(api, words)]),
    "composed with a subject": ("ticket", lambda api, words: [draft(api, "Hello", words)]),
    "mailed in": ("ticket", lambda api, words: [letter(api, words)]),
    "changed": ("ticket", changed),
    "renamed": ("org", renamed),
    "deleted": ("org", deleted),
    "merged": ("ticket", merged),
    "upserted": ("org", upserted),
}


@pytest.mark.parametrize("name", CASES)
def test_words_are_found_by_the_next_request(api: Api, name: str) -> None:
    uri, write = CASES[name]
    words = next(_names)
    for _ in range(FEW):
        draft(api, "Hello")
    expected = write(api, words)
    assert api.found(uri, f"text:{words}") == expected
    assert api.found(uri, f"text:{words}before") == []


def test_words_are_found_after_the_server_was_killed(data: Path) -> None:
    server = Server(data)
    api = server.set_up()
    api.ids["support"] = api.create("group", name="Support").ok()["id"]
    for _ in range(FEW):
        draft(api, "Hello")
    ticket = draft(api, "zeppelin")
    server.kill()
    server = Server(data)
    assert Api(server.url, api.token).found("ticket", "text:zeppelin") == [ticket]
    assert server.stop() == 0
