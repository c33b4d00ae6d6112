"""Which notifications are also sent to devices of a worker by web push: the kinds that each device wants.

A notification to be sent waits in its own transaction, for each device. notifying/pushing.py sends it at once."""

from typing import TYPE_CHECKING

from server.access import push_devices
from server.access.push_devices import PushDevice
from server.jobs.job_queue import JobQueue
from server.records.notification_mail import KINDS, OTHER
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

if TYPE_CHECKING:
    from server.records.writing import RecordWriter

JOB = "notification.push"
DEFAULT_KINDS = tuple(kind for kind in KINDS if kind != OTHER)
KEPT_SECONDS = 86_400  # an older notification is not sent
TO_PUSH = Table(
    "notification_to_push",
    [
        Column("device_id", references="push_device(id)"),
        Column("notification_id", references="notification(id)"),
        Column("kind", "TEXT"),
        Column("created_at"),
        Column("attempts"),
    ],
    [
        Index(("device_id", "notification_id"), "what a device has to be sent, the oldest first", unique=True),
        Index(("notification_id",), "what waits about a deleted notification"),
    ],
)


def hold(writing: "RecordWriter", notification_id: int, worker_id: int, kind: str) -> None:
    """Queues a notification for the devices of its worker that want this kind."""
    tx = writing.tx
    if not (writing.ctx.service.settings.push and push_devices.wants(tx, worker_id, kind)):
        return
    for device in push_devices.of_worker(tx, worker_id):
        if kind not in device.kinds:
            continue
        has_job = _newest(tx, device.id) + KEPT_SECONDS > writing.now
        values = {"device_id": device.id, "notification_id": notification_id, "kind": kind, "created_at": writing.now}
        tx.insert(TO_PUSH, values)
        if not has_job:
            queue(writing, device, writing.now)


def queue(writing: "RecordWriter", device: PushDevice, due_at: int) -> None:
    """Queues the job that sends the waiting notifications of a device. There is one while any wait: a run that leaves
    some adds the next, in the transaction that removes the others."""
    JobQueue.add(writing.tx, JOB, max(due_at, device.resume_at), {"device_id": device.id}, is_slow=True)
    writing.wake()


def _newest(tx: Transaction, device_id: int) -> int:
    """Returns when the newest waiting notification of a device was added; 0 for none."""
    table = TO_PUSH.sql
    return int(
        tx.value(
            lambda: (
                table.select(table.created_at)
                .where(table.device_id == slot(0))
                .order_by(table.notification_id.desc())
                .limit(1)
            ),
            (device_id,),
        )
        or 0
    )
