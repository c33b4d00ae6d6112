"""The LMTP listener for mail servers, as administrators see it: its state, and its settings while the service runs.

Its protocol is in web/mail_listener.py."""

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
from server.translation import N_

NAMES = ("lmtp_host", "lmtp_port", "lmtp_protocol", "lmtp_domains")  # settings that the console can change
TOLD = "listener"  # shared with other processes
_changing = threading.Lock()  # settings and listener must match after two simultaneous changes


@dataclass(frozen=True, slots=True)
class State:
    """Its state since the service was started. urls: its addresses, none when it is off. error: why it is not
    listening, and failing_since when; "" and 0 if there is no error. taken, refused: numbers of mails; with the time of
    the last one and the reply to it. Times in Unix seconds, 0 for never."""

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
    """The listener of a running service."""

    def state(self) -> State:
        """How it is."""

    def holds(self, settings: Settings) -> bool:
        """Whether it listens, or tries to, with these settings."""

    def renew(self, settings: Settings) -> None:
        """Listens with these settings. Raises Unavailable if that fails; then nothing has changed, unless they are the
        settings of the service."""


LISTENER: StoreLocal[Listener] = StoreLocal()


def watch(service: Service, listener: Listener) -> None:
    """Makes the listener available to other threads of this process."""
    LISTENER.set(service.store, listener)
    processes.share(service, TOLD, lambda: asdict(listener.state()))


def state(service: Service) -> State:
    """The state across all processes; off where no service runs, such as in a command."""
    listener = _running_listener(service)
    own = State() if listener is None else listener.state()
    others = [State(**{**each, "urls": tuple(each["urls"])}) for each in processes.shared_by_others(service, TOLD)]
    return _together([own, *others]) if others else own


def _together(states: list[State]) -> State:
    """Combines the states of several processes."""
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
    """Changes the settings, {setting of NAMES: text}; an empty lmtp_host turns it off. Applies at once, and after a
    restart.

    Raises AdminOnly; Invalid for an invalid value, and for a setting from the environment or command line; Unavailable,
    with nothing changed, if it cannot listen."""
    ctx.require_admin("switch the listener")
    with _changing:
        before, after = ctx.service.settings.replace(), live_settings.check_settings(ctx.service, changes)
        listener = _running_listener(ctx.service)
        if listener is not None:
            listener.renew(after)
        try:
            live_settings.change(ctx, changes)
        except HelpdeskError:
            if listener is not None:
                listener.renew(before)
            raise


def follow(service: Service) -> None:
    """Applies settings that another process has changed."""
    listener = _running_listener(service)
    with _changing:
        if listener is not None and not listener.holds(service.settings):
            with suppress(HelpdeskError):  # it is noted in its state
                listener.renew(service.settings)


@periodic(N_("listener for mail that failed"), N_("Reopens it."), everywhere=True)
def try_again(service: Service, now: int) -> None:
    """Opens the listener if that failed before, such as on a port that was in use."""
    listener = _running_listener(service)
    with _changing:
        if listener is not None and listener.state().error:
            with suppress(HelpdeskError):  # it is noted in its state
                listener.renew(service.settings)


def _running_listener(service: Service) -> Listener | None:
    return LISTENER.get(service.store)
