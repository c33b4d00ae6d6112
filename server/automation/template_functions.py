"""What templates may ask the service: addresses, records, privileges, other automations. By name, in registry order."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from server.automation.service import ServiceHost

Make = Callable[["ServiceHost"], Callable[..., Any]]
FUNCTIONS: dict[str, Make] = {}


def template_function(name: str) -> Callable[[Make], Make]:
    """Declare a function that templates reach through the service: the decorated one makes it for a host."""

    def declare(make: Make) -> Make:
        FUNCTIONS[name] = make
        return make

    return declare


def functions_for(host: Callable[[], "ServiceHost"]) -> Mapping[str, Callable[..., Any]]:
    """The functions by name, made when they are first asked for; only then is their host."""
    return _Functions(host)


class _Functions(dict[str, Callable[..., Any]]):
    def __init__(self, host: Callable[[], "ServiceHost"]) -> None:
        super().__init__()
        self._host = host

    def __missing__(self, name: str) -> Callable[..., Any]:
        found = self[name] = FUNCTIONS[name](self._host())
        return found

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in FUNCTIONS else default
