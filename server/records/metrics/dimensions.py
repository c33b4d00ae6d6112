"""The dimensions of a metric, as they are written: `record/worker_id:` and, deeper, `record_type: worker`. Pure."""

import re
from typing import Any

from server.errors import Invalid
from server.records.shared.noted import MAX_DIMENSIONS

TYPES = ("extension", "number", "record", "text")
_HEAD = re.compile(r"([a-z]+)/([A-Za-z0-9_]{1,64}):\Z")
_SETTING = re.compile(r"[ \t]+([a-z_]{1,64}):[ \t]*(.*)\Z")


def parse(text: str) -> dict[str, dict[str, Any]]:
    """{name: {type, and its settings}} of a text. Raises Invalid naming the line.

    >>> parse("record/worker_id:\\n  record_type: worker")
    {'worker_id': {'type': 'record', 'record_type': 'worker'}}
    """
    found: dict[str, dict[str, Any]] = {}
    current: dict[str, Any] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.strip().startswith("#"):
            continue
        head, setting = _HEAD.match(line.rstrip()), _SETTING.match(line.rstrip())
        if head and head[1] in TYPES and head[2] not in found:
            current = found[head[2]] = {"type": head[1]}
        elif setting and current is not None and setting[1] not in current:
            current[setting[1]] = setting[2]
        else:
            raise Invalid(f"line {number}: write <type>/<name>: with one of {', '.join(TYPES)}, each name once, and "
                          "its settings deeper as <name>: <value>")  # fmt: skip
    if len(found) > MAX_DIMENSIONS:
        raise Invalid(f"at most {MAX_DIMENSIONS} dimensions, this has {len(found)}")
    return found
