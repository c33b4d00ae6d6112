"""What a run reaches beyond itself: other automations, the log, the functions of templates, whatever commands need.

A protocol, so that scripts run on a throw-away store and without any."""

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
    """An automation as it is run. name, id, version: "" and 0 for one that is not kept."""

    script: str
    policy: str = ""
    name: str = ""
    trigger: str = FUNCTION
    id: int = 0
    version: int = 0


@dataclass(frozen=True)
class LogEntry:
    """One line of the automation log. level: 1 alert, 3 error, 4 warning, 7 debug. is_own: False for what another
    automation wrote that this one called."""

    level: int
    node: str
    message: str
    is_own: bool = True


class Host(Protocol):
    """dry: whether nothing may be written and nothing sent. depth: how many runs caused each other."""

    dry: bool
    depth: int
    zone: str

    @property
    def ctx(self) -> "Context | None":
        """The operation that commands act in, None without a service."""

    def automation(self, name: str) -> Script | None:
        """The automation of a name."""

    def load(self, context: str, id: int, key: str) -> Mapping[str, Any]:
        """The keys of a record, opened along `key`; {} for one that is not there."""

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """What templates may call by name."""


@dataclass
class StandaloneHost:
    """A host without a service: other automations are those handed in."""

    automations: Mapping[str, Script] = field(default_factory=dict)
    dry: bool = False
    depth: int = 0
    zone: str = "UTC"
    ctx: "Context | None" = None

    def automation(self, name: str) -> Script | None:
        return self.automations.get(name)

    def load(self, context: str, id: int, key: str) -> Mapping[str, Any]:
        return {}

    def functions(self) -> Mapping[str, Callable[..., Any]]:
        return {}
