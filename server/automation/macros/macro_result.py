"""Parses the result of a macro strictly: an unknown key is refused, so that nothing is ignored silently."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from server.automation.input_values import holds_bytes
from server.automation.run_dictionary import plain
from server.dataclass import dataclass
from server.errors import Invalid, nearest
from server.kata.annotations import as_bool
from server.template.values import printed

KEYS = ("changes", "note", "reply", "send")
MAX_TEXT_CHARS = 200_000  # characters of a reply or a note
OWNER, ME = "owner_id", "me"


@dataclass(frozen=True, slots=True)
class MacroResult:
    """The result of a macro. reply, note: Markdown, "" for none. changes: fields of the ticket as returned. sends:
    whether the reply is sent and the note is written at once."""

    reply: str = ""
    note: str = ""
    changes: dict[str, Any] = field(default_factory=dict)
    sends: bool = False


def read(returned: Any, worker_id: int) -> MacroResult:
    """Parses the return value of an automation; None for nothing. worker_id: the worker that `me` refers to. Raises
    Invalid."""
    if returned is None:
        return MacroResult()
    if not isinstance(returned, Mapping):
        raise Invalid(f"return: must be a map with {', '.join(KEYS)}", field="return")
    for key in returned:
        if key not in KEYS:
            names = ", ".join(KEYS)
            raise Invalid(
                f"return: '{str(key)[:80]}' is not a known key{nearest(str(key), KEYS)}; known are {names}",
                field="return",
            )
    if holds_bytes(returned):
        raise Invalid("return: has bytes that are not text", field="return")
    changes = _changes(returned.get("changes"), worker_id)
    return MacroResult(_text(returned, "reply"), _text(returned, "note"), changes, as_bool(returned.get("send", False)))


def _text(returned: Mapping[str, Any], name: str) -> str:
    value = returned.get(name)
    if isinstance(value, dict | list):
        raise Invalid(f"return: {name} must be a text", field=name)
    text = "" if value is None or value is False else printed(value).strip()
    if len(text) > MAX_TEXT_CHARS:
        raise Invalid(f"return: {name} has {len(text):,} characters, at most {MAX_TEXT_CHARS:,}", field=name)
    return text


def _changes(value: Any, worker_id: int) -> dict[str, Any]:
    if value in (None, "", [], {}):
        return {}
    if not isinstance(value, dict):
        raise Invalid("return: changes takes a map of fields, such as status and owner_id", field="changes")
    fields: dict[str, Any] = plain(value)
    return {name: str(worker_id) if (name, each) == (OWNER, ME) else each for name, each in fields.items()}
