"""Tools for workers over HTTP, such as reminders, money and articles."""

import time
from pathlib import Path

import pytest

from tests.service import Api, Server

HOUR = 3600
SEARCH = {"name": "Open", "context": "task", "query": "status:o", "owner__context": "app"}


def test_a_new_helpdesk_has_one_currency(api: Api) -> None:
    (found,) = api.search("currency", "default:yes").ok()["results"]
    assert (found["code"], found["decimal_at"], found["symbol"]) == ("USD", 2, "$")
    made = api.create("opportunity", title="Pumps", amount=123450, status="closed_won").ok()
    assert made["amount__label"] == "$1,234.50 USD"
    assert (made["is_won"], made["is_closed"]) == (True, True)
    assert api.remove("currency", found["id"]).status == 409


@pytest.mark.parametrize(
    ("who", "uri", "fields", "status", "names"),
    [
        ("milo", "reminder", {"name": "Oil", "remind_at": "+1 hour", "worker_id": "{olga}"}, 403, ""),
        ("milo", "reminder", {"name": "Oil", "remind_at": "+1 hour", "worker_id": "{milo}"}, 200, ""),
        ("nora", "reminder", {"name": "Oil", "remind_at": "blurb", "worker_id": "{milo}"}, 422, "remind_at"),
        ("milo", "time_entry", {"worker_id": "{milo}"}, 422, "mins"),
        ("milo", "time_entry", {"worker_id": "{olga}", "mins": "5"}, 403, ""),
        ("nora", "saved_search", SEARCH | {"query": "(a"}, 422, "query"),
        ("milo", "saved_search", SEARCH, 403, ""),
        ("milo", "kb_category", {"name": "Pumps", "parent_id": "999"}, 422, "parent_id"),
        ("nora", "kb_article", {"title": "A", "format": "rtf"}, 422, "format"),
        ("nora", "queue", {"name": "a-b"}, 422, "name"),
        ("nora", "resource", {"name": "a", "extension_id": "film"}, 422, "extension_id"),
    ],
)
def test_refusals_give_a_reason(api: Api, who: str, uri: str, fields: dict[str, str], status: int, names: str) -> None:
    sent = {name: text.format(**api.ids) for name, text in fields.items()}
    response = api.as_(who).create(uri, **sent)
    assert response.status == status, response
    assert names in response.content.decode()


def test_an_article_is_sent_as_written_and_read_as_html(api: Api) -> None:
    top = api.create("kb_category", name="Devices").ok()["id"]
    low = api.create("kb_category", name="Pumps", parent_id=top).ok()["id"]
    made = api.create(
        "kb_article", expand="categories", title="Valve", content="Open *it* <script>", format="m", categories=f"{low}",
    ).ok()  # fmt: skip
    assert made["content"] == "<p>Open <em>it</em> &lt;script&gt;</p>\n"
    assert made["categories"] == {str(low): {str(top): "Devices", str(low): "Pumps"}}
    found = api.search("kb_article", "valve", subtotals=["category.id"]).ok()
    assert found["subtotals"]["category.id"] == [{"label": "Pumps", "hits": 1, "key": low}]
    api.remove("kb_category", top).ok()
    assert api.record("kb_article", made["id"], "categories").ok()["categories"] == {}


def test_files_are_found_by_their_bundle(api: Api) -> None:
    bundle = api.create("file_bundle", name="Papers", tag="papers", owner__context="app", owner_id=0).ok()["id"]
    made = api.create("attachment", name="a.txt", content="text", attach=[f"file_bundle:{bundle}"]).ok()["id"]
    assert api.found("attachment", "bundle:(tag:papers)") == [made]


def test_a_reminder_due_while_the_service_was_down_is_sent_once(data: Path) -> None:
    server = Server(data)
    nora = server.set_up()
    me = nora.get("/rest/workers/me.json").ok()["id"]
    id = nora.create("reminder", name="Oil the pump", remind_at="+1 hour", worker_id=me).ok()["id"]
    assert server.stop() == 0
    for _ in range(2):
        server = Server(data, seconds_off=2 * HOUR)
        again = Api(server.url, nora.token)
        end = time.monotonic() + 60
        while again.record("reminder", id).ok()["is_closed"] == 0 and time.monotonic() < end:
            pass
        told = again.search("notification", f"worker.id:{me}").ok()["results"]
        assert [each["message"] for each in told] == ["Oil the pump"]
        assert server.stop() == 0
