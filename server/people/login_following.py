"""The effect of record changes on sign-in addresses: a new address counts only once it is confirmed.

Called after every write of a worker or an address, by an administrator, a script or a package. A job sends the mails
(login_address.py)."""

from server.access.actor import WORKER
from server.access.logins import WORKER_LOGIN
from server.jobs.job_queue import JobQueue
from server.people import login_changes
from server.people.login_changes import LoginChange
from server.record_types.record_type import Change, Writing

KIND = "login.address"


def follow(writing: Writing, change: Change) -> None:
    """Called after every write of a worker or an address. Requests a confirmation if a worker who has a password gets
    another main address."""
    if change.is_create:
        return
    if change.type.uri == "worker" and change.changes("email_id"):
        before, after = (_email(writing, id) for id in (change.was("email_id"), change.value("email_id")))
        _main_address_changed(writing, change.id, before, after)
    elif change.type.uri == "address" and change.changes("email"):
        worker = writing.find("worker", email_id=change.id)
        if worker is not None:
            _main_address_changed(writing, worker["id"], change.was("email"), change.value("email"))


def request(writing: Writing, change: LoginChange) -> None:
    """Stores a change to be confirmed; the new address gets a link, and the present one a notice."""
    login_changes.request(writing.tx, change)
    log(writing, "asked", change)
    send_mails(writing, change)


def send_mails(writing: Writing, change: LoginChange) -> None:
    """Queues the mails about an unconfirmed change."""
    payload = {"worker_id": change.worker_id, "new_email": change.new_email, "by": writing.actor.name or "Helpdesk"}
    JobQueue.add(writing.tx, KIND, writing.now, payload)
    writing.wake()


def log(writing: Writing, done: str, change: LoginChange) -> None:
    """Logs a change that was `asked`, `changed` or `dropped`."""
    details = {"target": writing.label(WORKER, change.worker_id), "address": change.new_email}
    if done != "dropped":
        details["before"] = change.email
    writing.log(f"worker.login_address.{done}", WORKER, change.worker_id, details)


def _main_address_changed(writing: Writing, worker_id: int, before: str, after: str) -> None:
    waits = login_changes.waiting(writing.tx, worker_id)
    change = LoginChange(worker_id, waits.email if waits is not None else before, after)
    if change.email == after:  # unchanged, or just confirmed
        login_changes.cancel(writing.tx, worker_id)
    elif writing.tx.first(WORKER_LOGIN, worker_id=worker_id) is None:
        log(writing, "changed", change)  # the former address was never used to sign in
    else:
        request(writing, change)


def _email(writing: Writing, address_id: int) -> str:
    address = writing.record("address", address_id)
    return str(address["email"]) if address is not None else ""
