"""Values become a KATA text that reads back as the same values. Two spaces a level."""

import json
from typing import Any

INDENT = "  "


def encode(values: Any, level: int = 0) -> str:
    """Returns a map or a list as KATA. Values without a KATA notation are written as @json. Keys of texts may have
    annotations."""
    items = list(enumerate(values)) if isinstance(values, list) else list(values.items())
    return "\n".join(_entry(str(key), value, INDENT * level, level) for key, value in items)


def _entry(key: str, value: Any, indent: str, level: int) -> str:
    if value is None:
        return f"{indent}{key}@json: null"
    if isinstance(value, bool):
        return f"{indent}{key}@bool: {'yes' if value else 'no'}"
    if isinstance(value, int):
        return f"{indent}{key}@int: {value}"
    if isinstance(value, float):
        return f"{indent}{key}@float: {value!r}"
    if isinstance(value, str):
        return _text(key, value, indent)
    if not value:
        return f"{indent}{key}:"
    if isinstance(value, dict):
        return f"{indent}{key}:\n{encode(value, level + 1)}"
    if all(isinstance(item, str) and item and item == item.strip() and "\n" not in item for item in value):
        return "\n".join([f"{indent}{key}@list:", *(f"{indent}{INDENT}{item}" for item in value)])
    return f"{indent}{key}@json: {json.dumps(value, ensure_ascii=False)}"


def _text(key: str, value: str, indent: str) -> str:
    if value and "\n" not in value and value[:1] not in " \t\f\v" and "\r" not in value:
        return f"{indent}{key}: {value}"
    lines = value.split("\n")
    first = next(filter(None, lines), "")  # its indent would be taken for that of the block
    if "\r" in value or first[:1] == " " or any(line[:1] in ("\t", "\f", "\v") for line in lines):
        return f"{indent}{key}@json: {json.dumps(value, ensure_ascii=False)}"
    if not value:
        return f"{indent}{_block_key(key)}:"
    return "\n".join([f"{indent}{_block_key(key)}:", *(f"{indent}{INDENT}{line}" for line in lines)])


def _block_key(key: str) -> str:
    """The key of a text block.

    >>> _block_key("content"), _block_key("content@raw")
    ('content@text', 'content@raw,text')
    """
    return f"{key},text" if "@" in key else f"{key}@text"
