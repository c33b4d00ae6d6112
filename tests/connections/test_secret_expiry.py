"""Notices before a client secret expires, and what the check-up says about connections."""

from datetime import UTC, datetime, timedelta

import pytest

from server.connections import secret_expiry
from server.errors import Unavailable
from server.record_types.shared import entries
from server.upkeep.checkup_connections import of_connections
from tests.connections.connecting import ConnectingDesk
from tests.oauth_provider import OAuthProvider

DAY = 86_400


def day(desk: ConnectingDesk, days: int) -> str:
    return (datetime.fromtimestamp(desk.now, UTC).date() + timedelta(days=days)).isoformat()


def test_administrators_are_notified_30_7_and_1_days_before(desk: ConnectingDesk, provider: OAuthProvider) -> None:
    milo = desk.worker("Milo")
    ends = day(desk, 40)
    service = desk.connected_service(provider, client_secret_expires=ends)
    desk.connected_service(provider, client_secret_expires="nonsense")
    notified = []
    for days in range(45):
        for _ in range(2):  # scans run often
            secret_expiry.notify_of_expiry(desk.service, desk.now)
        if len(desk.notifications()) > len(notified):
            notified.append(40 - days)
        desk.now += DAY
    assert notified == [30, 7, 1] and len(desk.notifications()) == 3
    assert {each["worker_id"] for each in desk.notifications()} == {desk.nora} != {milo}
    assert entries.plain_text(desk.log("connected_service.secret.expires")[0]["params"]) == (
        f"The client secret of Mail expires on {ends}; enter a new one before then"
    )
    desk.update("connected_service", service, params=provider.params(client_secret_expires=day(desk, 5)))
    secret_expiry.notify_of_expiry(desk.service, desk.now)
    assert len(desk.notifications()) == 4, "another date begins again, late as it is"


@pytest.mark.parametrize(("days", "state"), [(31, None), (30, "warning"), (0, "warning"), (-1, "problem")])
def test_the_check_up_knows_secrets(desk, provider, days, state):
    desk.connected_service(provider, client_secret_expires=day(desk, days))
    findings = list(of_connections(desk.service, desk.now))
    assert [each.state for each in findings] == ([state] if state else [])


def test_the_check_up_knows_grants_that_ended(desk, provider):
    id = desk.connect(provider, desk.connected_service(provider))
    assert [each.state for each in of_connections(desk.service, desk.now)] == ["ok"]
    provider.revoke()
    desk.now += 3600
    with pytest.raises(Unavailable):
        desk.token(id)
    (finding,) = of_connections(desk.service, desk.now)
    assert finding.state == "problem" and "invalid_grant" in str(finding.found)
