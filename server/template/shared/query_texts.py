"""Query texts such as `a[b]=1&c=2`, and the lists and maps that they represent."""

import re
from typing import Any
from urllib.parse import quote, unquote_plus

from server.errors import TemplateFailed
from server.template.run import Rendering
from server.template.shared.text_values import TextBuffer, chunks
from server.template.values import keyed, pairs, printed

MAX_FIELDS = 1000  # fields of a query text
MAX_DEPTH = 16  # brackets after a name, nested maps
_NAME = re.compile(r"([^\[]+)((?:\[[^\[\]]*\])*)")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")


def form_text(run: Rendering, value: Any) -> str:
    """Returns the query text of a list or a map; entries that are null are left out. Raises TemplateFailed for deep
    nesting, BudgetSpent."""
    out = TextBuffer(run)
    _write(run, out, value, "", 0)
    return out.text().removeprefix("&")


def _write(run: Rendering, out: TextBuffer, value: Any, name: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TemplateFailed(f"a query text has at most {MAX_DEPTH} lists and maps inside each other")
    for key, each in pairs(value):
        run.budget.step()
        below = f"{name}%5B{_quoted(str(key))}%5D" if depth else _quoted(str(key))
        if isinstance(each, (list, dict)):
            _write(run, out, each, below, depth + 1)
        elif each is not None:
            out.add(f"&{below}=")
            for chunk in chunks("0" if each is False else printed(each)):
                out.add(_quoted(chunk))


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def form_tree(run: Rendering, text: str) -> Any:
    """Returns the map of a query text. Raises TemplateFailed above MAX_FIELDS and MAX_DEPTH."""
    if text.count("&") >= MAX_FIELDS:
        raise TemplateFailed(f"a query text has at most {MAX_FIELDS:,} fields")
    tree: dict[str, Any] = {}
    for field in text.split("&"):
        run.budget.step()
        name, _, value = field.partition("=")
        match = _NAME.match(unquote_plus(name))
        if match is None:
            continue
        keys = [match[1], *_BRACKET.findall(match[2])]
        if len(keys) > MAX_DEPTH:
            raise TemplateFailed(f"a name in a query text has at most {MAX_DEPTH} brackets")
        _put(tree, keys, unquote_plus(value))
    return _plain(tree)


def _put(tree: dict[str, Any], keys: list[str], value: str) -> None:
    for place, key in enumerate(keys):
        key = key or _free(tree)
        if place == len(keys) - 1:
            tree[key] = value
            return
        below = tree.get(key)
        if not isinstance(below, dict):
            below = tree[key] = {}
        tree = below


def _free(tree: dict[str, Any]) -> str:
    return next(str(number) for number in range(len(tree), MAX_FIELDS * 2) if str(number) not in tree)


def _plain(tree: Any) -> Any:
    return keyed((key, _plain(each)) for key, each in tree.items()) if isinstance(tree, dict) else tree
