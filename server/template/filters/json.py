"""JSON texts of values."""

from typing import Any

from server.errors import TemplateFailed
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.script_json import (
    FORCE_OBJECT,
    PRETTY,
    UNESCAPED_SLASHES,
    UNESCAPED_UNICODE,
    decoded,
    encoded,
)
from server.template.values import printed, whole

FLAGS = FORCE_OBJECT | PRETTY | UNESCAPED_SLASHES | UNESCAPED_UNICODE


@filter("json_encode")
def json_encode(run: Rendering, value: Any, flags: Any = 0) -> str:
    """The JSON text of a value. flags, added up: 16 lists as objects, 64 no `\\/`, 128 on several lines, 256 letters
    unescaped. Raises TemplateFailed for other flags and for a value that JSON cannot represent."""
    bits = whole(flags)
    if bits & ~FLAGS:
        raise TemplateFailed(f"'json_encode' has the flags 16, 64, 128 and 256, added up, not {bits}")
    return encoded(run, value, bits)


@filter("json_pretty")
def json_pretty(run: Rendering, value: Any) -> str:
    """A JSON text on several lines, indented by 4. Raises TemplateFailed for invalid JSON."""
    if not printed(value).strip():
        return ""
    try:
        return encoded(run, decoded(run, value), PRETTY)
    except ValueError:
        raise TemplateFailed("'json_pretty' takes a JSON text, and this is none") from None
