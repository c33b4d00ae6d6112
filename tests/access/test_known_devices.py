"""Account lockout cannot be used as a weapon: known devices and signed-in workers are not affected by failed attempts
of others; the owner is notified once."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from server.access import known_devices, lockout, second_factor, sessions, totp
from server.context import Context
from server.errors import NotAuthenticated, NotFound, TooMany
from server.jobs.job_queue import JOB
from server.record_types.shared.sending_addresses import TRANSACTIONAL
from server.sign_in import lock_notice, password_change, sign_in
from server.sign_in.sign_in import LOCKED, Peer
from server.store.transaction import Transaction
from server.upkeep import checkup
from tests.records.desk import NOW, Desk

EMAIL, PASSWORD = "milo@desk.example", "correct horse battery"
HOME, STRANGER = Peer("203.0.113.7", "Firefox"), Peer("198.51.100.66", "curl")
SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
DAY = 86400


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    made = Desk(tmp_path_factory.mktemp("devices"))
    made.worker("Nora", is_superuser=1, password=PASSWORD)
    yield made
    made.close()


@pytest.fixture
def milo(desk: Desk) -> Iterator[int]:
    id = desk.worker("Milo", password=PASSWORD)
    yield id
    desk.delete("worker", id)
    for table in (lockout.ATTEMPT, JOB):
        desk.store.write(lambda tx, table=table: tx.delete(table))


def at(desk: Desk, seconds: int = 0) -> Context:
    return replace(desk.context(), now=NOW + seconds)


def by(desk: Desk, id: int) -> Context:
    """A context of the worker who changes their own sign-in settings."""
    return replace(desk.context(id), now=NOW)


def signed_in(desk: Desk, peer: Peer, seconds: int = 0) -> sign_in.NewSession:
    return sign_in.by_password(at(desk, seconds), EMAIL, PASSWORD, peer)


def known(desk: Desk, peer: Peer = HOME) -> Peer:
    """Signs in and returns the peer with its device id, so that the device is known."""
    return replace(peer, known=signed_in(desk, peer).known)


def lock(desk: Desk, peer: Peer = STRANGER, seconds: int = 0) -> None:
    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
        with pytest.raises(NotAuthenticated):
            sign_in.by_password(at(desk, seconds), EMAIL, "wrong", peer)


def jobs(desk: Desk, kind: str) -> list[object]:
    desk.store.write(lambda tx: None)  # makes the store write the submitted attempt
    return [row for row in desk.read(lambda tx: tx.find(JOB)) if row[JOB.position["kind"]] == kind]


def devices(desk: Desk, worker_id: int, seconds: int = 0) -> list[known_devices.KnownDevice]:
    return desk.read(lambda tx: known_devices.of_worker(tx, worker_id, NOW + seconds))


def test_locking_an_account_does_not_lock_out_a_known_device(desk: Desk, milo: int) -> None:
    home = known(desk)
    lock(desk)
    for peer in (STRANGER, Peer("192.0.2.200", ""), replace(STRANGER, known="guessed" * 6)):
        with pytest.raises(TooMany):
            signed_in(desk, peer)
    assert signed_in(desk, home)


def test_an_exhausted_address_does_not_hold_up_a_known_device(desk: Desk, milo: int) -> None:
    home = known(desk)
    for number in range(lockout.MAX_WRONG_OF_ADDRESS):
        keys = (lockout.account("password", f"{number}@desk.example"), lockout.address(home.client))
        desk.store.write(lambda tx, keys=keys: lockout.count(tx, keys, NOW))
    with pytest.raises(TooMany):
        signed_in(desk, HOME)
    assert signed_in(desk, home)


def test_a_known_device_has_ten_attempts_apart_from_those_of_others(desk: Desk, milo: int) -> None:
    home = known(desk)
    lock(desk, home)
    with pytest.raises(TooMany):
        signed_in(desk, home)
    assert signed_in(desk, STRANGER) and not jobs(desk, LOCKED)
    assert signed_in(desk, home, lockout.WINDOW_SECONDS)


def test_a_device_is_known_only_for_workers_who_signed_in_there(desk: Desk, milo: int) -> None:
    foreign = sign_in.by_password(at(desk), "nora@desk.example", PASSWORD, HOME).known
    lock(desk)
    with pytest.raises(TooMany):
        signed_in(desk, replace(HOME, known=foreign))


def test_workers_who_share_a_browser_share_its_renewed_id_which_is_in_no_row(desk: Desk, milo: int) -> None:
    first = known(desk)
    nora = sign_in.by_password(at(desk), "nora@desk.example", PASSWORD, first).known
    again = replace(first, known=nora)
    assert nora != first.known and len(nora) >= 43
    lock(desk)
    with pytest.raises(TooMany):
        signed_in(desk, first)  # the old id
    assert signed_in(desk, again) and len(devices(desk, milo)) == 1
    rows = desk.read(lambda tx: tx.find(known_devices.KNOWN_DEVICE))
    assert not any(nora in str(row) for row in rows)


@pytest.mark.parametrize("how", ["forgotten", "password", "everywhere", "a year"])
def test_a_device_is_known_until(desk: Desk, milo: int, how: str) -> None:
    home = known(desk)
    if how == "forgotten":
        sign_in.forget_device(by(desk, milo), devices(desk, milo)[0].id)
    elif how == "password":
        desk.update("worker", milo, password=PASSWORD + "!")
    elif how == "everywhere":
        sign_in.end_sessions(by(desk, milo))
    seconds = known_devices.KNOWN_SECONDS if how == "a year" else 0
    assert devices(desk, milo, seconds) == []
    assert desk.read(lambda tx: known_devices.find(tx, milo, home.known, NOW + seconds)) == 0
    sign_in.forget_over(desk.service, NOW + 2 * known_devices.KNOWN_SECONDS)
    assert desk.read(lambda tx: tx.find(known_devices.KNOWN_DEVICE, worker_id=milo)) == []


def test_a_worker_cannot_forget_a_device_of_another_worker(desk: Desk, milo: int) -> None:
    known(desk)
    with pytest.raises(NotFound):
        sign_in.forget_device(by(desk, desk.worker("Olga")), devices(desk, milo)[0].id)


def test_only_the_device_that_changes_the_password_stays_known(desk: Desk, milo: int) -> None:
    other, home = known(desk, STRANGER), known(desk)
    made = signed_in(desk, home)
    home = replace(home, known=made.known)
    session = desk.read(lambda tx: sessions.check(tx, made.session_id, NOW))
    assert session is not None
    password_change.change(at(desk), session, PASSWORD, PASSWORD + "!", home)
    assert [
        bool(desk.read(lambda tx, each=each: known_devices.find(tx, milo, each.known, NOW))) for each in (home, other)
    ] == [True, False]


def test_the_number_of_devices_of_a_worker_is_limited(desk: Desk, milo: int) -> None:
    for _ in range(known_devices.MAX_DEVICES + 2):
        signed_in(desk, HOME)
    assert len(devices(desk, milo)) == known_devices.MAX_DEVICES


def test_a_running_session_confirms_itself_despite_failures_elsewhere(desk: Desk, milo: int) -> None:
    made = signed_in(desk, HOME)
    session = desk.read(lambda tx: sessions.check(tx, made.session_id, NOW))
    assert session is not None
    lock(desk, HOME)
    key = lockout.address(HOME.client)
    desk.store.write(lambda tx: tx.put(lockout.ATTEMPT, {"key": key, "number": 50, "until": NOW + 600}))
    assert sign_in.step_up(at(desk), session, PASSWORD, HOME)


def test_wrong_codes_elsewhere_do_not_hold_up_a_known_device(desk: Desk, milo: int) -> None:
    home = known(desk)
    sign_in.turn_on_code(by(desk, milo), SECRET, totp.code(SECRET, NOW // 30))

    def waiting(peer: Peer) -> sessions.Session:
        made = signed_in(desk, peer)
        assert made.waits_for_code and not made.known
        found = desk.read(lambda tx: sessions.check(tx, made.session_id, NOW))
        assert found is not None
        return found

    theirs, own = waiting(STRANGER), waiting(home)
    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
        with pytest.raises(NotAuthenticated):
            sign_in.by_code(at(desk), theirs, "000000", STRANGER)
    code = totp.code(SECRET, NOW // 30 + 1)
    with pytest.raises(TooMany):
        sign_in.by_code(at(desk), theirs, code, STRANGER)
    assert sign_in.by_code(at(desk), own, code, home).known
    [job] = jobs(desk, LOCKED)
    assert '"code"' in str(job)
    desk.store.write(lambda tx: second_factor.turn_off(tx, milo))


def test_the_owner_is_notified_by_mail_once_a_day(desk: Desk, milo: int) -> None:
    lock(desk)
    assert len(jobs(desk, LOCKED)) == 1
    lock_notice._send(desk.service, {"worker_id": milo, "kind": "password", "client": STRANGER.client}, NOW)
    drafts = desk.registry.type("draft")
    rows = desk.read(lambda tx: tx.find(drafts.table))
    found = [each for each in map(drafts.record, rows) if each["params"]["subject"] == lock_notice.SUBJECT]
    assert [(each["type"], each["to"]) for each in found] == [(TRANSACTIONAL, EMAIL)]
    assert STRANGER.client in found[0]["params"]["content"]
    [entry] = [each for each in desk.log("worker.login.locked") if each["target_id"] == milo]
    assert entry["params"]["variables"]["ip"] == STRANGER.client
    desk.store.write(lambda tx: tx.delete(JOB))
    lock(desk, seconds=lockout.WINDOW_SECONDS)
    assert jobs(desk, LOCKED) == []
    lock(desk, seconds=lockout.TOLD_SECONDS)
    assert len(jobs(desk, LOCKED)) == 1


def test_an_unknown_name_notifies_no_one(desk: Desk, milo: int) -> None:
    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
        with pytest.raises(NotAuthenticated):
            sign_in.by_password(at(desk), "nobody@desk.example", PASSWORD, STRANGER)
    assert jobs(desk, LOCKED) == []


def test_reset_links_requested_by_others_block_no_one_and_do_not_flood_a_mailbox(desk: Desk, milo: int) -> None:
    made = 0
    for number in range(3):
        for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
            password_change.ask_for_link(at(desk), EMAIL, Peer(f"198.51.100.{number}", ""))
            made += len(jobs(desk, password_change.KIND))
            desk.store.write(lambda tx: tx.delete(JOB))
        with pytest.raises(TooMany):
            password_change.ask_for_link(at(desk), EMAIL, Peer(f"198.51.100.{number}", ""))
    assert made == lockout.MAX_WRONG_OF_ACCOUNT
    password_change.ask_for_link(at(desk), EMAIL, HOME)  # the response is the usual one; the last mailed link works


@pytest.mark.parametrize(
    ("clients", "proxies", "is_warned"),
    [
        (("10.0.0.1", "10.0.0.1", "10.0.0.1"), (), True),
        (("127.0.0.1", "127.0.0.1", "127.0.0.1"), (), True),
        (("10.0.0.1", "10.0.0.1", "10.0.0.1"), ("10.0.0.1",), False),
        (("10.0.0.1", "10.0.0.1", "10.0.0.2"), (), False),
        (("10.0.0.1", "10.0.0.1"), (), False),
        (("8.8.8.8", "8.8.8.8", "8.8.8.8"), (), False),
    ],
)
def test_a_private_address_shared_by_everyone_is_logged_as_a_warning(
    desk: Desk, clients: tuple[str, ...], proxies: tuple[str, ...], is_warned: bool
) -> None:
    workers = [desk.worker(f"W{number}", email=f"w{number}@desk.example") for number in range(len(clients))]
    span = sessions.Lifetime(3600, 3600)

    def write(tx: Transaction) -> None:
        tx.delete(sessions.SESSION)
        for worker, client in zip(workers, clients, strict=True):
            sessions.create(tx, worker, NOW, span, "", client)

    desk.store.write(write)
    service = replace(desk.service, settings=desk.service.settings.replace(trusted_proxies=proxies))
    found = list(checkup.of_clients(service, NOW))
    assert [each.state for each in found] == (["warning"] if is_warned else [])
    for worker in workers:
        desk.delete("worker", worker)
