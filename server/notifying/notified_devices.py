"""The devices on which the caller is notified: turning one on, its kinds of notifications, a test, and its removal."""

from collections.abc import Collection

from server.access import push_devices
from server.access.push_devices import MAX_PUSH_DEVICES, PushDevice
from server.access.sessions import Session
from server.context import Context, Service
from server.errors import Conflict, NotFound, TooMany
from server.jobs.job_queue import JobQueue
from server.outbound import client, web_push
from server.records.notification_mail import kinds_text
from server.records.notification_push import DEFAULT_KINDS
from server.records.signed_names import signing_key
from server.sign_in.sign_in import Peer, log_own, shown_device
from server.store.transaction import Transaction
from server.translation import _

KEY = "push_key"  # the service setting with the secret of the key pair
TEST = "notification.push.test"
TEST_SECONDS = 10  # pause between two tests


def identity_secret(service: Service) -> bytes:
    """Returns the secret that identifies this service to push services; it is created at first use."""
    return signing_key(service, KEY)


def server_key(service: Service) -> str:
    """Returns the public key that browsers subscribe with; "" if web push is off."""
    return web_push.public_key(identity_secret(service)) if service.settings.push else ""


def own(ctx: Context) -> list[PushDevice]:
    """Returns the devices on which the caller is notified, the newest first; those whose session is over are left
    out."""
    return ctx.service.store.read(lambda tx: _signed_in(ctx, tx, ctx.actor.worker_id))


def of_worker(ctx: Context, worker_id: int) -> list[PushDevice]:
    """Returns the devices on which another worker is notified. Raises AdminOnly."""
    ctx.require_admin("see where others are notified")
    return ctx.service.store.read(lambda tx: _signed_in(ctx, tx, worker_id))


def turn_on(ctx: Context, session: Session, endpoint: str, key: str, auth: str, peer: Peer) -> int:
    """Notifies the caller in the browser of a session from now on; returns the id of the device.

    endpoint, key, auth: of the browser. It may have notified another worker, who never signed out: the same secret
    proves that it is the same browser, and moves it. Raises Invalid, Conflict."""
    _require_on(ctx)
    to = web_push.subscription(endpoint, key, auth, client.limits(ctx.service.settings))
    worker_id = ctx.actor.worker_id

    def write(tx: Transaction) -> int:
        there = push_devices.at_endpoint(tx, to.endpoint)
        others = _signed_in(ctx, tx, worker_id)
        mine = next((each for each in others if each.session_id == session.id), None)
        if there is not None and there.worker_id == worker_id:
            mine = there
        elif there is not None:
            is_same_browser = there.subscription.auth == to.auth or not push_devices.is_signed_in(tx, there, ctx.now)
            if not is_same_browser:
                raise Conflict(_("Another account is notified at this address. Reload the page and try again."))
        if there is not None:
            push_devices.remove(tx, there.id, there.worker_id)
        if len([each for each in others if each != mine]) >= MAX_PUSH_DEVICES:
            raise Conflict(
                _("At most {count} devices are notified. Remove one that you no longer use.", count=MAX_PUSH_DEVICES)
            )
        if mine is None:
            log_own(ctx, tx, worker_id, "worker.push.on", device=shown_device(peer.device))
        kinds = mine.kinds if mine is not None else DEFAULT_KINDS
        return push_devices.add(tx, session.id, worker_id, to, kinds, peer.device, ctx.now)

    return ctx.service.store.write(write)


def choose_kinds(ctx: Context, id: int, kinds: Collection[str]) -> tuple[str, ...]:
    """Stores which kinds of notifications a device of the caller shows; returns the former ones. Raises NotFound,
    Invalid for an unknown kind."""
    text = kinds_text(kinds, "pushed")

    def write(tx: Transaction) -> tuple[str, ...]:
        device = _own(ctx, tx, id)
        push_devices.change(tx, id, kinds=text)
        return device.kinds

    return ctx.service.store.write(write)


def test(ctx: Context, id: int) -> PushDevice:
    """Queues a test notification for a device of the caller. Raises Conflict, NotFound, TooMany."""
    _require_on(ctx)

    def write(tx: Transaction) -> PushDevice:
        device = _own(ctx, tx, id)
        wait = max(device.tested_at + TEST_SECONDS, device.resume_at) - ctx.now
        if wait > 0:
            raise TooMany(
                _("The push service needs a pause. Try again in {count} seconds.", count=wait), retry_after=wait
            )
        push_devices.change(tx, id, tested_at=ctx.now)
        JobQueue.add(tx, TEST, ctx.now, {"device_id": id}, f"{TEST}:{id}", is_slow=True)
        ctx.service.wake_after(tx)
        return device

    return ctx.service.store.write(write)


def turn_off(ctx: Context, id: int) -> PushDevice:
    """Removes a device of the caller. Raises NotFound."""

    def write(tx: Transaction) -> PushDevice:
        device = _own(ctx, tx, id)
        push_devices.remove(tx, id, device.worker_id)
        log_own(ctx, tx, device.worker_id, "worker.push.off", device=shown_device(device.device))
        return device

    return ctx.service.store.write(write)


def _signed_in(ctx: Context, tx: Transaction, worker_id: int) -> list[PushDevice]:
    devices = push_devices.of_worker(tx, worker_id)
    return [each for each in devices if push_devices.is_signed_in(tx, each, ctx.now)]


def _own(ctx: Context, tx: Transaction, id: int) -> PushDevice:
    device = push_devices.find(tx, id)
    if device is None or device.worker_id != ctx.actor.worker_id:
        raise NotFound(_("This device is no longer notified."))
    return device


def _require_on(ctx: Context) -> None:
    if not ctx.service.settings.push:
        raise Conflict(_("Notifications on devices are switched off for this service (setting push)."))
