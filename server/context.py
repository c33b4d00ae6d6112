"""What an operation is done in: who asks, when, on which service. Frozen and handed down; there is no global state."""

from collections.abc import Callable
from dataclasses import field
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from server.dataclass import dataclass
from server.errors import AdminOnly

if TYPE_CHECKING:
    from server.access.actor import Actor
    from server.records.registry import Registry
    from server.settings import Settings
    from server.store.database import Store
    from server.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of one running service that operations need.

    base_url: the absolute address of this service, without a slash at its end; only `move` changes it. followers: who
    is told, by its name, that there is something new on a channel; on the writer's thread. hearing: {what other
    processes announce: who hears the rest of it}; "" is heard where announcements may have been missed."""

    store: "Store"
    registry: "Registry"
    settings: "Settings"
    base_url: str
    installation: str
    wake_scheduler: Any = None
    followers: list[Callable[[str], None]] = field(default_factory=list)
    hearing: dict[str, Callable[[str], None]] = field(default_factory=dict)

    def webhook_url(self, token: str) -> str:
        """The address of a webhook."""
        return f"{self.settings.webhook_base_url or self.base_url}/webhooks/{token}"

    def move(self, base_url: str) -> None:
        """Be reached by another address from now on: the one part that changes while a service runs."""
        object.__setattr__(self, "base_url", base_url.rstrip("/"))

    def wake_after(self, tx: "Transaction") -> None:
        """Let the schedulers, that of this process and those of others, look for what is due once the transaction is on
        disk."""
        if WAKE in tx.memo:
            return
        tx.memo[WAKE] = True
        if self.wake_scheduler is not None:
            tx.after_commit(self.wake_scheduler)
        self.store.announce_after(tx, WAKE)

    def tell_after(self, tx: "Transaction", channel: str) -> None:
        """Tell those who follow a channel to look, once the transaction is on disk. A hint: what is new is in rows."""
        if (TELL, channel) not in tx.memo:
            tx.memo[TELL, channel] = True
            tx.at_commit(lambda: self.tell(channel))
            self.store.announce_after(tx, f"{TELL}:{channel}")

    def tell(self, channel: str) -> None:
        """Tell those who follow a channel in this process to look."""
        for told in tuple(self.followers):
            told(channel)

    def announce(self, what: str, text: str = "") -> None:
        """Let other processes hear something that goes with no change of the database; both at most 60 characters."""
        if self.store.is_shared:
            self.store.write(lambda tx: self.store.announce_after(tx, f"{what}:{text}"))

    def hear(self, name: str) -> None:
        """Another process announced this; "" where some of it may have been missed. Must be quick."""
        what, _, text = name.partition(":")
        if what == WAKE or not name:
            if self.wake_scheduler is not None:
                self.wake_scheduler()
        elif what == TELL:
            self.tell(text)
        for key, heard in tuple(self.hearing.items()):
            if key == what or not name:
                heard(text)


WAKE, TELL = "wake", "tell"  # what processes announce: that something is due, that there is news on a channel


@dataclass(slots=True)
class ScopeLimit:
    """The record types that a token may read when another record links to them. uris: those types. left_out: types that
    the request asked for and did not get."""

    uris: frozenset[str]
    left_out: set[str] = field(default_factory=set)

    def covers(self, uri: str) -> bool:
        """Whether a type may be read; notes one that may not."""
        if uri in self.uris:
            return True
        self.left_out.add(uri)
        return False


def covers_search(limit: "ScopeLimit | None") -> Callable[[str], bool]:
    """Whether a search may look into records of a type that others name, by the limit of a token."""
    return (lambda uri: True) if limit is None else limit.uris.__contains__


@dataclass(frozen=True, slots=True)
class Context:
    """One operation: `now` is Unix seconds, `tz` the caller's zone, `depth` counts automations that caused each other.

    steps: the budget of a read on the event loop, None on a thread. is_quiet: whether neither automations nor
    workers are told of what it changes, is_untold: whether only automations are not. is_dry: whether all that it
    changes is undone, and nothing is sent. is_by_machine: whether mail that a program wrote set it off. limit: of the
    token that asks, None for everything that the actor may read."""

    service: "Service"
    actor: "Actor"
    now: int
    tz: tzinfo
    request_id: str = ""
    depth: int = 0
    steps: int | None = None
    is_quiet: bool = False
    is_untold: bool = False
    is_dry: bool = False
    is_by_machine: bool = False
    limit: ScopeLimit | None = None

    def as_actor(self, actor: "Actor", tz: tzinfo) -> "Context":
        """The same operation by somebody else."""
        return Context(  # which takes a fifth of what `replace` does
            self.service,
            actor,
            self.now,
            tz,
            self.request_id,
            self.depth,
            self.steps,
            self.is_quiet,
            self.is_untold,
            self.is_dry,
            self.is_by_machine,
        )

    def require_admin(self, doing: str) -> None:
        """Raises AdminOnly unless an administrator acts, or the service itself. doing: as in "change settings"."""
        if not self.actor.is_admin:
            raise AdminOnly(f"only administrators may {doing}")
