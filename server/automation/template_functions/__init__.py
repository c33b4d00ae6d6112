"""Functions of templates that use the service: addresses, records, privileges, other automations. One family per file.

A family registers its functions when it is imported; all are imported here."""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from server.discovery import load_all
from server.errors import HelpdeskError, ScriptError, TemplateFailed

if TYPE_CHECKING:
    from server.automation.automation_service import ServiceHost

Function = Callable[..., Any]
Make = Callable[["ServiceHost"], Function]
FUNCTIONS: dict[str, Make] = {}
PLAIN: dict[str, Function] = {}


def template_function(name: str) -> Callable[[Make], Make]:
    """Registers a function that uses the service: the decorated function creates it for a host."""

    def declare(make: Make) -> Make:
        FUNCTIONS[name] = make
        return make

    return declare


def plain_function(name: str) -> Callable[[Function], Function]:
    """Registers a function that does not need the service, but is missing in the template language."""

    def declare(function: Function) -> Function:
        PLAIN[name] = function
        return function

    return declare


def functions_for(host: Callable[[], "ServiceHost"]) -> Mapping[str, Function]:
    """Returns the functions by name, created on first access; only then is their host needed.

    Their errors become TemplateFailed."""
    _load()
    return _Functions(host)


def names() -> list[str]:
    """Returns the names of all template functions, sorted."""
    _load()
    return sorted({*FUNCTIONS, *PLAIN})


@functools.cache
def _load() -> None:
    load_all(__name__, __path__)


class _Functions(dict[str, Function]):
    def __init__(self, host: Callable[[], "ServiceHost"]) -> None:
        super().__init__()
        self._host = host

    def __missing__(self, name: str) -> Function:
        function = PLAIN[name] if name in PLAIN else FUNCTIONS[name](self._host())
        wrapped = self[name] = _with_template_errors(function)
        return wrapped

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in PLAIN or name in FUNCTIONS else default


def _with_template_errors(function: Function) -> Function:
    """Wraps a function so that its errors become TemplateFailed."""

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except ScriptError:
            raise
        except UnicodeEncodeError:  # lone surrogates represent bytes in a text
            raise TemplateFailed("bytes that are not text cannot be used here; encode them first") from None
        except HelpdeskError as error:
            raise TemplateFailed(error.message) from error

    return call
