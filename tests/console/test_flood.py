"""Many sign-ins at once get a response, some with Retry-After, and do not delay the pages of others."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from server.access.lockout import ATTEMPT, MAX_WRONG_OF_ADDRESS
from tests.console.visitor import Visitor
from tests.records.desk import Desk
from tests.service import Server

FLOOD = MAX_WRONG_OF_ADDRESS - 2


@pytest.fixture
def forgiven(desk: Desk) -> Iterator[None]:
    desk.store.write(lambda tx: tx.delete(ATTEMPT))
    yield
    desk.store.write(lambda tx: tx.delete(ATTEMPT))


def test_a_flood_of_sign_ins_gets_responses_and_retry_after(visitor: Visitor, server: Server, forgiven: None) -> None:
    """The server itself detects hashing on a page's thread, and would respond with 500."""
    visitor.sign_in()
    stranger = Visitor(server.url)
    token, cookies = stranger.token("/login"), stranger.cookies

    def sign_in(number: int) -> requests.Response:
        form = {"email": f"nobody{number}@desk.example", "password": "wrong", "_xsrf": token}
        return requests.post(f"{server.url}/login", data=form, cookies=cookies, timeout=60)

    with ThreadPoolExecutor(FLOOD) as people:
        waiting = [people.submit(sign_in, number) for number in range(FLOOD)]
        assert visitor.get("/account").status_code == 200
        answers = [each.result() for each in waiting]
    late = [each for each in answers if each.status_code == 429]
    assert len(late) + sum(each.status_code == 422 for each in answers) == FLOOD
    assert all(int(each.headers["Retry-After"]) > 0 and "Try again" in each.text for each in late)
