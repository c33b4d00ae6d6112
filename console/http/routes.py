"""Pages as data: method, path, who may open it, which function shows it. Modules of PACKAGES
declare them."""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from server.dataclass import dataclass
from server.digits import MAX_ID
from server.discovery import load_all
from server.warming import warmed

if TYPE_CHECKING:
    from console.http.page_response import PageResponse
    from console.http.visit import Visit

Access = Literal["anyone", "code", "worker", "admin", "proven worker", "proven admin"]
SMALL_FORM_BYTES = 64 * 1024
_ARGUMENT = re.compile(r"\{(\w+)\}")
_FORMS = {
    # No record has the id 0, by which forms mean a new one.
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
    """access: `anyone`; `code`, who gave the password and not yet the code of the second factor; a `worker` who is
    signed in, an `admin`; `proven`, who gave the password within the last ten minutes. checks_form: False where the
    address itself holds a secret that no other site knows. form_bytes: how large its form may be. is_open: whether it
    gets forms without a token of ours, too, whoever sends them: requests that other sites may make. hashes: whether it
    hashes a password. creates: whether the same form, sent again, must not be carried out twice."""

    method: str
    pattern: re.Pattern[str]
    show: Callable[["Visit"], "PageResponse"]
    access: Access
    checks_form: bool
    form_bytes: int
    is_open: bool
    hashes: bool
    creates: bool


PACKAGES = ("console.pages", "console.tickets")  # whose modules declare pages
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
) -> Callable[[Callable[["Visit"], "PageResponse"]], Callable[["Visit"], "PageResponse"]]:
    """Declare the decorated function as a page. path: what stands in braces is an argument, by the names of _FORMS.
    `mask`, `file` and `rest` are as they were sent, not unquoted."""
    form = _ARGUMENT.sub(lambda match: f"(?P<{match[1]}>{_FORMS[match[1]]})", path)

    def declare(show: Callable[["Visit"], "PageResponse"]) -> Callable[["Visit"], "PageResponse"]:
        pattern = re.compile(rf"{form}\Z")
        PAGES.append(Page(method, pattern, show, access, checks_form, form_bytes, is_open, hashes, creates))
        return show

    return declare


@warmed
@cache
def load() -> None:
    """Let every page declare itself: when the first is asked for, or soon after the start. A seventh of a start that
    only answers programs."""
    for name in PACKAGES:
        load_all(name, import_module(name).__path__, is_deep=True)


def find(path: str) -> tuple[dict[str, Page], dict[str, str]]:
    """{method: page} and the arguments of a path; {} for an unknown one."""
    load()
    found: dict[str, Page] = {}
    arguments: dict[str, str] = {}
    for each in PAGES:
        match = each.pattern.match(path)
        if match and not ("id" in match.groupdict() and int(match["id"]) > MAX_ID):
            found.setdefault(each.method, each)
            arguments = match.groupdict()
    return found, arguments
