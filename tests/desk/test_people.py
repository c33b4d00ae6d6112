"""Administrative actions on the sign-in of others, without pages; the pages are tested in tests/console."""

from pathlib import Path

from server.access import sessions, totp
from server.access.second_factor import SECOND_FACTOR
from server.sign_in import sign_in, sign_in_administration
from tests.records.desk import NOW, Desk


def test_actions_that_let_administrators_sign_in_as_others_are_logged(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    ctx = desk.context(desk.worker("Nora", is_superuser=1))
    milo = desk.worker("Milo")
    factor = {"worker_id": milo, "secret": totp.new_secret(), "created_at": NOW, "last_step": 0}
    lifetime = sign_in.lifetime(desk.service, False)
    desk.store.write(lambda tx: tx.put(SECOND_FACTOR, factor))
    desk.store.write(lambda tx: sessions.create(tx, milo, NOW, lifetime, "Firefox", "127.0.0.1"))
    for act in (
        sign_in_administration.invitation,
        sign_in_administration.invite,
        sign_in_administration.turn_off_second_factor,
        sign_in_administration.end_sessions,
    ) * 2:
        act(ctx, milo)
    asked = [
        "Nora created a link with which Milo can choose a password",
        "Nora invited Milo by email to choose a password",
    ]
    once = ["Nora turned off the second factor of Milo", "Nora signed Milo out of 1 device"]
    assert [each for each in desk.acts() if each.startswith("Nora")] == [*asked, *once, *asked]
    desk.close()
