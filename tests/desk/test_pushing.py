"""Notifications on devices: content, choice, quiet hours, retries, and the end with the session."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.access import push_devices, sessions
from server.access.push_devices import PushDevice
from server.access.sessions import Lifetime, Session
from server.contexts import TICKET
from server.errors import AdminOnly, Conflict, Invalid, NotFound, Rejected, TooMany
from server.notifying import notified_devices, pushing, quiet_hours
from server.outbound import connection, web_push
from server.records import activity, notification_push, records
from server.records.notification_mail import KINDS
from server.records.notification_push import TO_PUSH
from server.sign_in import password_change, sign_in, sign_in_administration
from server.sign_in.sign_in import Peer as Client
from tests.desk.conftest import BASE_URL, Post
from tests.outbound.peer import Peer
from tests.push_service import AGENT, FakeBrowser, PushService, point_of
from tests.smtp_server import CERTIFICATE

JOBS = (pushing.send_waiting, pushing.send_test)  # importing the module registers the jobs
DAY, HOUR = 86_400, 3_600
PEER = Client("192.0.2.7", AGENT, "")
names = pytest.mark.parametrize


class Phone:
    """A desk, a push service, and milo's phone, which is notified."""

    def __init__(self, desk: Post, push: PushService) -> None:
        self.desk, self.push = desk, push
        self.browser = push.browser("phone")
        self.id = self.turn_on(self.browser)
        self.ticket = desk.create("ticket", subject="Boat", group_id=desk.support, owner_id=desk.milo)
        self.settle()

    def session(self, worker_id: int = 0) -> Session:
        """Signs a worker in."""
        worker_id, now = worker_id or self.desk.milo, self.desk.now

        def write(writing: Any) -> Session:
            text = sessions.create(writing.tx, worker_id, now, Lifetime(2 * DAY, 30 * DAY), AGENT, "192.0.2.7")
            session = sessions.check(writing.tx, text, now)
            assert session is not None
            return session

        return self.desk.write(write)

    def turn_on(self, browser: FakeBrowser, session: Session | None = None, **changes: str) -> int:
        session = session or self.session()
        self.last_session = session
        fields = browser.fields | changes
        ctx = self.desk.context(session.actor.worker_id)
        return notified_devices.turn_on(ctx, session, fields["endpoint"], fields["p256dh"], fields["auth"], PEER)

    def notify(self, *texts: str, kind: str = "assigned", context: str = TICKET, worker_id: int = 0) -> None:
        """Raises notifications of milo, in one transaction each."""
        to, target = worker_id or self.desk.milo, self.ticket if context else 0

        def write(writing: Any, text: str) -> None:
            params = {"message": "{{actor}} says {{text}}", "variables": {"actor": "Nora", "text": text}, "urls": {}}
            activity.notify(writing, to, "custom.other", context, target, params, kind)

        for text in texts:
            self.desk.write(lambda writing, text=text: write(writing, text))

    def settle(self, seconds: int = 0) -> list[dict[str, Any]]:
        """Runs due jobs; returns the notifications that browsers received."""
        self.desk.run_due(seconds)
        return [each.shown for each in self.push.take()]

    def bodies(self, seconds: int = 0) -> list[str]:
        return [each["body"] for each in self.settle(seconds)]

    @property
    def device(self) -> PushDevice | None:
        return self.desk.read(lambda tx: push_devices.find(tx, self.id))

    @property
    def error(self) -> str:
        assert self.device is not None
        return self.device.error

    def waiting(self) -> int:
        return len(self.desk.read(lambda tx: tx.find(TO_PUSH)))


@pytest.fixture
def phone(desk: Post, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Phone]:
    trusted = tmp_path / "trusted.pem"
    trusted.write_text(CERTIFICATE)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    connection.tls_context.cache_clear()
    desk.set(outbound_allow=("localhost",))
    with Peer(is_tls=True) as peer:
        yield Phone(desk, PushService(peer))
    connection.tls_context.cache_clear()


# -- what is sent ------------------------------------------------------------------------------------------------------


def test_a_push_says_what_the_bell_says_and_opens_the_notification(phone: Phone) -> None:
    phone.notify("Übergabe")
    phone.desk.run_due()
    [message] = phone.push.take()
    [notification] = [each for each in phone.desk.all("notification") if "Übergabe" in str(each["params"])]
    mask = phone.desk.ticket(phone.ticket)["mask"]
    path = f"/notifications/{notification['id']}"
    assert message.shown["body"] == "Nora says Übergabe" and message.shown["title"] == "Helpdesk"
    assert message.shown["navigate"] == f"{BASE_URL}{path}"
    assert message.shown["data"] == {"path": path, "page": f"/tickets/{mask}"}
    unread = [each for each in phone.desk.all("notification", worker_id=phone.desk.milo) if not each["is_read"]]
    assert message.badge == str(len(unread))
    assert message.headers["ttl"] == str(notification_push.KEPT_SECONDS) and message.headers["urgency"] == "normal"
    assert (len(message.payload) + message.zeros) % web_push.PADDED_BYTES == 0
    assert message.claims["sub"] == BASE_URL
    assert phone.desk.now < message.claims["exp"] <= phone.desk.now + DAY
    assert phone.device is not None and phone.device.used_at == phone.desk.now


def test_a_customers_message_reaches_the_phone_without_its_text(phone: Phone) -> None:
    phone.desk.add_requester(phone.ticket, "ann@kite.example")
    phone.desk.received(phone.ticket)
    params = {"message": "{{actor}} wrote on Boat", "variables": {"actor": "ann@kite.example"}, "urls": {}}
    phone.desk.write(
        lambda writing: activity.notify(
            writing, phone.desk.milo, "ticket.message.inbound", TICKET, phone.ticket, params
        )
    )
    [shown] = phone.settle()
    assert shown["body"] == "ann@kite.example wrote on Boat" and "leaks" not in str(shown)


def test_news_of_one_ticket_replace_each_other(phone: Phone) -> None:
    phone.notify("one", "two")
    phone.desk.run_due()
    [message] = phone.push.take()
    phone.notify("three")
    phone.desk.run_due()
    [later] = phone.push.take()
    assert (message.shown["body"], later.shown["body"]) == ("Nora says two", "Nora says three")
    assert message.shown["tag"] == later.shown["tag"]
    assert message.headers["topic"] == later.headers["topic"] and len(message.headers["topic"]) == 32
    other = phone.desk.create("ticket", subject="Sail", group_id=phone.desk.support, owner_id=phone.desk.milo)
    phone.ticket = other
    phone.notify("four")
    phone.desk.run_due()
    topics = {each.headers["topic"] for each in phone.push.take()}
    assert topics and message.headers["topic"] not in topics


def test_urgency_follows_the_kind(phone: Phone) -> None:
    notified_devices.choose_kinds(phone.desk.context(phone.desk.milo), phone.id, KINDS)
    for kind, urgency in (("due", "high"), ("message", "normal"), ("other", "low")):
        phone.notify(kind, kind=kind)
        phone.desk.run_due()
        assert [each.headers["urgency"] for each in phone.push.take()] == [urgency]


def test_many_notifications_are_one_push(phone: Phone) -> None:
    phone.notify(*(f"text {number}" for number in range(pushing.MAX_MESSAGES + 1)), context="")
    [shown] = phone.settle()
    assert shown["body"] == f"{pushing.MAX_MESSAGES + 1} notifications" and shown["data"]["path"] == "/notifications"
    phone.notify("a", "b", context="")
    phone.desk.run_due()
    messages = phone.push.take()
    assert [each.shown["body"] for each in messages] == ["Nora says a", "Nora says b"]
    assert all("topic" not in each.headers for each in messages)


def test_what_happens_while_a_push_is_sent_is_sent_next(phone: Phone) -> None:
    accept, path = phone.push.peer.answers["/push/phone"], "/push/phone"

    def accept_and_notify(asked: Any) -> Any:
        phone.push.peer.answers[path] = accept
        phone.notify("second", context="")
        assert callable(accept)
        return accept(asked)

    phone.push.peer.answers[path] = accept_and_notify
    phone.notify("first", context="")
    assert phone.bodies() == ["Nora says first", "Nora says second"] and phone.waiting() == 0


def test_a_long_sentence_fits(phone: Phone) -> None:
    phone.notify("𝕬" * 5_000)
    phone.desk.run_due()
    [message] = phone.push.take()
    assert message.shown["body"].endswith("𝕬 …") and len(message.payload) <= web_push.MAX_PAYLOAD_BYTES


# -- what is not sent --------------------------------------------------------------------------------------------------


def test_a_device_shows_only_what_was_chosen_for_it(phone: Phone) -> None:
    phone.notify("not by default", kind="other")
    assert phone.settle() == [] and phone.waiting() == 0
    tablet = phone.push.browser("tablet")
    phone.turn_on(tablet)
    context = phone.desk.context(phone.desk.milo)
    assert notified_devices.choose_kinds(context, phone.id, ["other"]) == notification_push.DEFAULT_KINDS
    phone.notify("for the tablet")
    phone.notify("for the phone", kind="other")
    phone.desk.run_due()
    assert [(path, each.shown["body"]) for path, each in sorted(phone.push.messages, key=lambda each: each[0])] == [
        ("/push/phone", "Nora says for the phone"),
        ("/push/tablet", "Nora says for the tablet"),
    ]
    with pytest.raises(Invalid, match="Choose some of"):
        notified_devices.choose_kinds(context, phone.id, ["nosuch"])


def test_what_is_read_or_out_of_reach_by_then_is_not_sent(phone: Phone) -> None:
    phone.notify("read")
    for each in phone.desk.all("notification", worker_id=phone.desk.milo):
        phone.desk.update("notification", each["id"], is_read=1)
    assert phone.settle() == [] and phone.waiting() == 0
    hidden = phone.desk.create("group", name="Hidden", is_private=1)
    phone.notify("of another group")
    phone.desk.update("ticket", phone.ticket, group_id=hidden, owner_id=phone.desk.nora)
    assert phone.bodies() == [] and phone.waiting() == 0


def test_quiet_hours_hold_by_the_workers_clock(phone: Phone) -> None:
    """It is 15:04 in UTC, and 16:04 in Berlin."""
    phone.desk.update("worker", phone.desk.milo, timezone="Europe/Berlin")
    context = phone.desk.context(phone.desk.milo)
    quiet_hours.choose(context, True, "16:00", "07:30", ())
    phone.notify("held back")
    assert phone.settle() == [] and phone.waiting() == 0
    assert phone.bodies(15 * HOUR) == []  # 07:04 on the next day
    phone.notify("still quiet")
    assert phone.bodies() == []
    phone.desk.now += HOUR
    phone.notify("awake")
    assert phone.bodies() == ["Nora says awake"]
    quiet_hours.choose(context, False, "16:00", "07:30", ["5"])  # Saturday, as it is now
    phone.notify("whole day")
    assert phone.bodies() == []
    assert len(phone.desk.all("notification", worker_id=phone.desk.milo)) >= 4  # the bell has all of them


@names(
    ("fields", "field"),
    [
        ((True, "24:00", "7:00", ()), "quiet_from"),
        ((True, "20:00", "", ()), "quiet_until"),
        ((True, "20:00", "20:00", ()), "quiet_until"),
        ((False, "20:00", "7:00", ["7"]), "quiet_days"),
    ],
)
def test_wrong_quiet_hours_are_refused(phone: Phone, fields: Any, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        quiet_hours.choose(phone.desk.context(phone.desk.milo), *fields)
    assert caught.value.details["field"] == field


def test_push_can_be_switched_off(phone: Phone) -> None:
    phone.notify("waits")
    phone.desk.set(push=False)
    assert phone.settle() == [] and phone.waiting() == 0
    phone.notify("not even held")
    assert phone.waiting() == 0
    context = phone.desk.context(phone.desk.milo)
    assert notified_devices.server_key(phone.desk.service) == ""
    for act in (lambda: notified_devices.test(context, phone.id), lambda: phone.turn_on(phone.push.browser("late"))):
        with pytest.raises(Conflict, match="switched off"):
            act()


# -- failures ----------------------------------------------------------------------------------------------------------


@names("status", [404, 410])
def test_a_device_that_the_push_service_does_not_know_any_more_is_removed(phone: Phone, status: int) -> None:
    phone.push.status = status
    phone.notify("gone")
    phone.desk.run_due()
    assert phone.device is None and phone.waiting() == 0


def test_a_busy_push_service_is_asked_again_when_it_says(phone: Phone) -> None:
    phone.push.status, phone.push.headers = 429, {"retry-after": "5000"}
    phone.notify("patience")
    assert phone.bodies() == ["Nora says patience"]
    assert (
        phone.error.startswith("429") and phone.device is not None and phone.device.resume_at == phone.desk.now + 5000
    )
    phone.notify("later")
    assert phone.bodies(4_900) == []
    phone.push.status, phone.push.headers = 201, {}
    assert phone.bodies(200) == ["Nora says later"]  # both are about one ticket
    assert phone.error == "" and phone.waiting() == 0


def test_attempts_end(phone: Phone) -> None:
    phone.push.status = 503
    phone.notify("in vain")
    attempts = 0
    for _ in range(12):
        attempts += len(phone.settle(2 * HOUR))
    assert attempts == pushing.MAX_ATTEMPTS and phone.waiting() == 0
    phone.push.status = 201
    phone.notify("in time")
    assert phone.bodies(2 * HOUR) == ["Nora says in time"] and phone.error == ""


def test_what_is_too_old_is_left_out(phone: Phone) -> None:
    phone.push.status, phone.push.headers = 503, {"retry-after": str(DAY)}
    phone.notify("old")
    assert phone.bodies() == ["Nora says old"]
    phone.push.status = 201
    assert phone.bodies(DAY + 60) == [] and phone.waiting() == 0


def test_a_device_that_only_fails_is_removed(phone: Phone) -> None:
    phone.push.status = 400
    session_lives = 30 * DAY
    for _ in range(push_devices.FAILING_SECONDS // DAY + 1):
        phone.notify("refused")
        phone.desk.write(lambda writing: sessions.seen(writing.tx, phone.last_session.id, phone.desk.now, ""))
        phone.settle()
        phone.desk.now += DAY
    assert phone.device is None and phone.desk.now < phone.last_session.created_at + session_lives


def test_a_refusal_is_not_repeated(phone: Phone) -> None:
    phone.push.status = 403
    phone.notify("wrong key")
    assert phone.bodies() == ["Nora says wrong key"]
    assert phone.error.startswith("403") and phone.bodies(DAY // 2) == [] and phone.waiting() == 0


def test_an_address_inside_is_never_asked(phone: Phone) -> None:
    phone.desk.set(outbound_allow=())
    phone.notify("inside")
    phone.desk.run_due()
    assert phone.push.peer.connections == 0 and "not on the public internet" in phone.error and phone.waiting() == 0


def test_a_redirect_is_not_followed_and_a_long_response_is_cut(phone: Phone) -> None:
    phone.push.status, phone.push.headers = 307, {"location": phone.push.peer.url("/inside", "localhost")}
    phone.notify("elsewhere")
    phone.desk.run_due()
    assert [each.target for each in phone.push.peer.asked] == ["/push/phone"] and phone.error.startswith("307")
    endless = b"HTTP/1.1 500 No\r\n\r\n" + b"<b>x" * 100_000
    phone.push.peer.answers["/push/phone"] = endless
    phone.notify("chatty")
    phone.desk.run_due(HOUR)
    assert phone.error.startswith("500 No") and len(phone.error) <= push_devices.MAX_ERROR_CHARS


# -- the end with the session ------------------------------------------------------------------------------------------


def _by_sign_out(phone: Phone) -> None:
    sign_in.sign_out(phone.desk.context(phone.desk.milo), phone.last_session, PEER)


def _by_administrator(phone: Phone) -> None:
    sign_in_administration.end_sessions(phone.desk.context(phone.desk.nora), phone.desk.milo)


def _by_other_device(phone: Phone) -> None:
    sign_in.end_sessions(phone.desk.context(phone.desk.milo), but=0)


def _by_deactivation(phone: Phone) -> None:
    records.update(phone.desk.context(phone.desk.nora), "worker", phone.desk.milo, {"is_disabled": "1"})


def _by_deletion(phone: Phone) -> None:
    phone.desk.update("ticket", phone.ticket, owner_id=0)
    records.delete(phone.desk.context(phone.desk.nora), "worker", phone.desk.milo)


def _by_password(phone: Phone) -> None:
    records.update(phone.desk.context(phone.desk.nora), "worker", phone.desk.milo, {"password": "another long secret"})


def _by_expiry(phone: Phone) -> None:
    phone.desk.now += 3 * DAY


@names(
    "end", [_by_sign_out, _by_administrator, _by_other_device, _by_deactivation, _by_deletion, _by_password, _by_expiry]
)
def test_a_device_ends_with_its_session(phone: Phone, end: Any) -> None:
    phone.notify("waits")
    end(phone)
    assert phone.settle() == []
    assert phone.device is None and phone.waiting() == 0


def test_a_new_password_leaves_only_the_device_that_it_was_set_on(phone: Phone) -> None:
    own = phone.session()
    tablet = phone.turn_on(phone.push.browser("tablet"), own)
    context = phone.desk.context(phone.desk.milo)
    records.update(phone.desk.context(), "worker", phone.desk.milo, {"password": "another long secret"})
    own = phone.session()
    tablet = phone.turn_on(phone.push.browser("tablet"), own)
    other = phone.turn_on(phone.push.browser("desktop"))
    password_change.change(context, own, "another long secret", "a third long secret", PEER)
    kept = [each.id for each in notified_devices.own(context)]
    assert kept == [tablet] and other not in kept


# -- who may do what ---------------------------------------------------------------------------------------------------


def test_a_worker_reaches_only_their_own_devices(phone: Phone) -> None:
    other = phone.desk.context(phone.desk.olga)
    for act in (
        lambda: notified_devices.test(other, phone.id),
        lambda: notified_devices.turn_off(other, phone.id),
        lambda: notified_devices.choose_kinds(other, phone.id, []),
    ):
        with pytest.raises(NotFound):
            act()
    assert notified_devices.own(other) == []
    with pytest.raises(AdminOnly):
        notified_devices.of_worker(other, phone.desk.milo)
    assert [each.id for each in notified_devices.of_worker(phone.desk.context(phone.desk.nora), phone.desk.milo)] == [
        phone.id
    ]


def test_a_known_address_does_not_take_the_device_of_another(phone: Phone) -> None:
    thief = FakeBrowser(phone.browser.endpoint, auth=b"f" * 16)
    with pytest.raises(Conflict, match="Another account"):
        phone.turn_on(thief, phone.session(phone.desk.olga))
    assert phone.device is not None and phone.device.subscription.key == point_of(phone.browser.key)
    phone.turn_on(phone.browser, phone.session(phone.desk.olga))  # the same browser, where olga signs in now
    assert phone.device is None
    phone.notify("for milo")
    assert phone.bodies() == []


def test_a_session_has_one_device_and_a_worker_a_few(phone: Phone) -> None:
    session = phone.session()
    first = phone.turn_on(phone.push.browser("first"), session)
    notified_devices.choose_kinds(phone.desk.context(phone.desk.milo), first, ["due"])
    second = phone.turn_on(phone.push.browser("second"), session)
    own = {each.id: each for each in notified_devices.own(phone.desk.context(phone.desk.milo))}
    assert first not in own and own[second].kinds == ("due",)
    for number in range(push_devices.MAX_PUSH_DEVICES - 2):
        phone.turn_on(phone.push.browser(f"more{number}"))
    with pytest.raises(Conflict, match=f"At most {push_devices.MAX_PUSH_DEVICES} devices"):
        phone.turn_on(phone.push.browser("last"))
    phone.turn_on(phone.push.browser("again"), session)  # replaces the one of this session


@names(
    ("changes", "error"),
    [
        ({"endpoint": "http://push.example/x"}, Invalid),
        ({"endpoint": "https://10.0.0.1/x"}, Rejected),
        ({"endpoint": "https://[::1]/x"}, Rejected),
        ({"endpoint": "https://user:pass@push.example/x"}, Invalid),
        ({"endpoint": "https://push.example/" + "x" * 1000}, Invalid),
        ({"endpoint": ""}, Invalid),
        ({"p256dh": ""}, Invalid),
        ({"p256dh": "A" * 87}, Invalid),
        ({"p256dh": "ä"}, Invalid),
        ({"auth": "AAAA"}, Invalid),
        ({"auth": "!" * 22}, Invalid),
    ],
)
def test_a_wrong_subscription_is_refused(phone: Phone, changes: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        phone.turn_on(phone.push.browser("wrong"), **changes)
    assert len(notified_devices.own(phone.desk.context(phone.desk.milo))) == 1


def test_a_test_is_sent_even_in_quiet_hours_but_not_too_often(phone: Phone) -> None:
    context = phone.desk.context(phone.desk.milo)
    quiet_hours.choose(context, False, "20:00", "07:00", list("0123456"))
    notified_devices.test(context, phone.id)
    assert phone.bodies() == ["This is a test. Notifications arrive on this device."]
    with pytest.raises(TooMany):
        notified_devices.test(context, phone.id)
    phone.desk.now += notified_devices.TEST_SECONDS
    phone.push.status, phone.push.headers = 429, {"retry-after": "900"}
    notified_devices.test(phone.desk.context(phone.desk.milo), phone.id)
    phone.settle()
    assert phone.error.startswith("429")
    phone.desk.now += HOUR // 5
    with pytest.raises(TooMany) as caught:
        notified_devices.test(phone.desk.context(phone.desk.milo), phone.id)
    assert caught.value.details["retry_after"] == 900 - HOUR // 5


def test_turning_on_and_off_is_in_the_activity_log(phone: Phone) -> None:
    notified_devices.turn_off(phone.desk.context(phone.desk.milo), phone.id)
    log = [each["activity_point"] for each in phone.desk.all("activity_log", target_id=phone.desk.milo)]
    assert log.count("worker.push.on") == 1 and log.count("worker.push.off") == 1


def test_the_key_is_created_once(phone: Phone) -> None:
    key = notified_devices.server_key(phone.desk.service)
    assert len(key) == 87 and key == notified_devices.server_key(phone.desk.service)
    phone.desk.put_setting(notified_devices.KEY, "00" * 32)
    assert notified_devices.server_key(phone.desk.service) != key
