"""Replaced secrets of apps: both work for a while, then the old one no longer identifies the app."""

from dataclasses import replace

import pytest

from server.access import app_secrets, provider
from server.access.app_secrets import USE_SECONDS, Secret
from server.record_types.shared.secrets import digest
from server.records import records
from tests.oauth.apps import App, Apps, error_of
from tests.records.desk import NOW, Desk

HOUR, DAY = 3600, 86400


def rotated(desk: Desk, app: App, until: int) -> App:
    """Returns the app with a new secret; the present secret works until an instant."""
    made = desk.update("oauth_app", app.id, client_secret="", overlap_until=until)
    return App(app.id, app.client_id, made["client_secret"])


def listed(desk: Desk, app: App, now: int = NOW) -> list[Secret]:
    row = desk.row("oauth_app", app.id)
    return desk.read(lambda tx: app_secrets.list_secrets(tx, row, now))


def status(apps: Apps, app: App, now: int) -> int:
    return apps.send(now, grant_type="refresh_token", refresh_token="none", **app.login).status


@pytest.mark.parametrize("seconds", [HOUR, DAY, 7 * DAY])
def test_the_old_secret_works_until_its_end_and_is_refused_afterwards(seconds: int, apps: Apps, desk: Desk) -> None:
    old = apps.new()
    new = rotated(desk, old, NOW + seconds)
    assert apps.refresh(old, apps.pair(old)["refresh_token"]).status == 200
    assert status(apps, old, NOW + seconds - 1) == 400  # the secret was accepted, but not the rest
    assert error_of(apps.refresh(old, apps.pair(new)["refresh_token"], NOW + seconds)) == (401, "invalid_client")
    assert apps.refresh(new, apps.pair(new)["refresh_token"], NOW + seconds).status == 200
    assert len(listed(desk, new, NOW + seconds - 1)) == 2 and len(listed(desk, new, NOW + seconds)) == 1


def test_without_an_overlap_the_old_secret_ends_at_once_and_is_not_stored(apps: Apps, desk: Desk) -> None:
    old = apps.new()
    new = rotated(desk, old, NOW)
    assert error_of(apps.refresh(old, "none")) == (401, "invalid_client")
    assert desk.row("oauth_app", old.id)["previous_secret_hash"] == "" and len(listed(desk, new)) == 1


def test_an_old_secret_can_be_ended_early(apps: Apps, desk: Desk) -> None:
    old = apps.new()
    rotated(desk, old, NOW + DAY)
    desk.update("oauth_app", old.id, overlap_until="now")
    assert error_of(apps.refresh(old, "none")) == (401, "invalid_client")


def test_a_later_end_does_not_revive_an_old_secret_that_has_ended(apps: Apps, desk: Desk) -> None:
    """An administrator who ends a secret, or sees that it ended, does not expect that it works again."""
    old = apps.new()
    rotated(desk, old, NOW + HOUR)
    later = NOW + 2 * HOUR
    records.update(replace(desk.context(), now=later), "oauth_app", old.id, {"overlap_until": str(later + DAY)})
    assert status(apps, old, later) == 401 and desk.row("oauth_app", old.id)["previous_secret_hash"] == ""


def test_a_secret_replaced_without_an_end_works_until_the_next_replacement(apps: Apps, desk: Desk) -> None:
    first = apps.new()
    rotated(desk, first, NOW + HOUR)
    second = App(first.id, first.client_id, desk.update("oauth_app", first.id, client_secret="")["client_secret"])
    third = App(first.id, first.client_id, desk.update("oauth_app", first.id, client_secret="")["client_secret"])
    assert [status(apps, each, NOW + DAY) for each in (first, second, third)] == [401, 400, 400]
    assert [each.until for each in listed(desk, third)] == [0, 0]


def test_the_last_use_of_each_secret_is_shown(apps: Apps, desk: Desk) -> None:
    old = apps.new()
    new = rotated(desk, old, NOW + DAY)
    assert [each.used_at for each in listed(desk, new)] == [0, 0]
    apps.refresh(old, "none", NOW + 5)
    apps.refresh(new, "none", NOW + 9)
    apps.refresh(new, "none", NOW + 9 + USE_SECONDS - 1)
    apps.refresh(App(new.id, new.client_id, "wrong"), "none", NOW + 90)
    assert listed(desk, new) == [Secret(True, NOW + 9, 0), Secret(False, NOW + 5, NOW + DAY)]
    apps.refresh(new, "none", NOW + 9 + USE_SECONDS)
    assert listed(desk, new)[0].used_at == NOW + 9 + USE_SECONDS


def test_records_of_uses_stay_as_long_as_the_secret(apps: Apps, desk: Desk) -> None:
    """Otherwise a secret that is used once a month would be shown as never used, and be ended."""

    def known(at: int) -> list[str]:
        desk.store.write(lambda tx: provider.forget_useless(tx, at))
        return [row[1] for row in desk.read(lambda tx: tx.find(app_secrets.SECRET_USE, app_id=app.id))]

    app = apps.new()
    apps.refresh(app, "none")
    new = rotated(desk, app, 0)
    assert known(NOW + 30 * DAY) == [digest(app.secret)] and listed(desk, new)[1].used_at == NOW
    rotated(desk, app, 0)
    assert known(NOW + 30 * DAY) == []


def test_records_of_uses_are_deleted_with_the_app(apps: Apps, desk: Desk) -> None:
    app = apps.new()
    apps.refresh(app, "none")
    desk.delete("oauth_app", app.id)
    desk.store.write(lambda tx: provider.forget_useless(tx, 0))
    assert desk.read(lambda tx: tx.find(app_secrets.SECRET_USE, app_id=app.id)) == []
