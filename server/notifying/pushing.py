"""Jobs that send notifications to devices by web push, one device at a time.

A push has the sentence of the bell and the address of the notification, and no text of messages or notes. Notifications
that were read, that their worker may no longer read, or that fall into quiet hours are left out."""

import hashlib
import hmac
import json
import random
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

from server.access import actor as actors
from server.access import push_devices
from server.access.push_devices import PushDevice
from server.access.service_actor import own_context
from server.context import Context, Service
from server.dataclass import dataclass
from server.jobs.job_queue import job
from server.notifying import quiet_hours
from server.notifying.notification_mails import Waiting, unread_notification
from server.notifying.notified_devices import TEST, identity_secret
from server.outbound import client, web_push
from server.outbound.web_push import PushIdentity, PushMessage, PushResult
from server.outbox.sender import default_sender
from server.people.unread import count_of as unread_count
from server.record_types.shared import entries, paths
from server.records import catalogs
from server.records.notification_mail import DUE, OTHER
from server.records.notification_push import JOB, KEPT_SECONDS, TO_PUSH, queue
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.transaction import Transaction
from server.translation import N_, Catalog, _, ngettext, speaking, spoken

MAX_AT_ONCE = 200  # notifications of one device that are read at once
MAX_MESSAGES = 5  # pushes at once; if there are more, one covers all
MAX_ATTEMPTS = 5
MAX_TEXT_CHARS = 300  # characters
WAITS = (30, 120, 600, 3_600)  # seconds after 1, 2, ... consecutive failures; the last one thereafter
JITTER = 0.2
TEST_TTL_SECONDS = 600
TOPIC_CHARS = 32  # RFC 8030, section 5.4
URGENCY = {DUE: "high", OTHER: "low"}  # others are normal; see RFC 8030, section 5.3
DECLARATIVE = 8030  # the mark of Declarative Web Push, by which browsers can show a push without a script
LIST_PATH = "/notifications"


@dataclass(frozen=True, slots=True)
class Push:
    """A push that is ready except for its device. notification_ids: the notifications in it."""

    message: PushMessage
    notification_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DueBatch:
    """The pushes to a device that are due. left_out: ids of notifications that are not sent. is_over: whether the
    session of the device has ended."""

    device: PushDevice
    pushes: tuple[Push, ...] = ()
    left_out: tuple[int, ...] = ()
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class _Sent:
    """The results of a batch. done: ids of notifications that need no further attempt. failed: ids of notifications
    whose push may be accepted later."""

    done: tuple[int, ...]
    failed: tuple[int, ...] = ()
    result: PushResult = PushResult(201)


@job(JOB, N_("Sends notifications to a device by web push"))
def send_waiting(service: Service, payload: dict[str, Any], now: int) -> None:
    """Sends the waiting notifications of a device."""
    ctx, device_id = own_context(service, now), int(payload["device_id"])
    device = service.store.read(lambda tx: push_devices.find(tx, device_id))
    if device is None:
        return
    language, key = catalogs.worker_catalog(service, device.worker_id), identity_secret(service)
    batch = service.store.read(lambda tx: _batch(ctx, tx, device, language, key))
    sent = _send(ctx, device, batch.pushes, key)
    service.store.write(lambda tx: _finish(RecordWriter(ctx, tx), batch, sent))


@job(TEST, N_("Sends a test notification to a device"))
def send_test(service: Service, payload: dict[str, Any], now: int) -> None:
    """Sends a test to a device, also in quiet hours. The account shows an error at the device."""
    ctx, device_id = own_context(service, now), int(payload["device_id"])
    device = service.store.read(lambda tx: push_devices.find(tx, device_id))
    if device is None or not service.settings.push:
        return
    with speaking(catalogs.worker_catalog(service, device.worker_id)):
        text = _("This is a test. Notifications arrive on this device.")
        message = PushMessage(_payload(service, text, tag="test"), "", "high", TEST_TTL_SECONDS)
    is_over = service.store.read(lambda tx: not push_devices.is_signed_in(tx, device, now))
    batch = DueBatch(device, (Push(message),), is_over=is_over)
    sent = _send(ctx, device, () if is_over else batch.pushes, identity_secret(service))
    service.store.write(lambda tx: _record(RecordWriter(ctx, tx), batch, sent.result))


# -- due pushes --------------------------------------------------------------------------------------------------------


def _batch(ctx: Context, tx: Transaction, device: PushDevice, language: Catalog, key: bytes) -> DueBatch:
    """Returns the pushes to a device that are due. language: of its worker. key: for topics."""
    rows = _rows(tx, device.id)
    ids = tuple(row[0] for row in rows)
    if not push_devices.is_signed_in(tx, device, ctx.now):
        return DueBatch(device, (), ids, True)
    worker = actors.worker(tx, device.worker_id)
    quiet = quiet_hours.load(tx, device.worker_id)
    if worker is None or not ctx.service.settings.push or quiet.covers(ctx.now, worker.timezone):
        return DueBatch(device, (), ids)
    reader = RecordReader(ctx, tx)
    fresh = [row for row in rows if row[2] + KEPT_SECONDS > ctx.now]
    unread = [
        each
        for id, kind, _created in fresh
        if (each := unread_notification(reader, device.worker_id, id, kind)) is not None
    ]
    with speaking(language):
        pushes = tuple(_Pushes(reader, key, unread_count(tx, device.worker_id)).build(unread))
    covered = {id for each in pushes for id in each.notification_ids}
    return DueBatch(device, pushes, tuple(id for id in ids if id not in covered))


def _rows(tx: Transaction, device_id: int) -> list[tuple[int, str, int]]:
    """Returns [(id of the notification, kind, Unix second of its addition)], the oldest first."""
    table = TO_PUSH.sql
    rows = tx.rows(
        lambda: (
            table.select(table.notification_id, table.kind, table.created_at)
            .where(table.device_id == slot(0))
            .order_by(table.notification_id)
            .limit(MAX_AT_ONCE)
        ),
        (device_id,),
    )
    return [(id, kind, created) for id, kind, created in rows]


class _Pushes:
    """Builds the pushes to one device, in the current language. key: for topics. count: unread notifications, for the
    number on the icon."""

    def __init__(self, reader: RecordReader, key: bytes, count: int) -> None:
        self._reader, self._key, self._count = reader, key, count

    def build(self, unread: Sequence[Waiting]) -> list[Push]:
        """Returns one push for each record, with the newest sentence about it; a single one for many records."""
        groups: dict[object, list[Waiting]] = {}
        for each in unread:
            about = each.record["target__context"], each.record["target_id"]
            groups.setdefault(about if about[1] else each.record["id"], []).append(each)
        if len(groups) <= MAX_MESSAGES:
            return [self._push(group) for group in groups.values()]
        text = ngettext("{count} notification", "{count} notifications", len(unread))
        payload = _payload(self._reader.ctx.service, text, tag="many", count=self._count)
        ids = tuple(each.record["id"] for each in unread)
        return [Push(PushMessage(payload, _topic(self._key, "many"), "normal", KEPT_SECONDS), ids)]

    def _push(self, group: Sequence[Waiting]) -> Push:
        record = group[-1].record
        has_target = bool(record["target_id"])
        tag = f"{record['target__context']}:{record['target_id']}" if has_target else f"notification:{record['id']}"
        urgencies = {URGENCY.get(each.kind, "normal") for each in group}
        payload = _payload(
            self._reader.ctx.service,
            entries.one_line(record["params"]) or _("A notification"),
            tag=tag,
            path=f"{LIST_PATH}/{record['id']}",
            page=self._page(group[-1]),
            count=self._count,
        )
        urgency = next(each for each in ("high", "normal", "low") if each in urgencies)
        topic = _topic(self._key, tag) if has_target else ""
        ids = tuple(each.record["id"] for each in group)
        return Push(PushMessage(payload, topic, urgency, KEPT_SECONDS), ids)

    def _page(self, each: Waiting) -> str:
        """Returns the path of the ticket of a notification, which a tab may show already; "" for none."""
        ticket = self._reader.record("ticket", each.ticket_id) if each.ticket_id else None
        return paths.ticket(ticket["mask"]) if ticket is not None else ""


def _payload(
    service: Service, text: str, *, tag: str, path: str = LIST_PATH, page: str = "", count: int | None = None
) -> bytes:
    """Returns the JSON of a push, in the form of Declarative Web Push. tag: a later push with the same one replaces it.
    path: of the notification. page: of its subject. count: unread notifications, None to leave the icon alone."""
    if len(text) > MAX_TEXT_CHARS:
        text = f"{text[:MAX_TEXT_CHARS].rstrip()} …"
    notification = {
        "title": _("Helpdesk"),
        "body": text,
        "navigate": f"{service.base_url}{path}",
        "tag": tag,
        "lang": spoken().tag,
        "dir": spoken().direction,
        "data": {"path": path, "page": page},
    }
    value: dict[str, Any] = {"web_push": DECLARATIVE, "notification": notification}
    if count is not None:
        value["app_badge"] = str(count)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _topic(key: bytes, tag: str) -> str:
    """Returns the topic of a record, which push services read: it does not reveal the record."""
    return urlsafe_b64encode(hmac.digest(key, f"topic {tag}".encode(), hashlib.sha256)).decode()[:TOPIC_CHARS]


# -- sending -----------------------------------------------------------------------------------------------------------


def _send(ctx: Context, device: PushDevice, pushes: Sequence[Push], key: bytes) -> _Sent:
    """Sends pushes until one fails in a way that may pass."""
    service, done = ctx.service, list[int]()
    result = PushResult(201)
    identity = PushIdentity(key, _subject(service))
    for each in pushes:
        result = web_push.send(device.subscription, each.message, identity, client.limits(service.settings), ctx.now)
        if result.is_gone:
            return _Sent(tuple(done), (), result)
        if result.may_pass:
            return _Sent(tuple(done), each.notification_ids, result)
        done.extend(each.notification_ids)
    return _Sent(tuple(done), (), result)


def _subject(service: Service) -> str:
    """Returns the contact for operators of push services: the address of this service if it is https, else the default
    sender."""
    if service.base_url.startswith("https://"):
        return service.base_url
    addresses = service.registry.type("address")
    row = service.store.read(lambda tx: tx.get(addresses.table, default_sender(tx) or 0))
    email = addresses.record(row)["email"] if row is not None else "postmaster@localhost"
    return f"mailto:{email}"


def _finish(writing: RecordWriter, batch: DueBatch, sent: _Sent) -> None:
    """Removes the notifications that need no further attempt, and queues the next run for the others."""
    device, table = batch.device, TO_PUSH.sql
    resume_at = _record(writing, batch, sent.result)
    if resume_at is None:
        return
    for id in (*batch.left_out, *sent.done):
        writing.tx.delete(TO_PUSH, device_id=device.id, notification_id=id)
    for id in sent.failed:
        writing.tx.run(
            lambda: table.update({table.attempts: table.attempts + 1}).where(
                table.device_id == slot(0), table.notification_id == slot(1)
            ),
            (device.id, id),
        )
    writing.tx.run(
        lambda: table.delete().where(table.device_id == slot(0), table.attempts >= slot(1)), (device.id, MAX_ATTEMPTS)
    )
    if _rows(writing.tx, device.id):
        queue(writing, device, resume_at)


def _record(writing: RecordWriter, batch: DueBatch, result: PushResult) -> int | None:
    """Stores the result at the device; returns the Unix second from which the next push may be sent, None if the device
    is gone."""
    tx, now = writing.tx, writing.now
    device = push_devices.find(tx, batch.device.id)
    if device is None:
        return None
    if batch.is_over or result.is_gone:
        push_devices.remove(tx, device.id, device.worker_id)
        return None
    if not batch.pushes:
        return now
    if not result.error:
        push_devices.record_success(tx, device, now)
        return now
    wait = WAITS[min(device.failures, len(WAITS) - 1)]
    resume_at = now + max(round(wait * random.uniform(1 - JITTER, 1 + JITTER)), result.wait)
    return resume_at if push_devices.record_failure(tx, device, result.error, resume_at, now) else None
