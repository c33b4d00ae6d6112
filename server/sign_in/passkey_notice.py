"""The email to a worker about a changed passkey, or about one that was refused as a copy. With a passkey, an intruder
could return after the password has changed."""

from typing import Any

from server.context import Service
from server.jobs.job_queue import JobQueue, job
from server.records.writing import RecordWriter
from server.sign_in import password_change
from server.sign_in.sign_in import Peer, shown_device
from server.translation import N_

NOTICE = "passkey.notice"
ADDED, REMOVED, COPIED = "added", "removed", "copied"
SUBJECTS = {
    ADDED: N_("A passkey was added to your account"),
    REMOVED: N_("A passkey was removed from your account"),
    COPIED: N_("A passkey of yours was refused"),
}
TEXTS = {
    ADDED: N_("""\
The passkey "{name}" can now be used to sign in as {email}. It was added with {device}, from {client}.

If it was not you, remove it and change your password now:

{account}
"""),
    REMOVED: N_("""\
The passkey "{name}" can no longer be used to sign in as {email}. It was removed with {device}, from {client}.

If it was not you, change your password now:

{account}
"""),
    COPIED: N_("""\
The passkey "{name}" was used to sign in as {email} with {device}, from {client}, and was refused: its counter did not
rise, as if there were a copy of it.

Remove this passkey and create a new one. If it was not you, also change your password:

{account}
"""),
}


def queue(writing: RecordWriter, worker_id: int, what: str, name: str, peer: Peer) -> None:
    """Queues the mail, in the transaction of the change. name: of the passkey."""
    payload = {"worker_id": worker_id, "what": what, "name": name, "client": peer.client, "device": peer.device[:200]}
    JobQueue.add(writing.tx, NOTICE, writing.ctx.now, payload)
    writing.ctx.service.wake_after(writing.tx)


@job(NOTICE, N_("Notifies a worker of a changed passkey"))
def _send(service: Service, payload: dict[str, Any], now: int) -> None:
    worker_id, what = int(payload["worker_id"]), str(payload["what"])
    values = {
        "name": payload["name"],
        "device": shown_device(payload["device"]),
        "client": payload["client"] or N_("an unknown address"),
        "account": f"{service.base_url}/account#passkeys",
    }
    password_change.send_to_worker(service, worker_id, SUBJECTS[what], TEXTS[what], values)
