"""Locking an account is no weapon: devices that are known, and whoever is signed in, are not held up by what others get
wrong; the owner is told, once."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from server.access import known_devices, lockout, second_factor, sessions, totp
from server.context import Context
from server.errors import NotAuthenticated, NotFound, TooMany
from server.jobs.queue import JOB
from server.people import lock_notice, password_change, sign_in
from server.people.sign_in import LOCKED, Peer
from server.record_types.shared.sending import TRANSACTIONAL
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
    """What a worker does to their own way in."""
    return replace(desk.context(id), now=NOW)


def signed_in(desk: Desk, peer: Peer, seconds: int = 0) -> sign_in.NewSession:
    return sign_in.by_password(at(desk, seconds), EMAIL, PASSWORD, peer)


def known(desk: Desk, peer: Peer = HOME) -> Peer:
    """A peer whose device is known from now on."""
    return replace(peer, known=signed_in(desk, peer).known)


def lock(desk: Desk, peer: Peer = STRANGER, seconds: int = 0) -> None:
    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
        with pytest.raises(NotAuthenticated):
            sign_in.by_password(at(desk, seconds), EMAIL, "wrong", peer)


def jobs(desk: Desk, kind: str) -> list[object]:
    desk.store.write(lambda tx: None)  # what was submitted before is written now
    return [row for row in desk.read(lambda tx: tx.find(JOB)) if row[JOB.position["kind"]] == kind]


def devices(desk: Desk, worker_id: int, seconds: int = 0) -> list[known_devices.KnownDevice]:
    return desk.read(lambda tx: known_devices.of_worker(tx, worker_id, NOW + seconds))


def test_who_locks_an_account_locks_out_no_known_device(desk: Desk, milo: int) -> None:
    home = known(desk)
    lock(desk)
    for peer in (STRANGER, Peer("192.0.2.200", ""), replace(STRANGER, known="guessed" * 6)):
        with pytest.raises(TooMany):
            signed_in(desk, peer)
    assert signed_in(desk, home)


def test_an_address_that_is_used_up_holds_up_no_known_device(desk: Desk, milo: int) -> None:
    home = known(desk)
    for number in range(lockout.MAX_WRONG_OF_ADDRESS):
        keys = (lockout.account("password", f"{number}@desk.example"), lockout.address(home.client))
        desk.store.write(lambda tx, keys=keys: lockout.count(tx, keys, NOW))
    with pytest.raises(TooMany):
        signed_in(desk, HOME)
    assert signed_in(desk, home)


def test_a_known_device_has_ten_attempts_of_its_own_and_takes_none_of_others(desk: Desk, milo: int) -> None:
    home = known(desk)
    lock(desk, home)
    with pytest.raises(TooMany):
        signed_in(desk, home)
    assert signed_in(desk, STRANGER) and not jobs(desk, LOCKED)
    assert signed_in(desk, home, lockout.WINDOW_SECONDS)


def test_a_device_is_known_for_those_alone_who_signed_in_there(desk: Desk, milo: int) -> None:
    foreign = sign_in.by_password(at(desk), "nora@desk.example", PASSWORD, HOME).known
    lock(desk)
    with pytest.raises(TooMany):
        signed_in(desk, replace(HOME, known=foreign))


def test_the_id_is_renewed_for_all_who_share_a_browser_and_in_no_row(desk: Desk, milo: int) -> None:
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


def test_nobody_forgets_a_device_of_somebody_else(desk: Desk, milo: int) -> None:
    known(desk)
    with pytest.raises(NotFound):
        sign_in.forget_device(by(desk, desk.worker("Olga")), devices(desk, milo)[0].id)


def test_the_device_that_changes_the_password_stays_known_and_no_other(desk: Desk, milo: int) -> None:
    other, home = known(desk, STRANGER), known(desk)
    made = signed_in(desk, home)
    home = replace(home, known=made.known)
    session = desk.read(lambda tx: sessions.check(tx, made.session_id, NOW))
    assert session is not None
    password_change.change(at(desk), session, PASSWORD, PASSWORD + "!", home)
    assert [
        bool(desk.read(lambda tx, each=each: known_devices.find(tx, milo, each.known, NOW))) for each in (home, other)
    ] == [True, False]


def test_a_worker_has_so_many_devices(desk: Desk, milo: int) -> None:
    for _ in range(known_devices.MAX_DEVICES + 2):
        signed_in(desk, HOME)
    assert len(devices(desk, milo)) == known_devices.MAX_DEVICES


def test_a_running_session_gives_its_proof_whatever_others_got_wrong(desk: Desk, milo: int) -> None:
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


def test_the_owner_is_told_by_mail_once_a_day(desk: Desk, milo: int) -> None:
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


def test_a_name_that_nobody_has_is_told_to_nobody(desk: Desk, milo: int) -> None:
    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
        with pytest.raises(NotAuthenticated):
            sign_in.by_password(at(desk), "nobody@desk.example", PASSWORD, STRANGER)
    assert jobs(desk, LOCKED) == []


def test_links_that_others_ask_for_hold_up_nobody_and_fill_no_mailbox(desk: Desk, milo: int) -> None:
    made = 0
    for number in range(3):
        for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
            password_change.ask_for_link(at(desk), EMAIL, Peer(f"198.51.100.{number}", ""))
            made += len(jobs(desk, password_change.KIND))
            desk.store.write(lambda tx: tx.delete(JOB))
        with pytest.raises(TooMany):
            password_change.ask_for_link(at(desk), EMAIL, Peer(f"198.51.100.{number}", ""))
    assert made == lockout.MAX_WRONG_OF_ACCOUNT
    password_change.ask_for_link(at(desk), EMAIL, HOME)  # it is answered as ever; the link that was mailed last works


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
def test_one_private_address_for_everybody_is_warned_of(
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
