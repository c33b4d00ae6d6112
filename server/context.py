"""The context of an operation: the caller, the time, the service. Frozen and passed down; there is no global state."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Protocol

from server.dataclass import dataclass
from server.errors import AdminOnly

if TYPE_CHECKING:
    from server.access.actor import Actor
    from server.record_types.parts import Change, Writing
    from server.record_types.registry import Registry
    from server.settings import Settings
    from server.store.database import Store
    from server.store.transaction import Transaction


class Automations(Protocol):
    """Runs automations, and checks what names them, for layers below server/automation/, which implements it."""

    def require_runnable(self, change: "Change", writing: "Writing", trigger: str, field: str) -> None:
        """Raises Invalid for a changed binding with an entry that would never run. trigger: of its automations."""

    def run_event(self, ctx: "Context", name: str, values: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Runs the automations bound to an event; yields their return values, one by one while the caller iterates."""

    def run_query(self, ctx: "Context", name: str, inputs: dict[str, Any], format: str) -> dict[str, Any]:
        """Runs the automation of a data query; returns {data, _}. Raises NotFound, ScriptError."""

    def refresh_resource(self, ctx: "Context", resource: dict[str, Any]) -> None:
        """Generates and stores the content of a dynamic resource. Raises Unavailable if it has none."""


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of a running service that operations need.

    base_url: the absolute address of the service, without a slash at its end; only `move` changes it. followers: by
    name, called on the writer's thread when there is news on a channel. hearing: {announcement of other processes:
    handler of its text}; "" is called if announcements may have been missed. automations: None if the service runs
    none."""

    store: "Store"
    registry: "Registry"
    settings: "Settings"
    base_url: str
    installation: str
    wake_scheduler: Any = None
    automations: Automations | None = None
    followers: list[Callable[[str], None]] = field(default_factory=list)
    hearing: dict[str, Callable[[str], None]] = field(default_factory=dict)

    def webhook_url(self, token: str) -> str:
        """Returns the address of a webhook."""
        return f"{self.settings.webhook_base_url or self.base_url}/webhooks/{token}"

    def move(self, base_url: str) -> None:
        """Changes the address of the service: the only part that changes while it runs."""
        object.__setattr__(self, "base_url", base_url.rstrip("/"))

    def wake_after(self, tx: "Transaction") -> None:
        """Wakes the schedulers of all processes once the transaction is on disk."""
        if WAKE in tx.memo:
            return
        tx.memo[WAKE] = True
        if self.wake_scheduler is not None:
            tx.after_commit(self.wake_scheduler)
        self.store.announce_after(tx, WAKE)

    def notify_after(self, tx: "Transaction", channel: str) -> None:
        """Notifies the followers of a channel once the transaction is on disk. A hint: the news itself is in rows."""
        if (NEWS, channel) not in tx.memo:
            tx.memo[NEWS, channel] = True
            tx.at_commit(lambda: self.notify_followers(channel))
            self.store.announce_after(tx, f"{NEWS}:{channel}")

    def notify_followers(self, channel: str) -> None:
        """Notifies the followers of a channel in this process."""
        for follower in tuple(self.followers):
            follower(channel)

    def announce(self, what: str, text: str = "") -> None:
        """Announces something to other processes without a change of the database; name and text have at most 60
        characters."""
        if self.store.is_shared:
            self.store.write(lambda tx: self.store.announce_after(tx, f"{what}:{text}"))

    def hear(self, name: str) -> None:
        """Handles an announcement of another process; "" if some may have been missed. Must be quick."""
        what, _, text = name.partition(":")
        if what == WAKE or not name:
            if self.wake_scheduler is not None:
                self.wake_scheduler()
        elif what == NEWS:
            self.notify_followers(text)
        for key, handler in tuple(self.hearing.items()):
            if key == what or not name:
                handler(text)


WAKE, NEWS = "wake", "tell"  # announcements: work is due, there is news on a channel


@dataclass(slots=True)
class ScopeLimit:
    """The record types that a token may read through links of other records. uris: those types. left_out: requested
    types that it may not read."""

    uris: frozenset[str]
    left_out: set[str] = field(default_factory=set)

    def covers(self, uri: str) -> bool:
        """Returns whether a type may be read; records one that may not."""
        if uri in self.uris:
            return True
        self.left_out.add(uri)
        return False


def covers_search(limit: "ScopeLimit | None") -> Callable[[str], bool]:
    """Returns a function that says whether a search may use linked records of a type, under the limit of a token."""
    return (lambda uri: True) if limit is None else limit.uris.__contains__


@dataclass(frozen=True, slots=True)
class Context:
    """An operation. now: Unix seconds. tz: the caller's zone. depth: how many automations caused each other.

    steps: the budget of a read on the event loop, None on a thread. is_quiet: its changes notify neither automations
    nor workers. is_untold: its changes do not trigger automations. is_dry: its changes are undone, and nothing is sent.
    is_by_machine: it was caused by automatic mail. limit: of the caller's token, None for everything that the actor may
    read."""

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
        """Returns the same operation by another actor, without the limit of the caller's token."""
        return replace(self, actor=actor, tz=tz, limit=None)

    def require_admin(self, doing: str) -> None:
        """Raises AdminOnly unless the actor is an administrator or the service itself. doing: such as "change
        settings"."""
        if not self.actor.is_admin:
            raise AdminOnly(f"only administrators may {doing}")
