"""The rate limit of a token, if one is set."""

import re
from pathlib import Path

import pytest

from tests.service import Server

LEFT = re.compile(r'"minute";r=([0-3]);t=(\d+)')


@pytest.mark.parametrize(("method", "path"), [("GET", "/rest/workers/me.json"), ("POST", "/rest/tickets/compose.json")])
def test_each_request_counts_once_and_the_first_above_the_limit_gets_retry_after(
    tmp_path: Path, method: str, path: str
) -> None:
    started = Server(tmp_path / "data", env={"HELPDESK_RATE_LIMIT_PER_MINUTE": "3", "HELPDESK_INLINE_STEPS": "1"})
    try:
        api = started.set_up()
        replies = [api.call(method, path) for _ in range(12)]
    finally:
        assert started.stop() == 0
    refused = [each for each in replies if each.status == 429]
    # Six requests pass if the minute turns during the test.
    assert len(refused) in (6, 7, 8, 9) and 429 not in [each.status for each in replies[:3]]
    assert all(1 <= int(each.headers["Retry-After"]) <= 60 for each in refused)
    assert refused[0]["__error"] == "ERROR_RATE_LIMIT"
    assert {each.headers["RateLimit-Policy"] for each in replies} == {'"minute";q=3;w=60'}
    left = [LEFT.fullmatch(each.headers["RateLimit"]) for each in replies]
    assert all(match and 1 <= int(match[2]) <= 60 for match in left)
    assert left[0] and left[0][1] == "2" and {each.headers["RateLimit"].split(";")[1] for each in refused} == {"r=0"}
