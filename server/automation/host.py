"""The interface between a run and its surroundings: other automations, the log, template functions, the service.

It is a protocol, so that scripts also run on a temporary store or without any."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from server.dataclass import dataclass

if TYPE_CHECKING:
    from server.context import Context

FUNCTION = "svc.trigger.automation.function"
TEMPLATE_FUNCTION = "svc.trigger.scripting.function"


@dataclass(frozen=True)
class Script:
    """A runnable automation. name, id, version: "" and 0 if it is not stored."""

    script: str
    policy: str = ""
    name: str = ""
    trigger: str = FUNCTION
    id: int = 0
    version: int = 0


@dataclass(frozen=True)
class LogEntry:
    """An entry of the automation log. level: 1 alert, 3 error, 4 warning, 7 debug. is_own: False for an entry of a
    called automation."""

    level: int
    node: str
    message: str
    is_own: bool = True


class Host(Protocol):
    """The surroundings of a run. dry: nothing may be written or sent. reads_only: whether only commands that read are
    run. depth: length of the chain of runs before it."""

    dry: bool
    reads_only: bool
    depth: int
    zone: str

    @property
    def ctx(self) -> "Context | None":
        """The context that commands act in; None without a service."""

    def automation(self, name: str) -> Script | None:
        """Returns the automation of a name."""

    def load(self, context: str, id: int, key: str) -> Mapping[str, Any]:
        """Returns the keys of a record, expanded along `key`; {} if it does not exist."""

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """Returns the functions that templates may call, by name."""


@dataclass
class StandaloneHost:
    """A host without a service, with a fixed set of automations."""

    automations: Mapping[str, Script] = field(default_factory=dict)
    dry: bool = False
    reads_only: bool = False
    depth: int = 0
    zone: str = "UTC"
    ctx: "Context | None" = None

    def automation(self, name: str) -> Script | None:
        return self.automations.get(name)

    def load(self, context: str, id: int, key: str) -> Mapping[str, Any]:
        return {}

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        return {}
