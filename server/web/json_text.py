"""Decodes JSON from outside: strict UTF-8, limited depth, no NaN, no lone surrogates."""

import json
import math
from typing import Any, NoReturn

from server.errors import Malformed
from server.web.form_data import Tree

MAX_JSON_DEPTH = 32  # levels of nested objects and lists


def decode_json(raw: bytes) -> Tree:
    """Returns the tree of a JSON body, which must be an object. Numbers, booleans and null are preserved.

    Raises Malformed. Of two equal keys the last wins."""
    value = loads(raw, "the body")
    if not isinstance(value, dict):
        raise Malformed("the body must be a JSON object, such as {}")
    return value


def as_json(value: Any) -> str:
    """Returns a value as JSON that people read; what JSON does not have, as text."""
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def loads(raw: str | bytes, what: str, field: str | None = None, depth: int = MAX_JSON_DEPTH) -> Any:
    """Returns the value of a JSON text. `what` names the text in messages; depth: most levels of nested objects and
    lists. Raises Malformed, with `field` among its details."""
    details = {"field": field} if field else {}
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        value = json.loads(text, parse_constant=_refuse_constant)
        _check(value, depth)
    except json.JSONDecodeError as error:
        raise Malformed(
            f"{what} is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})", **details
        ) from error
    except UnicodeDecodeError as error:
        raise Malformed(f"{what} is not valid UTF-8", **details) from error
    except UnicodeEncodeError as error:
        raise Malformed(f"{what} holds half of a surrogate pair", **details) from error
    except RecursionError as error:
        raise Malformed(f"{what} is nested deeper than {depth}", **details) from error
    except ValueError as error:  # also numbers with too many digits for Python
        raise Malformed(f"{what} holds a number that cannot be read", **details) from error
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check(value: Any, most: int) -> None:
    """Checks the tree level by level, without recursion."""
    level = [value]
    depth = 0
    while level:
        below: list[Any] = []
        nested = False
        for one in level:
            if isinstance(one, str):
                if not one.isascii():
                    one.encode("utf-8")
            elif isinstance(one, dict):
                nested = True
                below.extend(one)
                below.extend(one.values())
            elif isinstance(one, list):
                nested = True
                below.extend(one)
            elif isinstance(one, float) and not math.isfinite(one):
                raise ValueError(one)
        depth += nested
        if depth > most:
            raise RecursionError
        level = below
