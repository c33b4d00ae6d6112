"""Signing in without a browser: sessions, attempts, second factors and links, with a clock that the tests move."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from server.access import lockout, password_links, second_factor, sessions, totp
from server.context import Context
from server.errors import Forbidden, Invalid, NotAuthenticated, NotFound, TooMany
from server.mail.mail_bytes import OutgoingMail
from server.sign_in import late_links, password_change, sign_in
from server.sign_in.sign_in import Peer
from tests import databases
from tests.records.desk import NOW, Desk

PASSWORD = "correct horse battery"
PEER = Peer("203.0.113.7", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
HOUR, DAY = 3600, 86400


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    made = Desk(tmp_path_factory.mktemp("access"))
    made.worker("Nora", is_superuser=1, password=PASSWORD)
    yield made
    made.close()


@pytest.fixture
def milo(desk: Desk) -> Iterator[int]:
    """A worker for one test, with all counts of attempts at zero."""
    id = desk.worker("Milo", password=PASSWORD)
    yield id
    desk.delete("worker", id)
    desk.store.write(lambda tx: tx.delete(lockout.ATTEMPT))


def at(desk: Desk, seconds: int = 0) -> Context:
    return replace(desk.context(), now=NOW + seconds)


def by(desk: Desk, id: int) -> Context:
    """A context of the worker who changes their own sign-in settings."""
    return replace(desk.context(id), now=NOW)


def session(desk: Desk, id: str, seconds: int = 0) -> sessions.Session | None:
    return desk.read(lambda tx: sessions.check(tx, id, NOW + seconds))


def signed_in(desk: Desk, seconds: int = 0, **options: bool) -> str:
    return sign_in.by_password(at(desk, seconds), "milo@desk.example", PASSWORD, PEER, **options).session_id


def test_the_session_id_is_in_no_row_and_the_name_ignores_case(desk: Desk, milo: int) -> None:
    made = sign_in.by_password(at(desk), " MILO@desk.example ", PASSWORD, PEER)
    assert not made.waits_for_code and len(made.session_id) >= 43
    found = session(desk, made.session_id)
    assert found is not None and (found.actor.worker_id, found.client) == (milo, PEER.client)
    assert found.is_stepped_up(NOW) and not found.is_stepped_up(NOW + sessions.STEP_UP_SECONDS)
    kept = databases.everything(desk.service.settings.data).values()
    assert any(b"Firefox on Linux" in content for content in kept)
    assert not any(made.session_id.encode() in content for content in kept)
    [entry] = [each for each in desk.log("worker.logged_in") if each["target_id"] == milo]
    assert entry["params"]["variables"]["user_agent"] == "Firefox on Linux"


@pytest.mark.parametrize("email", ["milo@desk.example", "nobody@desk.example", "", "x" * 5000, "milo@desk.example\x00"])
def test_a_refusal_does_not_say_what_was_wrong(desk: Desk, milo: int, email: str) -> None:
    for password in ("wrong", "x" * 5000):
        with pytest.raises(NotAuthenticated, match=r"^The email address or the password is wrong\.$"):
            sign_in.by_password(at(desk), email, password, PEER)


@pytest.mark.parametrize("field", ["is_disabled", "is_password_disabled"])
def test_a_worker_who_may_not_sign_in_gets_the_same_refusal(desk: Desk, milo: int, field: str) -> None:
    desk.update("worker", milo, **{field: 1})
    with pytest.raises(NotAuthenticated, match="is wrong"):
        signed_in(desk)


def test_a_session_ends_after_hours_without_requests_and_after_days_overall(desk: Desk, milo: int) -> None:
    brief, kept = signed_in(desk), signed_in(desk, is_remembered=True)
    assert session(desk, brief, 12 * HOUR - 1) and not session(desk, brief, 12 * HOUR)
    assert session(desk, kept, 30 * DAY - 1) and not session(desk, kept, 30 * DAY)
    used = session(desk, brief)
    assert used is not None
    for hours in range(10, 30 * 24, 10):
        desk.store.write(lambda tx, hours=hours: sessions.seen(tx, used.id, NOW + hours * HOUR, "198.51.100.1"))
    assert session(desk, brief, 30 * DAY - 1) and not session(desk, brief, 30 * DAY)
    assert desk.read(lambda tx: sessions.of_worker(tx, milo, NOW))[0].client == "198.51.100.1"
    sign_in.forget_over(desk.service, NOW + 31 * DAY)
    assert desk.read(lambda tx: tx.find(sessions.SESSION, worker_id=milo)) == []


def test_a_session_ends_when_all_sessions_of_its_worker_end(desk: Desk, milo: int) -> None:
    id = signed_in(desk)
    desk.store.write(lambda tx: sessions.end_all(tx, milo))
    assert session(desk, id) is None


def test_a_reenabled_worker_has_to_sign_in_again(desk: Desk, milo: int) -> None:
    id = signed_in(desk)
    desk.update("worker", milo, is_disabled=1)
    desk.update("worker", milo, is_disabled=0)
    assert session(desk, id) is None and session(desk, signed_in(desk)) is not None


def test_a_password_set_by_another_worker_ends_all_sessions(desk: Desk, milo: int) -> None:
    id = signed_in(desk, -5)
    desk.update("worker", milo, password="quite another one")
    assert session(desk, id) is None


def test_changing_ones_own_password_keeps_the_current_session(desk: Desk, milo: int) -> None:
    mine, other = signed_in(desk, -9), signed_in(desk, -8)
    present = session(desk, mine)
    assert present is not None
    with pytest.raises(NotAuthenticated):
        password_change.change(at(desk), present, "wrong", "quite another one", PEER)
    with pytest.raises(Invalid, match="at least 8"):
        password_change.change(at(desk), present, PASSWORD, "short", PEER)
    renewed = password_change.change(at(desk), present, PASSWORD, "quite another one", PEER)
    assert session(desk, renewed) and not session(desk, mine) and not session(desk, other)
    assert sign_in.by_password(at(desk), "milo@desk.example", "quite another one", PEER)


def test_ten_wrong_passwords_lock_the_account_for_ten_minutes(desk: Desk, milo: int) -> None:
    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
        desk.store.write(lambda tx: lockout.count(tx, (lockout.account("password", "milo@desk.example"),), NOW))
    with pytest.raises(TooMany, match="10 minutes") as told:
        sign_in.by_password(at(desk), "Milo@desk.example", PASSWORD, PEER)
    assert told.value.details["retry_after"] == lockout.WINDOW_SECONDS
    assert sign_in.by_password(at(desk), "nora@desk.example", PASSWORD, PEER)
    assert signed_in(desk, lockout.WINDOW_SECONDS)


def test_correct_passwords_do_not_count(desk: Desk, milo: int) -> None:
    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT + 1):
        signed_in(desk)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("192.0.2.1", "192.0.2.1", True),
        ("", "", True),
    ],
)
def test_addresses_that_count_together(one: str, other: str, same: bool) -> None:
    assert (lockout.address(one) == lockout.address(other)) is same


def test_attempts_per_address_are_limited_whatever_names_they_try(desk: Desk, milo: int) -> None:
    for number in range(lockout.MAX_WRONG_OF_ADDRESS):
        keys = (lockout.account("password", f"{number}@desk.example"), lockout.address(PEER.client))
        desk.store.write(lambda tx, keys=keys: lockout.count(tx, keys, NOW))
    with pytest.raises(TooMany):
        signed_in(desk)
    assert sign_in.by_password(at(desk), "milo@desk.example", PASSWORD, Peer("203.0.113.8", ""))


def test_a_code_works_once_and_tolerates_a_clock_that_is_slightly_off(desk: Desk, milo: int) -> None:
    codes = sign_in.turn_on_code(by(desk, milo), SECRET, totp.code(SECRET, NOW // 30))
    assert len(set(codes)) == second_factor.RECOVERY_CODES
    made = sign_in.by_password(at(desk), "milo@desk.example", PASSWORD, PEER)
    assert made.waits_for_code
    waiting = session(desk, made.session_id)
    assert waiting is not None and waiting.waits_for_code and not waiting.is_stepped_up(NOW)
    assert session(desk, made.session_id, sessions.CODE_SECONDS) is None
    for wrong in ("000000", "", "x" * 1000, totp.code(SECRET, NOW // 30), totp.code(SECRET, NOW // 30 - 3)):
        with pytest.raises(NotAuthenticated):
            sign_in.by_code(at(desk), waiting, wrong, PEER)
    full = sign_in.by_code(at(desk), waiting, totp.code(SECRET, NOW // 30 + 1), PEER).session_id
    assert full != made.session_id and session(desk, made.session_id) is None
    found = session(desk, full)
    assert found is not None and not found.waits_for_code
    again = session(desk, sign_in.by_password(at(desk), "milo@desk.example", PASSWORD, PEER).session_id)
    assert again is not None
    with pytest.raises(NotAuthenticated):
        sign_in.by_code(at(desk), again, totp.code(SECRET, NOW // 30 + 1), PEER)
    assert sign_in.by_code(at(desk), again, codes[0].upper(), PEER)
    assert desk.read(lambda tx: second_factor.recovery_codes_left(tx, milo)) == second_factor.RECOVERY_CODES - 1
    third = session(desk, sign_in.by_password(at(desk), "milo@desk.example", PASSWORD, PEER).session_id)
    assert third is not None
    with pytest.raises(NotAuthenticated):
        sign_in.by_code(at(desk), third, codes[0], PEER)


def test_codes_are_counted_too(desk: Desk, milo: int) -> None:
    sign_in.turn_on_code(by(desk, milo), SECRET, totp.code(SECRET, NOW // 30))
    waiting = session(desk, signed_in(desk))
    assert waiting is not None
    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
        with pytest.raises(NotAuthenticated):
            sign_in.by_code(at(desk), waiting, "000000", PEER)
    with pytest.raises(TooMany):
        sign_in.by_code(at(desk), waiting, totp.code(SECRET, NOW // 30 + 1), PEER)


def test_a_confirmation_gives_the_session_a_new_id(desk: Desk, milo: int) -> None:
    old = signed_in(desk)
    present = session(desk, old)
    assert present is not None
    with pytest.raises(NotAuthenticated):
        sign_in.step_up(at(desk, 2 * HOUR), present, "wrong", PEER)
    new = sign_in.step_up(at(desk, 2 * HOUR), present, PASSWORD, PEER)
    renewed = session(desk, new, 2 * HOUR)
    assert session(desk, old, 2 * HOUR) is None and renewed is not None and renewed.is_stepped_up(NOW + 2 * HOUR)


def test_a_link_sets_a_password_once(desk: Desk, milo: int) -> None:
    id = signed_in(desk, -5)
    password_change._send_link(desk.service, {"worker_id": milo}, NOW)
    [draft] = [each for each in _drafts(desk) if each["params"]["subject"] == password_change.SUBJECT]
    link = f"{desk.service.base_url}/reset/{late_links.CODE}\n"
    assert draft["to"] == "milo@desk.example" and link in draft["params"]["content"]
    to = (("", "milo@desk.example"),)
    mail = OutgoingMail("a@b", NOW, "", "desk@desk.example", to, "", draft["params"]["content"], "", "")
    code = late_links.fill_link(at(desk), draft["id"], mail).text.partition("/reset/")[2].split()[0]
    assert late_links.fill_link(at(desk), draft["id"] + 1, mail) == mail
    desk.store.write(lambda tx: late_links.register(tx, draft["id"], 999_999, 60))  # deleted in the meantime
    with pytest.raises(Invalid, match="no longer exists"):
        late_links.fill_link(at(desk), draft["id"], mail)
    with pytest.raises(Invalid):
        password_change.set_by_link(at(desk), code, "short")
    assert password_change.worker_of_link(desk.service, code, NOW) == milo
    with pytest.raises(NotFound):
        password_change.worker_of_link(desk.service, code, NOW + 10 * DAY)
    password_change.set_by_link(at(desk), code, "quite another one")
    assert session(desk, id) is None
    with pytest.raises(NotFound):
        password_change.set_by_link(at(desk), code, "yet another one")
    assert sign_in.by_password(at(desk), "milo@desk.example", "quite another one", PEER)


def test_a_newer_link_replaces_an_older_one(desk: Desk, milo: int) -> None:
    first = desk.store.write(lambda tx: password_links.create(tx, milo, NOW))
    second = desk.store.write(lambda tx: password_links.create(tx, milo, NOW))
    assert desk.read(lambda tx: password_links.worker_of(tx, first, NOW)) is None
    assert desk.read(lambda tx: password_links.worker_of(tx, second, NOW)) == milo


def test_an_automation_may_refuse(desk: Desk, milo: int) -> None:
    desk.create(
        "automation", name="doorman", extension_id="svc.trigger.worker.authenticated",
        script="start:\n  return:\n    deny: from {{client_ip}} with {{client_browser_name}} as {{worker_first_name}}",
    )  # fmt: skip
    bound = "automation/door:\n  uri: svc:automation:doorman\n"
    event = desk.found("automation_event", "name:worker.authenticated")
    if event:
        desk.update("automation_event", event[0], automations_kata=bound)
    else:
        desk.own(
            "automation_event", name="worker.authenticated", extension_id="svc.trigger.worker.authenticated",
            automations_kata=bound,
        )  # fmt: skip
    with pytest.raises(Forbidden, match=r"refused: from 203\.0\.113\.7 with Firefox as Milo"):
        signed_in(desk)
    assert desk.read(lambda tx: tx.find(sessions.SESSION, worker_id=milo)) == []
    desk.update("automation_event", desk.found("automation_event", "name:worker.authenticated")[0], automations_kata="")
    assert signed_in(desk)


def _drafts(desk: Desk) -> list[dict[str, object]]:
    record_type = desk.registry.type("draft")
    return [record_type.record(row) for row in desk.read(lambda tx: tx.find(record_type.table))]
