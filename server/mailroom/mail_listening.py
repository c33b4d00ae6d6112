"""The listener that mail servers hand mail over to, as administrators see it: how it is, and switching it while the
service runs. What it speaks is in web/mail_listener.py. Source: ours."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from server.context import Context, Service
from server.desk import live_settings
from server.errors import HelpdeskError
from server.jobs.scheduler import periodic
from server.settings import Settings
from server.store.store_local import StoreLocal

NAMES = ("lmtp_host", "lmtp_port", "lmtp_protocol", "lmtp_domains")  # what can be set in the console
_changing = threading.Lock()  # of two changes, the settings and what it does must not be each of another one


@dataclass(frozen=True, slots=True)
class State:
    """How it is since the service was started. urls: where it listens, none when it is off. error: why it does not, and
    failing_since when; "" and 0 when all is well. taken, refused: mails; with when the last one of them came, and what
    was said about it. Times in Unix seconds, 0 for never."""

    urls: tuple[str, ...] = ()
    offers_tls: bool = False
    error: str = ""
    failing_since: int = 0
    taken: int = 0
    taken_at: int = 0
    refused: int = 0
    refused_at: int = 0
    refused_said: str = ""


class Listener(Protocol):
    """What a running service listens with."""

    def state(self) -> State:
        """How it is."""

    def renew(self, settings: Settings) -> None:
        """Listen as these settings say. Raises Unavailable when that cannot be, and then all is as it was."""


LISTENER: StoreLocal[Listener] = StoreLocal()


def watch(service: Service, listener: Listener) -> None:
    """Let others of this process see and switch it."""
    LISTENER.set(service.store, listener)


def state(service: Service) -> State:
    """How it is; off where no service runs, such as in a command."""
    found = _of(service)
    return State() if found is None else found.state()


def change(ctx: Context, changes: Mapping[str, str]) -> None:
    """Switch it, {setting of NAMES: text}; an empty lmtp_host is off. It holds at once, and after the next start.

    Raises AdminOnly; Invalid for a wrong value, and for one that is given elsewhere; Unavailable, with nothing changed,
    where it cannot listen."""
    ctx.require_admin("switch the listener")
    with _changing:
        before, wanted = ctx.service.settings.replace(), live_settings.check_settings(ctx.service, changes)
        found = _of(ctx.service)
        if found is not None:
            found.renew(wanted)
        try:
            live_settings.change(ctx, changes)
        except HelpdeskError:
            if found is not None:
                found.renew(before)
            raise


@periodic("listener for mail that failed")
def try_again(service: Service, now: int) -> None:
    """Open it where that was not possible before, such as on a port that somebody else had."""
    found = _of(service)
    with _changing:
        if found is not None and found.state().error:
            with suppress(HelpdeskError):  # it is noted in its state
                found.renew(service.settings)


def _of(service: Service) -> Listener | None:
    return LISTENER.get(service.store)
