"""The mail to a worker whose account was locked by too many wrong passwords or codes. It is sent at most once a day, so
that an attacker cannot fill a mailbox."""

from typing import Any

from server.access.lockout import WINDOW_SECONDS
from server.context import Service
from server.jobs.job_queue import job
from server.sign_in import password_change
from server.sign_in.sign_in import LOCKED
from server.translation import N_

SUBJECT = N_("Somebody tried to sign in as you")
TEXT = N_("""\
Somebody entered {what} for {email}, most recently from {client}.

For {minutes} minutes, nobody can sign in with this address from a new device. Devices that you have signed in
from before are not affected.

If it was you, wait a little or set a new password. {advice}

You get this email at most once a day, however often it happens. Your account lists where you are signed in:

{account}
""")
WHAT = {"password": N_("too many wrong passwords"), "code": N_("your password, and then too many wrong codes")}
ADVICE = {
    "password": N_("If it was not you, no harm was done: your password was not guessed."),
    "code": N_("If it was not you, somebody knows your password: change it now."),
}


@job(LOCKED, N_("Notifies a worker that sign-in was locked"))
def _send(service: Service, payload: dict[str, Any], now: int) -> None:
    worker_id, kind = int(payload["worker_id"]), str(payload["kind"])
    values = {
        "what": WHAT[kind],
        "advice": ADVICE[kind],
        "client": payload["client"] or N_("an unknown address"),
        "minutes": WINDOW_SECONDS // 60,
        "account": f"{service.base_url}/account",
    }
    password_change.send_to_worker(service, worker_id, SUBJECT, TEXT, values)
