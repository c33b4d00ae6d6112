"""Many visitors: a limit for each address, and separate threads."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from tests.service import Api, Server

LIMIT, FLOOD = 8, 150


def served(folder: Path, limit: int) -> Iterator[tuple[Server, Api]]:
    environment = {
        "HELPDESK_VISITOR_RATE_PER_MINUTE": str(limit),
        "HELPDESK_TRUSTED_PROXIES": "127.0.0.1",
        "HELPDESK_REQUEST_LOG": "no",
    }
    server = Server(folder / "data", env=environment)
    api = server.set_up()
    api.create("brand", name="Kite", is_public=1).ok()
    api.create("kb_article", title="Pump", status="published", content="quartzite").ok()
    yield server, api
    assert server.stop() == 0


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[tuple[Server, Api]]:
    yield from served(tmp_path, LIMIT)


@pytest.fixture
def unlimited(tmp_path: Path) -> Iterator[tuple[Server, Api]]:
    yield from served(tmp_path, 0)


def test_an_address_has_a_limit_and_others_do_not_notice(limited):
    server, api = limited

    def get(path: str, address: str) -> requests.Response:
        return requests.get(server.url + path, headers={"X-Forwarded-For": address}, timeout=60)

    # the minute may end in between, so two limits at most are needed to see the refusal
    statuses = [get("/help-center/", "192.0.2.7").status_code for _ in range(2 * LIMIT + 1)]
    assert statuses[:LIMIT] == [200] * LIMIT and 429 in statuses
    while (refused := get("/help-center/search?q=pump", "192.0.2.7")).status_code != 429:
        pass
    assert int(refused.headers["Retry-After"]) <= 60 and "8 requests a minute" in refused.text
    style = get("/help-center/", "192.0.2.8").text.partition('rel="stylesheet" href="')[2].partition('"')[0]
    assert get(style, "192.0.2.7").status_code == 200, "files of the pages are not counted"
    assert get("/help-center/", "2001:db8::1").status_code == 200
    assert api.get("/rest/workers/me.json").status == 200 and get("/login", "192.0.2.7").status_code == 200


@pytest.mark.exhaustive("beside a load")
def test_a_flood_of_searches_leaves_the_threads_of_the_desk_alone(unlimited):
    server, api = unlimited

    def search(number: int) -> int:
        return requests.get(f"{server.url}/help-center/search?q=quartzite&n={number}", timeout=120).status_code

    with ThreadPoolExecutor(FLOOD) as visitors:
        flood = [visitors.submit(search, number) for number in range(4 * FLOOD)]
        desk = [api.create("task", title=f"Call {number}").status for number in range(30)]
        statuses = {each.result() for each in flood}
    assert set(desk) == {200} and statuses <= {200, 503}
