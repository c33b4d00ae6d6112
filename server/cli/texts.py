"""Reads texts from a file or standard input, and writes results. Both are UTF-8 in every locale."""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from server.errors import HelpdeskError, Invalid, reason
from server.web import json_text

MAX_FILE_BYTES = 64 * 1024 * 1024  # bytes of one file, or of standard input


def read(name: str) -> str:
    """Returns the text of a file, or of standard input for "-". Raises Invalid if it cannot be read, or is not
    UTF-8."""
    raw = read_bytes(name)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{name} is not UTF-8: byte {error.start + 1:,} cannot be read") from error


def read_bytes(name: str) -> bytes:
    """Returns the bytes of a file, or of standard input for "-". Raises Invalid if it cannot be read, or is too
    large."""
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise Invalid(f"{name} cannot be read: {error.strerror or error}") from error
    if len(raw) > MAX_FILE_BYTES:
        raise Invalid(f"{name} is too large; at most {MAX_FILE_BYTES:,} bytes are read")
    return raw


def variables(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the map of --vars, {} without it. Raises Malformed, Invalid."""
    values = json_text.loads(options.vars, "--vars") if options.vars else {}
    if not isinstance(values, dict):
        raise Invalid('--vars takes a JSON object, such as {"name": "Ana"}')
    return values


def put(text: str) -> None:
    """Writes to standard output and flushes. Invalid characters become question marks."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def as_json(value: Any, indent: int | None = None) -> str:
    """Returns a value as JSON. Infinite numbers become null; other values that JSON lacks become text."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=str)
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, default=str)
    except ValueError:
        return as_json(_finite(value), indent)
    return text


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list) else value


def print_mistake(file: str, error: HelpdeskError) -> None:
    """Writes `file:line: message` to standard error."""
    line = error.details.get("line")
    place = f"{file}:{line}" if line else file
    print(f"{place}: {reason(error)}", file=sys.stderr)
