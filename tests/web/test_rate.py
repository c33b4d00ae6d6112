"""The rate limit for one token, when it is set. Source: Limits; ours."""

from pathlib import Path

import pytest

from tests.service import Server


@pytest.mark.parametrize(("method", "path"), [("GET", "/rest/workers/me.json"), ("POST", "/rest/tickets/compose.json")])
def test_a_request_counts_once_and_the_one_above_the_limit_is_told_when_to_come_back(
    tmp_path: Path, method: str, path: str
) -> None:
    started = Server(tmp_path / "data", env={"HELPDESK_RATE_LIMIT_PER_MINUTE": "3", "HELPDESK_INLINE_STEPS": "1"})
    try:
        api = started.set_up()
        replies = [api.call(method, path) for _ in range(12)]
    finally:
        assert started.stop() == 0
    refused = [each for each in replies if each.status == 429]
    # The minute may turn while the test runs: then six are let through.
    assert len(refused) in (6, 7, 8, 9) and 429 not in [each.status for each in replies[:3]]
    assert all(1 <= int(each.headers["Retry-After"]) <= 60 for each in refused)
    assert refused[0]["__error"] == "ERROR_RATE_LIMIT"
