"""The page at the root, the page for what went wrong, and what all pages are rendered with."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tornado.template import Loader

from server.context import Service
from server.desk import first_start
from server.web.server import Request

_FOLDER = Path(__file__).resolve().parent.parent


@cache
def _loader() -> Loader:
    return Loader(str(_FOLDER / "templates"), autoescape="xhtml_escape")


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as it goes out."""

    html: str
    status: int = 200


def render(template: str, status: int = 200, **values: object) -> Shown:
    """A template of console/templates as a page; values are escaped."""
    return Shown(_loader().load(template).generate(**values).decode("utf-8"), status)


@cache
def stylesheet() -> bytes:
    """The console's CSS."""
    return (_FOLDER / "static" / "console.css").read_bytes()


def show(service: Service, request: Request, arguments: dict[str, str]) -> Shown:
    """Where to go from here."""
    is_set_up = service.store.read(first_start.has_administrator)
    return render("start.html", is_set_up=is_set_up, base_url=service.base_url)


def problem(message: str) -> Shown:
    """A page that says what went wrong."""
    return render("problem.html", message=message)
