"""Passkeys without a browser, by an authenticator in software that can lie, with a clock that the tests move."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from fido2.utils import websafe_encode

from server.access import lockout, passkeys, second_factor, sessions, totp, webauthn
from server.context import Context
from server.errors import Conflict, HelpdeskError, Invalid, NotAuthenticated, NotFound, TooMany
from server.jobs.job_queue import JOB
from server.sign_in import own_passkeys, passkey_notice, passkey_sign_in, sign_in, sign_in_administration
from server.sign_in.sign_in import NewSession, Peer
from tests.access.authenticator import PRESENT, VERIFIED, Authenticator, with_garbage
from tests.records.desk import NOW, Desk

PASSWORD = "correct horse battery"
PEER = Peer("203.0.113.7", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
ORIGIN = "https://desk.example"
VISIT = "the cookie of a visit"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    made = Desk(tmp_path_factory.mktemp("passkeys"))
    made.service.move(ORIGIN)
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
    desk.store.write(lambda tx: tx.delete(passkeys.CHALLENGE))


def by(desk: Desk, id: int, seconds: int = 0) -> Context:
    return replace(desk.context(id), now=NOW + seconds)


def service(desk: Desk, seconds: int = 0) -> Context:
    return replace(desk.context(), now=NOW + seconds)


def registered(desk: Desk, id: int, name: str = "Laptop", **options: Any) -> Authenticator:
    device = Authenticator(ORIGIN, **options)
    created = device.create(own_passkeys.creation_options(by(desk, id), "session", PEER))
    own_passkeys.add(by(desk, id), "session", name, created, PEER)
    return device


def options(desk: Desk, seconds: int = 0, owner: str = VISIT) -> dict[str, Any]:
    return passkey_sign_in.sign_in_options(service(desk, seconds), owner, PEER)


def enter(desk: Desk, text: str, seconds: int = 0, owner: str = VISIT, **more: Any) -> NewSession:
    return passkey_sign_in.by_passkey(service(desk, seconds), text, owner, PEER, **more)


def session(desk: Desk, id: str, seconds: int = 0) -> sessions.Session:
    valid = desk.read(lambda tx: sessions.check(tx, id, NOW + seconds))
    assert valid is not None
    return valid


def waiting(desk: Desk) -> sessions.Session:
    started = sign_in.by_password(service(desk), "milo@desk.example", PASSWORD, PEER)
    assert started.waits_for_code
    return session(desk, started.session_id)


def test_a_passkey_signs_in_without_a_password(desk: Desk, milo: int) -> None:
    device = registered(desk, milo)
    started = enter(desk, device.sign(options(desk)), 5, is_remembered=True)
    valid = session(desk, started.session_id)
    assert (valid.actor.worker_id, valid.waits_for_code, bool(started.known)) == (milo, False, True)
    assert valid.is_stepped_up(NOW + 5) and valid.idle_seconds == sign_in.lifetime(desk.service, True).most
    [stored] = own_passkeys.list_own(by(desk, milo))
    assert (stored.sign_count, stored.last_used_at, stored.transports) == (1, NOW + 5, ("hybrid", "internal"))
    assert stored.signs_in_alone and desk.log("worker.logged_in")[-1]["target_id"] == milo
    handle = desk.read(lambda tx: passkeys.handle(tx, milo))
    assert handle == device.handle and len(handle) >= 43
    assert sign_in.by_password(service(desk), "milo@desk.example", PASSWORD, PEER).waits_for_code


Lie = Callable[[Authenticator, dict[str, Any]], dict[str, Any]]
LIES: dict[str, Lie] = {
    "another origin": lambda device, asked: {"origin": "https://desk.example.evil"},
    "a port in the origin": lambda device, asked: {"origin": f"{ORIGIN}:8443"},
    "plain http": lambda device, asked: {"origin": "http://desk.example"},
    "a subdomain": lambda device, asked: {"origin": "https://evil.desk.example"},
    "a frame of another site": lambda device, asked: {"cross_origin": True},
    "another relying party": lambda device, asked: {"rp_id": "evil.example"},
    "another challenge": lambda device, asked: {"challenge": websafe_encode(bytes(32))},
    "no challenge": lambda device, asked: {"challenge": ""},
    "another type": lambda device, asked: {"type": "webauthn.create"},
    "no verification": lambda device, asked: {"flags": PRESENT},
    "no presence": lambda device, asked: {"flags": VERIFIED},
    "another credential": lambda device, asked: {"id": bytes(32)},
    "the handle of somebody else": lambda device, asked: {"handle": websafe_encode(b"nora" * 8)},
    "another signature": lambda device, asked: {"signature": b"0" * 70},
    "no signature": lambda device, asked: {"signature": b""},
    "the same counter": lambda device, asked: {"count": 1},
    "a lower counter": lambda device, asked: {"count": 0},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_lie_signs_nobody_in(desk: Desk, milo: int, lie: Lie) -> None:
    device = registered(desk, milo)
    enter(desk, device.sign(options(desk)))
    before = desk.read(lambda tx: tx.find(sessions.SESSION))
    asked = options(desk)
    with pytest.raises(NotAuthenticated):
        enter(desk, device.sign(asked, **lie(device, asked)))
    assert desk.read(lambda tx: tx.find(sessions.SESSION)) == before
    device.count = 5
    assert enter(desk, device.sign(options(desk)))  # the same device still signs in


def test_damaged_responses_are_refused(desk: Desk, milo: int) -> None:
    device = registered(desk, milo)
    for text in with_garbage(device.sign(options(desk))):
        with pytest.raises(NotAuthenticated):
            enter(desk, text)
        desk.store.write(lambda tx: tx.delete(lockout.ATTEMPT))
    other = Authenticator(ORIGIN)
    for text in with_garbage(other.create(own_passkeys.creation_options(by(desk, milo), "session", PEER))):
        with pytest.raises(NotAuthenticated):
            own_passkeys.add(by(desk, milo), "session", "Phone", text, PEER)
    assert len(own_passkeys.list_own(by(desk, milo))) == 1


def test_a_challenge_works_once_for_five_minutes_and_only_for_its_cookie_and_purpose(desk: Desk, milo: int) -> None:
    device = registered(desk, milo)
    text = device.sign(options(desk))
    with pytest.raises(NotAuthenticated, match="took too long"):
        enter(desk, text, owner="another cookie")
    assert enter(desk, text)  # nobody else can use it up
    for late, seconds in ((text, 0), (device.sign(options(desk)), webauthn.TIMEOUT_SECONDS)):
        with pytest.raises(NotAuthenticated, match="took too long"):
            enter(desk, late, seconds)
    half = waiting(desk)
    asked = passkey_sign_in.factor_options(service(desk), half, VISIT, PEER)
    with pytest.raises(NotAuthenticated, match="took too long"):
        enter(desk, device.sign(asked))
    failing = options(desk)
    with pytest.raises(NotAuthenticated, match="does not sign you in"):
        enter(desk, device.sign(failing, signature=b"x"))
    with pytest.raises(NotAuthenticated, match="took too long"):
        enter(desk, device.sign(failing))  # the failure has used it up


def test_open_challenges_of_an_address_are_limited_and_removed(desk: Desk, milo: int) -> None:
    for _ in range(passkeys.MAX_CHALLENGES):
        options(desk)
    with pytest.raises(TooMany):
        options(desk)
    elsewhere = replace(PEER, client="203.0.113.8")
    assert passkey_sign_in.sign_in_options(service(desk), VISIT, elsewhere)
    sign_in.forget_over(desk.service, NOW + webauthn.TIMEOUT_SECONDS)
    assert desk.read(lambda tx: tx.find(passkeys.CHALLENGE)) == []
    assert options(desk)


def test_the_options_and_the_refusal_do_not_say_who_has_a_passkey(desk: Desk, milo: int) -> None:
    before = {**options(desk), "challenge": ""}
    device = registered(desk, milo)
    assert {**options(desk), "challenge": ""} == before and "allowCredentials" not in before
    stranger = Authenticator(ORIGIN)
    messages = set()
    for sent in (stranger.sign(options(desk), handle=device.handle), device.sign(options(desk), signature=b"x")):
        with pytest.raises(NotAuthenticated) as refusal:
            enter(desk, sent)
        messages.add(refusal.value.message)
    for field in ("is_disabled", "is_password_disabled"):
        desk.update("worker", milo, **{field: 1})
        with pytest.raises(NotAuthenticated) as refusal:
            enter(desk, device.sign(options(desk)))
        messages.add(refusal.value.message)
        desk.update("worker", milo, **{field: 0})
    assert len(messages) == 1


def test_wrong_passkeys_are_counted_like_wrong_passwords(desk: Desk, milo: int) -> None:
    device = registered(desk, milo)
    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
        with pytest.raises(NotAuthenticated):
            enter(desk, device.sign(options(desk), signature=b"x"))
    with pytest.raises(TooMany):
        enter(desk, device.sign(options(desk)))
    assert sign_in.by_password(service(desk), "milo@desk.example", PASSWORD, PEER)  # passwords have their own count
    assert enter(desk, device.sign(options(desk, lockout.WINDOW_SECONDS)), lockout.WINDOW_SECONDS)


def test_wrong_passkeys_after_the_password_lock_the_account_and_notify_its_owner(desk: Desk, milo: int) -> None:
    device, half = registered(desk, milo), waiting(desk)

    def factor(**lies: Any) -> NewSession:
        asked = passkey_sign_in.factor_options(service(desk), half, "half", PEER)
        return passkey_sign_in.as_second_factor(service(desk), half, device.sign(asked, **lies), "half", PEER)

    for _ in range(lockout.MAX_WRONG_OF_ACCOUNT):
        with pytest.raises(NotAuthenticated):
            factor(signature=b"x")
    with pytest.raises(TooMany):
        factor()
    assert desk.log("worker.login.locked")[-1]["target_id"] == milo
    assert len(desk.read(lambda tx: tx.find(JOB, kind=sign_in.LOCKED))) == 1


def test_an_automation_can_refuse_a_passkey_and_the_event_is_published(
    desk: Desk, milo: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, seen = registered(desk, milo), []

    def results(ctx: Context, event: str, values: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
        seen.append((event, values()["client_ip"]))
        return [{"deny": "not at night"}]

    monkeypatch.setattr(sign_in.event_publishing, "automation_results", results)
    with pytest.raises(HelpdeskError, match="not at night"):
        enter(desk, device.sign(options(desk)))
    assert seen == [("worker.authenticated", PEER.client)]


def test_a_passkey_is_a_second_factor_even_without_verification(desk: Desk, milo: int) -> None:
    device = registered(desk, milo, is_verifying=False, count=None)
    half = waiting(desk)
    asked = passkey_sign_in.factor_options(service(desk), half, "half", PEER)
    assert [each["id"] for each in asked["allowCredentials"]] == [websafe_encode(device.id)]
    assert asked["userVerification"] == "discouraged"
    started = passkey_sign_in.as_second_factor(service(desk), half, device.sign(asked), "half", PEER)
    full = session(desk, started.session_id)
    assert not full.waits_for_code and len(desk.read(lambda tx: tx.find(sessions.SESSION, worker_id=milo))) == 1
    with pytest.raises(NotAuthenticated):
        enter(desk, device.sign(options(desk)))  # alone, it is not enough
    assert passkey_sign_in.origin(desk.service, milo, is_to_confirm=True) == ""
    asked = passkey_sign_in.confirm_options(service(desk), full, "full", PEER)
    with pytest.raises(NotAuthenticated):
        passkey_sign_in.step_up(service(desk), full, device.sign(asked), "full", PEER)


def test_the_passkey_of_somebody_else_is_no_second_factor_and_confirms_nothing(desk: Desk, milo: int) -> None:
    registered(desk, milo)
    ida = desk.worker("Ida", password=PASSWORD)
    theirs, half = registered(desk, ida), waiting(desk)
    asked = passkey_sign_in.factor_options(service(desk), half, "half", PEER)
    with pytest.raises(NotAuthenticated, match="not accepted"):
        passkey_sign_in.as_second_factor(service(desk), half, theirs.sign(asked), "half", PEER)
    asked = passkey_sign_in.confirm_options(service(desk), half, "half", PEER)
    with pytest.raises(NotAuthenticated, match="not accepted"):
        passkey_sign_in.step_up(service(desk), half, theirs.sign(asked), "half", PEER)
    desk.delete("worker", ida)
    assert desk.read(lambda tx: tx.find(passkeys.PASSKEY, worker_id=ida)) == []


def test_a_passkey_confirms_and_renews_the_session(desk: Desk, milo: int) -> None:
    device = registered(desk, milo)
    started = enter(desk, device.sign(options(desk)))
    late = sessions.STEP_UP_SECONDS
    valid = session(desk, started.session_id, late)
    assert not valid.is_stepped_up(NOW + late)
    asked = passkey_sign_in.confirm_options(service(desk, late), valid, "full", PEER)
    renewed = passkey_sign_in.step_up(service(desk, late), valid, device.sign(asked), "full", PEER)
    assert session(desk, renewed, late).is_stepped_up(NOW + late)
    assert desk.read(lambda tx: sessions.check(tx, started.session_id, NOW + late)) is None


def test_a_copied_passkey_is_refused_logged_and_mailed(desk: Desk, milo: int) -> None:
    device = registered(desk, milo, "Old key", count=9)
    enter(desk, device.sign(options(desk)))
    mails = len(notices(desk))
    with pytest.raises(NotAuthenticated, match="may be a copy"):
        enter(desk, device.sign(options(desk), count=4))
    assert len(notices(desk)) == mails + 1 and '"copied"' in notices(desk)[-1]
    assert desk.log("worker.passkey.refused")[-1]["params"]["variables"]["passkey"] == "Old key"


def notices(desk: Desk) -> list[str]:
    return [str(row) for row in desk.read(lambda tx: tx.find(JOB, kind=passkey_notice.NOTICE))]


def test_the_first_passkey_brings_recovery_codes_which_work_without_an_app(desk: Desk, milo: int) -> None:
    device, ctx = Authenticator(ORIGIN), by(desk, milo)
    codes = own_passkeys.add(
        ctx, "s", " My   laptop ", device.create(own_passkeys.creation_options(ctx, "s", PEER)), PEER
    )
    assert len(codes) == second_factor.RECOVERY_CODES
    assert own_passkeys.list_own(ctx)[0].name == "My laptop"
    assert not sign_in.by_code(service(desk), waiting(desk), codes[0], PEER).waits_for_code
    with pytest.raises(NotAuthenticated):
        sign_in.by_code(service(desk), waiting(desk), "000000", PEER)
    other = Authenticator(ORIGIN)
    assert own_passkeys.add(ctx, "s", "Key", other.create(own_passkeys.creation_options(ctx, "s", PEER)), PEER) == []
    sign_in.turn_on_code(ctx, SECRET, totp.code(SECRET, NOW // 30))
    sign_in.turn_off_code(ctx)
    assert desk.read(lambda tx: second_factor.recovery_codes_left(tx, milo)) == 10  # passkeys still need them
    for each in own_passkeys.list_own(ctx):
        own_passkeys.remove(ctx, each.id, PEER)
    assert desk.read(lambda tx: second_factor.recovery_codes_left(tx, milo)) == 0
    assert not sign_in.by_password(service(desk), "milo@desk.example", PASSWORD, PEER).waits_for_code


@pytest.mark.parametrize("lie", [
    {"origin": "https://evil.example"}, {"rp_id": "evil.example"}, {"algorithm": -65535}, {"id": bytes(32)},
    {"challenge": websafe_encode(bytes(32))}, {"type": "webauthn.get"}, {"cross_origin": True},
], ids=str)  # fmt: skip
def test_a_lie_registers_nothing(desk: Desk, milo: int, lie: dict[str, Any]) -> None:
    ctx = by(desk, milo)
    created = Authenticator(ORIGIN).create(own_passkeys.creation_options(ctx, "s", PEER), **lie)
    with pytest.raises(NotAuthenticated):
        own_passkeys.add(ctx, "s", "Laptop", created, PEER)
    assert own_passkeys.list_own(ctx) == []


def test_a_passkey_is_registered_once_and_belongs_to_its_worker(desk: Desk, milo: int) -> None:
    device, ctx, nora = registered(desk, milo), by(desk, milo), by(desk, desk.worker("Nella"))
    again = device.create(own_passkeys.creation_options(nora, "s", PEER))
    with pytest.raises(Conflict, match="already in use"):
        own_passkeys.add(nora, "s", "Stolen", again, PEER)
    [stored] = own_passkeys.list_own(ctx)
    for act in (
        lambda: own_passkeys.remove(nora, stored.id, PEER),
        lambda: own_passkeys.rename(nora, stored.id, "Mine"),
    ):
        with pytest.raises(NotFound):
            act()
    for name in ("", " ", "x" * 61, "a\x00b", "a\u202eb"):
        with pytest.raises(Invalid):
            own_passkeys.rename(ctx, stored.id, name)
    assert own_passkeys.rename(ctx, stored.id, "Phone") == "Laptop"
    own_passkeys.remove(ctx, stored.id, PEER)
    acts = [each for each in desk.acts() if "passkey" in each]
    assert acts[-3:] == [
        "Milo added the passkey Laptop of Milo",
        "Milo renamed the passkey Laptop of Milo to Phone",
        "Milo removed the passkey Phone of Milo",
    ]
    assert ['"added"' in notices(desk)[-2], '"removed"' in notices(desk)[-1]] == [True, True]


def test_a_worker_has_a_limited_number_of_passkeys(desk: Desk, milo: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passkeys, "MAX_PASSKEYS", 1)
    registered(desk, milo)
    with pytest.raises(Conflict, match="as many as possible"):
        own_passkeys.creation_options(by(desk, milo), "s", PEER)


def test_an_administrator_removes_all_factors_of_a_worker(desk: Desk, milo: int) -> None:
    device = registered(desk, milo)
    assert sign_in_administration.signing_in(service(desk), [milo])[milo].has_second_factor
    sign_in_administration.turn_off_second_factor(service(desk), milo)
    assert not sign_in.by_password(service(desk), "milo@desk.example", PASSWORD, PEER).waits_for_code
    with pytest.raises(NotAuthenticated):
        enter(desk, device.sign(options(desk)))
    registered(desk, milo)
    sign_in_administration.recover(service(desk), milo)
    assert own_passkeys.list_own(by(desk, milo)) == []


def test_passkeys_of_a_former_address_no_longer_sign_in_but_stay_a_second_factor(desk: Desk, milo: int) -> None:
    device = registered(desk, milo)
    desk.service.move("https://help.example")
    try:
        with pytest.raises(NotAuthenticated):
            enter(desk, device.sign(options(desk), origin="https://help.example", rp_id="help.example"))
        half = waiting(desk)
        assert passkey_sign_in.usable_passkeys(desk.service, milo) == []
        assert half.waits_for_code
    finally:
        desk.service.move(ORIGIN)


@pytest.mark.parametrize(("address", "reason"), [
    ("https://desk.example", ""), ("http://localhost:8200", ""), ("http://desk.localhost", ""),
    ("http://desk.example", webauthn.NO_HTTPS), ("http://127.0.0.1:8200", webauthn.NO_DOMAIN),
    ("https://203.0.113.7", webauthn.NO_DOMAIN), ("https://[2001:db8::1]:8200", webauthn.NO_DOMAIN),
])  # fmt: skip
def test_passkeys_need_a_domain_and_https(address: str, reason: str) -> None:
    assert webauthn.obstacle(address) == reason


@pytest.mark.parametrize(("address", "origin"), [
    ("https://Desk.example", "https://desk.example"), ("https://desk.example:443/", "https://desk.example"),
    ("http://localhost:8200", "http://localhost:8200"), ("http://localhost:80", "http://localhost"),
])  # fmt: skip
def test_the_origin_is_written_as_browsers_write_it(address: str, origin: str) -> None:
    assert webauthn.relying_party(address).origin == origin
