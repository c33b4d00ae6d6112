"""The templates of the console."""

from functools import cache
from pathlib import Path
from typing import Any

from console.html.template_words import Spoken, TranslatedLoader
from server import late_files
from server.translation import _, ngettext, pgettext

_TEMPLATES = Path(__file__).resolve().parent.parent / "templates"


@cache
def _loader() -> TranslatedLoader:
    late_files.unpack("console")
    return TranslatedLoader(str(_TEMPLATES), autoescape="xhtml_escape")


def fragment(template: str, **values: Any) -> str:
    """A template of console/templates as HTML; values are escaped."""
    html: str = (
        _loader()
        .load(template)
        .generate(_t=Spoken(), _=_, ngettext=ngettext, pgettext=pgettext, **values)
        .decode("utf-8")
    )
    return html.strip() if template.startswith("parts/") else html  # parts may stand inside a line
