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
        statuses = [api.call(method, path).status for _ in range(8)]
        refused = api.call(method, path)
    finally:
        assert started.stop() == 0
    # The minute may turn while the test runs: then six are let through.
    assert statuses.count(429) in (2, 5) and 429 not in statuses[:3]
    assert refused.status == 429 and 1 <= int(refused.headers["Retry-After"]) <= 60
    assert refused["__error"] == "ERROR_RATE_LIMIT"
