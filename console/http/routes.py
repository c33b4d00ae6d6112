"""The table of pages: method, path, access, and the function that shows the page. Modules of PACKAGES declare them."""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeVar

from server.dataclass import dataclass
from server.digits import MAX_ID
from server.discovery import load_all
from server.errors import AdminOnly
from server.translation import _
from server.warming import warmed

if TYPE_CHECKING:
    from console.http.page_response import PageResponse
    from console.http.visit import Visit
    from server.access.actor import Actor

Show = TypeVar("Show", bound="Callable[[Visit], PageResponse]")
Access = Literal["anyone", "code", "worker", "admin", "proven worker", "proven admin"]
SMALL_FORM_BYTES = 64 * 1024
_ARGUMENT = re.compile(r"\{(\w+)\}")
_FORMS = {
    # No record has the id 0: in forms it means a new one.
    "id": r"[1-9][0-9]{0,18}",
    "code": r"[A-Za-z0-9_-]{20,100}",
    "name": r"[A-Za-z0-9_-]{1,200}",
    "folder": r"[a-z]{1,40}",
    "type": r"[A-Za-z0-9_.-]{1,200}",
    "mask": r"[^/]{1,3100}",
    "file": r"[^/]*",
    "rest": r".+",
}


@dataclass(frozen=True)
class Page:
    """A page.

    access: `anyone`; `code`, after the password and before the second factor; `worker`, signed in; `admin`; `proven`,
    signed in and with the password entered within the last ten minutes. checks_form: False if the address itself holds
    a secret that no other site knows. form_bytes: the maximum size of its form. is_open: whether it accepts forms
    without our token, from any site. hashes: whether it hashes a password. creates: whether submitting the same form
    again must not repeat the act."""

    method: str
    pattern: re.Pattern[str]
    show: Callable[["Visit"], "PageResponse"]
    access: Access
    checks_form: bool
    form_bytes: int
    is_open: bool
    hashes: bool
    creates: bool

    def require(self, actor: "Actor") -> None:
        """Raises AdminOnly for a page of administrators."""
        if self.access.endswith("admin") and not actor.is_admin:
            raise AdminOnly(_("Only administrators can open this page."))


PACKAGES = ("console.pages", "console.tickets")  # packages of modules that declare pages
PAGES: list[Page] = []


def page(
    method: str,
    path: str,
    access: Access = "worker",
    *,
    checks_form: bool = True,
    form_bytes: int = SMALL_FORM_BYTES,
    is_open: bool = False,
    hashes: bool = False,
    creates: bool = False,
) -> Callable[[Show], Show]:
    """Declares the decorated function as a page.

    path: names in braces are arguments, with the patterns of _FORMS. `mask`, `file` and `rest` are passed on as sent,
    still percent-encoded."""
    form = _ARGUMENT.sub(lambda match: f"(?P<{match[1]}>{_FORMS[match[1]]})", path)

    def declare(show: Show) -> Show:
        pattern = re.compile(rf"{form}\Z")
        PAGES.append(Page(method, pattern, show, access, checks_form, form_bytes, is_open, hashes, creates))
        return show

    return declare


@warmed
@cache
def load() -> None:
    """Imports all modules with pages: at the first request of a page, or soon after the start. Doing it at the start
    would take a seventh of a start that only serves the API."""
    for name in PACKAGES:
        load_all(name, import_module(name).__path__, is_deep=True)


def find(path: str) -> tuple[dict[str, Page], dict[str, str]]:
    """Returns the pages at a path by method, and the arguments in the path; {} for an unknown path."""
    load()
    pages: dict[str, Page] = {}
    arguments: dict[str, str] = {}
    for each in PAGES:
        match = each.pattern.match(path)
        if match and not ("id" in match.groupdict() and int(match["id"]) > MAX_ID):
            pages.setdefault(each.method, each)
            arguments = match.groupdict()
    return pages, arguments
