"""The dimensions of a metric, written in KATA: `record/worker_id:` and, indented, `record_type: worker`."""

import re
from typing import Any

from server import kata
from server.errors import Invalid
from server.kata.kata_parser import plain
from server.record_types.shared.usage_buffer import MAX_DIMENSIONS

TYPES = ("extension", "number", "record", "text")
_KEY = re.compile(r"([a-z]+)/([A-Za-z0-9_]{1,64})\Z")


def parse(text: str) -> dict[str, dict[str, Any]]:
    """Returns {name: {type, and its settings}} of a KATA text. Raises Invalid naming the key that is not a dimension.

    >>> parse("record/worker_id:\\n  record_type: worker")
    {'worker_id': {'type': 'record', 'record_type': 'worker'}}
    """
    dimensions: dict[str, dict[str, Any]] = {}
    for key, settings in kata.parse(text).tree.items():
        match = _KEY.match(plain(key))
        if (
            not match
            or match[1] not in TYPES
            or match[2] in dimensions
            or not (isinstance(settings, dict) or not settings)
        ):
            raise Invalid(
                f"'{key[:80]}' is not a dimension; write <type>/<name>: with one of {', '.join(TYPES)}, each "
                "name once, and its settings below"
            )
        details = settings if isinstance(settings, dict) else {}
        dimensions[match[2]] = {"type": match[1], **{plain(name): value for name, value in details.items()}}
    if len(dimensions) > MAX_DIMENSIONS:
        raise Invalid(f"at most {MAX_DIMENSIONS} dimensions, this has {len(dimensions)}")
    return dimensions
