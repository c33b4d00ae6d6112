"""Pages as they go out, and the templates that they are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tornado.template import Loader

_TEMPLATES = Path(__file__).resolve().parent / "templates"
INVALID = 422


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as it goes out, or the way to another. form_targets: where else a form of it may lead, besides us."""

    html: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    form_targets: tuple[str, ...] = ()
    content_type: str = "text/html; charset=utf-8"


@cache
def _loader() -> Loader:
    return Loader(str(_TEMPLATES), autoescape="xhtml_escape")


def fragment(template: str, **values: Any) -> str:
    """A template of console/templates as HTML; values are escaped."""
    html: str = _loader().load(template).generate(**values).decode("utf-8")
    return html.strip() if template.startswith("parts/") else html  # parts may stand inside a line


def see(path: str) -> Shown:
    """On to another page of ours: after a form, so that loading it again sends nothing twice."""
    return Shown(status=303, headers={"Location": quote(path, safe="/?&=%:+,;@!~*'()$#-._[]")})
