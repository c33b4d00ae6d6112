"""Reads requests from standard input, one JSON object per line, and writes one response per line in the same order. An
invalid line gets an error, and the other lines are processed."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from server import log
from server.cli import texts
from server.cli.workspace import Workspace
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, Malformed, nearest
from server.web import json_text

MAX_LINE_BYTES = 64 * 1024 * 1024  # bytes of one request
LOG = log.get("lines")
Request = dict[str, Any]


@dataclass(frozen=True)
class RequestSchema:
    """The shape of a request: a required text, optional texts and maps. null counts as absent."""

    required: str
    texts: frozenset[str] = frozenset()
    maps: frozenset[str] = field(default_factory=frozenset)


def serve(
    shape: RequestSchema,
    answer: Callable[[Request], Request],
    refused: Callable[[HelpdeskError], Request],
    store: Workspace,
) -> None:
    """Responds to every line of standard input. refused: creates the response for an error. Requests do not see each
    other's changes, unless a data folder is given."""
    for raw in _lines():
        try:
            response = texts.as_json(answer(_request(raw, shape)))
        except HelpdeskError as error:
            response = texts.as_json(refused(error))
        except RecursionError:
            response = texts.as_json(refused(Invalid("the values are nested too deeply")))
        except Exception:
            LOG.exception("line.failed")
            response = texts.as_json(refused(HelpdeskError("this failed; see the log")))
        texts.put(response + "\n")
        store.renew()


def _lines() -> Iterator[bytes]:
    """Yields the lines that are not blank. The part of a line beyond the limit is skipped."""
    source = sys.stdin.buffer
    while raw := source.readline(MAX_LINE_BYTES + 1):
        if len(raw) > MAX_LINE_BYTES:
            rest = raw
            while rest and not rest.endswith(b"\n"):
                rest = source.readline(MAX_LINE_BYTES)
        if raw.strip():
            yield raw


def _request(raw: bytes, shape: RequestSchema) -> Request:
    """Parses a line as a request. Raises Malformed, Invalid."""
    if len(raw) > MAX_LINE_BYTES:
        raise Invalid(f"a line has at most {MAX_LINE_BYTES:,} bytes")
    values = json_text.loads(raw, "the line")
    if not isinstance(values, dict):
        raise Malformed("a line holds a JSON object")
    names = {shape.required} | shape.texts | shape.maps
    for name, value in values.items():
        if name not in names:
            raise Invalid(f"'{name[:80]}' is not a known key{nearest(name, names)}")
        if name in shape.maps and not isinstance(value, dict | None) and value != []:
            raise Invalid(f"'{name}' must be a map")
        if name not in shape.maps and not isinstance(value, str | None):
            raise Invalid(f"'{name}' must be a text")
    if values.get(shape.required) is None:
        raise Invalid(f"'{shape.required}' is missing")
    return {name: value for name, value in values.items() if value is not None}
