"""The listener that mail servers hand mail over to, as administrators see it: how it is, and switching it while the
service runs. What it speaks is in web/mail_listener.py."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Protocol

from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.jobs import processes
from server.jobs.scheduler import periodic
from server.records import live_settings
from server.settings import Settings
from server.store.store_local import StoreLocal

NAMES = ("lmtp_host", "lmtp_port", "lmtp_protocol", "lmtp_domains")  # what can be set in the console
TOLD = "listener"  # what other processes know of it
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

    def holds(self, settings: Settings) -> bool:
        """Whether it listens, or tries to, as these settings say."""

    def renew(self, settings: Settings) -> None:
        """Listen as these settings say. Raises Unavailable when that cannot be, and then all is as it was, unless they
        are those of the service."""


LISTENER: StoreLocal[Listener] = StoreLocal()


def watch(service: Service, listener: Listener) -> None:
    """Let others of this process see and switch it."""
    LISTENER.set(service.store, listener)
    processes.share(service, TOLD, lambda: asdict(listener.state()))


def state(service: Service) -> State:
    """How it is, in all processes together; off where no service runs, such as in a command."""
    found = _of(service)
    own = State() if found is None else found.state()
    others = [State(**{**each, "urls": tuple(each["urls"])}) for each in processes.shared_by_others(service, TOLD)]
    return _together([own, *others]) if others else own


def _together(states: list[State]) -> State:
    """One for what several processes listen on."""
    last = max(states, key=lambda each: each.refused_at)
    return State(
        urls=tuple(sorted({url for each in states for url in each.urls})),
        offers_tls=any(each.offers_tls for each in states),
        error=next((each.error for each in states if each.error), ""),
        failing_since=min((each.failing_since for each in states if each.failing_since), default=0),
        taken=sum(each.taken for each in states),
        taken_at=max(each.taken_at for each in states),
        refused=sum(each.refused for each in states),
        refused_at=last.refused_at,
        refused_said=last.refused_said,
    )


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


def follow(service: Service) -> None:
    """Listen as the settings say by now, when another process has changed them."""
    found = _of(service)
    with _changing:
        if found is not None and not found.holds(service.settings):
            with suppress(HelpdeskError):  # it is noted in its state
                found.renew(service.settings)


@periodic("listener for mail that failed", everywhere=True)
def try_again(service: Service, now: int) -> None:
    """Open it where that was not possible before, such as on a port that somebody else had."""
    found = _of(service)
    with _changing:
        if found is not None and found.state().error:
            with suppress(HelpdeskError):  # it is noted in its state
                found.renew(service.settings)


def _of(service: Service) -> Listener | None:
    return LISTENER.get(service.store)
