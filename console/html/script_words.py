"""What scripts say: the messages of static/*.js, which pages hand to them in the language of who reads.

Source: ours."""

import ast
import json
import re
from functools import cache, lru_cache
from pathlib import Path

from server import late_files
from server.translation import Catalog, keyed

FOLDER = Path(__file__).resolve().parent.parent / "static"
_TEXT = r'("(?:[^"\\]|\\.)*")'
_CALL = re.compile(rf"\b(?:t\(|p\(\s*{_TEXT}\s*,)\s*{_TEXT}\s*[,)]")


def messages(source: str) -> list[str]:
    """The messages of a script, as keys of a catalog: what its calls `t("…")` and `p("context", "…")` name."""
    texts = ((ast.literal_eval(each or '""') for each in found) for found in _CALL.findall(source))
    return [keyed(message, context) for context, message in texts]


@cache
def _all() -> tuple[str, ...]:
    late_files.unpack("console")
    found = (each for path in sorted(FOLDER.glob("*.js")) for each in messages(path.read_text("utf-8")))
    return tuple(dict.fromkeys(found))


@lru_cache(64)
def _translated(catalog: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(dict(catalog), ensure_ascii=False).replace("<", "\\u003c")


def as_json(catalog: Catalog) -> str:
    """What scripts say in a language, as JSON that may stand in a page: {English: translated}."""
    return _translated(tuple((each, catalog.messages[each]) for each in _all() if each in catalog.messages))
